//! Nodes that belong together because something joins them.

/// A partition of the nodes: at first each is a group of its own.
pub(crate) struct Groups(Vec<usize>);

impl Groups {
    /// Of so many nodes.
    pub(crate) fn new(nodes: usize) -> Groups {
        Groups((0..nodes).collect())
    }

    /// The group of a node, identified by the first of its nodes.
    pub(crate) fn of(&self, mut node: usize) -> usize {
        while self.0[node] != node {
            node = self.0[node];
        }
        node
    }

    /// Makes the groups of two nodes one.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b)] = a.min(b);
    }
}
