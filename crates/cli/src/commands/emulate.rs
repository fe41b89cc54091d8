//! `ndnweir emulate`.

use super::sim::{load, quote};
use super::{print, print_json};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Bar;
use clap::Args;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Span;
use ndnweir_lab::emulate::{self, Emulated, Emulation, agreement, side_by_side, table};
use ndnweir_lab::experiment::{self, Experiment, Progress};
use ndnweir_lab::report;
use ndnweir_lab::results::{self, Keep, Repeat};
use ndnweir_lab::scenario::Scenario;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What real processes were seen to add to the empty path of the dumbbell: 0.17 to 0.5 ms over six links.
const NOISE: &str = "100us";
/// As much as links may have.
const MOST_NOISE: Span = Span::from_millis(2000);

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir emulate dumbbell --scheme pcon --set run.duration=20s
  ndnweir emulate two-paths --scheme pcon,bic --seeds 3 --json
  ndnweir emulate my-scenario.toml --out results/mine-emulated

Every node is a real forwarder process, every producer and consumer a real application; links are emulated over UDP on
this machine. A run takes as long as the scenario lasts. The same scenario is simulated beside it, with the packet
sizes that the real packets have, and with a little random delay as real processes have.")]
pub struct EmulateArgs {
    /// A scenario's name (see `ndnweir list`), or a scenario or topology file
    scenario: String,
    /// Schemes to run, separated by commas, or "all"; the default is the scenario's own list
    #[arg(long, short, value_delimiter = ',', value_name = "NAME")]
    scheme: Vec<String>,
    /// How many seeds to run, one after the other
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// The first seed
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    seed: u64,
    /// Random delay of packets on each link of the simulation, at most this: real processes are never exact
    #[arg(long, default_value = NOISE, value_name = "TIME")]
    noise: Span,
    /// Change the scenario, e.g. run.duration=20s; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Folder for the report, summary and series [default: results/SCENARIO-emulated]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document on standard output instead of the tables
    #[arg(long)]
    json: bool,
}

pub fn run(args: &EmulateArgs) -> Result<(), Failure> {
    let scenario = load(&args.scenario, &args.overrides)?;
    let schemes = experiment::choose(&scenario, &args.scheme).map_err(Failure::input)?;
    emulate::check(&scenario).map_err(|why| Failure::Input(format!("{}: {why}", args.scenario)))?;
    schemes.iter().try_for_each(emulate::check_scheme).map_err(Failure::Input)?;
    if args.noise > MOST_NOISE {
        return Err(Failure::Input(format!("--noise {}: give at most {MOST_NOISE}", args.noise)));
    }
    let scenario = emulate::comparable(&scenario);
    experiment::network(&scenario).check().map_err(Failure::input)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => Path::new("results").join(format!("{}-emulated", scenario.name)),
    };
    results::may_write(&out).map_err(Failure::input)?;
    let stop = interrupt::watch()?;
    let seeds: Vec<u64> = (0..u64::from(args.seeds)).map(|i| args.seed.wrapping_add(i)).collect();
    let bar = Bar::new(schemes.len() * seeds.len());
    let mut done = Vec::new();
    let ended = emulate_all(&scenario, &schemes, &seeds, &bar, stop, &mut done);
    bar.done();
    if done.is_empty() {
        return Err(ended.err().unwrap_or_else(|| Failure::Work("interrupted before any run was complete".into())));
    }
    let scenario = emulate::noisy(&scenario, args.noise);
    let experiment = Experiment { scenario, schemes, seeds, events: Vec::new() };
    let mut comparison = experiment.run(&experiment::Silent, &AtomicBool::new(false)).map_err(Failure::work)?;
    let partial = done.len() < comparison.runs.len();
    comparison.partial |= partial;
    comparison.repeat = repeat(args, &experiment.schemes);
    comparison.repeat.notes.extend(lost(&done));
    let emulated = done.into_iter().map(|emulated| emulated.run).collect();
    comparison.runs = side_by_side(comparison.runs, emulated);
    let rows = agreement(&comparison.runs);
    report::write(&comparison, &out, Keep::First).map_err(Failure::work)?;
    if args.json {
        let document = comparison.to_json();
        let document: serde_json::Value = serde_json::from_str(&document).map_err(Failure::work)?;
        print_json(&json!({ "agreement": rows, "comparison": document }))?;
    } else {
        let notes: String = comparison.repeat.notes.iter().map(|note| format!("{note}.\n")).collect();
        let report = out.join("report.html");
        print(&format!("{}\n{}\n{notes}report: {}\n", results::table(&comparison), table(&rows), report.display()))?;
    }
    let there = format!("{} holds the runs that were complete", out.display());
    match (ended, partial) {
        (Err(failure), _) => Err(Failure::Work(format!("{failure}; {there}"))),
        (Ok(()), true) => Err(Failure::Work(format!("interrupted; {there}"))),
        (Ok(()), false) => Ok(()),
    }
}

/// What the machine itself lost, if that is known and not nothing.
fn lost(done: &[Emulated]) -> Option<String> {
    let lost: u64 = done.iter().filter_map(|emulated| emulated.lost).sum();
    let datagrams: u64 = done.iter().map(|emulated| emulated.datagrams).sum();
    (lost > 0).then(|| {
        format!("{lost} of {datagrams} datagrams between emulated processes were lost by this machine, not by a link")
    })
}

/// Adds every run that comes to its end to `done`.
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
            let folder = tempfile::Builder::new().prefix("ndnweir-").tempdir().map_err(Failure::work)?;
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
    let names: Vec<&str> = schemes.iter().map(|s| s.name.as_str()).collect();
    let mut words = vec!["ndnweir".to_string(), "emulate".into(), quote(&args.scenario)];
    words.extend(["--scheme".into(), quote(&names.join(","))]);
    words.extend(["--seeds".into(), args.seeds.to_string(), "--seed".into(), args.seed.to_string()]);
    if NOISE.parse() != Ok(args.noise) {
        words.extend(["--noise".into(), args.noise.to_string()]);
    }
    for change in &args.overrides {
        words.extend(["--set".into(), quote(change)]);
    }
    let notes = vec!["Emulated runs depend on this machine: they come out alike, not the same".into()];
    Repeat { command: words.join(" "), version: env!("CARGO_PKG_VERSION").into(), notes }
}
