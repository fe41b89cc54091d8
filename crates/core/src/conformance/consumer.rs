//! Consumers: random operations, what is visible of a consumer after each, and the invariants.

use super::Broken;
use crate::component::Env;
use crate::consumer::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent};
use crate::ctx::{Ctx, Rng, Trace};
use crate::error::SchemeError;
use crate::fields::{Field, FieldLayout, Fields, Slot};
use crate::packet::NackReason;
use crate::registry::AnyConsumer;
use crate::units::{Bytes, Duration, Time};
use serde_json::Value;
use std::collections::BTreeMap;

/// One thing that happens to a fetch.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Time passes.
    Wait(Duration),
    /// As many Interests go out as the window allows, at most this many.
    Send(u32),
    /// A segment arrives.
    Data {
        /// Its CongestionMark.
        mark: u8,
        /// The round trip that it measures.
        rtt: Option<Duration>,
        /// How many segments are passed over.
        skip: u64,
    },
    /// An Interest fails.
    Fail(Congestion),
    /// Claims that this many Interests are in flight.
    InFlight(u32),
    /// The consumer is woken, requested or not.
    Wake,
}

/// Consumers that keep a rate have no window; the driver of a fetch bounds what it follows as well.
const MOST_IN_FLIGHT: u32 = 1024;

/// What can be seen of a consumer from outside, as bits so that equal means equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    window: u64,
    decreases: u64,
    pacing: Option<Duration>,
    timeout: Option<Duration>,
    wake: Time,
    nack: bool,
    /// The gate at in-flight counts around the window.
    gate: [bool; 5],
    stamped: Fields,
}

/// A consumer with the part of a fetcher that feeds it.
pub struct Bench {
    /// The consumer.
    pub consumer: AnyConsumer,
    /// The time.
    pub now: Time,
    rng: Rng,
    trace: Trace,
    flight: Flight,
    segment: u64,
    /// When each Interest left that has not been answered.
    sent: BTreeMap<u64, Time>,
    /// What every third Data and all failures carry in the fields the consumer declares.
    told: Fields,
    /// Where Data tell of a link.
    link_state: Option<Slot>,
    /// What the last Interest carried.
    stamped: Fields,
}

impl Bench {
    /// The registered consumer in a run that carries every header field it declares.
    ///
    /// # Errors
    /// If there is none of that name, or the parameters do not fit.
    pub fn new(name: &str, params: &Value) -> Result<Bench, SchemeError> {
        let mut layout = FieldLayout::new();
        let declared = AnyConsumer::ALL.iter().find(|info| info.name == name).map_or(&[][..], |info| info.fields);
        let mut told = Fields::default();
        for slot in declared.iter().filter_map(|&field| layout.slot(field)) {
            told.set(slot, 300);
        }
        let consumer = AnyConsumer::build(name, params, &mut Env { layout: &mut layout })?;
        Ok(Bench { told, link_state: layout.find(Field::LinkState), ..Bench::of(consumer) })
    }

    /// A consumer that uses no header fields.
    pub fn of(consumer: AnyConsumer) -> Bench {
        Bench {
            consumer,
            now: Time::ZERO,
            rng: Rng::derive(3, &[]),
            trace: Trace::new(true),
            flight: Flight::default(),
            segment: 0,
            sent: BTreeMap::new(),
            told: Fields::default(),
            link_state: None,
            stamped: Fields::default(),
        }
    }

    /// [`Bench::told`], with a link that tells its rate, 8 Mbit/s, and its delay, 4 to 11 ms, in turn.
    fn told_by(&self, segment: u64) -> Fields {
        let mut told = self.told;
        if let Some(slot) = self.link_state {
            let (delay, rate) = (4_000 + 1_000 * (segment / 240 % 8), 1 << 23 | 31_250 << 8 | 5);
            told.set(slot, 3 << 24 | if (segment / 3).is_multiple_of(2) { rate } else { delay as u32 });
        }
        told
    }

    /// What can be seen now.
    pub fn seen(&self) -> Seen {
        let window = self.consumer.window();
        let whole = window as u32;
        let gate = [whole.saturating_sub(1), whole, whole.saturating_add(1), 0, u32::MAX];
        Seen {
            window: window.to_bits(),
            decreases: self.consumer.decreases(),
            pacing: self.consumer.pacing(&self.flight),
            timeout: self.consumer.retransmission_timeout(),
            wake: self.consumer.next_wake(),
            nack: self.consumer.retransmits_on_nack(),
            stamped: self.stamped,
            gate: gate.map(|in_flight| self.consumer.may_send(&Flight { in_flight, ..self.flight })),
        }
    }

    /// Lets something happen.
    pub fn apply(&mut self, op: Op) {
        let told = self.told_by(self.segment);
        let now = self.now;
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        match op {
            Op::Wait(duration) => self.now = (self.now + duration).min(Time::from_nanos(u64::MAX / 2)),
            Op::Send(most) => {
                for _ in 0..most {
                    if !self.consumer.may_send(&self.flight) || self.flight.in_flight >= MOST_IN_FLIGHT {
                        break;
                    }
                    self.flight.in_flight += 1;
                    let segment = self.flight.next_segment;
                    self.flight.next_segment += 1;
                    self.sent.insert(segment, self.now);
                    self.stamped = Fields::default();
                    // Objects of 300 segments, of which each fifth Interest knows nothing.
                    self.consumer.on_rest((!segment.is_multiple_of(5)).then_some(299 - segment % 300));
                    self.consumer.stamp(segment, &mut self.stamped);
                    self.consumer.on_sent(&SentEvent { segment, retransmission: false, flight: self.flight }, &mut ctx);
                }
            }
            Op::Data { mark, rtt, skip } => {
                self.segment = (self.segment + skip).min(self.flight.next_segment);
                let segment = self.segment;
                self.segment += 1;
                self.flight.next_segment = self.flight.next_segment.max(self.segment);
                self.flight.highest_received = Some(self.flight.highest_received.unwrap_or(0).max(segment));
                if let Some(rtt) = rtt {
                    self.flight.srtt = rtt;
                }
                let size = Bytes::new(1066);
                let fields = if segment.is_multiple_of(3) { told } else { Fields::default() };
                let flight = self.flight;
                let sent = self.sent.remove(&segment).unwrap_or(now - rtt.unwrap_or_default());
                self.consumer.on_data(&DataEvent { segment, sent, rtt, mark, size, fields: &fields, flight }, &mut ctx);
                self.flight.in_flight = self.flight.in_flight.saturating_sub(1);
            }
            Op::Fail(kind) => {
                let (segment, flight, sent, fields) = (self.segment, self.flight, now, told);
                self.consumer
                    .on_congestion(&CongestionEvent { kind, segment, sent, fields: &fields, flight }, &mut ctx);
                self.flight.in_flight = self.flight.in_flight.saturating_sub(1);
            }
            Op::InFlight(in_flight) => self.flight.in_flight = in_flight,
            Op::Wake => self.consumer.on_wake(&mut ctx),
        }
    }

    /// Applies `ops` and returns what was seen after each.
    pub fn run(&mut self, ops: &[Op]) -> Vec<Seen> {
        ops.iter()
            .map(|&op| {
                self.apply(op);
                self.seen()
            })
            .collect()
    }

    /// The invariants of every consumer.
    ///
    /// # Errors
    /// The first that is broken.
    pub fn check(&mut self) -> Result<(), Broken> {
        let window = self.consumer.window();
        if !(1.0..=MAX_WINDOW).contains(&window) {
            return Err(Broken::Window(window));
        }
        for event in self.trace.drain() {
            if event.at > self.now || !event.value.is_finite() {
                return Err(Broken::Record { key: event.key, value: event.value });
            }
        }
        let idle = Flight { in_flight: 0, ..self.flight };
        if !self.consumer.may_send(&idle) {
            return Err(Broken::Deadlock);
        }
        let silent = self.stamped == Fields::default() && self.consumer.pacing(&self.flight).is_none();
        if !self.consumer.watches_sending() && !silent {
            return Err(Broken::Rule("who does not watch sending writes no field and has no pace"));
        }
        if !self.consumer.may_have_timeout() && self.consumer.retransmission_timeout().is_some() {
            return Err(Broken::Rule("AnyConsumer::may_have_timeout lacks a consumer that has one"));
        }
        Ok(())
    }
}

/// A workload that visits packet pairs (Data that arrive together, then 1 ms apart), packet trains, slow start, long
/// growth at changing round-trip times, marks alone and in rows, cuts at falling and rising windows, timeouts, losses,
/// NACKs of every kind, reordering, and idle time.
pub fn standard_workload() -> Vec<Op> {
    let ms = Duration::from_millis;
    let mut ops = Vec::new();
    let data = |ops: &mut Vec<Op>, count: u32, gap: Duration, rtt: Duration| {
        for i in 0..count {
            ops.push(Op::Send(64));
            ops.push(Op::Wait(gap));
            let rtt = (i % 7 != 6).then_some(rtt + gap * u64::from(i % 5));
            ops.push(Op::Data { mark: 0, rtt, skip: u64::from(i % 11 == 10) });
        }
    };
    let mark = |ops: &mut Vec<Op>, count: u32| {
        for _ in 0..count {
            ops.push(Op::Data { mark: 1, rtt: Some(ms(80)), skip: 0 });
        }
    };
    for (segments, gap) in [(2, ms(0)), (4, ms(0)), (6, ms(1))] {
        ops.extend([Op::Send(64), Op::Wait(ms(40) - gap)]);
        for _ in 0..segments {
            ops.extend([Op::Wait(gap), Op::Data { mark: 0, rtt: Some(ms(40)), skip: 0 }]);
        }
    }
    // A whole train with distances below and above that of the bottleneck.
    ops.push(Op::Send(64));
    for micros in [1000, 1000, 1000, 200, 3000].into_iter().cycle().take(60) {
        ops.extend([Op::Wait(Duration::from_micros(micros)), Op::Data { mark: 0, rtt: Some(ms(40)), skip: 0 }]);
    }
    data(&mut ops, 5, ms(1), ms(40));
    mark(&mut ops, 1);
    data(&mut ops, 60, ms(1), ms(40));
    for (round, marks) in [1, 1, 3, 1, 2, 1, 1, 4].into_iter().enumerate() {
        mark(&mut ops, marks);
        data(&mut ops, 150 + 250 * (round as u32 % 3), ms(2), ms(50 + 10 * round as u64));
        // A train's distances, some below the bottleneck's, before the first failure.
        for _ in 0..13 {
            data(&mut ops, 9, ms(2), ms(50));
            data(&mut ops, 1, ms(0), ms(50));
        }
        ops.push(Op::Fail(Congestion::Timeout));
        ops.push(Op::Fail(Congestion::Timeout));
        data(&mut ops, 90, ms(3), ms(70));
        ops.push(Op::Fail(Congestion::Loss));
        data(&mut ops, 40, ms(3), ms(70));
        for reason in [NackReason::Congestion, NackReason::Duplicate, NackReason::NoRoute] {
            for marked in [false, true] {
                ops.push(Op::Fail(Congestion::Nack { reason, marked }));
                data(&mut ops, 60, ms(3), ms(70));
            }
        }
        ops.push(Op::Wake);
    }
    ops.push(Op::Wait(Duration::from_millis(30_000)));
    data(&mut ops, 100, ms(1), ms(40));
    // A burst of NACKs takes a rate to its floor.
    ops.extend([Op::Fail(Congestion::Nack { reason: NackReason::Congestion, marked: false }); 20]);
    data(&mut ops, 200, ms(1), ms(40));
    // More is lost than arrives, for several round trips.
    ops.extend([[Op::Wait(ms(2)), Op::Fail(Congestion::Loss)]; 100].into_iter().flatten());
    data(&mut ops, 20, ms(1), ms(40));
    // A loss without a queue.
    ops.push(Op::Fail(Congestion::Loss));
    data(&mut ops, 20, ms(1), ms(40));
    // A short path, with one mark for long.
    data(&mut ops, 600, ms(1), ms(1));
    mark(&mut ops, 1);
    data(&mut ops, 600, ms(1), ms(1));
    ops
}

/// `count` random operations, with absurd ones among them.
pub fn random_ops(seed: u64, count: usize) -> Vec<Op> {
    let mut rng = Rng::derive(seed, &[0xC0]);
    let duration = |rng: &mut Rng| match rng.below(20) {
        0 => Duration::ZERO,
        1 => Duration::from_millis(10 * 24 * 3_600_000),
        2 => Duration::MAX,
        _ => Duration::from_nanos(rng.below(200_000_000)),
    };
    (0..count)
        .map(|_| match rng.below(40) {
            0..8 => Op::Wait(match rng.below(50) {
                0 => Duration::from_millis(10 * 24 * 3_600_000),
                _ => Duration::from_nanos(rng.below(50_000_000)),
            }),
            8..14 => Op::Send(rng.below(100) as u32),
            14..30 => Op::Data {
                mark: if rng.below(12) == 0 { rng.below(256) as u8 } else { 0 },
                rtt: (rng.below(8) > 0).then(|| duration(&mut rng)),
                skip: if rng.below(10) == 0 { rng.below(100) } else { 0 },
            },
            30..32 => Op::Fail(Congestion::Timeout),
            32 => Op::Fail(Congestion::Loss),
            33..36 => Op::Fail(Congestion::Nack {
                reason: [NackReason::Congestion, NackReason::Duplicate, NackReason::NoRoute][rng.below(3) as usize],
                marked: rng.below(2) == 0,
            }),
            36..38 => Op::Wake,
            38 => Op::InFlight(u32::MAX >> rng.below(32)),
            _ => Op::InFlight(0),
        })
        .collect()
}
