//! The control channel: reports of nodes reach the planner, and its orders reach the nodes, after a delay.

use super::Engine;
use crate::network::Network;
use crate::observer::Observer;
use crate::schedule::Schedule;
use crate::schedule::tournament::Tournament;
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::planner::{Message, Order, Planner, RouterId};
use ndnweir_core::registry::AnyPlanner;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Span, Time};
use ndnweir_node::Node;
use std::collections::VecDeque;

/// The planner and what is on the way to and from it. As every message takes equally long, they arrive as sent.
pub(super) struct Control {
    pub(super) source: u32,
    planner: AnyPlanner,
    on: bool,
    delay: Span,
    messages: VecDeque<(Time, Message)>,
    orders: VecDeque<(Time, Order)>,
    given: Vec<Order>,
    rng: Rng,
    trace: Trace,
}

/// Labels of the planner's random stream (see [`Rng::derive`]).
const STREAM: u64 = 0x706c_616e;

impl Control {
    pub(super) fn new(
        network: &Network,
        scheme: &Scheme,
        seed: u64,
        layout: &mut FieldLayout,
    ) -> Result<Control, String> {
        let planner = scheme.planner(layout)?;
        Ok(Control {
            source: 0,
            on: !planner.is_none(),
            planner,
            delay: network.control_delay,
            messages: VecDeque::new(),
            orders: VecDeque::new(),
            given: Vec::new(),
            rng: Rng::derive(seed, &[STREAM]),
            trace: Trace::new(false),
        })
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// When something happens next. A planner that wants to act at once acts in the next nanosecond.
    fn due(&self, now: Time) -> Time {
        if !self.on {
            return Time::NEVER;
        }
        let message = self.messages.front().map_or(Time::NEVER, |m| m.0);
        let order = self.orders.front().map_or(Time::NEVER, |o| o.0);
        message.min(order).min(self.planner.next_wake().max(now + Span::from_nanos(1)))
    }

    /// Takes the reports of a node's meter.
    pub(super) fn collect(&mut self, now: Time, number: u32, node: &mut Node, schedule: &mut Tournament) {
        let at = now + self.delay;
        for report in node.drain_reports() {
            self.messages.push_back((at, Message::Report { router: RouterId(number), measured: now, report }));
        }
        schedule.set(self.source, self.due(now));
    }

    /// Lets the planner hear what has arrived and act; its orders go on their way.
    fn think(&mut self, now: Time) {
        let Control { planner, rng, trace, given, messages, .. } = self;
        let mut ctx = Ctx { now, rng, trace };
        while messages.front().is_some_and(|&(at, _)| at <= now) {
            if let Some((_, message)) = messages.pop_front() {
                planner.on_message(&message, given, &mut ctx);
            }
        }
        if planner.next_wake() <= now {
            planner.on_wake(given, &mut ctx);
        }
        let at = now + self.delay;
        self.orders.extend(self.given.drain(..).map(|order| (at, order)));
    }
}

impl<O: Observer> Engine<'_, '_, O> {
    /// Tells the planner the network at the start.
    pub(super) fn control_start(&mut self) {
        if !self.control.is_on() {
            return;
        }
        let at = self.now + self.control_delay();
        for channel in &self.net.topology.channels {
            let message = Message::Link {
                router: RouterId(channel.from),
                face: FaceId(channel.out_face),
                neighbour: Some(RouterId(channel.to)),
                rate: self.start_rate(channel.wire),
                up: true,
            };
            self.control.messages.push_back((at, message));
        }
        for (prefix, by_node) in self.faults.fib.iter().enumerate() {
            for (number, hops) in by_node.iter().enumerate().filter(|(_, hops)| !hops.is_empty()) {
                let message = Message::Routes {
                    router: RouterId(number as u32),
                    prefix: PrefixId(prefix as u32),
                    hops: hops.clone(),
                };
                self.control.messages.push_back((at, message));
            }
        }
        self.net.schedule.set(self.control.source, self.control.due(self.now));
    }

    /// A message has reached the planner, or an order a node.
    pub(super) fn control_due(&mut self, source: u32) {
        self.control.think(self.now);
        while self.control.orders.front().is_some_and(|&(at, _)| at <= self.now) {
            let Some((_, order)) = self.control.orders.pop_front() else { break };
            let number = order.router.0;
            let Some(place) = self.places.get_mut(number as usize) else { continue };
            if let Some(node) = &mut place.node
                && place.up
            {
                node.apply_order(self.now, &order);
                self.pump(number);
            }
        }
        self.net.schedule.set(source, self.control.due(self.now));
    }
}
