//! Random packets against a naive model of the tables: same packets out, same fates of Interests.

use crate::common::*;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::packet::{Kind, NackReason, Packet, flags};
use ndnweir_core::registry::{AnyMarker, AnyStrategy};
use ndnweir_core::strategy::{Arrival, ForwardingDecision, InterestArrival};
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::{Custom, FaceConfig, Node};
use proptest::prelude::*;
use std::collections::BTreeMap;

const FACES: u16 = 4;

/// New Interests to the first eligible hop, retransmissions to the last, others wait.
struct FirstThenLast;

impl ndnweir_core::strategy::Strategy for FirstThenLast {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, _: &mut Ctx<'_>) {
        let hop = match event.arrival {
            Arrival::New => event.eligible().next(),
            Arrival::Retransmission => event.eligible().last(),
            Arrival::Joining => return,
        };
        match hop {
            Some(hop) => choice.send(hop.face),
            None => choice.reject(NackReason::NoRoute),
        }
    }
}

/// Face, kind, nonce (0 for Data), mark and NACK reason of a packet that leaves.
type Out = (u16, u8, u32, u8, u8);

#[derive(Default)]
struct Pending {
    /// Face, nonce, end of patience.
    ins: Vec<(u16, u32, Time)>,
    /// Face, nonce, NACK.
    outs: Vec<(u16, u32, Option<NackReason>)>,
    mark: u8,
}

#[derive(Default)]
struct Model {
    pit: BTreeMap<u32, Pending>,
    pit_limit: usize,
    /// Oldest use first: segment, end of freshness.
    cs: Vec<(u32, Time)>,
    cs_limit: usize,
    dead: Vec<(u32, u32)>,
    answered: u64,
    rejected: u64,
    expired: u64,
}

fn interest_out(face: u16, nonce: u32, mark: u8) -> Out {
    (face, Kind::Interest as u8, nonce, mark, 0)
}
fn data_out(face: u16, mark: u8) -> Out {
    (face, Kind::Data as u8, 0, mark, 0)
}
fn nack_out(face: u16, nonce: u32, reason: NackReason) -> Out {
    (face, Kind::Nack as u8, nonce, 0, reason as u8)
}

impl Model {
    fn expire(&mut self, now: Time) {
        let ended: Vec<u32> = self.pit.iter().filter(|(_, p)| p.ins.iter().all(|i| i.2 <= now)).map(|p| *p.0).collect();
        for segment in ended {
            let entry = self.pit.remove(&segment).unwrap();
            self.expired += entry.ins.len() as u64;
            self.dead.extend(entry.outs.iter().map(|out| (segment, out.1)));
        }
    }

    fn interest(&mut self, now: Time, face: u16, p: &Packet, hops: &[u16]) -> Vec<Out> {
        let (segment, nonce) = (p.name.segment, p.nonce);
        let usable = |c: &(u32, Time)| c.0 == segment && (!p.has(flags::MUST_BE_FRESH) || c.1 > now);
        if let Some(i) = self.cs.iter().position(usable) {
            let hit = self.cs.remove(i);
            self.cs.push(hit);
            return vec![data_out(face, p.mark)];
        }
        let expiry = now + Duration::from_millis(u64::from(p.lifetime_ms));
        let dead = self.dead.contains(&(segment, nonce));
        let full = self.pit.len() >= self.pit_limit;
        let new = !self.pit.contains_key(&segment);
        if new && dead {
            return vec![nack_out(face, nonce, NackReason::Duplicate)];
        }
        if new && full {
            return vec![nack_out(face, nonce, NackReason::Congestion)];
        }
        let entry = self.pit.entry(segment).or_default();
        if entry.ins.contains(&(face, nonce, entry.ins.iter().find(|i| i.0 == face).map_or(now, |i| i.2))) {
            return vec![];
        }
        if dead || entry.ins.iter().any(|i| i.1 == nonce) || entry.outs.iter().any(|o| o.1 == nonce) {
            return vec![nack_out(face, nonce, NackReason::Duplicate)];
        }
        entry.mark = entry.mark.max(p.mark);
        let mut eligible = hops.iter().copied().filter(|&hop| hop != face);
        let hop = match entry.ins.iter_mut().find(|i| i.0 == face) {
            Some(known) => {
                *known = (face, nonce, expiry.max(known.2));
                eligible.next_back()
            }
            None => {
                entry.ins.push((face, nonce, expiry));
                if !new {
                    return vec![];
                }
                eligible.next()
            }
        };
        match hop {
            None => self.reject(segment, now, NackReason::NoRoute),
            Some(hop) => {
                match entry.outs.iter_mut().find(|o| o.0 == hop) {
                    Some(known) => {
                        self.dead.push((segment, known.1));
                        *known = (hop, nonce, None);
                    }
                    None => entry.outs.push((hop, nonce, None)),
                }
                vec![interest_out(hop, nonce, p.mark)]
            }
        }
    }

    fn reject(&mut self, segment: u32, now: Time, reason: NackReason) -> Vec<Out> {
        let entry = self.pit.remove(&segment).unwrap();
        self.dead.extend(entry.outs.iter().map(|out| (segment, out.1)));
        let patient: Vec<_> = entry.ins.iter().filter(|i| i.2 >= now).collect();
        self.rejected += patient.len() as u64;
        self.expired += (entry.ins.len() - patient.len()) as u64;
        patient.iter().map(|i| nack_out(i.0, i.1, reason)).collect()
    }

    fn data(&mut self, now: Time, face: u16, p: &Packet) -> Vec<Out> {
        let Some(entry) = self.pit.remove(&p.name.segment) else { return vec![] };
        if self.cs_limit > 0 {
            self.cs.retain(|c| c.0 != p.name.segment);
            self.cs.push((p.name.segment, now + Duration::from_millis(u64::from(p.lifetime_ms))));
            if self.cs.len() > self.cs_limit {
                self.cs.remove(0);
            }
        }
        let patient: Vec<_> = entry.ins.iter().filter(|i| i.2 >= now).collect();
        self.answered += patient.len() as u64;
        self.expired += (entry.ins.len() - patient.len()) as u64;
        let others = patient.iter().filter(|i| i.0 != face);
        others.map(|i| data_out(i.0, p.mark.max(entry.mark))).collect()
    }

    fn nack(&mut self, now: Time, face: u16, p: &Packet) -> Vec<Out> {
        let Some(entry) = self.pit.get_mut(&p.name.segment) else { return vec![] };
        let Some(out) = entry.outs.iter_mut().find(|o| **o == (face, p.nonce, None)) else { return vec![] };
        out.2 = Some(p.reason);
        let least = entry.outs.iter().filter_map(|o| o.2).min().unwrap();
        let open: Vec<u16> = entry.outs.iter().filter(|o| o.2.is_none()).map(|o| o.0).collect();
        match (open.first(), entry.ins.iter().position(|i| open == [i.0])) {
            (None, _) => self.reject(p.name.segment, now, least),
            // The only upstream left waits for this node itself.
            (_, Some(i)) if entry.ins.len() > 1 => {
                self.rejected += 1;
                let (face, nonce, _) = entry.ins.remove(i);
                vec![nack_out(face, nonce, least)]
            }
            (_, Some(_)) => self.reject(p.name.segment, now, least),
            _ => vec![],
        }
    }
}

fn node(pit_limit: usize, cache: usize) -> Node {
    let setup = Setup { pit_limit, cache, ..Setup::default() };
    let mut node = setup.node(&vec![FaceConfig::local(); usize::from(FACES)]);
    node.install(ms(0), Custom::Strategy(AnyStrategy::Custom(Box::new(FirstThenLast))));
    node
}

fn packets() -> impl Strategy<Value = Vec<(u64, u16, Packet)>> {
    let packet = (0u8..8, 0u32..6, 0u32..12, 0u8..3, 1u32..40, any::<bool>(), 0u8..3).prop_map(
        |(kind, segment, nonce, mark, lifetime_ms, fresh, reason)| {
            let flags = if fresh { flags::MUST_BE_FRESH } else { 0 };
            let reason = [NackReason::Congestion, NackReason::Duplicate, NackReason::NoRoute][usize::from(reason)];
            match kind {
                0..5 => Packet { mark, lifetime_ms, flags, ..interest(segment, nonce) },
                5..7 => Packet { mark, lifetime_ms, ..data(segment) },
                _ => nack(segment, nonce, reason),
            }
        },
    );
    prop::collection::vec((0u64..8, 0..FACES, packet), 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_tables_agree_with_a_naive_model(
        packets in packets(),
        pit_limit in 1usize..8,
        cache in 0usize..4,
        hops in prop::collection::vec(0..FACES, 0..4),
    ) {
        let mut hops = hops;
        hops.sort_unstable();
        hops.dedup();
        let mut node = node(pit_limit, cache);
        let routes: Vec<_> = hops.iter().map(|&face| hop(face, 1)).collect();
        node.set_route(ms(0), PrefixId(0), &routes);
        let mut model = Model { pit_limit, cs_limit: cache, ..Model::default() };
        let mut now = ms(0);
        for (step, face, packet) in packets {
            now += Duration::from_millis(step);
            wake(&mut node, now);
            model.expire(now);
            node.handle(now, FaceId(face), packet);
            let got: Vec<Out> = drain(&mut node).iter().map(|t| {
                let p = &t.packet;
                let nonce = if p.kind == Kind::Data { 0 } else { p.nonce };
                let reason = if p.kind == Kind::Nack { p.reason as u8 } else { 0 };
                (t.face.0, p.kind as u8, nonce, p.mark, reason)
            }).collect();
            let expected = match packet.kind {
                Kind::Interest => model.interest(now, face, &packet, &hops),
                Kind::Data => model.data(now, face, &packet),
                Kind::Nack => model.nack(now, face, &packet),
            };
            prop_assert_eq!(got, expected, "{:?} from {} at {:?}", packet, face, now);
            let counters = node.counters();
            prop_assert_eq!(counters.check(), Ok(()));
            prop_assert_eq!(counters.pit, model.pit.len() as u64);
            prop_assert_eq!(counters.pending, model.pit.values().map(|p| p.ins.len() as u64).sum::<u64>());
            prop_assert_eq!((counters.answered, counters.rejected), (model.answered, model.rejected));
            prop_assert_eq!((counters.expired, counters.cache), (model.expired, model.cs.len() as u64));
        }
    }

    #[test]
    fn no_sequence_of_packets_and_faults_panics_or_loses_an_interest(
        ops in prop::collection::vec((any::<u8>(), any::<u64>(), any::<u16>(), any::<u64>()), 0..200),
    ) {
        for (i, strategy) in AnyStrategy::ALL.iter().enumerate() {
            let marker = AnyMarker::ALL[i % AnyMarker::ALL.len()].name;
            let scheme = serde_json::json!({ "strategy": strategy.name, "marker": marker });
            let setup = Setup { scheme, pit_limit: 20, cache: 3, ..Setup::default() };
            let mut node = setup.node(&[link(3), link(3), link(1), FaceConfig::local()]);
            node.set_route(ms(0), PrefixId(0), &[hop(1, 1), hop(2, 1), hop(9, 0), hop(3, 7)]);
            let mut now = Time::ZERO;
            for &(op, bits, face, extra) in &ops {
                now += Duration::from_nanos(bits >> (20 + extra % 44));
                let face = if face % 8 == 0 { face } else { face % 4 };
                let kind = [Kind::Interest, Kind::Interest, Kind::Data, Kind::Nack][(bits % 4) as usize];
                match op % 16 {
                    0 => { node.set_up(now, FaceId(face), bits % 3 != 0); }
                    1 => node.set_rate(now, FaceId(face), (bits % 4 != 0).then(|| ndnweir_core::units::Rate::from_bps(extra >> (bits % 64))), &mut Vec::new()),
                    2 if bits % 8 == 0 => { node.crash(now); }
                    3 => node.handle_timeout(now),
                    4 => node.set_route(now, PrefixId(extra as u32 % 3), &[hop(face, 1), hop(face / 2, 2)]),
                    5 if bits % 4 == 0 => { node.bind_flow(ndnweir_core::ids::FlowId(if bits % 3 == 0 { u32::MAX } else { extra as u32 % 4096 }), Some(PrefixId(bits as u32 % 3))); }
                    _ => node.handle(now, FaceId(face), Packet {
                        name: ndnweir_core::ids::NameId { flow: ndnweir_core::ids::FlowId((extra % 3) as u32), segment: (extra >> 8) as u32 % 10 },
                        nonce: (extra >> 16) as u32 % 16,
                        size: if op % 32 == 6 { bits as u32 } else { bits as u32 % 9000 },
                        lifetime_ms: if op % 32 == 7 { extra as u32 } else { extra as u32 % 200 },
                        mark: (bits >> 40) as u8 % 3,
                        hop_limit: (bits >> 48) as u8 % 5,
                        flags: (bits >> 56) as u8,
                        kind,
                        ..Packet::default()
                    }),
                }
                drain(&mut node);
                prop_assert_eq!(node.counters().check(), Ok(()));
            }
            wake(&mut node, now);
            check(&mut node, now);
        }
    }
}
