//! An indexed 4-ary heap: a heap with the position of each source, which can be moved.

use ndnweir_sim::schedule::{Due, Schedule};

const ARITY: usize = 4;

/// The heap.
#[derive(Clone, Debug)]
pub struct DaryHeap {
    /// Keys in heap order.
    heap: Vec<(Due, u32)>,
    /// Where each source stands in `heap`.
    place: Vec<u32>,
}

impl DaryHeap {
    fn put(&mut self, i: usize, key: (Due, u32)) {
        self.heap[i] = key;
        self.place[key.1 as usize] = i as u32;
    }

    fn up(&mut self, mut i: usize, key: (Due, u32)) {
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.heap[parent] <= key {
                break;
            }
            self.put(i, self.heap[parent]);
            i = parent;
        }
        self.put(i, key);
    }

    fn down(&mut self, mut i: usize, key: (Due, u32)) {
        loop {
            let first = ARITY * i + 1;
            let last = (first + ARITY).min(self.heap.len());
            let Some(least) = (first..last).min_by_key(|&child| self.heap[child]) else { break };
            if self.heap[least] >= key {
                break;
            }
            self.put(i, self.heap[least]);
            i = least;
        }
        self.put(i, key);
    }
}

impl Schedule for DaryHeap {
    fn new(sources: usize) -> DaryHeap {
        let sources = sources as u32;
        DaryHeap { heap: (0..sources).map(|s| (Due::NEVER, s)).collect(), place: (0..sources).collect() }
    }

    #[inline]
    fn set(&mut self, source: u32, at: Due) {
        let i = self.place[source as usize] as usize;
        let key = (at, source);
        if key < self.heap[i] {
            self.up(i, key);
        } else {
            self.down(i, key);
        }
    }

    fn get(&self, source: u32) -> Due {
        self.heap[self.place[source as usize] as usize].0
    }

    fn next(&self) -> (Due, u32) {
        self.heap.first().copied().unwrap_or((Due::NEVER, 0))
    }
}
