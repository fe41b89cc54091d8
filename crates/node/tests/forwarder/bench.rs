//! A forwarder under test: faces, bytes in, bytes out.

use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_node::forwarder::{FaceOptions, Frames, Reliability};
use ndnweir_node::header::FieldTrust;
use ndnweir_node::{FaceClass, FaceConfig, Forwarder, ForwarderConfig};
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, InterestBuilder, LpHeader, LpPacketView, Name};
use serde_json::json;

pub fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(1000 + ms)
}

pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// An application on this node.
pub fn local() -> FaceOptions {
    let node = FaceConfig::local();
    let (mark_kernel_queue, tell_incoming) = (false, false);
    let (reliability, mark_losses, learns_rate) = (Reliability::Off, 0.03, false);
    let (trust, mtu) = (FieldTrust::Neighbour, None);
    let (class, group, number) = (FaceClass::Local, 0, 1);
    FaceOptions {
        node,
        class,
        group,
        trust,
        mtu,
        reliability,
        mark_losses,
        learns_rate,
        mark_kernel_queue,
        tell_incoming,
        number,
    }
}

/// A neighbour over a link without a rate.
pub fn remote() -> FaceOptions {
    let node = FaceConfig { local: false, ..FaceConfig::local() };
    FaceOptions { node, class: FaceClass::Configured, mtu: Some(1400), ..local() }
}

/// A peer that was made on demand, from this address.
pub fn on_demand_peer(address: u128) -> FaceOptions {
    FaceOptions { class: FaceClass::OnDemand, group: address, trust: FieldTrust::Untrusted, ..remote() }
}

/// A neighbour over a link with a rate.
pub fn paced(mbps: f64, packets: u32) -> FaceOptions {
    let node = FaceConfig::link(Rate::from_mbps(mbps), Limit::Packets(packets));
    FaceOptions { node, class: FaceClass::Configured, mtu: None, ..local() }
}

pub struct Bench {
    pub forwarder: Forwarder,
    pub now: Time,
    /// What left: face and frame.
    pub sent: Vec<(FaceId, Vec<u8>)>,
}

impl Bench {
    pub fn new(faces: Vec<FaceOptions>) -> Bench {
        Bench::with(&json!({}), |_| (), faces)
    }

    pub fn with(
        scheme: &serde_json::Value,
        change: impl Fn(&mut ForwarderConfig<'_>),
        faces: Vec<FaceOptions>,
    ) -> Bench {
        let scheme = Scheme::resolve("test", scheme).unwrap();
        let mut config = ForwarderConfig::new(&scheme);
        change(&mut config);
        let mut forwarder = Forwarder::new(config).unwrap();
        for face in faces {
            forwarder.add_face(ms(0), face).unwrap();
        }
        Bench { forwarder, now: ms(0), sent: Vec::new() }
    }

    pub fn route(&mut self, prefix: &str, face: u16) {
        self.forwarder.add_next_hop(self.now, name(prefix).as_view(), FaceId(face), 1).unwrap();
    }

    /// Gives a frame to the forwarder and collects what leaves.
    pub fn receive(&mut self, face: u16, frame: &[u8]) {
        self.forwarder.receive(self.now, FaceId(face), frame);
        self.collect();
    }

    pub fn collect(&mut self) {
        let mut frames = Frames::default();
        while let Some(face) = self.forwarder.poll_transmit(self.now, &mut frames) {
            self.sent.extend(frames.iter().map(|frame| (face, frame.to_vec())));
            frames.clear();
        }
    }

    /// Lets the time pass, with all timeouts on the way.
    pub fn wait(&mut self, span_ms: u64) {
        self.wait_us(1000 * span_ms);
    }

    pub fn wait_us(&mut self, span_us: u64) {
        let end = self.now + Duration::from_micros(span_us);
        while self.forwarder.poll_timeout() <= end {
            self.now = self.now.max(self.forwarder.poll_timeout());
            self.forwarder.handle_timeout(self.now);
            self.collect();
        }
        self.now = end;
    }

    /// What left since the last call.
    pub fn take(&mut self) -> Vec<(u16, Vec<u8>)> {
        self.sent.drain(..).map(|(face, frame)| (face.0, frame)).collect()
    }

    /// Nothing is in use when nothing is pending and the content store is empty.
    pub fn check_empty(&mut self) {
        self.wait(200_000);
        self.forwarder.evict(usize::MAX);
        let counters = self.forwarder.counters();
        assert_eq!((counters.names, counters.payloads, counters.held_bytes), (0, 0, 0), "{counters:?}");
        assert_eq!(self.forwarder.node().counters().check(), Ok(()));
    }
}

pub fn interest(text: &str, nonce: u32) -> Vec<u8> {
    InterestBuilder::new(name(text).as_view()).nonce(nonce.to_be_bytes()).encode().unwrap()
}

/// An Interest with a ForwardingHint.
pub fn hinted(text: &str, hint: &[&str], nonce: u32) -> Vec<u8> {
    let (name, hint) = (name(text), hint.iter().map(|text| self::name(text)).collect::<Vec<Name>>());
    let builder = InterestBuilder::new(name.as_view()).nonce(nonce.to_be_bytes());
    builder.forwarding_hint(hint.iter().map(Name::as_view)).encode().unwrap()
}

pub fn prefix_interest(text: &str, nonce: u32, fresh: bool) -> Vec<u8> {
    let name = name(text);
    let builder = InterestBuilder::new(name.as_view()).nonce(nonce.to_be_bytes());
    builder.can_be_prefix(true).must_be_fresh(fresh).encode().unwrap()
}

pub fn data(text: &str, content: &[u8], fresh_ms: u64) -> Vec<u8> {
    let name = name(text);
    let builder = DataBuilder::new(name.as_view()).content(content);
    builder.freshness_period(std::time::Duration::from_millis(fresh_ms)).sign(&DigestSha256).unwrap()
}

/// The full name of a Data.
pub fn full_name(text: &str, data: &[u8]) -> String {
    let digest = ndnweir_wire::DataView::decode(data).unwrap().implicit_digest();
    name(text).with(Component::implicit_digest(&digest)).to_string()
}

/// The network-layer packet in a frame, and its header.
pub fn open(frame: &[u8]) -> (Vec<u8>, LpHeader) {
    let view = LpPacketView::decode(frame).unwrap();
    (view.fragment.unwrap().to_vec(), view.to_header())
}

pub fn bytes(n: u64) -> Bytes {
    Bytes::new(n)
}
