//! `red`: random early detection (Floyd and Jacobson 1993), gentle (Floyd 2000).
//!
//! A moving average of the queue decides. Below `min` packets nothing happens; between `min` and `max` packets are
//! marked with a probability that rises to `max-probability`, spread evenly by a count of packets since the last mark;
//! between `max` and twice `max` it rises further to 1; above that every packet is marked.
//! Source: Floyd, Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993, §4 and
//! figure 2; gentle: Floyd, "Recommendation on using the gentle variant of RED", 2000. Default values: ns-3's
//! `RedQueueDisc`.
//!
//! Deviations: packets are marked and not dropped unless `action = "drop"`, above twice `max` too, as a full queue drops
//! by itself; the queue is counted in packets of any size, which are all as likely to be marked; ns-3's option "wait"
//! (on there), which spaces marks further apart than the paper, is left out. Where the rate of the link is not known, an
//! idle time counts as one packet.

use super::{Action, EnqueueEvent, Marker, QueueView, Verdict};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Red`]; defaults are ns-3's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Mean queue in packets up to which nothing is marked (ns-3: 5; the paper's simulations too).
    pub min: f64,
    /// Mean queue in packets at which the probability is `max-probability` (ns-3: 15; the paper's simulations too).
    pub max: f64,
    /// What a new packet counts in the mean, above 0 and up to 1 (paper §5.1, w_q: 0.002).
    pub weight: f64,
    /// Probability at `max` (paper §5.2, max_p: 1/50).
    pub max_probability: f64,
    /// Whether the probability rises on from `max` to twice `max` (Floyd 2000; ns-3: true); else it is 1 from `max` on.
    pub gentle: bool,
    /// The packet whose transmission time an idle link counts in (ns-3: 500 B).
    pub packet: Bytes,
    /// What happens to the packets picked (the paper leaves it open; ours: mark).
    pub action: Action,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            min: 5.0,
            max: 15.0,
            weight: 0.002,
            max_probability: 0.02,
            gentle: true,
            packet: Bytes::new(500),
            action: Action::Mark,
        }
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Red {
    #[state(skip)]
    params: Params,
    /// Mean queue, in packets.
    mean: f64,
    /// Packets since the last one picked; none while the mean is below `min`.
    count: Option<u32>,
    /// Since when the link is idle.
    idle: Option<Time>,
}

impl Component for Red {
    const NAME: &'static str = "red";
    const SUMMARY: &'static str = "RED: marks with a probability that follows the mean queue, gentle above the maximum";
    const SOURCE: &'static str = "Floyd, Jacobson, ToN 1993, §4; gentle: Floyd 2000; values: ns-3";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        let Params { min, max, weight, max_probability, packet, .. } = *params;
        if !(min >= 0.0 && min < max && max <= 1e9) {
            let wrong = format!("and max = {max} bound no range");
            return Err(SchemeError::value("min", min, &wrong, "give 0 ≤ min < max, such as 5 and 15"));
        }
        if !(weight > 0.0 && weight <= 1.0) {
            return Err(SchemeError::value("weight", weight, "is not a weight", "give a number above 0, at most 1"));
        }
        check::number("max-probability", max_probability, 0.0, 1.0)?;
        check::data_size("packet", packet)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Red {
        Red { params: params.clone(), mean: 0.0, count: None, idle: Some(Time::ZERO) }
    }
}

impl Red {
    /// The mean with a packet that finds this queue (paper, figure 2).
    fn average(&mut self, queue: &QueueView, now: Time) {
        let rest = 1.0 - self.params.weight;
        match self.idle.take() {
            // As if m small packets had found it empty.
            Some(since) => {
                let m = queue.rate.map_or(1.0, |rate| {
                    let one = rate.transmission_time(self.params.packet).nanos().max(1);
                    now.since(since).nanos() as f64 / one as f64
                });
                self.mean *= libm::pow(rest, m);
            }
            None => self.mean = rest * self.mean + self.params.weight * f64::from(queue.packets),
        }
    }

    /// The probability before it is spread by the count: p_b of the paper, and the gentle part.
    fn probability(&self) -> f64 {
        let Params { min, max, max_probability: most, gentle, .. } = self.params;
        if self.mean < max {
            most * (self.mean - min) / (max - min)
        } else if gentle && self.mean < 2.0 * max {
            most + (1.0 - most) * (self.mean - max) / max
        } else {
            1.0
        }
    }

    fn picks(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if self.mean < self.params.min {
            self.count = None;
            return false;
        }
        let p = self.probability();
        let count = self.count.map_or(0, |n| n.saturating_add(1));
        self.count = Some(count);
        // p_a = p_b / (1 − count · p_b): the distance between two marks is uniform up to 1/p_b.
        let left = 1.0 - f64::from(count) * p;
        if p <= 0.0 || (left > p && ctx.rng.unit() >= p / left) {
            return false;
        }
        self.count = Some(0);
        true
    }
}

impl Marker for Red {
    fn predictable(&self) -> bool {
        true
    }

    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict {
        self.average(&event.queue, ctx.now);
        if self.picks(ctx) { self.params.action.verdict() } else { Verdict::Pass }
    }

    fn on_idle(&mut self, ctx: &mut Ctx<'_>) {
        self.idle = Some(ctx.now);
    }

    /// A packet that does not fit is counted in the mean as any other, and starts the count again, as a loss is a
    /// signal too (ns-2 and ns-3).
    fn on_overflow(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) {
        self.average(&event.queue, ctx.now);
        self.count = self.count.map(|_| 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, ms};
    use super::*;
    use crate::units::Rate;
    use serde_json::{Value, json};

    fn bench(params: &Value) -> Bench<Red> {
        Bench::new(params)
    }

    /// A packet joins a queue of so many packets.
    fn joins(bench: &mut Bench<Red>, now: Time, packets: u64) -> Verdict {
        bench.enqueue(now, packets * 1250)
    }

    // w = 1/4. The first packet finds an idle link: 0. Then 3/4 · mean + 1/4 · queue: 2, 1.5 + 4 = 5.5, 4.125 + 5 =
    // 9.125, 6.84375.
    #[test]
    fn the_mean_moves_by_its_weight_towards_the_queue() {
        let mut bench = bench(&json!({ "weight": 0.25, "min": 100, "max": 300 }));
        for (packets, mean) in [(8, 0.0), (8, 2.0), (16, 5.5), (20, 9.125), (0, 6.843_75)] {
            assert_eq!(joins(&mut bench, ms(1), packets), Verdict::Pass);
            assert!((bench.marker.mean - mean).abs() < 1e-12, "{} is not {mean}", bench.marker.mean);
        }
    }

    // 500 B at 10 Mbit/s take 0.4 ms: 10 ms idle are 25 packets, so 10 · 0.998²⁵ = 9.511...
    #[test]
    fn an_idle_link_counts_as_small_packets_that_found_it_empty() {
        let mut bench = bench(&json!({ "min": 100, "max": 300 }));
        bench.rate = Some(Rate::from_mbps(10.0));
        joins(&mut bench, ms(0), 1);
        bench.marker.mean = 10.0;
        bench.idle(ms(90));
        joins(&mut bench, ms(100), 0);
        assert!((bench.marker.mean - 9.511_818_007_111_13).abs() < 1e-9, "{}", bench.marker.mean);
        bench.rate = None;
        bench.idle(ms(200));
        joins(&mut bench, ms(900), 0);
        assert!((bench.marker.mean - 9.511_818_007_111_13 * 0.998).abs() < 1e-9);
    }

    // By hand from the paper: (mean − 5)/10 · 0.02 up to 15; then 0.02 + 0.98 · (mean − 15)/15 up to 30.
    #[test]
    fn the_probability_follows_the_mean_in_two_straight_lines() {
        let mut gentle = bench(&json!({}));
        let mut plain = bench(&json!({ "gentle": false }));
        for (mean, p, without) in [
            (5.0, 0.0, 0.0),
            (10.0, 0.01, 0.01),
            (14.0, 0.018, 0.018),
            (15.0, 0.02, 1.0),
            (22.5, 0.51, 1.0),
            (30.0, 1.0, 1.0),
        ] {
            (gentle.marker.mean, plain.marker.mean) = (mean, mean);
            assert!((gentle.marker.probability() - p).abs() < 1e-12, "{mean}");
            assert!((plain.marker.probability() - without).abs() < 1e-12, "{mean}");
        }
    }

    // p_b = 0.01 at a mean of 10: distances are uniform from 1 to 100, 50.5 on average, and the first mark of an
    // episode may fall on its first packet.
    #[test]
    fn marks_are_spread_evenly_over_distances_up_to_the_inverse_of_the_probability() {
        let mut bench = bench(&json!({ "weight": 1.0 }));
        joins(&mut bench, ms(0), 10);
        let mut distances = Vec::new();
        let mut since = 0;
        while distances.len() < 4000 {
            since += 1;
            if joins(&mut bench, ms(1), 10) != Verdict::Pass {
                distances.push(since);
                since = 0;
            }
        }
        distances.remove(0);
        assert!(distances.iter().all(|d| (1..=101).contains(d)));
        let mean = f64::from(distances.iter().sum::<i32>()) / distances.len() as f64;
        // The standard error of 4000 draws of a uniform distribution of width 100 is 0.46.
        assert!((mean - 50.5).abs() < 1.5, "{mean}");
        let far = distances.iter().filter(|d| **d > 75).count() as f64 / distances.len() as f64;
        assert!((far - 0.25).abs() < 0.03, "{far}");
    }

    #[test]
    fn above_twice_the_maximum_every_packet_is_marked_and_below_the_minimum_none() {
        let mut bench = bench(&json!({ "weight": 1.0 }));
        joins(&mut bench, ms(0), 0);
        for _ in 0..50 {
            assert_eq!(joins(&mut bench, ms(1), 30), Verdict::Mark(1));
        }
        for _ in 0..1000 {
            assert_eq!(joins(&mut bench, ms(2), 4), Verdict::Pass);
        }
        assert_eq!(bench.marker.count, None);
    }

    #[test]
    fn an_overflow_moves_the_mean_and_starts_the_count_again() {
        let mut bench = bench(&json!({ "weight": 1.0, "max-probability": 0.0 }));
        joins(&mut bench, ms(0), 0);
        for _ in 0..10 {
            joins(&mut bench, ms(1), 12);
        }
        assert_eq!(bench.marker.count, Some(9));
        bench.overflow(ms(2), 13 * 1250);
        assert_eq!((bench.marker.mean, bench.marker.count), (13.0, Some(0)));
    }

    #[test]
    fn thresholds_out_of_order_are_rejected_with_a_remedy() {
        let wrong = |params: Value| crate::component::parse_params::<Red>(&params).unwrap_err().to_string();
        assert!(wrong(json!({ "min": 15, "max": 5 })).contains("min < max"));
        assert!(wrong(json!({ "weight": 0 })).contains("weight"));
        assert!(wrong(json!({ "max-probability": 2 })).contains("from 0 to 1"));
        assert!(wrong(json!({ "packet": "0B" })).contains("packet = 0B"));
    }
}
