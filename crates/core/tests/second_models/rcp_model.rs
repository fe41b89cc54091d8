//! RCP's queue as its authors' code for ns-2 has it (`rcp.cc` in richardhsu/cs244-14-rcp@8c40326, `rate_fact_mode_` 0),
//! and it beside the component, over a link that one, many and too many flows share.

use crate::bench::{Bench, face, queue};
use ndnweir_core::fields::Field;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::{DataOut, Meter};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::registry::AnyMeter;
use ndnweir_core::units::{Rate, Time};
use serde_json::json;

/// Sizes in B, times in s.
struct RcpModel {
    capacity: f64,
    rate: f64,
    rtt: f64,
    rtt_bytes: f64,
    bytes: f64,
    /// Whether the rate was held to the capacity, left alone, or held to the least; how the round trip moved.
    reached: [bool; 5],
}

impl RcpModel {
    fn new(capacity: f64) -> RcpModel {
        RcpModel { capacity, rate: 0.05 * capacity, rtt: 0.2, rtt_bytes: 0.0, bytes: 0.0, reached: [false; 5] }
    }

    fn arrival(&mut self, rtt: f64, size: f64) {
        self.rtt_bytes += rtt * size;
        self.bytes += size;
    }

    fn timeout(&mut self, slot: f64, arrived: f64, waiting: f64) {
        let load = arrived / slot;
        // There the mean of the last slot that had any is taken again in a slot without; the component skips it, as its
        // page says.
        if self.bytes > 0.0 {
            let mean = self.rtt_bytes / self.bytes;
            let rises = mean >= self.rtt;
            let flat = self.rate / self.capacity * (mean / self.rtt) * (slot / self.rtt);
            // A gain above 1 would overshoot; the slot is never longer than the round trip there.
            let gain = if rises { (slot / self.rtt).min(1.0) } else { flat };
            self.rtt = gain * mean + (1.0 - gain) * self.rtt;
            (self.rtt_bytes, self.bytes) = (0.0, 0.0);
            self.reached[usize::from(rises)] = true;
        }
        let (mean, share) = (self.rtt.max(slot), slot / self.rtt.max(slot));
        let ratio = 1.0 + share * (0.4 * (self.capacity - load) - 0.226 * (waiting / mean)) / self.capacity;
        let next = self.rate * ratio;
        // 0.01 packets of 1000 B per round trip.
        let least = 0.01 * 1000.0 / mean;
        self.rate = next.max(least).min(self.capacity);
        self.reached[if next < least { 2 } else { 3 + usize::from(next < self.capacity) }] = true;
    }
}

/// Flows that keep to the rate of a round trip ago over a link of 10 Mbit/s; what the model reached.
fn link(flows: fn(u64) -> u64, base_rtt: fn(u64) -> f64, slots: u64) -> [bool; 5] {
    let rate = Rate::from_mbps(10.0);
    let fields = [Field::ExplicitRate, Field::RoundTrip];
    let mut bench = Bench::new(AnyMeter::build, "rcp", &json!({}), &fields);
    let (granted, told) = (bench.slot(Field::ExplicitRate), bench.slot(Field::RoundTrip));
    let mut model = RcpModel::new(1.25e6);
    let (mut offered, mut waiting, mut reports) = (0_u64, 0_u64, Vec::new());
    let slot = 10_000_000;
    // The clock of the component starts with its first Data or its first period.
    bench.now = bench.component.next_wake().nanos().min(slot);
    let mut rates = vec![model.rate; 200];
    bench.with(|meter, ctx| meter.on_period(&[face(rate, queue(0, 0, rate), 0)], &mut reports, ctx));
    model = RcpModel::new(1.25e6);
    for n in 1..slots {
        let seconds = base_rtt(n) + waiting as f64 / 1.25e6;
        let ago = ((seconds / 0.01).ceil() as usize).clamp(1, rates.len());
        let arrived = (flows(n) as f64 * rates[rates.len() - ago] * 0.01) as u64;
        // One Data per flow speaks for all of the slot, of uneven sizes; every seventh slot nobody tells a time.
        for flow in 0..flows(n).min(20) {
            let (size, micros) = (400 + 97 * (flow + n % 5), (seconds * 1e6) as u64 + 700 * flow);
            let micros = if n % 7 == 6 { 0 } else { micros };
            let mut packet = Packet { kind: Kind::Data, size: size as u32, ..Packet::default() };
            let before = if flow == 3 { 100 } else { 0 };
            packet.fields.set(granted, before);
            let mut interest_fields = packet.fields;
            interest_fields.set(told, micros as u32);
            let mut event = DataOut {
                packet: &mut packet,
                prefix: PrefixId(0),
                face: FaceId(3),
                interest_arrival: Time::from_nanos(bench.now),
                retransmitted: false,
                interest_fields: &interest_fields,
                from_cache: false,
                flows: 1,
            };
            bench.with(|meter, ctx| meter.on_data_out(&mut event, ctx));
            if micros > 0 {
                model.arrival(micros as f64 / 1e6, size as f64);
            }
            let expected = (model.rate * 8.0 / 1e3).min(if before == 0 { f64::MAX } else { f64::from(before) });
            let got = f64::from(packet.fields.get(granted));
            // kbit/s, whole ones.
            assert!((got - expected).abs() <= 1.0, "slot {n}: {got} instead of {expected} kbit/s");
        }
        offered += arrived;
        waiting = (waiting + arrived).saturating_sub(12_500);
        bench.now += slot;
        assert_eq!(bench.component.next_wake().nanos(), bench.now, "one change per slot");
        let view = face(rate, queue(waiting.div_ceil(1000) as u32, waiting, rate), offered * 8);
        bench.with(|meter, ctx| meter.on_period(&[view], &mut reports, ctx));
        model.timeout(0.01, arrived as f64, waiting as f64);
        rates.push(model.rate);
        rates.remove(0);
    }
    model.reached
}

#[test]
fn rcp_agrees_with_its_authors_queue_for_few_and_many_flows_and_none() {
    let flows = |n| [1, 8, 0, 3, 40, 2][n as usize / 400 % 6];
    let rtt = |n| [0.05, 0.02, 0.12][n as usize / 300 % 3];
    assert_eq!(link(flows, rtt, 4000), [true; 5]);
}

#[test]
fn rcp_agrees_with_its_authors_queue_on_round_trips_shorter_than_a_slot_and_at_the_least_rate() {
    let reached = link(|n| if n < 600 { 2 } else { 2000 }, |n| if n < 300 { 0.002 } else { 1.5 }, 3000);
    assert_eq!(reached, [true, true, true, false, true]);
}
