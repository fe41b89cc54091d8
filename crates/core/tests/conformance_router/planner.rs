//! Planners: orders are for routers, prefixes and next hops that were announced, and never form a loop.

use crate::router;
use ndnweir_core::component::Info;
use ndnweir_core::conformance::{Desk, PATIENCE, RATES, SEEDS};
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::planner::{Message, Order, Planner, RouterId};
use ndnweir_core::registry::{AnyPlanner, PlannerParams};
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Duration, Rate, Time};
use serde_json::Value;
use std::collections::VecDeque;

/// Every router is linked to every other: face f of router r leads to router r + f, and face 0 to applications.
const ROUTERS: u32 = 4;
/// Prefix p is served at router p mod 4.
const PREFIXES: u32 = 8;

struct Network {
    desk: Desk<AnyPlanner>,
    /// By router and prefix: the next hops in force, cheapest first.
    fib: Vec<Vec<Vec<NextHop>>>,
    answers: VecDeque<Message>,
    election: u64,
}

fn neighbour(router: u32, face: u16) -> u32 {
    (router + u32::from(face)) % ROUTERS
}

impl Network {
    /// Routing's next hops: the direct link costs 1, a detour 2.
    fn routing(router: u32, prefix: u32) -> Vec<NextHop> {
        let served = prefix % ROUTERS;
        if router == served {
            return vec![NextHop { face: FaceId(0), cost: 0 }];
        }
        let cost = |face| if neighbour(router, face) == served { 1 } else { 2 };
        let mut hops: Vec<_> = (1..4).map(|face| NextHop { face: FaceId(face), cost: cost(face) }).collect();
        hops.sort_by_key(|hop| hop.cost);
        hops
    }

    fn new(info: &Info, params: &Value, seed: u64) -> Network {
        let desk = router::desk::<PlannerParams>(info, params, seed);
        let fib: Vec<Vec<_>> = (0..ROUTERS).map(|r| (0..PREFIXES).map(|p| Network::routing(r, p)).collect()).collect();
        let mut network = Network { desk, fib, answers: VecDeque::new(), election: 0 };
        for r in 0..ROUTERS {
            for face in 1..4 {
                let message = network.link(r, face, true, false);
                network.receive(&message);
            }
            for p in 0..PREFIXES {
                let message = network.routes(r, p);
                network.receive(&message);
            }
        }
        network
    }

    fn link(&mut self, router: u32, face: u16, up: bool, wild: bool) -> Message {
        let rate = if wild { RATES[self.desk.below(RATES.len())] } else { 10_000_000 };
        let neighbour = Some(RouterId(neighbour(router, face)));
        Message::Link { router: RouterId(router), face: FaceId(face), neighbour, rate: Some(Rate::from_bps(rate)), up }
    }

    fn routes(&mut self, router: u32, prefix: u32) -> Message {
        let hops = Network::routing(router, prefix);
        self.fib[router as usize][prefix as usize] = hops.clone();
        Message::Routes { router: RouterId(router), prefix: PrefixId(prefix), hops }
    }

    fn message(&mut self, calm: bool) -> Message {
        if let Some(answer) = self.answers.pop_front() {
            return answer;
        }
        let r = self.desk.dice.below(u64::from(ROUTERS)) as u32;
        let (router, f) = (RouterId(r), 1 + self.desk.below(3) as u16);
        let (face, measured) = (FaceId(f), self.desk.now - Duration::from_millis(20));
        match self.desk.below(if calm { 400 } else { 40 }) {
            0 => {
                let up = self.desk.chance(0.5);
                self.link(r, f, up, !calm)
            }
            1 if !calm => {
                // Routing takes everything back: all routers follow together.
                let prefix = self.desk.below(PREFIXES as usize) as u32;
                let all: Vec<_> = (0..ROUTERS).map(|router| self.routes(router, prefix)).collect();
                self.answers.extend(all);
                self.answers.pop_front().expect("one for each router")
            }
            n if n % 10 == 2 => {
                let prefix = PrefixId(self.desk.dice.below(u64::from(PREFIXES)) as u32);
                let mbps = self.desk.dice.below(8);
                Message::PrefixRate { router, prefix, face, rate: Rate::from_mbps(mbps as f64) }
            }
            n if n % 10 < 5 => Message::Signal { router, measured, face, fib_entries: PREFIXES },
            _ => {
                let (utilization, occupancy) = (self.desk.dice.unit() * 1.2, self.desk.dice.unit());
                Message::Report { router, measured, face, utilization, occupancy }
            }
        }
    }

    fn receive(&mut self, message: &Message) {
        let mut orders = Vec::new();
        self.desk.with(|planner, ctx| planner.on_message(message, &mut orders, ctx));
        self.obey(orders);
    }

    fn obey(&mut self, orders: Vec<Order>) {
        for order in orders {
            assert!(order.election >= self.election, "a planner does not fall behind itself");
            self.election = order.election;
            let known = &mut self.fib[order.router.0 as usize][order.prefix.index()];
            let faces = |hops: &[NextHop]| {
                let mut faces: Vec<_> = hops.iter().map(|hop| hop.face).collect();
                faces.sort();
                faces
            };
            assert_eq!(faces(&order.hops), faces(known), "a router gets all of its costs at once");
            for hop in &order.hops {
                self.desk.record.extend([u64::from(order.router.0), u64::from(hop.face.0), u64::from(hop.cost)]);
            }
            if self.desk.chance(0.1) {
                continue;
            }
            let best = known[0].face;
            *known = order.hops.clone();
            known.sort_by_key(|hop| (hop.cost, hop.face != best, hop.face));
            let hops = known.clone();
            self.follow(order.prefix);
            if self.desk.chance(0.9) {
                let (router, prefix, election) = (order.router, order.prefix, order.election);
                self.answers.push_back(Message::Answer { router, prefix, election, hops });
            }
        }
    }

    /// Follows the cheapest next hops from every router.
    fn follow(&self, prefix: PrefixId) {
        for start in 0..ROUTERS {
            let mut at = start;
            for _ in 0..ROUTERS {
                at = neighbour(at, self.fib[at as usize][prefix.index()][0].face.0);
            }
            assert_eq!(at, prefix.0 % ROUTERS, "Interests from {start} do not reach the producer of {prefix:?}");
        }
    }

    /// Lets time pass up to `until` with every wake on the way.
    fn pass(&mut self, until: Time) {
        for _ in 0..PATIENCE {
            let wake = self.desk.component.next_wake();
            if wake > until {
                break;
            }
            self.desk.now = self.desk.now.max(wake);
            let mut orders = Vec::new();
            self.desk.with(|planner, ctx| planner.on_wake(&mut orders, ctx));
            assert!(self.desk.component.next_wake() > self.desk.now, "the next wake lies ahead");
            self.obey(orders);
        }
        self.desk.now = until;
    }
}

fn run(info: &Info, params: &Value, seed: u64, operations: usize, calm: bool) -> Vec<u64> {
    let mut network = Network::new(info, params, seed);
    for _ in 0..operations {
        let before = network.desk.now;
        if calm {
            network.desk.now += Duration::from_millis(network.desk.dice.below(20));
        } else {
            network.desk.wander();
        }
        let now = std::mem::replace(&mut network.desk.now, before);
        network.pass(now);
        let message = network.message(calm);
        network.receive(&message);
    }
    network.desk.finish().unwrap()
}

fn workload(info: &Info, params: &Value) -> Vec<u64> {
    (0..3).flat_map(|seed| run(info, params, seed, 4000, true)).collect()
}

#[test]
fn planners_order_only_what_routers_can_do_and_never_a_loop() {
    for info in AnyPlanner::ALL {
        for seed in SEEDS {
            run(info, &Value::Null, seed, 1500, false);
            run(info, &Value::Null, seed, 1500, true);
        }
    }
}

#[test]
fn planners_decide_the_same_in_every_run() {
    router::assert_deterministic(AnyPlanner::ALL, workload);
}

#[test]
fn planners_have_sound_parameters() {
    router::assert_parameters_are_sound(AnyPlanner::ALL, AnyPlanner::check);
}

#[test]
fn every_parameter_of_a_planner_has_an_effect() {
    router::assert_parameters_have_effects(AnyPlanner::ALL, AnyPlanner::check, workload);
}
