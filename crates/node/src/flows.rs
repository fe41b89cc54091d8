//! How many distinct flows have pending Interests from one face.

use crate::keyed::NumberHash;
use ndnweir_core::ids::FlowId;

/// Reference counts per flow; O(1) per change. Only kept when a component requests the count.
#[derive(Debug, Default, ndnweir_state::Value)]
pub(crate) struct FlowCounter {
    pending: hashbrown::HashMap<u32, u32, NumberHash>,
}

impl FlowCounter {
    pub(crate) fn new(hash: NumberHash) -> FlowCounter {
        FlowCounter { pending: hashbrown::HashMap::with_hasher(hash) }
    }

    /// One more pending Interest of `flow`.
    pub(crate) fn add(&mut self, flow: FlowId) {
        *self.pending.entry(flow.0).or_insert(0) += 1;
    }

    /// One fewer.
    pub(crate) fn remove(&mut self, flow: FlowId) {
        if let hashbrown::hash_map::Entry::Occupied(mut entry) = self.pending.entry(flow.0) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }

    /// Distinct flows now.
    pub(crate) fn count(&self) -> u32 {
        self.pending.len() as u32
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_counts_while_it_has_a_pending_interest() {
        let mut flows = FlowCounter::default();
        for flow in [1, 1, 2] {
            flows.add(FlowId(flow));
        }
        assert_eq!(flows.count(), 2);
        flows.remove(FlowId(1));
        assert_eq!(flows.count(), 2);
        flows.remove(FlowId(1));
        flows.remove(FlowId(9));
        assert_eq!(flows.count(), 1);
    }
}
