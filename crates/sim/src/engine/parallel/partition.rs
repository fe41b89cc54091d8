//! Which nodes form a process: those between short links stay together, and neighbours where it can be.

use ndnweir_core::units::Duration;
use std::collections::{BTreeSet, VecDeque};

/// A link, in both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joint {
    pub(super) ends: [u32; 2],
    /// How long a packet takes at least, either way; none if the nodes must stay together.
    pub(super) delay: Option<Duration>,
}

/// How many delays are tried as the shortest of links between processes.
const TRIES: usize = 24;
/// What the heaviest piece may have of a thread's share of the work: it is worked on by one thread, and finds its nodes in
/// the caches if they are few.
const HEAVIEST: f64 = 0.6;
/// What it may have, if that is more, of the piece that is the heaviest where all links are cut.
const MORE: f64 = 1.2;
/// By how much more work there must be than in the heaviest piece.
const WORTH: f64 = 1.5;

/// By node: its piece, so that nodes joined by links shorter than `shortest` are in one.
fn pieces(nodes: usize, joints: &[Joint], shortest: Duration) -> Vec<u32> {
    let mut above: Vec<u32> = (0..nodes as u32).collect();
    fn top(above: &mut [u32], mut node: u32) -> u32 {
        while above[node as usize] != node {
            above[node as usize] = above[above[node as usize] as usize];
            node = above[node as usize];
        }
        node
    }
    for joint in joints.iter().filter(|joint| joint.delay.is_none_or(|delay| delay < shortest)) {
        let [a, b] = joint.ends.map(|end| top(&mut above, end));
        above[a.max(b) as usize] = a.min(b);
    }
    (0..nodes as u32).map(|node| top(&mut above, node)).collect()
}

/// By node: the number of its process, below `processes`; none if there cannot be two between which packets take time,
/// or if, unless `forced`, one piece has most of the work. `work` is by node.
///
/// Links between processes are as long as they can be. The pieces that are left are put into a row, breadth first from
/// one end of the network, and the row is cut into parts of equal work, or into single pieces if these are few: few links
/// lead from one to another.
pub(super) fn partition(
    joints: &[Joint],
    work: &[u64],
    threads: usize,
    processes: usize,
    forced: bool,
) -> Option<Vec<u16>> {
    let nodes = work.len();
    let delays: BTreeSet<Duration> = joints.iter().filter_map(|joint| joint.delay).collect();
    let delays: Vec<Duration> = delays.into_iter().rev().filter(|&delay| delay > Duration::ZERO).collect();
    let total: u64 = work.iter().sum::<u64>().max(1);
    let heaviest = |pieces: &[u32]| {
        let mut sums = vec![0; nodes];
        pieces.iter().zip(work).for_each(|(&piece, work)| sums[piece as usize] += work);
        sums.into_iter().max().unwrap_or_default() as f64
    };
    let smallest = heaviest(&pieces(nodes, joints, *delays.last()?));
    // Each node can have a process: one that has had all the work so far may not have it from now on.
    if !forced && processes < nodes && smallest * WORTH > total as f64 {
        return None;
    }
    let enough = (smallest * MORE).max(total as f64 / threads as f64 * HEAVIEST);
    let mut tried = delays.iter().step_by(delays.len().div_ceil(TRIES).max(1)).chain(delays.last());
    let pieces = tried.find_map(|&shortest| {
        let pieces = pieces(nodes, joints, shortest);
        let is_apart = pieces.iter().any(|&piece| piece != pieces[0]);
        (is_apart && (forced || heaviest(&pieces) <= enough)).then_some(pieces)
    })?;
    let row = row(&pieces, joints);
    let mut before = 0;
    let mut process = vec![0; nodes];
    let mut members = vec![Vec::new(); nodes];
    (0..nodes).for_each(|node| members[pieces[node] as usize].push(node));
    // Few pieces have a process each: also those that nothing has come to yet.
    let is_alone = row.len() <= processes;
    for (number, piece) in row.into_iter().enumerate() {
        let weight: u64 = members[piece as usize].iter().map(|&node| work[node]).sum();
        let share = (before + weight / 2) as f64 / total as f64 * processes as f64;
        let place = if is_alone { number } else { (share as usize).min(processes - 1) };
        members[piece as usize].iter().for_each(|&node| process[node] = place as u16);
        before += weight;
    }
    Some(process)
}

/// All pieces, breadth first from one that is far from the first.
fn row(pieces: &[u32], joints: &[Joint]) -> Vec<u32> {
    let mut beside = vec![Vec::new(); pieces.len()];
    for joint in joints {
        let [a, b] = joint.ends.map(|end| pieces[end as usize]);
        if a != b {
            beside[a as usize].push(b);
            beside[b as usize].push(a);
        }
    }
    let walk = |first: u32| {
        let mut row = Vec::new();
        let mut seen = vec![false; pieces.len()];
        for start in std::iter::once(first).chain(pieces.iter().copied()) {
            let mut next = VecDeque::from([start]);
            while let Some(piece) = next.pop_front() {
                if !std::mem::replace(&mut seen[piece as usize], true) {
                    row.push(piece);
                    next.extend(&beside[piece as usize]);
                }
            }
        }
        row
    };
    // The last in the component of the first: components that follow do not matter.
    let Some(&first) = pieces.first() else { return Vec::new() };
    walk(walk(first).last().copied().unwrap_or(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    fn chain(delays: &[Option<Duration>]) -> Vec<Joint> {
        (0..).zip(delays).map(|(node, &delay)| Joint { ends: [node, node + 1], delay }).collect()
    }

    #[test]
    fn a_chain_is_cut_where_its_links_are_longest_and_its_work_is_halved() {
        let joints = chain(&[ms(1), ms(9), ms(1), ms(9), ms(1), ms(9), ms(1)]);
        let process = partition(&joints, &[1; 8], 2, 2, false).unwrap();
        assert!(process == [0, 0, 0, 0, 1, 1, 1, 1] || process == [1, 1, 1, 1, 0, 0, 0, 0], "{process:?}");
    }

    #[test]
    fn few_pieces_have_a_process_each_wherever_the_work_is() {
        let mut process = partition(&chain(&[ms(1); 4]), &[1000, 500, 1, 1, 1], 2, 8, true).unwrap();
        process.sort_unstable();
        assert_eq!(process, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_must_stay_together_does_and_a_shorter_link_is_cut_if_work_is_uneven_otherwise() {
        let joints = chain(&[ms(9), None, ms(4), None]);
        let process = partition(&joints, &[1, 5, 5, 5, 5], 2, 2, false).unwrap();
        assert_eq!((process[1], process[3]), (process[2], process[4]));
        assert_ne!(process[2], process[3]);
    }

    #[test]
    fn nothing_is_parted_without_time_between_or_where_one_node_has_all_the_work() {
        let zero = Some(Duration::ZERO);
        assert_eq!(partition(&chain(&[zero, zero]), &[1; 3], 2, 2, true), None);
        assert_eq!(partition(&chain(&[None, None]), &[1; 3], 2, 2, true), None);
        assert_eq!(partition(&chain(&[ms(1), ms(1)]), &[1, 100, 1], 2, 2, false), None);
        assert!(partition(&chain(&[ms(1), ms(1)]), &[1, 100, 1], 2, 2, true).is_some());
        assert_eq!(partition(&[], &[], 2, 2, true), None);
    }
}
