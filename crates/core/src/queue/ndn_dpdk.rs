//! `ndn-dpdk`: NDN-DPDK's marks: one packet of every burst while packets wait too long.
//!
//! The first packet of a burst shows how long the burst waited. Once that has been the target or more for longer than
//! an interval, the first packet of every burst is marked until one waits less. Interests, Data and NACKs are treated
//! separately. Source: NDN-DPDK `PktQueue` (CoDel pop); specification, router side §9.5.
//!
//! Deviations: there the queue is the input of a forwarding thread and a burst what one poll takes, so that marks
//! indicate a busy processor; here it is the egress queue, and marks indicate a busy link. A burst is what waits when
//! its first packet leaves, up to 64 packets of all kinds; the first of each kind stands for its kind. CoDel's
//! `interval / √count` only feeds counters there and is left out. The treatment of marks on Interests is the scheme's
//! `interest-marks`; its value `own` is NDN-DPDK's.

use super::{DequeueEvent, Marker, Verdict};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`NdnDpdk`]; defaults are NDN-DPDK's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The waiting time that is tolerated (NDN-DPDK: 5 ms).
    pub target: Duration,
    /// How long it must be exceeded before the first mark (NDN-DPDK: 100 ms).
    pub interval: Duration,
    /// Packets in a burst at most (NDN-DPDK: 64).
    pub burst: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { target: Duration::from_millis(5), interval: Duration::from_millis(100), burst: 64 }
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct NdnDpdk {
    #[state(skip)]
    params: Params,
    /// By kind, when the target will have been reached for an interval; none while it is not.
    first_above: [Option<Time>; 3],
    /// By kind, whether the burst has had a packet of it.
    seen: [bool; 3],
    /// Packets left in the burst.
    left: u32,
}

impl Component for NdnDpdk {
    const NAME: &'static str = "ndn-dpdk";
    const SUMMARY: &'static str = "NDN-DPDK's marks: one packet per burst while packets wait 5 ms or longer";
    const SOURCE: &'static str = "NDN-DPDK (2025), PktQueue; at the egress instead of the input: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        super::check_interval(params.interval)?;
        if params.burst == 0 {
            return Err(SchemeError::value("burst", 0, "has no first packet", "give 1 or more"));
        }
        Ok(())
    }

    fn new(params: &Params, _: &mut Env<'_>) -> NdnDpdk {
        NdnDpdk { params: params.clone(), first_above: [None; 3], seen: [false; 3], left: 0 }
    }
}

impl Marker for NdnDpdk {
    fn predictable(&self) -> bool {
        false
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        if self.left == 0 {
            self.seen = [false; 3];
            self.left = event.queue.packets.saturating_add(1).min(self.params.burst);
        }
        self.left -= 1;
        let kind = event.kind as usize;
        if std::mem::replace(&mut self.seen[kind], true) {
            return Verdict::Pass;
        }
        let first_above = &mut self.first_above[kind];
        if event.sojourn < self.params.target {
            *first_above = None;
            return Verdict::Pass;
        }
        match *first_above {
            None => {
                *first_above = Some(ctx.now + self.params.interval);
                Verdict::Pass
            }
            Some(due) if ctx.now > due => Verdict::Mark(1),
            Some(_) => Verdict::Pass,
        }
    }

    fn on_idle(&mut self, _: &mut Ctx<'_>) {
        // A poll that finds nothing.
        self.first_above = [None; 3];
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, ms};
    use super::*;
    use serde_json::json;

    /// One departure per millisecond with the same waiting time and `behind` bytes (1250 B a packet); the marks.
    fn marks(bench: &mut Bench<NdnDpdk>, from: u64, to: u64, sojourn_ms: u64, behind: u64) -> Vec<u64> {
        let duration = Duration::from_millis(sojourn_ms);
        (from..to).filter(|&t| bench.dequeue(ms(t), duration, behind) == Verdict::Mark(1)).collect()
    }

    // 9 packets behind the first: bursts of 10, their first packets at 0, 10, 20, … The target is reached from 0 on,
    // so first_above = 100; 100 > 100 does not hold, 110 does: marks at 110, 120, 130, …
    #[test]
    fn the_first_packet_of_every_burst_is_marked_once_the_interval_has_passed() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 151, 5, 9 * 1250), [110, 120, 130, 140, 150]);
    }

    // 99 packets behind: bursts of 64, first packets at 0, 64, 128, 192, 256.
    #[test]
    fn a_burst_has_at_most_64_packets() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 257, 5, 99 * 1250), [128, 192, 256]);
    }

    // Bursts of 1. Up to 102 as above; a short wait at 103 ends it; above from 104: first_above = 204: mark at 205.
    #[test]
    fn one_short_wait_ends_it() {
        let mut bench = Bench::new(&json!({ "burst": 1 }));
        assert_eq!(marks(&mut bench, 0, 103, 5, 9 * 1250), [101, 102]);
        assert_eq!(marks(&mut bench, 103, 104, 4, 9 * 1250), [0; 0]);
        assert_eq!(marks(&mut bench, 104, 206, 5, 9 * 1250), [205]);
    }

    #[test]
    fn a_poll_that_finds_nothing_ends_it_and_the_burst() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 111, 5, 9 * 1250), [110]);
        bench.idle(ms(111));
        assert_eq!(marks(&mut bench, 111, 233, 5, 9 * 1250), [221, 231]);
    }

    // Interests and Data alternate with 19 packets behind: bursts of 20, each with an Interest first and a Data second.
    // Only Data wait: they reach the target from 1 on (first_above = 101), are looked at at 1, 21, …, and marked from
    // 121 on. Interests never wait.
    #[test]
    fn kinds_are_watched_apart() {
        use crate::packet::Kind;
        let mut bench = Bench::<NdnDpdk>::new(&json!({}));
        let wait = |kind| if kind == Kind::Data { Duration::from_millis(5) } else { Duration::ZERO };
        let mut marked = Vec::new();
        for t in 0..162 {
            let kind = if t % 2 == 0 { Kind::Interest } else { Kind::Data };
            if bench.dequeue_kind(ms(t), kind, wait(kind), 19 * 1250) != Verdict::Pass {
                marked.push((t, kind));
            }
        }
        assert_eq!(marked, [(121, Kind::Data), (141, Kind::Data), (161, Kind::Data)]);
    }
}
