//! An order as commands: the protocol sets one next hop's cost at a time.

use std::collections::BTreeMap;

/// The face of the lowest cost, of equals the first.
fn best(costs: &BTreeMap<u64, u32>) -> Option<u64> {
    costs.iter().min_by_key(|(_, cost)| **cost).map(|(face, _)| *face)
}

/// The costs to set, one after the other, so that in between the best next hop is the one before or the one after, and
/// no third: no order is given for which either of these could form a loop. The faces of both are the same.
pub(super) fn steps(now: &BTreeMap<u64, u32>, then: &BTreeMap<u64, u32>) -> Vec<(u64, u32)> {
    let Some(next) = best(then) else { return Vec::new() };
    let below_all = now.iter().all(|(face, cost)| *face == next || then[&next] < *cost);
    // Until the others have theirs it is the cheapest, whatever its own will be.
    let first = if below_all { then[&next] } else { 0 };
    let mut steps = vec![(next, first)];
    steps.extend(then.iter().filter(|(face, _)| **face != next).map(|(face, cost)| (*face, *cost)));
    if first != then[&next] {
        steps.push((next, then[&next]));
    }
    // What changes nothing needs no command.
    let mut at = now.clone();
    steps.retain(|(face, cost)| at.insert(*face, *cost) != Some(*cost));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_way_ahead_is_made_better_before_the_present_one_is_made_worse() {
        let now = BTreeMap::from([(1, 10_000), (2, 20_000), (3, 30_000)]);
        let then = BTreeMap::from([(1, 27_000), (2, 5_000), (3, 30_000)]);
        assert_eq!(steps(&now, &then), [(2, 5_000), (1, 27_000)]);
        // A way whose cost rises beyond another's stays the best until that has its own.
        let then = BTreeMap::from([(1, 25_000), (2, 26_000), (3, 27_000)]);
        assert_eq!(steps(&now, &then), [(1, 0), (2, 26_000), (3, 27_000), (1, 25_000)]);
        assert_eq!(steps(&now, &now), []);
    }

    proptest! {
        #[test]
        fn no_third_way_is_taken_in_between(
            hops in proptest::collection::btree_map(0_u64..8, (0_u32..9, 0_u32..9), 1..6),
        ) {
            let mut at: BTreeMap<u64, u32> = hops.iter().map(|(face, costs)| (*face, costs.0)).collect();
            let mut then: BTreeMap<u64, u32> = hops.iter().map(|(face, costs)| (*face, costs.1)).collect();
            // A planner's best way is strictly the best.
            let next = best(&then).unwrap();
            for (face, cost) in &mut then {
                *cost += u32::from(*face != next);
            }
            let cheapest = |at: &BTreeMap<u64, u32>| -> Vec<u64> {
                at.keys().copied().filter(|face| at.values().all(|cost| at[face] <= *cost)).collect()
            };
            let before = cheapest(&at);
            for (face, cost) in steps(&at, &then) {
                at.insert(face, cost);
                prop_assert!(cheapest(&at).iter().all(|face| *face == next || before.contains(face)));
            }
            prop_assert_eq!(at, then);
        }
    }
}
