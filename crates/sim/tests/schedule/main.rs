//! All schedules are due in the same order.

mod dary;
mod heap;

use dary::DaryHeap;
use heap::ReferenceHeap;
use ndnweir_core::units::Time;
use ndnweir_sim::schedule::tournament::Tournament;
use ndnweir_sim::schedule::{Due, EventRank, Schedule};
use proptest::prelude::*;

/// Sixteen instants with four turns each; the last is never.
fn due(n: u64) -> Due {
    if n == 63 { Due::NEVER } else { Due::new(Time::from_nanos(n / 4), EventRank::arrival(n as u32 % 4)) }
}

fn agree<A: Schedule, B: Schedule>(sources: usize, steps: &[(u32, u64)]) {
    let (mut a, mut b) = (A::new(sources), B::new(sources));
    assert_eq!(a.next().0, Due::NEVER);
    for &(source, at) in steps {
        let source = source % sources as u32;
        let at = due(at);
        a.set(source, at);
        b.set(source, at);
        assert_eq!(a.get(source), at);
        assert_eq!(a.next().0, b.next().0);
        if a.next().0 < Due::NEVER {
            assert_eq!(a.next(), b.next());
        }
    }
}

proptest! {
    #[test]
    fn all_schedules_name_the_same_source_after_any_sequence_of_changes(
        sources in 1usize..70,
        steps in prop::collection::vec((0u32..70, 0u64..64), 0..300),
    ) {
        agree::<Tournament, ReferenceHeap>(sources, &steps);
        agree::<DaryHeap, ReferenceHeap>(sources, &steps);
    }

    #[test]
    fn to_postpone_the_earliest_is_to_set_its_source(
        sources in 1usize..70,
        steps in prop::collection::vec((0u32..70, 0u64..64, 0u64..64), 0..300),
    ) {
        let (mut a, mut b) = (Tournament::new(sources), ReferenceHeap::new(sources));
        for (source, at, later) in steps {
            let source = source % sources as u32;
            a.set(source, due(at));
            b.set(source, due(at));
            let earliest = b.next().1;
            let to = due(later);
            a.postpone(to);
            b.set(earliest, to);
            prop_assert_eq!(a.next().0, b.next().0);
            prop_assert!(a.next().0 == Due::NEVER || a.next() == b.next());
        }
    }
}
