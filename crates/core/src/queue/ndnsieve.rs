//! `ndnsieve`: marks Data that leave while the queue is severely occupied.
//!
//! Source: Ma et al., "A hybrid congestion control scheme for Named Data Networking via SDN", Discover Applied Sciences
//! 2024, equation 2 and table 2: "when the network is severely busy, the router transmits Data packet with congestion
//! label".
//!
//! Ours: the occupancy is checked as each Data leaves, not once per detection period; a threshold in packets and a
//! least time between marks, both off.

use super::{DequeueEvent, Marker, Verdict};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::packet::Kind;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`NdnSieve`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Queue occupancy above which congestion is severe, as a share of the limit; th2 = 0.9 in table 3.
    pub threshold: f64,
    /// Packets waiting above which Data are marked, instead of `threshold` (ours).
    pub packets: Option<u32>,
    /// Least time between two marks; none marks every Data (ours).
    pub spacing: Option<Duration>,
}

impl Default for Params {
    fn default() -> Params {
        Params { threshold: 0.9, packets: None, spacing: None }
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct NdnSieve {
    #[state(skip)]
    params: Params,
    next: Time,
}

impl Component for NdnSieve {
    const NAME: &'static str = "ndnsieve";
    const SUMMARY: &'static str = "marks Data that leave while the queue is above 90 % of its limit";
    const SOURCE: &'static str =
        "Ma et al., Discover Applied Sciences 2024, equation 2, table 2; look per packet: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("threshold", params.threshold, 0.0, 1.0)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> NdnSieve {
        NdnSieve { params: params.clone(), next: Time::ZERO }
    }
}

impl Marker for NdnSieve {
    fn predictable(&self) -> bool {
        false
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        let severe = match self.params.packets {
            Some(packets) => event.queue.packets > packets,
            None => event.queue.occupancy() > self.params.threshold,
        };
        if event.kind != Kind::Data || !severe || ctx.now < self.next {
            return Verdict::Pass;
        }
        self.next = ctx.now + self.params.spacing.unwrap_or(Duration::ZERO);
        Verdict::Mark(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, ms};
    use super::super::{DequeueEvent, Limit};
    use super::*;
    use serde_json::{Value, json};

    /// Whether a Data is marked that leaves `behind` packets in a queue of 500.
    fn marks(params: &Value, behind: u64) -> bool {
        let mut bench: Bench<NdnSieve> = Bench::new(params);
        bench.limit = Limit::Packets(500);
        bench.dequeue(ms(1), Duration::ZERO, behind * 1250) == Verdict::Mark(1)
    }

    // 0.9 · 500 = 450, and table 2 calls for more than th2.
    #[test]
    fn data_are_marked_above_450_of_500_packets() {
        assert!(!marks(&Value::Null, 450));
        assert!(marks(&Value::Null, 451));
        assert!(marks(&json!({ "packets": 9 }), 10) && !marks(&json!({ "packets": 9 }), 9));
    }

    #[test]
    fn a_limit_in_bytes_counts_bytes() {
        let mut bench: Bench<NdnSieve> = Bench::new(&Value::Null);
        bench.limit = Limit::Bytes(crate::units::Bytes::new(10_000));
        assert_eq!(bench.dequeue(ms(1), Duration::ZERO, 9_000), Verdict::Pass);
        assert_eq!(bench.dequeue(ms(1), Duration::ZERO, 9_001), Verdict::Mark(1));
    }

    #[test]
    fn marks_keep_their_spacing() {
        let mut bench: Bench<NdnSieve> = Bench::new(&json!({ "packets": 0, "spacing": "100ms" }));
        let marked: Vec<u64> =
            (0..250).filter(|&t| bench.dequeue(ms(t), Duration::ZERO, 2500) == Verdict::Mark(1)).collect();
        assert_eq!(marked, [0, 100, 200]);
    }

    #[test]
    fn interests_are_never_marked() {
        let mut marker = NdnSieve { params: Params { packets: Some(0), ..Params::default() }, next: Time::ZERO };
        let (packets, bytes) = (400, crate::units::Bytes::new(16_000));
        let queue = super::super::QueueView { packets, bytes, limit: Limit::Packets(400), rate: None };
        let (mut rng, mut trace) = (crate::ctx::Rng::derive(0, &[]), crate::ctx::Trace::default());
        let mut ctx = Ctx { now: ms(1), rng: &mut rng, trace: &mut trace };
        let (flow, size, sojourn) = (crate::ids::FlowId(0), crate::units::Bytes::new(40), Duration::ZERO);
        for (kind, verdict) in [(Kind::Interest, Verdict::Pass), (Kind::Data, Verdict::Mark(1))] {
            assert_eq!(marker.on_dequeue(&DequeueEvent { kind, flow, size, sojourn, queue }, &mut ctx), verdict);
        }
    }
}
