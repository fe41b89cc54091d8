//! QSCCP's scheduler and rates as the authors' code has them (qsccp/qsccp@35e902f: `queues.cpp`, `TokenBucket.cpp`),
//! and they beside the component; with the completions that its page names.

use crate::MS;
use crate::bench::{Bench, face, queue};
use ndnweir_core::fields::Field::{ExplicitRate, ServiceClass};
use ndnweir_core::fields::Fields;
use ndnweir_core::ids::{FlowId, NameId, PrefixId};
use ndnweir_core::packet::{NackReason, Packet};
use ndnweir_core::registry::AnyShaper;
use ndnweir_core::shaper::{Admission, Downstream, PacketCount, ReleaseEvent, Reverse, ShapeEvent, Shaper};
use ndnweir_core::units::Rate;
use serde_json::json;
use std::collections::VecDeque;
use std::f64::consts::FRAC_PI_2;

/// Bits of a Data there.
const DATA: f64 = 9000.0;
const CAPACITY: f64 = 0.99 * 10e6;

#[derive(Default)]
struct Flow {
    id: u32,
    waiting: VecDeque<u32>,
    arrived: f64,
    requested: f64,
    ratio: f64,
    rate: f64,
    balance: f64,
    strikes: u32,
    penalised: bool,
}

impl Flow {
    fn factor(&self) -> f64 {
        if self.penalised { 0.5 } else { 1.0 }
    }
}

#[derive(Default)]
struct Class {
    weight: f64,
    available: f64,
    /// Of priority classes: bits per second, bits now, since when.
    bucket: Option<(f64, f64, Option<u64>)>,
    flows: Vec<Flow>,
    turn: usize,
    arrived: f64,
    waiting: u32,
    named: Option<(f64, u32, bool)>,
    place: Option<f64>,
}

impl Class {
    fn requested(&self) -> f64 {
        self.arrived * 10.0
    }

    fn append(&mut self, id: u32, tag: u32, now: u64) -> bool {
        if let Some((_, _, since)) = &mut self.bucket {
            since.get_or_insert(now);
        }
        if !self.flows.iter().any(|flow| flow.id == id) {
            self.flows.push(Flow { id, ..Flow::default() });
            let count = self.flows.len() as f64;
            self.flows.iter_mut().for_each(|flow| flow.rate = self.available / count * flow.factor());
        }
        let full = self.bucket.is_none() && self.waiting >= 200;
        let flow = self.flows.iter_mut().find(|flow| flow.id == id).unwrap();
        flow.arrived += DATA;
        self.arrived += DATA;
        if full || flow.waiting.len() >= 20 {
            return false;
        }
        flow.waiting.push_back(tag);
        self.waiting += 1;
        true
    }

    /// The next Interest by deficit round robin, and whether its flow is penalised.
    fn next(&mut self, now: u64) -> Option<(u32, bool)> {
        while self.waiting > 0 {
            if self.turn >= self.flows.len() {
                self.flows.iter_mut().for_each(|flow| flow.balance += 16_000.0 * flow.factor());
                self.turn = 0;
            }
            let Some(flow) = self.flows.get_mut(self.turn) else { continue };
            if flow.waiting.is_empty() {
                flow.balance = 0.0;
                self.turn += 1;
                continue;
            }
            if DATA >= flow.balance {
                self.turn += 1;
                continue;
            }
            if let Some((rate, tokens, Some(since))) = &mut self.bucket {
                *tokens = (*tokens + *rate * (now - *since) as f64 / 1e9).min(160_000.0);
                *since = now;
                if *tokens <= DATA {
                    return None;
                }
                *tokens -= DATA;
            }
            flow.balance -= DATA;
            self.waiting -= 1;
            return flow.waiting.pop_front().map(|tag| (tag, flow.penalised));
        }
        None
    }

    fn change(&mut self) {
        self.arrived = 0.0;
        self.flows.retain(|flow| flow.arrived > 0.0 || !flow.waiting.is_empty());
        let (weights, available) = (self.flows.iter().map(Flow::factor).sum::<f64>(), self.available);
        let (mut consumed, mut fast) = (0.0, 0.0);
        for flow in &mut self.flows {
            flow.rate = available * flow.factor() / weights;
            flow.requested = flow.arrived * 10.0;
            flow.ratio = flow.requested / flow.rate;
            flow.arrived = 0.0;
            if flow.requested > flow.rate - 500e3 {
                fast += f64::from(u8::from(!flow.penalised));
                consumed += flow.rate;
            } else {
                consumed += flow.requested;
            }
        }
        for flow in &mut self.flows {
            if consumed < available && fast > 0.0 && !flow.penalised && flow.ratio > 0.8 {
                flow.rate += (available - consumed) / fast;
            }
            if flow.requested > 1.2 * flow.rate {
                flow.strikes = (flow.strikes + 1).min(5);
                flow.penalised |= flow.strikes == 5;
            } else {
                flow.strikes = flow.strikes.saturating_sub(1);
            }
            if !flow.penalised {
                let full = flow.waiting.len() as f64 / 20.0;
                flow.rate *= (FRAC_PI_2 - (8.0 * full - 4.0).atan()) / 3.0 + 0.034;
            }
        }
    }
}

struct QsccpModel {
    classes: Vec<Class>,
    place: f64,
    reached: Vec<&'static str>,
}

impl QsccpModel {
    fn new() -> QsccpModel {
        let priority = [0.2, 0.2, 0.3].map(|share| share * CAPACITY);
        let bucket = |rate| Class { available: rate, bucket: Some((rate, 0.0, None)), ..Class::default() };
        let weighted = [5.0, 4.0, 3.0, 2.0, 1.0];
        let weighted = weighted.map(|weight| Class { weight, available: CAPACITY * weight / 15.0, ..Class::default() });
        let classes = priority.map(bucket).into_iter().chain(weighted).collect();
        QsccpModel { classes, place: 0.0, reached: Vec::new() }
    }

    fn note(&mut self, what: &'static str) {
        if !self.reached.contains(&what) {
            self.reached.push(what);
        }
    }

    /// Tag and class of the Interest that leaves, and whether its flow is penalised.
    fn next(&mut self, now: u64) -> Option<(u32, usize, bool)> {
        for class in 0..3 {
            if let Some((tag, penalised)) = self.classes[class].next(now) {
                return Some((tag, class, penalised));
            }
        }
        if self.classes[..3].iter().any(|class| class.waiting > 0) {
            self.note("waits for tokens");
        }
        let mut first: Option<(f64, usize)> = None;
        for (number, class) in self.classes.iter_mut().enumerate().skip(3) {
            if class.named.is_none() {
                let Some((tag, penalised)) = class.next(now) else { continue };
                let place = class.place.unwrap_or(self.place) + DATA / class.weight;
                class.place = (class.waiting > 0).then_some(place);
                class.named = Some((place, tag, penalised));
            }
            let place = class.named.map_or(f64::MAX, |(place, ..)| place);
            if first.is_none_or(|(least, _)| place < least) {
                first = Some((place, number));
            }
        }
        let (place, number) = first?;
        self.place = place;
        self.classes[number].named.take().map(|(_, tag, penalised)| (tag, number, penalised))
    }

    fn change(&mut self, interests: f64) {
        let mut left = CAPACITY - interests * 10.0;
        for class in &mut self.classes[..3] {
            left -= class.requested();
            class.change();
        }
        let left = left.max(0.0);
        let weighted = &mut self.classes[3..];
        let spare = |class: &Class| 1.0 - class.requested() / (left * class.weight / 15.0);
        let rest = weighted.iter().fold(left, |rest, class| {
            rest - if spare(class) < 0.2 { left * class.weight / 15.0 } else { class.requested() }
        });
        let any_busy = weighted.iter().any(|class| spare(class) < 0.2);
        let limit = if any_busy { 0.2 } else { 0.95 };
        let weights: f64 = weighted.iter().filter(|class| spare(class) < limit).map(|class| class.weight).sum();
        for class in weighted.iter_mut() {
            let share = if spare(class) < limit { rest * class.weight / weights } else { 0.0 };
            class.available = left * class.weight / 15.0 + share;
        }
        weighted.iter_mut().for_each(Class::change);
        self.note(if any_busy { "busy class" } else { "no busy class" });
        for case in [(true, "penalised"), (false, "spare")] {
            if self.classes.iter().any(|class| class.flows.iter().any(|flow| flow.penalised) == case.0) {
                self.note(case.1);
            }
        }
    }
}

/// Class and ms between two Interests of each flow, in each phase of 3 s.
const FLOWS: [(usize, [f64; 5]); 7] = [
    (0, [8.0, 3.0, 9.0, 2.0, 1e9]),
    (2, [9.0, 9.0, 2.0, 1e9, 20.0]),
    (3, [5.0, 5.0, 2.5, 2.4, 50.0]),
    (3, [6.0, 5.0, 0.6, 2.2, 60.0]),
    (5, [20.0, 7.0, 7.0, 3.0, 70.0]),
    (7, [15.0, 12.0, 9.0, 30.0, 40.0]),
    (7, [90.0, 12.0, 3.0, 30.0, 45.0]),
];

fn drive(name: &str) -> Vec<&'static str> {
    let mut bench = Bench::new(AnyShaper::build, name, &json!({}), &[ServiceClass, ExplicitRate]);
    let rate = Rate::from_mbps(10.0);
    let out = face(rate, queue(0, 0, rate), 0);
    let downstream = Downstream { view: out, data: 0, backlog: 0, flows: 1, credit: None };
    let mut model = QsccpModel::new();
    let (mut tag, mut free_from, mut counted) = (0, 0_u64, 0_u64);
    let mut due: Vec<u64> = (0..7).map(|n| bench.now + 1 + 300_000 * n).collect();
    let mut next_change = None;
    while bench.now < 30_000 * MS {
        let wake = bench.component.next_wake().nanos();
        let next = *due.iter().min().unwrap();
        bench.now = bench.now.max(next.min(wake));
        let now = bench.now;
        let flow = due.iter().position(|&at| at == next).unwrap();
        let (class, gaps) = FLOWS[flow];
        let gap = gaps[(now / (3000 * MS)) as usize % 5];
        if wake > next && gap > 1e6 {
            due[flow] = now + 100 * MS;
            continue;
        }
        // The other direction brings Interests of 320 bits, one in a ms.
        let bits = now / MS * 320;
        let reverse = Reverse { interests_in: PacketCount { packets: 1, bits }, ..Reverse::default() };
        if *next_change.get_or_insert(now + 100 * MS) <= now {
            model.change((bits - counted) as f64);
            next_change = next_change.map(|next| next + 100 * MS);
            counted = bits;
        } else if tag == 0 {
            counted = bits;
        }
        if wake <= next {
            let event = ReleaseEvent { out, reverse, downstream: None };
            let released = bench.with(|shaper, ctx| shaper.release(&event, ctx));
            let expected = model.next(now);
            if released.is_some() {
                assert!(now >= free_from, "at {now} ns, before its turn at {free_from} ns");
                // A turn that comes late is made up for, up to a millisecond (the component's, as timers are late).
                free_from = free_from.max(now.saturating_sub(MS)).min(now) + (DATA / CAPACITY * 1e9) as u64;
            }
            let class_of = |packet: &Packet| packet.fields.get(bench.slot(ServiceClass));
            let got = released.map(|packet| (packet.tag, class_of(&packet)));
            let expected = expected.map(|(tag, class, bad)| (tag, class as u32 + if bad { 9 } else { 1 }));
            assert_eq!(got, expected, "at {now} ns");
        } else {
            due[flow] = now + (gap * 1e6) as u64 + bench.dice.below(90_000);
            tag += 1;
            let fields = bench.fields(&[(ServiceClass, class as u32 + 1)]);
            let name = NameId { flow: FlowId(flow as u32), segment: tag };
            let packet = Packet { tag, size: 40, name, fields, ..Packet::default() };
            let event = ShapeEvent { packet: &packet, prefix: PrefixId(0), out, downstream, reverse, base_rtt: None };
            let admission = bench.with(|shaper, ctx| shaper.admit(&event, ctx));
            let expected = model.classes[class].append(flow as u32, tag, now);
            // The first at an idle link, too, is held until its release at the same instant.
            assert_ne!(admission, Admission::Pass, "Interest {tag} at {now} ns");
            if admission == Admission::Reject(NackReason::Congestion) {
                model.note("rejected");
            }
            assert_eq!(!matches!(admission, Admission::Reject(_)), expected, "Interest {tag} at {now} ns");
        }
        for flow in model.classes.iter().flat_map(|class| &class.flows) {
            let mut stamped = Fields::default();
            bench.component.stamp(FlowId(flow.id), &mut stamped);
            let got = f64::from(stamped.get(bench.slot(ExplicitRate)));
            let expected = (flow.rate / 1e3).max(1.0);
            assert!((got - expected).abs() <= 1.0, "flow {} at {now} ns: {got} instead of {expected} kbit/s", flow.id);
        }
    }
    model.reached
}

#[test]
fn qsccp_and_its_stand_in_agree_with_the_authors_code_on_order_places_and_rates_of_all_classes() {
    for name in ["qsccp", "dscpc"] {
        let reached = drive(name);
        for case in ["rejected", "waits for tokens", "busy class", "no busy class", "penalised", "spare"] {
            assert!(reached.contains(&case), "{case} in {reached:?}");
        }
    }
}
