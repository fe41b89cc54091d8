//! `drr`: deficit round robin over flows, with HR-ICP's credit per flow.
//!
//! Data wait in a queue per flow; queues are served in rounds, each with a quantum of bytes per round. Interests and
//! NACKs have a queue of their own that goes first. A full buffer drops from the tail of the longest queue. Source:
//! Shreedhar, Varghese, SIGCOMM 1995, in the form of HR-ICP's authors' simulator (CCNPL-Sim, OutputQueue): quantum and
//! credit of one chunk, a queue created by its first Data and erased when it is empty at its turn, credit + quantum per
//! round.
//!
//! Ours: credit of a flow grows at its own turn, which comes once per round; Interests and NACKs first; at most 4096
//! queues, beyond which flows share by the low bits of their number.

use super::{Discipline, Limit, Queued};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::FlowId;
use crate::packet::{Kind, Packet};
use crate::shared::flow_table::MAX_FLOWS;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of [`Drr`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Bytes a flow may send per round; one chunk of 10 kB in the authors' simulator, here one packet.
    pub quantum: Bytes,
    /// The most credit a flow can have, and what it starts with; 10 kB in the authors' simulator.
    pub credit: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params { quantum: Bytes::new(1500), credit: Bytes::new(10_000) }
    }
}

#[derive(Clone, Debug, ndnweir_state::Value)]
struct DrrFlow {
    queue: VecDeque<Queued>,
    bytes: u64,
    deficit: u64,
    credit: u64,
}

/// The queues.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Drr {
    quantum: u64,
    most_credit: u64,
    flows: BTreeMap<u32, DrrFlow>,
    /// Flows in the order of their turns.
    turns: VecDeque<u32>,
    /// Whether the flow whose turn it is has got its quantum.
    paid: bool,
    control: VecDeque<Queued>,
    packets: u32,
    bytes: Bytes,
}

impl Component for Drr {
    const NAME: &'static str = "drr";
    const SUMMARY: &'static str = "deficit round robin over the flows of Data, with credit per flow";
    const SOURCE: &'static str = "Shreedhar, Varghese, SIGCOMM 1995; credit from HR-ICP's authors' CCNPL-Sim; order of \
         Interests, bound on queues: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        for (name, size) in [("quantum", params.quantum), ("credit", params.credit)] {
            if !(1..=1_000_000_000).contains(&size.get()) {
                let help = "give a size from 1B to 1GB, such as \"1500B\"";
                return Err(SchemeError::value(name, size, "is out of range", help));
            }
        }
        Ok(())
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Drr {
        Drr {
            quantum: params.quantum.get(),
            most_credit: params.credit.get(),
            flows: BTreeMap::new(),
            turns: VecDeque::new(),
            paid: false,
            control: VecDeque::new(),
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }
}

impl Drr {
    fn key(&self, flow: FlowId) -> u32 {
        if self.flows.contains_key(&flow.0) || self.flows.len() < MAX_FLOWS { flow.0 } else { flow.0 % 64 }
    }

    fn took(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.bytes = self.bytes - packet.bytes();
    }

    /// Drops the last packet of the longest queue, control included; the lowest number among equals.
    fn evict(&mut self) -> Option<Packet> {
        let control: u64 = self.control.iter().map(|queued| u64::from(queued.packet.size)).sum();
        let longest = self.flows.iter().max_by_key(|(key, flow)| (flow.bytes, std::cmp::Reverse(**key)));
        let longest = longest.filter(|(_, flow)| flow.bytes >= control).map(|(key, _)| *key);
        let last = match longest.and_then(|key| self.flows.get_mut(&key)) {
            Some(flow) => {
                let last = flow.queue.pop_back()?;
                flow.bytes -= u64::from(last.packet.size);
                last
            }
            None => self.control.pop_back()?,
        };
        self.took(&last.packet);
        Some(last.packet)
    }
}

impl Discipline for Drr {
    fn enqueue(&mut self, packet: Packet, limit: Limit, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) {
        self.packets += 1;
        self.bytes += packet.bytes();
        let queued = Queued::new(packet, ctx);
        if packet.kind == Kind::Data {
            let (key, credit) = (self.key(packet.name.flow), self.most_credit);
            let flow = self.flows.entry(key).or_insert_with(|| {
                self.turns.push_back(key);
                DrrFlow { queue: VecDeque::new(), bytes: 0, deficit: 0, credit }
            });
            flow.bytes += u64::from(packet.size);
            flow.queue.push_back(queued);
        } else {
            self.control.push_back(queued);
        }
        let over = |drr: &Drr| match limit {
            Limit::Packets(most) => drr.packets > most,
            Limit::Bytes(most) => drr.bytes > most,
        };
        while over(self) {
            let Some(packet) = self.evict() else { break };
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, _: &mut Vec<Packet>, _: &mut Ctx<'_>) -> Option<Queued> {
        if let Some(queued) = self.control.pop_front() {
            self.took(&queued.packet);
            return Some(queued);
        }
        loop {
            let key = *self.turns.front()?;
            let Some(flow) = self.flows.get_mut(&key) else {
                self.turns.pop_front();
                continue;
            };
            let Some(first) = flow.queue.front() else {
                self.flows.remove(&key);
                self.turns.pop_front();
                self.paid = false;
                continue;
            };
            let size = u64::from(first.packet.size);
            if !self.paid {
                // As many quanta at once as a packet larger than the quantum needs if the flow is alone.
                let rounds =
                    if self.turns.len() == 1 { size.saturating_sub(flow.deficit).div_ceil(self.quantum) } else { 1 };
                flow.deficit += self.quantum * rounds.max(1);
                flow.credit = (flow.credit + self.quantum * rounds.max(1)).min(self.most_credit);
                self.paid = true;
            }
            if flow.deficit >= size
                && let Some(queued) = flow.queue.pop_front()
            {
                flow.deficit -= size;
                flow.bytes -= size;
                self.took(&queued.packet);
                return Some(queued);
            }
            self.turns.rotate_left(1);
            self.paid = false;
        }
    }

    fn packets(&self) -> u32 {
        self.packets
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }

    fn backlog(&self, flow: FlowId) -> (u32, Bytes) {
        let own = |queued: &&Queued| queued.packet.name.flow == flow;
        let Some(found) = self.flows.get(&self.key(flow)) else { return (0, Bytes::ZERO) };
        let own = found.queue.iter().filter(own);
        own.fold((0, Bytes::ZERO), |(n, bytes), queued| (n + 1, bytes + queued.packet.bytes()))
    }

    fn credit(&self, flow: FlowId) -> Option<Bytes> {
        self.flows.get(&self.key(flow)).map(|flow| Bytes::new(flow.credit))
    }

    fn charge(&mut self, flow: FlowId, bytes: Bytes) {
        let key = self.key(flow);
        if let Some(flow) = self.flows.get_mut(&key) {
            flow.credit = flow.credit.saturating_sub(bytes.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::parse_params;
    use crate::ctx::{Rng, Trace};
    use crate::fields::FieldLayout;
    use crate::ids::NameId;
    use crate::units::Time;
    use serde_json::{Value, json};

    struct Bench(Drr, Rng, Trace);

    impl Bench {
        fn new(params: &Value) -> Bench {
            let params = parse_params::<Drr>(params).unwrap();
            let drr = Drr::new(&params, &mut Env { layout: &mut FieldLayout::new() });
            Bench(drr, Rng::derive(1, &[]), Trace::default())
        }

        fn put(&mut self, kind: Kind, flow: u32, size: u32) -> Vec<u32> {
            let name = NameId { flow: FlowId(flow), segment: 0 };
            let packet = Packet { name, kind, size, ..Packet::default() };
            let mut dropped = Vec::new();
            let mut ctx = Ctx { now: Time::ZERO, rng: &mut self.1, trace: &mut self.2 };
            self.0.enqueue(packet, Limit::Packets(10), &mut dropped, &mut ctx);
            dropped.iter().map(|packet| packet.name.flow.0).collect()
        }

        fn take(&mut self) -> Option<(u32, u32)> {
            let mut ctx = Ctx { now: Time::ZERO, rng: &mut self.1, trace: &mut self.2 };
            self.0.dequeue(&mut Vec::new(), &mut ctx).map(|queued| (queued.packet.name.flow.0, queued.packet.size))
        }
    }

    #[test]
    fn bytes_are_shared_whatever_the_packet_sizes() {
        // Quantum 1000: flow 1 sends one of 1000 B per round, flow 2 two of 500 B, flow 3 one of 1500 B in two of three
        // rounds (deficits 1000, 2000 − 1500 = 500, 1500 − 1500 = 0).
        let mut bench = Bench::new(&json!({ "quantum": "1kB" }));
        for (flow, size, count) in [(1, 1000, 3), (2, 500, 4), (3, 1500, 2)] {
            (0..count).for_each(|_| assert!(bench.put(Kind::Data, flow, size).is_empty()));
        }
        let order: Vec<u32> = std::iter::from_fn(|| bench.take()).map(|(flow, _)| flow).collect();
        assert_eq!(order, [1, 2, 2, 1, 2, 2, 3, 1, 3]);
    }

    #[test]
    fn interests_go_first_and_the_longest_queue_loses_its_tail() {
        let mut bench = Bench::new(&json!({}));
        (0..8).for_each(|_| assert!(bench.put(Kind::Data, 1, 1000).is_empty()));
        assert!(bench.put(Kind::Data, 2, 1000).is_empty());
        assert!(bench.put(Kind::Interest, 3, 40).is_empty());
        assert_eq!(bench.put(Kind::Data, 2, 1000), [1]);
        assert_eq!(bench.take(), Some((3, 40)));
        assert_eq!(bench.0.backlog(FlowId(1)).0, 7);
    }

    #[test]
    fn credit_starts_full_is_charged_and_grows_by_a_quantum_per_round() {
        let mut bench = Bench::new(&json!({ "quantum": "1kB", "credit": "4kB" }));
        assert_eq!(bench.0.credit(FlowId(1)), None);
        for flow in [1, 2, 1, 2] {
            bench.put(Kind::Data, flow, 1000);
        }
        bench.0.charge(FlowId(1), Bytes::new(3500));
        assert_eq!(bench.0.credit(FlowId(1)), Some(Bytes::new(500)));
        bench.take();
        assert_eq!(bench.0.credit(FlowId(1)), Some(Bytes::new(1500)));
        bench.take();
        assert_eq!(bench.0.credit(FlowId(2)), Some(Bytes::new(4000)));
        bench.take();
        assert_eq!(bench.0.credit(FlowId(1)), Some(Bytes::new(2500)));
        while bench.take().is_some() {}
        assert_eq!(bench.0.credit(FlowId(1)), None);
    }

    #[test]
    fn a_flood_of_flows_keeps_the_number_of_queues_bounded() {
        let mut bench = Bench::new(&json!({}));
        for flow in 0..10_000 {
            bench.put(Kind::Data, flow, 1000);
        }
        assert!(bench.0.flows.len() <= MAX_FLOWS + 64 && bench.0.packets() == 10);
    }
}
