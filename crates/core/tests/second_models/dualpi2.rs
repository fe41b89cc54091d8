//! DualPI2 by RFC 9332, appendix A.1 and A.2 (figures 2 to 8, with `recur` throughout), and Linux' weighted round
//! robin, which the RFC names as one scheduler; a second model, and the component beside it.

use crate::MS;
use ndnweir_core::component::Env;
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::{Field, FieldLayout, Fields};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{Discipline, Limit};
use ndnweir_core::registry::AnyDiscipline;
use ndnweir_core::units::{Bytes, Time};
use serde_json::json;
use std::collections::VecDeque;

const UPDATE: u64 = 16 * MS;
const TARGET: f64 = 0.015;
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.2;
const K: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Decision {
    Pass,
    Mark,
    Drop,
}

/// One queue: what waits (tag and time it joined), and `recur`'s count.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<(u32, u64)>,
    count: f64,
}

impl Queue {
    fn time(&self, now: u64) -> u64 {
        self.waiting.front().map_or(0, |(_, joined)| now - joined)
    }

    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let picked = self.count > 1.0;
        self.count -= f64::from(u8::from(picked));
        picked
    }
}

struct Model {
    low_latency: Queue,
    classic: Queue,
    /// p′ and the longer wait at the update before.
    base: f64,
    waited: f64,
    next_update: u64,
    /// Bytes that the classic queue may send, times 15.
    credit: f64,
    /// p′ after each update that changed it or the wait.
    changes: Vec<f64>,
    /// Low-latency: by the ramp, by coupling, overload marks and drops; classic: marks, overload drops.
    seen: [u32; 6],
}

impl Model {
    fn update_until(&mut self, now: u64) {
        while self.next_update <= now {
            let at = self.next_update;
            let wait = self.low_latency.time(at).max(self.classic.time(at)) as f64 / 1e9;
            let before = self.base;
            self.base += ALPHA * (wait - TARGET) + BETA * (wait - self.waited);
            self.base = self.base.clamp(0.0, 1.0);
            if (self.base, wait) != (before, self.waited) {
                self.changes.push(self.base);
            }
            (self.waited, self.next_update) = (wait, at + UPDATE);
        }
    }

    /// A packet of this tag leaves.
    fn decide(&mut self, tag: u32, now: u64) -> Decision {
        let (coupled, squared) = (K * self.base, self.base * self.base);
        let at_most = (1.0 / (K * K)).min(1.0);
        let (both, classic) =
            (!self.low_latency.waiting.is_empty() && !self.classic.waiting.is_empty(), tag.is_multiple_of(2));
        if both {
            assert_eq!(classic, self.credit > 0.0, "at {now} ns the other queue is next: credit {}", self.credit);
        }
        if classic {
            let (first, _) = self.classic.waiting.pop_front().unwrap();
            assert_eq!(first, tag, "each queue is first in, first out");
            self.credit -= if self.low_latency.waiting.is_empty() { 0.0 } else { 15.0 * 1250.0 };
            let picked = self.classic.recur(squared);
            let decision = match picked {
                true if squared >= at_most => Decision::Drop,
                true => Decision::Mark,
                false => Decision::Pass,
            };
            self.seen[4] += u32::from(decision == Decision::Mark);
            self.seen[5] += u32::from(decision == Decision::Drop);
            return decision;
        }
        let only = self.low_latency.waiting.len() <= 1;
        let (first, joined) = self.low_latency.waiting.pop_front().unwrap();
        assert_eq!(first, tag, "each queue is first in, first out");
        self.credit += if self.classic.waiting.is_empty() { 0.0 } else { 1250.0 };
        if coupled >= (K * at_most.sqrt()).min(1.0) {
            let dropped = self.low_latency.recur(squared);
            self.seen[if dropped { 3 } else { 2 }] += 1;
            return if dropped { Decision::Drop } else { Decision::Mark };
        }
        let ramp = if only { 0.0 } else { (((now - joined) as f64 - 8e5) / 4e5).clamp(0.0, 1.0) };
        self.seen[usize::from(ramp < coupled)] += 1;
        if self.low_latency.recur(ramp.max(coupled)) { Decision::Mark } else { Decision::Pass }
    }
}

/// Packets per ms of both kinds in each of six parts of a run, on a link that sends one in 1 ms.
fn compare(loads: [(f64, f64); 6]) -> [u32; 6] {
    let mut layout = FieldLayout::new();
    let slot = layout.slot(Field::LowLatency).unwrap();
    let mut component = AnyDiscipline::build("dualpi2", &json!({}), &mut Env { layout: &mut layout }).unwrap();
    let (mut rng, mut trace, mut dice) = (Rng::derive(1, &[]), Trace::new(true), Rng::derive(2, &[]));
    let (low_latency, classic) = (Queue::default(), Queue::default());
    let mut model = Model {
        low_latency,
        classic,
        base: 0.0,
        waited: 0.0,
        next_update: UPDATE,
        credit: 0.0,
        changes: Vec::new(),
        seen: [0; 6],
    };
    let (mut dropped, mut sent) = (Vec::new(), 0);
    for slot_ms in 0..6 * 1500_u64 {
        let (start, load) = (slot_ms * MS + 1 + dice.below(1000), loads[slot_ms as usize / 1500]);
        for (load, is_low) in [(load.0, true), (load.1, false)] {
            let mut load = load;
            while dice.unit() < load {
                load -= 1.0;
                let mut fields = Fields::default();
                fields.set(slot, u32::from(is_low));
                // Even tags are classic.
                sent += 2;
                let (tag, size) = (sent + u32::from(is_low), 1250);
                let packet = Packet { fields, tag, size, kind: Kind::Data, ..Packet::default() };
                model.update_until(start);
                let mut ctx = Ctx { now: Time::from_nanos(start), rng: &mut rng, trace: &mut trace };
                component.enqueue(packet, Limit::Bytes(Bytes::new(250 * 1250)), &mut dropped, &mut ctx);
                let queue = if is_low { &mut model.low_latency } else { &mut model.classic };
                match dropped.pop() {
                    Some(packet) => assert_eq!(packet.tag, tag, "what finds the queue full is dropped"),
                    None => queue.waiting.push_back((tag, start)),
                }
            }
        }
        let now = start + MS - 2000;
        model.update_until(now);
        let mut ctx = Ctx { now: Time::from_nanos(now), rng: &mut rng, trace: &mut trace };
        let next = component.dequeue(&mut dropped, &mut ctx);
        for packet in dropped.drain(..) {
            assert_eq!(model.decide(packet.tag, now), Decision::Drop, "at {now} ns: {packet:?} p' {}", model.base);
        }
        let Some(queued) = next else {
            assert!(model.classic.waiting.is_empty() && model.low_latency.waiting.is_empty());
            model.credit = 0.0;
            continue;
        };
        let expected = model.decide(queued.packet.tag, now);
        let decision = if queued.mark > 0 { Decision::Mark } else { Decision::Pass };
        assert_eq!(decision, expected, "at {now} ns, p' {}", model.base);
    }
    let changes: Vec<f64> = trace.drain().map(|event| event.value).collect();
    assert_eq!(changes.len(), model.changes.len());
    assert!(changes.iter().zip(&model.changes).all(|(a, b)| (a - b).abs() < 1e-9), "every p' is the same");
    model.seen
}

#[test]
fn dualpi2_agrees_with_rfc_9332_from_idle_links_to_overload_of_both_queues() {
    let seen = compare([(0.3, 0.3), (0.9, 0.0), (0.0, 1.2), (0.4, 0.8), (1.4, 0.8), (0.0, 0.2)]);
    assert!(seen.iter().all(|&n| n > 10), "{seen:?}");
}
