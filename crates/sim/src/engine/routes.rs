//! The next hops in force, in little memory: a network of 10,000 nodes has millions of lists, most with one entry.

use ndnweir_core::strategy::NextHop;

/// The next hops of every node for one prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub(super) struct PrefixRoutes {
    /// By node: where its hops end.
    ends: Vec<u32>,
    hops: Vec<NextHop>,
}

impl PrefixRoutes {
    pub(super) fn new(by_node: &[Vec<NextHop>]) -> PrefixRoutes {
        let mut routes = PrefixRoutes {
            ends: Vec::with_capacity(by_node.len()),
            hops: Vec::with_capacity(by_node.iter().map(Vec::len).sum()),
        };
        for hops in by_node {
            routes.hops.extend_from_slice(hops);
            routes.ends.push(routes.hops.len() as u32);
        }
        routes
    }

    /// The number of nodes; zero before routes were computed.
    pub(super) fn nodes(&self) -> usize {
        self.ends.len()
    }

    /// The next hops of a node; none before routes were computed.
    pub(super) fn of(&self, node: usize) -> &[NextHop] {
        let end = |node: usize| self.ends.get(node).copied().unwrap_or_default() as usize;
        let first = node.checked_sub(1).map_or(0, end);
        self.hops.get(first..end(node)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::FaceId;

    #[test]
    fn every_node_has_its_hops_and_they_take_8_bytes_each_and_4_per_node() {
        let hop = |face| NextHop { face: FaceId(face), cost: 1 };
        let routes = PrefixRoutes::new(&[vec![hop(1), hop(2)], vec![], vec![hop(0)]]);
        assert_eq!((routes.of(0), routes.of(1), routes.of(2)), (&[hop(1), hop(2)][..], &[][..], &[hop(0)][..]));
        assert_eq!((routes.of(3), routes.nodes()), (&[][..], 3));
        assert_eq!((routes.hops.capacity(), routes.ends.capacity(), size_of::<NextHop>()), (3, 3, 8));
        assert_eq!((PrefixRoutes::default().of(0), PrefixRoutes::default().of(7)), (&[][..], &[][..]));
    }
}
