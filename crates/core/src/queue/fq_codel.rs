//! `fq-codel`: flow queueing with CoDel in each queue (RFC 8290).
//!
//! Every flow has a queue of its own with its own CoDel. Queues take turns by deficit round robin; a new queue is
//! served before those that have had their turn, so that sparse flows do not wait. When the limit is passed, the queue
//! with most bytes loses packets from its head. Source: RFC 8290 §3 and §4; the overload rule (half of the longest
//! queue, at most 64 packets) and the least quantum of 256 B from Linux (`sch_fq_codel`); specification, router side
//! §9.2.
//!
//! Deviations: a flow's queue is found by its number and not by a hash, so that two flows share one only when more than
//! `flows` have a queue; the limit is the link's (the RFC has 10,240 packets or 32 MB); CoDel marks where the RFC
//! drops, unless `action = "drop"`; a queue's own rest is compared with the MTU (Linux takes the whole backlog);
//! packets lost to overload do not count for CoDel (Linux adds them to its count). Ours: Interests, Data and NACKs of a
//! flow share its queue; when all queues are taken, a new flow gets the one that has been empty for longest, and starts
//! again there; if none is empty it shares one as long as it has packets waiting.

use super::codel::{self, CodelState};
use super::{Action, Discipline, Limit, Queued};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::ids::FlowId;
use crate::packet::{Kind, Packet};
use crate::shared::index_list::IndexList;
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// Parameters of [`FqCodel`]; defaults are the RFC's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The waiting time that is tolerated in each queue (RFC 8290 §5.2.2: 5 ms).
    pub target: Duration,
    /// How long it must be reached before the first mark (RFC 8290 §5.2.1: 100 ms).
    pub interval: Duration,
    /// A queue with no more than this behind the leaving packet is never congested (RFC 8289 §5: one MTU).
    pub mtu: Bytes,
    /// Bytes a queue may send per turn, at least 256 (RFC 8290 §5.2.4: one MTU).
    pub quantum: Bytes,
    /// Queues at most, up to 65,536 (RFC 8290 §5.2.5: 1024).
    pub flows: u32,
    /// Packets the fattest queue loses at most at once when the limit is passed (Linux: 64).
    pub drop_batch: u32,
    /// What happens to the packets CoDel picks (RFC 8290 §5.2.6 lets ECN decide; ours: mark).
    pub action: Action,
    /// The part of what is sent that flows without a queue get while others wait (RFC 8290 §4.2: all, 1, like all that
    /// had nothing waiting). With less, ever new flows of one packet each cannot keep the others waiting for good (ours).
    pub first_part: f64,
    /// Packets whose field for an explicit rate says one are not picked: another part of the scheme has told their flow
    /// what this link has for it (ours).
    pub spare_rated: bool,
}

impl Default for Params {
    fn default() -> Params {
        let codel::Params { target, interval, mtu, action } = codel::Params::default();
        Params {
            target,
            interval,
            mtu,
            quantum: Bytes::new(1500),
            flows: 1024,
            drop_batch: 64,
            action,
            first_part: 1.0,
            spare_rated: false,
        }
    }
}

/// One queue.
#[derive(Clone, Debug, ndnweir_state::Value)]
struct Queue {
    /// The flow that has the queue; others may share it.
    owner: FlowId,
    packets: VecDeque<Queued>,
    bytes: u64,
    /// Data of its owner.
    data: Data,
    /// Bytes it may still send in this turn.
    deficit: i64,
    control: CodelState,
    /// Whether it is on one of the lists of those with packets.
    listed: bool,
    /// Whether its owner has had more than one packet.
    again: bool,
}

/// The lists of queues with packets, in the order in which they are served.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Of flows that had no queue, where these get but a part.
    First,
    /// Of others that had nothing waiting.
    Fresh,
    /// Of those that take turns.
    Old,
}

/// Flows whose queue is found without a search.
const RECENT: usize = 16;

/// Data that wait.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Data {
    packets: u32,
    bytes: u64,
}

impl Data {
    fn add(&mut self, packet: &Packet) {
        if packet.kind == Kind::Data {
            self.packets += 1;
            self.bytes += u64::from(packet.size);
        }
    }

    fn remove(&mut self, packet: &Packet) {
        if packet.kind == Kind::Data {
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
        }
    }
}

/// Where a flow's packets are; how many, if it shares the queue of another.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Home {
    queue: u32,
    /// Packets waiting, of any kind.
    packets: u32,
    data: Data,
}

/// The queues.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct FqCodel {
    codel: codel::Params,
    quantum: i64,
    most: usize,
    batch: u32,
    first_part: f64,
    /// The field of packets that CoDel spares.
    spared: Option<Slot>,
    queues: Vec<Queue>,
    homes: BTreeMap<FlowId, Home>,
    /// Queues that flows had which were looked up last, by the last bits of their numbers. Who owns one is asked there.
    #[state(skip)]
    recent: [u32; RECENT],
    /// Queues that began to hold packets and have not had their turn.
    fresh: VecDeque<u32>,
    /// The same of flows that had none, if these get but a part.
    first: VecDeque<u32>,
    /// Queues that take turns.
    old: VecDeque<u32>,
    /// By how many bytes these flows are ahead of their part.
    ahead: f64,
    /// Queues that have been on the lists and are not, in the order in which they became empty.
    resting: IndexList,
    /// The same of flows that had but one packet, whose queues others get first, if new flows get but a part.
    once: IndexList,
    packets: u32,
    bytes: Bytes,
}

impl Component for FqCodel {
    const NAME: &'static str = "fq-codel";
    const SUMMARY: &'static str = "FQ-CoDel of RFC 8290: a queue with CoDel per flow, new flows first";
    const SOURCE: &'static str = "RFC 8290; overload rule: Linux; exact flows instead of hash buckets: ours";
    const FIELDS: &'static [Field] = &[Field::ExplicitRate];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        super::check_interval(params.interval)?;
        if !(256..=1_000_000_000).contains(&params.quantum.get()) {
            let help = "give a size from 256B to 1GB, such as \"1500B\"";
            return Err(SchemeError::value("quantum", params.quantum, "is out of range", help));
        }
        if !(1..=65_536).contains(&params.flows) {
            return Err(SchemeError::value("flows", params.flows, "is out of range", "give a number from 1 to 65536"));
        }
        check::number("first-part", params.first_part, 0.1, 1.0)?;
        if params.drop_batch == 0 {
            return Err(SchemeError::value("drop-batch", 0, "would keep a queue over its limit", "give 1 or more"));
        }
        Ok(())
    }

    fn new(params: &Params, env: &mut Env<'_>) -> FqCodel {
        let Params { target, interval, mtu, quantum, flows, drop_batch, action, first_part, spare_rated } = *params;
        FqCodel {
            codel: codel::Params { target, interval, mtu, action },
            quantum: quantum.get() as i64,
            most: flows as usize,
            batch: drop_batch,
            first_part,
            spared: spare_rated.then(|| env.slot(Field::ExplicitRate)),
            queues: Vec::new(),
            homes: BTreeMap::new(),
            recent: [0; RECENT],
            fresh: VecDeque::new(),
            first: VecDeque::new(),
            old: VecDeque::new(),
            ahead: 0.0,
            resting: IndexList::default(),
            once: IndexList::default(),
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }
}

impl FqCodel {
    /// The queue of a flow that has none yet.
    fn settle(&mut self, owner: FlowId) -> u32 {
        let queue = Queue {
            owner,
            packets: VecDeque::new(),
            bytes: 0,
            data: Data::default(),
            deficit: 0,
            control: CodelState::default(),
            listed: false,
            again: false,
        };
        if self.queues.len() < self.most {
            self.queues.push(queue);
            return (self.queues.len() - 1) as u32;
        }
        let Some(place) = self.once.first().or_else(|| self.resting.first()) else {
            return owner.0 % self.most as u32;
        };
        self.once.remove(place);
        self.resting.remove(place);
        let former = std::mem::replace(&mut self.queues[place as usize], queue);
        self.homes.remove(&former.owner);
        place
    }

    /// The queue of a flow that is known.
    #[inline(always)]
    fn home(&mut self, flow: FlowId) -> Option<u32> {
        let recent = &mut self.recent[flow.0 as usize % RECENT];
        // An owner's home is its queue.
        if self.queues.get(*recent as usize).is_some_and(|queue| queue.owner == flow) {
            return Some(*recent);
        }
        let queue = self.homes.get(&flow)?.queue;
        *recent = queue;
        Some(queue)
    }

    /// The queue of a flow that is not known.
    fn move_in(&mut self, flow: FlowId) -> u32 {
        let queue = self.settle(flow);
        self.homes.insert(flow, Home { queue, packets: 0, data: Data::default() });
        queue
    }

    fn line(&mut self, line: Line) -> &mut VecDeque<u32> {
        match line {
            Line::First => &mut self.first,
            Line::Fresh => &mut self.fresh,
            Line::Old => &mut self.old,
        }
    }

    /// The line whose turn it is.
    fn next_line(&self) -> Line {
        match self.fresh.is_empty() {
            _ if !self.first.is_empty() && (self.ahead <= 0.0 || self.first_is_alone()) => Line::First,
            false => Line::Fresh,
            true => Line::Old,
        }
    }

    fn first_is_alone(&self) -> bool {
        self.fresh.is_empty() && self.old.is_empty()
    }

    /// A queue that is on no list begins to hold packets.
    fn list(&mut self, place: u32, line: Line) {
        self.resting.remove(place);
        self.once.remove(place);
        let queue = &mut self.queues[place as usize];
        (queue.listed, queue.deficit) = (true, self.quantum);
        self.line(line).push_back(place);
    }

    /// A queue has become empty, and is taken off the lists.
    fn rest(&mut self, place: u32) {
        let queue = &mut self.queues[place as usize];
        queue.listed = false;
        if queue.again || self.first_part >= 1.0 { self.resting.push(place) } else { self.once.push(place) }
    }

    /// The only queue on the lists, which is empty, makes way for that of a flow, which may be the same.
    fn change(&mut self, last: Option<u32>, line: Line, flow: FlowId) -> u32 {
        let known = self.home(flow);
        if let Some(last) = last {
            if line == Line::Fresh && known == Some(last) {
                return last;
            }
            self.queues[last as usize].control.idles();
            self.line(line).pop_front();
            self.rest(last);
        }
        let place = known.unwrap_or_else(|| self.move_in(flow));
        self.list(place, Line::Fresh);
        place
    }

    /// Takes the first packet out of a queue.
    fn pop(&mut self, place: u32) -> Option<Queued> {
        let queue = &mut self.queues[place as usize];
        let queued = queue.packets.pop_front()?;
        let (packet, flow) = (&queued.packet, queued.packet.name.flow);
        queue.bytes -= u64::from(packet.size);
        self.packets -= 1;
        self.bytes = self.bytes - packet.bytes();
        if queue.owner == flow {
            queue.data.remove(packet);
        } else if let Some(home) = self.homes.get_mut(&flow) {
            home.packets -= 1;
            home.data.remove(packet);
            if home.packets == 0 {
                self.homes.remove(&flow);
            }
        }
        Some(queued)
    }

    /// Drops from the queue that came last of those that get but a part, if they hold more than that, and else half of
    /// the longest from its head, the lowest number among equals. Of those that get but a part the longest would be that
    /// of a flow that sends more than one packet.
    fn relieve(&mut self, dropped: &mut Vec<Packet>) {
        let bytes = |place: &u32| self.queues[*place as usize].bytes;
        let first: u64 = self.first.iter().map(bytes).sum();
        if first as f64 > self.first_part * self.bytes.get() as f64 {
            let last = self.first.iter().rev().find(|place| bytes(place) > 0).copied();
            dropped.extend(last.and_then(|place| self.pop(place)).map(|queued| queued.packet));
            return;
        }
        let held = (0..self.queues.len()).filter(|&i| !self.queues[i].packets.is_empty());
        let Some(fattest) = held.max_by_key(|&i| (self.queues[i].bytes, Reverse(i))) else { return };
        let goal = self.queues[fattest].bytes / 2;
        let mut dropped_bytes = 0;
        for _ in 0..self.batch {
            let Some(queued) = self.pop(fattest as u32) else { return };
            dropped_bytes += u64::from(queued.packet.size);
            dropped.push(queued.packet);
            if dropped_bytes >= goal {
                return;
            }
        }
    }

    /// So many bytes leave from a line.
    fn count_ahead(&mut self, line: Line, size: u64) {
        let size = size as f64;
        self.ahead = match line {
            Line::First if self.first_is_alone() => 0.0,
            Line::First => self.ahead + size * (1.0 - self.first_part),
            // No more than for one packet is saved up.
            Line::Fresh | Line::Old => self.ahead.max(0.0) - size * self.first_part,
        };
    }

    /// The packet that a queue sends in its turn; none if CoDel leaves nothing.
    fn serve(&mut self, place: u32, dropped: &mut Vec<Packet>, now: Time) -> Option<Queued> {
        while let Some(queued) = self.pop(place) {
            let queue = &mut self.queues[place as usize];
            if !queue.control.departs(&self.codel, now.since(queued.joined), Bytes::new(queue.bytes), now) {
                return Some(queued);
            }
            if self.spared.is_some_and(|slot| queued.packet.fields.get(slot) > 0) {
                return Some(queued);
            }
            match self.codel.action {
                Action::Mark => return Some(Queued { mark: 1, ..queued }),
                Action::Drop => dropped.push(queued.packet),
            }
        }
        self.queues[place as usize].control.idles();
        None
    }
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, packet: Packet, limit: Limit, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) {
        let flow = packet.name.flow;
        let known = self.home(flow);
        // Where nobody waits there is nobody to wait for.
        let is_first = known.is_none() && self.packets > 0 && self.first_part < 1.0;
        let line = if is_first { Line::First } else { Line::Fresh };
        let place = known.unwrap_or_else(|| self.move_in(flow));
        self.packets += 1;
        self.bytes += packet.bytes();
        let queue = &mut self.queues[place as usize];
        queue.again |= known.is_some();
        if queue.owner == flow {
            queue.data.add(&packet);
        } else if let Some(home) = self.homes.get_mut(&flow) {
            home.packets += 1;
            home.data.add(&packet);
        }
        queue.bytes += u64::from(packet.size);
        queue.packets.push_back(Queued::new(packet, ctx));
        if !queue.listed {
            self.list(place, line);
        }
        let over = |fq: &FqCodel| match limit {
            Limit::Packets(most) => fq.packets > most,
            Limit::Bytes(most) => fq.bytes > most,
        };
        while over(self) {
            self.relieve(dropped);
        }
    }

    fn dequeue(&mut self, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) -> Option<Queued> {
        if self.packets == 0 && self.first.is_empty() && self.fresh.len() + self.old.len() == 1 {
            // What the turns below come to for the only queue on the lists.
            let place = self.fresh.pop_front().or_else(|| self.old.pop_front())?;
            self.queues[place as usize].control.idles();
            self.rest(place);
            return None;
        }
        loop {
            let line = self.next_line();
            let place = *self.line(line).front()?;
            let queue = &mut self.queues[place as usize];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                self.line(line).pop_front();
                self.old.push_back(place);
                continue;
            }
            if let Some(queued) = self.serve(place, dropped, ctx.now) {
                self.queues[place as usize].deficit -= i64::from(queued.packet.size);
                self.count_ahead(line, u64::from(queued.packet.size));
                return Some(queued);
            }
            self.line(line).pop_front();
            match line {
                // Behind those that have waited, or a flow of single packets would always be new.
                Line::First | Line::Fresh => self.old.push_back(place),
                Line::Old => self.rest(place),
            }
        }
    }

    fn packets(&self) -> u32 {
        self.packets
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }

    fn backlog(&self, flow: FlowId) -> (u32, Bytes) {
        let data = self.homes.get(&flow).map_or(Data::default(), |home| {
            let queue = &self.queues[home.queue as usize];
            if queue.owner == flow { queue.data } else { home.data }
        });
        (data.packets, Bytes::new(data.bytes))
    }

    fn rests_quietly(&self) -> bool {
        true
    }

    fn pass(&mut self, flow: FlowId, size: Bytes, _: &mut Ctx<'_>) -> bool {
        if self.packets > 0 || !self.first.is_empty() || self.fresh.len() + self.old.len() > 1 {
            return false;
        }
        let line = self.next_line();
        let last = self.line(line).front().copied();
        let known = self.home(flow).is_some();
        let place = match last {
            Some(last) if line == Line::Fresh && self.queues[last as usize].owner == flow => last,
            _ => self.change(last, line, flow),
        };
        let queue = &mut self.queues[place as usize];
        queue.again |= known;
        // It has been found empty since its last packet, and with nothing behind it no packet is picked.
        queue.control.idles();
        queue.deficit = self.quantum - size.get() as i64;
        self.count_ahead(Line::Fresh, size.get());
        true
    }
}

#[cfg(test)]
mod tests;
