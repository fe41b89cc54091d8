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
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::ids::FlowId;
use crate::packet::{Kind, Packet};
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    /// Bytes it may still send in this turn.
    deficit: i64,
    control: CodelState,
    /// Whether it is on one of the lists.
    listed: bool,
    /// Off the lists: its place in the order of those that left them.
    since: u64,
}

/// Where a flow's packets are.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Home {
    queue: u32,
    /// Packets waiting, of any kind.
    packets: u32,
    data: u32,
    data_bytes: u64,
}

/// The queues.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct FqCodel {
    codel: codel::Params,
    quantum: i64,
    most: usize,
    batch: u32,
    /// The field of packets that CoDel spares.
    spared: Option<Slot>,
    queues: Vec<Queue>,
    homes: BTreeMap<FlowId, Home>,
    /// Queues that began to hold packets and have not had their turn.
    fresh: VecDeque<u32>,
    /// Queues that take turns.
    old: VecDeque<u32>,
    /// Queues on no list, by how long.
    empty: BTreeSet<(u64, u32)>,
    /// Times a queue left the lists.
    left: u64,
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
        if params.drop_batch == 0 {
            return Err(SchemeError::value("drop-batch", 0, "would keep a queue over its limit", "give 1 or more"));
        }
        Ok(())
    }

    fn new(params: &Params, env: &mut Env<'_>) -> FqCodel {
        let Params { target, interval, mtu, quantum, flows, drop_batch, action, spare_rated } = *params;
        FqCodel {
            codel: codel::Params { target, interval, mtu, action },
            quantum: quantum.get() as i64,
            most: flows as usize,
            batch: drop_batch,
            spared: spare_rated.then(|| env.slot(Field::ExplicitRate)),
            queues: Vec::new(),
            homes: BTreeMap::new(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            empty: BTreeSet::new(),
            left: 0,
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }
}

impl FqCodel {
    /// The queue of a flow that has none yet.
    fn settle(&mut self, owner: FlowId) -> u32 {
        let control = CodelState::default();
        let queue = Queue { owner, packets: VecDeque::new(), bytes: 0, deficit: 0, control, listed: false, since: 0 };
        if self.queues.len() < self.most {
            self.queues.push(queue);
            return (self.queues.len() - 1) as u32;
        }
        let Some((_, place)) = self.empty.pop_first() else { return owner.0 % self.most as u32 };
        let former = std::mem::replace(&mut self.queues[place as usize], queue);
        self.homes.remove(&former.owner);
        place
    }

    /// Takes the first packet out of a queue.
    fn pop(&mut self, place: u32) -> Option<Queued> {
        let queue = &mut self.queues[place as usize];
        let queued = queue.packets.pop_front()?;
        let (packet, owner) = (&queued.packet, queue.owner);
        queue.bytes -= u64::from(packet.size);
        self.packets -= 1;
        self.bytes = self.bytes - packet.bytes();
        if let Some(home) = self.homes.get_mut(&packet.name.flow) {
            home.packets -= 1;
            if packet.kind == Kind::Data {
                home.data -= 1;
                home.data_bytes -= u64::from(packet.size);
            }
            if home.packets == 0 && owner != packet.name.flow {
                self.homes.remove(&packet.name.flow);
            }
        }
        Some(queued)
    }

    /// Drops half of the longest queue from its head, the lowest number among equals.
    fn drop_from_fattest(&mut self, dropped: &mut Vec<Packet>) {
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
        let known = self.homes.get(&flow).map(|home| home.queue);
        let place = known.unwrap_or_else(|| self.settle(flow));
        let home = self.homes.entry(flow).or_insert(Home { queue: place, packets: 0, data: 0, data_bytes: 0 });
        home.packets += 1;
        if packet.kind == Kind::Data {
            home.data += 1;
            home.data_bytes += u64::from(packet.size);
        }
        self.packets += 1;
        self.bytes += packet.bytes();
        let queue = &mut self.queues[place as usize];
        queue.bytes += u64::from(packet.size);
        queue.packets.push_back(Queued::new(packet, ctx));
        if !queue.listed {
            queue.listed = true;
            queue.deficit = self.quantum;
            self.empty.remove(&(queue.since, place));
            self.fresh.push_back(place);
        }
        let over = |fq: &FqCodel| match limit {
            Limit::Packets(most) => fq.packets > most,
            Limit::Bytes(most) => fq.bytes > most,
        };
        while over(self) {
            self.drop_from_fattest(dropped);
        }
    }

    fn dequeue(&mut self, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) -> Option<Queued> {
        loop {
            let is_fresh = !self.fresh.is_empty();
            let list = if is_fresh { &mut self.fresh } else { &mut self.old };
            let place = *list.front()?;
            let queue = &mut self.queues[place as usize];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            if let Some(queued) = self.serve(place, dropped, ctx.now) {
                self.queues[place as usize].deficit -= i64::from(queued.packet.size);
                return Some(queued);
            }
            if is_fresh {
                // Behind those that have waited, or a flow of single packets would always be new.
                self.fresh.pop_front();
                self.old.push_back(place);
            } else {
                self.old.pop_front();
                self.left += 1;
                let queue = &mut self.queues[place as usize];
                (queue.listed, queue.since) = (false, self.left);
                self.empty.insert((self.left, place));
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
        self.homes.get(&flow).map_or((0, Bytes::ZERO), |home| (home.data, Bytes::new(home.data_bytes)))
    }
}

#[cfg(test)]
mod tests;
