//! Progress of published and fetched objects on standard error.

use crate::terminal::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::FetcherCounters;

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// How many segments of a published object were requested. Draws nothing when standard error is not a terminal.
pub fn served(segments: u64, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(segments), target);
    styled(bar, "{spinner} [{bar:30}] {pos}/{len} segments requested, {msg} ({elapsed})")
}

/// How far a fetch is: bytes, rate, round-trip time, window and marks.
pub struct Fetched {
    bar: ProgressBar,
    stored: u64,
    received: u64,
    largest: u64,
    began: Option<Time>,
    /// When something arrived last.
    last_arrival: Time,
    drawn: Time,
}

/// From one drawing to the next.
const REDRAW: Duration = Duration::from_millis(100);

/// Time without content after which the bar shows that nothing arrives.
const SILENCE: Duration = Duration::from_millis(1000);

impl Fetched {
    /// A bar for an unknown total.
    pub fn new(quiet: bool) -> Fetched {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = styled(ProgressBar::with_draw_target(None, target), "{spinner} {msg}");
        bar.set_message("looking for the newest version");
        Fetched { bar, stored: 0, received: 0, largest: 0, began: None, last_arrival: Time::ZERO, drawn: Time::ZERO }
    }

    /// The object is known, and so many bytes of it are there.
    pub fn begin(&mut self, object: &str, stored: u64) {
        self.stored = stored;
        self.bar.set_message(object.to_owned());
        self.bar.set_position(stored);
        // An earlier fetch is excluded from the estimate of the remaining time.
        self.bar.reset_eta();
    }

    /// Time passes: shows when nothing arrives.
    pub fn wait(&mut self, now: Time) {
        let Some(began) = self.began else { return };
        let silence = now.since(self.last_arrival.max(began));
        if silence >= SILENCE && now.since(self.drawn) >= REDRAW {
            self.drawn = now;
            self.bar.set_message(format!("nothing has arrived for {:.0} s", silence.secs()));
            self.bar.tick();
        }
    }

    /// Bytes of a segment arrived; `last` is the last segment's number, if known.
    pub fn advance(&mut self, now: Time, bytes: u64, last: Option<u64>, counters: &FetcherCounters) {
        let began = *self.began.get_or_insert(now);
        self.last_arrival = now;
        self.received += bytes;
        self.largest = self.largest.max(bytes);
        if now.since(self.drawn) < REDRAW {
            return;
        }
        if self.bar.length().is_none()
            && let Some(last) = last
        {
            self.bar.set_length((last + 1) * self.largest);
            let template = "{spinner} {percent}% of {total_bytes}, {msg}, {eta} left [{wide_bar}]";
            self.bar = styled(self.bar.clone(), template);
        }
        self.drawn = now;
        let seconds = now.since(began).secs();
        let rate = if seconds > 0.0 { self.received as f64 * 8e-6 / seconds } else { 0.0 };
        let FetcherCounters { window, marks, srtt, .. } = counters;
        self.bar
            .set_message(format!("{rate:.1} Mbit/s, rtt {:.2} ms, window {window:.0}, {marks} marks", srtt.millis()));
        self.bar.set_position(self.stored + self.received);
    }

    /// Prints a line above the bar.
    pub fn print_line(&self, line: &str) {
        self.bar.suspend(|| say(line));
    }

    /// Removes the bar.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}
