//! The forwarder as the management protocol controls it.

use super::Daemon;
use super::config::FaceSpec;
use super::faces::{INTERNAL, SocketFace, Transport};
use super::strategies::{name_of, strategy_of};
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::{
    ChannelStatus, CsInfo, FaceCounters, FaceStatus, FibEntry, ForwarderStatus, LinkType, NextHop, Persistency, Scope,
    StrategyChoice,
};
use crate::mgmt::{
    CommandFailure, EraseOutcome, FaceCreated, FaceRequest, FaceSettings, ManagedForwarder, cs_flags, face_flags,
};
use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::nfd;
use ndnweir_node::forwarder::{Reliability, RouteError};
use ndnweir_wire::packet::MAX_PACKET_SIZE;
use ndnweir_wire::{Name, NameView};
use std::time::Duration;

/// Frames smaller than this leave little room after the link header.
const MIN_MTU: u64 = 256;
/// What a UDP datagram holds over IPv4.
const MAX_MTU: u64 = 65_507;
/// How `nfdc face create … mtu auto` writes that the forwarder is to choose.
const AUTO_MTU: u64 = u64::MAX;
const NO_RELIABILITY: &str = "streams lose nothing: only a UDP face can have link reliability";

/// The settings of the content store.
#[derive(Clone, Copy, Debug)]
pub(super) struct CsSettings {
    /// In packets.
    pub(super) capacity: usize,
    pub(super) admits: bool,
    pub(super) serves: bool,
}

impl CsSettings {
    fn flags(self) -> u64 {
        flag(self.admits, cs_flags::ADMIT) | flag(self.serves, cs_flags::SERVE)
    }
}

fn flag(is: bool, flag: u64) -> u64 {
    if is { flag } else { 0 }
}

impl Daemon {
    pub(super) fn face_status(&self, id: FaceId) -> Option<FaceStatus> {
        let link = self.faces.get(id)?;
        let count = self.forwarder.link_counters(id);
        let (remote_uri, local_uri) = self.uris(link);
        let (marks, rule) = (self.forwarder.marks_kernel_queue(id), nfd::Params::default());
        Some(FaceStatus {
            face_id: link.number,
            remote_uri,
            local_uri,
            expiration_period: self.idles_for(link),
            scope: if link.local { Scope::Local } else { Scope::NonLocal },
            persistency: link.persistency,
            link_type: LinkType::PointToPoint,
            base_congestion_marking_interval: marks.then(|| Duration::from_nanos(rule.interval.nanos())),
            default_congestion_threshold: marks.then(|| rule.threshold.get()),
            mtu: Some(link.mtu.unwrap_or(MAX_PACKET_SIZE) as u64),
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
        flag(self.forwarder.marks_kernel_queue(id), face_flags::CONGESTION_MARKING)
            | flag(self.forwarder.has_incoming_face_id(id), face_flags::LOCAL_FIELDS)
            | flag(reliability == Reliability::On || in_use, face_flags::LP_RELIABILITY)
    }

    /// For how long an on-demand face stays without a packet from now on.
    fn idles_for(&self, link: &SocketFace) -> Option<Duration> {
        let left = || self.config.idle.nanos().saturating_sub(self.clock.now().since(link.last_in).nanos());
        (link.may_expire() && link.is_datagram()).then(|| Duration::from_nanos(left()))
    }

    /// The two ends of a face, in NFD's form.
    fn uris(&self, link: &SocketFace) -> (String, String) {
        match (&link.transport, &link.uri) {
            (Transport::Management, _) => (INTERNAL.into(), INTERNAL.into()),
            (Transport::Udp { port, .. }, uri) => {
                let local = self.ports.get(*port).map_or_else(|| uri.clone(), |port| FaceUri::udp(port.local()));
                (uri.to_string(), local.to_string())
            }
            (Transport::Stream(stream), FaceUri::Tcp(..)) => {
                let local = stream.local().map_or_else(|| link.uri.clone(), FaceUri::tcp);
                (link.uri.to_string(), local.to_string())
            }
            (_, FaceUri::Unix(_)) if link.is_on_demand() => (format!("fd://{}", link.number), link.uri.to_string()),
            (_, uri) => (uri.to_string(), uri.to_string()),
        }
    }
}

/// The MTU that a command wants for a face; none if it leaves it open, or to the forwarder.
fn wanted_mtu(datagram: bool, mtu: Option<u64>) -> Result<Option<usize>, CommandFailure> {
    match mtu.filter(|mtu| *mtu != AUTO_MTU) {
        None => Ok(None),
        Some(mtu) if datagram && (MIN_MTU..=MAX_MTU).contains(&mtu) => Ok(Some(mtu as usize)),
        Some(_) => {
            let text = format!("the MTU of a UDP face is {MIN_MTU} to {MAX_MTU}, streams have none");
            Err(CommandFailure::new(409, text))
        }
    }
}

impl ManagedForwarder for Daemon {
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
            unsatisfied_interests: node.expired + node.rejected,
            rejected_interests: node.pit_full,
            rejected_for_memory: node.pit_memory,
            memory_drops: here.full,
            unsolicited_data: here.unsolicited + node.unsolicited,
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
        self.faces.by_age().filter_map(|id| self.face_status(id)).collect()
    }

    fn channels(&self) -> Vec<ChannelStatus> {
        let udp = self.udp_addresses().map(FaceUri::udp);
        udp.chain(self.listeners.uris()).map(|uri| ChannelStatus { local_uri: uri.to_string() }).collect()
    }

    fn face(&self, face_id: u64) -> Option<FaceStatus> {
        self.face_status(self.faces.with_number(face_id)?)
    }

    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceCreated, CommandFailure> {
        if matches!(request.remote, FaceUri::Unix(_)) {
            return Err(CommandFailure::new(406, "faces to Unix sockets are made by who listens there"));
        }
        let persistency = request.settings.persistency.unwrap_or(Persistency::Persistent);
        if let Some(id) = self.faces.with_uri(&request.remote) {
            // An authorised user vouches for the neighbour.
            self.adopt(id, persistency);
            return Ok(FaceCreated::Existing(self.faces.number(id).unwrap_or(0)));
        }
        let datagram = matches!(request.remote, FaceUri::Udp(..));
        if request.settings.reliability == Some(true) && !datagram {
            return Err(CommandFailure::new(409, NO_RELIABILITY));
        }
        let mut spec = FaceSpec::new(request.remote.clone());
        spec.mtu = wanted_mtu(datagram, request.settings.mtu)?.unwrap_or(self.config.mtu);
        spec.reliability = request.settings.reliability.unwrap_or(spec.reliability);
        let id = self.create(&spec, persistency).map_err(|e| CommandFailure::new(504, e.to_string()))?;
        let number = self.faces.number(id).unwrap_or(0);
        if request.settings.congestion_marking == Some(false) {
            self.forwarder.set_mark_kernel_queue(id, false);
        }
        Ok(FaceCreated::New(number))
    }

    fn update_face(&mut self, face_id: u64, settings: &FaceSettings) -> Result<(), CommandFailure> {
        let now = self.clock.now();
        let Some(id) = self.faces.with_number(face_id) else {
            return Err(CommandFailure::new(404, "there is no such face"));
        };
        let Some(link) = self.faces.get_mut(id) else { return Ok(()) };
        if settings.reliability == Some(true) && !link.is_datagram() {
            return Err(CommandFailure::new(409, NO_RELIABILITY));
        }
        if let Some(mtu) = wanted_mtu(link.is_datagram(), settings.mtu)? {
            link.mtu = Some(mtu);
            self.forwarder.set_mtu(now, id, mtu);
        }
        if let Some(persistency) = settings.persistency {
            let on_demand = persistency == Persistency::OnDemand;
            match (link.is_on_demand(), on_demand) {
                (true, false) => self.admission.leave(link.origin),
                (false, true) => self.admission.return_to(now, link.origin),
                _ => {}
            }
            link.persistency = persistency;
            let class = link.class();
            self.forwarder.set_class(id, class);
        }
        if let Some(on) = settings.reliability {
            link.reliability = on;
            self.set_reliability(now, id);
        }
        if let Some(tell) = settings.local_fields {
            self.forwarder.set_incoming_face_id(id, tell);
        }
        if let Some(mark) = settings.congestion_marking {
            self.forwarder.set_mark_kernel_queue(id, mark);
        }
        Ok(())
    }

    fn destroy_face(&mut self, face_id: u64) -> Result<(), CommandFailure> {
        let now = self.clock.now();
        let Some(id) = self.faces.with_number(face_id) else { return Ok(()) };
        if id == self.management.id() {
            let text = format!("face {face_id} is the forwarder's own, which answers commands: it stays");
            return Err(CommandFailure::new(409, text));
        }
        self.close(now, id, "destroyed by command");
        Ok(())
    }

    fn set_next_hop(&mut self, prefix: NameView<'_>, face_id: u64, cost: u64) -> Result<(), CommandFailure> {
        let now = self.clock.now();
        let Some(id) = self.faces.with_number(face_id) else {
            return Err(CommandFailure::new(410, "there is no such face"));
        };
        if let Some(link) = self.faces.get_mut(id) {
            // An authorised user vouches for the neighbour.
            link.challenge = None;
        }
        let cost = u32::try_from(cost).unwrap_or(u32::MAX);
        let code = |error| if matches!(error, RouteError::Reserved | RouteError::Scope) { 403 } else { 500 };
        self.forwarder.add_next_hop(now, prefix, id, cost).map_err(|e| CommandFailure::new(code(e), e.to_string()))
    }

    fn remove_next_hop(&mut self, prefix: NameView<'_>, face_id: u64) {
        let now = self.clock.now();
        if let Some(id) = self.faces.with_number(face_id) {
            self.forwarder.remove_next_hop(now, prefix, id);
        }
    }

    fn fib(&self) -> Vec<FibEntry> {
        let hop = |hop: &ndnweir_core::strategy::NextHop| {
            Some(NextHop { face_id: self.faces.number(hop.face)?, cost: hop.cost.into() })
        };
        let entry = |route: ndnweir_node::forwarder::Route<'_>| FibEntry {
            name: route.prefix.to_owned(),
            next_hops: route.hops.iter().filter_map(hop).collect(),
        };
        self.forwarder.routes().map(entry).collect()
    }

    fn set_strategy(&mut self, prefix: NameView<'_>, strategy: NameView<'_>) -> Result<Name, CommandFailure> {
        let (now, part) = (self.clock.now(), strategy_of(strategy)?);
        self.forwarder.choose(now, prefix, &part, None).map_err(|e| CommandFailure::new(500, e.to_string()))?;
        tracing::info!(%prefix, strategy = part.name(), "strategy set by command");
        Ok(name_of(&part))
    }

    fn unset_strategy(&mut self, prefix: NameView<'_>) {
        if self.forwarder.unset_strategy(prefix) {
            tracing::info!(%prefix, "strategy unset by command");
        }
    }

    fn strategies(&self) -> Vec<StrategyChoice> {
        let choices = self.forwarder.choices();
        choices
            .map(|(name, chosen)| StrategyChoice { name: name.to_owned(), strategy: name_of(&chosen.strategy) })
            .collect()
    }

    fn cs(&self) -> CsInfo {
        let node = self.forwarder.node().counters();
        CsInfo {
            capacity: self.cs.capacity as u64,
            flags: self.cs.flags(),
            entries: node.cache,
            hits: node.hits,
            misses: node.misses,
        }
    }

    fn configure_cs(
        &mut self,
        capacity: Option<u64>,
        admit: Option<bool>,
        serve: Option<bool>,
    ) -> Result<(), CommandFailure> {
        if let Some(capacity) = capacity {
            // Values above the address space count as its size.
            self.cs.capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        }
        self.cs.admits = admit.unwrap_or(self.cs.admits);
        self.cs.serves = serve.unwrap_or(self.cs.serves);
        let CsSettings { capacity, admits, serves } = self.cs;
        self.forwarder.set_cache(capacity, admits, serves);
        Ok(())
    }

    fn erase_cs(&mut self, prefix: NameView<'_>, limit: u64) -> EraseOutcome {
        let (count, more) = self.forwarder.erase(prefix, usize::try_from(limit).unwrap_or(usize::MAX));
        EraseOutcome { count: count as u64, more }
    }
}

#[cfg(test)]
mod tests;
