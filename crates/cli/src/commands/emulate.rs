//! `ndnweir emulate`.

use super::emulate_folder::RunFolder;
use super::inputs::{changed_but_not_run, load, seeds};
use super::repeat::words;
use super::{outcome, print_document, print_tables, target};
use crate::failure::Failure;
use crate::network_args::{EmulateArgs, NOISE};
use crate::progress::Bar;
use crate::{interrupt, terminal};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Duration;
use ndnweir_emulate::roles::{self, Control};
use ndnweir_emulate::{self as emulate, Emulated, Emulation};
use ndnweir_lab::experiment::{self, Experiment, Progress};
use ndnweir_lab::results::agreement::{agreement, side_by_side, table};
use ndnweir_lab::results::{self, Repeat, SeriesOf, Sort};
use ndnweir_report as report;
use ndnweir_scenario::Scenario;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// As much as links may have.
const MAX_NOISE: Duration = Duration::from_millis(2000);

pub fn run(args: &EmulateArgs) -> Result<(), Failure> {
    let scenario = load(&args.run.scenario, &args.run.overrides)?;
    let schemes = experiment::choose(&scenario, &args.run.scheme).map_err(Failure::input)?;
    emulate::check(&scenario).map_err(|why| Failure::Input(format!("{}: {why}", args.run.scenario)))?;
    let suits = |scheme: &Scheme| emulate::check_scheme(&scenario, scheme, control().is_some());
    schemes.iter().try_for_each(suits).map_err(Failure::input)?;
    if args.noise > MAX_NOISE {
        return Err(Failure::Input(format!("--noise {}: give at most {MAX_NOISE}", args.noise)));
    }
    let scenario = emulate::comparable(&scenario);
    scenario.network().check().map_err(Failure::input)?;
    let seeds = seeds(args.run.seed, args.run.seeds)?;
    let default = Path::new("results").join(format!("{}-emulated", scenario.name));
    // No two emulated runs are the same: results are not overwritten without `--force`.
    let target = target::choose(args.run.out.as_deref(), default, None, args.run.output.force)?;
    let mut notes: Vec<String> =
        target.note.clone().into_iter().chain(changed_but_not_run(&scenario, &schemes)).collect();
    let stop = interrupt::watch()?;
    let bar = Bar::new(schemes.len() * seeds.len(), args.run.output.quiet);
    let mut done = Vec::new();
    let ended = emulate_all(&scenario, &schemes, &seeds, &bar, stop, &mut done);
    bar.done();
    if done.is_empty() {
        return Err(ended.err().unwrap_or_else(|| Failure::Work("interrupted before any run was complete".into())));
    }
    let scenario = emulate::noisy(&scenario, args.noise);
    let experiment = Experiment { scenario, schemes, seeds, events: vec![results::SWITCH.to_owned()] };
    let mut comparison = experiment.run(&experiment::Silent, &AtomicBool::new(false)).map_err(Failure::work)?;
    let partial = done.len() < comparison.runs.len();
    comparison.partial |= partial;
    comparison.repeat = repeat(args, &experiment.schemes);
    comparison.repeat.notes.extend(lost(&done).into_iter().chain(rejected(&done)));
    let emulated = done.into_iter().map(|emulated| emulated.run).collect();
    comparison.runs = side_by_side(comparison.runs, emulated);
    let rows = agreement(&comparison.runs);
    let out = if comparison.partial { target.interrupted(false)? } else { target.folder };
    let mut problems = Vec::new();
    if let Err(error) = report::write(&comparison, &out, SeriesOf::First) {
        problems.push(error.to_string());
    }
    if args.run.output.json {
        print_document(&comparison.to_summary())?;
    } else if !args.run.output.quiet {
        let style = terminal::table_style(args.run.output.wide);
        notes.extend(comparison.scenario.notes.iter().chain(&comparison.repeat.notes).cloned());
        let notes: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
        let (all, report) = (results::table(&comparison, Sort::Given, style), out.join("report.html"));
        let below = format!("\n{notes}report: {}\n", report.display());
        print_tables("", &format!("{all}\n{}", table(&rows, style)), &below)?;
    }
    let stored = format!("{} holds the runs that were complete", out.display());
    match (ended, partial) {
        (Err(failure), _) => problems.push(format!("{failure}; {stored}")),
        (Ok(()), true) => problems.push(format!("interrupted; {stored}")),
        (Ok(()), false) => {}
    }
    outcome(&problems)
}

/// What the machine itself lost, if that is known and not nothing.
fn lost(done: &[Emulated]) -> Option<String> {
    let lost: u64 = done.iter().filter_map(|emulated| emulated.lost).sum();
    let datagrams: u64 = done.iter().map(|emulated| emulated.datagrams).sum();
    (lost > 0).then(|| {
        format!("{lost} of {datagrams} datagrams between emulated processes were lost by this machine, not by a link")
    })
}

/// How many orders of controllers were rejected, if any.
fn rejected(done: &[Emulated]) -> Option<String> {
    let orders = done.iter().filter_map(|emulated| emulated.orders);
    let (given, rejected) = orders.fold((0, 0), |sum, orders| (sum.0 + orders.0, sum.1 + orders.1));
    (rejected > 0).then(|| format!("{rejected} of {given} orders of emulated controllers were rejected or lost"))
}

/// What leads emulated nodes: this command's own agent and controller.
#[cfg(feature = "gnmi")]
fn control() -> Option<Control> {
    use super::{control, fwd};
    Some(Control { agent: fwd::serve_gnmi, controller: control::lead_quietly })
}

#[cfg(not(feature = "gnmi"))]
fn control() -> Option<Control> {
    None
}

/// A process of an emulation.
pub fn role() -> Result<(), Failure> {
    roles::run(control()).map_err(Failure::work)
}

/// Adds every run that completes to `done`.
fn emulate_all(
    scenario: &Scenario,
    schemes: &[Scheme],
    seeds: &[u64],
    bar: &Bar,
    stop: &AtomicBool,
    done: &mut Vec<Emulated>,
) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::work)?;
    for scheme in schemes {
        for seed in seeds {
            let folder = RunFolder::new(&std::env::temp_dir()).map_err(Failure::work)?;
            let emulation = Emulation {
                scenario: scenario.clone(),
                program: (program.clone(), vec!["emulation-role".into()]),
                folder: folder.path().to_owned(),
            };
            let number = done.len();
            let mut progress = |fraction| bar.advanced(number, fraction);
            let run = emulation.run(scheme, *seed, stop, &mut progress);
            let failed = |error| Failure::Work(format!("scheme {}, seed {seed}: {error}", scheme.name));
            let Some(emulated) = run.map_err(failed)? else { return Ok(()) };
            done.push(emulated);
            bar.advanced(number, 1.0);
        }
    }
    Ok(())
}

/// The command that does the same again.
fn repeat(args: &EmulateArgs, schemes: &[Scheme]) -> Repeat {
    let noise = if NOISE.parse() == Ok(args.noise) { vec![] } else { vec!["--noise".into(), args.noise.to_string()] };
    let words = words("emulate", &args.run, schemes, &noise);
    let notes = vec!["Emulated runs depend on this machine: they come out alike, not the same".into()];
    Repeat { command: words.join(" "), version: env!("CARGO_PKG_VERSION").into(), notes }
}
