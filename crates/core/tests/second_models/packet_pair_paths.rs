//! The packet pair beside its second model: chosen sequences, and thousands that a seed draws.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::packet_pair_paths_model::{Arrived, End, Given, Model, React};
use crate::path::SIZE;
use crate::{MS, near, uneven};
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
        let next_before = fetch.flight.next_segment;
        let step = fetch.step();
        let (now, next) = (fetch.now, fetch.flight.next_segment);
        match step {
            Step::Sent { segment, .. } => model.on_sent(now, segment, segment < next_before),
            Step::Data { segment, rtt, label, mark, .. } => {
                model.on_data(Arrived { now, segment, rtt, label, mark, bytes: SIZE }, next);
                came += 1;
            }
            Step::Failed { kind, segment } => {
                let cause = match kind {
                    Congestion::Timeout | Congestion::Loss => Some(given.losses),
                    Congestion::Nack { reason: NackReason::Congestion, .. } => Some(given.nacks),
                    Congestion::Nack { .. } => None,
                };
                model.on_failure(segment, cause, next);
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
        let seen = compare(DEFAULT, 200, "one path", over(&[way], |_, _| 0));
        // 40 ms and the Data's own time, over the time of one Data.
        assert_eq!((seen.end, seen.counted.len()), (Some(End::Counted), 1));
        assert!((seen.window.unwrap() - 41.0).abs() < 0.1, "{seen:?}");
    }
}

#[test]
fn pairs_split_over_two_paths_give_no_estimate_with_labels() {
    for other in [BESIDE, FAR] {
        // The Interests of each pair take different paths: 0, (1, 2), (3, 4)...
        let ways = [NEAR, other];
        let seen = compare(DEFAULT, 300, "split", over(&ways, |number, _| (number % 2) as usize));
        assert!(seen.counted.is_empty() && seen.window.is_none() && seen.end == Some(End::NoneCounted), "{seen:?}");
        assert!(seen.discarded[3] > 0, "{seen:?}");
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
    // The cache has the first of each pair.
    for (ways, reason) in [([source, cache], 3), ([unlabelled(source), unlabelled(cache)], 5)] {
        let seen = compare(DEFAULT, 300, "cache", over(&ways, |number, _| usize::from(number % 2 == 1 && number < 4)));
        assert!(seen.discarded[reason] > 0, "{reason}: {seen:?}");
        assert!(seen.counted.iter().all(|&window| window > 30.0), "{seen:?}");
    }
}

/// A network that a seed draws: up to four paths, of which some begin late or end early; what it does to each packet.
struct Drawn {
    rng: Rng,
    ways: Vec<Way>,
    links: Vec<Link>,
    /// When each path begins and ends.
    lives: Vec<(u64, u64)>,
    /// Out of 1,000: marks, failures, Data late, Data without a label, changes of path.
    chances: [u64; 5],
    /// Arrivals at whole multiples of this, in ns.
    grain: u64,
    nacks: bool,
    current: usize,
}

impl Drawn {
    fn new(seed: u64, nacks: bool) -> Drawn {
        let mut rng = Rng::derive(seed, &[8]);
        let count = 1 + rng.below(4) as usize;
        let labelled = rng.below(3) > 0;
        let ways = (0..count)
            .map(|place| Way {
                base: (1 + rng.below(80)) * MS + rng.below(MS),
                service: MS / 8 + rng.below(2 * MS),
                label: if labelled { 31 + place as u32 } else { 0 },
            })
            .collect::<Vec<_>>();
        let life = |rng: &mut Rng| {
            let begin = if rng.below(3) == 0 { rng.below(300 * MS) } else { 0 };
            (begin, if rng.below(3) == 0 { begin + rng.below(400 * MS) } else { u64::MAX })
        };
        let mut lives: Vec<_> = (0..count).map(|_| life(&mut rng)).collect();
        lives[0] = (0, u64::MAX);
        let rare = |rng: &mut Rng, most: u64| if rng.below(2) == 0 { 0 } else { rng.below(most) };
        let without = if labelled { rare(&mut rng, 80) } else { 0 };
        let chances = [rare(&mut rng, 100), rare(&mut rng, 100), rare(&mut rng, 150), without, 50 + rng.below(950)];
        let grain = [1, 1, MS / 2][rng.below(3) as usize];
        let links = ways.iter().map(|_| Link::default()).collect();
        Drawn { rng, ways, links, lives, chances, grain, nacks, current: 0 }
    }

    fn happens(&mut self, which: usize) -> bool {
        self.rng.below(1000) < self.chances[which]
    }

    fn fate(&mut self, request: &Request) -> Fate {
        let now = request.now;
        if self.happens(4) {
            self.current = self.rng.below(self.ways.len() as u64) as usize;
        }
        let (begins, ends) = self.lives[self.current];
        if !(begins..ends).contains(&now) {
            self.current = 0;
        }
        let Way { base, service, label } = self.ways[self.current];
        let mut at = self.links[self.current].transmit(now, uneven(service, now)) + base;
        if self.happens(1) {
            let nack = |reason| Congestion::Nack { reason, marked: false };
            let kinds = [
                Congestion::Loss,
                Congestion::Timeout,
                nack(NackReason::NoRoute),
                nack(NackReason::Duplicate),
                nack(NackReason::Congestion),
            ];
            let kind = kinds[self.rng.below(if self.nacks { 5 } else { 2 }) as usize];
            return Fate::Fails { at: at + if kind == Congestion::Timeout { 200 * MS } else { 10 * MS }, kind };
        }
        if self.happens(2) {
            at += self.rng.below(5 * MS);
        }
        let label = if self.happens(3) { 0 } else { label };
        let mark = u8::from(self.happens(0));
        Fate::Arrives { at: at.next_multiple_of(self.grain), label, level: 0, mark }
    }
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
    let (mut ends, mut discarded, mut labelled) = (BTreeMap::new(), [0_u32; 6], BTreeSet::new());
    for seed in 0..3000 {
        let seen = drawn(seed);
        *ends.entry(seen.end).or_insert(0_u32) += 1;
        discarded.iter_mut().zip(seen.discarded).for_each(|(sum, n)| *sum += n);
        labelled.insert(seen.counted.len());
    }
    for end in [End::Counted, End::Attempts, End::NoneCounted, End::Reached, End::Cut] {
        assert!(ends.get(&Some(end)).is_some_and(|&n| n >= 30), "{end:?}: {ends:?}");
    }
    assert!(discarded[1..].iter().all(|&n| n >= 100), "{discarded:?}");
    assert!(labelled.len() > 5, "{labelled:?}");
}
