//! The links between routers, and what the planner is told of them.

use super::{Brain, router_id};
use ndnweir_core::ids::PrefixId;
use ndnweir_core::planner::{Message, Order};
use ndnweir_core::units::{Duration, Rate, Time};
use std::collections::BTreeMap;

/// Changes of links within this time are told the planner together: each makes it look at all routes.
const LINKS_SPACING: Duration = Duration::from_millis(100);

/// A link between two routers, as known.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkView {
    /// From which router.
    pub from: usize,
    /// By which face.
    pub face: u64,
    /// To which router.
    pub to: usize,
    /// In bit/s.
    pub rate: Option<u64>,
    /// Whether it is up, and both ends report.
    pub up: bool,
    /// As last reported.
    pub utilization: Option<f64>,
    /// As last reported.
    pub occupancy: Option<f64>,
}

/// What was reported to the planner of a face's link.
pub(super) type LinkReport = (Option<usize>, Option<u64>, bool);

impl Brain {
    /// The links between routers: a face leads to the router that listens on the face's URI.
    pub fn links(&self, now: Time) -> Vec<LinkView> {
        let mut at: BTreeMap<&str, usize> = BTreeMap::new();
        for (router, known) in self.routers.iter().enumerate() {
            for uri in known.mirror.listen.iter().chain(&known.uris) {
                at.entry(uri).or_insert(router);
            }
        }
        let mut links = Vec::new();
        for (from, known) in self.routers.iter().enumerate() {
            for (&face, view) in &known.mirror.faces {
                let Some(&to) = view.remote.as_deref().and_then(|remote| at.get(remote)) else { continue };
                if to == from {
                    continue;
                }
                let up = view.up && self.is_reporting(now, from) && self.is_reporting(now, to);
                let (utilization, occupancy) = (view.utilization, view.occupancy);
                links.push(LinkView { from, face, to, rate: view.rate, up, utilization, occupancy });
            }
        }
        links
    }

    /// Tells the planner of links that have changed, soon.
    pub(super) fn announce_changed_links(&mut self, now: Time, orders: &mut Vec<Order>) {
        let is_due = self.links_announced.is_none_or(|at| now.since(at) >= LINKS_SPACING);
        if !self.links_changed.is_empty() && is_due {
            self.announce_links(now, orders);
        }
    }

    /// Tells the planner of links that are new, other, or gone.
    pub(super) fn announce_links(&mut self, now: Time, orders: &mut Vec<Order>) {
        self.links_announced = Some(now);
        let links = self.links(now);
        let mut there: Vec<BTreeMap<u64, LinkReport>> = vec![BTreeMap::new(); self.routers.len()];
        for link in links {
            there[link.from].insert(link.face, (Some(link.to), link.rate, link.up));
        }
        for (router, now_there) in there.into_iter().enumerate() {
            let before = std::mem::take(&mut self.routers[router].links);
            let gone = before.keys().filter(|face| !now_there.contains_key(face));
            let gone = gone.map(|face| (*face, (before[face].0, before[face].1, false)));
            let all: BTreeMap<u64, LinkReport> = gone.chain(now_there.clone()).collect();
            for (face, (to, rate, up)) in all {
                if before.get(&face) == Some(&(to, rate, up)) {
                    continue;
                }
                let Some(id) = self.routers[router].id(face) else { continue };
                let (neighbour, rate) = (to.map(router_id), rate.map(Rate::from_bps));
                let message = Message::Link { router: router_id(router), face: id, neighbour, rate, up };
                self.notify(now, &message, orders);
            }
            let other_faces = !before.keys().eq(now_there.keys());
            self.routers[router].links = now_there;
            if other_faces {
                // Which next hops lead to producers has changed with them.
                for number in 0..self.names.len() {
                    self.announce_entry(now, router, PrefixId(number as u32), orders);
                }
            }
        }
        for router in std::mem::take(&mut self.links_changed) {
            self.announce_entries(now, router, orders);
        }
    }
}
