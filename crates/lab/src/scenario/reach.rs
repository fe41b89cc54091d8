//! Which nodes can reach which: the part of routing that validation needs.

use super::model::NodeKind;
use super::network::Network;

/// Answers "is there a path from this node to that one" in constant time per neighbour.
///
/// Routers and switches forward for others, hosts do not; so a host reaches what its neighbours' components reach.
pub(super) struct Reach {
    /// Components of the graph of routers and switches that each node touches.
    touches: Vec<Vec<usize>>,
    neighbours: Vec<Vec<usize>>,
}

impl Reach {
    pub(super) fn new(network: &Network) -> Reach {
        let count = network.nodes.len();
        let mut neighbours = vec![Vec::new(); count];
        for link in &network.links {
            neighbours[link.a].push(link.b);
            neighbours[link.b].push(link.a);
        }
        let transit = |n: usize| network.nodes[n].kind != NodeKind::Host;
        let mut component = vec![usize::MAX; count];
        for start in (0..count).filter(|&n| transit(n)) {
            let mut stack = vec![start];
            while let Some(n) = stack.pop() {
                if component[n] == usize::MAX {
                    component[n] = start;
                    stack.extend(neighbours[n].iter().copied().filter(|&m| transit(m)));
                }
            }
        }
        let touches = (0..count)
            .map(|n| {
                let mut all: Vec<usize> = if transit(n) {
                    vec![component[n]]
                } else {
                    neighbours[n].iter().map(|&m| component[m]).filter(|&c| c != usize::MAX).collect()
                };
                all.sort_unstable();
                all.dedup();
                all
            })
            .collect();
        Reach { touches, neighbours }
    }

    pub(super) fn can(&self, from: usize, to: usize) -> bool {
        from == to
            || self.neighbours[from].contains(&to)
            || self.touches[from].iter().any(|c| self.touches[to].binary_search(c).is_ok())
    }
}
