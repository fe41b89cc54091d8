//! A progress bar of runs on standard error, with an estimate of the time left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ndnweir_lab::experiment::Progress;
use std::sync::Mutex;
use std::time::Duration;

/// Steps a run is divided into.
const STEPS: u64 = 1000;

/// Shows how far all runs together are. Draws nothing when standard error is not a terminal.
pub struct Bar {
    bar: ProgressBar,
    reached: Mutex<Reached>,
}

/// How far each run is, in steps, and all together: of a million runs not all can be looked at whenever one advances.
struct Reached {
    runs: Vec<u64>,
    finished: usize,
    all: u64,
}

impl Bar {
    /// A bar for so many runs.
    pub fn new(runs: usize, quiet: bool) -> Bar {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(runs as u64 * STEPS), target);
        let style = "{spinner} {msg} [{bar:40}] {percent}% ({elapsed} elapsed, {eta} left)";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(format!("0/{runs} runs"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar { bar, reached: Mutex::new(Reached { runs: vec![0; runs], finished: 0, all: 0 }) }
    }

    /// Removes the bar.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn advanced(&self, run: usize, fraction: f64) {
        let Ok(mut reached) = self.reached.lock() else { return };
        let Some(known) = reached.runs.get_mut(run) else { return };
        let steps = (fraction.clamp(0.0, 1.0) * STEPS as f64) as u64;
        let before = std::mem::replace(known, steps);
        reached.all = reached.all + steps - before;
        reached.finished = reached.finished + usize::from(steps == STEPS) - usize::from(before == STEPS);
        self.bar.set_message(format!("{}/{} runs", reached.finished, reached.runs.len()));
        self.bar.set_position(reached.all);
    }
}
