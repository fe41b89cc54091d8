//! `ndnweir sim`.

use super::print;
use crate::args::SimArgs;
use crate::failure::Failure;
use crate::progress::Bar;
use ndnweir_core::scheme::Scheme;
use ndnweir_lab::experiment::{self, Experiment};
use ndnweir_lab::results::{self, Comparison, Keep, Repeat, table};
use ndnweir_lab::scenario::{self, Scenario};
use ndnweir_lab::{report, trace};
use std::path::{Path, PathBuf};

pub fn run(args: &SimArgs) -> Result<(), Failure> {
    let scenario = load(&args.scenario, &args.overrides)?;
    let schemes = experiment::choose(&scenario, &args.scheme).map_err(Failure::input)?;
    experiment::network(&scenario).check().map_err(Failure::input)?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("results").join(&scenario.name));
    results::may_write(&out).map_err(Failure::input)?;
    args.trace.as_deref().map_or(Ok(()), trace_target)?;
    if let Some(threads) = args.threads {
        // Fails only when a pool exists already, and this is the first.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    let stop = crate::interrupt::watch()?;
    let seeds: Vec<u64> = (0..u64::from(args.seeds)).map(|i| args.seed.wrapping_add(i)).collect();
    let experiment = Experiment { scenario, schemes, seeds, events: Vec::new() };
    let bar = Bar::new(experiment.schemes.len() * experiment.seeds.len());
    let result = experiment.run(&bar, stop);
    bar.done();
    let mut comparison = result.map_err(Failure::work)?;
    comparison.repeat = repeat(args, &experiment.schemes);
    report::write(&comparison, &out, Keep::First).map_err(Failure::work)?;
    let trace = args.trace.as_ref().filter(|_| !comparison.partial);
    if let Some(path) = trace {
        trace::write(&experiment, path, stop).map_err(Failure::work)?;
    }
    if args.json {
        print(&comparison.to_json())?;
    } else {
        print(&summary(&comparison, &experiment, &out, trace))?;
    }
    match comparison.partial {
        true => Err(Failure::Work(format!("interrupted; {} holds the runs that were complete", out.display()))),
        false => Ok(()),
    }
}

/// Checks that a packet trace can be put at `path`, before the work.
fn trace_target(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || path.as_os_str().is_empty() {
        return Err(Failure::Input(format!("--trace {}: is a folder; name a file", path.display())));
    }
    match folder.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => Err(Failure::Input(format!("--trace {}: check that the folder exists", path.display()))),
    }
}

/// Loads a scenario and checks that its schemes exist.
pub fn load(name: &str, overrides: &[String]) -> Result<Scenario, Failure> {
    let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
    scenario::load(name, &overrides, &experiment::scheme_check).map_err(Failure::input)
}

fn summary(comparison: &Comparison, experiment: &Experiment, out: &Path, trace: Option<&PathBuf>) -> String {
    let mut text = format!("{}: {}\n\n", comparison.scenario.name, comparison.scenario.description);
    text.push_str(&table(comparison));
    let stand_ins: Vec<&str> = experiment.schemes.iter().filter(|s| s.is_stand_in()).map(|s| s.name.as_str()).collect();
    if !stand_ins.is_empty() {
        text.push_str(&format!("\nStand-ins (the original law is not public): {}\n", stand_ins.join(", ")));
    }
    let seeds = match experiment.seeds[..] {
        [one] => format!("seed {one}"),
        _ => format!("seeds {} to {}", experiment.seeds[0], experiment.seeds[experiment.seeds.len() - 1]),
    };
    text.push_str(&format!("\n{seeds}; report: {}\n", out.join("report.html").display()));
    if let Some(path) = trace {
        text.push_str(&format!("packets: {}\n", path.display()));
    }
    text
}

/// The command that gives the same numbers again.
fn repeat(args: &SimArgs, schemes: &[Scheme]) -> Repeat {
    let names: Vec<&str> = schemes.iter().map(|s| s.name.as_str()).collect();
    let mut words = vec!["ndnweir".to_string(), "sim".into(), quote(&args.scenario)];
    words.extend(["--scheme".into(), quote(&names.join(","))]);
    words.extend(["--seeds".into(), args.seeds.to_string(), "--seed".into(), args.seed.to_string()]);
    for change in &args.overrides {
        words.extend(["--set".into(), quote(change)]);
    }
    let stand_ins = schemes.iter().filter(|s| s.is_stand_in());
    let notes = stand_ins.map(|s| format!("{} is a stand-in: the original law is not public", s.name));
    Repeat { command: words.join(" "), version: env!("CARGO_PKG_VERSION").into(), notes: notes.collect() }
}

/// A word as a shell reads it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
