//! The packet pair beside its second model: chosen sequences, and thousands that a seed draws.

mod drawn;

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::packet_pair_paths_model::{Arrived, End, Given, Model, React};
use crate::path::SIZE;
use crate::{MS, near, uneven};
use drawn::Drawn;
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::NackReason;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const DEFAULT: Given = Given {
    pairs: 1,
    attempts: 8,
    min_gap: 0,
    cap: 4096.0,
    tolerance: 0.05,
    marks: React::Once,
    losses: React::Once,
    nacks: React::Never,
};

fn params(given: &Given) -> Value {
    let react = |react| match react {
        React::Never => "never",
        React::Once => "once-per-window",
        React::Always => "always",
    };
    json!({
        "startup": {
            "kind": "packet-pair", "pairs": given.pairs, "attempts": given.attempts, "cap": given.cap,
            "min-gap": format!("{}ns", given.min_gap), "tolerance": given.tolerance,
        },
        "reaction": { "marks": react(given.marks), "losses": react(given.losses), "nacks": react(given.nacks) },
    })
}

/// What a sequence led to.
#[derive(Debug, Default)]
struct Seen {
    end: Option<End>,
    /// How often each reason to discard a pair was given.
    discarded: [u32; 6],
    /// Equation 3 of each pair that counted.
    counted: Vec<f64>,
    /// The window of the jump.
    window: Option<f64>,
}

/// Drives the component and its model side by side until so many Data came.
fn compare(given: Given, data: u32, about: &str, script: impl FnMut(&Request) -> Fate) -> Seen {
    let mut fetch = Fetch::new("aimd", &params(&given), script).recording();
    let (mut model, mut seen, mut came) = (Model::new(given), Seen::default(), 0);
    while came < data {
        let step = fetch.step();
        let (now, next) = (fetch.now, fetch.flight.next_segment);
        match step {
            Step::Sent { segment, .. } => model.on_sent(now, segment),
            Step::Data { segment, rtt, label, mark, .. } => {
                model.on_data(Arrived { now, segment, rtt, label, mark, bytes: SIZE }, next);
                came += 1;
            }
            Step::Failed { kind, .. } => {
                let react = match kind {
                    Congestion::Timeout | Congestion::Loss => given.losses,
                    Congestion::Nack { reason: NackReason::Congestion, .. } => given.nacks,
                    Congestion::Nack { .. } => React::Never,
                };
                model.signal(react, next);
            }
            Step::Woken => panic!("AIMD asks for no wake-up"),
        }
        let at = || format!("{about}, {step:?} at {now} ns after {came} Data, {given:?}");
        let records = fetch.recorded();
        let expected = std::mem::take(&mut model.records);
        let same = records.len() == expected.len()
            && records.iter().zip(&expected).all(|(record, &(key, id, value))| {
                record.key == key && record.id == id && near(record.value, value, 1e-9)
            });
        assert!(same, "{}: {records:?} instead of {expected:?}", at());
        for &(key, _, value) in &expected {
            match key {
                "pair-discarded" => seen.discarded[value as usize] += 1,
                "pair-window" => seen.counted.push(value),
                "startup-window" => seen.window = Some(value),
                _ => {}
            }
        }
        let window = fetch.consumer.window();
        assert!(near(window, model.window, 1e-9), "{}: {window} instead of {}", at(), model.window);
    }
    seen.end = model.end;
    seen
}

/// A path: the round trip without its queue, the time of a Data, and the label; times in ns.
#[derive(Clone, Copy, Debug)]
struct Way {
    base: u64,
    service: u64,
    label: u32,
}

/// Sends each Interest over the path that `choose` returns for its number and instant.
fn over<'a>(ways: &'a [Way], mut choose: impl FnMut(u64, u64) -> usize + 'a) -> impl FnMut(&Request) -> Fate + 'a {
    let mut links: Vec<Link> = ways.iter().map(|_| Link::default()).collect();
    move |request| {
        let place = choose(request.number, request.now);
        let Way { base, service, label } = ways[place];
        let at = links[place].transmit(request.now, uneven(service, request.now)) + base;
        Fate::Arrives { at, label, level: 0, mark: 0 }
    }
}

const NEAR: Way = Way { base: 40 * MS, service: MS, label: 11 };
const FAR: Way = Way { base: 60 * MS, service: MS, label: 12 };
/// As `NEAR`, but for 0.2 ms.
const BESIDE: Way = Way { base: 40 * MS + MS / 5, service: MS, label: 13 };

fn unlabelled(way: Way) -> Way {
    Way { label: 0, ..way }
}

#[test]
fn a_pair_over_one_path_with_and_without_labels_fills_it() {
    for way in [NEAR, unlabelled(NEAR)] {
        let ways = [way];
        let seen = compare(DEFAULT, 200, "one path", over(&ways, |_, _| 0));
        // 40 ms and the Data's own time, over the time of one Data, which is up to 1.037 ms.
        assert_eq!((seen.end, seen.counted.len()), (Some(End::Counted), 1));
        assert!((39.5..41.0).contains(&seen.window.unwrap()), "{seen:?}");
    }
}

#[test]
fn pairs_split_over_two_paths_give_no_estimate_with_labels() {
    for other in [BESIDE, FAR] {
        // The Interests of each pair take different paths: 0, (1, 2), (3, 4)...
        let ways = [NEAR, other];
        let seen = compare(DEFAULT, 300, "split", over(&ways, |number, _| (number % 2) as usize));
        assert!(seen.counted.is_empty() && seen.window.is_none(), "{seen:?}");
        assert!(seen.discarded[2] + seen.discarded[3] > 0, "{seen:?}");
    }
}

#[test]
fn two_paths_that_share_equally_take_twice_what_one_takes() {
    // Pairs go over the paths in turn: (1, 2) over one, (3, 4) over the other.
    let ways = [NEAR, Way { label: 14, ..NEAR }];
    let given = Given { pairs: 2, ..DEFAULT };
    let seen = compare(given, 300, "in turn", over(&ways, |number, _| (number.div_ceil(2) % 2) as usize));
    assert_eq!(seen.end, Some(End::Counted));
    let window = seen.window.unwrap();
    assert!((65.0..100.0).contains(&window), "{seen:?}");
}

#[test]
fn a_cache_nearer_than_the_producer_gives_no_estimate_with_labels_and_after_its_data_alone_without() {
    let source = Way { base: 40 * MS, service: MS, label: 21 };
    let cache = Way { base: 5 * MS, service: MS / 4, label: 22 };
    // The cache has the first of the first pair.
    for (ways, reason) in [([source, cache], 3), ([unlabelled(source), unlabelled(cache)], 5)] {
        let seen = compare(DEFAULT, 300, "cache", over(&ways, |number, _| usize::from(number == 1)));
        assert!(seen.discarded[reason] > 0, "{reason}: {seen:?}");
        assert!(seen.counted.iter().all(|&window| window > 30.0), "{seen:?}");
    }
}

#[test]
fn a_pair_of_which_one_or_both_are_retransmitted_gives_no_estimate() {
    let given = Given { losses: React::Never, ..DEFAULT };
    for lost in [1..2, 2..3, 1..3] {
        let mut arrives = over(&[NEAR], |_, _| 0);
        let seen = compare(given, 100, "retransmitted", |request| {
            let fate = arrives(request);
            let at = request.now + 200 * MS;
            if lost.contains(&request.number) { Fate::Fails { at, kind: Congestion::Timeout } } else { fate }
        });
        assert_eq!(seen.discarded[4], u32::from(lost == (1..3)), "{seen:?}");
        assert!((39.0..42.0).contains(&seen.window.unwrap()), "{seen:?}");
    }
}

// The second segment fails as the first Data arrives: it is requested again with the two new ones, at one instant.
#[test]
fn a_new_and_a_retransmitted_interest_that_left_together_are_a_pair_that_does_not_count() {
    let given = Given { losses: React::Never, ..DEFAULT };
    // The new one, or the retransmitted one, arrives first.
    for later in [5 * MS / 2, 0] {
        let mut arrives = over(&[NEAR], |_, _| 0);
        let mut first = 0;
        let seen = compare(given, 100, "together", |request| {
            let fate = arrives(request);
            let Fate::Arrives { at, label, .. } = fate else { unreachable!("{NEAR:?} loses nothing") };
            match request.number {
                1 => first = at,
                2 => return Fate::Fails { at: first, kind: Congestion::Loss },
                3 => return Fate::Arrives { at: at + later, label, level: 0, mark: 0 },
                5 => return Fate::Arrives { at: at + 5 * MS, label, level: 0, mark: 0 },
                _ => {}
            }
            fate
        });
        assert_eq!((seen.discarded[2], seen.discarded[4]), (0, 1), "{seen:?}");
    }
}

#[test]
fn a_paced_window_leaves_over_the_round_trip_of_the_pair_and_the_next_at_once() {
    let (mut link, mut service) = (Link::default(), [MS, MS, MS].into_iter());
    let mut parameters = params(&DEFAULT);
    parameters["startup"]["send"] = json!("paced");
    let script = |request: &Request| Fate::data(link.transmit(request.now, service.next().unwrap_or(MS / 2)) + 40 * MS);
    let mut fetch = Fetch::new("aimd", &parameters, script).recording();
    let (mut jumped, mut last, mut paced, mut after) = (None, 0, 0, 0);
    while after < 20 {
        let sent = matches!(fetch.step(), Step::Sent { .. });
        if fetch.recorded().iter().any(|record| record.key == "startup-window") {
            (jumped, last) = (Some(fetch.now), 0);
        }
        let (Some(begun), true) = (jumped, sent) else { continue };
        // t1 − t0 is 41 ms, and 41 segments fill the path. Two were on their way, so that after 39 the window is full.
        if last > 0 && last < begun + 38 * MS {
            assert!(fetch.now.abs_diff(last + MS) <= 1, "{} ns after {last}", fetch.now);
            paced += 1;
        } else if last > 0 && fetch.now < begun + 41 * MS {
            assert!(fetch.now >= last + MS - 1, "{} ns after {last}", fetch.now);
        } else if last > 0 {
            assert_eq!(fetch.consumer.pacing(&fetch.flight), None);
            after += 1;
        }
        last = fetch.now;
    }
    assert_eq!(paced, 38);
}

fn drawn(seed: u64) -> Seen {
    let mut rng = Rng::derive(seed, &[9]);
    let mut react = || [React::Never, React::Never, React::Once, React::Always][rng.below(4) as usize];
    let (marks, losses, nacks) = (react(), react(), react());
    let pairs = 1 + rng.below(4);
    let attempts = pairs + [0, 4, 8, 40, 200][rng.below(5) as usize];
    let given = Given {
        pairs,
        attempts,
        min_gap: [0, 0, MS / 10, MS][rng.below(4) as usize],
        cap: [4096.0, 60.0, 12.5][rng.below(3) as usize],
        tolerance: [0.05, 0.0, 0.2][rng.below(3) as usize],
        marks,
        losses,
        nacks,
    };
    let mut network = Drawn::new(seed, nacks != React::Never);
    compare(given, 400, &format!("seed {seed}"), move |request| network.fate(request))
}

#[test]
fn three_thousand_drawn_sequences_agree_and_reach_every_end_and_reason() {
    let (mut ends, mut discarded, mut counted) = (BTreeMap::new(), [0_u32; 6], BTreeSet::new());
    for seed in 0..3000 {
        let seen = drawn(seed);
        *ends.entry(seen.end).or_insert(0_u32) += 1;
        discarded.iter_mut().zip(seen.discarded).for_each(|(sum, n)| *sum += n);
        counted.insert(seen.counted.len());
    }
    for end in [End::Counted, End::Attempts, End::NoneCounted, End::Reached, End::Cut] {
        assert!(ends.get(&Some(end)).is_some_and(|&n| n >= 30), "{end:?}: {ends:?}");
    }
    assert!([1, 2, 3, 5].iter().all(|&reason| discarded[reason] >= 100) && discarded[4] > 0, "{discarded:?}");
    assert!(counted.len() > 5, "{counted:?}");
}
