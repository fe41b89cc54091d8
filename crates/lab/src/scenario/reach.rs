//! Which nodes can reach which: the part of routing that validation needs.

use super::model::NodeKind;
use super::network::Network;

/// Answers "is there a path from this node to that one".
pub(super) struct Reach {
    /// By node: the component it belongs to, named by its first member.
    component: Vec<usize>,
    /// By node: the components of switches it touches; only of [`Reach::through_switches`].
    touches: Option<Vec<Vec<usize>>>,
}

impl Reach {
    /// Paths as NDN sees them: over links, and over switches as far as the overlay allows.
    pub(super) fn new(network: &Network) -> Reach {
        let switch = |n: usize| network.nodes[n].kind == NodeKind::Switch;
        let links = network.links.iter().map(|l| (l.a, l.b));
        let pairs: Vec<(usize, usize)> = match &network.overlay {
            None => links.collect(),
            Some(overlay) => links.filter(|&(a, b)| !switch(a) && !switch(b)).chain(overlay.iter().copied()).collect(),
        };
        Reach { component: components(network.nodes.len(), &pairs), touches: None }
    }

    /// Paths from NDN node to NDN node over switches alone.
    pub(super) fn through_switches(network: &Network) -> Reach {
        let switch = |n: usize| network.nodes[n].kind == NodeKind::Switch;
        let links: Vec<(usize, usize)> = network.links.iter().map(|l| (l.a, l.b)).collect();
        let inner: Vec<_> = links.iter().copied().filter(|&(a, b)| switch(a) && switch(b)).collect();
        let component = components(network.nodes.len(), &inner);
        let mut touches = vec![Vec::new(); network.nodes.len()];
        for (a, b) in links {
            for (node, other) in [(a, b), (b, a)] {
                if !switch(node) && switch(other) {
                    touches[node].push(component[other]);
                }
            }
        }
        Reach { component, touches: Some(touches) }
    }

    pub(super) fn can(&self, from: usize, to: usize) -> bool {
        match &self.touches {
            None => self.component[from] == self.component[to],
            Some(touches) => touches[from].iter().any(|c| touches[to].contains(c)),
        }
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
