//! The forwarding table: prefixes to next hops, flows to prefixes.
//!
//! Longest-prefix match happens once per flow, when the driver interns it (see [`crate::fib_tree::FibTree`]) and passes
//! it to the node through `bind_flow`; per packet it is an array lookup.

use crate::flow_prefixes::FlowPrefixes;
use crate::hop_lists::HopLists;
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::strategy::NextHop;

/// The table.
#[derive(Debug, ndnweir_state::State)]
#[repr(C)]
pub(crate) struct Fib {
    /// Who keeps the state of nodes shares the table among them and keeps it once.
    #[state(skip)]
    flows: FlowPrefixes,
    /// By prefix.
    hops: HopLists,
}

impl Fib {
    pub(crate) fn new(prefixes: usize) -> Fib {
        Fib { hops: HopLists::new(prefixes), flows: FlowPrefixes::default() }
    }

    /// How many prefixes there are.
    pub(crate) fn prefixes(&self) -> usize {
        self.hops.count()
    }

    /// The next hops of a prefix; none for one that does not exist.
    #[inline]
    pub(crate) fn hops(&self, prefix: PrefixId) -> &[NextHop] {
        self.hops.get(prefix.index())
    }

    /// Asks for the next hops of a flow's names.
    #[inline(always)]
    pub(crate) fn expect(&self, flow: FlowId) {
        self.prefix(flow).into_iter().for_each(|prefix| self.hops.expect(prefix.index()));
    }

    /// The first of the next hops of a prefix.
    #[inline(always)]
    pub(crate) fn cheapest(&self, prefix: PrefixId) -> Option<FaceId> {
        self.hops.first(prefix.index())
    }

    /// Replaces the next hops of a prefix, cheapest first, those of equal cost as given. What they were; none if there
    /// is no such prefix.
    pub(crate) fn set(&mut self, prefix: PrefixId, mut hops: impl Iterator<Item = NextHop>) -> Option<Vec<NextHop>> {
        if prefix.index() >= self.hops.count() {
            return None;
        }
        let before = self.hops(prefix).to_vec();
        // A large network sets millions of lists of one at its start: these take no allocation.
        let (first, second) = (hops.next(), hops.next());
        if second.is_none() {
            self.hops.set(prefix.index(), first.as_slice());
        } else {
            let mut all: Vec<NextHop> = first.into_iter().chain(second).chain(hops).collect();
            all.sort_by_key(|hop| hop.cost);
            self.hops.set(prefix.index(), &all);
        }
        Some(before)
    }

    /// How many prefixes have next hops.
    pub(crate) fn entries(&self) -> usize {
        (0..self.hops.count()).filter(|&prefix| !self.hops.get(prefix).is_empty()).count()
    }

    /// Changes all costs of a prefix, or none if `costs` are not for exactly its next hops. Of equal costs the previous
    /// best comes first, then the lower face. Whether they were changed.
    pub(crate) fn set_costs(&mut self, prefix: PrefixId, costs: &[NextHop]) -> bool {
        let entry = self.hops.get_mut(prefix.index());
        let new = |hop: &NextHop| costs.iter().find(|new| new.face == hop.face).map(|new| new.cost);
        let Some(best) = entry.first().map(|hop| hop.face) else { return false };
        if costs.len() != entry.len() || !entry.iter().all(|hop| new(hop).is_some()) {
            return false;
        }
        for hop in entry.iter_mut() {
            hop.cost = new(hop).unwrap_or(hop.cost);
        }
        entry.sort_by_key(|hop| (hop.cost, hop.face != best, hop.face));
        true
    }

    /// The prefix of a flow.
    #[inline(always)]
    pub(crate) fn prefix(&self, flow: FlowId) -> Option<PrefixId> {
        self.flows.of(flow)
    }

    /// Binds a flow to its prefix, or to none. Whether the flow's number is in bounds.
    pub(crate) fn bind(&mut self, flow: FlowId, prefix: Option<PrefixId>) -> bool {
        self.flows.bind(flow, prefix.filter(|prefix| prefix.index() < self.hops.count()))
    }

    /// Takes the prefixes of flows from a table that others have too.
    pub(crate) fn share_flows(&mut self, flows: &FlowPrefixes) {
        self.flows = flows.share();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(face: u16, cost: u32) -> NextHop {
        NextHop { face: FaceId(face), cost }
    }

    #[test]
    fn hops_are_kept_cheapest_first_and_ties_as_given() {
        let mut fib = Fib::new(1);
        assert!(fib.set(PrefixId(0), [hop(3, 5), hop(1, 2), hop(2, 5)].into_iter()).is_some());
        assert_eq!(fib.hops(PrefixId(0)), [hop(1, 2), hop(3, 5), hop(2, 5)]);
        assert!(fib.set(PrefixId(1), std::iter::empty()).is_none());
        assert_eq!(fib.entries(), 1);
    }

    #[test]
    fn costs_change_together_or_not_at_all_and_ties_go_to_the_previous_best() {
        let mut fib = Fib::new(1);
        fib.set(PrefixId(0), [hop(3, 2), hop(1, 5), hop(2, 6)].into_iter());
        let costs = [hop(1, 7), hop(2, 5), hop(3, 7)];
        for wrong in [&costs[..2], &[hop(1, 7), hop(2, 5), hop(9, 0)], &[hop(1, 0), hop(1, 1), hop(2, 2)], &[]] {
            assert!(!fib.set_costs(PrefixId(0), wrong));
            assert_eq!(fib.hops(PrefixId(0)), [hop(3, 2), hop(1, 5), hop(2, 6)]);
        }
        assert!(fib.set_costs(PrefixId(0), &costs));
        assert_eq!(fib.hops(PrefixId(0)), [hop(2, 5), hop(3, 7), hop(1, 7)], "3 was the best before");
        assert!(fib.set_costs(PrefixId(0), &[hop(1, 4), hop(2, 4), hop(3, 9)]));
        assert_eq!(fib.hops(PrefixId(0)), [hop(2, 4), hop(1, 4), hop(3, 9)], "the previous best stays ahead in a tie");
    }

    #[test]
    fn flows_out_of_bounds_and_prefixes_that_do_not_exist_are_unbound() {
        let mut fib = Fib::new(1);
        assert!(fib.bind(FlowId(7), Some(PrefixId(0))));
        assert_eq!(fib.prefix(FlowId(7)), Some(PrefixId(0)));
        assert_eq!(fib.prefix(FlowId(6)), None);
        assert!(fib.bind(FlowId(7), Some(PrefixId(1))));
        assert_eq!(fib.prefix(FlowId(7)), None);
        assert!(!fib.bind(FlowId(u32::MAX), None));
    }
}
