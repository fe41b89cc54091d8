//! The control channel: reports of nodes reach the planner, and its orders reach the nodes, after a delay; and the
//! planner's failure, return and stand-by.

use super::Engine;
use crate::network::{self, Network};
use crate::observer::NodeId;
use crate::outcome::ControlCounters;
use crate::schedule::{Due, EventRank, Schedule};
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::Report;
use ndnweir_core::planner::{Message, Order, Planner, RouterId};
use ndnweir_core::registry::AnyPlanner;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_state::{Damaged, Reader, State, Value, Writer, save_perhaps};
use std::collections::VecDeque;

/// Labels of the planners' random streams (see [`Rng::derive`]); the first planner's has this label only.
const STREAM: u64 = 0x706c_616e;
/// Label of the random stream of losses.
const LOSSES: u64 = 0x6c6f_7373;

/// The election of the planner that is there from the start, and of the one that stands by.
const ELECTIONS: [u64; 2] = [1, 2];

/// A place for a planner.
struct Seat {
    planner: Option<AnyPlanner>,
    rng: Rng,
}

/// Events of the planners.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
enum Handover {
    /// The first one loses its state.
    Fails,
    /// A new one takes this seat; the nodes are informed after the channel's delay.
    Takes(usize),
    /// The nodes learn that this seat is taken, and report everything to it.
    Announce(usize),
}

/// The planners and the messages in transit to and from them. As every message has the same delay, they arrive in
/// order.
pub(super) struct PlannerHost {
    pub(super) source: u32,
    on: bool,
    settings: network::Control,
    scheme: Scheme,
    layout: FieldLayout,
    seats: [Seat; 2],
    handovers: Vec<(Time, Handover)>,
    /// With their seat; none is for the planner in charge.
    messages: VecDeque<(Time, Option<usize>, Message)>,
    orders: VecDeque<(Time, Order)>,
    given: Vec<Order>,
    /// By node: the highest election it has seen.
    elections: Vec<u64>,
    losses: Rng,
    trace: Trace,
    counters: ControlCounters,
}

/// Planners that took their seats later are built as they were then.
impl State for PlannerHost {
    fn save(&self, to: &mut Writer) {
        for Seat { planner, rng } in &self.seats {
            save_perhaps(planner.as_ref(), to);
            rng.write(to);
        }
        self.handovers.write(to);
        self.messages.write(to);
        self.orders.write(to);
        self.elections.write(to);
        self.losses.write(to);
        self.trace.write(to);
        self.counters.write(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        for Seat { planner, rng } in &mut self.seats {
            if bool::read(from)? {
                let planner = planner.get_or_insert_with(|| self.scheme.planner(&mut self.layout.clone()));
                State::load(planner, from)?;
            } else {
                *planner = None;
            }
            rng.load(from)?;
        }
        self.handovers.load(from)?;
        self.messages.load(from)?;
        self.orders.load(from)?;
        self.elections.load(from)?;
        self.losses.load(from)?;
        self.trace.load(from)?;
        self.counters.load(from)
    }
}

impl PlannerHost {
    pub(super) fn new(
        network: &Network,
        scheme: &Scheme,
        seed: u64,
        layout: &mut FieldLayout,
        trace: bool,
    ) -> PlannerHost {
        let planner = scheme.planner(layout);
        let settings = network.control;
        let at = |at: Option<Time>, handover| at.map(|at| (at, handover));
        let handovers = [
            at(settings.fails, Handover::Fails),
            at(settings.stand_by, Handover::Takes(1)),
            at(settings.returns, Handover::Takes(0)),
        ];
        let on = !planner.is_none();
        let mut handovers: Vec<(Time, Handover)> = handovers.into_iter().flatten().filter(|_| on).collect();
        handovers.sort_by_key(|&(at, _)| at);
        PlannerHost {
            source: 0,
            on,
            settings,
            scheme: scheme.clone(),
            layout: layout.clone(),
            seats: [
                Seat { planner: Some(planner), rng: Rng::derive(seed, &[STREAM]) },
                Seat { planner: None, rng: Rng::derive(seed, &[STREAM, ELECTIONS[1]]) },
            ],
            handovers,
            messages: VecDeque::new(),
            orders: VecDeque::new(),
            given: Vec::new(),
            elections: vec![ELECTIONS[0]; network.nodes.len()],
            losses: Rng::derive(seed, &[STREAM, LOSSES]),
            trace: Trace::new(trace),
            counters: ControlCounters::default(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// The next event. A planner whose wake-up is due acts in the next nanosecond.
    fn due(&self, now: Time) -> Time {
        if !self.on {
            return Time::NEVER;
        }
        let message = self.messages.front().map_or(Time::NEVER, |m| m.0);
        let order = self.orders.front().map_or(Time::NEVER, |o| o.0);
        let handover = self.handovers.first().map_or(Time::NEVER, |handover| handover.0);
        let wake = self.seats.iter().flat_map(|seat| &seat.planner).map(Planner::next_wake).min();
        message.min(order).min(handover).min(wake.unwrap_or(Time::NEVER).max(now + Duration::from_nanos(1)))
    }

    /// Sends a message that may get lost.
    fn send(&mut self, now: Time, message: Message) {
        self.counters.messages += 1;
        self.counters.signals += u64::from(matches!(message, Message::Signal { .. }));
        if self.is_lost() {
            self.counters.messages_lost += 1;
        } else {
            self.messages.push_back((now + self.settings.delay, None, message));
        }
    }

    /// Sends a message that is repeated until it arrives.
    fn send_until_acknowledged(&mut self, now: Time, seat: Option<usize>, message: Message) {
        self.counters.messages += 1;
        self.messages.push_back((now + self.settings.delay, seat, message));
    }

    fn is_lost(&mut self) -> bool {
        self.settings.loss > 0.0 && self.losses.unit() < self.settings.loss
    }

    /// Sends the report of a node's meter, whose FIB has so many entries.
    pub(super) fn report(&mut self, now: Time, number: u32, report: Report, entries: usize) {
        let entries = u32::try_from(entries).unwrap_or(u32::MAX);
        self.send(now, Message::from_report(RouterId(number), now, report, entries));
    }

    /// Passes what has arrived to the planners and sends their orders.
    fn run_planners(&mut self, now: Time) {
        let PlannerHost { seats, trace, given, messages, .. } = self;
        while messages.front().is_some_and(|&(at, _, _)| at <= now) {
            let Some((_, to, message)) = messages.pop_front() else { break };
            for (number, Seat { planner, rng }) in seats.iter_mut().enumerate() {
                if let Some(planner) = planner.as_mut().filter(|_| to.is_none_or(|to| to == number)) {
                    planner.on_message(&message, given, &mut Ctx { now, rng, trace });
                }
            }
        }
        for Seat { planner, rng } in seats {
            if let Some(planner) = planner.as_mut().filter(|planner| planner.next_wake() <= now) {
                planner.on_wake(given, &mut Ctx { now, rng, trace });
            }
        }
        for order in std::mem::take(&mut self.given) {
            self.counters.orders += 1;
            if self.is_lost() {
                self.counters.orders_lost += 1;
            } else {
                self.orders.push_back((now + self.settings.delay, order));
            }
        }
    }

    /// What happened so far.
    pub(super) fn counters(&self) -> ControlCounters {
        let tallies = self.seats.iter().flat_map(|seat| &seat.planner).map(Planner::tally);
        let mut counters = self.counters;
        tallies.for_each(|tally| counters.tally += tally);
        counters
    }
}

impl Engine<'_, '_> {
    /// Sends what nodes have reported, if they were asked.
    #[inline(never)]
    pub(super) fn collect(&mut self) {
        let Some(at) = self.process.collected.take() else { return };
        for (number, report, entries) in self.process.reports.drain(..) {
            self.control.report(at, number, report, entries);
        }
        self.process.net.schedule.set(self.control.source, Due::new(self.control.due(at), EventRank::CONTROL));
    }

    /// Reports the network to the planner at the start.
    pub(super) fn control_start(&mut self) {
        if self.control.is_on() {
            self.announce_all(0);
        }
    }

    fn announce_all(&mut self, seat: usize) {
        for number in 0..self.process.places.len() {
            self.control_announce(number as u32, Some(seat));
        }
    }

    /// A node reports its links and next hops, those of routing and those in force.
    pub(super) fn control_announce(&mut self, number: u32, seat: Option<usize>) {
        if !self.control.is_on() || !self.process.places[number as usize].up {
            return;
        }
        for i in 0..self.process.net.topology.faces[number as usize].len() {
            let message = self.link_message(self.process.net.topology.faces[number as usize][i]);
            self.control.send_until_acknowledged(self.process.now, seat, message);
        }
        let router = RouterId(number);
        for prefix in 0..self.faults.fib.len() {
            let hops = self.faults.fib[prefix].get(number as usize).to_vec();
            if hops.is_empty() {
                continue;
            }
            let prefix = PrefixId(prefix as u32);
            let current_next_hops = self.current_next_hops(number, prefix);
            self.control.send_until_acknowledged(
                self.process.now,
                seat,
                Message::Routes { router, prefix, hops: hops.clone() },
            );
            if current_next_hops != hops && self.process.now > Time::ZERO {
                let election = self.control.elections[number as usize];
                self.control.send_until_acknowledged(
                    self.process.now,
                    seat,
                    Message::Answer { router, prefix, election, hops: current_next_hops },
                );
            }
        }
        self.process
            .net
            .schedule
            .set(self.control.source, Due::new(self.control.due(self.process.now), EventRank::CONTROL));
    }

    fn current_next_hops(&self, number: u32, prefix: PrefixId) -> Vec<NextHop> {
        let node = self.process.places.get(number as usize).and_then(|place| place.node.as_ref());
        node.map_or(Vec::new(), |node| node.next_hops(prefix).to_vec())
    }

    fn link_message(&self, channel: u32) -> Message {
        let channel = self.process.net.topology.channels[channel as usize];
        let rate = self.faults.rate(channel.directed_link).or_else(|| self.start_rate(channel.directed_link));
        Message::Link {
            router: RouterId(channel.from),
            face: FaceId(channel.out_face),
            neighbour: Some(RouterId(channel.to)),
            rate,
            up: self.faults.is_up(channel.directed_link),
        }
    }

    /// A link has failed, returned or changed its rate: both ends report it.
    pub(super) fn control_link(&mut self, link: usize) {
        if !self.control.is_on() {
            return;
        }
        for channel in 0..self.process.net.topology.channels.len() {
            let at = self.process.net.topology.channels[channel];
            if at.directed_link as usize / 2 == link && self.process.places[at.from as usize].up {
                let message = self.link_message(channel as u32);
                self.control.send_until_acknowledged(self.process.now, None, message);
            }
        }
        self.process
            .net
            .schedule
            .set(self.control.source, Due::new(self.control.due(self.process.now), EventRank::CONTROL));
    }

    /// Routing has changed the next hops of a node.
    pub(super) fn control_route(&mut self, number: u32, prefix: PrefixId) {
        if !self.control.is_on() || self.process.now == Time::ZERO || !self.process.places[number as usize].up {
            return;
        }
        let hops = self.faults.fib[prefix.index()].get(number as usize).to_vec();
        self.control.send_until_acknowledged(
            self.process.now,
            None,
            Message::Routes { router: RouterId(number), prefix, hops },
        );
        self.process
            .net
            .schedule
            .set(self.control.source, Due::new(self.control.due(self.process.now), EventRank::CONTROL));
    }

    /// A planner fails, a message has reached one, or an order a node.
    pub(super) fn control_due(&mut self, source: u32) {
        while self.control.handovers.first().is_some_and(|&(at, _)| at <= self.process.now) {
            let (_, handover) = self.control.handovers.remove(0);
            self.apply_handover(handover);
        }
        loop {
            self.control.run_planners(self.process.now);
            let Some((_, order)) = self.control.orders.front().filter(|&&(at, _)| at <= self.process.now) else {
                break;
            };
            let order = order.clone();
            self.control.orders.pop_front();
            self.apply_order(&order);
        }
        for event in self.control.trace.drain() {
            self.process.net.sink.observer.scheme_event(
                event.at,
                NodeId(event.id as u32),
                event.key,
                event.id,
                event.value,
            );
        }
        self.process.net.schedule.set(source, Due::new(self.control.due(self.process.now), EventRank::CONTROL));
    }

    fn apply_handover(&mut self, handover: Handover) {
        match handover {
            Handover::Fails => {
                if let Some(planner) = self.control.seats[0].planner.take() {
                    self.control.counters.tally += planner.tally();
                }
            }
            Handover::Takes(seat) => {
                let mut layout = self.control.layout.clone();
                let mut planner = self.control.scheme.planner(&mut layout);
                planner.elect(ELECTIONS[seat]);
                self.control.seats[seat].planner = Some(planner);
                let handovers = &mut self.control.handovers;
                handovers.push((self.process.now + self.control.settings.delay, Handover::Announce(seat)));
                handovers.sort_by_key(|&(at, _)| at);
            }
            Handover::Announce(seat) => {
                self.control.elections.iter_mut().for_each(|highest| *highest = (*highest).max(ELECTIONS[seat]));
                self.announce_all(seat);
            }
        }
    }

    /// An order reaches its node, which answers with the costs then in force.
    fn apply_order(&mut self, order: &Order) {
        let number = order.router.0;
        let Some(place) = self.process.places.get_mut(number as usize).filter(|place| place.up) else { return };
        let (Some(node), highest) = (&mut place.node, &mut self.control.elections[number as usize]) else { return };
        let entitled = order.election >= *highest;
        *highest = order.election.max(*highest);
        let obeyed = entitled && node.apply_order(self.process.now, order);
        self.control.counters.orders_rejected += u64::from(!obeyed);
        let (router, prefix, election) = (order.router, order.prefix, self.control.elections[number as usize]);
        let hops = self.current_next_hops(number, prefix);
        self.control.send(self.process.now, Message::Answer { router, prefix, election, hops });
        self.pump(number);
    }

    /// Transmission rate of a directed link at the start.
    fn start_rate(&self, directed_link: u32) -> Option<Rate> {
        super::build::direction(self.network, directed_link).rate
    }
}
