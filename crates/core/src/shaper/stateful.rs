//! `stateful`: Stateful Forwarding's Interest limits, with congestion NACKs.
//!
//! Per face a leaky bucket that leaks at L = C/S (C: the link's rate, S: the size of the Data it brings), per face and
//! content another that leaks at r ≤ L; each is RTT × rate deep. An Interest that finds either full is rejected with
//! Congestion. Source: Yi et al., Computer Communications 36 (2013), as "NACK-based hop-by-hop rate control", JIP 26
//! (2018), §4.1.1 gives it (L, r, buckets); that paper's §3 is `law.once`; a whole free place in each bucket and a
//! depth that changes at once are ndnSIM 1.0's.
//!
//! Where the source is open (ours): who adjusts r is `adjust` (its numbers need the consumers only, its text allows
//! routers); the round trip is the smallest measured where neither given nor known; a depth below one packet counts as
//! one; flows of applications on this node are limited by their consumer's own r. `reserve` is our fairness option:
//! part of the face's bucket is closed to flows beyond their share L / N. Where every NACK counts (no `law.once`) it is
//! rejected once per round trip, so that its consumer halves once; only beyond twice its share is each Interest
//! rejected.

use super::{Admission, Answer, Outcome, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::FlowId;
use crate::packet::NackReason;
use crate::shared::bucket::LeakyBucket;
use crate::shared::flow_table::{FlowTable, MAX_FLOWS};
use crate::shared::once::State;
use crate::shared::rate::{Law, Rated};
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who changes r.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Adjust {
    /// Consumers only; at routers r is L. The published numbers need this.
    Consumers,
    /// Routers too, each for what it sent. The published text allows this.
    Everywhere,
}

/// Parameters of [`Stateful`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Who changes r.
    pub adjust: Adjust,
    /// How r moves where routers adjust it; JIP 26 §4.1.1.
    pub law: Law,
    /// The round trip from this node to the producer, for the depths; none takes the propagation delay that the driver
    /// knows (as ndnSIM 1.0 does), or else the smallest measured.
    pub rtt: Option<Duration>,
    /// The round trip assumed before the first measurement; 100 ms in ndnSIM 1.0.
    pub initial_rtt: Duration,
    /// S before the first Data, in bytes on the wire; 1250 in JIP 26.
    pub data_size: Bytes,
    /// Part of the face's bucket kept free of flows that take more than their fair share of L; 0 is the source (no such
    /// rule), ours. Without `law.once` such a flow is rejected once per round trip, and each time at twice its share.
    pub reserve: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            adjust: Adjust::Consumers,
            law: Law::default(),
            rtt: None,
            initial_rtt: Duration::from_millis(100),
            data_size: Bytes::new(1250),
            reserve: 0.0,
        }
    }
}

/// Flows are counted over this long.
const EPOCH: Duration = Duration::from_millis(100);

#[derive(ndnweir_state::Value)]
struct StatefulFlow {
    rated: Rated,
    bucket: LeakyBucket,
    /// The smallest round trip measured.
    rtt: Duration,
    /// Whether its Interests come from an application on this node.
    own: bool,
    /// The part of its fair share that it uses.
    share: LeakyBucket,
    /// Not rejected for exceeding it before then, if it does not exceed it twice.
    told_until: Time,
    epoch: u64,
}

/// The shaper of one face.
#[derive(ndnweir_state::State)]
pub struct Stateful {
    #[state(skip)]
    params: Params,
    size: SizeEstimate,
    bucket: LeakyBucket,
    /// The smallest round trip measured over this face.
    rtt: Duration,
    /// The smallest propagation delay that the driver named for this face.
    base_rtt: Duration,
    /// C, as last seen.
    rate: Option<Rate>,
    flows: FlowTable<StatefulFlow>,
    /// Flows seen in this epoch and in the one before.
    active: [u32; 2],
    epoch: u64,
}

impl Component for Stateful {
    const NAME: &'static str = "stateful";
    const SUMMARY: &'static str = "Stateful Forwarding: limits per face and content, Congestion NACKs beyond them";
    const SOURCE: &'static str = "Yi et al., Computer Communications 36 (2013), as JIP 26 (2018) §4.1.1 and §3 give it; \
         round-trip measurement, who adjusts and the fairness option: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        params.law.check()?;
        check::number("reserve", params.reserve, 0.0, 0.9)?;
        check::data_size("data-size", params.data_size)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Stateful {
        Stateful {
            params: params.clone(),
            size: SizeEstimate::new(params.data_size),
            bucket: LeakyBucket::new(Time::ZERO, 0.0, 1.0),
            rtt: Duration::MAX,
            base_rtt: Duration::MAX,
            rate: None,
            flows: FlowTable::new(MAX_FLOWS),
            active: [0, 0],
            epoch: 0,
        }
    }
}

impl Stateful {
    /// L, in packets/s.
    fn limit(&self) -> f64 {
        self.rate.map_or(0.0, |rate| rate.bps() as f64 / (8.0 * self.size.bytes()))
    }

    /// The round trip for a depth: given, known to the driver, measured for the flow, measured for the face, assumed.
    fn round_trip(&self, base: Duration, measured: Duration) -> Duration {
        let known = [base, measured, self.rtt].into_iter().find(|duration| *duration < Duration::MAX);
        self.params.rtt.or(known).unwrap_or(self.params.initial_rtt)
    }

    /// Flows that share the face, by recent traffic.
    fn sharing(&mut self, now: Time) -> f64 {
        let epoch = now.nanos() / EPOCH.nanos();
        if epoch != self.epoch {
            self.active = [0, if epoch == self.epoch + 1 { self.active[0] } else { 0 }];
            self.epoch = epoch;
        }
        f64::from(self.active[0].max(self.active[1]).max(1))
    }

    fn record(now: Time, flow: FlowId, rated: &Rated, before: State, ctx: &mut Ctx<'_>) {
        if ctx.trace.is_on() {
            ctx.trace.record(now, "rate", flow.0.into(), rated.rate());
            if rated.state() != before {
                ctx.trace.record(now, "state", flow.0.into(), rated.state().number());
            }
        }
    }
}

impl Shaper for Stateful {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        self.rate = event.out.return_rate.or(event.out.rate);
        if event.out.local || self.rate.is_none() {
            return Admission::Pass;
        }
        let (now, id, limit) = (ctx.now, event.packet.name.flow, self.limit());
        let sharing = self.sharing(now);
        self.base_rtt = self.base_rtt.min(event.base_rtt.unwrap_or(Duration::MAX));
        let known = self.flows.get(id).map_or(Duration::MAX, |flow| flow.rtt);
        let face_rtt = self.round_trip(self.base_rtt, self.rtt).secs();
        let flow_rtt = self.round_trip(event.base_rtt.unwrap_or(Duration::MAX), known).secs();
        self.bucket.set_rate(now, limit);
        self.bucket.set_depth(face_rtt * limit);
        let epoch = self.epoch;
        let (adjusts, active) = (self.params.adjust == Adjust::Everywhere, &mut self.active[0]);
        let flow = self.flows.entry(id, || StatefulFlow {
            rated: Rated::new(limit),
            bucket: LeakyBucket::new(now, limit, flow_rtt * limit),
            rtt: Duration::MAX,
            own: event.downstream.view.local,
            share: LeakyBucket::new(now, limit, 1.0),
            told_until: Time::ZERO,
            epoch: u64::MAX,
        });
        if flow.epoch != epoch {
            flow.epoch = epoch;
            *active += 1;
        }
        flow.own = event.downstream.view.local;
        if !adjusts || flow.own {
            flow.rated.follow(limit);
        }
        let r = flow.rated.rate().min(limit.max(self.params.law.floor));
        flow.bucket.set_rate(now, r);
        flow.bucket.set_depth(flow_rtt * r);
        let fair = limit / sharing;
        flow.share.set_rate(now, fair);
        flow.share.set_depth(face_rtt * fair);
        if !self.bucket.has_room(now) || !flow.bucket.has_room(now) {
            return Admission::Reject(NackReason::Congestion);
        }
        let reserved = self.bucket.depth() - self.bucket.level(now) < self.params.reserve * self.bucket.depth();
        if reserved && !flow.share.has_room(now) {
            let twice = flow.share.level(now) + 1.0 > 2.0 * flow.share.depth();
            if twice || self.params.law.once || now >= flow.told_until {
                flow.told_until = now + Duration::from_secs_f64(flow_rtt);
                return Admission::Reject(NackReason::Congestion);
            }
        }
        self.bucket.add(now);
        flow.bucket.add(now);
        flow.share.add(now);
        let before = flow.rated.state();
        if adjusts && !flow.own {
            flow.rated.on_sent(now);
            if flow.rated.state() != before {
                Stateful::record(now, id, &flow.rated, before, ctx);
            }
        }
        Admission::Pass
    }

    fn on_answer(&mut self, answer: &Answer<'_>, ctx: &mut Ctx<'_>) {
        let id = answer.packet.name.flow;
        if answer.outcome == Outcome::Data {
            self.size.sample(answer.packet.bytes());
            self.rtt = self.rtt.min(answer.rtt.unwrap_or(Duration::MAX));
        }
        let (limit, params) = (self.limit(), &self.params);
        let Some(flow) = self.flows.get_mut(id) else { return };
        if answer.outcome == Outcome::Data {
            flow.rtt = flow.rtt.min(answer.rtt.unwrap_or(Duration::MAX));
        }
        if params.adjust == Adjust::Consumers || flow.own {
            return;
        }
        let before = flow.rated.state();
        let counts = match answer.outcome {
            Outcome::Data => flow.rated.on_data(&params.law, answer.sent, limit),
            Outcome::Nack(NackReason::Congestion) => flow.rated.on_nack(&params.law, answer.sent),
            _ => false,
        };
        if counts {
            Stateful::record(ctx.now, id, &flow.rated, before, ctx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shaper::harness::{Bench, ms};
    use serde_json::json;

    #[test]
    fn a_consumer_at_twice_the_limit_fills_the_bucket_and_is_then_admitted_at_the_limit() {
        // L = 5 Mbit/s / 1250 B = 500/s, depth 60 ms · 500 = 30. One Interest per ms, k = 0, 1, …: a
        // Python loop (level = max(0, level − 0.5); reject if 30 − level < 1, else level += 1) rejects 59, 61, … 79.
        let mut bench = Bench::<Stateful>::new(&json!({ "rtt": "60ms" })).link(5.0);
        let verdicts: Vec<bool> = (0..80).map(|k| bench.admit(ms(k), 1) == Admission::Pass).collect();
        assert_eq!(verdicts.iter().position(|pass| !pass), Some(59));
        assert_eq!(verdicts[59..].iter().filter(|pass| !**pass).count(), 11);
        assert_eq!(bench.admit(ms(1000), 1), Admission::Pass);
    }

    #[test]
    fn routers_that_adjust_halve_the_flows_own_bucket_and_leave_the_others_alone() {
        let mut bench = Bench::<Stateful>::new(&json!({ "rtt": "100ms", "adjust": "everywhere" })).link(1.0);
        // L = 100/s, depth 10 for the face and for each flow.
        assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
        assert_eq!(bench.admit(ms(0), 2), Admission::Pass);
        for _ in 0..2 {
            bench.answer(ms(10), 1, ms(0), Outcome::Nack(NackReason::Congestion));
        }
        // r = 25/s, depth 2.5: two places from 1000 ms on, while the face has eight more.
        let now = ms(1000);
        let passed: Vec<bool> = (0..4).map(|_| bench.admit(now, 1) == Admission::Pass).collect();
        assert_eq!(passed, [true, true, false, false]);
        let passed = (0..10).filter(|_| bench.admit(now, 2) == Admission::Pass).count();
        assert_eq!(passed, 8);
    }

    #[test]
    fn where_consumers_adjust_nacks_leave_a_routers_rate_at_the_limit() {
        let mut bench = Bench::<Stateful>::new(&json!({ "rtt": "100ms" })).link(1.0);
        bench.admit(ms(0), 1);
        for _ in 0..8 {
            bench.answer(ms(10), 1, ms(0), Outcome::Nack(NackReason::Congestion));
        }
        let passed = (0..20).filter(|_| bench.admit(ms(1000), 1) == Admission::Pass).count();
        assert_eq!(passed, 10);
    }

    #[test]
    fn flows_of_applications_on_this_node_meet_the_limit_of_the_face_only() {
        let mut bench = Bench::<Stateful>::new(&json!({ "rtt": "100ms", "adjust": "everywhere" })).link(1.0);
        bench.downstream_local = true;
        bench.admit(ms(0), 1);
        for _ in 0..8 {
            bench.answer(ms(10), 1, ms(0), Outcome::Nack(NackReason::Congestion));
        }
        let passed = (0..20).filter(|_| bench.admit(ms(1000), 1) == Admission::Pass).count();
        assert_eq!(passed, 10);
    }

    #[test]
    fn the_depth_follows_the_smallest_round_trip_measured() {
        let mut bench = Bench::<Stateful>::new(&json!({})).link(1.0);
        let burst = |bench: &mut Bench<Stateful>, at| (0..30).filter(|_| bench.admit(at, 1) == Admission::Pass).count();
        assert_eq!(burst(&mut bench, ms(0)), 10);
        bench.answer(ms(250), 1, ms(0), Outcome::Data);
        assert_eq!(burst(&mut bench, ms(1000)), 25);
        bench.answer(ms(1050), 1, ms(1000), Outcome::Data);
        assert_eq!(burst(&mut bench, ms(2000)), 5);
    }

    #[test]
    fn a_reserve_keeps_room_for_flows_within_their_fair_share() {
        // L = 1000/s, depth 100. Flow 1 asks 10 000 times per second, flow 2 400 times.
        let passed = |reserve: f64| {
            let mut bench = Bench::<Stateful>::new(&json!({ "rtt": "100ms", "reserve": reserve })).link(10.0);
            let mut counts = [0, 0];
            for tenth in 0..20_000u64 {
                let now = Time::ZERO + Duration::from_micros(100 * tenth);
                counts[0] += u32::from(bench.admit(now, 1) == Admission::Pass);
                if tenth % 25 == 3 {
                    counts[1] += u32::from(bench.admit(now, 2) == Admission::Pass);
                }
            }
            counts
        };
        let (shared, reserved) = (passed(0.0), passed(0.5));
        assert!(shared[1] < 200, "{shared:?}");
        assert!(reserved[1] >= 780 && reserved[0] + reserved[1] > 2000, "{reserved:?}");
    }

    #[test]
    fn where_every_nack_counts_a_flow_beyond_its_share_is_rejected_once_per_round_trip_and_always_beyond_twice_its_share()
     {
        // L = 1000/s, round trip 100 ms: two flows have a share of 500/s and 50 packets each. Flow 1 asks as often,
        // flow 2 1000 times per second. A Python loop over the three buckets, one step per ms, rejects flow 2 at 100
        // ms, when its bucket is full, then nothing until 200 ms, when its level is twice that, then every other
        // Interest; flow 1 never.
        let mut bench = Bench::<Stateful>::new(&json!({ "rtt": "100ms", "reserve": 0.5 })).link(10.0);
        let mut rejected = Vec::new();
        for milli in 0..400u64 {
            if milli % 2 == 0 {
                assert_eq!(bench.admit(ms(milli), 1), Admission::Pass, "{milli} ms");
            }
            if bench.admit(ms(milli), 2) != Admission::Pass {
                rejected.push(milli);
            }
        }
        assert!((98..=102).contains(&rejected[0]) && (198..=202).contains(&rejected[1]), "{rejected:?}");
        let late = rejected.iter().filter(|at| **at >= 300).count();
        assert!((48..=52).contains(&late), "{late}");
    }

    #[test]
    fn a_link_without_a_rate_or_to_an_application_is_not_limited_and_a_dead_one_admits_a_packet_at_most() {
        let mut bench = Bench::<Stateful>::new(&json!({}));
        bench.rate = None;
        assert!((0..500).all(|_| bench.admit(ms(0), 1) == Admission::Pass));
        bench.rate = Some(Rate::ZERO);
        assert_eq!((0..500).filter(|_| bench.admit(ms(1), 1) == Admission::Pass).count(), 1);
        bench.rate = Some(Rate::from_mbps(10.0));
        assert_eq!(bench.admit(ms(2000), 1), Admission::Pass);
    }

    #[test]
    fn a_flood_of_flows_keeps_memory_bounded() {
        let mut bench = Bench::<Stateful>::new(&json!({ "adjust": "everywhere" })).link(10.0);
        for flow in 0..20_000 {
            bench.admit(ms(u64::from(flow)), flow);
        }
        assert_eq!(bench.shaper.flows.len(), MAX_FLOWS);
    }
}
