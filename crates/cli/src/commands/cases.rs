//! `ndnweir sim` with `--vary`, or with `[[vary]]` in the scenario.

use super::checkpoints::{self, Kept, interrupted};
use super::inputs::{changed_but_not_run, check, seeds};
use super::repeat::repeat;
use super::run_files::files;
use super::{outcome, print_document, print_tables, target};
use crate::args::SimArgs;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::terminal;
use ndnweir_core::plain;
use ndnweir_lab::evaluation::grid::{Case, MAX_CASES, VaryError, cases, varied};
use ndnweir_lab::experiment::{self, Experiment, Progress};
use ndnweir_lab::results::{CaseResult, CaseResults, SeriesOf, shell_word};
use ndnweir_lab::text_table::wrapped;
use ndnweir_report as report;
use ndnweir_scenario::{self as scenario, Source};
use rayon::prelude::*;
use std::path::Path;

/// The cases of a scenario: by `--vary`, else by its own `[[vary]]`; none if nothing varies.
pub fn read(name: &str, overrides: &[String], vary: &[String]) -> Result<Option<Vec<Case>>, Failure> {
    of(&scenario::find(name).map_err(Failure::input)?, name, overrides, vary)
}

/// As [`read`], of a scenario that has been found under this name.
pub fn of(source: &Source, name: &str, overrides: &[String], vary: &[String]) -> Result<Option<Vec<Case>>, Failure> {
    let all = match varied(source, vary) {
        Ok(None) => return Ok(None),
        Ok(Some(all)) => all,
        Err(VaryError::Scenario(problems)) => return Err(Failure::input(problems)),
        Err(VaryError::Text(why)) => return Err(Failure::Input(format!("--vary {why}"))),
        Err(VaryError::Twice(case)) => {
            return Err(Failure::Input(format!(
                "{name}: two cases are called \"{}\"; give each value once",
                plain::line(&case)
            )));
        }
        Err(VaryError::TooMany(count)) => {
            return Err(Failure::Input(format!("{name}: {count} cases; vary less, at most {MAX_CASES} can be")));
        }
    };
    cases(source, name, overrides, all).map(Some).map_err(Failure::input)
}

/// Reports the runs of all cases to one bar.
struct CaseProgress<'a> {
    bar: &'a Bar,
    first: usize,
}

impl Progress for CaseProgress<'_> {
    fn advanced(&self, run: usize, fraction: f64) {
        self.bar.advanced(self.first + run, fraction);
    }
}

pub fn run(args: &SimArgs, cases: &[Case]) -> Result<(), Failure> {
    if let Some(file) = files(args).first() {
        let message = format!("{} {} cases would write one file; run one of them with --set", file.option, cases.len());
        return Err(Failure::Input(message));
    }
    #[cfg(feature = "view")]
    if args.live || args.watch {
        let message = "--live and --watch show one case, and this runs several; run one of them with --set";
        return Err(Failure::Input(message.into()));
    }
    let seeds = seeds(args.run.seed, args.run.seeds)?;
    let mut experiments = Vec::new();
    for case in cases {
        let schemes = experiment::choose(&case.scenario, &args.run.scheme).map_err(Failure::input)?;
        check(&case.scenario, &schemes)?;
        experiments.push(Experiment {
            scenario: case.scenario.clone(),
            schemes,
            seeds: seeds.clone(),
            events: Vec::new(),
        });
    }
    let Some(first) = experiments.first() else {
        return Err(Failure::Input(format!("{}: nothing varies", args.run.scenario)));
    };
    let vary: Vec<String> = args.vary.iter().flat_map(|text| ["--vary".to_owned(), shell_word(text)]).collect();
    let whole = repeat(&args.run, &first.schemes, &args.run.overrides, &vary);
    let default = Path::new("results").join(&first.scenario.name);
    let named = checkpoints::named(args)?;
    let target = target::choose(named.as_deref(), default, Some(&whole.command), args.run.output.force)?;
    let mut notes: Vec<String> = target.note.clone().into_iter().collect();
    notes.extend(changed_but_not_run(&first.scenario, &first.schemes));
    let kept = Kept::start(args, &target.folder, &mut notes)?;
    let stop = crate::interrupt::watch()?;
    let runs: Vec<usize> = experiments.iter().map(|e| e.schemes.len() * e.seeds.len()).collect();
    let all: usize = runs.iter().sum();
    let bar = Bar::new(all, args.run.output.quiet);
    let one = |(i, (case, experiment)): (usize, (&Case, &Experiment))| {
        let part = CaseProgress { bar: &bar, first: runs[..i].iter().sum() };
        let checkpoints = kept.checkpoints.as_ref().map(|all| all.of_case(i));
        let result = experiment.run_kept(&part, stop, checkpoints.as_ref(), all - runs[i]);
        if let (Some(all), Some(of_case)) = (&kept.checkpoints, &checkpoints) {
            all.take_problems(of_case);
        }
        let mut comparison = match result {
            Ok(comparison) => comparison,
            Err(experiment::Error::Nothing) => return Ok(None),
            Err(error) => return Err(Failure::Work(format!("case {}: {error}", plain::line(&case.name)))),
        };
        comparison.repeat = repeat(&args.run, &experiment.schemes, &case.set, &[]);
        Ok(Some(CaseResult { name: case.name.clone(), set: case.set.clone(), comparison }))
    };
    let done: Result<Vec<Option<CaseResult>>, Failure> =
        cases.par_iter().zip(&experiments).enumerate().map(one).collect();
    bar.done();
    let done: Vec<CaseResult> = done?.into_iter().flatten().collect();
    if done.is_empty() {
        return Err(interrupted(experiment::Error::Nothing, &kept.remedy(&whole.command)));
    }
    notes.extend(kept.notes());
    let remedy = kept.remedy(&whole.command);
    let partial = done.len() < cases.len() || done.iter().any(|case| case.comparison.partial);
    let results = CaseResults { cases: done, repeat: whole };
    let out = if partial { target.interrupted(false)? } else { target.folder };
    let mut problems = Vec::new();
    if let Err(error) = report::write_cases(&results, &out, SeriesOf::First) {
        problems.push(error.to_string());
    }
    if args.run.output.json {
        print_document(&results.to_summary())?;
    } else if !args.run.output.quiet {
        let style = terminal::table_style(args.run.output.wide);
        let scenario = &results.cases[0].comparison.scenario;
        let about = wrapped(&format!("{}: {}", scenario.name, scenario.description), style.width).join("\n");
        notes.extend(scenario.notes.iter().cloned());
        let notes: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
        let page = out.join("report.html");
        let page = if page.is_file() { format!("report: {}\n", page.display()) } else { String::new() };
        print_tables(&format!("{about}\n\n"), &results.table(style), &format!("\n{notes}{page}"))?;
    }
    if partial {
        problems.push(format!("interrupted; {} holds the runs that were complete{remedy}", out.display()));
    }
    kept.done(&mut problems);
    outcome(&problems)
}
