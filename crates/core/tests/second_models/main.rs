//! Second models of components, written from their sources by somebody else than the components' author and before the
//! components were read, and compared with them step by step: consumers on a path with one queue (`path`) or on
//! scripted paths (`fetch`), markers on a link (`egress`), shapers on a face (`face`), other
//! components of a router with what their hooks are given (`bench`).

mod bbr3;
mod bbr3_model;
mod bbr_model;
mod bench;
mod cctcp;
mod chopcop;
mod copa_model;
mod coupled_model;
mod dpccp_model;
mod dualpi2;
mod e2e_aqm_model;
mod ecp;
mod egress;
mod face;
mod fetch;
mod ictp;
mod labels;
mod mircc_model;
mod mpcc;
mod mpcc_model;
mod packet_pair_paths;
mod packet_pair_paths_model;
mod path;
mod prague_model;
mod ptp;
mod qsccp_model;
mod rate_consumers;
mod rcp_model;
mod red;
mod trains;
mod vivace;

use bbr_model::{BbrModel, SentPacket};
use copa_model::CopaModel;
use ndnweir_core::consumer::Consumer;
use path::{Behaviour, Path, SIZE, Step};
use prague_model::PragueModel;
use serde_json::json;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// A transmission that is never twice the same: what falls on one instant by rounding alone shows nothing.
fn uneven(ns: u64, now: u64) -> u64 {
    ns + now / 997 % 1009 * 37
}

fn never_marks(_: u64, _: u64) -> bool {
    false
}

fn never_loses(_: u64) -> bool {
    false
}

/// Drives Copa and its model along a path; the largest number of segments it had in its window.
fn copa(behaviour: Behaviour, competitive: bool, steady: u32, seconds: u64) -> (f64, f64) {
    let mut path = Path::new("copa", &json!({ "competitive": competitive, "steady": steady }), behaviour);
    let mut model = CopaModel::new(0.5);
    (model.competitive, model.steady) = (competitive, steady);
    let (mut highest, mut lowest_delta) = (0.0_f64, 1.0_f64);
    while path.now < seconds * 1000 * MS {
        let now = |path: &Path| path.now as f64;
        match path.step() {
            Step::Sent { .. } => continue,
            Step::Data { rtt, .. } => model.on_ack(now(&path), rtt as f64),
            Step::Lost { .. } => model.on_loss(now(&path)),
        }
        let window = path.consumer.window();
        assert!(near(window, model.window, 1e-9), "at {} ns: {window} instead of {}", now(&path), model.window);
        highest = highest.max(window);
        lowest_delta = lowest_delta.min(model.delta);
        let gap = path.consumer.pacing(&path.flight).unwrap().nanos() as f64;
        assert!(model.gap == 0.0 || near(gap, model.gap, 1e-4), "gap {gap} instead of {}", model.gap);
    }
    (highest, lowest_delta)
}

// 4 ms per Data and 40 ms: about ten segments fill the path, and times looked back over are longer than 64 arrivals in
// no window but that of the least round trip.
#[test]
fn copa_agrees_with_its_authors_code_alone_on_a_path_that_changes_its_rate() {
    let service = |now: u64| uneven(if (now / (2000 * MS)).is_multiple_of(2) { 4 * MS } else { 7 * MS }, now);
    let path = || Behaviour { base: |_| 40 * MS, service, marks: never_marks, loses: never_loses };
    let (highest, _) = copa(path(), false, 1, 9);
    assert!(highest > 12.0, "{highest}");
    copa(path(), true, 1, 9);
    copa(path(), false, 3, 9);
}

#[test]
fn copa_agrees_when_a_queue_of_others_makes_it_compete_and_when_segments_are_lost() {
    // Others fill the queue with 80 ms from 1 s to 4 s; then a third and more is lost for a second.
    let base = |now: u64| if (1000 * MS..4000 * MS).contains(&now) { 120 * MS } else { 40 * MS };
    let path = Behaviour { base, service: |now| uneven(8 * MS, now), marks: never_marks, loses: |n| n % 50 == 49 };
    let (_, delta) = copa(path, true, 1, 9);
    assert!(delta < 0.2, "it competed: {delta}");
    let path = Behaviour {
        base,
        service: |now| uneven(8 * MS, now),
        marks: never_marks,
        loses: |n| n % 600 > 500 && n % 2 == 0,
    };
    copa(path, true, 1, 9);
}

/// Drives Prague and its model; how many cuts there were.
fn prague(behaviour: Behaviour, seconds: u64) -> u64 {
    let mut path = Path::new("prague", &json!({ "initial-alpha": 0.0, "floor": 2.0 }), behaviour);
    let mut model: Option<PragueModel> = None;
    while path.now < seconds * 1000 * MS {
        let at = |path: &Path| path.now as f64 / 1e3;
        let sent = path.flight.next_segment as i64;
        match path.step() {
            Step::Sent { .. } => continue,
            Step::Data { rtt, mark, .. } => {
                // The first Data is marked, which ends the component's slow start; the authors' code has none.
                let first = || PragueModel::in_avoidance(SIZE as f64, 10.0, 0.0);
                model.get_or_insert_with(first).on_packet(at(&path), Some(rtt as f64 / 1e3), mark, sent);
            }
            Step::Lost { .. } => {
                if let Some(model) = &mut model {
                    model.on_packet(at(&path), None, false, sent);
                }
            }
        }
        let Some(model) = &model else { continue };
        let (window, expected) = (path.consumer.window(), (model.window / SIZE as f64).max(2.0));
        assert!(near(window, expected, 1e-4), "at {} ms: {window} instead of {expected}", at(&path) / 1e3);
    }
    path.consumer.decreases()
}

#[test]
fn prague_agrees_with_udp_prague_over_marks_from_a_millisecond_of_queue() {
    // 10, 30 and 60 ms, on both sides of the reference round trip; a Data takes 0.5 ms: 20 Mbit/s.
    let bases: [fn(u64) -> u64; 3] = [|_| 10 * MS, |_| 30 * MS, |_| 60 * MS];
    for base in bases {
        let marks = |n: u64, waited: u64| n == 0 || waited > MS;
        let cuts = prague(Behaviour { base, service: |now| uneven(MS / 2, now), marks, loses: never_loses }, 20);
        assert!(cuts > 20, "{cuts}");
    }
}

#[test]
fn prague_agrees_with_udp_prague_over_losses_and_long_times_without_marks() {
    let base = |now: u64| if (now / (5000 * MS)).is_multiple_of(2) { 20 * MS } else { 50 * MS };
    let loses = |n: u64| n % 3001 == 3000 || n % 7001 == 7000;
    let marks = |n: u64, waited: u64| n == 0 || waited > 4 * MS;
    let cuts = prague(Behaviour { base, service: |now| uneven(MS / 4, now), marks, loses }, 30);
    assert!(cuts > 10, "{cuts}");
}

/// Drives BBR and its model; how many of the states of the model were seen.
fn bbr(behaviour: Behaviour, seconds: u64) -> usize {
    let mut path = Path::new("bbr-v1", &json!({}), behaviour);
    let mut chance = path.chance();
    let mut draw = || chance.below(7) as usize;
    let mut model = BbrModel::new(path.now as f64, 10.0, SIZE as f64);
    let mut sent: BTreeMap<u64, SentPacket> = BTreeMap::new();
    let mut states = Vec::new();
    while path.now < seconds * 1000 * MS {
        let at = |path: &Path| path.now as f64;
        match path.step() {
            Step::Sent { segment, in_flight_before } => {
                sent.insert(segment, model.send(at(&path), in_flight_before));
                continue;
            }
            Step::Data { segment, rtt, .. } => {
                let packet = sent.remove(&segment).unwrap();
                let (srtt, in_flight) = (path.flight.srtt.nanos() as f64, u64::from(path.flight.in_flight));
                model.on_ack(at(&path), packet, Some(rtt as f64), srtt, in_flight, &mut draw);
            }
            Step::Lost { .. } => unreachable!("this path loses nothing"),
        }
        if !states.contains(&model.state) {
            states.push(model.state);
        }
        let (window, now, state) = (path.consumer.window(), at(&path), model.state);
        assert!(near(window, model.cwnd, 1e-6), "{state:?} at {now} ns: {window} instead of {}", model.cwnd);
        let rate = 1.0 / path.consumer.pacing(&path.flight).unwrap().nanos() as f64;
        assert!(
            near(rate, model.pacing_rate, 1e-3),
            "{state:?} at {now} ns: pace {rate} instead of {}",
            model.pacing_rate
        );
    }
    states.len()
}

#[test]
fn bbr_v1_agrees_with_the_draft_through_all_its_states() {
    // 1 ms per Data: 10 Mbit/s; round trips short and long against the 200 ms of ProbeRTT; a path that grows longer.
    let longer = |now: u64| if now < 15_000 * MS { 40 * MS } else { 55 * MS };
    let bases: [fn(u64) -> u64; 3] = [|_| 60 * MS, |_| 8 * MS, longer];
    for base in bases {
        let states =
            bbr(Behaviour { base, service: |now| uneven(MS, now), marks: never_marks, loses: never_loses }, 35);
        assert_eq!(states, 4);
    }
}

#[test]
fn bbr_v1_agrees_with_the_draft_when_the_rate_of_the_path_changes() {
    let service = |now: u64| uneven(if (now / (4000 * MS)).is_multiple_of(2) { MS } else { 3 * MS }, now);
    bbr(Behaviour { base: |_| 30 * MS, service, marks: never_marks, loses: never_loses }, 25);
}
