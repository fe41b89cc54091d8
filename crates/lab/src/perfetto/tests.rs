use super::messages::TracePacket;
use super::*;
use crate::results::{EventInfo, LinkInfo, NodeInfo, Run, ScenarioInfo};
use ndnweir_core::ids::FlowId;
use std::collections::BTreeSet;

/// Two nodes and a link of 8 Mbit/s: a packet of 1,000 bytes takes 1 ms.
fn scenario() -> ScenarioInfo {
    let node = |name: &str| NodeInfo { name: name.to_owned(), ..NodeInfo::default() };
    let link = |from: &str, to: &str| LinkInfo {
        name: format!("{from}>{to}"),
        from: from.to_owned(),
        to: to.to_owned(),
        rate_mbps: 8.0,
        ..LinkInfo::default()
    };
    let event = EventInfo { at_s: 1.0, text: "A-B fails".to_owned(), ..EventInfo::default() };
    ScenarioInfo {
        nodes: vec![node("A"), node("B")],
        links: vec![link("A", "B"), link("B", "A")],
        events: vec![event],
        ..ScenarioInfo::default()
    }
}

fn packet(kind: Kind, segment: u32) -> Packet {
    Packet { name: NameId { flow: FlowId(0), segment }, kind, size: 1000, ..Packet::default() }
}

/// What is written of packets that join a link's queue and start, in ms.
fn trace(packets: &[(u32, Kind, u32, u64, u64)]) -> Trace {
    let scenario = scenario();
    let mut writer = PerfettoWriter::new(Vec::new(), Tracks::new(&scenario), NameTable::default());
    for &(link, kind, segment, joined, start) in packets {
        let (joined, start) = (Time::ZERO + Duration::from_millis(joined), Time::ZERO + Duration::from_millis(start));
        let ends = [NodeId(link), NodeId(1 - link)];
        writer.sent(joined, joined..start, DirectedLinkId(link), ends, &packet(kind, segment));
    }
    writer.flush();
    counters::write(&mut writer, &scenario, &Run::default());
    Trace::decode(&writer.finish().unwrap()[..]).unwrap()
}

/// The slices of a direction of a link, in ms.
fn slices(trace: &Trace, name: &str) -> Vec<(u64, i32)> {
    let of = |p: &TracePacket| p.track_descriptor.as_ref().filter(|t| t.name.ends_with(name)).map(|t| t.uuid);
    let track = trace.packet.iter().find_map(of).unwrap();
    let event = |p: &TracePacket| {
        let event = p.track_event.as_ref().filter(|e| e.track_uuid == track)?;
        Some((p.timestamp? / 1_000_000, event.r#type))
    };
    trace.packet.iter().filter_map(event).collect()
}

#[test]
fn a_transmission_lasts_as_long_as_its_bytes_and_ends_when_the_next_one_begins() {
    // The third starts before the second has ended: the link has become faster.
    let found = trace(&[(0, Kind::Data, 1, 0, 0), (0, Kind::Data, 2, 0, 20), (0, Kind::Data, 3, 10, 20)]);
    let (begin, end) = (kind::BEGIN, kind::END);
    assert_eq!(slices(&found, "A>B"), [(0, begin), (1, end), (20, begin), (20, end), (20, begin), (21, end)]);
    assert_eq!(slices(&found, "B>A"), []);
}

#[test]
fn arrows_lead_from_the_first_interest_of_a_name_to_its_data_at_who_asked() {
    let found = trace(&[
        (0, Kind::Interest, 1, 0, 0),
        (0, Kind::Interest, 2, 1, 1),
        (1, Kind::Data, 1, 5, 6),
        (1, Kind::Data, 9, 5, 7),
        (0, Kind::Interest, 1, 9, 9),
        (1, Kind::Nack, 2, 9, 9),
    ]);
    let arrows = |of: fn(&TrackEvent) -> &Vec<u64>| -> Vec<u64> {
        let events = found.packet.iter().filter_map(|p| p.track_event.as_ref());
        events.flat_map(|e| of(e).iter().copied()).collect()
    };
    let (going, ending) = (arrows(|e| &e.flow_ids), arrows(|e| &e.terminating_flow_ids));
    // The name that is requested again has new arrows, and Data that nobody requested have none.
    assert_eq!((going.len(), ending.len()), (3, 2));
    assert_eq!(going.iter().collect::<BTreeSet<_>>().len(), 3);
    assert!(ending.iter().all(|id| going.contains(id)));
}

#[test]
fn changes_of_the_network_are_in_the_trace() {
    let found = trace(&[]);
    let events: Vec<&TrackEvent> = found.packet.iter().filter_map(|p| p.track_event.as_ref()).collect();
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0].name[..], events[0].r#type), ("A-B fails", kind::INSTANT));
}
