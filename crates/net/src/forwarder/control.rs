//! What the management protocol may do with the forwarder.
//!
//! The scheme's strategy is the strategy of all prefixes, and the content store has the size it was started with;
//! commands that would have it otherwise are refused.

use super::Daemon;
use super::config::FaceSpec;
use super::links::{Link, Transport, uri_of};
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::{
    CsInfo, FaceCounters, FaceStatus, FibEntry, ForwarderStatus, LinkType, NextHop, Persistency, Scope, StrategyChoice,
};
use crate::mgmt::{Control, Erased, FaceCreated, FaceRequest, FaceSettings, Failure, cs_flags, face_flags};
use ndnweir_core::ids::FaceId;
use ndnweir_core::registry::Family;
use ndnweir_node::forwarder::Reliability;
use ndnweir_wire::{Component, Name, NameView};

/// Frames smaller than this leave little room beside the link header.
const MIN_MTU: u64 = 256;
const NO_RELIABILITY: &str = "streams lose nothing: only a UDP face can have link reliability";

impl Daemon {
    pub(super) fn face_status(&self, id: FaceId) -> Option<FaceStatus> {
        let link = self.links.get(id.index())?.as_ref()?;
        let count = self.forwarder.link_counters(id);
        let (remote_uri, local_uri) = self.uris(link);
        Some(FaceStatus {
            face_id: link.id,
            remote_uri,
            local_uri,
            expiration_period: None,
            scope: if link.local { Scope::Local } else { Scope::NonLocal },
            persistency: link.persistency,
            link_type: LinkType::PointToPoint,
            base_congestion_marking_interval: None,
            default_congestion_threshold: None,
            mtu: link.mtu.map(|mtu| mtu as u64),
            counters: FaceCounters {
                in_interests: count.interests_in,
                in_data: count.data_in,
                in_nacks: count.nacks_in,
                out_interests: count.interests_out,
                out_data: count.data_out,
                out_nacks: count.nacks_out,
                in_bytes: count.bytes_in,
                out_bytes: count.bytes_out,
                acknowledged_frames: count.link.acked,
                retransmitted_frames: count.link.retransmitted,
                given_up_packets: count.link.given_up,
            },
            flags: self.flags(id),
        })
    }

    fn flags(&self, id: FaceId) -> u64 {
        let (reliability, in_use) = self.forwarder.reliability(id);
        let flag = |is, flag| if is { flag } else { 0 };
        flag(self.forwarder.marks_kernel_queue(id), face_flags::CONGESTION_MARKING)
            | flag(reliability == Reliability::On || in_use, face_flags::LP_RELIABILITY)
    }

    /// The two ends of a face, as NFD writes them.
    fn uris(&self, link: &Link) -> (String, String) {
        match (&link.transport, &link.uri) {
            (Transport::Management, _) => ("internal://".into(), "internal://".into()),
            (Transport::Udp { port, .. }, uri) => (uri.to_string(), uri_of(true, self.udp[*port].local()).to_string()),
            (_, FaceUri::Unix(_)) if link.is_on_demand() => (format!("fd://{}", link.id), link.uri.to_string()),
            (_, uri) => (uri.to_string(), uri.to_string()),
        }
    }

    fn strategy(&self) -> Name {
        let part = &self.config.scheme.part(Family::Strategy).name;
        let words = ["localhost", "nfd", "strategy", part.as_str()];
        words.into_iter().map(Component::generic).chain([Component::version(1)]).fold(Name::new(), Name::with)
    }
}

impl Control for Daemon {
    fn status(&self) -> ForwarderStatus {
        let (here, node) = (self.forwarder.counters(), self.forwarder.node().counters());
        let passed = self.passed();
        ForwarderStatus {
            version: concat!("ndnweir ", env!("CARGO_PKG_VERSION")).into(),
            name_tree_entries: here.names,
            fib_entries: self.forwarder.routes().count() as u64,
            pit_entries: node.pit,
            cs_entries: node.cache,
            satisfied_interests: node.answered + node.hits,
            unsatisfied_interests: node.expired + node.refused,
            in_interests: passed.interests_in,
            in_data: passed.data_in,
            in_nacks: passed.nacks_in,
            out_interests: passed.interests_out,
            out_data: passed.data_out,
            out_nacks: passed.nacks_out,
            ..ForwarderStatus::default()
        }
    }

    fn faces(&self) -> Vec<FaceStatus> {
        self.by_id.values().filter_map(|&id| self.face_status(id)).collect()
    }

    fn face(&self, face_id: u64) -> Option<FaceStatus> {
        self.face_status(*self.by_id.get(&face_id)?)
    }

    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceCreated, Failure> {
        if matches!(request.remote, FaceUri::Unix(_)) {
            return Err(Failure::new(406, "faces to Unix sockets are made by who listens there"));
        }
        let persistency = request.settings.persistency.unwrap_or(Persistency::Persistent);
        if let Some(id) = self.face_of(&request.remote) {
            // Who may give commands vouches for the neighbour.
            self.adopt(id, persistency);
            return Ok(FaceCreated::Existing(self.links[id.index()].as_ref().map_or(0, |link| link.id)));
        }
        let datagram = matches!(request.remote, FaceUri::Udp(..));
        if request.settings.reliability == Some(true) && !datagram {
            return Err(Failure::new(409, NO_RELIABILITY));
        }
        let mut spec = FaceSpec::new(request.remote.clone());
        spec.mtu = match request.settings.mtu {
            Some(mtu) => mtu.clamp(MIN_MTU, 8800) as usize,
            None => self.config.mtu,
        };
        spec.reliability = request.settings.reliability.unwrap_or(spec.reliability);
        let id = self.create(&spec, persistency).map_err(|e| Failure::new(504, e.to_string()))?;
        let number = self.links[id.index()].as_ref().map_or(0, |link| link.id);
        if request.settings.congestion_marking == Some(false) {
            self.forwarder.set_mark_kernel_queue(id, false).map_err(|e| Failure::new(500, e))?;
        }
        Ok(FaceCreated::New(number))
    }

    fn update_face(&mut self, face_id: u64, settings: &FaceSettings) -> Result<(), Failure> {
        let now = self.clock.now();
        let Some(&id) = self.by_id.get(&face_id) else { return Err(Failure::new(404, "there is no such face")) };
        let Some(link) = self.links[id.index()].as_mut() else { return Ok(()) };
        if settings.reliability == Some(true) && link.mtu.is_none() {
            return Err(Failure::new(409, NO_RELIABILITY));
        }
        if settings.mtu.is_some_and(|mtu| link.mtu.is_none() || mtu < MIN_MTU) {
            return Err(Failure::new(409, format!("the MTU of a UDP face is {MIN_MTU} or more, streams have none")));
        }
        if let Some(mtu) = settings.mtu {
            let mtu = mtu.min(8800) as usize;
            link.mtu = Some(mtu);
            self.forwarder.set_mtu(now, id, mtu);
        }
        if let Some(persistency) = settings.persistency {
            let on_demand = persistency == Persistency::OnDemand;
            self.peers = self.peers + usize::from(on_demand) - usize::from(link.is_on_demand());
            link.persistency = persistency;
        }
        if let Some(on) = settings.reliability {
            link.reliability = on;
            self.set_reliability(now, id);
        }
        if let Some(tell) = settings.local_fields {
            self.forwarder.set_tell_incoming(id, tell);
        }
        if let Some(mark) = settings.congestion_marking {
            self.forwarder.set_mark_kernel_queue(id, mark).map_err(|e| Failure::new(500, e))?;
        }
        Ok(())
    }

    fn destroy_face(&mut self, face_id: u64) {
        let now = self.clock.now();
        if let Some(&id) = self.by_id.get(&face_id).filter(|id| **id != self.inside) {
            self.close(now, id, "destroyed by command");
        }
    }

    fn set_next_hop(&mut self, prefix: NameView<'_>, face_id: u64, cost: u64) -> Result<(), Failure> {
        let now = self.clock.now();
        let Some(&id) = self.by_id.get(&face_id) else { return Err(Failure::new(410, "there is no such face")) };
        let cost = u32::try_from(cost).unwrap_or(u32::MAX);
        self.forwarder.add_next_hop(now, prefix, id, cost).map_err(|e| Failure::new(500, e.to_string()))
    }

    fn remove_next_hop(&mut self, prefix: NameView<'_>, face_id: u64) {
        let now = self.clock.now();
        if let Some(&id) = self.by_id.get(&face_id) {
            self.forwarder.remove_next_hop(now, prefix, id);
        }
    }

    fn fib(&self) -> Vec<FibEntry> {
        let number = |id: FaceId| self.links.get(id.index()).and_then(|link| Some(link.as_ref()?.id));
        let hop =
            |hop: &ndnweir_core::strategy::NextHop| Some(NextHop { face_id: number(hop.face)?, cost: hop.cost.into() });
        let entry = |route: ndnweir_node::forwarder::Route<'_>| FibEntry {
            name: route.prefix.to_owned(),
            next_hops: route.hops.iter().filter_map(hop).collect(),
        };
        self.forwarder.routes().map(entry).collect()
    }

    fn set_strategy(&mut self, prefix: NameView<'_>, strategy: NameView<'_>) -> Result<Name, Failure> {
        let own = self.strategy();
        let unversioned = own.as_view().prefix(4);
        if strategy == own.as_view() || strategy == unversioned {
            return Ok(own);
        }
        let text = format!("{prefix}: all prefixes have {unversioned}, as the scheme has it");
        Err(Failure::new(404, text))
    }

    fn unset_strategy(&mut self, _prefix: NameView<'_>) {}

    fn strategies(&self) -> Vec<StrategyChoice> {
        vec![StrategyChoice { name: Name::new(), strategy: self.strategy() }]
    }

    fn cs(&self) -> CsInfo {
        let node = self.forwarder.node().counters();
        CsInfo {
            capacity: self.config.cache as u64,
            flags: cs_flags::ADMIT | cs_flags::SERVE,
            entries: node.cache,
            hits: node.hits,
            misses: node.misses,
        }
    }

    fn configure_cs(&mut self, capacity: Option<u64>, admit: Option<bool>, serve: Option<bool>) -> Result<(), Failure> {
        let same = capacity.is_none_or(|capacity| capacity == self.config.cache as u64);
        match same && admit != Some(false) && serve != Some(false) {
            true => Ok(()),
            false => Err(Failure::new(409, "the content store stays as the forwarder was started")),
        }
    }

    fn erase_cs(&mut self, prefix: NameView<'_>, limit: u64) -> Erased {
        let (count, more) = self.forwarder.erase(prefix, usize::try_from(limit).unwrap_or(usize::MAX));
        Erased { count: count as u64, more }
    }
}
