//! How a fetch finds its first window: slow start, a packet pair on top of it, or packet trains before it
//! ([`trains`]).
//!
//! Packet pair (Shi, Li, Wu, "An Optimized Congestion Control Scheme for Mice Flows in Named Data Networking", ICN
//! 2019): the first Data opens the window to two, so two Interests leave back to back at t0. Their Data are spread by
//! the bottleneck and arrive at t1 and t2; the window that fills the path is (t1 − t0)/(t2 − t1) (equation 3). Equation
//! 1 counts in packets and equations 2 and 3 in bytes, so S stands for one packet and cancels.
//!
//! Ours, as the paper says nothing about it: a pair counts only if both Data arrive unmarked, in order, apart, without
//! a retransmission, one right after the other and over the same path; otherwise the next pair is examined; slow start
//! sends one per Data. The window never shrinks to the estimate and never exceeds a cap; the law continues in
//! congestion avoidance, since slow start would double a pipe that is full. The first cut ends the search.
//!
//! Several paths and sources (the paper's future work; ours): if the run carries path labels ([`Field::PathLabel`]), a
//! pair counts only if both labels are the same, and every path has an estimate of its own. The search goes on until
//! each path that brought two Data in a row has one, or slow start reaches what is known. A path with a share s of the
//! Data then carries s of the window, so the window is the least estimate/s: with one path its estimate, with two equal
//! ones twice that.
//!
//! Data without a label (a router wrote none, or they came from this node) are a path of their own. A pair of them over
//! two paths mostly looks like one over a slow link. It is discarded where round trips show
//! it: its first Data took less time than any before, its second as long as those that came alone. Besides, `pairs`
//! above 1 errs on the safe side: the smallest of several windows counts, which is too large only if every single pair
//! was split.

pub mod trains;

use super::{DataEvent, Flight, check_window};
use crate::check;
use crate::component::Env;
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the first window is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The window law's own slow start.
    SlowStart,
    /// Slow start until a packet pair yields a window.
    PacketPair,
    /// Trains at growing distances until they yield a rate; no slow start (see [`trains`]).
    PacketTrain,
}

/// What a packet train tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Estimate {
    /// The rate at which its Data arrived.
    Ptr,
    /// The bottleneck's rate less that of others, from the distances that grew.
    Igi,
}

/// How the new window is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Sending {
    /// At once (the paper).
    Burst,
    /// Spread over one round trip.
    Paced,
}

/// The pace at which a window that was found is sent.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Release {
    pace: Option<Duration>,
    until: Time,
}

impl Release {
    /// Spreads a window over a round trip, if it should be.
    pub fn spread(&mut self, send: Sending, window: f64, round_trip: Duration, now: Time) {
        if send == Sending::Paced {
            *self = Release { pace: Some(round_trip.scale(1.0 / window)), until: now + round_trip };
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Time) {
        if now >= self.until {
            self.pace = None;
        }
    }

    /// Nothing is spread any more.
    pub fn end(&mut self) {
        self.pace = None;
    }

    /// The gap to keep after the Interest just sent.
    pub fn pace(&self) -> Option<Duration> {
        self.pace
    }
}

/// Parameters of the startup.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Startup {
    /// `slow-start`, `packet-pair` on top of it, or `packet-train` before it.
    pub kind: Kind,
    /// Pairs that should count, on every path; the smallest of a path's windows is taken (the paper: 1).
    pub pairs: u32,
    /// Pairs looked at, at least `pairs`; then those that counted must do, or slow start if none did (ours: 8). Trains
    /// sent, the first included; then the last one's rate must do.
    pub attempts: u32,
    /// The least spacing of two Data that is believed: the time of one on the fastest link, if known (ours: "0", any).
    pub min_gap: Duration,
    /// The largest window an estimate can give, in segments (ours: 4096).
    pub cap: f64,
    /// How the new window is sent (the paper: at once).
    pub send: Sending,
    /// Trains: Interests in each (Hu and Steenkiste: 60).
    pub train_length: u32,
    /// Trains: what the distance grows by per train, over the bottleneck's (Hu and Steenkiste: 1/8).
    pub gap_step: f64,
    /// Trains: how much farther apart Data may arrive than the Interests left and count as equal; pairs without path
    /// labels: how much round-trip times may differ and count as equal (ours: 5 %).
    pub tolerance: f64,
    /// Trains: `ptr` or `igi`.
    pub estimate: Estimate,
}

impl Default for Startup {
    fn default() -> Startup {
        Startup {
            kind: Kind::SlowStart,
            pairs: 1,
            attempts: 8,
            min_gap: Duration::ZERO,
            cap: 4096.0,
            send: Sending::Burst,
            train_length: 60,
            gap_step: 0.125,
            tolerance: 0.05,
            estimate: Estimate::Ptr,
        }
    }
}

impl Startup {
    /// Rejects a cap that is not a window, and more pairs than attempts.
    ///
    /// # Errors
    /// As [`check_window`].
    pub fn check(&self) -> Result<(), SchemeError> {
        check_window("startup.cap", self.cap)?;
        check::number("startup.pairs", f64::from(self.pairs), 1.0, 1000.0)?;
        check::number("startup.attempts", f64::from(self.attempts), f64::from(self.pairs), 1000.0)?;
        check::number("startup.train-length", f64::from(self.train_length), 2.0, 1000.0)?;
        check::number("startup.gap-step", self.gap_step, 1e-3, 100.0)?;
        check::number("startup.tolerance", self.tolerance, 0.0, 100.0)
    }
}

/// Why a pair was discarded, as recorded under `pair-discarded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Discard {
    Marked = 1,
    Order = 2,
    Path = 3,
    Resent = 4,
    RoundTrip = 5,
}

/// A Data that may be the first of a pair.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct First {
    segment: u64,
    sent: Time,
    arrived: Time,
    label: u32,
    marked: bool,
    resent: bool,
    /// The least round-trip time of the Data before it.
    least: Duration,
}

impl First {
    fn round_trip(&self) -> Duration {
        self.arrived.since(self.sent)
    }
}

/// The most paths with an estimate of their own; Data of others are not counted.
const MAX_PATHS: usize = 16;

/// What the pairs of one path showed.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct PathEstimate {
    label: u32,
    data: u32,
    /// Whether it brought two Data in a row, so that pairs can be expected of it.
    is_awaited: bool,
    counted: u32,
    smallest: f64,
}

/// The search for a pair, and the pace of what follows.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Pairing {
    params: Startup,
    label: Option<Slot>,
    searching: bool,
    looked_at: u32,
    paths: Vec<PathEstimate>,
    least: Duration,
    last: Option<First>,
    release: Release,
}

impl Pairing {
    /// A fetch that has not begun.
    pub fn new(params: Startup, env: &Env<'_>) -> Pairing {
        Pairing {
            params,
            label: env.carried(Field::PathLabel),
            searching: true,
            looked_at: 0,
            paths: Vec::new(),
            least: Duration::MAX,
            last: None,
            release: Release::default(),
        }
    }

    /// A segment arrived, the law's `window` already counts it. The window to continue with, once it is known.
    pub fn on_data(&mut self, event: &DataEvent<'_>, window: f64, ctx: &mut Ctx<'_>) -> Option<f64> {
        self.release.tick(ctx.now);
        if !self.searching {
            return None;
        }
        let second = First {
            segment: event.segment,
            sent: event.sent,
            arrived: ctx.now,
            label: self.label.map_or(0, |slot| event.fields.get(slot)),
            marked: event.mark > 0,
            resent: event.rtt.is_none(),
            least: self.least,
        };
        self.least = self.least.min(event.rtt.unwrap_or(Duration::MAX));
        self.count_data(second.label);
        let is_pair = |first: &First| first.sent == second.sent && first.segment.abs_diff(second.segment) == 1;
        let pair = self.last.replace(second).filter(is_pair);
        if let Some(first) = &pair {
            self.examine(first, &second, event, ctx);
        }
        let estimate = self.estimate();
        // While more pairs or other paths are waited for, slow start must not go beyond what is known already.
        let is_reached = estimate.is_some_and(|estimate| estimate <= window);
        self.searching = self.lacks_pairs() && self.looked_at < self.params.attempts && !is_reached;
        // When the attempts are used up, an estimate from few pairs is better than a slow start without end.
        let estimate = estimate.filter(|_| !self.searching)?;
        Some(self.jump(estimate, window, pair.unwrap_or(second).round_trip(), ctx))
    }

    fn examine(&mut self, first: &First, second: &First, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.looked_at += 1;
        let number = u64::from(self.looked_at);
        match self.judge(first, second) {
            Ok(estimate) => {
                let gap = self.gap(first, second);
                ctx.trace.record(ctx.now, "pair-window", number, estimate);
                ctx.trace.record(ctx.now, "pair-rate", number, event.size.bits() as f64 / gap.secs());
                if let Some(path) = self.paths.iter_mut().find(|path| path.label == second.label) {
                    path.counted += 1;
                    path.smallest = path.smallest.min(estimate);
                }
            }
            Err(why) => ctx.trace.record(ctx.now, "pair-discarded", number, f64::from(why as u8)),
        }
    }

    fn count_data(&mut self, label: u32) {
        let in_a_row = self.last.is_some_and(|last| last.label == label);
        if let Some(path) = self.paths.iter_mut().find(|path| path.label == label) {
            path.data = path.data.saturating_add(1);
            path.is_awaited |= in_a_row;
        } else if self.paths.len() < MAX_PATHS {
            let smallest = f64::INFINITY;
            self.paths.push(PathEstimate { label, data: 1, is_awaited: in_a_row, counted: 0, smallest });
        }
    }

    /// Whether a path has brought all its pairs that should count.
    fn is_complete(&self, path: &PathEstimate) -> bool {
        path.counted >= self.params.pairs
    }

    /// Whether no path is complete, or one that is waited for is not.
    fn lacks_pairs(&self) -> bool {
        let waits = self.paths.iter().any(|path| path.is_awaited && !self.is_complete(path));
        waits || !self.paths.iter().any(|path| self.is_complete(path))
    }

    /// The window at which no path carries more than its estimate, each with its share of the Data; none without one.
    fn estimate(&self) -> Option<f64> {
        let known = || self.paths.iter().filter(|path| path.counted > 0);
        let data: f64 = known().map(|path| f64::from(path.data)).sum();
        known().map(|path| path.smallest * (data / f64::from(path.data))).reduce(f64::min)
    }

    /// Equation 3, if the pair counts.
    fn judge(&self, first: &First, second: &First) -> Result<f64, Discard> {
        if first.resent || second.resent {
            return Err(Discard::Resent);
        }
        if first.marked || second.marked {
            return Err(Discard::Marked);
        }
        if second.segment < first.segment || second.arrived <= first.arrived {
            return Err(Discard::Order);
        }
        if first.label != second.label {
            return Err(Discard::Path);
        }
        if second.label == 0 && self.is_split(first, second) {
            return Err(Discard::RoundTrip);
        }
        Ok(first.round_trip().nanos() as f64 / self.gap(first, second).nanos() as f64)
    }

    /// t2 − t1, at least the least gap that is believed.
    fn gap(&self, first: &First, second: &First) -> Duration {
        second.arrived.since(first.arrived).max(self.params.min_gap)
    }

    /// Whether round trips show that a pair came over two paths: before it none was as short as its first, and its
    /// second did not wait behind that one, since it took what those before took alone.
    fn is_split(&self, first: &First, second: &First) -> bool {
        let as_long = first.least.scale(1.0 - self.params.tolerance);
        first.least != Duration::MAX && first.round_trip() < as_long && second.round_trip() >= as_long
    }

    fn jump(&mut self, estimate: f64, window: f64, round_trip: Duration, ctx: &mut Ctx<'_>) -> f64 {
        let target = estimate.min(self.params.cap).max(window);
        self.release.spread(self.params.send, target, round_trip, ctx.now);
        ctx.trace.record(ctx.now, "startup-window", 0, target);
        target
    }

    /// The window was cut: the path is full, whatever a pair would show.
    fn on_cut(&mut self) {
        self.searching = false;
        self.release.end();
    }
}

/// The search for a first window, beside or before the law's own.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub enum Search {
    /// By a packet pair.
    Pair(Pairing),
    /// By packet trains.
    Trains(trains::Trains),
}

impl Search {
    /// The search that `params` ask for; none of slow start.
    pub fn new(params: Startup, env: &Env<'_>) -> Option<Search> {
        match params.kind {
            Kind::SlowStart => None,
            Kind::PacketPair => Some(Search::Pair(Pairing::new(params, env))),
            Kind::PacketTrain => Some(Search::Trains(trains::Trains::new(params))),
        }
    }

    /// Whether the law rests meanwhile, and if so whether one more Interest may leave.
    pub fn holds(&self, flight: &Flight) -> Option<bool> {
        match self {
            Search::Trains(trains) if trains.is_probing() => Some(trains.may_send(flight)),
            _ => None,
        }
    }

    /// An Interest was sent.
    pub fn on_sent(&mut self, now: Time) {
        match self {
            Search::Pair(pairing) => pairing.release.tick(now),
            Search::Trains(trains) => trains.on_sent(now),
        }
    }

    /// A segment arrived, the law's `window` already counts it. The window to continue with, once it is known.
    pub fn on_data(&mut self, event: &DataEvent<'_>, window: f64, ctx: &mut Ctx<'_>) -> Option<f64> {
        match self {
            Search::Pair(pairing) => pairing.on_data(event, window, ctx),
            Search::Trains(trains) => trains.on_data(event, window, ctx),
        }
    }

    /// An Interest failed. The window to continue with instead of a cut, if trains have shown one.
    pub fn on_failed(&mut self, window: f64, ctx: &mut Ctx<'_>) -> Option<f64> {
        match self {
            Search::Pair(_) => None,
            Search::Trains(trains) => trains.on_failed(window, ctx),
        }
    }

    /// The window was cut.
    pub fn on_cut(&mut self) {
        match self {
            Search::Pair(pairing) => pairing.on_cut(),
            Search::Trains(trains) => trains.on_cut(),
        }
    }

    /// The gap to keep after the Interest just sent.
    pub fn pace(&self) -> Option<Duration> {
        match self {
            Search::Pair(pairing) => pairing.release.pace(),
            Search::Trains(trains) => trains.pace(),
        }
    }
}

#[cfg(test)]
mod tests;
