//! Faces whose losses the link retransmits.

use super::reliability::{Counts, Reliability, ReliableLink};
use super::{Forwarder, Frames};
use crate::header::FieldTrust;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_core::units::{Bytes, Time};
use ndnweir_wire::LpPacketView;
use ndnweir_wire::lp::Fragmenter;
use std::collections::BTreeSet;
use std::time::Duration;

/// Unacknowledged packets may take this part of the forwarder's memory, in addition to it.
const UNACKNOWLEDGED_SHARE: usize = 8;
/// Of that, on-demand peers may take this part, all together.
const ON_DEMAND_SHARE: usize = 2;
/// An on-demand peer's face may hold this part of what on-demand peers have left: the dynamic threshold of Choudhury
/// and Hahne (1998), so that n faces that never acknowledge take n/(n + 4) of the on-demand peers' share and there is
/// room for another one. The factor is ours.
const ON_DEMAND_THRESHOLD: usize = 4;
/// How long an incomplete packet of a neighbour that retransmits is kept: one or two link retransmissions on a path
/// around the world, and the least timeout once. Ours.
const LINK_RETRANSMITTED_WITHIN: Duration = Duration::from_millis(2000);

/// Bytes of unacknowledged packets, by class of the neighbour.
#[derive(Debug)]
pub(super) struct Unacknowledged {
    limit: usize,
    neighbours: usize,
    on_demand_peers: usize,
}

impl Unacknowledged {
    pub(super) fn new(memory: usize) -> Unacknowledged {
        Unacknowledged { limit: memory / UNACKNOWLEDGED_SHARE, neighbours: 0, on_demand_peers: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.neighbours + self.on_demand_peers
    }

    /// How many bytes a face that holds `held` may add.
    pub(super) fn spare(&self, trust: FieldTrust, held: usize) -> usize {
        let free = self.limit.saturating_sub(self.bytes());
        match trust {
            FieldTrust::Neighbour => free,
            FieldTrust::Untrusted => {
                let left = (self.limit / ON_DEMAND_SHARE).saturating_sub(self.on_demand_peers);
                (left / ON_DEMAND_THRESHOLD).saturating_sub(held).min(free)
            }
        }
    }

    /// A face held `before` and holds `after`.
    pub(super) fn change(&mut self, trust: FieldTrust, before: usize, after: usize) {
        let total = match trust {
            FieldTrust::Neighbour => &mut self.neighbours,
            FieldTrust::Untrusted => &mut self.on_demand_peers,
        };
        *total = (*total + after).saturating_sub(before);
    }
}

/// When links must be polled.
#[derive(Debug, Default)]
pub(super) struct Timers {
    order: BTreeSet<(Time, FaceId)>,
    /// By face; never is [`Time::NEVER`].
    of: Vec<Time>,
}

impl Timers {
    pub(super) fn set(&mut self, id: FaceId, due: Time) {
        if self.of.len() <= id.index() {
            self.of.resize(id.index() + 1, Time::NEVER);
        }
        let known = std::mem::replace(&mut self.of[id.index()], due);
        if known == due {
            return;
        }
        if known != Time::NEVER {
            self.order.remove(&(known, id));
        }
        if due != Time::NEVER {
            self.order.insert((due, id));
        }
    }

    pub(super) fn next(&self) -> Time {
        self.order.first().map_or(Time::NEVER, |(due, _)| *due)
    }

    fn due(&self, now: Time) -> Option<FaceId> {
        self.order.first().filter(|(due, _)| *due <= now).map(|(_, id)| *id)
    }
}

impl Forwarder {
    /// Sets whether a face retransmits losses. One without an MTU, a stream, never does.
    pub fn set_reliability(&mut self, now: Time, id: FaceId, setting: Reliability) {
        let first = u64::from(self.rng.bits()) << 32 | u64::from(self.rng.bits());
        let Some(face) = self.faces.get_mut(id.index()).filter(|face| face.up && face.fragmenter.is_some()) else {
            return;
        };
        match (&mut face.link, setting) {
            (_, Reliability::Off) => self.forget_link(now, id),
            (Some(link), setting) => link.set(setting),
            (None, setting) => {
                face.link = Some(Box::new(ReliableLink::new(face.params, setting, first)));
            }
        }
    }

    /// Whether losses on a face are link-retransmitted: the setting, and whether the neighbour takes part.
    pub fn reliability(&self, id: FaceId) -> (Reliability, bool) {
        let link = self.faces.get(id.index()).and_then(|face| face.link.as_ref());
        link.map_or((Reliability::Off, false), |link| (link.setting(), link.is_in_use()))
    }

    /// Whether the neighbour has sent TxSequences, so that it can be expected to acknowledge.
    pub fn neighbour_sends_sequences(&self, id: FaceId) -> bool {
        let link = self.faces.get(id.index()).and_then(|face| face.link.as_ref());
        link.is_some_and(|link| link.is_requested())
    }

    /// The packet polled last, whose last frame this is, was kept back. If it asked the neighbour to acknowledge, the next
    /// one asks: else a peer that is sent little until it has acknowledged would hardly ever be asked.
    pub fn kept_back(&mut self, id: FaceId, last: &[u8]) {
        let Some(number) = LpPacketView::decode(last).ok().and_then(|view| view.tx_sequence) else { return };
        let Some(face) = self.faces.get_mut(id.index()) else { return };
        if let (Some(link), Some(fragmenter)) = (&mut face.link, &face.fragmenter) {
            link.ask_again(number);
            self.link_timers.set(id, link.poll_timeout(fragmenter.mtu()));
        }
    }

    /// Ends the repair of a face.
    pub(super) fn forget_link(&mut self, now: Time, id: FaceId) {
        let Some(face) = self.faces.get_mut(id.index()) else { return };
        let Some(mut link) = face.link.take() else { return };
        self.unacknowledged.change(face.trust, link.bytes(), 0);
        link.abandon_all(now);
        face.counters.link = face.counters.link.plus(link.counts());
        self.link_timers.set(id, Time::NEVER);
        self.follow_link(now, id);
    }

    /// The link layer reads a frame that is not for a stream. None if it is a duplicate, else whether it is late
    /// because it was link-retransmitted.
    pub(super) fn process_link_header(&mut self, now: Time, id: FaceId, view: &LpPacketView<'_>) -> Option<bool> {
        let Some(face) = self.faces.get_mut(id.index()) else { return Some(false) };
        let (Some(link), Some(mtu)) = (&mut face.link, face.fragmenter.as_ref().map(Fragmenter::mtu)) else {
            return Some(false);
        };
        let held = link.bytes();
        let arrived = link.receive(now, view);
        self.unacknowledged.change(face.trust, held, link.bytes());
        self.link_timers.set(id, link.poll_timeout(mtu));
        self.follow_link(now, id);
        let Some(face) = self.faces.get_mut(id.index()) else { return Some(false) };
        if view.tx_sequence.is_some()
            && let Some(reassembler) = &mut face.reassembler
        {
            reassembler.extend_timeout(LINK_RETRANSMITTED_WITHIN);
        }
        (!arrived.duplicate).then_some(arrived.link_retransmitted)
    }

    /// Whether a Data answers an Interest that was link-retransmitted, so that it is late.
    pub(super) fn is_answer_to_link_retransmission(&mut self, id: FaceId, names: &[NameId]) -> bool {
        let link = self.faces.get_mut(id.index()).and_then(|face| face.link.as_mut());
        link.is_some_and(|link| names.iter().any(|name| link.take_late(*name)))
    }

    /// Appends the next frame that a link itself has to send.
    pub(super) fn poll_links(&mut self, now: Time, frames: &mut Frames) -> Option<FaceId> {
        while let Some(id) = self.link_timers.due(now) {
            let face = &mut self.faces[id.index()];
            let (Some(link), Some(mtu)) = (&mut face.link, face.fragmenter.as_ref().map(Fragmenter::mtu)) else {
                self.link_timers.set(id, Time::NEVER);
                continue;
            };
            let (held, before) = (link.bytes(), frames.bytes.len());
            let own = link.poll(now, mtu, frames);
            self.unacknowledged.change(face.trust, held, link.bytes());
            if own.is_some() {
                let bytes = Bytes::new((frames.bytes.len() - before) as u64);
                face.counters.bytes_out += bytes.get();
                link.occupied(self.node.occupy(now, id, bytes));
            }
            self.link_timers.set(id, link.poll_timeout(mtu));
            self.follow_link(now, id);
            if own.is_some() {
                return Some(id);
            }
        }
        None
    }

    /// What link reliability did on a face since the start.
    pub(super) fn link_counts(&self, id: FaceId) -> Counts {
        let Some(face) = self.faces.get(id.index()) else { return Counts::default() };
        let now = face.link.as_ref().map(|link| link.counts()).unwrap_or_default();
        face.counters.link.plus(now)
    }
}
