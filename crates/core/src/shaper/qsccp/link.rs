//! The classes and flows of one link: who is next, and who may have what rate.

use super::{MAX_FLOWS, Params};
use crate::ids::FlowId;
use crate::packet::Packet;
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Time};
use std::collections::{BTreeMap, VecDeque};

/// Of the priority classes CS7, CS6 and EF: the part of the link each may use.
const LIMITS: [f64; 3] = [0.2, 0.2, 0.3];
/// Of AF4, AF3, AF2, AF1 and BE.
const WEIGHTS: [f64; 5] = [5.0, 4.0, 3.0, 2.0, 1.0];
const TOTAL_WEIGHT: f64 = 15.0;
const CLASSES: usize = LIMITS.len() + WEIGHTS.len();
/// Tokens of a priority class, in bits.
const BUCKET: f64 = 160_000.0;
/// A weighted class that leaves less than this part of its share is busy; one that leaves more than the second is idle.
const BUSY: f64 = 0.2;
const IDLE: f64 = 0.95;
/// Of its rate, above which a flow takes part in what others leave.
const FAST: f64 = 0.8;
/// How far below its rate, in bit/s, a flow that others leave something to may be.
const MARGIN: f64 = 500_000.0;
/// How much faster than its rate a flow is greedy, and in how many periods more than not until it is penalised.
const GREEDY: f64 = 1.2;
const GREEDY_PERIODS: u32 = 5;
/// The weight of a penalised flow.
const PENALTY: f64 = 0.5;
/// Expected Data count as at most so many bits, and rounds are no more: any size is served in the end.
const MOST_BITS: f64 = 524_288.0;
const MOST_ROUNDS: usize = 4096;
/// Keys of queues that flows share.
const SHARED: u32 = 1 << 31;

/// A class of service, the most urgent first: CS7, CS6, EF, AF4, AF3, AF2, AF1, BE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub(super) struct Class(usize);

impl Class {
    /// The class of a header field, which is one more than its number, and whether an earlier node has penalised the
    /// flow, which adds 8. Without a field it is best effort.
    pub(super) fn of_field(value: u32) -> (Class, bool) {
        let number = value.checked_sub(1).unwrap_or(CLASSES as u32 - 1);
        (Class(number as usize % CLASSES), number as usize >= CLASSES)
    }

    /// What Interests of a penalised flow of this class carry on.
    pub(super) fn penalised_field(self) -> u32 {
        (self.0 + 1 + CLASSES) as u32
    }
}

/// An Interest whose turn it is.
#[derive(ndnweir_state::Value)]
pub(super) struct Turn {
    pub(super) packet: Packet,
    /// Expected of its Data.
    pub(super) bits: f64,
    pub(super) class: Class,
    pub(super) is_penalised: bool,
}

#[derive(ndnweir_state::Value)]
struct Flow {
    class: usize,
    queue: VecDeque<Packet>,
    size: SizeEstimate,
    /// What it may still request in this round, in bits.
    balance: f64,
    /// Requested in this period, in bits.
    bits: f64,
    /// In bit/s.
    rate: f64,
    /// Periods in which it was greedy, less those in which it was not.
    strikes: u32,
    /// Whether it is penalised here, and whether its last Interest says so for an earlier node.
    penalised: bool,
    told: bool,
}

impl Flow {
    fn is_penalised(&self) -> bool {
        self.penalised || self.told
    }

    fn weight(&self) -> f64 {
        if self.is_penalised() { PENALTY } else { 1.0 }
    }

    fn expected(&self) -> f64 {
        (8.0 * self.size.bytes()).min(MOST_BITS)
    }
}

#[derive(Default, ndnweir_state::Value)]
struct ClassState {
    /// Keys of its flows, in the order of their turns, and whose turn it is.
    flows: Vec<u32>,
    turn: usize,
    waiting: usize,
    /// Requested in this period, in bits.
    bits: f64,
    /// What its flows share, in bit/s.
    available: f64,
    /// Priority classes: in bits, and when they were counted.
    tokens: f64,
    counted: Time,
    /// Weighted classes: the next Interest with its place in virtual time, and that of the last while the class waits.
    head: Option<(f64, Turn)>,
    place: Option<f64>,
}

/// A link of known rate.
#[derive(ndnweir_state::Value)]
pub(super) struct Link {
    capacity: f64,
    flows: BTreeMap<u32, Flow>,
    classes: Box<[ClassState; CLASSES]>,
    /// Virtual time: the place of the Interest of a weighted class that left last.
    place: f64,
}

impl Link {
    pub(super) fn new(capacity: f64) -> Link {
        let mut link = Link { capacity, flows: BTreeMap::new(), classes: Box::default(), place: 0.0 };
        for (class, weight) in link.classes[LIMITS.len()..].iter_mut().zip(WEIGHTS) {
            class.available = capacity * weight / TOTAL_WEIGHT;
        }
        link.set_capacity(capacity);
        link
    }

    /// In bit/s.
    pub(super) fn capacity(&self) -> f64 {
        self.capacity
    }

    /// The weighted classes' parts follow at the next change of rates.
    pub(super) fn set_capacity(&mut self, capacity: f64) {
        self.capacity = capacity;
        for (class, limit) in self.classes.iter_mut().zip(LIMITS) {
            class.available = capacity * limit;
        }
    }

    pub(super) fn held(&self) -> u32 {
        self.classes.iter().map(|class| class.waiting + usize::from(class.head.is_some())).sum::<usize>() as u32
    }

    /// The key of a flow's queue.
    fn key(&self, flow: FlowId) -> u32 {
        let is_own = self.flows.contains_key(&flow.0) || self.flows.len() < MAX_FLOWS;
        if is_own { flow.0 } else { SHARED | (flow.0 % MAX_FLOWS as u32) }
    }

    /// A flow's rate in bit/s, if it is known.
    pub(super) fn rate(&self, flow: FlowId) -> Option<f64> {
        let shared = SHARED | (flow.0 % MAX_FLOWS as u32);
        self.flows.get(&flow.0).or_else(|| self.flows.get(&shared)).map(|flow| flow.rate)
    }

    pub(super) fn rates(&self) -> impl Iterator<Item = (u32, f64)> {
        self.flows.iter().map(|(key, flow)| (*key, flow.rate))
    }

    /// A Data of the flow has this size.
    pub(super) fn sample(&mut self, flow: FlowId, size: Bytes) {
        let key = self.key(flow);
        if let Some(flow) = self.flows.get_mut(&key) {
            flow.size.sample(size);
        }
    }

    /// Takes an Interest into the queue of its flow, if there is a place.
    pub(super) fn offer(&mut self, params: &Params, packet: &Packet, class: Class, penalised: bool, now: Time) -> bool {
        let key = self.key(packet.name.flow);
        if !self.flows.contains_key(&key) {
            self.enter(key, class.0, params);
        }
        let Some(flow) = self.flows.get_mut(&key) else { return false };
        let state = &mut self.classes[flow.class];
        let bits = flow.expected();
        flow.bits += bits;
        state.bits += bits;
        let is_full = flow.class >= LIMITS.len() && state.waiting >= params.class_queue as usize;
        if is_full || flow.queue.len() >= params.queue as usize {
            return false;
        }
        flow.told = penalised;
        if let Some(limit) = LIMITS.get(flow.class) {
            // Tokens accrue from the first Interest on.
            if state.counted == Time::ZERO {
                state.counted = now;
            }
            accrue(state, limit * self.capacity, now);
        }
        flow.queue.push_back(*packet);
        state.waiting += 1;
        true
    }

    /// A new flow: all of its class share alike until rates change.
    fn enter(&mut self, key: u32, class: usize, params: &Params) {
        let size = SizeEstimate::new(params.data_size);
        let queue = VecDeque::new();
        let (balance, bits, rate) = (0.0, 0.0, 0.0);
        let fresh = Flow { class, queue, size, balance, bits, rate, strikes: 0, penalised: false, told: false };
        self.flows.insert(key, fresh);
        let state = &mut self.classes[class];
        state.flows.push(key);
        let share = state.available / state.flows.len() as f64;
        for key in &state.flows {
            if let Some(flow) = self.flows.get_mut(key) {
                flow.rate = share * flow.weight();
            }
        }
    }

    /// The Interest whose turn it is; none if nothing waits, or all that waits lacks tokens.
    pub(super) fn next(&mut self, params: &Params, now: Time) -> Option<Turn> {
        for (class, limit) in LIMITS.into_iter().enumerate() {
            accrue(&mut self.classes[class], limit * self.capacity, now);
            let tokens = self.classes[class].tokens;
            if let Some(turn) = self.take(class, params, tokens) {
                self.classes[class].tokens -= turn.bits;
                return Some(turn);
            }
        }
        let mut first: Option<(f64, usize)> = None;
        for (class, weight) in (LIMITS.len()..).zip(WEIGHTS) {
            if self.classes[class].head.is_none()
                && let Some(turn) = self.take(class, params, f64::INFINITY)
            {
                let state = &mut self.classes[class];
                let place = state.place.unwrap_or(self.place) + turn.bits / weight;
                state.place = (state.waiting > 0).then_some(place);
                state.head = Some((place, turn));
            }
            if let Some((place, _)) = &self.classes[class].head
                && first.is_none_or(|(least, _)| *place < least)
            {
                first = Some((*place, class));
            }
        }
        let (place, class) = first?;
        self.place = place;
        self.classes[class].head.take().map(|(_, turn)| turn)
    }

    /// Deficit round robin over the flows of a class; none if nothing waits or the Data expected exceed `tokens`.
    fn take(&mut self, class: usize, params: &Params, tokens: f64) -> Option<Turn> {
        let state = &mut self.classes[class];
        if state.waiting == 0 {
            return None;
        }
        for _ in 0..MOST_ROUNDS {
            if state.turn >= state.flows.len() {
                state.turn = 0;
                for key in &state.flows {
                    let Some(flow) = self.flows.get_mut(key) else { continue };
                    flow.balance += flow.weight() * params.quantum.bits() as f64;
                }
            }
            while let Some(key) = state.flows.get(state.turn) {
                let flow = self.flows.get_mut(key)?;
                let bits = flow.expected();
                if flow.queue.is_empty() {
                    flow.balance = 0.0;
                } else if bits < flow.balance {
                    if bits >= tokens {
                        return None;
                    }
                    let packet = flow.queue.pop_front()?;
                    flow.balance -= bits;
                    state.waiting -= 1;
                    return Some(Turn { packet, bits, class: Class(class), is_penalised: flow.is_penalised() });
                }
                state.turn += 1;
            }
        }
        None
    }

    /// New rates; `back`: the rate of Interests that came from the face, in bit/s.
    pub(super) fn update(&mut self, params: &Params, back: f64) {
        let period = params.period.secs();
        let demands: [f64; CLASSES] = std::array::from_fn(|class| self.classes[class].bits / period);
        let priority: f64 = demands[..LIMITS.len()].iter().sum();
        self.share(&demands[LIMITS.len()..], (self.capacity - back - priority).max(0.0));
        for class in 0..CLASSES {
            self.update_class(class, params, period);
            self.classes[class].bits = 0.0;
        }
    }

    /// Parts of `left` for the weighted classes: what some leave goes to the busy ones, or else to those not idle.
    fn share(&mut self, demands: &[f64], left: f64) {
        let spare = |class: usize| {
            let own = left * WEIGHTS[class] / TOTAL_WEIGHT;
            if own > demands[class] { (own - demands[class]) / own } else { 0.0 }
        };
        let weight_of = |limit: f64| (0..WEIGHTS.len()).filter(|&c| spare(c) < limit).map(|c| WEIGHTS[c]).sum::<f64>();
        let used =
            |class: usize| if spare(class) < BUSY { left * WEIGHTS[class] / TOTAL_WEIGHT } else { demands[class] };
        let rest = left - (0..WEIGHTS.len()).map(used).sum::<f64>();
        let limit = if weight_of(BUSY) > 0.0 { BUSY } else { IDLE };
        let taking = weight_of(limit);
        for (class, weight) in WEIGHTS.into_iter().enumerate() {
            let own = left * weight / TOTAL_WEIGHT;
            let more = if spare(class) < limit { weight * rest / taking } else { 0.0 };
            self.classes[LIMITS.len() + class].available = own + more;
        }
    }

    /// The rates of one class' flows.
    fn update_class(&mut self, class: usize, params: &Params, period: f64) {
        let state = &mut self.classes[class];
        let flows = &mut self.flows;
        state.flows.retain(|key| {
            let stays = flows.get(key).is_some_and(|flow| flow.bits > 0.0 || !flow.queue.is_empty());
            if !stays {
                flows.remove(key);
            }
            stays
        });
        let of_class: Vec<u32> = state.flows.clone();
        let available = state.available;
        let total: f64 = of_class.iter().filter_map(|key| flows.get(key)).map(Flow::weight).sum();
        let (mut used, mut fast) = (0.0, 0.0);
        let mut demands = Vec::with_capacity(of_class.len());
        for key in &of_class {
            let Some(flow) = flows.get_mut(key) else { continue };
            flow.rate = available * flow.weight() / total;
            let demand = flow.bits / period;
            if demand > flow.rate - MARGIN {
                fast += if flow.is_penalised() { 0.0 } else { 1.0 };
                used += flow.rate;
            } else {
                used += demand;
            }
            demands.push((demand, demand / flow.rate.max(1.0)));
            flow.bits = 0.0;
        }
        let rest = available - used;
        for (key, (demand, ratio)) in of_class.iter().zip(demands) {
            let Some(flow) = flows.get_mut(key) else { continue };
            if rest > 0.0 && fast > 0.0 && !flow.is_penalised() && ratio > FAST {
                flow.rate += rest / fast;
            }
            if demand / flow.rate.max(1.0) > GREEDY {
                flow.strikes = (flow.strikes + 1).min(GREEDY_PERIODS);
                flow.penalised |= flow.strikes == GREEDY_PERIODS;
            } else {
                flow.strikes = flow.strikes.saturating_sub(1);
            }
            if !flow.is_penalised() {
                flow.rate *= discount(flow.queue.len() as f64 / f64::from(params.queue));
            }
        }
    }
}

/// σ: what a flow keeps of its rate while so much of its queue is filled.
pub(super) fn discount(filled: f64) -> f64 {
    (std::f64::consts::FRAC_PI_2 - libm::atan(8.0 * filled - 4.0)) / 3.0 + 0.034
}

fn accrue(state: &mut ClassState, rate: f64, now: Time) {
    if state.counted > Time::ZERO {
        state.tokens = (state.tokens + rate * now.since(state.counted).secs()).min(BUCKET);
        state.counted = now;
    }
}
