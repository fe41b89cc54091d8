//! Nodes by what they cost, for searches in which no cost is less than the one that was taken last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No entry.
const NONE: u32 = u32::MAX;
/// Into how many parts of equal length the costs below the limit are divided.
const PARTS: usize = 256;

/// The cheapest node first, of equal ones the one with the smallest number. Only those of the part at hand are in a heap.
#[derive(Default)]
pub(super) struct Queue {
    /// Costs, and in the lowest bits nodes: one comparison for both.
    heap: BinaryHeap<Reverse<u128>>,
    /// The part of which all are in the heap.
    part: usize,
    /// Parts by unit of cost; zero if nothing is known of costs.
    scale: f64,
    /// What the node costs that was taken last, in the last search if there is none yet.
    cost: f64,
    /// By part: the last entry that was added.
    last: Vec<u32>,
    /// Entries, each with the one that was added to its part before.
    entries: Vec<(u128, u32)>,
}

impl Queue {
    /// Begins a search below this limit; without one, as far as the last search is a guess.
    pub(super) fn start(&mut self, limit: f64) {
        self.heap.clear();
        self.entries.clear();
        self.last.clear();
        self.last.resize(PARTS, NONE);
        self.part = 0;
        let scale = PARTS as f64 / if limit.is_finite() { limit } else { self.cost };
        self.scale = if scale.is_finite() { scale } else { 0.0 };
    }

    /// Adds a node at a cost, which is neither negative nor less than that of the node that was taken last.
    #[inline]
    pub(super) fn push(&mut self, cost: f64, node: usize) {
        let entry = u128::from(cost.to_bits()) << 32 | node as u128;
        // A product grows with its factor, so that what costs less is in no later part.
        let part = ((cost * self.scale) as usize).min(PARTS - 1);
        if part <= self.part {
            self.heap.push(Reverse(entry));
        } else {
            self.entries.push((entry, self.last[part]));
            self.last[part] = self.entries.len() as u32 - 1;
        }
    }

    /// Takes the cheapest.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(f64, usize)> {
        while self.heap.is_empty() {
            self.part = (self.part + 1..PARTS).find(|part| self.last[*part] != NONE)?;
            let mut at = self.last[self.part];
            while let Some(&(entry, before)) = self.entries.get(at as usize) {
                self.heap.push(Reverse(entry));
                at = before;
            }
        }
        let Reverse(entry) = self.heap.pop()?;
        self.cost = f64::from_bits((entry >> 32) as u64);
        Some((self.cost, entry as u32 as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimum::draws::Draws;

    #[test]
    fn nodes_are_taken_in_the_order_of_a_heap() {
        let mut draws = Draws(7);
        let mut queue = Queue::default();
        for limit in [f64::INFINITY, 1.0, 0.3, f64::INFINITY, 0.0] {
            let mut heap = BinaryHeap::new();
            queue.start(limit);
            let mut last = 0.0;
            for node in 0..2000 {
                for step in [0.0, 0.01 * draws.unit()] {
                    queue.push(last + step, node);
                    heap.push(Reverse(((last + step).to_bits(), node)));
                }
                let Reverse((cost, node)) = heap.pop().unwrap();
                last = f64::from_bits(cost);
                assert_eq!(queue.pop(), Some((last, node)));
            }
            while let Some(Reverse((cost, node))) = heap.pop() {
                assert_eq!(queue.pop(), Some((f64::from_bits(cost), node)));
            }
            assert_eq!(queue.pop(), None);
        }
    }
}
