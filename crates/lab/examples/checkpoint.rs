//! The size of a checkpoint, and the time it takes: `cargo run --release -p ndnweir-lab --example checkpoint SCENARIO SCHEME`.
//!
//! The scenario runs twice with seed 1, the second time with its state kept at half of its time, and then on from there.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Time};
use ndnweir_lab::experiment::{Experiment, Inputs, Watching};
use ndnweir_scenario::load;
use ndnweir_sim::Keeper;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Keeps the state once, at the first question after a time.
struct Once {
    after: f64,
    begin: Instant,
    asked: Option<Instant>,
    made_s: f64,
    kept: Option<(Time, Vec<u8>)>,
}

impl Keeper for Once {
    fn wants(&mut self, _: bool) -> bool {
        let wants = self.kept.is_none() && self.begin.elapsed().as_secs_f64() > self.after;
        self.asked = wants.then(Instant::now);
        wants
    }

    fn keep(&mut self, at: Time, state: Vec<u8>) {
        self.made_s = self.asked.map_or(0.0, |asked| asked.elapsed().as_secs_f64());
        self.kept = Some((at, state));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(name), Some(scheme)) = (words.next(), words.next()) else {
        return Err("give a scenario and a scheme".into());
    };
    let changes: Vec<String> = words.collect();
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let scenario = load(&name, &changes).map_err(|error| error.to_string())?;
    let scheme = Scheme::named(&scheme)?;
    let inputs = Inputs::new(&scenario);
    let experiment = Experiment { scenario, schemes: Vec::new(), seeds: Vec::new(), events: Vec::new() };
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    let whole = experiment.run_one(&inputs, &scheme, 1, &stop, Watching::default())?.ok_or("it ended early")?;
    let whole_s = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let mut keeper = Once { after: whole_s / 2.0, begin, asked: None, made_s: 0.0, kept: None };
    let watching = Watching { keeper: Some(&mut keeper), ..Watching::default() };
    experiment.run_one(&inputs, &scheme, 1, &stop, watching)?;
    let (at, state) = keeper.kept.ok_or("it ended before half of its time")?;
    let file = std::env::temp_dir().join(format!("checkpoint-{}", std::process::id()));
    let begin = Instant::now();
    std::fs::write(&file, &state)?;
    std::fs::File::open(&file)?.sync_all()?;
    let written_s = begin.elapsed().as_secs_f64();
    std::fs::remove_file(&file)?;
    let begin = Instant::now();
    let watching = Watching { resume: Some(&state), ..Watching::default() };
    let resumed = experiment.run_one(&inputs, &scheme, 1, &stop, watching)?.ok_or("it ended early")?;
    let rest_s = begin.elapsed().as_secs_f64();
    println!(
        "{name} under {}: whole run {whole_s:.2} s; at {} of simulated time {:.2} MB, made in {:.0} ms, written in {:.0} \
         ms; the rest with set-up {rest_s:.2} s; {} packets in flight; {}",
        scheme.name,
        Duration::from_nanos(at.nanos()),
        state.len() as f64 / 1e6,
        1e3 * keeper.made_s,
        1e3 * written_s,
        whole.outcome.in_flight,
        if format!("{:?}", whole.outcome) == format!("{:?}", resumed.outcome) { "the same" } else { "DIFFERENT" },
    );
    Ok(())
}
