//! Cheapest paths between places of a graph (Dijkstra, *A note on two problems in connexion with graphs*, 1959).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// An edge towards a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<C> {
    /// Where it comes from.
    pub from: usize,
    /// The cost from there by way of the edge; not below that of the place it leads to.
    pub cost: C,
    /// What the caller knows it by.
    pub id: usize,
}

/// The path of each node to the nearest root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortestPaths<C> {
    costs: Vec<Option<C>>,
    first: Vec<Option<usize>>,
}

impl<C: Copy + Ord> ShortestPaths<C> {
    /// The cheapest paths of `places` places to `roots`, which cost `zero`. `into` gives the edges that lead to a place
    /// of the given cost: none where no path leads on. Of paths of equal cost the one found first is kept; places of
    /// equal cost are visited in ascending order.
    pub fn new<E: IntoIterator<Item = Edge<C>>>(
        places: usize,
        roots: impl IntoIterator<Item = usize>,
        zero: C,
        mut into: impl FnMut(usize, C) -> E,
    ) -> ShortestPaths<C> {
        let mut paths = ShortestPaths { costs: vec![None; places], first: vec![None; places] };
        let mut open = BinaryHeap::new();
        for root in roots {
            paths.costs[root] = Some(zero);
            open.push(Reverse((zero, root)));
        }
        while let Some(Reverse((cost, place))) = open.pop() {
            if paths.costs[place] != Some(cost) {
                continue;
            }
            for Edge { from, cost, id } in into(place, cost) {
                if paths.costs[from].is_none_or(|known| cost < known) {
                    (paths.costs[from], paths.first[from]) = (Some(cost), Some(id));
                    open.push(Reverse((cost, from)));
                }
            }
        }
        paths
    }

    /// The cost from a place; none if no path leads to a root.
    pub fn cost(&self, place: usize) -> Option<C> {
        self.costs.get(place).copied().flatten()
    }

    /// The first edge of the path from a place; none of a root, and where there is no path.
    pub fn first_edge(&self, place: usize) -> Option<usize> {
        self.first.get(place).copied().flatten()
    }
}

/// The costs alone of the paths of [`ShortestPaths::new`]; none where no path leads. Places of one cost are in one list,
/// which is faster where there are few costs and, as in a large network, thousands of places of one: where no edge has to
/// be chosen they may come in any order.
pub fn costs<C: Copy + Ord, E: IntoIterator<Item = Edge<C>>>(
    places: usize,
    roots: impl IntoIterator<Item = usize>,
    zero: C,
    mut into: impl FnMut(usize, C) -> E,
) -> Vec<Option<C>> {
    let mut costs = vec![None; places];
    let mut open: BTreeMap<C, Vec<usize>> = BTreeMap::new();
    for root in roots {
        costs[root] = Some(zero);
        open.entry(zero).or_default().push(root);
    }
    while let Some((cost, list)) = open.pop_first() {
        for place in list {
            if costs[place] != Some(cost) {
                continue;
            }
            for Edge { from, cost, .. } in into(place, cost) {
                if costs[from].is_none_or(|known| cost < known) {
                    costs[from] = Some(cost);
                    open.entry(cost).or_default().push(from);
                }
            }
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From, to, cost.
    const EDGES: [(usize, usize, u64); 6] = [(1, 0, 4), (2, 0, 1), (1, 2, 2), (3, 1, 1), (3, 2, 3), (0, 3, 1)];

    fn paths(may_pass: impl Fn(usize) -> bool) -> ShortestPaths<u64> {
        let into = |place, cost| {
            let passes = place == 0 || may_pass(place);
            let edges = EDGES.into_iter().enumerate().filter(move |(_, edge)| passes && edge.1 == place);
            edges.map(move |(id, (from, _, more))| Edge { from, cost: cost + more, id })
        };
        let paths = ShortestPaths::new(5, [0], 0, into);
        assert_eq!(costs(5, [0], 0, into), paths.costs);
        paths
    }

    #[test]
    fn every_place_goes_the_cheapest_way_and_of_equal_ones_the_first_found() {
        let paths = paths(|_| true);
        let costs: Vec<_> = (0..5).map(|place| paths.cost(place)).collect();
        assert_eq!(costs, [Some(0), Some(3), Some(1), Some(4), None]);
        let first: Vec<_> = (0..5).map(|place| paths.first_edge(place)).collect();
        assert_eq!(first, [None, Some(2), Some(1), Some(4), None]);
    }

    #[test]
    fn no_path_leads_by_way_of_a_place_without_edges() {
        let paths = paths(|place| place != 2);
        assert_eq!((paths.cost(1), paths.cost(2), paths.cost(3)), (Some(4), Some(1), Some(5)));
    }
}
