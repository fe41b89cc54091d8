//! A tournament tree: every match keeps its winner, and one changed source replays log₂(sources) matches.

use super::Schedule;
use ndnweir_core::units::Time;

/// A winner: the earliest instant below a match and the source it belongs to.
#[derive(Clone, Copy, Debug)]
struct Winner {
    at: Time,
    source: u32,
}

/// A complete binary tree over the sources, root at 1.
#[derive(Clone, Debug)]
pub struct Tournament {
    tree: Vec<Winner>,
    leaves: usize,
}

impl Schedule for Tournament {
    fn new(sources: usize) -> Tournament {
        let leaves = sources.next_power_of_two().max(2);
        let mut tree = vec![Winner { at: Time::NEVER, source: 0 }; 2 * leaves];
        for source in 0..leaves {
            tree[leaves + source].source = source as u32;
        }
        Tournament { tree, leaves }
    }

    #[inline]
    fn set(&mut self, source: u32, at: Time) {
        let mut i = self.leaves + source as usize;
        self.tree[i].at = at;
        while i > 1 {
            let (left, right) = (self.tree[i & !1], self.tree[i | 1]);
            // On a tie the left one wins, which has the lower number.
            let winner = if right.at < left.at { right } else { left };
            i >>= 1;
            let old = self.tree[i];
            if old.at == winner.at && old.source == winner.source {
                break;
            }
            self.tree[i] = winner;
        }
    }

    fn get(&self, source: u32) -> Time {
        self.tree[self.leaves + source as usize].at
    }

    fn next(&self) -> (Time, u32) {
        (self.tree[1].at, self.tree[1].source)
    }
}
