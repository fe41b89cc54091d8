//! `his`: shapes Interests so that neither direction of a link has more Data requested than it carries.
//!
//! One FIFO of Interests per face, sent at a rate that leaves the reverse link room for the Data of this side's
//! Interests and this link room for the Data the other side requests; no messages between neighbours. Source: Wang,
//! Rozhnova, Narayanan, Oran, Rhee, ICN 2013, law and constants from the first author's code (github wygivan/ndnSIM,
//! branch cc-new); the paper itself was not available.
//!
//! Ours: rejection is a Congestion NACK (the code gives up); the demand of the other side is measured over whole
//! intervals even if nothing arrives (`stale-observation` is the code's way); ratios of sizes are at least 1.01.

mod admission;

use super::{Admission, Answer, FaceView, Outcome, PacketCount, ReleaseEvent, Reverse, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::packet::{NackReason, Packet};
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Rate, Time};
use admission::Gate;
pub use admission::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Parameters of [`His`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Part of the computed rates that is used; 0.98 in the author's code, 0.97 in his dumbbell.
    pub headroom: f64,
    /// Over how long the demand of the other side is measured; 0.1 s in the code.
    pub interval: Duration,
    /// Whether a measurement stays until the next Interest arrives, as in the code.
    pub stale_observation: bool,
    /// Interests held at most; 100 in the code.
    pub queue: u32,
    /// Which Interests are rejected before the queue is full.
    pub admission: Mode,
    /// The delay in the queue that PIE and CoDel aim at; 20 ms in the code.
    pub target: Duration,
    /// The size of a Data before the first, in bytes on the wire; 1100 in the code.
    pub data_size: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            headroom: 0.98,
            interval: Duration::from_millis(100),
            stale_observation: false,
            queue: 100,
            admission: Mode::DropTail,
            target: Duration::from_millis(20),
            data_size: Bytes::new(1100),
        }
    }
}

/// The shaper of one face.
#[derive(ndnweir_state::State)]
pub struct His {
    #[state(skip)]
    params: Params,
    queue: VecDeque<(Packet, Time)>,
    /// When the next Interest may leave.
    open: Time,
    /// The Interest that left last: its size and when.
    left: (Bytes, Time),
    /// The rates, out and back, that its gap was computed for.
    paced: [Option<Rate>; 2],
    gate: Gate,
    interests_out: SizeEstimate,
    interests_in: SizeEstimate,
    data_out: SizeEstimate,
    data_in: SizeEstimate,
    /// The counters of the other direction at the last sample.
    passed: Reverse,
    /// The same when the interval began, and when that was.
    since: (PacketCount, Time),
    /// Demand of the other side, in bit/s of Interests.
    observed: f64,
}

impl Component for His {
    const NAME: &'static str = "his";
    const SUMMARY: &'static str = "Interest shaping by the load of both directions of a link";
    const SOURCE: &'static str = "Wang et al., ICN 2013, from the first author's code; NACK reason and measurement of idle \
         intervals: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::factor("headroom", params.headroom)?;
        check::number("queue", params.queue.into(), 1.0, 1e5)?;
        check::least("interval", params.interval, Duration::from_micros(10))?;
        check::least("target", params.target, Duration::from_micros(10))?;
        check::data_size("data-size", params.data_size)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> His {
        // 40 B in the code; the first Interest replaces it before it counts.
        let (data, interest) = (SizeEstimate::new(params.data_size), SizeEstimate::new(Bytes::new(40)));
        His {
            params: params.clone(),
            queue: VecDeque::new(),
            open: Time::ZERO,
            left: (Bytes::ZERO, Time::ZERO),
            paced: [None, None],
            gate: Gate::new(params.admission, params.target),
            interests_out: interest,
            interests_in: interest,
            data_out: data,
            data_in: data,
            passed: Reverse::default(),
            since: (PacketCount::default(), Time::ZERO),
            observed: 0.0,
        }
    }
}

/// The rates the law gives, in bit/s of Interests.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rates {
    /// Without demand from the other side.
    most: f64,
    /// With all the demand the other side may have.
    least: f64,
    /// What that demand is expected to be.
    expected: f64,
}

/// The law for a link of `c1` out and `c2` in, in bit/s; `r1` and `r2` are Data per Interest size, in and out.
fn rates(c1: f64, c2: f64, r1: f64, r2: f64) -> Rates {
    let (r1, r2) = (r1.max(1.01), r2.max(1.01));
    let (most, ratio, both) = (c2 / r1, c1 / c2, r1 * r2);
    let (least, expected) = if ratio < 2.0 * r2 / (both + 1.0) {
        (c1 / 2.0, c1 / (2.0 * r2))
    } else if ratio > (both + 1.0) / (2.0 * r1) {
        (c2 / (2.0 * r1), c2 / 2.0)
    } else {
        ((r2 * c2 - c1) / (both - 1.0), (r1 * c1 - c2) / (both - 1.0))
    };
    Rates { most, least, expected }
}

impl Rates {
    /// The rate at an observed demand.
    fn at(&self, observed: f64, headroom: f64) -> f64 {
        let expected = self.expected * headroom;
        let free = if observed >= expected { 0.0 } else { 1.0 - observed / expected };
        (self.least + (self.most - self.least) * free * free) * headroom
    }
}

impl His {
    /// Samples the counters of the other direction.
    fn sample(&mut self, reverse: &Reverse, now: Time) {
        let average = |new: PacketCount, old: PacketCount| {
            let packets = new.packets.saturating_sub(old.packets);
            let bits = new.bits.saturating_sub(old.bits);
            Bytes::new((bits / 8).checked_div(packets).unwrap_or(0))
        };
        self.interests_in.sample(average(reverse.interests_in, self.passed.interests_in));
        self.data_out.sample(average(reverse.data_out, self.passed.data_out));
        let arrived = reverse.interests_in.packets > self.passed.interests_in.packets;
        self.passed = *reverse;
        let elapsed = now.since(self.since.1);
        if elapsed >= self.params.interval && (arrived || !self.params.stale_observation) {
            let bits = reverse.interests_in.bits.saturating_sub(self.since.0.bits);
            self.observed = bits as f64 / elapsed.secs();
            self.since = (reverse.interests_in, now);
        }
    }

    /// An Interest leaves: the next one may follow after the gap.
    fn on_departure(&mut self, packet: &Packet, out: &FaceView, now: Time) {
        self.left = (packet.bytes(), now);
        self.pace(out);
    }

    /// When the next Interest may follow the last, at the present rates.
    fn pace(&mut self, out: &FaceView) {
        self.paced = [out.rate, out.return_rate];
        let (size, sent) = self.left;
        let back = out.return_rate.or(out.rate);
        let (Some(c1), Some(c2)) = (out.rate.filter(|c| *c > Rate::ZERO), back.filter(|c| *c > Rate::ZERO)) else {
            // A dead link: nothing comes back, check again after an interval.
            self.open = sent + self.params.interval;
            return;
        };
        let r1 = self.data_in.bytes() / self.interests_out.bytes();
        let r2 = self.data_out.bytes() / self.interests_in.bytes();
        let rate = rates(c1.bps() as f64, c2.bps() as f64, r1, r2).at(self.observed, self.params.headroom);
        self.open = sent + Duration::from_secs_f64(size.bits() as f64 / rate);
    }

    /// A gap computed for former rates would hold Interests back for seconds after a link was slow.
    fn follow(&mut self, out: &FaceView) {
        if self.paced != [out.rate, out.return_rate] && self.left.0 > Bytes::ZERO {
            self.pace(out);
        }
    }
}

impl Shaper for His {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        if event.out.local || event.out.rate.is_none() {
            return Admission::Pass;
        }
        let now = ctx.now;
        self.sample(&event.reverse, now);
        self.interests_out.sample(event.packet.bytes());
        self.follow(&event.out);
        if self.queue.is_empty() && now >= self.open {
            self.on_departure(event.packet, &event.out, now);
            return Admission::Pass;
        }
        if self.queue.len() >= self.params.queue as usize || self.gate.rejects(self.queue.len(), now, ctx.rng) {
            return Admission::Reject(NackReason::Congestion);
        }
        self.queue.push_back((*event.packet, now));
        Admission::Hold
    }

    fn release(&mut self, event: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.sample(&event.reverse, ctx.now);
        self.follow(&event.out);
        if ctx.now < self.open {
            return None;
        }
        let (packet, joined) = self.queue.pop_front()?;
        self.gate.on_departure(ctx.now.since(joined), self.queue.len(), ctx.now);
        self.on_departure(&packet, &event.out, ctx.now);
        Some(packet)
    }

    fn on_answer(&mut self, answer: &Answer<'_>, _: &mut Ctx<'_>) {
        if answer.outcome == Outcome::Data {
            self.data_in.sample(answer.packet.bytes());
        }
    }

    fn next_wake(&self) -> Time {
        if self.queue.is_empty() { Time::NEVER } else { self.open }
    }

    fn held(&self) -> u32 {
        self.queue.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shaper::harness::{Bench, ms};
    use serde_json::json;

    #[test]
    fn the_law_gives_the_rates_of_the_specification() {
        // A Python transcription of the three branches, run apart, gave these.
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * b;
        for (c1, c2, r, most, least, expected) in [
            (10e6, 10e6, 25.0, 400_000.0, 384_615.384_615, 384_615.384_615),
            (1e6, 10e6, 25.0, 400_000.0, 399_038.461_538, 24_038.461_538),
            (10e6, 1e6, 25.0, 40_000.0, 24_038.461_538, 399_038.461_538),
            (10e6, 10e6, 27.5, 363_636.363_636, 350_877.192_982, 350_877.192_982),
        ] {
            let found = rates(c1, c2, r, r);
            assert!(
                close(found.most, most) && close(found.least, least) && close(found.expected, expected),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_gap_for_a_slow_link_ends_when_the_link_is_fast_again() {
        // At 1 kbit/s a gap takes seconds; at 10 Mbit/s less than a millisecond.
        let mut bench = Bench::<His>::new(&json!({})).link(0.001);
        assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
        assert_eq!(bench.admit(ms(500), 1), Admission::Hold);
        assert_eq!(bench.release(ms(500)), None);
        bench.rate = Some(Rate::from_mbps(10.0));
        assert!(bench.release(ms(501)).is_some());
    }

    #[test]
    fn both_ends_at_their_least_rates_load_each_direction_exactly() {
        for (c1, c2) in [(10e6, 10e6), (1e6, 10e6), (10e6, 1e6)] {
            let (here, there) = (rates(c1, c2, 25.0, 25.0), rates(c2, c1, 25.0, 25.0));
            // Outward: own Interests and Data for the other side; inward: the reverse.
            assert!(((here.least + 25.0 * there.least) / c1 - 1.0).abs() < 1e-9);
            assert!(((there.least + 25.0 * here.least) / c2 - 1.0).abs() < 1e-9);
            assert!((here.expected - there.least).abs() < 1e-6);
        }
    }

    #[test]
    fn one_way_demand_gets_the_headroom_of_the_reverse_link() {
        // 1100 B and 40 B: 363 636 bit/s · 0.98 = 1113.6 Interests/s, one per 0.897959 ms.
        let mut bench = Bench::<His>::new(&json!({})).link(10.0);
        assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
        assert_eq!(bench.admit(ms(0), 1), Admission::Hold);
        assert_eq!(bench.shaper.next_wake(), Time::from_nanos(897_959));
        assert!(bench.release(Time::from_nanos(897_958)).is_none());
        assert!(bench.release(Time::from_nanos(897_959)).is_some());
        assert_eq!(bench.admit(ms(5), 1), Admission::Pass);
    }

    #[test]
    fn the_demand_of_the_other_side_takes_the_square_of_what_is_free() {
        // Half the expected demand: least + (most − least)/4, all times 0.98.
        let law = rates(10e6, 10e6, 25.0, 25.0);
        let half = law.at(0.5 * 0.98 * law.expected, 0.98);
        assert!((half - 0.98 * (law.least + (law.most - law.least) / 4.0)).abs() < 1e-6);
        assert_eq!(law.at(1e9, 0.98), 0.98 * law.least);
        assert_eq!(law.at(0.0, 0.98), 0.98 * law.most);
    }

    #[test]
    fn demand_that_stops_is_forgotten_unless_the_observation_may_be_stale() {
        let observed = |stale: bool| {
            let mut bench = Bench::<His>::new(&json!({ "stale-observation": stale })).link(10.0);
            bench.admit(ms(0), 1);
            // 1000 Interests of 40 B in 100 ms: 3.2 Mbit/s.
            bench.reverse.interests_in = PacketCount { packets: 1000, bits: 320_000 };
            bench.admit(ms(100), 1);
            let before = bench.shaper.observed;
            bench.admit(ms(250), 1);
            (before, bench.shaper.observed)
        };
        assert_eq!(observed(false), (3.2e6, 0.0));
        assert_eq!(observed(true), (3.2e6, 3.2e6));
    }

    #[test]
    fn a_full_queue_rejects() {
        let mut bench = Bench::<His>::new(&json!({})).link(10.0);
        let verdicts: Vec<Admission> = (0..110).map(|_| bench.admit(ms(0), 1)).collect();
        assert_eq!(verdicts.iter().filter(|v| **v == Admission::Hold).count(), 100);
        assert_eq!(verdicts[109], Admission::Reject(NackReason::Congestion));
    }
}
