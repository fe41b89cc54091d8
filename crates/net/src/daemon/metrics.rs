//! Numbers for operators, in Prometheus' text format.

use super::Daemon;
use super::faces::{SocketFace, Transport};
use ndnweir_core::units::Time;
use ndnweir_node::DropCause;
use ndnweir_node::forwarder::LinkCounters;
use ndnweir_node::forwarder::reliability::Counts;
use std::fmt::Write;

/// Counters of the process itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessTotals {
    /// Datagrams from peers that got no face.
    pub(super) on_demand_peers: u64,
    /// Counters of faces that were removed.
    pub(super) gone: LinkCounters,
    /// Packets for streams that were not connected.
    pub(super) unconnected: u64,
    /// Packets that streams which have ended did not take.
    pub(super) backlog: u64,
    /// Data that were not sent to UDP peers whose addresses may be forged.
    pub(super) unproven: u64,
    /// Requests dropped because the management's queue was full.
    pub(super) requests: u64,
}

/// Packets by direction and type, with their labels.
fn packets(link: &LinkCounters) -> [(&'static str, u64); 6] {
    [
        ("direction=\"in\",type=\"interest\"", link.interests_in),
        ("direction=\"in\",type=\"data\"", link.data_in),
        ("direction=\"in\",type=\"nack\"", link.nacks_in),
        ("direction=\"out\",type=\"interest\"", link.interests_out),
        ("direction=\"out\",type=\"data\"", link.data_out),
        ("direction=\"out\",type=\"nack\"", link.nacks_out),
    ]
}

/// The value of a label, as the text format has it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP ndnweir_{name} {help}\n# TYPE ndnweir_{name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: u64) {
        let (open, close) = if labels.is_empty() { ("", "") } else { ("{", "}") };
        let _ = writeln!(self.0, "ndnweir_{name}{open}{labels}{close} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        self.line(name, "", value);
    }
}

impl Daemon {
    /// All numbers as they are now.
    pub fn metrics_text(&mut self, now: Time) -> String {
        let mut page = Page(String::new());
        let (here, node) = (self.forwarder.counters(), self.forwarder.node().counters());
        page.one("pit_entries", "gauge", "Pending names.", node.pit);
        page.one("cs_packets", "gauge", "Packets in the content store.", node.cache);
        page.one("cs_hits_total", "counter", "Interests answered from the content store.", node.hits);
        page.one("cs_misses_total", "counter", "Interests not found there.", node.misses);
        page.one("fragment_bytes", "gauge", "Bytes of packets that are not complete yet.", here.fragment_bytes);
        let waiting = here.unacknowledged_bytes;
        page.one("unacknowledged_bytes", "gauge", "Bytes of packets that neighbours have not acknowledged.", waiting);
        let waiting = self.backlogs.used() as u64;
        page.one("backlog_bytes", "gauge", "Bytes that wait for the readers of streams.", waiting);
        page.one("stuck_streams_total", "counter", "Streams closed as their peers did not read.", self.backlogs.stuck);
        page.one("peers", "gauge", "Faces that are on demand.", self.admission.total() as u64);
        page.one("names", "gauge", "Flows and names in use.", here.names);
        page.one("held_bytes", "gauge", "Bytes of packets and names held.", here.held_bytes);
        page.one("aggregated_total", "counter", "Interests that joined a pending one.", node.aggregated);
        page.one("loops_total", "counter", "Interests whose nonce had been seen.", node.loops);
        page.one("expired_total", "counter", "Pending Interests whose lifetime ended.", node.expired);
        page.one("held_interests", "gauge", "Interests that a shaper holds.", node.held);
        self.total_lines(&mut page);
        page.head("dropped_total", "counter", "Packets dropped outside a face's own queue, by reason.");
        for (reason, value) in [
            ("malformed", here.malformed),
            ("fragment", here.fragments),
            ("fragment-late", here.fragments_late),
            ("fragment-room", here.fragments_evicted),
            ("name-length", here.long_names),
            ("scope", here.scope),
            ("memory", here.full),
            ("unsolicited", here.unsolicited - here.no_out_record + node.unsolicited),
            ("no-out-record", here.no_out_record),
            ("unmatched-nack", here.unmatched_nacks + node.unmatched_nacks),
            ("unsendable", here.unsendable),
            ("pit-full", node.pit_full - node.pit_memory),
            ("pit-memory", node.pit_memory),
            ("no-route", node.no_prefix),
            ("hop-limit", node.hop_limit),
            ("duplicate", node.duplicates),
            ("unknown-peer", self.totals.on_demand_peers),
            ("unproven", self.totals.unproven),
            ("unconnected", self.totals.unconnected),
            ("backlog", self.backlog_drops()),
            ("management", self.totals.requests),
            ("udp-send", self.ports.dropped()),
        ] {
            page.line("dropped_total", &format!("reason=\"{reason}\""), value);
        }
        self.face_lines(now, &mut page);
        page.0
    }

    /// Packets that were dropped because a stream's peer did not read.
    fn backlog_drops(&self) -> u64 {
        let of = |link: &SocketFace| match &link.transport {
            Transport::Stream(stream) => stream.dropped(),
            _ => 0,
        };
        self.totals.backlog + self.faces.iter().map(|(_, link)| of(link)).sum::<u64>()
    }

    /// Counters of all faces since the start.
    pub(super) fn passed(&self) -> LinkCounters {
        let present = self.faces.iter().map(|(id, _)| self.forwarder.link_counters(id));
        present.fold(self.totals.gone, LinkCounters::plus)
    }

    fn total_lines(&self, page: &mut Page) {
        let passed = self.passed();
        page.head("packets_total", "counter", "Packets of all faces, of those that are gone too.");
        for (labels, value) in packets(&passed) {
            page.line("packets_total", labels, value);
        }
        page.head("marked_total", "counter", "Of those, packets with a CongestionMark.");
        page.line("marked_total", "direction=\"in\"", passed.marked_in);
        page.line("marked_total", "direction=\"out\"", passed.marked_out);
    }

    fn face_lines(&mut self, now: Time, page: &mut Page) {
        let faces: Vec<_> = self.faces.iter().map(|(id, link)| (id, link.number, link.place())).collect();
        let rows: Vec<_> = faces
            .into_iter()
            .map(|(id, number, uri)| {
                (format!("face=\"{number}\",uri=\"{}\"", escaped(&uri)), self.forwarder.face_counters(now, id))
            })
            .collect();
        page.head("face_packets_total", "counter", "Packets by face, direction and type.");
        for (labels, (link, _)) in &rows {
            for (more, value) in packets(link) {
                page.line("face_packets_total", &format!("{labels},{more}"), value);
            }
        }
        page.head("face_bytes_total", "counter", "Bytes of frames by face and direction.");
        for (labels, (link, _)) in &rows {
            page.line("face_bytes_total", &format!("{labels},direction=\"in\""), link.bytes_in);
            page.line("face_bytes_total", &format!("{labels},direction=\"out\""), link.bytes_out);
        }
        page.head("face_marked_total", "counter", "Packets with a CongestionMark by face and direction.");
        for (labels, (link, _)) in &rows {
            page.line("face_marked_total", &format!("{labels},direction=\"in\""), link.marked_in);
            page.line("face_marked_total", &format!("{labels},direction=\"out\""), link.marked_out);
        }
        page.head("face_marks_total", "counter", "Marks set by this forwarder, by face and queue.");
        for (labels, (link, egress)) in &rows {
            let own = egress.data_marks + egress.interest_marks;
            page.line("face_marks_total", &format!("{labels},queue=\"egress\""), own);
            page.line("face_marks_total", &format!("{labels},queue=\"kernel\""), link.kernel_marks);
            page.line("face_marks_total", &format!("{labels},queue=\"losses\""), link.link.marks);
        }
        page.head("face_link_frames_total", "counter", "Frames of link reliability, by face and what became of them.");
        let link_retransmitted = |(_, (link, _)): &&(String, (LinkCounters, _))| link.link != Counts::default();
        for (labels, (link, _)) in rows.iter().filter(link_retransmitted) {
            for (event, value) in [
                ("acknowledged", link.link.acked),
                ("retransmitted", link.link.retransmitted),
                ("duplicate", link.link.duplicates),
                ("stray-ack", link.link.strays),
            ] {
                page.line("face_link_frames_total", &format!("{labels},event=\"{event}\""), value);
            }
        }
        page.head("face_given_up_total", "counter", "Packets that were lost though their frames were sent again.");
        for (labels, (link, _)) in rows.iter().filter(link_retransmitted) {
            page.line("face_given_up_total", labels, link.link.given_up);
        }
        page.head("face_queue_packets", "gauge", "Packets that wait in the egress queue.");
        for (labels, (_, egress)) in &rows {
            page.line("face_queue_packets", labels, egress.queue_packets.into());
        }
        page.head("face_drops_total", "counter", "Packets dropped at the egress queue, by cause.");
        for (labels, (_, egress)) in &rows {
            for cause in DropCause::ALL {
                let dropped = egress.drops[cause];
                if dropped > 0 {
                    page.line("face_drops_total", &format!("{labels},cause=\"{}\"", cause.name()), dropped);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forwarders_own_face_is_named_as_in_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let config = crate::daemon::Config { unix: Some(dir.path().join("s")), ..crate::daemon::Config::default() };
        let mut daemon = Daemon::new(config).unwrap();
        let text = daemon.metrics_text(daemon.clock.now());
        assert!(text.contains("uri=\"internal://\"") && !text.contains("unix:///internal"), "{text}");
    }

    #[test]
    fn a_path_of_any_characters_stays_within_its_label() {
        assert_eq!(escaped("unix:///a\"b\\c\nd"), "unix:///a\\\"b\\\\c\\nd");
    }
}
