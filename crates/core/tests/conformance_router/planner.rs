//! Planners: orders are for routers, prefixes and next hops that were announced.

use crate::router::{self, Desk, PATIENCE, RATES, SEEDS};
use ndnweir_core::component::Info;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::Report;
use ndnweir_core::planner::{Message, Order, Planner, RouterId};
use ndnweir_core::registry::AnyPlanner;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Rate, Span, Time};
use serde_json::Value;

const ROUTERS: u32 = 4;

struct Network {
    desk: Desk<AnyPlanner>,
    /// The faces by which a router can forward a prefix.
    routes: Vec<(RouterId, PrefixId, Vec<FaceId>)>,
    election: u64,
}

impl Network {
    fn message(&mut self, calm: bool) -> Message {
        let router = RouterId(self.desk.dice.below(u64::from(ROUTERS)) as u32);
        let (prefix, face) = (PrefixId(self.desk.dice.below(3) as u32), FaceId(self.desk.dice.below(4) as u16));
        let mut rate = Rate::from_mbps(10.0);
        if !calm {
            rate = Rate::from_bps(RATES[self.desk.below(RATES.len())]);
        }
        match self.desk.below(if calm { 40 } else { 8 }) {
            0 => {
                let neighbour = Some(RouterId((router.0 + 1) % ROUTERS)).filter(|_| face.0 > 0);
                Message::Link { router, face, neighbour, rate: Some(rate), up: self.desk.chance(0.9) }
            }
            1 => {
                let cost = self.desk.dice.below(5) as u32;
                let hops: Vec<_> = (0..=face.0).map(|face| NextHop { face: FaceId(face), cost }).collect();
                self.routes.retain(|known| (known.0, known.1) != (router, prefix));
                self.routes.push((router, prefix, hops.iter().map(|hop| hop.face).collect()));
                Message::Routes { router, prefix, hops }
            }
            2 => Message::PrefixRate { router, prefix, face, rate },
            _ => {
                let (utilization, occupancy) = (self.desk.dice.unit() * 1.2, self.desk.dice.unit());
                let report = Report { face, utilization, occupancy, signal: self.desk.chance(0.3) };
                Message::Report { router, measured: self.desk.now - Span::from_millis(20), report }
            }
        }
    }

    fn obey(&mut self, orders: Vec<Order>) {
        for order in orders {
            assert!(order.election >= self.election, "a planner does not fall behind itself");
            self.election = order.election;
            let known = self.routes.iter().find(|known| (known.0, known.1) == (order.router, order.prefix));
            let faces = &known.expect("orders are for announced routes").2;
            for hop in &order.hops {
                assert!(faces.contains(&hop.face), "{order:?}");
                self.desk.record.extend([u64::from(order.router.0), u64::from(hop.face.0), u64::from(hop.cost)]);
            }
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
    let desk = Desk::new(info, params, seed, AnyPlanner::build);
    let mut network = Network { desk, routes: Vec::new(), election: 0 };
    for _ in 0..operations {
        let before = network.desk.now;
        if calm {
            network.desk.now += Span::from_millis(network.desk.dice.below(20));
        } else {
            network.desk.wander();
        }
        let now = std::mem::replace(&mut network.desk.now, before);
        network.pass(now);
        let message = network.message(calm);
        let mut orders = Vec::new();
        network.desk.with(|planner, ctx| planner.on_message(&message, &mut orders, ctx));
        network.obey(orders);
    }
    network.desk.finish()
}

fn workload(info: &Info, params: &Value) -> Vec<u64> {
    (0..3).flat_map(|seed| run(info, params, seed, 4000, true)).collect()
}

#[test]
fn planners_order_only_what_routers_can_do() {
    for info in AnyPlanner::ALL {
        for seed in SEEDS {
            run(info, &Value::Null, seed, 1500, false);
        }
    }
}

#[test]
fn planners_decide_alike_in_every_run() {
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
