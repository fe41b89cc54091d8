//! Networks for the tests, and what a brute-force search finds in them.

use super::super::*;
use crate::component::parse_params;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;
use serde_json::Value;

/// Routers with links, next hops and reports, apart from the planner's own tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// By router and face: the neighbour and its face back.
    pub(super) links: Vec<Vec<(u32, u16)>>,
    /// By router and prefix: next hops, cheapest first; a face beyond the links leads to the producer.
    pub(super) hops: Vec<Vec<Vec<NextHop>>>,
    /// By router: whether it never reports.
    pub(super) silent: Vec<bool>,
    /// By router and face: β and ε.
    pub(super) states: Vec<Vec<(f64, f64)>>,
}

impl Graph {
    /// `n` routers in a random tree with so many more links, without parallel ones.
    pub(super) fn random(n: usize, more: usize, dice: &mut Rng) -> Graph {
        let mut graph = Graph { links: vec![Vec::new(); n], silent: vec![false; n], ..Graph::default() };
        for i in 1..n {
            graph.connect(i, dice.below(i as u64) as usize);
        }
        for _ in 0..more {
            let (a, b) = (dice.below(n as u64) as usize, dice.below(n as u64) as usize);
            if a != b && graph.links[a].iter().all(|&(other, _)| other as usize != b) {
                graph.connect(a, b);
            }
        }
        graph.hops = vec![Vec::new(); n];
        graph.states =
            graph.links.iter().map(|faces| faces.iter().map(|_| (dice.unit(), dice.unit() / 2.0)).collect()).collect();
        graph
    }

    fn connect(&mut self, a: usize, b: usize) {
        let (at_a, at_b) = (self.links[a].len() as u16, self.links[b].len() as u16);
        self.links[a].push((b as u32, at_b));
        self.links[b].push((a as u32, at_a));
    }

    pub(super) fn routers(&self) -> usize {
        self.links.len()
    }

    /// Adds a prefix that is served at `producer`; at each router every neighbour whose hop distance is at most `slack`
    /// more than the router's own is a next hop.
    pub(super) fn serve(&mut self, producer: usize, slack: u32) {
        let mut distance = vec![u32::MAX; self.routers()];
        distance[producer] = 0;
        let mut queue = std::collections::VecDeque::from([producer]);
        while let Some(at) = queue.pop_front() {
            for &(next, _) in &self.links[at] {
                if distance[next as usize] == u32::MAX {
                    distance[next as usize] = distance[at] + 1;
                    queue.push_back(next as usize);
                }
            }
        }
        for r in 0..self.routers() {
            let mut hops: Vec<NextHop> = Vec::new();
            if r == producer {
                hops.push(NextHop { face: FaceId(self.links[r].len() as u16), cost: 0 });
            }
            for (face, &(next, _)) in self.links[r].iter().enumerate() {
                let cost = distance[next as usize] + 1;
                if r != producer && cost <= distance[r] + slack {
                    hops.push(NextHop { face: FaceId(face as u16), cost });
                }
            }
            hops.sort_by_key(|hop| hop.cost);
            self.hops[r].push(hops);
        }
    }

    /// Where the cheapest next hops lead from `router`, its own first being `face`: the (router, face) pairs Interests
    /// leave by. None if they never arrive.
    pub(super) fn way(&self, router: usize, face: u16, prefix: usize) -> Option<Vec<(usize, u16)>> {
        let (mut at, mut out, mut way) = (router, face, Vec::new());
        for _ in 0..=self.routers() {
            let Some(&(next, _)) = self.links[at].get(out as usize) else { return Some(way) };
            way.push((at, out));
            at = next as usize;
            out = self.hops[at][prefix].first()?.face.0;
        }
        None
    }

    /// The shunt router by definition: every router is tried.
    pub(super) fn shunt(&self, congested: (usize, u16), prefix: usize) -> Option<usize> {
        let crossing = {
            let (next, back) = self.links[congested.0][congested.1 as usize];
            (next as usize, back)
        };
        let mut found: Option<(usize, usize)> = None;
        for s in 0..self.routers() {
            let Some(best) = self.hops[s][prefix].first() else { continue };
            let Some(way) = self.way(s, best.face.0, prefix) else { continue };
            let Some(hops) = way.iter().position(|&at| at == crossing) else { continue };
            if way[..=hops].iter().any(|&(r, _)| self.silent[r]) {
                continue;
            }
            let leads_around = |hop: &&NextHop| {
                self.way(s, hop.face.0, prefix).is_some_and(|way| {
                    way.iter().all(|&at| at != crossing)
                        && way.iter().skip(1).all(|&(r, _)| r != s && !self.silent[r])
                        && way.iter().all(|&(r, face)| {
                            let (next, _) = self.links[r][face as usize];
                            next as usize != s && !self.silent[next as usize]
                        })
                })
            };
            if self.hops[s][prefix].iter().skip(1).any(|hop| leads_around(&hop)) {
                found = found.into_iter().chain([(hops, s)]).min();
            }
        }
        found.map(|(_, s)| s)
    }
}

/// A planner beside a graph, which carries out its orders at once.
pub(super) struct Bench {
    pub(super) planner: NdnSieve,
    pub(super) graph: Graph,
    pub(super) now: Time,
    pub(super) orders: Vec<Order>,
    pub(super) rng: Rng,
    trace: Trace,
    /// Whether orders are carried out and answered.
    pub(super) obedient: bool,
}

impl Bench {
    pub(super) fn new(params: &Value, graph: Graph) -> Bench {
        let params = parse_params::<NdnSieve>(params).unwrap();
        let planner = NdnSieve::new(&params, &mut Env { layout: &mut FieldLayout::new() });
        let (now, rng, trace) = (Time::ZERO, Rng::derive(1, &[]), Trace::default());
        let mut bench = Bench { planner, graph, now, orders: Vec::new(), rng, trace, obedient: true };
        for r in 0..bench.graph.routers() {
            for face in 0..bench.graph.links[r].len() {
                bench.link(r, face, true);
            }
            for prefix in 0..bench.graph.hops[r].len() {
                let hops = bench.graph.hops[r][prefix].clone();
                bench.receive(&Message::Routes { router: RouterId(r as u32), prefix: PrefixId(prefix as u32), hops });
            }
        }
        bench
    }

    pub(super) fn link(&mut self, router: usize, face: usize, up: bool) {
        let neighbour = Some(RouterId(self.graph.links[router][face].0));
        let (router, face, rate) = (RouterId(router as u32), FaceId(face as u16), Some(Rate::from_mbps(10.0)));
        self.receive(&Message::Link { router, face, neighbour, rate, up });
    }

    pub(super) fn receive(&mut self, message: &Message) {
        let mut orders = Vec::new();
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        self.planner.on_message(message, &mut orders, &mut ctx);
        self.obey(orders);
    }

    pub(super) fn wake(&mut self) {
        self.now = self.now.max(self.planner.next_wake());
        let mut orders = Vec::new();
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        self.planner.on_wake(&mut orders, &mut ctx);
        self.obey(orders);
    }

    fn obey(&mut self, orders: Vec<Order>) {
        for order in orders {
            self.orders.push(order.clone());
            if self.obedient {
                self.apply(&order);
            }
        }
    }

    /// A router carries out an order and says so.
    pub(super) fn apply(&mut self, order: &Order) {
        let mut hops = order.hops.clone();
        hops.sort_by_key(|hop| hop.cost);
        self.graph.hops[order.router.0 as usize][order.prefix.index()] = hops.clone();
        let (router, prefix, election) = (order.router, order.prefix, order.election);
        self.receive(&Message::Answer { router, prefix, election, hops });
    }

    /// Every router that is not silent reports all its interfaces.
    pub(super) fn report(&mut self) {
        for r in (0..self.graph.routers()).filter(|&r| !self.graph.silent[r]).collect::<Vec<_>>() {
            for face in 0..self.graph.links[r].len() {
                let (utilization, occupancy) = self.graph.states[r][face];
                let (router, face, measured) = (RouterId(r as u32), FaceId(face as u16), self.now);
                self.receive(&Message::Report { router, measured, face, utilization, occupancy });
            }
        }
    }

    pub(super) fn signal(&mut self, router: usize, face: usize) {
        let (router, face, measured) = (RouterId(router as u32), FaceId(face as u16), self.now);
        self.receive(&Message::Signal { router, measured, face, fib_entries: 1 });
    }

    /// Follows the cheapest next hops from every router for every prefix.
    pub(super) fn assert_no_loop(&self) {
        for r in 0..self.graph.routers() {
            for prefix in 0..self.graph.hops[r].len() {
                let Some(best) = self.graph.hops[r][prefix].first() else { continue };
                assert!(self.graph.way(r, best.face.0, prefix).is_some(), "router {r}, prefix {prefix}: a loop");
            }
        }
    }
}
