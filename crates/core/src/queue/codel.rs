//! `codel`: Controlled Delay (RFC 8289) that marks, or drops.
//!
//! When packets have waited for the target or longer during a whole interval, the leaving packet is marked, and further
//! ones `interval / √count` apart until a packet waits less or hardly anything is left behind it. An incident that
//! begins soon after the last one resumes its count. Source: RFC 8289 §4 and §5 (pseudocode); specification, router
//! side §9.1.
//!
//! Deviations, all from marking: a packet is marked and leaves, so that at most one mark is set per departure and the
//! schedule catches up over the next ones (as Linux does with ECN); the queue drops only when it is full, and such
//! drops do not count. With `action = "drop"` the pseudocode holds unchanged. The RFC leaves the size of the exempt
//! rest as "one MTU"; its pseudocode has 512 B, ours 1500 B.

use super::{Action, DequeueEvent, Marker, Verdict};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Codel`]; defaults are the RFC's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The waiting time that is tolerated (RFC 8289 §4.4: 5 ms).
    pub target: Duration,
    /// How long it must be reached before the first mark, about a worst-case round trip (RFC 8289 §4.3: 100 ms).
    pub interval: Duration,
    /// A queue with no more than this behind the leaving packet is never congested (RFC 8289 §5: one MTU).
    pub mtu: Bytes,
    /// What happens to the packets picked (RFC 8289 §5 drops; ours: mark).
    pub action: Action,
}

impl Default for Params {
    fn default() -> Params {
        let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
        Params { target, interval, mtu: Bytes::new(1500), action: Action::Mark }
    }
}

/// A new incident resumes the count of one that ended less than this many intervals ago (RFC 8289 §5).
const RESUME: u64 = 16;

/// CoDel's state for one queue.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct CodelState {
    /// When the target will have been reached for an interval; none while it is not.
    first_above: Option<Time>,
    /// When the next packet is due to be picked.
    next: Time,
    /// Packets picked that set the spacing.
    count: u64,
    /// The count with which the last incident began.
    last_count: u64,
    /// Whether an incident is on.
    picking: bool,
    /// The last packet was dropped; the schedule moves on if the one behind it is over the target too.
    dropped: bool,
}

impl CodelState {
    fn gap(&self, params: &Params) -> Duration {
        super::gap(params.interval, 1.0, self.count)
    }

    /// Whether the target has been reached for an interval.
    fn over(&mut self, params: &Params, sojourn: Duration, behind: Bytes, now: Time) -> bool {
        if sojourn < params.target || behind <= params.mtu {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + params.interval);
                false
            }
            Some(due) => now >= due,
        }
    }

    /// A packet leaves after `sojourn`, with so many bytes behind it. Whether it is picked.
    pub(super) fn departs(&mut self, params: &Params, sojourn: Duration, behind: Bytes, now: Time) -> bool {
        let dropped = std::mem::take(&mut self.dropped);
        if !self.over(params, sojourn, behind, now) {
            self.picking = false;
            return false;
        }
        if self.picking {
            if dropped {
                self.next += self.gap(params);
            }
            if now < self.next {
                return false;
            }
            self.count += 1;
            match params.action {
                Action::Mark => self.next += self.gap(params),
                Action::Drop => self.dropped = true,
            }
            return true;
        }
        self.picking = true;
        let picked = self.count - self.last_count;
        let recent = now.since(self.next) < params.interval * RESUME;
        self.count = if picked > 1 && recent { picked } else { 1 };
        self.last_count = self.count;
        self.next = now + self.gap(params);
        true
    }

    /// The queue was found empty.
    pub(super) fn idles(&mut self) {
        (self.first_above, self.picking, self.dropped) = (None, false, false);
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Codel {
    params: Params,
    control: CodelState,
}

impl Component for Codel {
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str = "CoDel of RFC 8289, marking (or dropping) the packets it picks";
    const SOURCE: &'static str = "RFC 8289";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        super::check_interval(params.interval)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Codel {
        Codel { params: params.clone(), control: CodelState::default() }
    }
}

impl Marker for Codel {
    fn predictable(&self) -> bool {
        false
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        let picked = self.control.departs(&self.params, event.sojourn, event.queue.bytes, ctx.now);
        if picked { self.params.action.verdict() } else { Verdict::Pass }
    }

    fn on_idle(&mut self, _: &mut Ctx<'_>) {
        // The pseudocode's dequeue from an empty queue.
        self.control.idles();
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, ms};
    use super::*;
    use serde_json::json;

    /// One departure per millisecond with the same waiting time and rest; the milliseconds at which one was marked.
    fn marks(bench: &mut Bench<Codel>, from: u64, to: u64, sojourn_ms: u64, behind: u64) -> Vec<u64> {
        let duration = Duration::from_millis(sojourn_ms);
        (from..to).filter(|&t| bench.dequeue(ms(t), duration, behind) == Verdict::Mark(1)).collect()
    }

    // By hand from the pseudocode, departures at whole milliseconds, waiting time = target (5 ms counts as reached):
    // first_above = 0 + 100; at 100: entry, count 1, next = 100 + 100 = 200. 200: count 2, next = 200 + 70.71 = 270.71;
    // 271: count 3, next = 270.71 + 57.74 = 328.45; 329: count 4, next = 378.45; 379: count 5, next = 423.17; 424:
    // count 6, next = 463.99; 464: count 7, next = 501.79.
    #[test]
    fn marks_come_at_the_times_of_the_control_law() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 500, 5, 10_000), [100, 200, 271, 329, 379, 424, 464]);
    }

    // The run above ends at 500 with count 7, lastcount 1. One short wait at 500 leaves the incident. Above again from
    // 501: first_above = 601. At 601: delta = 6 > 1 and 601 − 501.79 < 1600: count = 6, next = 601 + 100/√6 = 641.82;
    // 642: count 7, next = 641.82 + 37.80 = 679.62; 680: count 8, next = 679.62 + 35.36 = 714.97; 715: count 9.
    #[test]
    fn an_incident_soon_after_the_last_resumes_its_count() {
        let mut bench = Bench::new(&json!({}));
        marks(&mut bench, 0, 500, 5, 10_000);
        assert_eq!(marks(&mut bench, 500, 501, 4, 10_000), [0; 0]);
        assert_eq!(marks(&mut bench, 501, 716, 5, 10_000), [601, 642, 680, 715]);
    }

    // Count 9, lastcount 6 at 715 (next = 748.31); the incident ends at 716 and another comes at once: above from 717,
    // entry at 817: delta = 3, count = 3, next = 817 + 57.74 = 874.74; 875: count 4, next = 924.74; 925.
    #[test]
    fn only_the_marks_since_the_last_entry_carry_over() {
        let mut bench = Bench::new(&json!({}));
        marks(&mut bench, 0, 500, 5, 10_000);
        marks(&mut bench, 500, 501, 4, 10_000);
        marks(&mut bench, 501, 716, 5, 10_000);
        marks(&mut bench, 716, 717, 4, 10_000);
        assert_eq!(marks(&mut bench, 717, 926, 5, 10_000), [817, 875, 925]);
    }

    // drop_next = 501.79; 16 intervals later is 2101.79. Above from 2002: entry at 2102, 1600.2 ms after: count 1.
    // Above from 2001: entry at 2101, 1599.2 ms after: count 6.
    #[test]
    fn after_sixteen_intervals_the_count_starts_at_one() {
        for (from, second) in [(2002, 2202), (2001, 2142)] {
            let mut bench = Bench::new(&json!({}));
            marks(&mut bench, 0, 500, 5, 10_000);
            marks(&mut bench, 500, 501, 4, 10_000);
            assert_eq!(marks(&mut bench, from, second + 1, 5, 10_000), [from + 100, second]);
        }
    }

    #[test]
    fn a_queue_with_no_more_than_one_mtu_behind_is_exempt() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 500, 50, 1500), [0; 0]);
        assert_eq!(marks(&mut bench, 500, 601, 50, 1501), [600]);
    }

    // Two departures, at 0 and at 100 (mark 1, next = 200), then none until 290. By schedule 200 and 270.71 have
    // passed: the departures at 290 and 291 are marked, then next = 328.45.
    #[test]
    fn after_a_pause_each_departure_catches_up_one_mark() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 101, 5, 10_000), [100]);
        assert_eq!(marks(&mut bench, 290, 330, 5, 10_000), [290, 291, 329]);
    }

    /// Packets offered one after the other, as the egress does after a drop: which were dropped.
    fn drops(bench: &mut Bench<Codel>, packets: &[(u64, u64)]) -> Vec<bool> {
        let verdict = |bench: &mut Bench<Codel>, (t, wait)| bench.dequeue(ms(t), Duration::from_millis(wait), 10_000);
        packets.iter().map(|&packet| verdict(bench, packet) == Verdict::Drop).collect()
    }

    // By hand from the pseudocode. Entry at 100: one drop, the packet behind it leaves; next = 200. At 400 by schedule
    // 200, 270.71, 328.45 and 378.45 have passed: four drops in a row, then next = 423.17.
    #[test]
    fn when_it_drops_several_may_go_at_one_departure() {
        let mut bench = Bench::new(&json!({ "action": "drop" }));
        let at = |t: u64, n: usize| vec![(t, 5); n];
        let packets = [at(0, 1), at(100, 2), at(199, 1), at(400, 5), at(423, 1), at(424, 2)].concat();
        let dropped: Vec<usize> =
            drops(&mut bench, &packets).iter().enumerate().filter(|(_, dropped)| **dropped).map(|(i, _)| i).collect();
        assert_eq!(dropped, [1, 4, 5, 6, 7, 10]);
    }

    // Drops at 100, 200 and 271 (count 3, lastcount 1); the packet behind the last is below the target, so drop_next
    // stays 270.71. Above again from 1771, entry at 1871: 1600.29 ms later, beyond 16 intervals: count 1, next = 1971.
    // Had the schedule moved on to 328.45, the count would be 2 and the next drop at 1941.71.
    #[test]
    fn the_schedule_moves_on_only_if_the_packet_behind_a_drop_is_over_the_target_too() {
        let mut bench = Bench::new(&json!({ "action": "drop" }));
        let first = [(0, 5), (100, 5), (100, 5), (200, 5), (200, 5), (271, 5), (271, 0)];
        assert_eq!(drops(&mut bench, &first), [false, true, false, true, false, true, false]);
        let second = [(1771, 5), (1871, 5), (1871, 5), (1942, 5), (1970, 5), (1971, 5)];
        assert_eq!(drops(&mut bench, &second), [false, true, false, false, false, true]);
    }
}
