//! State per flow with a bound: the least recently used flow is replaced.

use super::index_list::IndexList;
use crate::ids::FlowId;
use std::collections::BTreeMap;

/// How many flows a scheme keeps state for at one face; this project's bound on memory.
pub const MAX_FLOWS: usize = 4096;

/// At most so many flows' state; a new flow beyond that takes the place of the one unused for longest.
///
/// A flow that comes back after losing its place starts again.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct FlowTable<T> {
    places: Vec<TableSlot<T>>,
    index: BTreeMap<FlowId, u32>,
    bound: usize,
    /// Places by their last use.
    order: IndexList,
}

#[derive(Clone, Debug, ndnweir_state::Value)]
struct TableSlot<T> {
    flow: FlowId,
    state: T,
}

impl<T> FlowTable<T> {
    /// An empty table for `bound` flows, at least one.
    pub fn new(bound: usize) -> FlowTable<T> {
        FlowTable { places: Vec::new(), index: BTreeMap::new(), bound: bound.max(1), order: IndexList::default() }
    }

    /// The state of `flow`, made by `fresh` if there is none; counts as a use.
    pub fn entry(&mut self, flow: FlowId, fresh: impl FnOnce() -> T) -> &mut T {
        let at = self.find(flow).unwrap_or_else(|| self.place(flow, fresh()));
        self.order.push(at);
        &mut self.places[at as usize].state
    }

    /// The state of `flow`, if there is any; does not count as a use.
    pub fn get_mut(&mut self, flow: FlowId) -> Option<&mut T> {
        let at = self.find(flow)?;
        self.places.get_mut(at as usize).map(|place| &mut place.state)
    }

    /// As [`FlowTable::get_mut`], to read.
    pub fn get(&self, flow: FlowId) -> Option<&T> {
        let at = self.find(flow)?;
        self.places.get(at as usize).map(|place| &place.state)
    }

    /// The flows in the order of their last use, the latest first.
    pub fn recent(&self) -> impl Iterator<Item = (FlowId, &T)> {
        let places = self.order.from_last().filter_map(|at| self.places.get(at as usize));
        places.map(|place| (place.flow, &place.state))
    }

    /// Flows with state.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether no flow has state.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn find(&self, flow: FlowId) -> Option<u32> {
        let newest =
            self.order.last().filter(|at| self.places.get(*at as usize).is_some_and(|place| place.flow == flow));
        newest.or_else(|| self.index.get(&flow).copied())
    }

    /// A place for a new flow, not in the order of this use yet.
    fn place(&mut self, flow: FlowId, state: T) -> u32 {
        let fresh = TableSlot { flow, state };
        let oldest = self.order.first().filter(|_| self.places.len() >= self.bound);
        let at = match oldest {
            Some(at) => {
                let former = std::mem::replace(&mut self.places[at as usize], fresh);
                self.index.remove(&former.flow);
                at
            }
            None => {
                self.places.push(fresh);
                (self.places.len() - 1) as u32
            }
        };
        self.index.insert(flow, at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_unused_for_longest_makes_room() {
        let mut table = FlowTable::new(3);
        for flow in [1, 2, 3, 1, 4] {
            *table.entry(FlowId(flow), || 0) += 1;
        }
        // 2 was used before 3 and 1.
        assert_eq!(table.get(FlowId(2)), None);
        assert_eq!([1, 3, 4].map(|flow| table.get(FlowId(flow)).copied()), [Some(2), Some(1), Some(1)]);
        assert_eq!(table.len(), 3);
        assert_eq!(table.recent().map(|(flow, _)| flow.0).collect::<Vec<_>>(), [4, 1, 3]);
    }

    #[test]
    fn looking_is_no_use() {
        let mut table = FlowTable::new(2);
        table.entry(FlowId(1), || 10);
        table.entry(FlowId(2), || 20);
        *table.get_mut(FlowId(1)).unwrap() += 1;
        table.entry(FlowId(3), || 30);
        assert_eq!([1, 2, 3].map(|flow| table.get(FlowId(flow)).copied()), [None, Some(20), Some(30)]);
    }

    #[test]
    fn a_flood_of_flows_takes_no_more_memory_and_agrees_with_a_list() {
        let mut table = FlowTable::new(5);
        let mut list: Vec<u32> = Vec::new();
        let mut x = 1u32;
        for _ in 0..5000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let flow = (x >> 16) % 9;
            table.entry(FlowId(flow), || flow);
            list.retain(|&known| known != flow);
            list.push(flow);
            if list.len() > 5 {
                list.remove(0);
            }
            for flow in 0..9 {
                assert_eq!(table.get(FlowId(flow)).is_some(), list.contains(&flow));
            }
        }
        assert_eq!((table.len(), table.places.len(), table.index.len()), (5, 5, 5));
    }
}
