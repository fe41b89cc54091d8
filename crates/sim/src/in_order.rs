//! Packets in the order in which links begin to send them: a tap hears of them when they join a queue.

use ndnweir_core::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Holds items back until no earlier one can come; of those at one time, the first pushed comes first.
#[derive(Debug)]
pub struct InOrder<T> {
    waiting: BinaryHeap<Reverse<Item<T>>>,
    pushed: u64,
}

#[derive(Debug)]
struct Item<T> {
    at: Time,
    number: u64,
    item: T,
}

impl<T> Default for InOrder<T> {
    fn default() -> InOrder<T> {
        InOrder { waiting: BinaryHeap::new(), pushed: 0 }
    }
}

impl<T> InOrder<T> {
    /// Adds an item.
    pub fn push(&mut self, at: Time, item: T) {
        self.pushed += 1;
        self.waiting.push(Reverse(Item { at, number: self.pushed, item }));
    }

    /// Removes the first item, if it is before `now`.
    pub fn pop_before(&mut self, now: Time) -> Option<(Time, T)> {
        self.waiting.peek().filter(|Reverse(first)| first.at < now)?;
        self.waiting.pop().map(|Reverse(first)| (first.at, first.item))
    }
}

impl<T> PartialEq for Item<T> {
    fn eq(&self, other: &Item<T>) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}
impl<T> Eq for Item<T> {}
impl<T> PartialOrd for Item<T> {
    fn partial_cmp(&self, other: &Item<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Item<T> {
    fn cmp(&self, other: &Item<T>) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
