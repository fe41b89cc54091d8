//! States of runs that somebody made up, with the right hash: they are rejected, or end in an error or in results. None has
//! the simulator loop or take memory without bound.

use ndnweir_core::ctx::Rng;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Time;
use ndnweir_lab::experiment::{Experiment, Inputs, Watching};
use ndnweir_scenario as scenario;
use ndnweir_sim::Keeper;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the state in the midst of a run.
#[derive(Default)]
struct Midst {
    asked: u32,
    kept: Option<Vec<u8>>,
}

impl Keeper for Midst {
    fn wants(&mut self, _: bool) -> bool {
        self.asked += 1;
        self.asked == 4
    }

    fn keep(&mut self, _: Time, state: Vec<u8>) {
        self.kept = Some(state);
    }
}

/// Stops a run that has many times the events of the one that was kept.
struct Limit<'a>(&'a AtomicBool, u32);

impl Keeper for Limit<'_> {
    fn wants(&mut self, _: bool) -> bool {
        self.1 += 1;
        if self.1 > 300 {
            self.0.store(true, Ordering::Relaxed);
        }
        false
    }

    fn keep(&mut self, _: Time, _: Vec<u8>) {}
}

/// Appends a number as states have it.
fn number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Some bytes are others: a bit, a byte, a number that is huge, a piece from elsewhere, or left out.
fn changed(state: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut state = state.to_vec();
    for _ in 0..1 + rng.bits() % 3 {
        let at = rng.bits() as usize % (state.len() - 40);
        let (random, other) = (rng.bits(), rng.bits() as usize % (state.len() - 40));
        match random % 5 {
            0 => state[at] ^= 1 << (random >> 8 & 7),
            1 => state[at] = (random >> 8) as u8,
            2 => {
                // In place of the number that is there.
                let first = (0..at).rev().take_while(|before| state[*before] >= 0x80).last().unwrap_or(at);
                let length = state[first..].iter().take_while(|byte| **byte >= 0x80).count() + 1;
                let mut huge = Vec::new();
                number([1 << 31, u64::from(u32::MAX), 1 << 32, 1 << 60, u64::MAX][random as usize >> 8 & 3], &mut huge);
                state.splice(first..first + length.min(10), huge);
            }
            3 => {
                let piece = state[other..other + 8].to_vec();
                state.splice(at..at + 8, piece);
            }
            _ => drop(state.drain(at..at + 1 + (random >> 8 & 15) as usize)),
        }
    }
    state
}

#[test]
fn a_state_that_somebody_made_up_is_rejected_or_ends_in_an_error_or_in_results() {
    for (name, scheme) in [("dumbbell", "cubic"), ("short-flows", "rcp"), ("parking-lot", "hr-icp")] {
        let scenario = scenario::load(name, &["run.duration=2s", "run.warm-up=200ms"]).unwrap();
        let scheme = Scheme::named(scheme).unwrap();
        let experiment = Experiment { scenario, schemes: vec![], seeds: vec![], events: vec![] };
        let (inputs, stop) = (Inputs::new(&experiment.scenario), AtomicBool::new(false));
        let mut keeper = Midst::default();
        let watching = Watching { keeper: Some(&mut keeper), ..Watching::default() };
        experiment.run_one(&inputs, &scheme, 5, &stop, watching).unwrap().unwrap();
        let state = keeper.kept.expect("there are more than 4096 events");
        let (mut rejected, mut others) = (0, 0);
        for seed in 0..150 {
            let state = changed(&state, &mut Rng::derive(seed, &[]));
            let stop = AtomicBool::new(false);
            let mut limit = Limit(&stop, 0);
            let watching = Watching { keeper: Some(&mut limit), resume: Some(&state), ..Watching::default() };
            // As `run_kept` does, which has an error of a panic.
            let run = || experiment.run_one(&inputs, &scheme, 5, &stop, watching).map(|run| run.is_some());
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Err(error)) if error.to_string().contains("does not fit") => rejected += 1,
                _ => others += 1,
            }
        }
        assert!(rejected > 20 && others > 5, "{name}: {rejected} rejected, {others} others");
    }
}
