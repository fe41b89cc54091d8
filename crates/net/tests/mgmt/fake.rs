//! A forwarder that only records the calls of management.

use ndnweir_core::units::Time;
use ndnweir_net::mgmt::dataset::{
    ChannelStatus, CsInfo, FaceCounters, FaceStatus, FibEntry, ForwarderStatus, LinkType, NextHop, Persistency, Scope,
    StrategyChoice,
};
use ndnweir_net::mgmt::{
    CommandFailure, CommandFormat, ControlParameters, ControlResponse, EraseOutcome, FaceCreated, FaceRequest,
    FaceSettings, Freshness, ManagedForwarder, Management, ManagementConfig, Requester, Timestamps, command_name,
    sign_command,
};
use ndnweir_wire::signature::{DigestSha256, Signer};
use ndnweir_wire::{DataView, InterestBuilder, InterestView, Name, NameView};
use std::collections::BTreeMap;
use std::time::Duration;

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

#[derive(Debug)]
pub struct Fake {
    pub faces: BTreeMap<u64, FaceStatus>,
    pub fib: BTreeMap<Name, BTreeMap<u64, u64>>,
    pub fib_capacity: usize,
    pub strategies: BTreeMap<Name, Name>,
    pub cs: CsInfo,
    pub updates: Vec<(u64, FaceSettings)>,
}

pub fn face(face_id: u64, remote: &str) -> FaceStatus {
    FaceStatus {
        face_id,
        remote_uri: remote.to_owned(),
        local_uri: "unix:///run/nfd/nfd.sock".to_owned(),
        expiration_period: None,
        scope: if remote.starts_with("fd") { Scope::Local } else { Scope::NonLocal },
        persistency: Persistency::Persistent,
        link_type: LinkType::PointToPoint,
        base_congestion_marking_interval: None,
        default_congestion_threshold: None,
        mtu: Some(8800),
        counters: FaceCounters::default(),
        flags: 0,
    }
}

impl Fake {
    pub fn new() -> Fake {
        let faces = [(7, "fd://7"), (8, "fd://8"), (300, "udp4://192.0.2.1:6363")];
        Fake {
            faces: faces.iter().map(|&(id, uri)| (id, face(id, uri))).collect(),
            fib: BTreeMap::new(),
            fib_capacity: usize::MAX,
            strategies: [(Name::new(), name("/localhost/nfd/strategy/best-route/v=5"))].into(),
            cs: CsInfo { capacity: 100, flags: 3, entries: 40, hits: 2, misses: 1 },
            updates: Vec::new(),
        }
    }

    pub fn hops(&self, prefix: &str) -> Vec<(u64, u64)> {
        self.fib.get(&name(prefix)).map(|hops| hops.iter().map(|(f, c)| (*f, *c)).collect()).unwrap_or_default()
    }
}

impl ManagedForwarder for Fake {
    fn status(&self) -> ForwarderStatus {
        ForwarderStatus { version: "fake".to_owned(), fib_entries: self.fib.len() as u64, ..ForwarderStatus::default() }
    }

    fn faces(&self) -> Vec<FaceStatus> {
        self.faces.values().cloned().collect()
    }

    fn channels(&self) -> Vec<ChannelStatus> {
        ["udp4://0.0.0.0:6363", "unix:///run/nfd/nfd.sock"].map(|uri| ChannelStatus { local_uri: uri.into() }).into()
    }

    fn face(&self, face_id: u64) -> Option<FaceStatus> {
        self.faces.get(&face_id).cloned()
    }

    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceCreated, CommandFailure> {
        let uri = request.remote.to_string();
        if let Some(known) = self.faces.values().find(|face| face.remote_uri == uri) {
            return Ok(FaceCreated::Existing(known.face_id));
        }
        let face_id = self.faces.keys().last().map_or(1, |last| last + 1);
        let persistency = request.settings.persistency.unwrap_or(Persistency::Persistent);
        self.faces.insert(face_id, FaceStatus { persistency, ..face(face_id, &uri) });
        Ok(FaceCreated::New(face_id))
    }

    fn update_face(&mut self, face_id: u64, settings: &FaceSettings) -> Result<(), CommandFailure> {
        if settings.mtu.is_some_and(|mtu| mtu < 64) {
            return Err(CommandFailure::new(409, "the MTU is too small"));
        }
        self.updates.push((face_id, settings.clone()));
        Ok(())
    }

    fn destroy_face(&mut self, face_id: u64) -> Result<(), CommandFailure> {
        self.faces.remove(&face_id);
        for hops in self.fib.values_mut() {
            hops.remove(&face_id);
        }
        self.fib.retain(|_, hops| !hops.is_empty());
        Ok(())
    }

    fn set_next_hop(&mut self, prefix: NameView<'_>, face_id: u64, cost: u64) -> Result<(), CommandFailure> {
        if !self.fib.contains_key(prefix.as_bytes()) && self.fib.len() >= self.fib_capacity {
            return Err(CommandFailure::new(500, "the FIB is full"));
        }
        self.fib.entry(prefix.to_owned()).or_default().insert(face_id, cost);
        Ok(())
    }

    fn remove_next_hop(&mut self, prefix: NameView<'_>, face_id: u64) {
        if let Some(hops) = self.fib.get_mut(prefix.as_bytes()) {
            hops.remove(&face_id);
        }
        self.fib.retain(|_, hops| !hops.is_empty());
    }

    fn fib(&self) -> Vec<FibEntry> {
        let hops = |hops: &BTreeMap<u64, u64>| hops.iter().map(|(&face_id, &cost)| NextHop { face_id, cost }).collect();
        self.fib.iter().map(|(name, h)| FibEntry { name: name.clone(), next_hops: hops(h) }).collect()
    }

    fn set_strategy(&mut self, prefix: NameView<'_>, strategy: NameView<'_>) -> Result<Name, CommandFailure> {
        if strategy != name("/localhost/nfd/strategy/multicast").as_view() {
            return Err(CommandFailure::new(404, "there is no such strategy"));
        }
        let instance = name("/localhost/nfd/strategy/multicast/v=4");
        self.strategies.insert(prefix.to_owned(), instance.clone());
        Ok(instance)
    }

    fn unset_strategy(&mut self, prefix: NameView<'_>) {
        self.strategies.remove(prefix.as_bytes());
    }

    fn strategies(&self) -> Vec<StrategyChoice> {
        let choice =
            |(name, strategy): (&Name, &Name)| StrategyChoice { name: name.clone(), strategy: strategy.clone() };
        self.strategies.iter().map(choice).collect()
    }

    fn cs(&self) -> CsInfo {
        self.cs
    }

    fn configure_cs(
        &mut self,
        capacity: Option<u64>,
        admit: Option<bool>,
        serve: Option<bool>,
    ) -> Result<(), CommandFailure> {
        self.cs.capacity = capacity.unwrap_or(self.cs.capacity);
        for (bit, wanted) in [(1, admit), (2, serve)] {
            match wanted {
                Some(true) => self.cs.flags |= bit,
                Some(false) => self.cs.flags &= !bit,
                None => {}
            }
        }
        Ok(())
    }

    fn erase_cs(&mut self, _prefix: NameView<'_>, limit: u64) -> EraseOutcome {
        let count = limit.min(self.cs.entries);
        self.cs.entries -= count;
        EraseOutcome { count, more: self.cs.entries > 0 }
    }
}

/// 2023-11-14, 22:13:20 UTC, and one second on the process's clock.
pub const NOW: Timestamps =
    Timestamps { now: Time::from_nanos(1_000_000_000), unix: Duration::from_secs(1_700_000_000) };

/// A local socket of the forwarder's owner.
pub const OWNER: Requester = Requester { face_id: 7, local: true, owner: true, registers: false };

/// A local socket of another user.
pub const UNKNOWN_PEER: Requester = Requester { face_id: 8, local: true, owner: false, registers: false };

/// Another machine.
pub const NEIGHBOUR: Requester = Requester { face_id: 300, local: false, owner: false, registers: false };

/// Management and the forwarder it manages.
pub struct Rig {
    pub management: Management,
    pub forwarder: Fake,
    pub at: Timestamps,
    counter: u64,
}

impl Rig {
    pub fn new(config: ManagementConfig) -> Rig {
        Rig { management: Management::new(config, NOW), forwarder: Fake::new(), at: NOW, counter: 0 }
    }

    pub fn advance(&mut self, time: Duration) {
        self.at.unix += time;
        self.at.now = Time::from_nanos(self.at.now.nanos() + time.as_nanos() as u64);
    }

    /// The management's answer to these bytes, as a whole packet.
    pub fn packet(&mut self, from: Requester, wire: &[u8]) -> Option<Vec<u8>> {
        let interest = InterestView::decode_unchecked_digest(wire).expect("an Interest");
        self.management.interest(&interest, from, self.at, &mut self.forwarder)
    }

    /// As [`Rig::packet`], for a command: the answer in the Data, whose name and signature must be right.
    pub fn answer(&mut self, from: Requester, wire: &[u8]) -> Option<ControlResponse> {
        let data = self.packet(from, wire)?;
        let data = DataView::decode(&data).expect("a Data packet");
        assert_eq!(data.name(), InterestView::decode_unchecked_digest(wire).unwrap().name());
        assert_eq!(data.verify(&DigestSha256), Ok(()));
        Some(ControlResponse::decode(data.content()).expect("a response"))
    }

    /// Signs a command with a nonce of its own at the present time.
    pub fn signed(&mut self, command: &Name, signer: &dyn Signer) -> Vec<u8> {
        self.counter += 1;
        let freshness = Freshness { time: self.at.unix + Duration::from_millis(1), nonce: self.counter.to_be_bytes() };
        let format =
            if self.counter.is_multiple_of(2) { CommandFormat::NameSuffix } else { CommandFormat::SignedInterest };
        sign_command(command.as_view(), format, signer, freshness, Duration::from_secs(1)).unwrap()
    }

    /// A command of the owner: the code and body of the answer.
    pub fn command(&mut self, verb: &str, parameters: &ControlParameters) -> (u32, Option<ControlParameters>) {
        let (module, verb) = verb.split_once('/').expect("MODULE/VERB");
        let command = command_name(name("/localhost/nfd").as_view(), module, verb, parameters);
        let wire = self.signed(&command, &DigestSha256);
        let response = self.answer(OWNER, &wire).expect("an answer");
        (response.code, response.body.map(|body| *body))
    }

    /// What is published under this name, all segments put together.
    pub fn fetch(&mut self, from: Requester, dataset: &Name) -> Option<Vec<u8>> {
        let ask = InterestBuilder::new(dataset.as_view()).can_be_prefix(true).must_be_fresh(true).encode().unwrap();
        let first = self.packet(from, &ask)?;
        let data = DataView::decode(&first).unwrap();
        let versioned = data.name().parent().unwrap().to_owned();
        assert!(dataset.as_view().is_prefix_of(versioned.as_view()));
        let last = data.final_block_id().unwrap().as_segment().unwrap();
        let mut content = data.content().to_vec();
        for segment in 1..=last {
            let name = versioned.clone().with(ndnweir_wire::Component::segment(segment));
            let wire = InterestBuilder::new(name.as_view()).encode().unwrap();
            let data = self.packet(from, &wire).expect("a segment");
            assert_eq!(DataView::decode(&data).unwrap().verify(&DigestSha256), Ok(()));
            content.extend_from_slice(DataView::decode(&data).unwrap().content());
        }
        Some(content)
    }
}

impl Fake {
    /// A face that ends by itself: its next hops are removed, without notifying management.
    pub fn destroy_quietly(&mut self, face_id: u64) {
        ManagedForwarder::destroy_face(self, face_id).unwrap();
    }
}
