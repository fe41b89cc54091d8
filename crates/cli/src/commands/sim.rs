//! `ndnweir sim`.

use super::checkpoints::{self, Kept, interrupted};
use super::inputs::{changed_but_not_run, check, load_with_files, seeds};
use super::outputs::Outputs;
use super::repeat::repeat;
use super::run_files::{RunFile, files};
use super::watchers::{self, Watchers};
use super::{cases, outcome, print_document, print_tables, target};
use crate::args::SimArgs;
use crate::failure::Failure;
use crate::terminal;
use ndnweir_lab::experiment::{self, Experiment};
use ndnweir_lab::results::{Comparison, SeriesOf, stand_ins, table};
use ndnweir_lab::text_table::wrapped;
use ndnweir_report as report;
use std::path::Path;

pub fn run(args: &SimArgs) -> Result<(), Failure> {
    super::use_threads(args.threads);
    watchers::check(args)?;
    if let Some(cases) = cases::read(&args.run.scenario, &args.run.overrides, &args.vary)? {
        return cases::run(args, &cases);
    }
    let (scenario, inputs) = load_with_files(&args.run.scenario, &args.run.overrides)?;
    let schemes = experiment::choose(&scenario, &args.run.scheme).map_err(Failure::input)?;
    check(&scenario, &schemes)?;
    let seeds = seeds(args.run.seed, args.run.seeds)?;
    let repeat = repeat(&args.run, &schemes, &args.run.overrides, &[]);
    let default = Path::new("results").join(&scenario.name);
    let named = checkpoints::named(args)?;
    let target = target::choose(named.as_deref(), default, Some(&repeat.command), args.run.output.force)?;
    let mut outputs = Outputs::default();
    for file in files(args) {
        outputs.add_over(file.option, file.path, file.is_own)?;
    }
    outputs.not(&inputs)?;
    outputs.outside(&target.folder)?;
    outputs.only_over()?;
    let stop = crate::interrupt::watch()?;
    let mut notes: Vec<String> =
        target.note.clone().into_iter().chain(changed_but_not_run(&scenario, &schemes)).collect();
    let kept = Kept::start(args, &target.folder, &mut notes)?;
    let experiment = Experiment { scenario, schemes, seeds, events: Vec::new() };
    let mut watchers = Watchers::start(args, &experiment, &repeat.command, &target.folder, stop)?;
    let result = experiment.run_kept(&watchers, stop, kept.checkpoints.as_ref(), 0);
    watchers.over()?;
    let remedy = kept.remedy(&repeat.command);
    let mut comparison = result.map_err(|error| interrupted(error, &remedy))?;
    comparison.repeat = repeat;
    notes.extend(kept.notes());
    let out = if comparison.partial { target.interrupted(args.resume.is_some())? } else { target.folder };
    // From here on there are results: if anything fails, the rest is still written and printed.
    let mut problems = Vec::new();
    if let Err(error) = report::write(&comparison, &out, SeriesOf::First) {
        problems.push(error.to_string());
    }
    watchers.written(problems.is_empty().then_some(&*out), comparison.partial, &problems.join("\n"));
    let mut written = Vec::new();
    for file in files(args).into_iter().filter(|_| !comparison.partial) {
        match (file.write)(&experiment, file.path, stop) {
            Ok(()) => written.push(file),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if args.run.output.json {
        print_document(&comparison.to_summary())?;
    } else if !args.run.output.quiet {
        notes.extend(comparison.scenario.notes.iter().cloned());
        let style = terminal::table_style(args.run.output.wide);
        let about = format!("{}: {}", comparison.scenario.name, comparison.scenario.description);
        let above = format!("{}\n\n", wrapped(&about, style.width).join("\n"));
        let below = below(&comparison, &experiment, &notes, (&out, &written));
        print_tables(&above, &table(&comparison, args.sort, style), &below)?;
    }
    if comparison.partial {
        problems.push(format!("interrupted; {} holds the runs that were complete{remedy}", out.display()));
    }
    kept.done(&mut problems);
    watchers.stay();
    outcome(&problems)
}

/// What is said below the table.
fn below(
    comparison: &Comparison,
    experiment: &Experiment,
    notes: &[String],
    (out, written): (&Path, &[RunFile<'_>]),
) -> String {
    let mut text = String::new();
    if let Some(stand_ins) = stand_ins(&experiment.schemes) {
        text.push_str(&format!("\n{stand_ins}\n"));
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
    for file in written {
        text.push_str(&format!("{}: {}\n", file.what, file.path.display()));
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
