//! `self-learning`: routes are found by flooding an Interest and learned from the Data that comes back.
//!
//! Source: NFD's self-learning strategy, version 1. An Interest for which a node knows no route is a discovery: it goes
//! to all links. A node with a route sends it on along the route, as no discovery any more, and adds an announcement of
//! the prefix to the Data; each node that the Data passes learns the face it came from, for 10 minutes. An Interest
//! that is not a discovery and finds no route gets a NoRoute NACK, which removes the route it took.
//!
//! Model: the announcement is one flag in the header field `discovery` ([`Field::Discovery`]), which on Interests says
//! that they are discoveries; what is learned holds for the FIB prefix, which the driver names. There is no signed
//! announcement and no prefix shorter or longer than that. Routes that routing gave count as known and are not removed.
//! Ours: routes over a face that goes down are forgotten; Data from a content store announces nothing; a Data that
//! announces renews the route even if the Interest it answers was no discovery.

use super::{DataReturn, ForwardingDecision, InterestArrival, NackReturn, Strategy};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::{FaceId, PrefixId};
use crate::packet::NackReason;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Parameters of [`SelfLearning`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// How long a learned route lasts; 10 min in NFD.
    pub lifetime: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params { lifetime: Duration::from_millis(600_000) }
    }
}

/// Prefixes with learned routes; for further ones nothing is learned.
const MAX_PREFIXES: usize = 1 << 16;

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct SelfLearning {
    lifetime: Duration,
    slot: Slot,
    /// Links that are up.
    links: BTreeSet<FaceId>,
    /// Faces of applications on this node.
    local: BTreeSet<FaceId>,
    /// By prefix: faces learned, and until when.
    learned: BTreeMap<PrefixId, Vec<(FaceId, Time)>>,
}

impl Component for SelfLearning {
    const NAME: &'static str = "self-learning";
    const SUMMARY: &'static str = "floods Interests without a route and learns it from the Data";
    const SOURCE: &'static str = "NFD self-learning v1; the announcement as a flag, faces that go down: ours";
    const FIELDS: &'static [Field] = &[Field::Discovery];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        if params.lifetime == Duration::ZERO {
            let help = "give the time a route lasts such as \"10min\"";
            return Err(SchemeError::value("lifetime", 0, "keeps no route", help));
        }
        Ok(())
    }

    fn new(params: &Params, env: &mut Env<'_>) -> SelfLearning {
        SelfLearning {
            lifetime: params.lifetime,
            slot: env.slot(Field::Discovery),
            links: BTreeSet::new(),
            local: BTreeSet::new(),
            learned: BTreeMap::new(),
        }
    }
}

impl SelfLearning {
    fn learned(&self, prefix: PrefixId, now: Time) -> impl Iterator<Item = FaceId> + '_ {
        let known = self.learned.get(&prefix).map_or(&[][..], Vec::as_slice);
        known.iter().filter(move |(_, until)| now < *until).map(|(face, _)| *face)
    }

    fn learn(&mut self, prefix: PrefixId, face: FaceId, ctx: &mut Ctx<'_>) {
        if self.learned.len() >= MAX_PREFIXES && !self.learned.contains_key(&prefix) {
            return;
        }
        let (known, until) = (self.learned.entry(prefix).or_default(), ctx.now + self.lifetime);
        match known.iter_mut().find(|(other, _)| *other == face) {
            Some(route) => route.1 = until,
            None => {
                known.push((face, until));
                ctx.trace.record(ctx.now, "learned", u64::from(face.0), f64::from(prefix.0));
            }
        }
    }

    fn forget(&mut self, prefix: PrefixId, face: FaceId) {
        if let Some(known) = self.learned.get_mut(&prefix) {
            known.retain(|(other, _)| *other != face);
            if known.is_empty() {
                self.learned.remove(&prefix);
            }
        }
    }
}

impl Strategy for SelfLearning {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let mut routes: Vec<FaceId> = event.hops.iter().map(|hop| hop.face).collect();
        let learned: Vec<FaceId> = self.learned(event.prefix, ctx.now).filter(|face| !routes.contains(face)).collect();
        routes.extend(learned);
        let discovery = self.local.contains(&event.in_face) || event.packet.fields.get(self.slot) != 0;
        if !routes.is_empty() {
            choice.stamp(self.slot, 0);
            routes.into_iter().filter(|face| *face != event.in_face).for_each(|face| choice.send(face));
        } else if discovery {
            choice.stamp(self.slot, 1);
            self.links.iter().filter(|face| **face != event.in_face).for_each(|face| choice.send(*face));
        } else if event.pending(ctx.now) {
            choice.reject_one(event.in_face, NackReason::NoRoute);
        } else {
            choice.reject(NackReason::NoRoute);
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let is_upstream = event.sent.iter().any(|record| record.face == event.face);
        let routed = event.hops.iter().any(|hop| hop.face == event.face);
        if is_upstream && !routed && self.links.contains(&event.face) && event.packet.fields.get(self.slot) != 0 {
            self.learn(event.prefix, event.face, ctx);
        }
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, _: &mut Ctx<'_>) {
        if event.packet.reason == NackReason::NoRoute {
            self.forget(event.prefix, event.face);
            choice.reject(NackReason::NoRoute);
        }
    }

    fn on_face(&mut self, face: FaceId, local: bool, up: bool) {
        let (kind, other) = if local { (&mut self.local, &mut self.links) } else { (&mut self.links, &mut self.local) };
        other.remove(&face);
        if up {
            kind.insert(face);
            return;
        }
        kind.remove(&face);
        let prefixes: Vec<PrefixId> = self.learned.keys().copied().collect();
        prefixes.into_iter().for_each(|prefix| self.forget(prefix, face));
    }

    fn stamp_data(&mut self, event: &DataReturn<'_>, fields: &mut Fields) {
        let known = self.learned.get(&event.prefix).map_or(&[][..], Vec::as_slice);
        let mut routes = event.hops.iter().map(|hop| hop.face).chain(known.iter().map(|(face, _)| *face));
        if event.interest_fields.get(self.slot) != 0 && routes.any(|face| face == event.face) {
            fields.set(self.slot, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arrival;
    use super::super::harness::{Bench, nacked, sent};
    use super::*;
    use crate::packet::{Kind, Packet};
    use serde_json::json;

    /// Links 1 to 3, an application at 9.
    fn bench(hops: &[(u16, u32)]) -> Bench<SelfLearning> {
        let mut bench: Bench<SelfLearning> = Bench::new(&json!({}), hops);
        for face in 1..=3 {
            bench.strategy.on_face(FaceId(face), false, true);
        }
        bench.strategy.on_face(FaceId(9), true, true);
        bench
    }

    fn flag(bench: &Bench<SelfLearning>, packet: Packet, on: u32) -> Packet {
        let mut flagged = packet;
        flagged.fields.set(bench.strategy.slot, on);
        flagged
    }

    /// Data from `face` for an Interest that was sent there, for downstreams that requested discovery or not; the flag
    /// it leaves with.
    fn data(bench: &mut Bench<SelfLearning>, ms: u64, face: u16, announces: u32, discovery: u32) -> u32 {
        let packet = flag(bench, Packet { kind: Kind::Data, ..bench.packet }, announces);
        let interest_fields = flag(bench, bench.packet, discovery).fields;
        bench.data_for(ms, face, &packet, &[sent(face, 0)], &interest_fields).get(bench.strategy.slot)
    }

    /// Where an Interest goes, and with which flag.
    fn forwarded(bench: &mut Bench<SelfLearning>, ms: u64, from: u16, discovery: u32) -> (Vec<u16>, u32) {
        bench.packet = flag(bench, bench.packet, discovery);
        let choice = bench.choice(ms, from, Arrival::New, &[]);
        let stamped = choice.stamped(&bench.packet).map_or(9, |packet| packet.fields.get(bench.strategy.slot));
        (choice.copies().iter().map(|copy| copy.face.0).collect(), stamped)
    }

    #[test]
    fn without_a_route_an_application_or_a_discovery_floods_all_links_but_the_way_back() {
        assert_eq!(forwarded(&mut bench(&[]), 0, 9, 0), (vec![1, 2, 3], 1));
        assert_eq!(forwarded(&mut bench(&[]), 0, 2, 1), (vec![1, 3], 1));
    }

    #[test]
    fn along_a_route_an_interest_is_no_longer_a_discovery() {
        assert_eq!(forwarded(&mut bench(&[(2, 1), (3, 1)]), 0, 1, 1), (vec![2, 3], 0));
        assert_eq!(forwarded(&mut bench(&[(2, 1)]), 0, 9, 0), (vec![2], 0));
    }

    #[test]
    fn an_interest_that_is_not_a_discovery_and_finds_no_route_is_rejected() {
        let mut bench = bench(&[]);
        assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
        let joining = bench.choice(0, 1, Arrival::Joining, &[sent(2, 0)]);
        assert_eq!(joining.rejection_of_one(), Some((FaceId(1), NackReason::NoRoute)));
    }

    #[test]
    fn data_that_announces_makes_its_face_a_route_for_ten_minutes() {
        let mut bench = bench(&[]);
        assert_eq!(data(&mut bench, 1000, 2, 1, 1), 1);
        assert_eq!(forwarded(&mut bench, 600_999, 1, 0), (vec![2], 0));
        assert_eq!(forwarded(&mut bench, 601_000, 1, 1), (vec![2, 3], 1));
        assert_eq!(data(&mut bench, 601_500, 3, 0, 1), 0, "no announcement, nothing learned");
        assert_eq!(forwarded(&mut bench, 602_000, 1, 1), (vec![2, 3], 1));
    }

    #[test]
    fn a_node_with_a_route_announces_it_only_for_discovery_interests() {
        let mut with_route = bench(&[(2, 1)]);
        assert_eq!(data(&mut with_route, 10, 2, 0, 1), 1);
        assert_eq!(data(&mut with_route, 10, 2, 0, 0), 0);
        let mut learned = bench(&[]);
        data(&mut learned, 10, 2, 1, 0);
        assert_eq!(data(&mut learned, 20, 2, 0, 1), 1);
    }

    #[test]
    fn a_no_route_nack_removes_the_learned_route_and_goes_downstream_and_others_do_nothing() {
        let mut bench = bench(&[]);
        data(&mut bench, 10, 2, 1, 0);
        let congestion = bench.nack_for(20, 2, NackReason::Congestion, &[nacked(2, NackReason::Congestion)]);
        assert_eq!(congestion.rejection(), None);
        assert_eq!(forwarded(&mut bench, 20, 1, 0).0, [2]);
        let lost = bench.nack_for(30, 2, NackReason::NoRoute, &[nacked(2, NackReason::NoRoute)]);
        assert_eq!(lost.rejection(), Some(NackReason::NoRoute));
        assert_eq!(forwarded(&mut bench, 30, 1, 1), (vec![2, 3], 1));
    }

    #[test]
    fn a_route_over_a_link_that_goes_down_is_forgotten_and_the_link_not_flooded() {
        let mut bench = bench(&[]);
        data(&mut bench, 10, 2, 1, 0);
        bench.strategy.on_face(FaceId(2), false, false);
        assert_eq!(forwarded(&mut bench, 20, 9, 0), (vec![1, 3], 1));
        bench.strategy.on_face(FaceId(2), false, true);
        assert_eq!(forwarded(&mut bench, 30, 9, 0), (vec![1, 2, 3], 1));
    }
}
