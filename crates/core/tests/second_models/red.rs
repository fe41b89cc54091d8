//! RED by figure 2 of Floyd and Jacobson (1993), gentle by Floyd (2000); a second model, and the component beside it.

use crate::MS;
use crate::egress::Egress;
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::Verdict;
use ndnweir_core::units::{Duration, Rate};
use serde_json::json;

const WEIGHT: f64 = 0.002;
const LOW: f64 = 5.0;
const HIGH: f64 = 15.0;
const LARGEST: f64 = 0.02;

struct Model {
    mean: f64,
    /// Packets since the latest mark, and −1 while nothing is to be marked (figure 2's `count`).
    count: f64,
    gentle: bool,
    chance: Rng,
    /// Arrivals below, between, in the gentle part, and above; arrivals after an idle time; marks by chance; overflows.
    seen: [u32; 7],
}

impl Model {
    /// A packet arrives and finds `queue` packets; `idle` is for how many small packets the link was idle.
    fn average(&mut self, queue: f64, idle: Option<f64>) {
        match idle {
            Some(packets) => {
                self.mean *= libm::pow(1.0 - WEIGHT, packets);
                self.seen[4] += 1;
            }
            None => self.mean += WEIGHT * (queue - self.mean),
        }
    }

    fn marks(&mut self) -> bool {
        let top = if self.gentle { 2.0 * HIGH } else { HIGH };
        if self.mean < LOW {
            self.count = -1.0;
            self.seen[0] += 1;
            return false;
        }
        if self.mean >= top {
            self.count = 0.0;
            self.seen[3] += 1;
            return true;
        }
        self.count += 1.0;
        let base = if self.mean < HIGH {
            self.seen[1] += 1;
            LARGEST * (self.mean - LOW) / (HIGH - LOW)
        } else {
            self.seen[2] += 1;
            LARGEST + (1.0 - LARGEST) * (self.mean - HIGH) / HIGH
        };
        let chance = if self.count * base < 1.0 { base / (1.0 - self.count * base) } else { 1.0 };
        if base <= 0.0 || (chance < 1.0 && self.chance.unit() >= chance) {
            return false;
        }
        self.count = 0.0;
        self.seen[5] += 1;
        true
    }
}

/// Bursts and pauses at a link of 10 Mbit/s; `load` is Data per ms in the second and third second of four.
fn compare(gentle: bool, load: f64) -> [u32; 7] {
    let rate = Rate::from_mbps(10.0);
    let mut egress = Egress::new("red", &json!({ "gentle": gentle }), 100, rate);
    let chance = egress.bench.chance();
    let mut model = Model { mean: 0.0, count: -1.0, gentle, chance, seen: [0; 7] };
    let mut dice = Rng::derive(9, &[]);
    let mut small = true;
    while egress.bench.now < 16_000 * MS {
        let busy = matches!(egress.bench.now / (1000 * MS) % 4, 1 | 2);
        let per_ms = if busy { load } else { 0.5 };
        let until = egress.bench.now + 1 + dice.exponential(Duration::from_nanos((MS as f64 / per_ms) as u64)).nanos();
        egress.pass(until);
        small = !small && dice.unit() < 0.3;
        let (kind, size) = if small { (Kind::Interest, 60) } else { (Kind::Data, 1250) };
        // Small packets are those of 500 B: 0.4 ms.
        let idle = egress.idle_since.filter(|_| egress.waiting() == 0).map(|since| (until - since) as f64 / 4e5);
        model.average(f64::from(egress.waiting()), idle);
        let Some(verdict) = egress.offer(Packet { kind, size, ..Packet::default() }) else {
            // As in ns-2 and ns-3, a loss is a signal like a mark.
            model.count = model.count.min(0.0);
            model.seen[6] += 1;
            continue;
        };
        let expected = model.marks();
        let verdict = verdict == Verdict::Mark(1);
        assert_eq!(verdict, expected, "at {until} ns, mean {}, {} since a mark", model.mean, model.count);
    }
    model.seen
}

#[test]
fn red_agrees_with_figure_2_through_bursts_and_idle_times() {
    let seen = compare(true, 1.35);
    assert!(seen[0] > 50 && seen[1] > 50 && seen[2] > 50 && seen[4] > 50 && seen[5] > 20, "{seen:?}");
    let seen = compare(true, 2.0);
    assert!(seen[3] > 50 && seen[6] > 50, "{seen:?}");
    let seen = compare(false, 2.0);
    assert!(seen[2] == 0 && seen[3] > 50 && seen[1] > 50, "{seen:?}");
}
