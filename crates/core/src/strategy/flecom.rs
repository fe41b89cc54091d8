//! `flecom`: when a path's level stays above 0, Interests move to another path with room, or are shaped if there is
//! none.
//!
//! Stands in for FleCom's routers (Li et al., INFOCOM workshops 2023), whose law is not public. Public, from its
//! abstract and the ndnSieve paper: routers choose multipath forwarding or Interest shaping, and adjust the path
//! whenever congestion occurs. All else is ours: a next hop is congested when every Data of the prefix from it carried
//! a level for `patience`; then `step` of its share moves, at most once per `spacing`, to the next hop with the least
//! busy path, if that is busy below `room`; else Interests to it are stamped for the `flecom` shaper until a level
//! below `calm`.
//!
//! A path's utilisation is that of its busiest link, which arrives with its Data ([`Field::PathUse`]); a next hop that
//! sent none for `stale` counts as idle. On Interests [`Field::CongestionLevel`] is a flag for this node's shaper only:
//! every node that runs this strategy writes it again.

use super::shares::{Init, Shares};
use super::{Arrival, DataReturn, ForwardingDecision, InterestArrival, NextHop, Strategy};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::ids::{FaceId, PrefixId};
use crate::packet::NackReason;
use crate::shared::level::of_field;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`FleCom`]; all ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Part of a congested face's share that moves at once, from 0 to 1.
    pub step: f64,
    /// How long every level must have been above 0.
    pub patience: Duration,
    /// Least time between two moves of one prefix.
    pub spacing: Duration,
    /// Utilisation below which another path has room; th1 of the ndnSieve paper.
    pub room: f64,
    /// How long a path's utilisation counts after its last Data.
    pub stale: Duration,
    /// Level below which shaping ends, from 0 to 1.
    pub calm: f64,
}

impl Default for Params {
    fn default() -> Params {
        let (patience, spacing, stale) =
            (Duration::from_millis(100), Duration::from_millis(100), Duration::from_millis(500));
        Params { step: 0.1, patience, spacing, room: 0.85, stale, calm: 0.2 }
    }
}

/// What the Data of a prefix showed about one next hop.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Path {
    face: FaceId,
    /// Since when every level was above 0.
    congested: Option<Time>,
    shaped: bool,
    utilisation: f64,
    seen: Time,
}

/// What is known of one prefix.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
struct State {
    paths: Vec<Path>,
    moved: Option<Time>,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct FleCom {
    #[state(skip)]
    params: Params,
    level: Slot,
    path_use: Slot,
    shares: Shares,
    /// By prefix; grows only when routing sets one.
    prefixes: Vec<State>,
}

impl Component for FleCom {
    const NAME: &'static str = "flecom";
    const SUMMARY: &'static str = "moves Interests off a congested path if another has room, else has them shaped";
    const SOURCE: &'static str =
        "stands in for Li et al., INFOCOM workshops 2023, whose law is not public: the two actions, the rest ours";
    const FIELDS: &'static [Field] = &[Field::CongestionLevel, Field::PathUse];
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("step", params.step, 0.0, 1.0)?;
        check::number("room", params.room, 0.0, 1.0)?;
        check::number("calm", params.calm, 0.0, 1.0)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> FleCom {
        let (level, path_use) = (env.slot(Field::CongestionLevel), env.slot(Field::PathUse));
        FleCom { params: params.clone(), level, path_use, shares: Shares::default(), prefixes: Vec::new() }
    }
}

impl State {
    /// The next hop other than `congested` with the least busy path, and how busy that is.
    fn least_busy_alternative(&self, congested: FaceId, now: Time, stale: Duration) -> Option<(FaceId, f64)> {
        let others = self.paths.iter().filter(|path| path.face != congested);
        let busy = |path: &Path| if now < path.seen + stale { path.utilisation } else { 0.0 };
        others.map(|path| (path.face, busy(path))).min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl Strategy for FleCom {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let pending = event.pending(ctx.now);
        if pending && event.arrival != Arrival::Retransmission {
            return;
        }
        let Some(face) = self.shares.choose(event, ctx.rng.unit()) else {
            if !pending {
                choice.reject(NackReason::NoRoute);
            }
            return;
        };
        choice.send(face);
        let paths = self.prefixes.get(event.prefix.index()).map_or(&[][..], |state| &state.paths);
        let shaped = paths.iter().any(|path| path.face == face && path.shaped);
        choice.stamp(self.level, u32::from(shaped));
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let Params { step, patience, spacing, room, stale, calm } = self.params;
        let (prefix, now) = (event.prefix, ctx.now);
        let Some(state) = self.prefixes.get_mut(prefix.index()) else { return };
        let Some(path) = state.paths.iter_mut().find(|path| path.face == event.face && !event.local) else { return };
        let level = of_field(event.packet.fields.get(self.level));
        path.utilisation = of_field(event.packet.fields.get(self.path_use));
        path.seen = now;
        if path.shaped && level < calm {
            path.shaped = false;
            ctx.trace.record(now, "shaped", u64::from(event.face.0), 0.0);
        }
        if level <= 0.0 {
            path.congested = None;
            return;
        }
        let lasting = now >= *path.congested.get_or_insert(now) + patience;
        if !lasting || state.moved.is_some_and(|moved| now < moved + spacing) {
            return;
        }
        if let Some((to, _)) = state.least_busy_alternative(event.face, now, stale).filter(|&(_, busy)| busy < room) {
            let part = self.shares.part(prefix, event.face).unwrap_or(0.0);
            let moved = self.shares.transfer(prefix, event.face, to, step * part);
            state.moved = Some(now);
            ctx.trace.record(now, "redirect", u64::from(to.0), moved);
        } else if level >= calm
            && let Some(path) = state.paths.iter_mut().find(|path| path.face == event.face && !path.shaped)
        {
            path.shaped = true;
            ctx.trace.record(now, "shaped", u64::from(event.face.0), 1.0);
        }
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        self.shares.route(prefix, hops, Init::Shortest);
        if self.prefixes.len() <= prefix.index() {
            self.prefixes.resize_with(prefix.index() + 1, State::default);
        }
        let state = &mut self.prefixes[prefix.index()];
        let fresh = |face| Path { face, congested: None, shaped: false, utilisation: 0.0, seen: Time::ZERO };
        let known = |face| state.paths.iter().copied().find(|path| path.face == face);
        state.paths = hops.iter().map(|hop| known(hop.face).unwrap_or_else(|| fresh(hop.face))).collect();
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        self.shares.list(prefix, hops, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::Bench;
    use super::*;
    use crate::fields::{FieldLayout, Fields};
    use crate::packet::{Kind, Packet};
    use crate::shared::level::to_field;
    use serde_json::json;

    struct Node {
        bench: Bench<FleCom>,
        level: Slot,
        path_use: Slot,
    }

    fn node(hops: &[(u16, u32)]) -> Node {
        let mut layout = FieldLayout::new();
        let mut slot = |field| layout.slot(field).unwrap();
        let (level, path_use) = (slot(Field::CongestionLevel), slot(Field::PathUse));
        Node { bench: Bench::new(&json!({}), hops), level, path_use }
    }

    impl Node {
        /// Data from `face` over a path of this level and utilisation.
        fn data(&mut self, ms: u64, face: u16, level: f64, utilisation: f64) {
            let mut fields = Fields::default();
            fields.set(self.level, to_field(level));
            fields.set(self.path_use, to_field(utilisation));
            let packet = Packet { kind: Kind::Data, fields, ..Packet::default() };
            self.bench.data_with(ms, FaceId(face), &packet, false, &Fields::default());
        }

        /// Whether the next Interest is stamped for the shaper.
        fn shapes(&mut self, ms: u64) -> bool {
            let choice = self.bench.choice(ms, 0, Arrival::New, &[]);
            choice.stamped(&Packet::default()).is_some_and(|packet| packet.fields.get(self.level) > 0)
        }

        fn first(&self) -> f64 {
            self.bench.shares()[0]
        }
    }

    #[test]
    fn a_level_that_lasts_moves_a_tenth_of_the_share_per_100_ms() {
        let mut node = node(&[(1, 1), (2, 2)]);
        for (ms, level, first) in [
            (0, 0.1, 1.0),
            (99, 0.1, 1.0),
            (100, 0.1, 0.9),
            (199, 0.1, 0.9),
            (200, 0.1, 0.81),
            (300, 0.0, 0.81),
            (310, 0.1, 0.81),
        ] {
            node.data(ms, 1, level, 1.0);
            assert!((node.first() - first).abs() < 1e-12, "{ms} {}", node.first());
        }
    }

    #[test]
    fn without_a_path_with_room_interests_are_shaped_until_the_level_is_low() {
        let mut node = node(&[(1, 1), (2, 2)]);
        for ms in [0, 100, 101] {
            node.data(ms, 2, 0.0, 0.9);
            node.data(ms, 1, 0.5, 1.0);
        }
        assert_eq!((node.first(), node.shapes(101)), (1.0, true));
        node.data(110, 1, 0.2, 1.0);
        assert!(node.shapes(110));
        node.data(120, 1, 0.19, 1.0);
        assert!(!node.shapes(120));
        // Path 2's utilisation is of 101 ms, so from 601 ms on it counts as idle.
        node.data(600, 1, 0.5, 1.0);
        assert_eq!((node.first(), node.shapes(600)), (1.0, true));
        node.data(601, 1, 0.5, 1.0);
        assert!((node.first() - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_single_path_is_shaped_and_a_low_level_is_not() {
        let mut node = node(&[(1, 1)]);
        node.data(0, 1, 0.1, 1.0);
        node.data(100, 1, 0.1, 1.0);
        assert!(!node.shapes(100));
        node.data(110, 1, 0.2, 1.0);
        assert!(node.shapes(110));
    }
}
