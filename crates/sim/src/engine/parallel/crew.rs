//! The threads of a run: each takes the next process that nobody works on, until all have come to the end of a window.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, Thread};

/// How often a thread looks for work before it sleeps: some 50 µs, about as long as it takes to wake up.
const LOOKS: u32 = 1500;

/// What the threads share. The work on one item must not depend on that on another of the same round.
pub(super) struct Crew<'a, T, F> {
    items: &'a [Mutex<T>],
    work: F,
    /// Counts the rounds.
    round: AtomicU64,
    /// The order in which items are taken, and how many were.
    order: Vec<AtomicUsize>,
    taken: AtomicUsize,
    /// How many are not done.
    left: AtomicUsize,
    dismissed: AtomicBool,
    failed: AtomicBool,
    leader: Thread,
}

/// Locks an item. One whose worker has panicked is not used again: [`Crew::round`] panics as well.
pub(super) fn lock<T>(item: &Mutex<T>) -> MutexGuard<'_, T> {
    item.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the leader if a worker ends by a panic.
struct Alarm<'a, 'b, T, F>(&'a Crew<'b, T, F>);

impl<T, F> Drop for Alarm<'_, '_, T, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Release);
            self.0.leader.unpark();
        }
    }
}

/// Dismisses the workers when the leader ends, however it does.
pub(super) struct Dismissal<'a, 'b, T, F>(&'a Crew<'b, T, F>, Vec<Thread>);

impl<T, F> Drop for Dismissal<'_, '_, T, F> {
    fn drop(&mut self) {
        self.0.dismissed.store(true, Ordering::Release);
        self.1.iter().for_each(Thread::unpark);
    }
}

impl<'a, T: Send, F: Fn(&mut T) + Sync> Crew<'a, T, F> {
    /// Of no workers yet; the calling thread leads.
    pub(super) fn new(items: &'a [Mutex<T>], work: F) -> Crew<'a, T, F> {
        Crew {
            items,
            work,
            round: AtomicU64::new(0),
            order: (0..items.len()).map(AtomicUsize::new).collect(),
            taken: AtomicUsize::new(items.len()),
            left: AtomicUsize::new(0),
            dismissed: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            leader: std::thread::current(),
        }
    }

    /// Hires workers in addition to the leader, until what is returned is dropped.
    pub(super) fn hire<'scope, 'env>(
        &'scope self,
        workers: usize,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Dismissal<'scope, 'a, T, F> {
        let threads = (0..workers).map(|_| scope.spawn(|| self.serve()).thread().clone()).collect();
        Dismissal(self, threads)
    }

    /// Works on items that nobody has taken.
    fn take(&self) {
        // The rest of a round or, if this thread was slow, the beginning of the next.
        while let Some(item) = self.order.get(self.taken.fetch_add(1, Ordering::AcqRel)) {
            (self.work)(&mut lock(&self.items[item.load(Ordering::Relaxed)]));
            if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.leader.unpark();
            }
        }
    }

    fn serve(&self) {
        let _alarm = Alarm(self);
        let mut seen = 0;
        loop {
            let is_due = || self.round.load(Ordering::Acquire) != seen || self.dismissed.load(Ordering::Acquire);
            wait_until(is_due);
            if self.dismissed.load(Ordering::Acquire) {
                return;
            }
            seen = self.round.load(Ordering::Acquire);
            self.take();
        }
    }

    /// Has every item worked on, in this order as far as threads are free; the leader does something else first.
    ///
    /// # Panics
    /// If a worker has.
    pub(super) fn round(
        &self,
        workers: &Dismissal<'_, '_, T, F>,
        order: impl Iterator<Item = usize>,
        first: impl FnOnce(),
    ) {
        self.order.iter().zip(order).for_each(|(place, item)| place.store(item, Ordering::Relaxed));
        self.left.store(self.items.len(), Ordering::Relaxed);
        self.taken.store(0, Ordering::Release);
        self.round.fetch_add(1, Ordering::AcqRel);
        workers.1.iter().for_each(Thread::unpark);
        first();
        self.take();
        wait_until(|| self.left.load(Ordering::Acquire) == 0 || self.failed.load(Ordering::Acquire));
        assert!(!self.failed.load(Ordering::Acquire), "a thread of the run has failed");
    }
}

/// Looks for a while, then sleeps until it is woken.
fn wait_until(done: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if done() {
            return;
        }
        std::hint::spin_loop();
    }
    while !done() {
        std::thread::park();
    }
}

/// What `of` gives for each number below `count`, found by so many threads.
pub(in crate::engine) fn map_on<T: Send>(threads: usize, count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let part = count.div_ceil(threads.max(1)).max(1);
    let from = |first: usize| (first..count.min(first + part)).map(&of).collect::<Vec<T>>();
    std::thread::scope(|scope| {
        let later: Vec<_> = (part..count).step_by(part).map(|first| scope.spawn(move || from(first))).collect();
        let mut all = from(0);
        for part in later {
            all.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_in_every_round() {
        let items: Vec<Mutex<u32>> = (0..7).map(Mutex::new).collect();
        for workers in [0, 1, 3] {
            let before: u32 = items.iter().map(|item| *lock(item)).sum();
            let crew = Crew::new(&items, |item: &mut u32| *item += 1);
            std::thread::scope(|scope| {
                let hired = crew.hire(workers, scope);
                for round in 0..2000 {
                    crew.round(&hired, (0..7).map(|item| (item + round) % 7), || ());
                }
            });
            assert_eq!(items.iter().map(|item| *lock(item)).sum::<u32>(), before + 7 * 2000);
        }
    }

    #[test]
    fn a_panic_of_a_worker_is_one_of_the_leader() {
        let items: Vec<Mutex<u32>> = (0..2).map(Mutex::new).collect();
        let leader = std::thread::current().id();
        let crew = Crew::new(&items, |_: &mut u32| assert_eq!(std::thread::current().id(), leader, "a worker"));
        let work = || {
            std::thread::scope(|scope| {
                let hired = crew.hire(1, scope);
                (0..1_000_000).for_each(|_| crew.round(&hired, 0..2, || ()));
            });
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    }

    #[test]
    fn what_several_threads_find_is_in_the_order_of_one() {
        for (threads, count) in [(1, 5), (2, 5), (3, 0), (4, 2), (0, 3), (7, 100)] {
            assert_eq!(map_on(threads, count, |n| n * n), (0..count).map(|n| n * n).collect::<Vec<_>>());
        }
    }
}
