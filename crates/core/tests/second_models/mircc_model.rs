//! MIRCC's rates and Interest queue as a third party has them (Enidsky/mircc@6081c2c: `mircc-strategy.cpp`), with one
//! or two classes, and they beside the component.

use crate::MS;
use crate::bench::{Bench, face, queue};
use ndnweir_core::fields::Field::{ExplicitRate, SecondaryRate, ServiceClass};
use ndnweir_core::fields::Fields;
use ndnweir_core::ids::{FlowId, NameId, PrefixId};
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::registry::AnyShaper;
use ndnweir_core::shaper::{Admission, Answer, Downstream, Outcome, ReleaseEvent, Reverse, ShapeEvent, Shaper};
use ndnweir_core::units::{Duration, Rate, Time};
use serde_json::json;
use std::collections::VecDeque;

/// Bits of a Data there.
const DATA: f64 = 8696.0;
const SLACK: u64 = MS;
const CAPACITY: f64 = 0.99 * 10e6;

#[derive(Default)]
struct Class {
    base: f64,
    extra: f64,
    arrived: f64,
    arrived_before: f64,
}

impl Class {
    fn rate(&self) -> f64 {
        self.base + self.extra
    }

    /// One change, of the part of the link that this class may use; `rates` are those that share it.
    fn change(&mut self, capacity: f64, rates: f64, waiting: f64, delay: f64) {
        let (arrived, rate) = (self.arrived * 10.0, self.rate());
        let flows = (capacity.max(arrived) / rates.max(1.0)).max(1.0);
        let gain = ((arrived - self.arrived_before) / arrived.max(1.0)).max(0.1);
        let base = ((capacity - gain * waiting / delay.max(0.001)) / flows).max(0.0).min(capacity / flows);
        let extra = (rate - arrived / flows).max(0.0).min(capacity - base);
        self.base = 0.8 * self.base + 0.2 * base;
        self.extra = 0.8 * self.extra + 0.2 * extra;
        (self.arrived, self.arrived_before) = (0.0, arrived);
    }
}

/// Drives both; whether the queue was full, a secondary Interest lost its place, and secondary traffic got nothing.
fn drive(dual: bool, interests: fn(u64) -> (u64, u64)) -> [bool; 3] {
    let fields: &[_] = if dual { &[ServiceClass, ExplicitRate, SecondaryRate] } else { &[ServiceClass, ExplicitRate] };
    let mut bench = Bench::new(AnyShaper::build, "mircc", &json!({ "dual": dual }), fields);
    let (rate, mut reached) = (Rate::from_mbps(10.0), [false; 3]);
    let out = face(rate, queue(0, 0, rate), 0);
    let downstream = Downstream { view: out, data: 0, backlog: 0, flows: 1, credit: None };
    let (mut primary, mut secondary) = (Class { base: 1e6, ..Class::default() }, Class::default());
    let (mut delay, mut held, mut free_from) = (0.03_f64, VecDeque::<(u32, bool)>::new(), 0_u64);
    let mut answers = VecDeque::<(u64, u64, u32)>::new();
    let gap = (DATA / CAPACITY * 1e9).round() as u64;
    let (mut next_change, mut tag) = (bench.now + 100 * MS, 0);
    let (mut next_primary, mut next_secondary) = (bench.now, bench.now + 3000);
    // A turn that comes late is made up for, up to a millisecond (the component's, as timers are late).
    let taken = |free_from: u64, now: u64| free_from.max(now.saturating_sub(SLACK)).min(now) + gap;
    while bench.now < 20_000 * MS {
        let answer = answers.front().map_or(u64::MAX, |&(at, ..)| at);
        let release = if held.is_empty() { u64::MAX } else { free_from };
        let now = next_primary.min(next_secondary).min(answer).min(release).min(next_change);
        bench.now = now;
        if now == next_change {
            next_change += 100 * MS;
            let waiting = held.len() as f64 * DATA * 10.0;
            // What primary traffic uses and what both have are from before.
            let (rest, rates) = ((CAPACITY - primary.arrived * 10.0).max(0.0), primary.rate() + secondary.rate());
            primary.change(CAPACITY, primary.rate(), waiting, delay);
            secondary.change(rest, rates, waiting, delay);
            reached[2] |= rest == 0.0;
            // The component takes it with the next packet.
            continue;
        } else if now == release {
            let (tag, _) = held.pop_front().unwrap();
            free_from = taken(free_from, now);
            answers.push_back((now + 20 * MS + u64::from(tag) * 7919 % (9 * MS), now, tag));
            answers.make_contiguous().sort_unstable();
            let event = ReleaseEvent { out, reverse: Reverse::default(), downstream: None };
            let released = bench.with(|shaper, ctx| shaper.release(&event, ctx));
            assert_eq!(released.map(|packet| packet.tag), Some(tag), "at {now} ns");
        } else if now == answer {
            let (_, sent, tag) = answers.pop_front().unwrap();
            // Data of the size that is a constant there.
            let packet = Packet { kind: Kind::Data, size: 1087, tag, ..Packet::default() };
            let (outcome, sent) = (Outcome::Data, Time::from_nanos(sent));
            let rtt = Some(Duration::from_nanos(now - sent.nanos()));
            let event = Answer { outcome, packet: &packet, prefix: PrefixId(0), sent, rtt };
            bench.with(|shaper, ctx| shaper.on_answer(&event, ctx));
            delay = 0.7 * delay + 0.3 * (now - sent.nanos()) as f64 / 1e9;
        } else {
            let is_primary = now == next_primary;
            let (every, secondary_every) = interests(now / MS);
            let uneven = bench.dice.below(200_000);
            if is_primary {
                next_primary = now + every + uneven;
            } else {
                next_secondary = now + secondary_every + uneven;
            }
            if !dual && !is_primary {
                continue;
            }
            tag += 1;
            if is_primary {
                primary.arrived += DATA
            } else {
                secondary.arrived += DATA
            }
            let (size, class) = (40, if is_primary { 1 } else { 2 });
            let fields = bench.fields(&[(ServiceClass, class)]);
            let name = NameId { flow: FlowId(1), segment: tag };
            let packet = Packet { tag, size, name, fields, ..Packet::default() };
            let (prefix, reverse) = (PrefixId(0), Reverse::default());
            let event = ShapeEvent { packet: &packet, prefix, out, downstream, reverse, base_rtt: None };
            let admission = bench.with(|shaper, ctx| shaper.admit(&event, ctx));
            let discarded = bench.component.discard().map(|packet| packet.tag);
            let (mut expected, mut given_up) = (Admission::Hold, None);
            if held.is_empty() && free_from <= now {
                // An idle face: there it waits for the next turn of a clock.
                expected = Admission::Pass;
                free_from = taken(free_from, now);
                answers.push_back((now + 20 * MS + u64::from(tag) * 7919 % (9 * MS), now, tag));
                answers.make_contiguous().sort_unstable();
            } else if held.len() < 10 {
                held.push_back((tag, is_primary));
            } else {
                reached[0] = true;
                match held.iter().rposition(|&(_, primary)| !primary).filter(|_| is_primary) {
                    Some(place) => {
                        given_up = held.remove(place).map(|(tag, _)| tag);
                        held.push_back((tag, true));
                        reached[1] = true;
                    }
                    None => expected = Admission::Reject(NackReason::Congestion),
                }
            }
            assert_eq!((admission, discarded), (expected, given_up), "Interest {tag} at {now} ns");
        }
        let mut stamped = Fields::default();
        bench.component.stamp(FlowId(1), &mut stamped);
        let told = |field| f64::from(stamped.get(bench.slot(field)));
        let near = |told: f64, rate: f64| (told - (rate / 1e3).max(1.0)).abs() <= 1.0 + 1e-4 * told;
        let (got, expected) = (told(ExplicitRate), primary.rate());
        assert!(near(got, expected), "at {} ms: {got} kbit/s instead of {expected} bit/s", now / MS);
        if dual {
            let (got, expected) = (told(SecondaryRate), secondary.rate());
            assert!(near(got, expected), "at {} ms: secondary {got} kbit/s instead of {expected} bit/s", now / MS);
        }
    }
    reached
}

// Primary and secondary Interests every so many ns: few, enough for the link, too many, and none of the secondary
// class.
fn phases(ms: u64) -> (u64, u64) {
    [(4 * MS, 2 * MS), (MS, 3 * MS), (MS / 2, MS), (20 * MS, MS / 2), (2 * MS, 900 * MS)][ms as usize / 2000 % 5]
}

#[test]
fn mircc_routers_agree_with_the_third_partys_code_on_rates_places_and_order_of_two_classes() {
    assert_eq!(drive(true, phases), [true; 3]);
}

#[test]
fn mircc_routers_agree_with_the_third_partys_code_with_one_class() {
    assert_eq!(drive(false, phases)[..2], [true, false]);
}
