//! What the target of the forwarder does with its input.

use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::AnyStrategy;
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_node::forwarder::{FaceOptions, Frames, Reliability};
use ndnweir_node::header::FieldTrust;
use ndnweir_node::{FaceClass, FaceConfig, Forwarder, ForwarderConfig};
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{DataBuilder, InterestBuilder, LpHeader, LpPacketView, NackReason, Name, PacketView};

const NAMES: [&str; 8] =
    ["/", "/a", "/a/b", "/a/b/seg=0", "/a/b/seg=1", "/b", "/localhost/nfd/rib/list", "/localhop/nfd/x"];
/// The first is in the forwarder's region.
const HINTS: [&[&str]; 4] = [&["/b", "/r"], &["/a/b"], &["/none", "/localhost", "/a"], &["/none"]];
const SCHEMES: [&str; 4] = ["pcon", "hbhcm", "hr-icp", "b-icp"];
const MEMORY: u64 = 30_000;
const PIT: usize = 8;
const FRAGMENTS: u64 = 3000;

fn faces() -> [FaceOptions; 4] {
    let local = FaceOptions {
        node: FaceConfig::local(),
        class: FaceClass::Local,
        group: 0,
        trust: FieldTrust::Neighbour,
        mtu: None,
        reliability: Reliability::Off,
        mark_losses: 0.03,
        learns_rate: true,
        mark_kernel_queue: true,
        tell_incoming: true,
        number: 256,
    };
    let remote = FaceConfig { local: false, ..FaceConfig::local() };
    let paced = FaceConfig::link(Rate::from_mbps(1.0), Limit::Packets(5));
    [
        local.clone(),
        local.clone(),
        FaceOptions {
            node: remote,
            class: FaceClass::OnDemand,
            group: 1,
            trust: FieldTrust::Untrusted,
            mtu: Some(300),
            reliability: Reliability::On,
            ..local.clone()
        },
        FaceOptions {
            node: paced,
            class: FaceClass::Configured,
            mtu: Some(1400),
            reliability: Reliability::OnRequest,
            ..local
        },
    ]
}

/// A packet of one of the names.
fn packet(kind: u8, name: u8, bytes: &[u8]) -> Vec<u8> {
    let name: Name = NAMES[usize::from(name) % NAMES.len()].parse().expect("a name");
    let byte = |i: usize| bytes.get(i).copied().unwrap_or(0);
    if kind & 1 == 0 {
        let builder = InterestBuilder::new(name.as_view()).nonce([0, 0, 0, byte(0) & 7]);
        let builder = builder.can_be_prefix(byte(1) & 1 != 0).must_be_fresh(byte(1) & 2 != 0);
        let hint: &[&str] = if byte(1) & 4 != 0 { HINTS[usize::from(byte(1) >> 3) % HINTS.len()] } else { &[] };
        let hint: Vec<Name> = hint.iter().map(|text| text.parse().expect("a name")).collect();
        let builder = builder.forwarding_hint(hint.iter().map(Name::as_view));
        let builder = builder.lifetime(core::time::Duration::from_millis(u64::from(byte(2)) * 10));
        builder.encode().unwrap_or_default()
    } else {
        let content: Vec<u8> = bytes.iter().copied().cycle().take(bytes.len() * 20).collect();
        DataBuilder::new(name.as_view()).content(&content).sign(&DigestSha256).unwrap_or_default()
    }
}

/// Adds a TxSequence and acks of what was sent lately, or of something else.
fn reliable(header: LpHeader, latest: u64, op: &u8, bytes: &[u8]) -> LpHeader {
    let tx_sequence = bytes.get(4).filter(|_| op & 16 != 0).map(|number| u64::from(*number));
    let base = if op & 64 == 0 { latest.wrapping_sub(16) } else { 0 };
    let acks = bytes.iter().skip(5).map(|byte| base.wrapping_add(u64::from(byte & 31))).collect();
    LpHeader { tx_sequence, acks, ..header }
}

struct World {
    forwarder: Forwarder,
    now: Time,
    /// By the number of the face in the node.
    mtus: Vec<Option<usize>>,
    /// The latest TxSequence that left.
    number: u64,
    frames: Frames,
}

impl World {
    fn add(&mut self, face: usize) -> FaceId {
        let options = faces()[face].clone();
        let mtu = options.mtu;
        let id = self.forwarder.add_face(self.now, options).expect("there are numbers left");
        self.mtus.resize(self.mtus.len().max(id.index() + 1), None);
        self.mtus[id.index()] = mtu;
        id
    }

    /// Takes what leaves, and checks it and the bounds.
    fn leave(&mut self) {
        self.frames.clear();
        while let Some(face) = self.forwarder.poll_transmit(self.now, &mut self.frames) {
            let mtu = self.mtus[face.index()];
            for frame in self.frames.iter() {
                assert!(mtu.is_none_or(|mtu| frame.len() <= mtu));
                let view = LpPacketView::decode(frame).expect("what is sent decodes");
                self.number = view.tx_sequence.unwrap_or(self.number);
                match view.fragment {
                    Some(packet) => assert!(view.is_fragmented() || PacketView::decode(packet).is_ok()),
                    None => assert!(view.acks().next().is_some(), "idle packets are for acks"),
                }
            }
            self.frames.clear();
        }
        let counters = self.forwarder.counters();
        assert!(counters.held_bytes <= MEMORY);
        assert!(self.forwarder.node().counters().pit <= PIT as u64);
        assert!(counters.fragment_bytes <= FRAGMENTS);
        assert!(counters.unacknowledged_bytes <= MEMORY / 8);
    }

    fn wait(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.forwarder.poll_timeout() <= end {
            self.now = self.now.max(self.forwarder.poll_timeout());
            self.forwarder.handle_timeout(self.now);
            self.leave();
        }
        self.now = end;
        self.forwarder.expire_fragments(end);
    }
}

/// Reads the input as frames on four faces: any bytes, packets with header fields of the input's choice, fragments,
/// NACKs, packets within packets; in between time passes, faces come and go, and strategies change. What leaves must be
/// valid frames that fit the link, the bounds must hold throughout, and nothing may be left in the end.
pub fn forwarder(input: &[u8]) {
    let [scheme, rest @ ..] = input else { return };
    let scheme = Scheme::named(SCHEMES[usize::from(*scheme) % SCHEMES.len()]).expect("a scheme");
    let config = ForwarderConfig {
        memory: Bytes::new(MEMORY),
        fragments: Bytes::new(FRAGMENTS),
        pit_limit: PIT,
        cache: 4,
        prefixes: 4,
        max_lifetime: Duration::from_millis(2000),
        ..ForwarderConfig::new(&scheme)
    };
    let mut forwarder = Forwarder::new(config).expect("a forwarder");
    forwarder.set_regions(vec!["/r/here".parse().expect("a name")]);
    let now = Time::ZERO + Duration::from_millis(1000);
    let mut world = World { forwarder, now, mtus: Vec::new(), number: 0, frames: Frames::default() };
    let mut ids: Vec<FaceId> = (0..4).map(|face| world.add(face)).collect();
    for (prefix, face) in [("/a", 1), ("/a", 3), ("/", 2)] {
        let prefix: Name = prefix.parse().expect("a name");
        world.forwarder.add_next_hop(now, prefix.as_view(), ids[face], 1).expect("there is room");
    }
    let mut rest = rest;
    while let [op, arg, len, tail @ ..] = rest {
        let (bytes, tail) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = tail;
        let id = ids[usize::from(op >> 6)];
        let byte = |i: usize| u64::from(bytes.get(i).copied().unwrap_or(0));
        let marked = LpHeader { congestion_mark: Some(byte(3)), ..LpHeader::default() };
        let frame = match op & 7 {
            0 => bytes.to_vec(),
            1 | 2 => packet(*op, *arg, bytes),
            3 => {
                // Bytes of the input may stand where a packet should.
                let inside = if op & 8 == 0 { packet(op >> 4, *arg, bytes) } else { bytes.to_vec() };
                let (sequence, index, count) = (Some(byte(0)), Some(byte(1) & 3), Some(byte(2) & 3));
                let header = LpHeader { sequence, frag_index: index, frag_count: count, ..marked };
                reliable(header, world.number, op, bytes).encode(Some(&inside))
            }
            4 => {
                let header = LpHeader { nack: Some(NackReason::Congestion), ..marked };
                header.encode(Some(&packet(op >> 4, *arg, bytes)))
            }
            5 if op & 8 == 0 => marked.encode(Some(&marked.encode(Some(bytes)))),
            5 => reliable(marked, world.number, op, bytes).encode((op & 32 == 0).then_some(&packet(*op, *arg, bytes))),
            6 => {
                world.wait(Duration::from_millis(u64::from(*arg) * 4));
                continue;
            }
            _ if op & 8 != 0 => {
                let prefix: Name = NAMES[usize::from(*arg) % NAMES.len()].parse().expect("a name");
                let strategy = AnyStrategy::ALL[byte(0) as usize % AnyStrategy::ALL.len()].name;
                if byte(1) & 1 == 0 {
                    // There may be no header field left for it.
                    let strategy = ComponentChoice::plain(strategy).expect("a strategy of the registry");
                    let _ = world.forwarder.choose(world.now, prefix.as_view(), &strategy, None);
                } else {
                    world.forwarder.unset_strategy(prefix.as_view());
                }
                world.leave();
                continue;
            }
            _ => {
                let face = usize::from(*arg) % ids.len();
                world.forwarder.remove_face(world.now, ids[face]);
                ids[face] = world.add(face);
                continue;
            }
        };
        world.forwarder.receive(world.now, id, &frame);
        world.leave();
    }
    world.wait(Duration::from_millis(200_000));
    world.forwarder.evict(usize::MAX);
    let left = world.forwarder.counters();
    assert_eq!((left.names, left.payloads, left.held_bytes, left.fragment_bytes), (0, 0, 0, 0));
    assert_eq!(left.unacknowledged_bytes, 0);
    assert_eq!(world.forwarder.node().counters().check(), Ok(()));
}
