//! The tracks of a trace: a process for each node, with a track for each direction of a link that leaves it and for each
//! counter, and one for the changes of the network.

use super::messages::{
    CounterDescriptor, DebugAnnotation, ProcessDescriptor, TracePacket, TrackDescriptor, TrackEvent,
};
use crate::results::ScenarioInfo;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::{Duration, Rate, Time};

/// The only writer.
const SEQUENCE: u32 = 1;
/// The number of the track of changes; those of nodes, links and counters follow.
pub(super) const CHANGES: u64 = 1;

/// A direction of a link.
pub(super) struct LinkTrack {
    pub(super) uuid: u64,
    /// The rate at the start.
    pub(super) rate: Rate,
}

/// The first track.
pub(super) fn changes() -> TrackDescriptor {
    TrackDescriptor { uuid: CHANGES, name: "changes of the network".to_owned(), ..TrackDescriptor::default() }
}

/// All tracks but counters.
pub(super) struct Tracks {
    descriptors: Vec<TrackDescriptor>,
    /// By `NodeId`.
    pub(super) nodes: Vec<u64>,
    /// By `DirectedLinkId`.
    pub(super) links: Vec<LinkTrack>,
    /// The number of the next track.
    pub(super) next: u64,
}

impl Tracks {
    pub(super) fn new(scenario: &ScenarioInfo) -> Tracks {
        let mut tracks =
            Tracks { descriptors: vec![changes()], nodes: Vec::new(), links: Vec::new(), next: CHANGES + 1 };
        for (number, node) in scenario.nodes.iter().enumerate() {
            let process = ProcessDescriptor { pid: number as i32 + 1, process_name: node.name.clone() };
            let uuid = tracks.add(TrackDescriptor { process: Some(process), ..TrackDescriptor::default() });
            tracks.nodes.push(uuid);
        }
        for link in &scenario.links {
            let parent_uuid = tracks.node(scenario, &link.from);
            let name = format!("sends on {}", link.name);
            let uuid = tracks.add(TrackDescriptor { name, parent_uuid, ..TrackDescriptor::default() });
            tracks.links.push(LinkTrack { uuid, rate: Rate::from_mbps(link.rate_mbps) });
        }
        tracks
    }

    fn add(&mut self, descriptor: TrackDescriptor) -> u64 {
        let uuid = self.next;
        self.next += 1;
        self.descriptors.push(TrackDescriptor { uuid, ..descriptor });
        uuid
    }

    /// The track of a node.
    pub(super) fn node(&self, scenario: &ScenarioInfo, name: &str) -> Option<u64> {
        let at = scenario.nodes.iter().position(|node| node.name == name)?;
        self.nodes.get(at).copied()
    }

    /// The descriptors, as packets.
    pub(super) fn descriptors(&mut self) -> Vec<TracePacket> {
        std::mem::take(&mut self.descriptors).into_iter().map(|d| packet(None, None, Some(d))).collect()
    }

    /// A new counter of a node.
    pub(super) fn counter(&mut self, parent_uuid: Option<u64>, name: String, unit: &str) -> (u64, TracePacket) {
        let uuid = self.next;
        self.next += 1;
        let counter = Some(CounterDescriptor { unit_name: unit.to_owned() });
        let descriptor = TrackDescriptor { uuid, name, parent_uuid, counter, process: None };
        (uuid, packet(None, None, Some(descriptor)))
    }
}

/// An event or a track.
pub(super) fn packet(
    at: Option<Time>,
    track_event: Option<TrackEvent>,
    track_descriptor: Option<TrackDescriptor>,
) -> TracePacket {
    let timestamp = at.map(Time::nanos);
    TracePacket { timestamp, trusted_packet_sequence_id: SEQUENCE, track_event, track_descriptor }
}

/// What is known of a packet but its name.
pub(super) fn details(packet: &Packet, waited: Duration) -> Vec<DebugAnnotation> {
    let whole = |name: &str, value: u64| DebugAnnotation {
        name: name.to_owned(),
        uint_value: Some(value),
        ..DebugAnnotation::default()
    };
    let mut details = vec![
        DebugAnnotation {
            name: "waited_ms".to_owned(),
            double_value: Some(waited.millis()),
            ..DebugAnnotation::default()
        },
        whole("bytes", packet.size.into()),
    ];
    if packet.mark > 0 {
        details.push(whole("congestion_mark", packet.mark.into()));
    }
    details
}
