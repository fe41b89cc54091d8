//! Random sequences of operations with real bytes: nothing panics, memory stays in bounds, what leaves are bytes that
//! came in, Data go to the requesting faces, and in the end nothing is left over.

use super::bench::*;
use ndnweir_core::ids::FaceId;
use ndnweir_core::registry::AnyStrategy;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::Duration;
use ndnweir_node::forwarder::FaceOptions;
use ndnweir_wire::lp::PitToken;
use ndnweir_wire::{DataView, InterestBuilder, InterestView, LpHeader, LpPacketView, NackReason, PacketView};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

const MEMORY: u64 = 20_000;
const NAMES: [&str; 9] =
    ["/a", "/a/b", "/a/b/seg=0", "/a/b/seg=1", "/a/b/50=%00%01", "/a/c/seg=7/x", "/b", "/localhost/a", "/localhop/a"];
/// `/r` is the region.
const HINTS: [[&str; 2]; 4] = [["/b", "/a"], ["/none", "/a/c"], ["/none", "/r"], ["/localhost/a", "/localhop"]];

/// Whose strategy changes.
const PREFIXES: [&str; 4] = ["/", "/a", "/a/b", "/localhost"];

#[derive(Clone, Debug)]
enum Op {
    Interest { face: usize, name: usize, nonce: u8, flags: u8, lifetime: u16, token: bool },
    ByDigest { face: usize, name: usize, content: u8, nonce: u8 },
    Data { face: usize, name: usize, content: u8, fresh: u16, mark: bool },
    Nack { face: usize, name: usize, nonce: u8, flags: u8 },
    Broken { face: usize, name: usize, at: usize, with: u8, cut: usize },
    Fragments { face: usize, name: usize, skip: usize },
    Wait(u16),
    Route { name: usize, face: usize, add: bool },
    Replace { face: usize },
    Erase { name: usize },
    Choose { name: usize, strategy: usize, shaped: Option<bool> },
    Unchoose { name: usize },
    Cache { packets: usize, admits: bool, serves: bool },
}

fn op() -> impl Strategy<Value = Op> {
    let face = 0usize..4;
    let name = 0..NAMES.len();
    prop_oneof![
        8 => (face.clone(), name.clone(), 0u8..6, any::<u8>(), 0u16..3000, any::<bool>()).prop_map(
            |(face, name, nonce, flags, lifetime, token)| Op::Interest { face, name, nonce, flags, lifetime, token }),
        2 => (face.clone(), name.clone(), 0u8..2, 0u8..6).prop_map(
            |(face, name, content, nonce)| Op::ByDigest { face, name, content, nonce }),
        8 => (face.clone(), name.clone(), 0u8..2, 0u16..2000, any::<bool>()).prop_map(
            |(face, name, content, fresh, mark)| Op::Data { face, name, content, fresh, mark }),
        2 => (face.clone(), name.clone(), 0u8..6, any::<u8>()).prop_map(
            |(face, name, nonce, flags)| Op::Nack { face, name, nonce, flags }),
        2 => (face.clone(), name.clone(), 0usize..60, any::<u8>(), 0usize..60).prop_map(
            |(face, name, at, with, cut)| Op::Broken { face, name, at, with, cut }),
        1 => (face.clone(), name.clone(), 0usize..5).prop_map(
            |(face, name, skip)| Op::Fragments { face, name, skip }),
        3 => (0u16..1500).prop_map(Op::Wait),
        2 => (name.clone(), face.clone(), any::<bool>()).prop_map(|(name, face, add)| Op::Route { name, face, add }),
        1 => face.prop_map(|face| Op::Replace { face }),
        1 => name.clone().prop_map(|name| Op::Erase { name }),
        2 => (0..PREFIXES.len(), 0..AnyStrategy::ALL.len(), any::<Option<bool>>()).prop_map(
            |(name, strategy, shaped)| Op::Choose { name, strategy, shaped }),
        1 => (0..PREFIXES.len()).prop_map(|name| Op::Unchoose { name }),
        1 => (0usize..6, any::<bool>(), any::<bool>()).prop_map(
            |(packets, admits, serves)| Op::Cache { packets, admits, serves }),
    ]
}

fn interest_bytes(name: usize, nonce: u8, flags: u8, lifetime: u16) -> Vec<u8> {
    let name = super::bench::name(NAMES[name]);
    let mut builder = InterestBuilder::new(name.as_view());
    // One in sixteen has no nonce.
    if flags & 0xf0 != 0 {
        builder = builder.nonce([0, 0, 0, nonce]);
    }
    if flags & 4 != 0 {
        builder = builder.hop_limit(nonce);
    }
    builder = builder.can_be_prefix(flags & 1 != 0).must_be_fresh(flags & 2 != 0);
    let hint = HINTS[usize::from(nonce) % HINTS.len()].map(super::bench::name);
    if flags & 8 != 0 {
        builder = builder.forwarding_hint(hint.iter().map(ndnweir_wire::Name::as_view));
    }
    builder.lifetime(std::time::Duration::from_millis(lifetime.into())).encode().unwrap()
}

/// Data whose size depends on the content, some more than one frame.
fn answer(name: usize, content: u8, fresh: u16) -> Vec<u8> {
    data(NAMES[name], &vec![content; 20 + 2000 * usize::from(content)], u64::from(fresh))
}

/// The identity of an Interest, whatever changes on its path, in its producer's region or not.
fn essence(packet: &[u8], arrived: bool) -> Vec<u8> {
    let view = InterestView::decode_unchecked_digest(packet).unwrap();
    let mut builder = InterestBuilder::from_view(&view).nonce([0; 4]);
    if arrived {
        builder = builder.forwarding_hint([]);
    }
    if view.hop_limit().is_some() {
        builder = builder.hop_limit(0);
    }
    builder.encode().unwrap()
}

/// What an Interest requests, which is all that a node remembers of one for a next hop that is added later.
fn question(view: &InterestView<'_>) -> (Vec<u8>, bool) {
    (view.name().as_bytes().to_vec(), view.can_be_prefix())
}

struct Run {
    bench: Bench,
    /// The node's number of each of the four faces.
    faces: [u16; 4],
    options: [FaceOptions; 4],
    interests: BTreeSet<Vec<u8>>,
    rebuilt: BTreeSet<(Vec<u8>, bool)>,
    data: BTreeSet<Vec<u8>>,
    /// What each face has requested.
    wanted: Vec<(u16, Vec<u8>)>,
    /// Of the next fragment.
    sequence: u64,
}

impl Run {
    fn new(scheme: &serde_json::Value) -> Run {
        let slow = paced(1.0, 5);
        let options = [local(), local(), FaceOptions { mtu: None, ..remote() }, slow];
        let change = |config: &mut ndnweir_node::ForwarderConfig<'_>| {
            (config.memory, config.pit_limit, config.cache) = (bytes(MEMORY), 6, 4);
            config.max_lifetime = Duration::from_millis(2000);
            config.prefixes = 5;
        };
        let mut bench = Bench::with(scheme, change, options.to_vec());
        bench.route("/a", 1);
        bench.route("/a", 3);
        bench.route("/", 2);
        bench.forwarder.set_regions(vec![super::bench::name("/r/here")]);
        let (interests, rebuilt, data) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Run { bench, faces: [0, 1, 2, 3], options, interests, rebuilt, data, wanted: Vec::new(), sequence: 0 }
    }

    fn give(&mut self, face: usize, frame: &[u8]) {
        // Mutated bytes may be packets too.
        if let Ok(view) = LpPacketView::decode(frame)
            && !view.is_fragmented()
            && let Some(packet) = view.fragment
        {
            self.came(face, packet, view.nack.is_some());
        }
        self.bench.receive(self.faces[face], frame);
    }

    fn came(&mut self, face: usize, packet: &[u8], rejected: bool) {
        match PacketView::decode(packet) {
            Ok(PacketView::Interest(_)) => {
                self.interests.extend([false, true].map(|arrived| essence(packet, arrived)));
                if let Ok(view) = InterestView::decode_unchecked_digest(packet) {
                    self.rebuilt.insert(question(&view));
                }
                if !rejected {
                    self.wanted.push((self.faces[face], packet.to_vec()));
                }
            }
            Ok(PacketView::Data(_)) => drop(self.data.insert(packet.to_vec())),
            Err(_) => {}
        }
    }

    fn step(&mut self, op: &Op) {
        match *op {
            Op::Interest { face, name, nonce, flags, lifetime, token } => {
                let pit_token = if token { PitToken::new(&[nonce + 1; 4]).ok() } else { None };
                let header = LpHeader { pit_token, ..LpHeader::default() };
                self.give(face, &header.wrap(&interest_bytes(name, nonce, flags, lifetime)));
            }
            Op::ByDigest { face, name, content, nonce } => {
                let full = full_name(NAMES[name], &answer(name, content, 0));
                self.give(face, &interest(&full, nonce.into()));
            }
            Op::Data { face, name, content, fresh, mark } => {
                // Freshness 0 is the Data that others request by digest.
                let fresh = if fresh < 1000 { 0 } else { fresh };
                let header = LpHeader { congestion_mark: mark.then_some(1), ..LpHeader::default() };
                self.give(face, &header.wrap(&answer(name, content, fresh)));
            }
            Op::Nack { face, name, nonce, flags } => {
                let header = LpHeader { nack: Some(NackReason::Congestion), ..LpHeader::default() };
                self.give(face, &header.encode(Some(&interest_bytes(name, nonce, flags | 0x10, 1000))));
            }
            Op::Broken { face, name, at, with, cut } => {
                let mut packet = if with % 2 == 0 { interest_bytes(name, with, with, 500) } else { answer(name, 0, 0) };
                let at = at % packet.len();
                packet[at] ^= with;
                packet.truncate(packet.len() - cut % packet.len());
                self.give(face, &packet);
            }
            Op::Fragments { face, name, skip } => {
                let packet = answer(name, 1, 0);
                self.came(face, &packet, false);
                let mut fragmenter = ndnweir_wire::lp::Fragmenter::new(600, self.sequence);
                self.sequence += 100;
                for (i, part) in fragmenter.fragment(&LpHeader::default(), &packet).unwrap().iter().enumerate() {
                    if i != skip {
                        self.give(face, part);
                    }
                }
            }
            Op::Wait(duration) => self.bench.wait(duration.into()),
            Op::Route { name, face, add } => {
                let prefix = super::bench::name(NAMES[name]);
                let (now, face) = (self.bench.now, FaceId(self.faces[face]));
                if add {
                    // It may be full, or not allowed to leave.
                    let _ = self.bench.forwarder.add_next_hop(now, prefix.as_view(), face, 1);
                } else {
                    self.bench.forwarder.remove_next_hop(now, prefix.as_view(), face);
                }
                self.bench.collect();
            }
            Op::Replace { face } => {
                let now = self.bench.now;
                self.bench.forwarder.remove_face(now, FaceId(self.faces[face]));
                self.wanted.retain(|(known, _)| *known != self.faces[face]);
                self.faces[face] = self.bench.forwarder.add_face(now, self.options[face].clone()).unwrap().0;
                self.bench.collect();
            }
            Op::Erase { name } => {
                let prefix = super::bench::name(NAMES[name]);
                let (_, left) = self.bench.forwarder.erase(prefix.as_view(), usize::MAX);
                assert!(!left);
            }
            Op::Choose { name, strategy, shaped } => {
                let (now, prefix) = (self.bench.now, super::bench::name(PREFIXES[name]));
                let mut strategy = ComponentChoice::plain(AnyStrategy::ALL[strategy].name).unwrap();
                if strategy.name() == "b-icp" {
                    // So that it holds something.
                    strategy.change(&json!({ "initial-window": 1.0 })).unwrap();
                }
                // There may be no header field left for it.
                let _ = self.bench.forwarder.choose(now, prefix.as_view(), &strategy, shaped);
                self.bench.collect();
            }
            Op::Unchoose { name } => {
                self.bench.forwarder.unset_strategy(super::bench::name(PREFIXES[name]).as_view());
            }
            Op::Cache { packets, admits, serves } => {
                self.bench.forwarder.set_cache(packets, admits, serves);
                assert!(self.bench.forwarder.node().counters().cache <= packets as u64);
            }
        }
        self.check();
    }

    fn check(&mut self) {
        let counters = self.bench.forwarder.counters();
        assert!(counters.held_bytes <= MEMORY, "{counters:?}");
        assert!(self.bench.forwarder.node().counters().pit <= 6);
        for (face, frame) in self.bench.take() {
            assert!(self.faces.contains(&face), "a face that is gone is sent to");
            let (packet, header) = open(&frame);
            let local = face == self.faces[0] || face == self.faces[1];
            match PacketView::decode(&packet).unwrap() {
                PacketView::Interest(view) => {
                    let sent =
                        self.interests.contains(&essence(&packet, false)) || self.rebuilt.contains(&question(&view));
                    assert!(sent, "an Interest that was not sent");
                    let localhost = view.name().to_string().starts_with("/localhost");
                    assert!(local || !localhost, "/localhost leaves");
                    let has_sent_its_request = |(known, interest): &(u16, Vec<u8>)| {
                        let interest = InterestView::decode_unchecked_digest(interest).unwrap();
                        let same = interest.name() == view.name() && interest.can_be_prefix() == view.can_be_prefix();
                        *known == face && same
                    };
                    assert!(
                        header.nack.is_none() || self.wanted.iter().any(has_sent_its_request),
                        "a NACK to who did not ask"
                    );
                }
                PacketView::Data(view) => {
                    assert!(self.data.contains(&packet), "a Data that was not sent");
                    assert!(self.wants(face, &view), "a Data to who did not ask");
                }
            }
        }
    }

    fn wants(&self, face: u16, data: &DataView<'_>) -> bool {
        self.wanted.iter().any(|(known, interest)| {
            *known == face
                && InterestView::decode_unchecked_digest(interest).is_ok_and(|interest| interest.matches(data))
        })
    }
}

proptest! {
    #[test]
    fn whatever_comes_in_the_bytes_that_leave_are_right_and_nothing_is_left_over(
        ops in prop::collection::vec(op(), 1..120),
        scheme in prop_oneof![
            Just(json!({})),
            Just(json!({ "base": "pcon" })),
            Just(json!({ "base": "b-icp" })),
            Just(json!({ "base": "his" })),
            Just(json!({ "base": "hobhis" })),
            Just(json!({ "base": "hr-icp" })),
            Just(json!({ "base": "kato-window" })),
            Just(json!({ "base": "nack-once" })),
            Just(json!({ "base": "kato-window", "prefixes": { "/a": { "shaper": "none" }, "/a/b": "b-icp" } })),
            Just(json!({ "base": "hbhcm", "strategy": "multicast" })),
        ],
    ) {
        let mut run = Run::new(&scheme);
        for op in &ops {
            run.step(op);
        }
        run.bench.check_empty();
    }
}
