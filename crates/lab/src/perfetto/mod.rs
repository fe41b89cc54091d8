//! A run as a trace for the Perfetto viewer: nodes as processes, transmissions as slices, the way of an Interest and its
//! Data as arrows, windows and queues as counters.

mod counters;
mod messages;
#[cfg(test)]
mod tests;
mod tracks;

use crate::experiment::{Experiment, Inputs, Watching};
use crate::trace::{self, Error};
use messages::{Trace, TrackEvent, kind};
use ndnweir_core::ids::NameId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_sim::PacketTap;
use ndnweir_sim::in_order::InOrder;
use ndnweir_sim::observer::{DirectedLinkId, NodeId};
use ndnweir_sim::pcap::NameTable;
use prost::Message;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tracks::Tracks;

/// Runs the experiment's first scheme with its first seed again and writes its trace to `path`.
///
/// # Errors
/// See [`Error`].
pub fn write(experiment: &Experiment, path: &Path, stop: &AtomicBool) -> Result<(), Error> {
    let (Some(scheme), Some(&seed)) = (experiment.schemes.first(), experiment.seeds.first()) else {
        return Ok(());
    };
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let inputs = Inputs::new(&experiment.scenario);
    let names = trace::names(experiment, &inputs.network);
    let file = BufWriter::new(File::create(path).map_err(failed)?);
    let mut writer = PerfettoWriter::new(file, Tracks::new(&inputs.info), names);
    let finished =
        experiment.run_one(&inputs, scheme, seed, stop, Watching { tap: Some(&mut writer), ..Watching::default() })?;
    if let Some(finished) = finished {
        writer.flush();
        counters::write(&mut writer, &inputs.info, &finished.run);
    }
    writer.finish().map_err(failed)?;
    Ok(())
}

/// Whether a file that begins so is one that [`write`] wrote: the track of changes comes first.
pub fn is_own(head: &[u8]) -> bool {
    head.starts_with(&Trace { packet: vec![tracks::packet(None, None, Some(tracks::changes()))] }.encode_to_vec())
}

/// A packet that a link will send.
struct Sent {
    link: usize,
    ends: [NodeId; 2],
    waited: Duration,
    packet: Packet,
}

/// A transmission whose end is not yet certain.
struct Slice {
    from: Time,
    to: Time,
    event: TrackEvent,
}

/// The arrows of a name: from the Interest of the node that asked first to the Data that comes to it.
struct Flow {
    id: u64,
    asked: NodeId,
}

/// Writes a trace.
struct PerfettoWriter<W: Write> {
    out: W,
    tracks: Tracks,
    names: NameTable,
    waiting: InOrder<Sent>,
    /// The last transmission of each direction of a link: it ends when the next one begins, at the latest.
    last: Vec<Option<Slice>>,
    /// By name, while Data are awaited.
    flows: BTreeMap<NameId, Flow>,
    next_flow: u64,
    result: io::Result<()>,
}

impl<W: Write> PerfettoWriter<W> {
    fn new(out: W, tracks: Tracks, names: NameTable) -> PerfettoWriter<W> {
        let last = (0..tracks.links.len()).map(|_| None).collect();
        let (waiting, flows) = (InOrder::default(), BTreeMap::new());
        let mut writer = PerfettoWriter { out, tracks, names, waiting, last, flows, next_flow: 1, result: Ok(()) };
        for packet in writer.tracks.descriptors() {
            writer.put(Trace { packet: vec![packet] });
        }
        writer
    }

    fn put(&mut self, part: Trace) {
        if self.result.is_ok() {
            self.result = self.out.write_all(&part.encode_to_vec());
        }
    }

    fn event(&mut self, at: Time, event: TrackEvent) {
        self.put(Trace { packet: vec![tracks::packet(Some(at), Some(event), None)] });
    }

    fn slice(&mut self, slice: Slice) {
        let end = TrackEvent { r#type: kind::END, track_uuid: slice.event.track_uuid, ..TrackEvent::default() };
        self.event(slice.from, slice.event);
        self.event(slice.to, end);
    }

    fn send_before(&mut self, now: Time) {
        while let Some((at, sent)) = self.waiting.pop_before(now) {
            self.send(at, &sent);
        }
    }

    fn flush(&mut self) {
        self.send_before(Time::NEVER);
        for link in 0..self.last.len() {
            if let Some(slice) = self.last[link].take() {
                self.slice(slice);
            }
        }
    }

    /// The arrows that a packet belongs to, and whether they end with it.
    fn flow(&mut self, packet: &Packet, [from, to]: [NodeId; 2]) -> (Option<u64>, bool) {
        if packet.kind == Kind::Interest {
            let next = &mut self.next_flow;
            let flow = self.flows.entry(packet.name).or_insert_with(|| {
                *next += 1;
                Flow { id: *next, asked: from }
            });
            return (Some(flow.id), false);
        }
        let Some(flow) = self.flows.get(&packet.name) else { return (None, false) };
        let (id, ends) = (flow.id, flow.asked == to);
        if ends {
            self.flows.remove(&packet.name);
        }
        (Some(id), ends)
    }

    fn send(&mut self, from: Time, sent: &Sent) {
        let packet = &sent.packet;
        let Some(track) = self.tracks.links.get(sent.link) else { return };
        let (takes, track_uuid) = (track.rate.transmission_time(Bytes::new(packet.size.into())), track.uuid);
        let (flow, ends) = self.flow(packet, sent.ends);
        let flow: Vec<u64> = flow.into_iter().collect();
        let (flow_ids, terminating_flow_ids) = if ends { (Vec::new(), flow) } else { (flow, Vec::new()) };
        let kind_name = match packet.kind {
            Kind::Interest => "Interest",
            Kind::Data => "Data",
            Kind::Nack => "NACK",
        };
        let event = TrackEvent {
            debug_annotations: tracks::details(packet, sent.waited),
            r#type: kind::BEGIN,
            track_uuid,
            categories: vec![kind_name.to_owned()],
            name: format!("{kind_name} {}", self.names.name(packet.name)),
            flow_ids,
            terminating_flow_ids,
            ..TrackEvent::default()
        };
        let slice = Slice { from, to: from + takes.max(Duration::from_nanos(1)), event };
        // A link whose rate has changed takes another time, and one that failed has taken packets back.
        if let Some(mut last) = self.last[sent.link].replace(slice) {
            last.to = last.to.min(from).max(last.from);
            self.slice(last);
        }
    }

    fn finish(mut self) -> io::Result<W> {
        self.result?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> PacketTap for PerfettoWriter<W> {
    fn sent(&mut self, now: Time, waiting: Range<Time>, link: DirectedLinkId, ends: [NodeId; 2], packet: &Packet) {
        self.send_before(now);
        let waited = waiting.end.since(waiting.start);
        self.waiting.push(waiting.end, Sent { link: link.0 as usize, ends, waited, packet: *packet });
    }
}
