//! Packet trains: the rate that others leave of the path, before the window law begins.
//!
//! A train of Interests leaves back to back; the median distance of its Data is that of the bottleneck, gB. Further
//! trains leave with a distance that grows from gB/2 by gB/8 per train, until their Data arrive as far apart as the
//! Interests left: the distance at which the train just fills what others leave. PTR is the rate of that train's Data;
//! IGI is the bottleneck's rate less that of others, which is read from the distances that grew: B · (1 − Σ(g − gB)/Σg
//! over all g, the first sum over g above both gB and the distance sent). The window is that rate times the least
//! round-trip time; the law goes on in congestion avoidance.
//!
//! Source: N. Hu, P. Steenkiste, "Evaluation and Characterization of Available Bandwidth Probing Techniques", IEEE
//! JSAC 21(6), 2003; the shorter way where Data arrive half again as far apart as sent or more, to the mean of both
//! distances, and the 5 µs above which a distance counts as grown, from the first author's tool (igi-ptr 2.1).
//!
//! What NDN changes: a train is of Interests, and its Data are content that was wanted anyway; the sizes are the
//! producer's. Ours: one train for a distance (the tool: three, and twice in a row); equal means within `tolerance`;
//! the median for gB (the tool: the fullest bin of 25 µs). While trains run, the law rests and marks do nothing, as a
//! train is meant to queue; a failed Interest ends the search, with the last whole train's rate, or none.

use super::{Estimate, Release, Startup};
use crate::consumer::{DataEvent, Flight};
use crate::ctx::Ctx;
use crate::units::{Duration, Time};

/// What a distance must exceed to count as grown.
const GROWN: Duration = Duration::from_micros(5);

/// A search by trains.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Trains {
    params: Startup,
    probing: bool,
    /// The distance asked for; zero for the first train.
    gap: Duration,
    bottleneck: Duration,
    least_rtt: Option<Duration>,
    /// Segments per second.
    rate: Option<f64>,
    looked_at: u32,
    sent: u32,
    first_sent: Time,
    last_sent: Time,
    arrived: u32,
    last_arrival: Option<(u64, Time)>,
    /// Distances of Data in a row.
    gaps: Vec<Duration>,
    release: Release,
}

fn mean(gaps: &[Duration]) -> Duration {
    let sum: u64 = gaps.iter().map(|gap| gap.nanos()).sum();
    Duration::from_nanos(sum / (gaps.len() as u64).max(1))
}

impl Trains {
    /// A fetch that has not begun.
    pub fn new(params: Startup) -> Trains {
        Trains {
            params,
            probing: true,
            gap: Duration::ZERO,
            bottleneck: Duration::ZERO,
            least_rtt: None,
            rate: None,
            looked_at: 0,
            sent: 0,
            first_sent: Time::ZERO,
            last_sent: Time::ZERO,
            arrived: 0,
            last_arrival: None,
            gaps: Vec::new(),
            release: Release::default(),
        }
    }

    /// Whether trains are still sent, so that the law rests.
    pub fn is_probing(&self) -> bool {
        self.probing
    }

    /// Whether one more Interest of the train may leave. Without anything in flight the next train begins.
    pub fn may_send(&self, flight: &Flight) -> bool {
        self.sent < self.params.train_length || flight.in_flight == 0
    }

    /// An Interest was sent.
    pub fn on_sent(&mut self, now: Time) {
        self.release.tick(now);
        if !self.probing {
            return;
        }
        if self.sent >= self.params.train_length {
            self.begin();
        }
        if self.sent == 0 {
            self.first_sent = now;
        }
        self.sent += 1;
        self.last_sent = now;
    }

    fn begin(&mut self) {
        (self.sent, self.arrived, self.last_arrival) = (0, 0, None);
        self.gaps.clear();
    }

    /// A segment arrived; the window to continue with, once it is known.
    pub fn on_data(&mut self, event: &DataEvent<'_>, window: f64, ctx: &mut Ctx<'_>) -> Option<f64> {
        self.release.tick(ctx.now);
        if !self.probing {
            return None;
        }
        if let Some(rtt) = event.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if let Some((segment, at)) = self.last_arrival.replace((event.segment, ctx.now))
            && segment.checked_add(1) == Some(event.segment)
        {
            self.gaps.push(ctx.now.since(at).max(self.params.min_gap));
        }
        self.arrived += 1;
        if self.arrived < self.params.train_length {
            return None;
        }
        self.looked_at += 1;
        let ends = self.judge(ctx) || self.looked_at >= self.params.attempts;
        self.begin();
        if ends { self.finish(window, ctx) } else { None }
    }

    /// Takes what the train shows, and sets the distance of the next; whether this was the last.
    fn judge(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let output = mean(&self.gaps);
        if output == Duration::ZERO {
            return true;
        }
        if self.bottleneck == Duration::ZERO {
            self.gaps.sort_unstable();
            self.bottleneck = self.gaps[self.gaps.len() / 2].max(Duration::from_nanos(1));
            self.gap = self.bottleneck / 2;
        }
        let spaces = u64::from(self.params.train_length - 1);
        let input = (self.last_sent.since(self.first_sent) / spaces).max(self.asked());
        let rate = match self.params.estimate {
            Estimate::Ptr => 1.0 / output.secs(),
            Estimate::Igi => self.left_by_others(input),
        };
        self.rate = Some(rate);
        ctx.trace.record(ctx.now, "train-gap-in", self.looked_at.into(), input.millis());
        ctx.trace.record(ctx.now, "train-gap-out", self.looked_at.into(), output.millis());
        ctx.trace.record(ctx.now, "train-rate", self.looked_at.into(), rate);
        if self.looked_at > 1 {
            if output <= input.scale(1.0 + self.params.tolerance) {
                return true;
            }
            if output >= input.scale(1.5) {
                self.gap = self.gap.max((input + output) / 2);
            }
        }
        self.gap = self.gap + self.bottleneck.scale(self.params.gap_step);
        false
    }

    /// The distance asked of the train at hand.
    fn asked(&self) -> Duration {
        if self.looked_at > 1 { self.gap } else { Duration::ZERO }
    }

    /// IGI: the bottleneck's rate less that of others.
    fn left_by_others(&self, input: Duration) -> f64 {
        let sum: f64 = self.gaps.iter().map(|gap| gap.secs()).sum();
        let threshold = input.max(self.bottleneck) + GROWN;
        let grown: f64 =
            self.gaps.iter().filter(|&&gap| gap > threshold).map(|gap| (*gap - self.bottleneck).secs()).sum();
        (1.0 - grown / sum) / self.bottleneck.secs()
    }

    /// Ends the search with the last rate, if there is one.
    fn finish(&mut self, window: f64, ctx: &mut Ctx<'_>) -> Option<f64> {
        self.probing = false;
        let round_trip = self.least_rtt?;
        let target = (self.rate? * round_trip.secs()).min(self.params.cap).max(window);
        self.release.spread(self.params.send, target, round_trip, ctx.now);
        ctx.trace.record(ctx.now, "startup-window", 0, target);
        Some(target)
    }

    /// An Interest failed.
    pub fn on_failed(&mut self, window: f64, ctx: &mut Ctx<'_>) -> Option<f64> {
        if self.probing { self.finish(window, ctx) } else { None }
    }

    /// The window was cut.
    pub fn on_cut(&mut self) {
        self.probing = false;
        self.release.end();
    }

    /// The gap to keep after the Interest just sent.
    pub fn pace(&self) -> Option<Duration> {
        if self.probing { (self.gap > Duration::ZERO).then_some(self.gap) } else { self.release.pace() }
    }
}

#[cfg(test)]
mod tests;
