//! `nfd`: the marking rule of NFD's link service, and of ndnSIM's.
//!
//! While the queue holds more than a threshold, marks are set at the interval, then at decreasing intervals (interval /
//! √n); one packet that finds it at or below the threshold ends the incident. Interests, Data and NACKs are treated the
//! same, as they join the queue. Source: NFD `GenericLinkService` since 0.7.0 (2019); specification §1.3 (router side
//! §9.5).
//!
//! The next mark is due by schedule, not from the last mark: after a pause in the arrivals several packets in a row are
//! marked. `rule = "older"` is the rule of NFD 0.6 (2017–2019; ndnSIM 2.6 and 2.7): the threshold is at most half the
//! capacity, the first packet above it is marked at once unless the last mark is less than an interval old, and the gap
//! after the n-th mark is interval / √n instead of interval / √(n+1). Deviation: the queue is the egress queue of this
//! node, where NFD uses the kernel's socket buffer.

use super::{EnqueueEvent, Marker, QueueView, Verdict};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which generation of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// NFD since 0.7.0: the first mark after one interval above the threshold.
    Current,
    /// NFD 0.6: the first mark at once.
    Older,
}

/// Parameters of [`Nfd`]; defaults are NFD's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Which generation of the rule.
    pub rule: Rule,
    /// Bytes that may wait without a mark (NFD: 64 KiB).
    pub threshold: Bytes,
    /// The interval between marks at the start of an incident (NFD: 100 ms).
    pub interval: Duration,
    /// `rule = "older"`: bytes per packet of a queue limit in packets (ndnSIM: 1500 B).
    pub packet: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            rule: Rule::Current,
            threshold: Bytes::new(65_536),
            interval: Duration::from_millis(100),
            packet: Bytes::new(1500),
        }
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Nfd {
    #[state(skip)]
    params: Params,
    /// When the next mark is due; none outside an incident.
    next_mark: Option<Time>,
    /// Marks in this incident.
    count: u64,
    /// The last mark of any incident; for the older rule only.
    last_mark: Option<Time>,
}

impl Component for Nfd {
    const NAME: &'static str = "nfd";
    const SUMMARY: &'static str = "NFD's rule: marks 100 ms / √n apart while more than 64 KiB wait";
    const SOURCE: &'static str = "NFD GenericLinkService (0.7.0 to 24.07; older rule: 0.6)";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        super::check_interval(params.interval)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Nfd {
        Nfd { params: params.clone(), next_mark: None, count: 0, last_mark: None }
    }
}

impl Nfd {
    fn threshold(&self, queue: &QueueView) -> Bytes {
        match self.params.rule {
            Rule::Current => self.params.threshold,
            Rule::Older => self.params.threshold.min(Bytes::new(queue.limit.bytes(self.params.packet).get() / 2)),
        }
    }

    fn current(&mut self, now: Time) -> bool {
        let Some(due) = self.next_mark else {
            self.next_mark = Some(now + self.params.interval);
            return false;
        };
        if now < due {
            return false;
        }
        self.count += 1;
        self.next_mark = Some(due + super::gap(self.params.interval, 1.0, self.count + 1));
        true
    }

    fn older(&mut self, now: Time) -> bool {
        let rested = self.last_mark.is_none_or(|last| now >= last + self.params.interval);
        if !rested && self.next_mark.is_none_or(|due| now < due) {
            return false;
        }
        let due = if self.count == 0 { now } else { self.next_mark.unwrap_or(now) };
        self.count += 1;
        self.next_mark = Some(due + super::gap(self.params.interval, 1.0, self.count));
        self.last_mark = Some(now);
        true
    }
}

impl Marker for Nfd {
    fn predictable(&self) -> bool {
        true
    }

    fn rests(&self) -> Option<Bytes> {
        let rests = self.params.rule == Rule::Current && self.next_mark.is_none() && self.count == 0;
        rests.then_some(self.params.threshold)
    }

    fn watches_departures(&self) -> bool {
        false
    }

    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict {
        if event.queue.bytes <= self.threshold(&event.queue) {
            self.next_mark = None;
            self.count = 0;
            return Verdict::Pass;
        }
        let mark = match self.params.rule {
            Rule::Current => self.current(ctx.now),
            Rule::Older => self.older(ctx.now),
        };
        if mark { Verdict::Mark(1) } else { Verdict::Pass }
    }

    /// NFD marks before the transport tries to send: the mark is lost with the packet.
    fn on_overflow(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) {
        self.on_enqueue(event, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, ms};
    use super::*;
    use crate::queue::Limit;
    use serde_json::json;

    /// Offers one packet per millisecond to a queue of `bytes` and gives the milliseconds at which one was marked.
    fn marks(bench: &mut Bench<Nfd>, from: u64, to: u64, bytes: u64) -> Vec<u64> {
        (from..to).filter(|&t| bench.enqueue(ms(t), bytes) == Verdict::Mark(1)).collect()
    }

    // By hand from §9.5: above the threshold from t = 0: next = 100. Mark 1 at 100, next = 100 + 100/√2 = 170.71; mark
    // 2 at 171, next = 170.71 + 100/√3 = 228.45; mark 3 at 229, next = 228.45 + 50 = 278.45; mark 4 at 279, next =
    // 323.17; mark 5 at 324, next = 323.17 + 100/√6 = 363.99; mark 6 at 364.
    #[test]
    fn the_second_interval_is_the_base_over_root_two() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 365, 65_537), [100, 171, 229, 279, 324, 364]);
    }

    #[test]
    fn a_queue_at_the_threshold_is_not_above_it() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 500, 65_536), [0; 0]);
    }

    // Ends after the first mark at 100; the next incident begins at 151 and marks at 251 and 322 like the first.
    #[test]
    fn one_packet_at_the_threshold_ends_the_incident() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 150, 70_000), [100]);
        assert_eq!(marks(&mut bench, 150, 151, 65_536), [0; 0]);
        assert_eq!(marks(&mut bench, 151, 330, 70_000), [251, 322]);
    }

    // Due at 100, 170.71, 228.45, 278.45 by schedule; the packets at 300, 301, 302 and 303 catch up with these four.
    #[test]
    fn packets_after_a_pause_catch_up_with_the_schedule() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 1, 70_000), [0; 0]);
        assert_eq!(marks(&mut bench, 300, 320, 70_000), [300, 301, 302, 303]);
    }

    // Due at 100 and 170.71: the packet that takes the first one finds the queue full.
    #[test]
    fn a_mark_is_lost_with_a_packet_that_finds_the_queue_full() {
        let mut bench = Bench::new(&json!({}));
        assert_eq!(marks(&mut bench, 0, 100, 70_000), [0; 0]);
        bench.overflow(ms(100), 70_000);
        assert_eq!(marks(&mut bench, 101, 172, 70_000), [171]);
    }

    // NFD 0.6 by hand: mark 1 at 0, next = 0 + 100; mark 2 at 100, next = 170.71; mark 3 at 171, next = 228.45; 229.
    // The incident ends at 240 and begins again at 241; the last mark is younger than 100 ms until 329, and the new
    // incident starts its schedule there: 329, 429.
    #[test]
    fn the_older_rule_marks_at_once_but_not_twice_in_an_interval() {
        let mut bench = Bench::new(&json!({ "rule": "older" }));
        bench.limit = Limit::Packets(100);
        assert_eq!(marks(&mut bench, 0, 240, 70_000), [0, 100, 171, 229]);
        assert_eq!(marks(&mut bench, 240, 241, 65_536), [0; 0]);
        assert_eq!(marks(&mut bench, 241, 430, 70_000), [329, 429]);
    }

    // 60 packets count as 90,000 B, half of which is 45,000 B; 100 packets give 75,000 B and the threshold holds.
    #[test]
    fn the_older_rule_never_waits_for_more_than_half_the_capacity() {
        let mut bench = Bench::<Nfd>::new(&json!({ "rule": "older" }));
        bench.limit = Limit::Packets(60);
        assert_eq!(bench.enqueue(ms(0), 45_000), Verdict::Pass);
        assert_eq!(bench.enqueue(ms(1), 45_001), Verdict::Mark(1));
        bench.limit = Limit::Packets(100);
        assert_eq!(bench.enqueue(ms(1000), 65_536), Verdict::Pass);
        bench.limit = Limit::Bytes(Bytes::new(20_000));
        assert_eq!(bench.enqueue(ms(2000), 10_001), Verdict::Mark(1));
    }
}
