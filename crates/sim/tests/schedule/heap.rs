//! The plain binary heap the others are tested against.

use ndnweir_core::units::Time;
use ndnweir_sim::schedule::Schedule;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A heap of (instant, source) in which overtaken entries stay until they surface.
#[derive(Clone, Debug)]
pub struct ReferenceHeap {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    at: Vec<Time>,
}

impl Schedule for ReferenceHeap {
    fn new(sources: usize) -> ReferenceHeap {
        ReferenceHeap { heap: BinaryHeap::new(), at: vec![Time::NEVER; sources] }
    }

    fn set(&mut self, source: u32, at: Time) {
        self.at[source as usize] = at;
        if at < Time::NEVER {
            self.heap.push(Reverse((at, source)));
        }
        while let Some(&Reverse((at, source))) = self.heap.peek()
            && self.at[source as usize] != at
        {
            self.heap.pop();
        }
    }

    fn get(&self, source: u32) -> Time {
        self.at[source as usize]
    }

    fn next(&self) -> (Time, u32) {
        self.heap.peek().map_or((Time::NEVER, 0), |&Reverse(next)| next)
    }
}
