//! Which prefix the names of each flow match: a table of one node, or one of all nodes of a network.
//!
//! In a simulated network all nodes have the same. With a table each, a network of 10,000 nodes and 5,000 flows keeps 200
//! MB of it, and every packet at every node reads a line of memory that no other needs; shared, the table stays in the
//! caches.

use crate::growth::step;
use ndnweir_core::ids::{FlowId, PrefixId};
use ndnweir_state::{Damaged, Reader, Value, Writer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const UNBOUND: u32 = u32::MAX;

/// The table. It takes 4 bytes for each flow's number up to the largest.
#[derive(Debug)]
pub struct FlowPrefixes {
    /// Atomic for those who share it; who binds a flow has seen to it that nobody forwards meanwhile.
    prefixes: Arc<[AtomicU32]>,
}

impl Default for FlowPrefixes {
    fn default() -> FlowPrefixes {
        FlowPrefixes { prefixes: Arc::new([]) }
    }
}

impl FlowPrefixes {
    /// The most flows that can be bound: their numbers are below it.
    pub(crate) const MAX_FLOWS: u32 = 1 << 24;

    /// The same table, for another user. Both see what either binds, until [one has to grow](FlowPrefixes::is_same).
    #[must_use]
    pub fn share(&self) -> FlowPrefixes {
        FlowPrefixes { prefixes: self.prefixes.clone() }
    }

    /// Whether both are one table.
    pub fn is_same(&self, other: &FlowPrefixes) -> bool {
        Arc::ptr_eq(&self.prefixes, &other.prefixes)
    }

    /// The prefix of a flow.
    #[inline(always)]
    pub(crate) fn of(&self, flow: FlowId) -> Option<PrefixId> {
        let bound = self.prefixes.get(flow.0 as usize)?.load(Relaxed);
        (bound != UNBOUND).then_some(PrefixId(bound))
    }

    /// Binds a flow to its prefix, or to none. Whether the flow's number is below 2²⁴, as it must be.
    pub fn bind(&mut self, flow: FlowId, prefix: Option<PrefixId>) -> bool {
        if flow.0 >= FlowPrefixes::MAX_FLOWS {
            return false;
        }
        let (index, len) = (flow.0 as usize, self.prefixes.len());
        if index >= len {
            let more = (index + 1).max(len + step(len)) - len;
            let known = self.prefixes.iter().map(|bound| bound.load(Relaxed));
            self.prefixes = known.chain(std::iter::repeat_n(UNBOUND, more)).map(AtomicU32::new).collect();
        }
        self.prefixes[index].store(prefix.map_or(UNBOUND, |prefix| prefix.0), Relaxed);
        true
    }
}

impl Value for FlowPrefixes {
    fn write(&self, to: &mut Writer) {
        self.prefixes.iter().map(|bound| bound.load(Relaxed)).collect::<Vec<u32>>().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<FlowPrefixes, Damaged> {
        let prefixes: Vec<u32> = Vec::read(from)?;
        Ok(FlowPrefixes { prefixes: prefixes.into_iter().map(AtomicU32::new).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_table_sees_what_is_bound_until_it_grows() {
        let mut all = FlowPrefixes::default();
        assert!(all.bind(FlowId(2), Some(PrefixId(7))));
        let mut node = all.share();
        assert!(all.bind(FlowId(1), Some(PrefixId(5))) && node.bind(FlowId(0), Some(PrefixId(4))));
        for table in [&all, &node] {
            assert_eq!(
                [0, 1, 2, 3].map(|flow| table.of(FlowId(flow)).map(|prefix| prefix.0)),
                [Some(4), Some(5), Some(7), None]
            );
        }
        assert!(all.is_same(&node) && all.bind(FlowId(1000), Some(PrefixId(1))) && !all.is_same(&node));
        assert_eq!((node.of(FlowId(1000)), all.of(FlowId(2))), (None, Some(PrefixId(7))));
        assert!(!all.bind(FlowId(FlowPrefixes::MAX_FLOWS), None), "and no memory is taken for it");
    }
}
