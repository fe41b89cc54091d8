//! Counters and changes, from the series of the run.

use super::PerfettoWriter;
use super::messages::{Trace, TrackEvent, kind};
use super::tracks::CHANGES;
use crate::results::{Run, ScenarioInfo, SeriesKind};
use ndnweir_core::units::{Duration, Time};
use std::io::Write;

/// The series that become counters: table, metric, what it is called, unit.
const COUNTERS: [(SeriesKind, &str, &str, &str); 9] = [
    (SeriesKind::Consumers, "window", "window", "Interests"),
    (SeriesKind::Consumers, "in_flight", "in flight", "Interests"),
    (SeriesKind::Consumers, "goodput_mbps", "goodput", "Mbit/s"),
    (SeriesKind::Consumers, "rtt_ms", "RTT", "ms"),
    (SeriesKind::Links, "queue_ms", "queue", "ms"),
    (SeriesKind::Links, "data_mbps", "Data", "Mbit/s"),
    (SeriesKind::Links, "marks", "marks", "packets"),
    (SeriesKind::Packets, "drops", "drops", "packets"),
    (SeriesKind::Nodes, "pit_entries", "PIT entries", "entries"),
];

/// Writes the series of a run, and the changes of its network.
pub(super) fn write<W: Write>(writer: &mut PerfettoWriter<W>, scenario: &ScenarioInfo, run: &Run) {
    for (table, metric, what, unit) in COUNTERS {
        let Some(column) = table.metrics().iter().position(|m| *m == metric) else { continue };
        for rows in run.series.table(table) {
            let (Some(subject), Some(values)) = (rows.key.first(), rows.columns.get(column)) else { continue };
            let node = node_of(scenario, table, subject);
            let parent = node.and_then(|node| writer.tracks.node(scenario, node));
            let name = match table {
                SeriesKind::Nodes => what.to_owned(),
                _ => format!("{what} of {subject}"),
            };
            let (track_uuid, descriptor) = writer.tracks.counter(parent, name, unit);
            writer.put(Trace { packet: vec![descriptor] });
            for (bin, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                let at = Time::ZERO + Duration::from_secs_f64(bin as f64 * run.series.bin_s);
                let double_counter_value = Some(*value);
                let counted =
                    TrackEvent { r#type: kind::COUNTER, track_uuid, double_counter_value, ..TrackEvent::default() };
                writer.event(at, counted);
            }
        }
    }
    for change in &scenario.events {
        let at = Time::ZERO + Duration::from_secs_f64(change.at_s);
        let (track_uuid, name) = (CHANGES, change.text.clone());
        let categories = vec![change.what.clone()];
        writer.event(at, TrackEvent { r#type: kind::INSTANT, track_uuid, categories, name, ..TrackEvent::default() });
    }
}

/// The node that the subject of a series is at.
fn node_of<'a>(scenario: &'a ScenarioInfo, table: SeriesKind, subject: &'a str) -> Option<&'a str> {
    match table {
        SeriesKind::Consumers => scenario.consumers.iter().find(|c| c.name == subject).map(|c| &c.node[..]),
        SeriesKind::Links | SeriesKind::Packets => {
            scenario.links.iter().find(|l| l.name == subject).map(|l| &l.from[..])
        }
        _ => Some(subject),
    }
}
