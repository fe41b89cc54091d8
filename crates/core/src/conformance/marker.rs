//! Markers, plugged into a drop-tail queue on a link.

use super::{Broken, Desk, RATES};
use crate::ids::{FlowId, NameId};
use crate::packet::{Kind, Packet};
use crate::queue::{DequeueEvent, EnqueueEvent, Limit, Marker, QueueView, Verdict};
use crate::registry::AnyMarker;
use crate::units::{Bytes, Duration, Rate, Time};
use ndnweir_state::{State as _, Writer};
use std::collections::VecDeque;

/// A queue with a marker, and the link it feeds.
struct Egress {
    desk: Desk<AnyMarker>,
    queue: VecDeque<(Packet, Time)>,
    limit: Limit,
    rate: Rate,
    /// When the transmission in flight ends.
    busy: Option<Time>,
    /// Whether departures are shown a queue that is not there, as lateness may do to a predictable marker.
    blur: bool,
    joined: u64,
    left: u64,
    dropped: u64,
}

impl Egress {
    fn new(desk: Desk<AnyMarker>) -> Egress {
        let (queue, limit, rate) = (VecDeque::new(), Limit::Packets(100), Rate::from_mbps(10.0));
        Egress { desk, queue, limit, rate, busy: None, blur: false, joined: 0, left: 0, dropped: 0 }
    }

    fn view(&self) -> QueueView {
        let bytes = self.queue.iter().fold(Bytes::ZERO, |sum, (packet, _)| sum + packet.bytes());
        QueueView { packets: self.queue.len() as u32, bytes, limit: self.limit, rate: Some(self.rate) }
    }

    /// What a checkpoint takes of the marker.
    fn kept(&self) -> Vec<u8> {
        let mut to = Writer::default();
        self.desk.component.save(&mut to);
        to.into_bytes()
    }

    fn note(&mut self, what: u64, verdict: Verdict) {
        self.desk.demand(verdict != Verdict::Mark(0), "a mark of level 0 is none");
        let code = match verdict {
            Verdict::Pass => return,
            Verdict::Mark(level) => u64::from(level),
            Verdict::Drop => 1000,
        };
        self.desk.record.extend([self.desk.now.nanos(), what, code]);
    }

    /// A packet arrives.
    fn offer(&mut self, mut packet: Packet) {
        self.settle(self.desk.now);
        let queue = self.view();
        if !queue.fits(packet.bytes()) {
            self.dropped += 1;
            let event = EnqueueEvent { packet: &packet, queue };
            return self.desk.with(|marker, ctx| marker.on_overflow(&event, ctx));
        }
        let event = EnqueueEvent { packet: &packet, queue };
        let rests = self.desk.component.rests().is_some_and(|most| queue.bytes <= most);
        let before = rests.then(|| self.kept());
        let verdict = self.desk.with(|marker, ctx| marker.on_enqueue(&event, ctx));
        self.note(1, verdict);
        let stays = before.is_none_or(|before| before == self.kept() && verdict == Verdict::Pass);
        self.desk.demand(stays, "a marker at rest lets packets pass and stays as it is");
        if verdict == Verdict::Drop {
            self.dropped += 1;
            return;
        }
        let before = packet;
        self.desk.with(|marker, ctx| marker.stamp(&mut packet, ctx));
        if self.desk.component.stamps() {
            let fields = packet.fields;
            self.desk.demand(Packet { fields, ..before } == packet, "only header fields are stamped");
            self.desk.record_fields(&fields);
        } else {
            self.desk.demand(before == packet, "it stamps without saying so");
        }
        self.joined += 1;
        self.queue.push_back((packet, self.desk.now));
        if self.busy.is_none() {
            self.start();
        }
    }

    /// Starts the next transmission.
    fn start(&mut self) {
        while let Some((packet, joined)) = self.queue.pop_front() {
            let mut queue = self.view();
            if self.blur {
                queue = QueueView { packets: queue.packets + 7, bytes: queue.bytes + Bytes::new(90_000), ..queue };
            }
            let sojourn = self.desk.now.since(joined);
            let event =
                DequeueEvent { kind: packet.kind, flow: packet.name.flow, size: packet.bytes(), sojourn, queue };
            let verdict = self.desk.with(|marker, ctx| marker.on_dequeue(&event, ctx));
            self.note(2, verdict);
            let passes = verdict == Verdict::Pass || !self.desk.component.predictable();
            self.desk.demand(passes, "a predictable marker passes every departure");
            let watches = self.desk.component.watches_departures();
            self.desk.demand(watches || verdict == Verdict::Pass, "who does not watch departures lets them pass");
            if verdict == Verdict::Drop {
                self.dropped += 1;
                self.joined -= 1;
                continue;
            }
            self.left += 1;
            self.busy = Some(self.desk.now + self.rate.transmission_time(packet.bytes()));
            return;
        }
        self.busy = None;
        self.desk.with(|marker, ctx| marker.on_idle(ctx));
    }

    /// Lets transmissions end up to `until`.
    fn settle(&mut self, until: Time) {
        while let Some(end) = self.busy.filter(|&end| end <= until && end < Time::NEVER) {
            self.desk.now = end;
            self.start();
        }
        self.desk.now = self.desk.now.max(until);
    }

    fn finish(mut self) -> Result<Vec<u64>, Broken> {
        let whole = self.joined == self.left + self.queue.len() as u64;
        self.desk.demand(whole, "packets in = packets out + packets queued");
        let mut record = self.desk.finish()?;
        record.extend([self.left, self.dropped]);
        Ok(record)
    }
}

/// Random packets at random times through links of any speed: what the marker decided. With `blur` departures are shown
/// a queue that is not there.
///
/// # Errors
/// The first rule that the marker broke.
pub fn fuzz(desk: Desk<AnyMarker>, blur: bool) -> Result<Vec<u64>, Broken> {
    let mut egress = Egress::new(desk);
    egress.blur = blur;
    for tag in 0..1500 {
        let before = egress.desk.now;
        egress.desk.wander();
        let now = std::mem::replace(&mut egress.desk.now, before);
        egress.settle(now);
        if egress.desk.chance(0.01) {
            egress.rate = Rate::from_bps(RATES[egress.desk.below(RATES.len())]);
        }
        if egress.desk.chance(0.01) {
            let limits =
                [Limit::Packets(0), Limit::Packets(1), Limit::Packets(u32::MAX), Limit::Bytes(Bytes::new(9000))];
            egress.limit = limits[egress.desk.below(limits.len())];
        }
        for _ in 0..egress.desk.below(4) {
            let packet = egress.desk.packet(tag);
            egress.offer(packet);
        }
    }
    egress.finish()
}

/// Offers `packets` of 1250 B, `gap` apart, every twentieth an Interest, of three flows with unlike header fields, one
/// of which is silent for half of the time.
fn stream(egress: &mut Egress, packets: u32, gap: Duration) {
    for tag in 0..packets {
        let now = egress.desk.now + gap;
        egress.settle(now);
        let (kind, size) = if tag % 20 == 0 { (Kind::Interest, 40) } else { (Kind::Data, 1250) };
        let flow = if tag / 400 % 2 == 0 { tag % 3 } else { tag % 2 };
        let (name, fields) = (NameId { flow: FlowId(flow), segment: tag }, egress.desk.fields(1024 << flow));
        egress.offer(Packet { name, kind, size, tag, fields, ..Packet::default() });
    }
}

/// Overload, underload and pauses at 10 Mbit/s with queues of several sizes, and standing queues at 1 Mbit/s; `desk` gives
/// a fresh marker with a seed.
///
/// # Errors
/// The first rule that the marker broke.
pub fn workload(desk: impl Fn(u64) -> Desk<AnyMarker>) -> Result<Vec<u64>, Broken> {
    let mut record = Vec::new();
    for limit in [Limit::Packets(200), Limit::Packets(60), Limit::Bytes(Bytes::new(100_000))] {
        let mut egress = Egress::new(desk(1));
        egress.limit = limit;
        for round in 1..6 {
            stream(&mut egress, 600 * round, Duration::from_micros(900));
            stream(&mut egress, 40 * round, Duration::from_millis(3));
            egress.settle(egress.desk.now + Duration::from_millis(400) * u64::from(round));
        }
        record.extend(egress.finish()?);
    }
    for burst in [1, 2, 3, 4, 5, 30] {
        let mut egress = Egress::new(desk(2));
        egress.rate = Rate::from_mbps(1.0);
        for tag in 0..burst {
            egress.offer(Packet { kind: Kind::Data, size: 1250, tag, ..Packet::default() });
        }
        egress.settle(egress.desk.now + Duration::from_millis(5));
        for tag in 0..100 {
            egress.settle(egress.desk.now + Duration::from_millis(10));
            egress.offer(Packet { kind: Kind::Data, size: 1250, tag, ..Packet::default() });
        }
        record.extend(egress.finish()?);
    }
    Ok(record)
}
