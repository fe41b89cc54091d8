//! A progress bar of runs on standard error, with an estimate of the time left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ndnweir_lab::experiment::Progress;
use std::sync::Mutex;
use std::time::Duration;

/// Steps a run is divided into.
const STEPS: f64 = 1000.0;

/// Shows how far all runs together are. Draws nothing when standard error is not a terminal.
pub struct Bar {
    bar: ProgressBar,
    fractions: Mutex<Vec<f64>>,
}

impl Bar {
    /// A bar for so many runs.
    pub fn new(runs: usize, quiet: bool) -> Bar {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some((runs as f64 * STEPS) as u64), target);
        let style = "{spinner} {msg} [{bar:40}] {percent}% ({elapsed} elapsed, {eta} left)";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(format!("0/{runs} runs"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar { bar, fractions: Mutex::new(vec![0.0; runs]) }
    }

    /// Removes the bar.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn advanced(&self, run: usize, fraction: f64) {
        let Ok(mut fractions) = self.fractions.lock() else { return };
        if let Some(known) = fractions.get_mut(run) {
            *known = fraction;
        }
        let finished = fractions.iter().filter(|f| **f >= 1.0).count();
        self.bar.set_message(format!("{finished}/{} runs", fractions.len()));
        self.bar.set_position((fractions.iter().sum::<f64>() * STEPS) as u64);
    }
}
