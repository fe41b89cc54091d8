//! BBR version 3 beside its second model.

use crate::bbr3_model::{Bbr3Model, State};
use crate::path::{Behaviour, Path, Step};
use crate::{MS, near, never_loses, never_marks, uneven};
use ndnweir_core::consumer::Consumer;
use serde_json::json;
use std::collections::BTreeMap;

/// Drives both along a path; which states they met and what else the model reached.
fn drive(behaviour: Behaviour, seconds: u64) -> (Vec<State>, Vec<&'static str>) {
    let mut path = Path::new("bbr", &json!({}), behaviour);
    let mut chance = path.chance();
    let mut draw = || (chance.below(2), chance.unit());
    let mut model = Bbr3Model::new(path.now as f64, 10.0);
    let (mut sent, mut states) = (BTreeMap::new(), Vec::new());
    while path.now < seconds * 1000 * MS {
        let next = path.flight.next_segment;
        match path.step() {
            Step::Sent { segment, in_flight_before } => {
                sent.insert(segment, model.send(path.now as f64, in_flight_before));
                continue;
            }
            Step::Data { segment, mark, .. } => {
                let packet = (segment, sent.remove(&segment).unwrap());
                let fetch = (path.flight.srtt.nanos() as f64, f64::from(path.flight.in_flight));
                model.on_ack(path.now as f64, mark.then_some(next), packet, fetch, &mut draw);
            }
            Step::Lost { segment } => {
                let packet = (segment, sent.remove(&segment).unwrap());
                model.on_loss(path.now as f64, packet, next, &mut draw);
            }
        }
        if !states.contains(&model.state) {
            states.push(model.state);
        }
        let (window, state, now) = (path.consumer.window(), model.state, path.now);
        assert!(near(window, model.cwnd, 1e-6), "{state:?} at {now} ns: {window} instead of {}", model.cwnd);
        let pace = 1.0 / path.consumer.pacing(&path.flight).unwrap().nanos() as f64;
        assert!(near(pace, model.pace, 1e-3), "{state:?} at {now} ns: pace {pace} instead of {}", model.pace);
    }
    (states, model.reached)
}

#[test]
fn bbr_agrees_with_the_draft_through_all_its_states_on_short_and_long_paths() {
    let longer = |now: u64| if now < 15_000 * MS { 40 * MS } else { 55 * MS };
    let bases: [fn(u64) -> u64; 3] = [|_| 60 * MS, |_| 8 * MS, longer];
    for base in bases {
        let service = |now| uneven(MS, now);
        let (states, _) = drive(Behaviour { base, service, marks: never_marks, loses: never_loses }, 35);
        assert_eq!(states.len(), 7);
    }
}

#[test]
fn bbr_agrees_with_the_draft_when_the_rate_of_the_path_changes() {
    let service = |now: u64| uneven(if (now / (4000 * MS)).is_multiple_of(2) { MS } else { 3 * MS }, now);
    drive(Behaviour { base: |_| 30 * MS, service, marks: never_marks, loses: never_loses }, 25);
}

#[test]
fn bbr_agrees_with_the_draft_over_losses() {
    // One in 200, below the threshold; from time to time a tenth; a tenth from the start.
    let loses: [fn(u64) -> bool; 3] =
        [|n| n % 200 == 199, |n| n % 4001 > 3600 && n % 10 == 0, |n| n < 1000 && n % 9 == 8];
    let mut reached = Vec::new();
    for loses in loses {
        let service = |now| uneven(MS, now);
        reached.extend(drive(Behaviour { base: |_| 40 * MS, service, marks: never_marks, loses }, 30).1);
    }
    for case in [
        "short bounds",
        "too high in Up",
        "too high otherwise",
        "high loss in Startup",
        "precautionary",
        "again after caution",
        "long volume grows",
    ] {
        assert!(reached.contains(&case), "{case} in {reached:?}");
    }
}

#[test]
fn bbr_agrees_with_the_draft_where_marks_count_as_losses() {
    let service = |now| uneven(MS, now);
    let marks = |_: u64, waited: u64| waited > 15 * MS;
    let (_, reached) = drive(Behaviour { base: |_| 40 * MS, service, marks, loses: never_loses }, 25);
    assert!(reached.contains(&"too high in Up") && reached.contains(&"short bounds"), "{reached:?}");
}

/// 1,000 segments per second and ten times as many, in turn for 10 s.
fn in_turn(now: u64, fast_first: bool) -> u64 {
    let fast = (now < 10_000 * MS) == fast_first;
    now / 997 % 1009 + if fast { MS / 10 } else { MS }
}

/// The pace in segments per second after so long, where marks take the place of losses from a queue of 100 ms.
fn pace_after(service: fn(u64) -> u64, marks: bool, seconds: u64) -> f64 {
    let marks = if marks { |_, waited| waited > 100 * MS } else { never_marks };
    let mut path = Path::new("bbr", &json!({}), Behaviour { base: |_| 40 * MS, service, marks, loses: never_loses });
    while path.now < seconds * 1000 * MS {
        path.step();
    }
    1e9 / path.consumer.pacing(&path.flight).unwrap().nanos() as f64
}

// Two test cases of the draft's appendix. The pace is between that of Down, 0.9, and of Up, 1.25, times the rate.
#[test]
fn bbr_finds_ten_times_the_rate_in_one_probe_and_a_tenth_of_it_in_two_cycles_with_losses() {
    let pace = pace_after(|now| in_turn(now, false), true, 14);
    assert!((8_500.0..13_000.0).contains(&pace), "{pace}");
    let pace = pace_after(|now| in_turn(now, true), true, 20);
    assert!((850.0..1_300.0).contains(&pace), "{pace}");
}

// A round trip takes 0.8 s then. ProbeRTT interrupts each Up before its third round trip, so that no cycle ends, and
// only the end of a cycle forgets a rate.
#[test]
fn bbr_never_finds_a_tenth_of_the_rate_where_nothing_is_lost_by_the_law_of_the_draft() {
    let service = |now| in_turn(now, true);
    drive(Behaviour { base: |_| 40 * MS, service, marks: never_marks, loses: never_loses }, 40);
    let pace = pace_after(service, false, 40);
    assert!(pace > 8_500.0, "{pace}");
}
