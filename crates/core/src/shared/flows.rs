//! How many flows share something, counted by their pending Interests.

use crate::ids::FlowId;

/// Counts distinct flows by reference: one more on PIT insert, one less when the entry is satisfied or expires.
///
/// Both take constant time. Memory is bounded: flows numbered at or beyond the limit share one place and count as one.
#[derive(Clone, Debug)]
pub struct FlowCounter {
    pending: Vec<u32>,
    limit: usize,
    beyond: u32,
    flows: u32,
}

impl FlowCounter {
    /// A counter that distinguishes flows numbered below `limit`.
    pub fn new(limit: usize) -> FlowCounter {
        FlowCounter { pending: Vec::new(), limit, beyond: 0, flows: 0 }
    }

    /// An Interest of `flow` became pending.
    pub fn insert(&mut self, flow: FlowId) {
        let index = flow.0 as usize;
        if index < self.limit && index >= self.pending.len() {
            self.pending.resize((index + 1).next_power_of_two().min(self.limit), 0);
        }
        if let Some(place) = self.place(flow) {
            *place = place.saturating_add(1);
            let first = *place == 1;
            self.flows += u32::from(first);
        }
    }

    /// An Interest of `flow` is no longer pending. Ignored if none was.
    pub fn remove(&mut self, flow: FlowId) {
        if let Some(place) = self.place(flow).filter(|place| **place > 0) {
            *place -= 1;
            let last = *place == 0;
            self.flows -= u32::from(last);
        }
    }

    /// Flows with pending Interests.
    pub fn flows(&self) -> u32 {
        self.flows
    }

    /// Pending Interests of `flow`.
    pub fn pending(&self, flow: FlowId) -> u32 {
        match self.pending.get(flow.0 as usize) {
            Some(&pending) => pending,
            None if (flow.0 as usize) < self.limit => 0,
            None => self.beyond,
        }
    }

    fn place(&mut self, flow: FlowId) -> Option<&mut u32> {
        let index = flow.0 as usize;
        if index >= self.limit { Some(&mut self.beyond) } else { self.pending.get_mut(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_counts_once_however_many_interests_it_has_pending() {
        let mut counter = FlowCounter::new(100);
        for flow in [3, 3, 7, 3] {
            counter.insert(FlowId(flow));
        }
        assert_eq!((counter.flows(), counter.pending(FlowId(3))), (2, 3));
        counter.remove(FlowId(3));
        counter.remove(FlowId(7));
        assert_eq!(counter.flows(), 1);
        counter.remove(FlowId(7));
        counter.remove(FlowId(3));
        counter.remove(FlowId(3));
        assert_eq!(counter.flows(), 0);
    }

    #[test]
    fn flows_beyond_the_limit_count_as_one_and_take_no_memory() {
        let mut counter = FlowCounter::new(2);
        for flow in [0, 1, 2, 3, u32::MAX] {
            counter.insert(FlowId(flow));
        }
        assert_eq!((counter.flows(), counter.pending(FlowId(9)), counter.pending.len()), (3, 3, 2));
    }

    #[test]
    fn removing_what_was_never_inserted_changes_nothing() {
        let mut counter = FlowCounter::new(4);
        counter.remove(FlowId(1));
        counter.insert(FlowId(2));
        counter.remove(FlowId(1));
        assert_eq!(counter.flows(), 1);
    }
}
