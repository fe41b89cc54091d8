//! `ndnweir sim`.

use super::{cases, joined, print, target};
use crate::args::SimArgs;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::run_args::RunArgs;
use crate::terminal;
use ndnweir_core::scheme::Scheme;
use ndnweir_lab::experiment::{self, Experiment};
use ndnweir_lab::results::{Comparison, Keep, Repeat, table};
use ndnweir_lab::text_table::wrapped;
use ndnweir_lab::{deliveries, trace};
use ndnweir_report as report;
use ndnweir_scenario::{self as scenario, Scenario};
use std::path::{Path, PathBuf};

pub fn run(args: &SimArgs) -> Result<(), Failure> {
    if let Some(threads) = args.threads {
        // Fails only when a pool exists already, and this is the first.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    if let Some(cases) = cases::read(&args.run.scenario, &args.run.overrides, &args.vary)? {
        return cases::run(args, &cases);
    }
    let scenario = load(&args.run.scenario, &args.run.overrides)?;
    let schemes = experiment::choose(&scenario, &args.run.scheme).map_err(Failure::input)?;
    check(&scenario, &schemes)?;
    let seeds = seeds(args.run.seed, args.run.seeds)?;
    let repeat = repeat(&args.run, &schemes, &args.run.overrides, &[]);
    let default = Path::new("results").join(&scenario.name);
    let target = target::choose(args.run.out.as_deref(), default, Some(&repeat.command), args.run.output.force)?;
    for (option, path) in [("--trace", &args.trace), ("--deliveries", &args.deliveries)] {
        path.as_deref().map_or(Ok(()), |path| may_create(option, path))?;
    }
    let stop = crate::interrupt::watch()?;
    let mut notes: Vec<String> = target.note.clone().into_iter().chain(changed_in_vain(&scenario, &schemes)).collect();
    let experiment = Experiment { scenario, schemes, seeds, events: Vec::new() };
    let bar = Bar::new(experiment.schemes.len() * experiment.seeds.len(), args.run.output.quiet);
    let result = experiment.run(&bar, stop);
    bar.done();
    let mut comparison = result.map_err(Failure::work)?;
    comparison.repeat = repeat;
    let out = if comparison.partial { target.interrupted()? } else { target.folder };
    // From here on there are results: if anything fails, the rest is still written and printed.
    let mut problems = Vec::new();
    if let Err(error) = report::write(&comparison, &out, Keep::First) {
        problems.push(error.to_string());
    }
    let trace = args.trace.as_ref().filter(|_| !comparison.partial);
    if let Some(Err(error)) = trace.map(|path| trace::write(&experiment, path, stop)) {
        problems.push(error.to_string());
    }
    let delivered = args.deliveries.as_ref().filter(|_| !comparison.partial);
    if let Some(Err(error)) = delivered.map(|path| deliveries::write(&experiment, path, stop)) {
        problems.push(error.to_string());
    }
    if args.run.output.json {
        print(&comparison.to_summary())?;
    } else if !args.run.output.quiet {
        notes.extend(comparison.scenario.notes.iter().cloned());
        print(&summary(&comparison, &experiment, args, &notes, &out))?;
    }
    if comparison.partial {
        problems.push(format!("interrupted; {} holds the runs that were complete", out.display()));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::Work(joined(&problems))),
    }
}

/// Checks, before the work, that a scenario can be simulated under these schemes.
pub(super) fn check(scenario: &Scenario, schemes: &[Scheme]) -> Result<(), Failure> {
    let network = scenario.network();
    network.check().map_err(Failure::input)?;
    schemes.iter().try_for_each(|scheme| network.check_parts(scheme)).map_err(Failure::input)
}

/// The seeds from the first on.
pub(super) fn seeds(first: u64, count: u32) -> Result<Vec<u64>, Failure> {
    let last = first.checked_add(u64::from(count).saturating_sub(1)).ok_or_else(|| {
        let most = u64::MAX - u64::from(count) + 1;
        Failure::Input(format!("--seed {first}: {count} seeds from there on do not exist; give at most {most}"))
    })?;
    Ok((first..=last).collect())
}

/// Says which schemes were changed on the command line and do not run.
pub(super) fn changed_in_vain(scenario: &Scenario, schemes: &[Scheme]) -> Vec<String> {
    let idle = scenario.compositions.iter().filter(|own| own.place.source.starts_with("--set "));
    let idle = idle.filter(|own| !schemes.iter().any(|scheme| scheme.name == own.name));
    idle.map(|own| format!("{}: scheme {} is not run; name it with --scheme", own.place, own.name)).collect()
}

/// Checks that an option's file can be put at `path`, before the work.
fn may_create(option: &str, path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || path.as_os_str().is_empty() {
        return Err(Failure::Input(format!("{option} {}: is a folder; name a file", path.display())));
    }
    match folder.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => Err(Failure::Input(format!("{option} {}: check that the folder exists", path.display()))),
    }
}

/// Loads a scenario and checks that its schemes exist.
pub fn load(name: &str, overrides: &[String]) -> Result<Scenario, Failure> {
    let mut source = scenario::find(name).map_err(Failure::input)?;
    if let Some(vary) = source.vary() {
        let message = format!("{}: the scenario has several cases, and this runs one", vary.at);
        return Err(Failure::Input(format!("{message}; delete [[vary]] from a copy of the file")));
    }
    scenario::apply_overrides(&mut source, overrides).map_err(Failure::input)?;
    source.validate().map_err(Failure::input)
}

fn summary(comparison: &Comparison, experiment: &Experiment, args: &SimArgs, notes: &[String], out: &Path) -> String {
    let look = terminal::look(args.run.output.wide);
    let about = format!("{}: {}", comparison.scenario.name, comparison.scenario.description);
    let mut text = format!("{}\n\n", wrapped(&about, look.width).join("\n"));
    text.push_str(&table(comparison, args.sort, look));
    let stand_ins: Vec<&str> = experiment.schemes.iter().filter(|s| s.is_stand_in()).map(|s| s.name.as_str()).collect();
    if !stand_ins.is_empty() {
        text.push_str(&format!("\nStand-ins (the original law is not public): {}\n", stand_ins.join(", ")));
    }
    let seeds = match experiment.seeds[..] {
        [one] => format!("seed {one}"),
        _ => format!("seeds {} to {}", experiment.seeds[0], experiment.seeds[experiment.seeds.len() - 1]),
    };
    text.push('\n');
    text.push_str(&events(comparison));
    notes.iter().for_each(|note| text.push_str(&format!("note: {note}\n")));
    if out.join("report.html").is_file() {
        text.push_str(&format!("{seeds}; report: {}\n", out.join("report.html").display()));
    } else {
        text.push_str(&format!("{seeds}\n"));
    }
    let files: [(&str, &Option<PathBuf>); 2] = [("packets", &args.trace), ("deliveries", &args.deliveries)];
    for (what, path) in files.into_iter().filter_map(|(what, path)| Some((what, path.as_ref()?))) {
        if path.exists() && !comparison.partial {
            text.push_str(&format!("{what}: {}\n", path.display()));
        }
    }
    text
}

/// The first events of the run in words.
fn events(comparison: &Comparison) -> String {
    const SHOWN: usize = 8;
    let all = &comparison.scenario.events;
    let mut text: String = all.iter().take(SHOWN).map(|e| format!("event: {} s: {}\n", e.at_s, e.text)).collect();
    if all.len() > SHOWN {
        text.push_str(&format!("event: {} more in the report\n", all.len() - SHOWN));
    }
    text
}

/// The command that gives the same numbers again.
pub(super) fn repeat(args: &RunArgs, schemes: &[Scheme], overrides: &[String], more: &[String]) -> Repeat {
    let stand_ins = schemes.iter().filter(|s| s.is_stand_in());
    let notes = stand_ins.map(|s| format!("{} is a stand-in: the original law is not public", s.name));
    let words = words("sim", args, schemes, overrides, more);
    Repeat { command: words.join(" "), version: env!("CARGO_PKG_VERSION").into(), notes: notes.collect() }
}

/// The words of a command that runs the same again, with what only it has.
pub(super) fn words(
    command: &str,
    args: &RunArgs,
    schemes: &[Scheme],
    overrides: &[String],
    more: &[String],
) -> Vec<String> {
    let names: Vec<&str> = schemes.iter().map(|s| s.name.as_str()).collect();
    let mut words = vec!["ndnweir".to_string(), command.into(), quote(&args.scenario)];
    words.extend(["--scheme".into(), quote(&names.join(","))]);
    words.extend(["--seeds".into(), args.seeds.to_string(), "--seed".into(), args.seed.to_string()]);
    words.extend_from_slice(more);
    words.extend(overrides.iter().flat_map(|change| ["--set".into(), quote(change)]));
    words
}

/// A word as a shell reads it.
pub(super) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
