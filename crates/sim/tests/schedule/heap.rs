//! The plain binary heap the others are tested against.

use ndnweir_sim::schedule::{Due, Schedule};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A heap of (instant, source) in which overtaken entries stay until they surface.
#[derive(Clone, Debug)]
pub struct ReferenceHeap {
    heap: BinaryHeap<Reverse<(Due, u32)>>,
    at: Vec<Due>,
}

impl Schedule for ReferenceHeap {
    fn new(sources: usize) -> ReferenceHeap {
        ReferenceHeap { heap: BinaryHeap::new(), at: vec![Due::NEVER; sources] }
    }

    fn set(&mut self, source: u32, at: Due) {
        self.at[source as usize] = at;
        if at < Due::NEVER {
            self.heap.push(Reverse((at, source)));
        }
        while let Some(&Reverse((at, source))) = self.heap.peek()
            && self.at[source as usize] != at
        {
            self.heap.pop();
        }
    }

    fn get(&self, source: u32) -> Due {
        self.at[source as usize]
    }

    fn next(&self) -> (Due, u32) {
        self.heap.peek().map_or((Due::NEVER, 0), |&Reverse(next)| next)
    }
}
