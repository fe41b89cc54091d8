//! `codel-pcon`: PCON's congestion detection: CoDel's timing, a mark instead of a drop.
//!
//! When packets have waited longer than the target for a whole interval, one mark falls due, the next one
//! `1.1 · interval / √count` later, and so on until a packet has waited no longer than the target.
//! Source: Schneider, Yi, Zhang, Zhang, "A Practical Congestion Control Scheme for Named Data Networking" (ICN 2016)
//! and its authors' queue (ns-3 fork, 2016); specification §1.2.
//!
//! What differs from CoDel (RFC 8289), as in the authors' queue: the factor 1.1, no carry-over of the count, no
//! exemption of short queues, and a packet at the target exactly counts as below it. The time of the next mark survives
//! the end of an incident, so that two incidents are at least one gap apart. A mark that falls due lands on the next
//! packet that joins, if the queue is then still over the target; if that packet finds the queue full, the mark is lost
//! with it.

use super::{DequeueEvent, EnqueueEvent, Marker, Verdict};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which packet gets a mark that falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Lands {
    /// The next one to join the queue, as in the authors' simulator.
    Enqueued,
    /// The one that leaves at that moment; it arrives one queueing delay earlier. Costs the simulator one more event
    /// per packet.
    Dequeued,
}

/// Parameters of [`CodelPcon`]; defaults are the authors'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The waiting time a packet may have (authors: 5 ms).
    pub target: Duration,
    /// How long it must be exceeded before the first mark (authors: 100 ms).
    pub interval: Duration,
    /// Gap after the first mark of an incident, in intervals (authors: 1.1).
    pub factor: f64,
    /// Which packet is marked.
    pub lands: Lands,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            factor: 1.1,
            lands: Lands::Enqueued,
        }
    }
}

/// Watches one queue for incidents, and decides when marks are due.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(super) struct IncidentDetector {
    target: Duration,
    interval: Duration,
    factor: f64,
    /// When waiting times went above the target; none while they are not.
    first_above: Option<Time>,
    /// The earliest time of the next mark; outlives incidents.
    next_mark: Time,
    /// Marks in this incident.
    count: u64,
    /// Whether the last packet that left found the target exceeded for an interval.
    over: bool,
}

impl IncidentDetector {
    pub(super) fn new(target: Duration, interval: Duration, factor: f64) -> IncidentDetector {
        IncidentDetector { target, interval, factor, first_above: None, next_mark: Time::ZERO, count: 0, over: false }
    }

    /// Rejects an interval or factor with which every packet would be marked, or none.
    pub(super) fn check(interval: Duration, factor: f64) -> Result<(), SchemeError> {
        super::check_interval(interval)?;
        if factor > 0.0 && factor <= 1e6 {
            return Ok(());
        }
        Err(SchemeError::value("factor", factor, "is out of range", "give a number above 0 and up to 1e6"))
    }

    /// Whether the queue is over its target.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// A packet leaves after `sojourn`. Whether a mark falls due.
    pub(super) fn departs(&mut self, sojourn: Duration, now: Time) -> bool {
        self.observe(sojourn, now);
        if !self.over {
            self.count = 0;
            return false;
        }
        if now < self.next_mark {
            return false;
        }
        self.count += 1;
        self.next_mark = now + super::gap(self.interval, self.factor, self.count);
        true
    }

    fn observe(&mut self, sojourn: Duration, now: Time) {
        self.over = false;
        if sojourn <= self.target {
            self.first_above = None;
            return;
        }
        match self.first_above {
            None => self.first_above = Some(now),
            Some(since) => self.over = now > since + self.interval,
        }
    }

    /// Nothing waits any more.
    pub(super) fn idles(&mut self) {
        self.over = false;
        self.first_above = None;
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct CodelPcon {
    lands: Lands,
    watch: IncidentDetector,
    /// A mark is due and has not landed.
    pending: bool,
}

impl Component for CodelPcon {
    const NAME: &'static str = "codel-pcon";
    const SUMMARY: &'static str = "PCON's CoDel: marks 110 ms / √n apart while packets wait over 5 ms";
    const SOURCE: &'static str = "Schneider et al., ICN 2016, and its authors' ns-3 queue";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        IncidentDetector::check(params.interval, params.factor)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> CodelPcon {
        let watch = IncidentDetector::new(params.target, params.interval, params.factor);
        CodelPcon { lands: params.lands, watch, pending: false }
    }
}

impl Marker for CodelPcon {
    fn predictable(&self) -> bool {
        self.lands == Lands::Enqueued
    }

    fn on_enqueue(&mut self, _: &EnqueueEvent<'_>, _: &mut Ctx<'_>) -> Verdict {
        if std::mem::take(&mut self.pending) && self.watch.is_over() { Verdict::Mark(1) } else { Verdict::Pass }
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        if !self.watch.departs(event.sojourn, ctx.now) {
            return Verdict::Pass;
        }
        match self.lands {
            Lands::Dequeued => Verdict::Mark(1),
            Lands::Enqueued => {
                self.pending = true;
                Verdict::Pass
            }
        }
    }

    fn on_idle(&mut self, _: &mut Ctx<'_>) {
        self.watch.idles();
    }

    fn on_overflow(&mut self, _: &EnqueueEvent<'_>, _: &mut Ctx<'_>) {
        self.pending = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, ms};
    use super::*;
    use serde_json::json;

    fn bench(params: serde_json::Value) -> Bench<CodelPcon> {
        Bench::new(&params)
    }

    /// Dequeues one packet per millisecond with the same waiting time, each followed by an arrival, and gives the times
    /// in µs at which an arrival was marked.
    fn marks(bench: &mut Bench<CodelPcon>, from_ms: u64, to_ms: u64, sojourn_ms: u64) -> Vec<u64> {
        let mut times = Vec::new();
        for t in from_ms..to_ms {
            assert_eq!(bench.dequeue(ms(t), Duration::from_millis(sojourn_ms), 10_000), Verdict::Pass);
            if bench.enqueue(ms(t), 10_000) == Verdict::Mark(1) {
                times.push(t);
            }
        }
        times
    }

    // The expected times follow from §1.2 by hand. Packets leave at whole milliseconds from 1000 on with 6 ms of
    // waiting: firstAbove = 1000; over is first true when t > 1100, at 1101: mark 1, nextMark = 1101 + 110 = 1211. 1211
    // ≥ 1211: mark 2, next = 1211 + 110/√2 = 1288.78; so at 1289: mark 3, next = 1289 + 63.51 = 1352.51; 1353: mark 4,
    // next = 1353 + 55 = 1408; 1408: mark 5, next = 1408 + 49.19 = 1457.19; 1458: mark 6.
    #[test]
    fn gaps_are_110_ms_then_shrink_with_the_square_root() {
        let mut bench = bench(json!({}));
        assert_eq!(marks(&mut bench, 1000, 1460, 6), [1101, 1211, 1289, 1353, 1408, 1458]);
    }

    #[test]
    fn gaps_are_exact_when_a_packet_leaves_at_every_instant_that_matters() {
        let mut bench = bench(json!({}));
        let mut due = Vec::new();
        bench.dequeue(ms(0), Duration::from_millis(6), 10_000);
        // Leaving exactly one interval after the crossing is not yet "longer than an interval".
        for us in [100_000_u64, 100_001, 210_000, 210_001, 287_782, 287_783, 351_291, 351_292] {
            bench.dequeue(Time::from_nanos(us * 1000), Duration::from_millis(6), 10_000);
            if bench.enqueue(Time::from_nanos(us * 1000), 10_000) == Verdict::Mark(1) {
                due.push(us);
            }
        }
        // 100.001 + 110 = 210.001; + 110/√2 (77.781746) = 287.782746 → 287.783; + 110/√3 (63.508530) = 351.291530.
        assert_eq!(due, [100_001, 210_001, 287_783, 351_292]);
    }

    // Marks at 1101 and 1211 as above, then nextMark = 1288.78. One packet at the target ends the incident at 1212.
    // The next one begins at 1213 and is over from 1314 on, after nextMark: mark 1 of the new incident, gap 110 again.
    #[test]
    fn the_count_starts_again_with_a_new_incident() {
        let mut bench = bench(json!({}));
        assert_eq!(marks(&mut bench, 1000, 1212, 6), [1101, 1211]);
        assert_eq!(marks(&mut bench, 1212, 1213, 5), [0; 0]);
        assert_eq!(marks(&mut bench, 1213, 1430, 6), [1314, 1424]);
    }

    // interval 20 ms, factor 10: mark 1 at 1021, nextMark = 1021 + 200 = 1221. The incident ends at 1022, a new one
    // begins at 1023 and is over from 1044 on; without memory it would mark at 1044.
    #[test]
    fn the_time_of_the_next_mark_survives_the_end_of_an_incident() {
        let mut bench = bench(json!({ "interval": "20ms", "factor": 10.0 }));
        assert_eq!(marks(&mut bench, 1000, 1022, 6), [1021]);
        assert_eq!(marks(&mut bench, 1022, 1023, 4), [0; 0]);
        assert_eq!(marks(&mut bench, 1023, 1230, 6), [1221]);
    }

    #[test]
    fn a_mark_that_falls_due_is_discarded_if_the_queue_has_recovered_when_a_packet_joins() {
        let mut bench = bench(json!({}));
        bench.dequeue(ms(0), Duration::from_millis(6), 10_000);
        bench.dequeue(ms(101), Duration::from_millis(6), 10_000);
        bench.dequeue(ms(102), Duration::from_millis(1), 10_000);
        assert_eq!(bench.enqueue(ms(103), 0), Verdict::Pass);
        bench.dequeue(ms(104), Duration::from_millis(6), 10_000);
        assert_eq!(bench.enqueue(ms(104), 0), Verdict::Pass, "it does not come back");
    }

    #[test]
    fn a_packet_that_finds_the_queue_full_takes_the_mark_with_it() {
        let mut bench = bench(json!({}));
        bench.dequeue(ms(0), Duration::from_millis(6), 10_000);
        bench.dequeue(ms(101), Duration::from_millis(6), 10_000);
        bench.overflow(ms(101), 10_000);
        assert_eq!(bench.enqueue(ms(102), 10_000), Verdict::Pass);
    }

    #[test]
    fn an_idle_link_ends_the_incident() {
        let mut bench = bench(json!({}));
        bench.dequeue(ms(0), Duration::from_millis(6), 10_000);
        bench.dequeue(ms(101), Duration::from_millis(6), 0);
        bench.idle(ms(102));
        assert_eq!(bench.enqueue(ms(103), 0), Verdict::Pass);
    }

    #[test]
    fn a_mark_on_the_leaving_packet_is_an_option_and_gives_up_predictability() {
        let mut bench = bench(json!({ "lands": "dequeued" }));
        assert!(!bench.marker.predictable());
        assert_eq!(bench.dequeue(ms(0), Duration::from_millis(6), 10_000), Verdict::Pass);
        assert_eq!(bench.dequeue(ms(101), Duration::from_millis(6), 10_000), Verdict::Mark(1));
        assert_eq!(bench.enqueue(ms(101), 10_000), Verdict::Pass);
    }
}
