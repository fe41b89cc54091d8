//! Faces of a forwarder: their link layer, and numbers that are not used again too soon.

use super::reliability::{self, Counts, Params, Reliability, ReliableLink};
use super::{Forwarder, queues};
use crate::config::FaceConfig;
use crate::counters::FaceCounters;
use crate::error::FaceError;
use crate::header::FieldTrust;
use crate::shares::FaceClass;
use ndnweir_core::component::{Env, FamilyParams};
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::{AnyMarker, MarkerParams};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_wire::lp::{Fragmenter, Reassembler};

/// What a face of a forwarder is built from.
#[derive(Clone, Debug)]
pub struct FaceOptions {
    /// Its place in the node; `framing` is what the link adds to each frame. Where there is an `mtu`, it and what link
    /// reliability adds are set here.
    pub node: FaceConfig,
    /// How it was made, which determines its share of the PIT.
    pub class: FaceClass,
    /// Of an on-demand face: faces of one group share their limits. A group stands for a remote address.
    pub group: u128,
    /// Whose congestion fields count.
    pub trust: FieldTrust,
    /// The largest frame in bytes; none on a stream, which takes packets of any size.
    pub mtu: Option<usize>,
    /// Whether lost frames are sent again; has no meaning without `mtu`.
    pub reliability: Reliability,
    /// Share of frames lost above which link-retransmitted Data are marked, see [`Params::mark_above`].
    pub mark_losses: f64,
    /// Whether its rate is learned by link reliability, if `node` has none.
    pub learns_rate: bool,
    /// Whether the queue below it, which [`Forwarder::set_kernel_queue`] reports, is marked by NFD's rule. Only for a
    /// face without a rate: one with a rate has its own queue and marker.
    pub mark_kernel_queue: bool,
    /// Whether packets to it carry the face they arrived on (NDNLPv2's IncomingFaceId); for local faces.
    pub tell_incoming: bool,
    /// Its public number, which IncomingFaceId carries.
    pub number: u64,
}

/// Counters of a face's link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Interests that arrived.
    pub interests_in: u64,
    /// Data that arrived.
    pub data_in: u64,
    /// NACKs that arrived.
    pub nacks_in: u64,
    /// Interests sent.
    pub interests_out: u64,
    /// Data sent.
    pub data_out: u64,
    /// NACKs sent.
    pub nacks_out: u64,
    /// Bytes of frames that arrived.
    pub bytes_in: u64,
    /// Bytes of frames sent.
    pub bytes_out: u64,
    /// Packets that arrived with a CongestionMark.
    pub marked_in: u64,
    /// Packets sent with a CongestionMark.
    pub marked_out: u64,
    /// Of those, the ones marked for the queue below the face.
    pub kernel_marks: u64,
    /// What link reliability did.
    pub link: Counts,
}

impl LinkCounters {
    /// Packets that arrived.
    pub fn packets_in(&self) -> u64 {
        self.interests_in + self.data_in + self.nacks_in
    }

    /// These and others together.
    pub fn plus(self, other: LinkCounters) -> LinkCounters {
        LinkCounters {
            interests_in: self.interests_in + other.interests_in,
            data_in: self.data_in + other.data_in,
            nacks_in: self.nacks_in + other.nacks_in,
            interests_out: self.interests_out + other.interests_out,
            data_out: self.data_out + other.data_out,
            nacks_out: self.nacks_out + other.nacks_out,
            bytes_in: self.bytes_in + other.bytes_in,
            bytes_out: self.bytes_out + other.bytes_out,
            marked_in: self.marked_in + other.marked_in,
            marked_out: self.marked_out + other.marked_out,
            kernel_marks: self.kernel_marks + other.kernel_marks,
            link: self.link.plus(other.link),
        }
    }
}

pub(super) struct Face {
    pub(super) up: bool,
    pub(super) local: bool,
    pub(super) class: FaceClass,
    group: u128,
    pub(super) has_rate: bool,
    pub(super) trust: FieldTrust,
    pub(super) fragmenter: Option<Fragmenter>,
    /// Of link reliability, should it begin.
    pub(super) params: Params,
    /// The rate that its link has learned, and whether it still has to learn one.
    learned: Option<Rate>,
    open: bool,
    /// The limit of its queue as configured, and of an on-demand peer with a learned rate the bytes that it has.
    queue: Limit,
    granted: Option<usize>,
    /// Link retransmissions losses.
    pub(super) link: Option<Box<ReliableLink>>,
    /// Made when the first fragment arrives.
    pub(super) reassembler: Option<Box<Reassembler>>,
    pub(super) marker: Option<AnyMarker>,
    pub(super) kernel_queue: Bytes,
    pub(super) tell_incoming: bool,
    pub(super) number: u64,
    pub(super) counters: LinkCounters,
    /// When no Interest from it or to it can be pending any more.
    pub(super) quiet_from: Time,
}

/// What marks by the queue below a face: NFD's rule with NFD's numbers.
fn kernel_marker() -> AnyMarker {
    MarkerParams::Nfd(Default::default()).build(&mut Env { layout: &mut FieldLayout::new() })
}

/// The largest frame that a packet is cut into, before link reliability adds its field.
fn largest_part(mtu: usize, reliable: bool) -> Bytes {
    let reserved = if reliable { reliability::FIELD + reliability::GROWTH } else { 0 };
    Bytes::new(mtu.saturating_sub(reserved) as u64)
}

impl Face {
    /// An Interest of this lifetime has arrived on it or left by it.
    pub(super) fn extend_quiet_from(&mut self, now: Time, lifetime_ms: u32) {
        let spare = Duration::from_millis(1000);
        self.quiet_from = self.quiet_from.max(now + Duration::from_millis(u64::from(lifetime_ms)) + spare);
    }

    fn new(options: &FaceOptions, first_sequence: u64, first_transmission: u64) -> Face {
        let has_rate = options.node.rate.is_some();
        let marker = if options.mark_kernel_queue && !has_rate { Some(kernel_marker()) } else { None };
        let params = Params {
            mark_above: options.mark_losses,
            learns_rate: options.learns_rate && !has_rate,
            framing: options.node.framing,
            ..Params::default()
        };
        Face {
            up: true,
            local: options.node.local,
            class: options.class,
            group: options.group,
            has_rate,
            trust: options.trust,
            fragmenter: options.mtu.map(|mtu| Fragmenter::new(mtu, first_sequence)),
            params,
            learned: None,
            open: false,
            queue: options.node.limit,
            granted: None,
            link: (options.mtu.is_some() && options.reliability != Reliability::Off)
                .then(|| Box::new(ReliableLink::new(params, options.reliability, first_transmission))),
            reassembler: None,
            marker,
            kernel_queue: Bytes::ZERO,
            tell_incoming: options.tell_incoming,
            number: options.number,
            counters: LinkCounters::default(),
            quiet_from: Time::ZERO,
        }
    }
}

impl Forwarder {
    /// Adds a face. The number of a removed face is used again only when none of its Interests can be pending:
    /// immediately if it had none, so that a peer that opens faces repeatedly does not exhaust the numbers.
    ///
    /// # Errors
    /// If all numbers are taken.
    pub fn add_face(&mut self, now: Time, options: FaceOptions) -> Result<FaceId, FaceError> {
        let mut random = || u64::from(self.rng.bits()) << 32 | u64::from(self.rng.bits());
        let face = Face::new(&options, random(), random());
        let (class, group) = (face.class, face.group);
        let mut node = options.node;
        if let Some(mtu) = options.mtu {
            let fields = if options.reliability == Reliability::Off { 0 } else { reliability::FIELD };
            node.framing += Bytes::new(fields as u64);
            (node.mtu, node.cut_below) = (Some(largest_part(mtu, fields > 0)), true);
        }
        if let Some(&(from, id)) = self.removed.first()
            && from <= now
        {
            self.node.replace_face(id, node)?;
            self.removed.pop_first();
            self.faces[id.index()] = face;
            self.node.share_face(id, class, group);
            return Ok(id);
        }
        let id = self.node.add_face(node)?;
        self.faces.push(face);
        self.node.share_face(id, class, group);
        Ok(id)
    }

    /// Changes the class of a face: an on-demand peer may be configured later.
    pub fn set_class(&mut self, id: FaceId, class: FaceClass) {
        if let Some(face) = self.faces.get_mut(id.index()) {
            self.fragments.reclass(face.class, class, face.reassembler.as_deref());
            face.class = class;
            self.node.share_face(id, class, face.group);
            let rate = face.learned;
            self.with_room(id, rate);
        }
    }

    /// Removes a face, with its routes and its queue.
    pub fn remove_face(&mut self, now: Time, id: FaceId) {
        self.forget_link(now, id);
        let Some(face) = self.faces.get_mut(id.index()).filter(|face| face.up) else { return };
        face.up = false;
        self.fragments.forget(face.class, face.reassembler.take());
        let quiet_from = face.quiet_from;
        self.remove_routes_over(now, id);
        self.node.set_up(now, id, false);
        self.account();
        self.removed.insert((quiet_from, id));
    }

    /// Whether there is such a face.
    pub fn has_face(&self, id: FaceId) -> bool {
        self.faces.get(id.index()).is_some_and(|face| face.up)
    }

    /// Sets how many bytes wait below a face, in the kernel or in a backlog.
    pub fn set_kernel_queue(&mut self, id: FaceId, bytes: Bytes) {
        if let Some(face) = self.faces.get_mut(id.index()) {
            face.kernel_queue = bytes;
        }
    }

    /// Changes the rate at which a face that has one sends, from `now` on.
    pub fn set_rate(&mut self, now: Time, id: FaceId, rate: Rate) {
        if self.faces.get(id.index()).is_some_and(|face| face.has_rate) {
            // Packets are handed out when they start, so none of their times changes.
            self.node.set_rate(now, id, Some(rate), &mut Vec::new());
            self.account();
        }
    }

    /// Sends on a face at the rate that its link has learned, if it has changed.
    pub(super) fn follow_link(&mut self, now: Time, id: FaceId) {
        let Some(face) = self.faces.get_mut(id.index()).filter(|face| face.params.learns_rate) else { return };
        let rate = face.link.as_ref().and_then(|link| link.learned_rate());
        let open = rate.is_none() && face.link.as_ref().is_some_and(|link| link.learns_rate());
        let rate = if (rate, open) == (face.learned, face.open) { rate } else { self.with_room(id, rate) };
        let Some(face) = self.faces.get_mut(id.index()) else { return };
        if (rate, open) == (face.learned, face.open) {
            return;
        }
        let is_new = rate != face.learned;
        (face.learned, face.open, face.has_rate) = (rate, open, rate.is_some());
        self.node.set_open(id, open);
        if is_new {
            self.node.set_rate(now, id, rate, &mut Vec::new());
            self.account();
        }
    }

    /// The rate at which a face is to send, with room for its queue; none if an on-demand peer can have no queue.
    fn with_room(&mut self, id: FaceId, rate: Option<Rate>) -> Option<Rate> {
        let face = self.faces.get_mut(id.index())?;
        if face.class != FaceClass::OnDemand || rate.is_none() {
            self.queues.give_back(face.granted.take().unwrap_or(0));
            self.node.set_limit(id, face.queue);
            return rate;
        }
        if face.granted.is_none() {
            face.granted = Some(self.queues.take(face.queue)?);
        }
        self.node.set_limit(id, queues::limit(face.queue, face.granted.unwrap_or(0)));
        rate
    }

    /// The rate that a face's link has learned.
    pub fn learned_rate(&self, id: FaceId) -> Option<Rate> {
        self.faces.get(id.index())?.learned
    }

    /// Changes the rate at which the neighbour on a face sends back.
    pub fn set_return_rate(&mut self, id: FaceId, rate: Rate) {
        self.node.set_return_rate(id, Some(rate));
    }

    /// Changes the largest frame of a face that has one. Packets that were cut for larger frames are not
    /// link-retransmitted.
    pub fn set_mtu(&mut self, now: Time, id: FaceId, mtu: usize) {
        let Some(face) = self.faces.get_mut(id.index()) else { return };
        let Some(fragmenter) = &mut face.fragmenter else { return };
        if let Some(link) = &mut face.link
            && mtu < fragmenter.mtu()
        {
            self.unacknowledged.change(face.trust, link.bytes(), 0);
            link.abandon_all(now);
        }
        fragmenter.set_mtu(mtu);
        self.node.set_mtu(id, largest_part(mtu, face.link.is_some()));
        if let Some(link) = &face.link {
            self.link_timers.set(id, link.poll_timeout(mtu));
        }
    }

    /// Sets whose congestion fields count on a face from now on.
    pub fn set_trust(&mut self, id: FaceId, trust: FieldTrust) {
        if let Some(face) = self.faces.get_mut(id.index()) {
            let held = face.link.as_ref().map_or(0, |link| link.bytes());
            self.unacknowledged.change(face.trust, held, 0);
            self.unacknowledged.change(trust, 0, held);
            face.trust = trust;
        }
    }

    /// Sets whether packets to a local face carry the face they arrived on.
    pub fn set_incoming_face_id(&mut self, id: FaceId, tell: bool) {
        if let Some(face) = self.faces.get_mut(id.index()) {
            face.tell_incoming = tell && face.local;
        }
    }

    /// Whether it is.
    pub fn has_incoming_face_id(&self, id: FaceId) -> bool {
        self.faces.get(id.index()).is_some_and(|face| face.tell_incoming)
    }

    /// Sets whether the queue below a face without a rate is marked.
    pub fn set_mark_kernel_queue(&mut self, id: FaceId, mark: bool) {
        if let Some(face) = self.faces.get_mut(id.index())
            && face.marker.is_some() != mark
        {
            face.marker = if mark && !face.has_rate { Some(kernel_marker()) } else { None };
        }
    }

    /// Whether the queue below a face is marked.
    pub fn marks_kernel_queue(&self, id: FaceId) -> bool {
        self.faces.get(id.index()).is_some_and(|face| face.marker.is_some())
    }

    /// Drops packets whose fragments have not all arrived in time. So does every later arrival on its face; call this
    /// occasionally for faces on which nothing arrives any more.
    pub fn expire_fragments(&mut self, now: Time) {
        let now = std::time::Duration::from_nanos(now.nanos());
        for face in &mut self.faces {
            if let Some(reassembler) = &mut face.reassembler {
                self.fragments.within(face.class, reassembler, |face| face.expire(now));
            }
        }
    }

    /// Counters of a face's link layer.
    pub fn link_counters(&self, id: FaceId) -> LinkCounters {
        let counters = self.faces.get(id.index()).map(|face| face.counters).unwrap_or_default();
        LinkCounters { link: self.link_counts(id), ..counters }
    }

    /// Counters of a face: its link layer and its egress queue.
    pub fn face_counters(&mut self, now: Time, id: FaceId) -> (LinkCounters, FaceCounters) {
        let link = self.link_counters(id);
        let egress = self.node.face_counters(now, id);
        self.account();
        (link, egress)
    }
}
