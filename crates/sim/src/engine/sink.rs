//! Where a process tells what happens: everything whose order over the whole network shows in a result.

use super::PacketTap;
use crate::observer::{Arrival, ConsumerId, Delivery, DirectedLinkId, FlowEvent, NodeId, Observer, PathId};
use crate::outcome::EventHash;
use crate::path::Paths;
use crate::topology::{Channel, Topology};
use ndnweir_core::ctx::TraceEvent;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;
use std::ops::Range;

/// What a process tells of the events it handles, in their order.
pub(super) trait Sink {
    /// Whether some links lead to other processes.
    const CUT: bool;

    /// Whether there is anything to be done for every packet that is put on a link.
    #[inline(always)]
    fn is_watched(&self) -> bool {
        self.is_tapped() | self.has_paths()
    }
    /// Whether arrivals are hashed.
    fn has_hash(&self) -> bool;
    /// Whether every packet is shown to a tap.
    fn is_tapped(&self) -> bool;
    /// A packet is put on a link.
    fn show(&mut self, now: Time, waiting: Range<Time>, link: u32, channel: u32, of: &Topology, packet: &Packet);
    /// Whether Data packets carry their paths.
    fn has_paths(&self) -> bool;
    /// The path that continues `before` over a link.
    fn extend(&mut self, before: u32, link: u32) -> u32;
    /// So many packets are under way in addition.
    fn sent(&mut self, packets: u64);
    /// A packet is under way no longer.
    fn ended(&mut self);
    /// The next arrival of a link that was out of the schedule is in it again.
    fn forget(&mut self, _source: u32) {}
    /// A packet arrives.
    fn arrived(&mut self, now: Time, link: u32, packet: &Packet);
    /// A packet leaves for another process; `times` as in `Net::put`.
    fn cross(&mut self, link: u32, channel: u32, packet: &Packet, joined: Time, end: Time);
    /// A consumer sends an Interest.
    fn requested(&mut self, now: Time, consumer: u32, interest: &Packet);
    /// A segment reached its consumer for the first time, by a path of this number.
    fn delivered(&mut self, now: Time, consumer: u32, path: u32, arrival: Arrival);
    /// A flow of a consumer with many begins, ends or is rejected.
    fn flow(&mut self, now: Time, consumer: u32, event: FlowEvent);
    /// A component records an event.
    fn recorded(&mut self, node: u32, id: u64, event: &TraceEvent);
}

/// Of a process that is the whole network: everything is told at once.
#[derive(ndnweir_state::State)]
pub(super) struct Alone<'n, 'o> {
    pub(super) paths: Paths,
    pub(super) with_paths: bool,
    /// Whether there is a tap, or Data carry their paths.
    #[state(skip)]
    pub(super) watched: bool,
    pub(super) in_flight: u64,
    pub(super) peak_in_flight: u64,
    pub(super) hash: Option<EventHash>,
    #[state(skip)]
    pub(super) observer: &'n mut dyn Observer,
    /// See [`Observer::watches`] and [`Observer::watches_requests`].
    #[state(skip)]
    pub(super) observed: bool,
    #[state(skip)]
    pub(super) requests_observed: bool,
    #[state(skip)]
    pub(super) tap: Option<&'o mut dyn PacketTap>,
    #[state(skip)]
    pub(super) links: Vec<DirectedLinkId>,
}

impl Sink for Alone<'_, '_> {
    const CUT: bool = false;

    #[inline(always)]
    fn is_watched(&self) -> bool {
        self.watched
    }

    fn has_hash(&self) -> bool {
        self.hash.is_some()
    }

    #[inline(always)]
    fn is_tapped(&self) -> bool {
        self.tap.is_some()
    }

    #[cold]
    #[inline(never)]
    fn show(&mut self, now: Time, waiting: Range<Time>, link: u32, channel: u32, of: &Topology, packet: &Packet) {
        // Other traffic than NDN has no channel.
        if let (Some(tap), Some(&Channel { from, to, .. })) = (&mut self.tap, of.channels.get(channel as usize)) {
            // A packet that several threads have left under way still has the handle of its path.
            let packet = Packet { tag: self.paths.number(packet.tag), ..*packet };
            tap.sent(now, waiting, DirectedLinkId(link), [NodeId(from), NodeId(to)], &packet);
        }
    }

    #[inline(always)]
    fn has_paths(&self) -> bool {
        self.with_paths
    }

    #[inline(always)]
    fn extend(&mut self, before: u32, link: u32) -> u32 {
        self.paths.extend(before, link)
    }

    #[inline(always)]
    fn sent(&mut self, packets: u64) {
        self.in_flight += packets;
        self.peak_in_flight = self.peak_in_flight.max(self.in_flight);
    }

    #[inline(always)]
    fn ended(&mut self) {
        self.in_flight -= 1;
    }

    #[inline(always)]
    fn arrived(&mut self, now: Time, link: u32, packet: &Packet) {
        if let Some(hash) = &mut self.hash {
            hash.arrival(now, link, packet);
        }
    }

    fn cross(&mut self, _: u32, _: u32, _: &Packet, _: Time, _: Time) {}

    #[inline(always)]
    fn requested(&mut self, now: Time, consumer: u32, interest: &Packet) {
        if self.requests_observed {
            self.observer.requested(now, ConsumerId(consumer), interest);
        }
    }

    #[inline(always)]
    fn delivered(&mut self, now: Time, consumer: u32, path: u32, arrival: Arrival) {
        if self.observed | self.with_paths {
            self.tell_delivery(now, consumer, path, arrival);
        }
    }

    fn flow(&mut self, now: Time, consumer: u32, event: FlowEvent) {
        self.observer.flow(now, ConsumerId(consumer), event);
    }

    fn recorded(&mut self, node: u32, id: u64, event: &TraceEvent) {
        self.observer.scheme_event(event.at, NodeId(node), event.key, id, event.value);
    }
}

impl Alone<'_, '_> {
    #[inline(never)]
    fn tell_delivery(&mut self, now: Time, consumer: u32, path: u32, arrival: Arrival) {
        let path = self.paths.number(path);
        let delivery = Delivery { at: now, consumer: ConsumerId(consumer), path: PathId(path), arrival };
        if self.with_paths && self.paths.links_if_new(path, &mut self.links) {
            self.observer.path(delivery.path, &self.links);
        }
        self.observer.delivered(&delivery);
        if delivery.arrival.completed {
            self.observer.completed(delivery.at, delivery.consumer);
        }
    }
}
