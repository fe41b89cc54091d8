//! What a forwarder reports to a controller: its faces with the state of their links, its FIB, its tables.

use super::Daemon;
use super::faces::Transport;
use crate::mgmt::ManagedForwarder;
use crate::mgmt::dataset::{CsInfo, FaceStatus, ForwarderStatus, StrategyChoice};
use ndnweir_core::component::Component;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::{Report, ndnsieve};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Rate;
use ndnweir_wire::Name;
use std::collections::BTreeMap;
use std::time::Duration;

/// What the scheme's meter measured on one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interface {
    /// Arriving bits over capacity; may exceed 1 (ndnSieve, equation 1). None before the first report.
    pub utilization: Option<f64>,
    /// Queue length over its limit (ndnSieve, equation 2).
    pub occupancy: Option<f64>,
    /// How often its utilisation was found above the threshold.
    pub signals: u64,
    /// When anything of this was last measured, since 1970.
    pub measured: Option<Duration>,
}

/// The meter's reports, by face and by prefix and face.
#[derive(Debug, Default)]
pub(super) struct Telemetry {
    interfaces: Vec<Interface>,
    /// The meter bounds these; what has stopped is removed.
    rates: BTreeMap<(PrefixId, FaceId), Rate>,
    signals: u64,
}

impl Telemetry {
    fn interface(&mut self, face: FaceId) -> &mut Interface {
        if self.interfaces.len() <= face.index() {
            self.interfaces.resize(face.index() + 1, Interface::default());
        }
        &mut self.interfaces[face.index()]
    }

    /// The face is gone, and its number may be used again.
    pub(super) fn forget(&mut self, face: FaceId) {
        if let Some(interface) = self.interfaces.get_mut(face.index()) {
            *interface = Interface::default();
        }
        self.rates.retain(|(_, of), _| *of != face);
    }

    fn take(&mut self, report: Report, measured: Duration) {
        match report {
            Report::Interface { face, utilization, occupancy } => {
                let interface = self.interface(face);
                interface.utilization = Some(utilization);
                interface.occupancy = Some(occupancy);
                interface.measured = Some(measured);
            }
            Report::Signal { face } => {
                let interface = self.interface(face);
                interface.signals += 1;
                interface.measured = Some(measured);
                self.signals += 1;
            }
            Report::PrefixRate { prefix, face, rate } if rate == Rate::ZERO => drop(self.rates.remove(&(prefix, face))),
            Report::PrefixRate { prefix, face, rate } => drop(self.rates.insert((prefix, face), rate)),
        }
    }
}

/// A face and its link.
#[derive(Clone, Debug)]
pub struct FaceReport {
    /// As the management protocol reports it.
    pub status: FaceStatus,
    /// Whether packets can be sent on it.
    pub up: bool,
    /// The rate at which it is sent on, stated or learned; none as fast as the kernel takes.
    pub rate: Option<Rate>,
    /// Packets that wait in its egress queue.
    pub queue_packets: u64,
    /// Marks that this forwarder has set on packets that left on it.
    pub marks: u64,
    /// Packets dropped at its egress queue.
    pub drops: u64,
    /// What the scheme's meter measured.
    pub interface: Interface,
}

/// A forwarder but for its FIB.
#[derive(Clone, Debug)]
pub struct RouterReport {
    /// When this was read, since 1970.
    pub at: Duration,
    /// Totals and sizes of tables.
    pub status: ForwarderStatus,
    /// The scheme in force.
    pub scheme: String,
    /// The URIs by which neighbours reach it.
    pub listen: Vec<String>,
    /// Its faces, but for the one to its management.
    pub faces: Vec<FaceReport>,
    /// Its content store.
    pub cs: CsInfo,
    /// The most pending Interests.
    pub pit_limit: u64,
    /// Strategies by prefix.
    pub strategies: Vec<StrategyChoice>,
    /// Data rates by prefix number and face, as far as the meter measures them.
    pub rates: Vec<(PrefixId, u64, Rate)>,
    /// The version of the FIB.
    pub fib_version: u64,
    /// All signals of all faces since the start.
    pub signals: u64,
    /// Thresholds of the scheme's meter, or those of ndnSieve's.
    pub thresholds: ndnsieve::Params,
}

/// A next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopReport {
    /// The face.
    pub face: u64,
    /// The cost in force.
    pub cost: u32,
    /// The cost that routes give it; none where no route does.
    pub route_cost: Option<u32>,
    /// The cost that a controller has set.
    pub configured: Option<u32>,
}

/// A FIB entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryReport {
    /// The prefix.
    pub prefix: Name,
    /// Its number in [`RouterReport::rates`].
    pub id: PrefixId,
    /// Its next hops.
    pub hops: Vec<HopReport>,
}

/// Thresholds of a scheme's meter, or those of ndnSieve's.
pub fn thresholds(scheme: &Scheme) -> ndnsieve::Params {
    let meter = &scheme.parts.meter;
    let own = (meter.name() == ndnsieve::NdnSieve::NAME).then(|| meter.params().clone());
    own.and_then(|params| serde_json::from_value(params.into()).ok()).unwrap_or_default()
}

impl Daemon {
    /// Takes what the meter reports. Without someone to report to, it is left to the node, which bounds it.
    pub(super) fn take_reports(&mut self) {
        if self.jobs.is_none() {
            return;
        }
        let unix = self.clock.unix();
        for report in self.forwarder.drain_reports() {
            self.telemetry.take(report, unix);
        }
    }

    /// How often any link was found above its threshold since the start: who sees it change need look again.
    pub fn signals(&self) -> u64 {
        self.telemetry.signals
    }

    /// The forwarder without its FIB.
    pub fn report(&mut self) -> RouterReport {
        let now = self.clock.now();
        let ids: Vec<FaceId> = self.faces.by_age().filter(|id| *id != self.management.id()).collect();
        let faces = ids.into_iter().filter_map(|id| {
            let (status, link) = (self.face_status(id)?, self.faces.get(id)?);
            let up = !matches!(link.transport, Transport::Down { .. } | Transport::Dialing(_));
            let rate = link.rate.or_else(|| self.forwarder.learned_rate(id));
            let (counted, egress) = self.forwarder.face_counters(now, id);
            let marks = egress.data_marks + egress.interest_marks + counted.kernel_marks + counted.link.marks;
            let interface = self.telemetry.interfaces.get(id.index()).copied().unwrap_or_default();
            let (queue_packets, drops) = (egress.queue_packets.into(), egress.drops.total());
            Some(FaceReport { status, up, rate, queue_packets, marks, drops, interface })
        });
        let faces = faces.collect();
        let number =
            |(&(prefix, face), &rate): (&(PrefixId, FaceId), &Rate)| Some((prefix, self.faces.number(face)?, rate));
        RouterReport {
            at: self.clock.unix(),
            status: ManagedForwarder::status(self),
            scheme: self.config.scheme.name.clone(),
            listen: self.listening(),
            faces,
            cs: ManagedForwarder::cs(self),
            pit_limit: self.config.pit as u64,
            strategies: ManagedForwarder::strategies(self),
            rates: self.telemetry.rates.iter().filter_map(number).collect(),
            fib_version: self.forwarder.routes_version(),
            signals: self.telemetry.signals,
            thresholds: thresholds(&self.config.scheme),
        }
    }

    fn listening(&self) -> Vec<String> {
        ManagedForwarder::channels(self).into_iter().map(|channel| channel.local_uri).collect()
    }

    /// The FIB, without the prefixes of the forwarder's own management.
    pub fn fib_report(&mut self) -> Vec<EntryReport> {
        let own = self.management.id();
        let routes: Vec<_> = self.forwarder.routes().map(|r| (r.prefix.to_owned(), r.id, r.hops.to_vec())).collect();
        let mut entries = Vec::with_capacity(routes.len());
        for (prefix, id, hops) in routes {
            let mut reported = Vec::with_capacity(hops.len());
            for hop in hops.iter().filter(|hop| hop.face != own) {
                let Some(face) = self.faces.number(hop.face) else { continue };
                let route_cost = self.route_cost(&prefix, face);
                let configured = self.configured.get(&(prefix.clone(), face)).copied();
                reported.push(HopReport { face, cost: hop.cost, route_cost, configured });
            }
            if !reported.is_empty() {
                entries.push(EntryReport { prefix, id, hops: reported });
            }
        }
        entries
    }
}
