//! Which nodes can reach which: the part of routing that validation needs.

use std::collections::BTreeSet;

use super::model::NodeKind;
use super::network::Network;

/// Answers "is there a path from this node to that one".
pub(super) struct Reach {
    /// By node: the connected parts of what carries transit that the node belongs to or touches, named by a member.
    touches: Vec<Vec<usize>>,
    /// By node: the neighbours that carry no transit either.
    beside: Vec<Vec<usize>>,
}

impl Reach {
    /// Paths as NDN sees them: over links, and over switches as far as the overlay allows, and never through a host.
    pub(super) fn new(network: &Network) -> Reach {
        let switch = |n: usize| network.nodes[n].kind == NodeKind::Switch;
        let links = network.links.iter().map(|l| (l.a, l.b));
        let pairs: Vec<(usize, usize)> = match &network.overlay {
            None => links.collect(),
            Some(overlay) => links.filter(|&(a, b)| !switch(a) && !switch(b)).chain(overlay.iter().copied()).collect(),
        };
        Reach::over(network, &pairs, |n| !network.nodes[n].kind.is_host())
    }

    /// Paths from NDN node to NDN node over switches alone.
    pub(super) fn through_switches(network: &Network) -> Reach {
        let switch = |n: usize| network.nodes[n].kind == NodeKind::Switch;
        let links = network.links.iter().map(|l| (l.a, l.b)).filter(|&(a, b)| switch(a) || switch(b));
        Reach::over(network, &links.collect::<Vec<_>>(), switch)
    }

    /// Paths over `pairs` whose inner nodes all carry transit.
    fn over(network: &Network, pairs: &[(usize, usize)], transit: impl Fn(usize) -> bool) -> Reach {
        let count = network.nodes.len();
        let inner: Vec<_> = pairs.iter().copied().filter(|&(a, b)| transit(a) && transit(b)).collect();
        let component = components(count, &inner);
        let mut touches: Vec<Vec<usize>> =
            (0..count).map(|n| if transit(n) { vec![component[n]] } else { Vec::new() }).collect();
        let mut beside = vec![Vec::new(); count];
        for &(a, b) in pairs {
            for (node, other) in [(a, b), (b, a)] {
                match (transit(node), transit(other)) {
                    (false, true) => touches[node].push(component[other]),
                    (false, false) => beside[node].push(other),
                    (true, _) => {}
                }
            }
        }
        Reach { touches, beside }
    }

    /// By connected part: the nodes that belong to it or touch it, in their order.
    pub(super) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.touches.len()];
        for (node, touched) in self.touches.iter().enumerate() {
            for &part in touched {
                members[part].push(node);
            }
        }
        members
    }

    /// All that a node reaches, given the members of each part, in order; itself among them.
    pub(super) fn reached_from(&self, node: usize, members: &[Vec<usize>]) -> BTreeSet<usize> {
        let parts = self.touches[node].iter().flat_map(|&part| &members[part]);
        parts.chain(&self.beside[node]).copied().chain([node]).collect()
    }

    pub(super) fn can(&self, from: usize, to: usize) -> bool {
        from == to || self.touches[from].iter().any(|c| self.touches[to].contains(c)) || self.beside[from].contains(&to)
    }
}

/// The connected component of each node.
fn components(count: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); count];
    for &(a, b) in pairs {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut component = vec![usize::MAX; count];
    for start in 0..count {
        let mut stack = vec![start];
        while let Some(n) = stack.pop() {
            if component[n] == usize::MAX {
                component[n] = start;
                stack.extend(&neighbours[n]);
            }
        }
    }
    component
}
