//! Compares schedules: each source in turn is due and gets a new instant, as links do under load.

#[path = "../tests/schedule/dary.rs"]
mod dary;
#[path = "../tests/schedule/heap.rs"]
mod heap;

use dary::DaryHeap;
use heap::ReferenceHeap;
use ndnweir_core::ctx::Rng;
use ndnweir_core::units::{Duration, Time};
use ndnweir_sim::schedule::tournament::Tournament;
use ndnweir_sim::schedule::{Due, EventRank, Schedule};

const STEPS: u32 = 5_000_000;

fn measure<S: Schedule>(sources: u32) -> f64 {
    let mut rng = Rng::derive(1, &[]);
    let mut schedule = S::new(sources as usize);
    let mut gap = || Duration::from_nanos(1 + rng.below(20_000_000));
    (0..sources).for_each(|source| schedule.set(source, Due::new(Time::ZERO + gap(), EventRank::CHANGE)));
    #[expect(clippy::disallowed_methods, reason = "measures from outside")]
    let start = std::time::Instant::now();
    for _ in 0..STEPS {
        let (due, source) = schedule.next();
        schedule.set(source, Due::new(due.at() + gap(), EventRank::CHANGE));
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(STEPS)
}

fn main() {
    println!("sources  tournament  4-ary heap  binary heap   ns per event");
    for sources in [20, 500, 10_000, 200_000] {
        let [a, b, c] =
            [measure::<Tournament>(sources), measure::<DaryHeap>(sources), measure::<ReferenceHeap>(sources)];
        println!("{sources:7} {a:11.1} {b:11.1} {c:12.1}");
    }
}
