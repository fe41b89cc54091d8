//! DPCCP's consumer and marker as third parties have them: `dpccp.cpp` for ndnSIM, and
//! zzhang154/ndnSIM-2.9-raw@228240f83 (`checkDpccpQueueMark`); with the interval after each measurement and what a mark
//! does as the component's page says. Both beside the components, on one path.

use crate::bench::{Bench, queue};
use crate::{MS, near, uneven};
use ndnweir_core::consumer::{Consumer, DataEvent, Flight, SentEvent};
use ndnweir_core::fields::Field::PathLabel;
use ndnweir_core::fields::Fields;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{EnqueueEvent, Marker, Verdict};
use ndnweir_core::registry::{AnyConsumer, AnyMarker};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use serde_json::json;
use std::collections::VecDeque;

const BETA: f64 = 0.05;
const PSI: f64 = 3.0;
const ALPHA: f64 = 20.0;
const ETA: f64 = 30.0;

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Filling(u32),
    Convergence(u32),
    Draining,
}

/// Times in ns, rates in packets per second.
struct DpccpModel {
    state: State,
    rate: f64,
    frequency: f64,
    interval: f64,
    due: f64,
    least: f64,
    rho: f64,
    backlogs: [f64; 3],
    measured: f64,
    rtts: Vec<f64>,
    marked: bool,
    reached: Vec<&'static str>,
}

impl DpccpModel {
    fn new(now: f64) -> DpccpModel {
        let mut model = DpccpModel {
            state: State::Filling(0),
            rate: 100.0,
            frequency: 100.0,
            interval: 60e6,
            due: now,
            least: f64::INFINITY,
            rho: 1.0,
            backlogs: [0.0; 3],
            measured: now,
            rtts: Vec::new(),
            marked: false,
            reached: Vec::new(),
        };
        model.fill(now);
        model
    }

    fn note(&mut self, what: &'static str) {
        if !self.reached.contains(&what) {
            self.reached.push(what);
        }
    }

    fn fill(&mut self, now: f64) {
        self.state = State::Filling(0);
        self.frequency = (1.0 + BETA) * self.rate;
        self.due = now + self.interval;
    }

    /// The backlog and the rate at which Data came.
    fn measure(&mut self, now: f64) -> (f64, f64) {
        let (count, sum) = (self.rtts.len() as f64, self.rtts.iter().sum::<f64>());
        let longest = self.rtts.iter().fold(0.0_f64, |most, &rtt| most.max(rtt));
        let received = count / (now - self.measured) * 1e9;
        let mean = if count > 0.0 { sum / count - self.least } else { 0.0 };
        if count > 0.0 {
            self.interval = longest.clamp(1e6, 200e6);
        }
        self.measured = now;
        self.rtts.clear();
        (received * mean / 1e9, received)
    }

    fn converge(&mut self, now: f64) {
        let last = self.backlogs[2];
        self.rate += if last < ALPHA {
            self.rho
        } else if last > ALPHA {
            -self.rho
        } else {
            0.0
        };
        self.frequency = self.rate;
        self.state = State::Convergence(0);
        self.due = now + self.interval;
    }

    fn end_of_interval(&mut self, now: f64) {
        match self.state {
            State::Filling(n @ 0..2) => {
                self.frequency = [1.0, 1.0 - BETA][n as usize] * self.rate;
                (self.state, self.due) = (State::Filling(n + 1), now + self.interval);
            }
            State::Filling(_) => {
                let (backlog, received) = self.measure(now);
                let marked = std::mem::take(&mut self.marked);
                if received == 0.0 {
                    // There the rate grows; here a measurement without a round trip leaves it, as the page says.
                    self.note("nothing came");
                    self.fill(now);
                } else if backlog <= PSI && !marked {
                    self.note("filling");
                    self.rate *= 1.0 + BETA;
                    self.fill(now);
                } else {
                    self.note(if backlog <= PSI { "ended by a mark" } else { "full" });
                    (self.rate, self.rho, self.backlogs) = (received, 1.0, [backlog; 3]);
                    self.converge(now);
                }
            }
            State::Convergence(n) => {
                self.backlogs[n as usize] = self.measure(now).0;
                if n < 2 {
                    (self.state, self.due) = (State::Convergence(n + 1), now + self.interval);
                    return;
                }
                self.marked = false;
                let [first, second, last] = self.backlogs;
                if last <= PSI {
                    self.note("empty again");
                    self.fill(now);
                } else if last > ETA {
                    self.note("draining");
                    (self.state, self.frequency) = (State::Draining, 2.0);
                    self.due = now + self.interval / 2.0;
                } else {
                    let change = ((last - first) / 3.0).abs();
                    if change < 1.0 {
                        self.rho += 1.0;
                        self.note("larger steps");
                    }
                    if change > 1.0 {
                        self.rho = (self.rho - 1.0).max(1.0);
                        self.note("smaller steps");
                    }
                    if (last - ALPHA) * (ALPHA - second) >= 0.0 {
                        self.rho = 1.0;
                        self.note("crossed");
                    }
                    self.converge(now);
                }
            }
            State::Draining => {
                if self.measure(now).0 != 0.0 {
                    self.due = now + self.interval / 2.0;
                } else {
                    self.note("drained");
                    self.marked = false;
                    self.rate *= 0.8;
                    self.fill(now);
                }
            }
        }
    }
}

/// Drives both over a queue; what the model reached.
fn drive(service: fn(u64) -> u64, base: fn(u64) -> u64, marks: fn(u64) -> bool, seconds: u64) -> Vec<&'static str> {
    let mut bench = Bench::new(AnyConsumer::build, "dpccp", &json!({}), &[PathLabel]);
    // Interests and Data without labels: one path.
    let told = Fields::default();
    let mut model: Option<DpccpModel> = None;
    let (mut flight, mut busy, mut next_send) = (Flight::default(), 0_u64, bench.now);
    let mut returning = VecDeque::<(u64, u64, bool)>::new();
    while bench.now < seconds * 1000 * MS {
        let arrival = returning.front().map_or(u64::MAX, |&(at, ..)| at);
        let wake = bench.component.next_wake().nanos();
        let first = arrival.min(wake).min(next_send);
        bench.now = bench.now.max(first);
        let now = bench.now;
        if first == wake {
            bench.with(|consumer, ctx| consumer.on_wake(ctx));
            if let Some(model) = &mut model {
                assert!((model.due - now as f64).abs() <= 2.0, "woken at {now}, not at {} ns", model.due);
                model.end_of_interval(now as f64);
            }
        } else if first == arrival {
            let (_, sent, mark) = returning.pop_front().unwrap();
            let (rtt, size, segment) = (Duration::from_nanos(now - sent), Bytes::new(1250), flight.next_segment);
            let sent = Time::from_nanos(sent);
            flight.srtt = rtt;
            let mark = u8::from(mark);
            let event = DataEvent { segment, sent, rtt: Some(rtt), mark, size, fields: &told, flight };
            bench.with(|consumer, ctx| consumer.on_data(&event, ctx));
            flight.in_flight -= 1;
            let model = model.as_mut().unwrap();
            model.rtts.push(rtt.nanos() as f64);
            model.least = model.least.min(rtt.nanos() as f64);
            model.marked |= mark > 0;
        } else {
            model.get_or_insert_with(|| DpccpModel::new(now as f64));
            flight.in_flight += 1;
            flight.next_segment += 1;
            let segment = flight.next_segment - 1;
            let mut fields = told;
            bench.component.stamp(segment, &mut fields);
            bench.with(|consumer, ctx| consumer.on_sent(&SentEvent { segment, retransmission: false, flight }, ctx));
            let mark = marks(busy.saturating_sub(now));
            busy = now.max(busy) + service(now);
            let at = (busy + base(now)).max(returning.back().map_or(0, |&(at, ..)| at + 1));
            returning.push_back((at, now, mark));
        }
        // The gap is that of now, counted from the last Interest.
        if first == next_send {
            next_send = now + bench.component.pacing(&flight).unwrap().nanos();
        }
        if let Some(model) = &model {
            let rate = 1e9 / bench.component.pacing(&flight).unwrap().nanos() as f64;
            let expected = model.frequency;
            assert!(near(rate, expected, 1e-4), "{:?} at {now} ns: {rate} instead of {expected}/s", model.state);
        }
    }
    model.unwrap().reached
}

#[test]
fn dpccp_consumers_agree_with_the_third_partys_code_in_filling_convergence_and_draining() {
    let mut reached = drive(|now| uneven(5 * MS, now), |_| 30 * MS, |_| false, 60);
    // The rate of the link falls to a third and rises again.
    let service = |now: u64| uneven(if (now / (9000 * MS)).is_multiple_of(2) { 4 * MS } else { 12 * MS }, now);
    reached.extend(drive(service, |_| 45 * MS, |_| false, 60));
    reached.extend(drive(|now| uneven(5 * MS, now), |_| 30 * MS, |waited| waited > 8 * MS, 40));
    for case in [
        "filling",
        "full",
        "ended by a mark",
        "larger steps",
        "smaller steps",
        "crossed",
        "empty again",
        "draining",
        "drained",
        "nothing came",
    ] {
        assert!(reached.contains(&case), "{case} in {reached:?}");
    }
}

#[test]
fn dpccp_routers_agree_with_the_third_partys_code_on_which_packets_they_mark() {
    let mut bench = Bench::new(AnyMarker::build, "dpccp", &json!({}), &[]);
    let (mut next, mut marked, mut packets) = (None::<u64>, 0, 3_u32);
    for n in 0..20_000_u64 {
        bench.now += 1 + bench.dice.below(if n / 500 % 2 == 0 { 2 * MS } else { 8 * MS });
        // A queue of 0 to 6 packets, empty now and then for a packet.
        packets = (packets + bench.dice.below(3) as u32).saturating_sub(1).min(6);
        let expected = if packets == 0 {
            next = None;
            false
        } else {
            let since = *next.get_or_insert(bench.now + 12 * MS);
            bench.now >= since
        };
        let packet = Packet { kind: Kind::Data, size: 1250, ..Packet::default() };
        let waiting = queue(packets, u64::from(packets) * 1250, Rate::from_mbps(10.0));
        let event = EnqueueEvent { packet: &packet, queue: waiting };
        let verdict = bench.with(|marker, ctx| marker.on_enqueue(&event, ctx));
        assert_eq!(verdict, if expected { Verdict::Mark(1) } else { Verdict::Pass }, "packet {n}");
        marked += u64::from(expected);
    }
    assert!((1000..19_000).contains(&marked), "{marked}");
}
