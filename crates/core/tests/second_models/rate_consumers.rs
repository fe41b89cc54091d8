//! The consumers of explicit rates beside what their sources' hosts do: RCP's agent for ns-2 (`rcp-host.cc`: an
//! interval of size over rate), QSCCP's (`ndn-consumer-qsccp.cpp`: 0.8 · old + 0.2 · new) and MIRCC's
//! (`mircc-consumer.cpp`: per path, primary Interests at its rate times the largest over the sum, secondary ones at its
//! secondary rate).

use crate::MS;
use crate::bench::Bench;
use ndnweir_core::consumer::{Consumer, DataEvent, Flight, SentEvent};
use ndnweir_core::fields::Field::{ExplicitRate, PathLabel, RoundTrip, SecondaryRate, ServiceClass};
use ndnweir_core::fields::Fields;
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Bytes, Duration, Time};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};

/// Sends an Interest and returns the gap until the next, in ns, and what it carried.
fn send(bench: &mut Bench<AnyConsumer>, flight: &mut Flight) -> (u64, Fields) {
    assert!(bench.component.may_send(flight));
    let segment = flight.next_segment;
    (flight.next_segment, flight.in_flight) = (segment + 1, flight.in_flight + 1);
    let (mut fields, flight) = (Fields::default(), *flight);
    bench.component.stamp(segment, &mut fields);
    bench.with(|consumer, ctx| consumer.on_sent(&SentEvent { segment, retransmission: false, flight }, ctx));
    (bench.component.pacing(&flight).map_or(0, Duration::nanos), fields)
}

fn receive(bench: &mut Bench<AnyConsumer>, flight: &mut Flight, segment: u64, sent: u64, size: u64, fields: &Fields) {
    let rtt = Duration::from_nanos(bench.now - sent);
    flight.srtt = rtt;
    let (size, sent, flight_now) = (Bytes::new(size), Time::from_nanos(sent), *flight);
    let event = DataEvent { segment, sent, rtt: Some(rtt), mark: 0, size, fields, flight: flight_now };
    bench.with(|consumer, ctx| consumer.on_data(&event, ctx));
    flight.in_flight -= 1;
}

/// Drives a consumer of one rate; `follow` is what a new rate, in bit/s, makes of the old one.
fn one_rate(name: &str, first: Option<f64>, follow: fn(f64, f64) -> f64) {
    let mut bench = Bench::new(AnyConsumer::build, name, &json!({}), &[ExplicitRate, RoundTrip, ServiceClass]);
    let (mut rate, mut size, mut flight) = (first, None::<f64>, Flight::default());
    let (mut returning, mut next_send) = (VecDeque::<(u64, u64, u64)>::new(), bench.now);
    let (mut due, mut exact) = (0.0_f64, 0);
    for n in 0..20_000_u64 {
        if let Some(&(at, segment, sent)) =
            returning.front().filter(|&&(at, ..)| at <= next_send || rate.is_none() && n > 0)
        {
            returning.pop_front();
            bench.now = at;
            // A rate comes with most Data; sizes differ and change.
            let kbps = if n % 9 == 5 { 0 } else { [8000, 300, 45_000, 2500][n as usize / 700 % 4] + n as u32 % 13 };
            let bytes = 600 + 211 * (n % 4) + n / 20;
            let fields = bench.fields(&[(ExplicitRate, kbps)]);
            receive(&mut bench, &mut flight, segment, sent, bytes, &fields);
            size = Some(size.map_or(bytes as f64, |size| size * 0.875 + bytes as f64 / 8.0));
            if kbps > 0 {
                let new = f64::from(kbps) * 1e3;
                rate = Some(rate.map_or(new, |rate| follow(rate, new)));
            }
            next_send = next_send.max(bench.now);
        } else {
            bench.now = next_send;
            let (gap, fields) = send(&mut bench, &mut flight);
            returning.push_back((bench.now + 30 * MS, flight.next_segment - 1, bench.now));
            // Before the first Data QSCCP's consumer takes 1250 B.
            if let (Some(rate), size) = (rate, size.unwrap_or(1250.0)) {
                // What leaves late is made up for, up to a millisecond (the component's, as timers are late).
                let now = bench.now as f64;
                let interval = 8.0 * size / rate * 1e9;
                due = due.max(now - 1e6).min(now) + interval;
                exact += u64::from(due - now > 0.999 * interval);
                let expected = (due - now).max(0.0);
                assert!((gap as f64 - expected).abs() <= 2.0 + 1e-6 * expected, "{n}: {gap} instead of {expected} ns");
                // Whole ns, which would add up.
                due = if gap > 0 { now + gap as f64 } else { due };
                if name == "rcp" {
                    let told = u64::from(fields.get(bench.slot(RoundTrip)));
                    assert_eq!(told, flight.srtt.nanos() / 1000);
                }
            }
            next_send = bench.now + gap;
        }
    }
    assert!(exact > 5000, "{exact} gaps of the whole interval");
}

#[test]
fn rcp_and_qsccp_consumers_agree_with_their_hosts_on_the_gap_after_every_interest() {
    one_rate("rcp", None, |_, new| new);
    one_rate("qsccp", Some(100e3), |old, new| 0.8 * old + 0.2 * new);
}

/// Interests per second by path and class over two paths whose rates change after 5 s, beside those of the source.
fn mircc(dual: bool) {
    let all = [PathLabel, ServiceClass, ExplicitRate, SecondaryRate];
    let mut bench = Bench::new(AnyConsumer::build, "mircc", &json!({ "dual": dual }), &all[..if dual { 4 } else { 3 }]);
    let (mut flight, mut returning, mut next_send) =
        (Flight::default(), VecDeque::<(u64, u64, u64, u32)>::new(), bench.now);
    // Primary and secondary rate of each path, in kbit/s.
    let rates = |now: u64| if now < 5000 * MS { [(4000, 1000), (2000, 3000)] } else { [(900, 2500), (5000, 400)] };
    let mut counts = BTreeMap::<(u32, u32), f64>::new();
    while bench.now < 10_000 * MS {
        let arrival = returning.front().map_or(u64::MAX, |&(at, ..)| at);
        if arrival <= next_send {
            let (_, segment, sent, path) = returning.pop_front().unwrap();
            bench.now = arrival;
            let (primary, secondary) = rates(bench.now)[path as usize];
            let mut values = vec![(PathLabel, 100 + path), (ExplicitRate, primary)];
            if dual {
                values.push((SecondaryRate, secondary));
            }
            let fields = bench.fields(&values);
            receive(&mut bench, &mut flight, segment, sent, 1087, &fields);
            // What is due sooner now is sent sooner.
            next_send = next_send.min(bench.now + bench.component.pacing(&flight).unwrap().nanos());
        } else {
            bench.now = next_send;
            let (gap, fields) = send(&mut bench, &mut flight);
            let path = fields.get(bench.slot(PathLabel)) % 2;
            let class = fields.get(bench.slot(ServiceClass));
            *counts.entry((path, class)).or_default() += 1.0;
            returning.push_back((bench.now + 25 * MS, flight.next_segment - 1, bench.now, path));
            next_send = bench.now + gap;
        }
        let second = bench.now / (1000 * MS);
        if bench.now - second * 1000 * MS < MS && second > 1 && counts.values().sum::<f64>() > 100.0 {
            // The first second finds the paths, and in the sixth rates change.
            if second > 2 && second != 6 {
                let [a, b] =
                    rates(bench.now - 500 * MS).map(|(primary, secondary)| (f64::from(primary), f64::from(secondary)));
                let (most, sum) = (a.0.max(b.0), a.0 + b.0);
                for (path, (primary, secondary)) in [a, b].into_iter().enumerate() {
                    for (class, kbps) in [(1, primary * most / sum), (2, if dual { secondary } else { 0.0 })] {
                        let (got, expected) =
                            (counts.get(&(path as u32, class)).copied().unwrap_or(0.0), kbps * 1e3 / 8.0 / 1087.0);
                        // Ten probes go to either path as primary Interests.
                        let probes = if class == 1 { 10.0 } else { 0.0 };
                        assert!(
                            got >= 0.99 * expected - 3.0 && got <= 1.01 * expected + 3.0 + probes,
                            "second {second}, path {path}, class {class}: {got} instead of {expected}"
                        );
                    }
                }
            }
            counts.clear();
        }
    }
}

#[test]
fn mircc_consumers_agree_with_the_third_partys_on_how_much_each_path_and_class_gets() {
    mircc(true);
    mircc(false);
}
