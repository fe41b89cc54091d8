//! Next hops of prefixes, and the prefixes of flows.

use super::Node;
use crate::flow_prefixes::FlowPrefixes;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::planner::Order;
use ndnweir_core::strategy::{NextHop, Strategy};
use ndnweir_core::units::{Duration, Time};

impl Node {
    /// Whether [`Node::set_base_rtts`] has an effect: there are shapers.
    pub fn wants_base_rtts(&self) -> bool {
        self.shapes()
    }

    /// Gives shapers the propagation delay to the producer of a prefix and back, by next hop. Those not listed are
    /// unknown. Prefixes count up to the number that have had routes.
    pub fn set_base_rtts(&mut self, prefix: PrefixId, rtts: &[(FaceId, Duration)]) {
        let prefixes = self.fib.prefixes();
        if self.shapes() && prefix.index() < prefixes {
            self.base_rtts.resize(prefixes, Vec::new());
            self.base_rtts[prefix.index()] = rtts.to_vec();
        }
    }

    /// Replaces the next hops of a prefix; they are used cheapest first, those of equal cost in the order given. Hops
    /// over faces that do not exist are left out.
    pub fn set_route(&mut self, now: Time, prefix: PrefixId, hops: &[NextHop]) {
        let faces = self.faces.len();
        if let Some(before) = self.fib.set(prefix, hops.iter().copied().filter(|hop| hop.face.index() < faces)) {
            self.notify_next_hops(now, prefix);
            if self.strategies.any_sends_pending() {
                let is_new = |face: &FaceId| before.iter().all(|hop| hop.face != *face);
                let new: Vec<FaceId> = self.fib.hops(prefix).iter().map(|hop| hop.face).filter(is_new).collect();
                for face in new {
                    self.send_pending(now, prefix, face);
                }
            }
        }
        self.release_held(now);
    }

    pub(super) fn notify_next_hops(&mut self, now: Time, prefix: PrefixId) {
        for instance in self.strategies.each() {
            let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
            instance.strategy.on_next_hops(prefix, self.fib.hops(prefix), &mut ctx);
        }
    }

    /// Sets the longest prefix that a flow's names match; an Interest of a flow without one is answered with a NoRoute
    /// NACK. Whether the flow's number is below 2²⁴, as it must be.
    pub fn bind_flow(&mut self, flow: FlowId, prefix: Option<PrefixId>) -> bool {
        self.fib.bind(flow, prefix)
    }

    /// Takes the prefixes of flows from a table that other nodes have too; again when it has grown.
    pub fn share_flows(&mut self, flows: &FlowPrefixes) {
        self.fib.share_flows(flows);
    }

    /// Carries out an order of the planner to this node: new costs of all next hops of a prefix. An order for other
    /// next hops changes nothing. The driver decides whose orders count (the election). Whether it was carried out.
    pub fn apply_order(&mut self, now: Time, order: &Order) -> bool {
        let applied = self.fib.set_costs(order.prefix, &order.hops);
        if applied {
            self.notify_next_hops(now, order.prefix);
        }
        self.release_held(now);
        applied
    }

    /// The next hops of a prefix, cheapest first; none for one that does not exist.
    pub fn next_hops(&self, prefix: PrefixId) -> &[NextHop] {
        self.fib.hops(prefix)
    }

    /// How many prefixes have next hops.
    pub fn fib_entries(&self) -> usize {
        self.fib.entries()
    }
}
