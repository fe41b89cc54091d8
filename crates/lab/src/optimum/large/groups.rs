//! Equal flows, and the paths that they begin with.

use super::super::paths::{Path, Paths};
use super::super::{AllowedLinks, Problem};
use super::search::Search;
use std::collections::BTreeMap;

/// How much of a link's cost the load of earlier first paths adds; first paths spread over links.
const LOAD_COST: f64 = 0.1;

/// The rate of the fastest link over that of each link.
pub(super) fn narrowness(problem: &Problem) -> Vec<f64> {
    let widest = problem.links.iter().map(|l| l.rate.mbps()).fold(f64::MIN_POSITIVE, f64::max);
    problem.links.iter().map(|l| widest / l.rate.mbps().max(widest * 1e-9)).collect()
}

/// Equal flows that have paths, with their first paths.
pub(super) fn groups(problem: &Problem, paths: &Paths, search: &mut Search) -> (Vec<Vec<usize>>, Vec<Vec<Path>>) {
    let mut equal: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (f, flow) in problem.flows.iter().enumerate() {
        equal.entry((flow.consumer, &flow.routes)).or_default().push(f);
    }
    let mut groups: Vec<Vec<usize>> = equal.into_values().collect();
    groups.sort_unstable();
    first_paths(problem, paths, search, &narrowness(problem), groups)
}

/// The first paths of groups, which spread over links that are not `narrow`, and the groups that have any.
fn first_paths(
    problem: &Problem,
    paths: &Paths,
    search: &mut Search,
    narrow: &[f64],
    groups: Vec<Vec<usize>>,
) -> (Vec<Vec<usize>>, Vec<Vec<Path>>) {
    let mut price = narrow.to_vec();
    let mut found = Vec::new();
    for members in groups {
        let known = match &problem.flows[members[0]].routes {
            AllowedLinks::Paths(list) => {
                let mut list = list.clone();
                list.sort_unstable();
                list.dedup();
                list
            }
            AllowedLinks::Any { .. } => {
                let costs = paths.costs(&price);
                let path = search.cheapest(problem, paths, members[0], &costs, f64::INFINITY);
                for (link, weight) in path.iter().flat_map(|path| paths.charges(path)) {
                    price[link] += LOAD_COST * weight * members.len() as f64 * narrow[link] * narrow[link];
                }
                path.into_iter().collect()
            }
        };
        if !known.is_empty() {
            found.push((members, known));
        }
    }
    found.into_iter().unzip()
}
