//! Faces with their transports, and their indices.

use super::admission::Origin;
use super::proof::Challenge;
use crate::face::stream::StreamLink;
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::Persistency;
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::{Rate, Time};
use ndnweir_node::FaceClass;
use ndnweir_node::forwarder::Reliability;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

/// Face numbers below are reserved, as in NFD.
const FIRST_NUMBER: u64 = 256;

/// Where the forwarder's own face leads (as in NFD).
pub(super) const INTERNAL: &str = "internal://";

/// What carries a face's frames.
pub(super) enum Transport {
    Udp {
        port: usize,
        peer: SocketAddr,
    },
    Stream(StreamLink),
    /// A stream that is being connected.
    Dialing(socket2::Socket),
    /// The management of this forwarder.
    Management,
    /// A stream that could not be connected, or has ended, and will be tried again.
    Down {
        retry: Time,
    },
}

/// A face with its socket.
pub(super) struct SocketFace {
    /// The number that others know.
    pub(super) number: u64,
    pub(super) uri: FaceUri,
    pub(super) transport: Transport,
    /// An on-demand face is removed when its peer is gone.
    pub(super) persistency: Persistency,
    pub(super) local: bool,
    /// Whether its peer is known to be this forwarder's owner.
    pub(super) owner: bool,
    pub(super) mtu: Option<usize>,
    /// The rate at which it is sent on; none as fast as the kernel takes.
    pub(super) rate: Option<Rate>,
    /// Whether lost frames on a UDP face are sent again if the neighbour takes part.
    pub(super) reliability: bool,
    pub(super) last_in: Time,
    /// Whether the poll waits for the socket to take more.
    pub(super) wants_writable: bool,
    /// Its origin, if it was made on demand.
    pub(super) origin: Origin,
    /// Whether its user may register prefixes for it.
    pub(super) registers: bool,
    /// The state of the proof of an on-demand UDP peer's address.
    pub(super) challenge: Option<Box<Challenge>>,
}

impl SocketFace {
    /// Where it leads, for people.
    pub(super) fn place(&self) -> String {
        match self.transport {
            Transport::Management => INTERNAL.to_owned(),
            _ => self.uri.to_string(),
        }
    }

    pub(super) fn is_on_demand(&self) -> bool {
        self.persistency == Persistency::OnDemand
    }

    /// Whether it is removed when it is idle.
    pub(super) fn may_expire(&self) -> bool {
        self.is_on_demand() && self.origin != Origin::Owner
    }

    /// Configured neighbours are probed for it; on-demand peers have to request it.
    pub(super) fn wanted_reliability(&self) -> Reliability {
        match (self.reliability, self.is_on_demand()) {
            (false, _) => Reliability::Off,
            (true, true) => Reliability::OnRequest,
            (true, false) => Reliability::On,
        }
    }

    /// Its class, which determines its share of the PIT.
    pub(super) fn class(&self) -> FaceClass {
        match (self.local, self.is_on_demand()) {
            (true, _) => FaceClass::Local,
            (false, true) => FaceClass::OnDemand,
            (false, false) => FaceClass::Configured,
        }
    }

    pub(super) fn is_datagram(&self) -> bool {
        matches!(self.transport, Transport::Udp { .. })
    }
}

/// All faces, by their numbers and by the ports and addresses of their peers.
pub(super) struct FaceTable {
    /// By the number of the face in the node.
    faces: Vec<Option<SocketFace>>,
    by_number: BTreeMap<u64, FaceId>,
    by_peer: HashMap<(usize, SocketAddr), FaceId>,
    next_number: u64,
    /// Faces that something was sent on since they were last requested, each once.
    touched: Vec<FaceId>,
}

impl FaceTable {
    pub(super) fn new() -> FaceTable {
        let (faces, touched) = (Vec::new(), Vec::new());
        FaceTable { faces, by_number: BTreeMap::new(), by_peer: HashMap::new(), next_number: FIRST_NUMBER, touched }
    }

    /// The number of the next face. No number is used twice.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Adds a face that has [`FaceTable::next_number`].
    pub(super) fn insert(&mut self, id: FaceId, face: SocketFace) {
        self.next_number = face.number + 1;
        self.by_number.insert(face.number, id);
        if let Transport::Udp { port, peer } = face.transport {
            self.by_peer.insert((port, peer), id);
        }
        if self.faces.len() <= id.index() {
            self.faces.resize_with(id.index() + 1, || None);
        }
        self.faces[id.index()] = Some(face);
    }

    pub(super) fn remove(&mut self, id: FaceId) -> Option<SocketFace> {
        let face = self.faces.get_mut(id.index()).and_then(Option::take)?;
        self.by_number.remove(&face.number);
        if let Transport::Udp { port, peer } = face.transport {
            self.by_peer.remove(&(port, peer));
        }
        Some(face)
    }

    pub(super) fn get(&self, id: FaceId) -> Option<&SocketFace> {
        self.faces.get(id.index())?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: FaceId) -> Option<&mut SocketFace> {
        self.faces.get_mut(id.index())?.as_mut()
    }

    /// The public number of a face.
    pub(super) fn number(&self, id: FaceId) -> Option<u64> {
        self.get(id).map(|face| face.number)
    }

    pub(super) fn with_number(&self, number: u64) -> Option<FaceId> {
        self.by_number.get(&number).copied()
    }

    /// The face to a peer of a UDP port.
    pub(super) fn with_peer(&self, port: usize, peer: SocketAddr) -> Option<FaceId> {
        self.by_peer.get(&(port, peer)).copied()
    }

    /// The face to a URI.
    pub(super) fn with_uri(&self, uri: &FaceUri) -> Option<FaceId> {
        self.iter().find(|(_, face)| face.uri == *uri).map(|(id, _)| id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (FaceId, &SocketFace)> {
        self.faces.iter().enumerate().filter_map(|(i, face)| Some((FaceId(i as u16), face.as_ref()?)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (FaceId, &mut SocketFace)> {
        self.faces.iter_mut().enumerate().filter_map(|(i, face)| Some((FaceId(i as u16), face.as_mut()?)))
    }

    /// All faces, the oldest first.
    pub(super) fn by_age(&self) -> impl Iterator<Item = FaceId> {
        self.by_number.values().copied()
    }

    /// Something was sent on a face, or its socket takes more.
    pub(super) fn touch(&mut self, id: FaceId) {
        if !self.touched.contains(&id) {
            self.touched.push(id);
        }
    }

    /// A face that was touched; each is returned once.
    pub(super) fn pop_touched(&mut self) -> Option<FaceId> {
        self.touched.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn face(number: u64, port: u16) -> SocketFace {
        let peer = SocketAddr::from(([192, 0, 2, 1], port));
        SocketFace {
            number,
            uri: format!("udp4://192.0.2.1:{port}").parse().unwrap(),
            transport: Transport::Udp { port: 0, peer },
            persistency: Persistency::OnDemand,
            local: false,
            owner: false,
            mtu: None,
            rate: None,
            reliability: false,
            last_in: Time::ZERO,
            wants_writable: false,
            origin: Origin::of_address(peer.ip()),
            registers: false,
            challenge: None,
        }
    }

    #[test]
    fn a_face_is_found_by_every_key_until_it_is_removed_and_its_number_is_not_reused() {
        let mut faces = FaceTable::new();
        for port in [7, 8] {
            faces.insert(FaceId(port), face(faces.next_number(), port));
        }
        let peer = SocketAddr::from(([192, 0, 2, 1], 7));
        let uri = "udp4://192.0.2.1:7".parse().unwrap();
        let found = |faces: &FaceTable| (faces.with_number(256), faces.with_peer(0, peer), faces.with_uri(&uri));
        assert_eq!(found(&faces), (Some(FaceId(7)), Some(FaceId(7)), Some(FaceId(7))));
        assert_eq!(faces.with_peer(1, peer), None, "of another port");
        assert_eq!(faces.remove(FaceId(7)).map(|face| face.number), Some(256));
        assert_eq!(found(&faces), (None, None, None));
        assert!(faces.remove(FaceId(7)).is_none() && faces.number(FaceId(7)).is_none());
        // The node reuses its own numbers.
        faces.insert(FaceId(7), face(faces.next_number(), 7));
        assert_eq!(faces.number(FaceId(7)), Some(258));
        assert_eq!(faces.by_age().collect::<Vec<_>>(), [FaceId(8), FaceId(7)]);
    }

    #[test]
    fn a_face_that_is_touched_often_is_flushed_once() {
        let mut faces = FaceTable::new();
        [3, 4, 3, 3].into_iter().for_each(|id| faces.touch(FaceId(id)));
        let flushed: Vec<_> = std::iter::from_fn(|| faces.pop_touched()).collect();
        assert_eq!(flushed, [FaceId(4), FaceId(3)]);
    }
}
