//! MPCC beside its second model: chosen sequences, and some that a seed draws.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::mpcc_model::{Did, MBIT, Model};
use crate::{MS, near, uneven};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::NackReason;
use serde_json::json;
use std::collections::BTreeMap;

type Seen = BTreeMap<Did, u32>;

fn compare(latency: bool, seconds: u64, about: &str, script: impl FnMut(&Request) -> Fate) -> Seen {
    let mut fetch = Fetch::new("mpcc", &json!({ "latency": latency }), script).recording();
    let (mut model, mut seen) = (Model::new(latency, fetch.now, fetch.chance()), Seen::new());
    while fetch.now < seconds * 1000 * MS {
        let step = fetch.step();
        let now = fetch.now;
        let gap = fetch.consumer.pacing(&fetch.flight).unwrap().nanos() as f64;
        let shown = fetch.consumer.window();
        // The gap is in whole nanoseconds.
        let shows =
            |model: &Model| (gap - model.size * 1e9 / model.pace()).abs() < 1.0 && near(shown, model.window(), 1e-6);
        let at = || format!("{about}, {step:?} at {now} ns");
        match step {
            Step::Sent { segment, label } => assert_eq!(model.on_sent(now, segment, label), label, "{}", at()),
            Step::Data { segment, rtt, label, .. } => model.on_data(now, segment, rtt, label),
            Step::Failed { kind, segment } => {
                model.on_failure(now, segment, !kind.is_other_nack(), kind == Congestion::Timeout);
            }
            Step::Woken => {}
        }
        for did in model.did.drain(..) {
            *seen.entry(did).or_default() += 1;
        }
        for record in fetch.recorded() {
            assert_eq!(record.key, "path-rate-mbps");
            let route = model.routes.iter().find(|route| u64::from(route.label) == record.id).unwrap();
            assert!(near(record.value, route.rate / MBIT, 1e-6), "{}: {record:?} not {}", at(), route.rate / MBIT);
        }
        let expected = (model.size * 1e9 / model.pace(), model.window());
        assert!(shows(&model), "{}: {:?} instead of {expected:?}", at(), (gap, shown));
    }
    seen
}

/// Paths with a queue of their own, which lose what would wait too long; an Interest without a label takes one in turn.
struct Paths {
    links: Vec<Link>,
    /// The round trip without a queue and the longest wait, in ns.
    ways: Vec<(u64, u64)>,
}

impl Paths {
    fn new(ways: &[(u64, u64)]) -> Paths {
        Paths { links: ways.iter().map(|_| Link::default()).collect(), ways: ways.to_vec() }
    }

    /// The fate of an Interest over a link that takes so long for a Data.
    fn fate(&mut self, place: usize, now: u64, service: u64) -> Fate {
        let (base, most) = self.ways[place];
        if self.links[place].wait(now) > most {
            return Fate::Fails { at: now + base + most + 5 * MS, kind: Congestion::Loss };
        }
        let at = self.links[place].transmit(now, uneven(service, now)) + base;
        Fate::Arrives { at, label: 11 + place as u32, level: 0, mark: 0 }
    }

    fn place(&self, request: &Request) -> usize {
        if request.label == 0 { request.number as usize % self.ways.len() } else { request.label as usize - 11 }
    }
}

const WAYS: [(u64, u64); 3] = [(30 * MS, 60 * MS), (50 * MS, 40 * MS), (20 * MS, 100 * MS)];

#[test]
fn mpcc_agrees_over_one_two_and_three_paths_whose_rates_change() {
    for (count, latency) in [(1, true), (1, false), (2, true), (2, false), (3, true)] {
        let mut paths = Paths::new(&WAYS[..count]);
        let seen = compare(latency, 40, &format!("{count} paths, latency {latency}"), |request| {
            let place = paths.place(request);
            let slow = (request.now / (4000 * MS) + place as u64).is_multiple_of(2);
            paths.fate(place, request.now, if slow { 5 * MS / 2 } else { MS })
        });
        let expected = [Did::Doubled, Did::Tried, Did::Started, Did::Agreed, Did::Disagreed, Did::Moved, Did::Stayed];
        assert!(expected.iter().all(|did| seen.contains_key(did)), "{count}: {seen:?}");
    }
}

#[test]
fn mpcc_agrees_through_losses_of_half_of_all_and_other_nacks() {
    let mut paths = Paths::new(&WAYS[..2]);
    let other = Congestion::Nack { reason: NackReason::Duplicate, marked: false };
    let busy = Congestion::Nack { reason: NackReason::Congestion, marked: false };
    let seen = compare(true, 60, "losses", |request| {
        let now = request.now;
        let fails = |after: u64, kind| Fate::Fails { at: now + after * MS, kind };
        match now / (1000 * MS) % 15 {
            5 | 6 if request.number % 2 == 0 => fails(200, Congestion::Timeout),
            8 => fails(400, Congestion::Timeout),
            9 if request.number % 7 == 0 => fails(7, other),
            10 if request.number % 5 == 0 => fails(7, busy),
            // All of one path alone.
            12 if request.label == 12 => fails(150, Congestion::Timeout),
            _ => paths.fate(paths.place(request), now, MS / 4),
        }
    });
    for did in [Did::Silent, Did::Braked, Did::BrakedInProbing, Did::Limited] {
        assert!(seen.contains_key(&did), "{did:?}: {seen:?}");
    }
}

#[test]
fn mpcc_agrees_when_a_path_begins_and_when_one_ends() {
    let mut paths = Paths::new(&WAYS);
    compare(true, 30, "begins and ends", |request| {
        let (now, mut place) = (request.now, paths.place(request));
        // The third begins at 6 s, the second ends at 12 s.
        if place == 2 && now < 6000 * MS || place == 1 && now > 12_000 * MS {
            place = 0;
        }
        paths.fate(place, now, MS)
    });
}

#[test]
fn mpcc_agrees_in_silence_from_the_first_interest_on() {
    let mut paths = Paths::new(&WAYS[..1]);
    let seen = compare(true, 10, "silence", |request| match request.now {
        0..3_000_000_000 => Fate::Fails { at: request.now + 500 * MS, kind: Congestion::Timeout },
        now => paths.fate(0, now, MS),
    });
    assert!(seen[&Did::Silent] >= 2, "{seen:?}");
}

// A fifth of the third interval is lost, so that it is tried again. Meanwhile some more are lost for longer, which leaves
// more or less room in the window for what the second try sends.
#[test]
fn mpcc_agrees_where_the_window_limits_the_first_rates() {
    let mut all = Seen::new();
    for lost in 34..40 {
        let mut paths = Paths::new(&[(20 * MS, 200 * MS)]);
        let seen = compare(false, 1, &format!("{lost} lost"), |request| match request.number {
            72..84 => Fate::Fails { at: request.now + 100 * MS, kind: Congestion::Loss },
            n if (125..125 + lost).contains(&n) => Fate::Fails { at: request.now + 600 * MS, kind: Congestion::Loss },
            _ => paths.fate(0, request.now, MS / 20),
        });
        seen.into_iter().for_each(|(did, n)| *all.entry(did).or_default() += n);
    }
    assert!(all.contains_key(&Did::SentBarelyEnough) && all.contains_key(&Did::SentBarelyTooLittle), "{all:?}");
}

/// Up to three paths whose rates, round trips and losses a seed draws anew now and then; sometimes no router
/// writes labels.
fn drawn(seed: u64) -> Seen {
    let mut rng = Rng::derive(seed, &[4]);
    let count = 1 + rng.below(3) as usize;
    let labelled = rng.below(8) > 0;
    let ways: Vec<_> = (0..count).map(|_| ((5 + rng.below(80)) * MS, (10 + rng.below(100)) * MS)).collect();
    let mut paths = Paths::new(&ways);
    let latency = rng.below(3) > 0;
    let (mut until, mut services, mut failing) = (0, vec![MS; count], 0);
    compare(latency, 12, &format!("seed {seed}"), move |request| {
        let now = request.now;
        if now >= until {
            until = now + (100 + rng.below(3000)) * MS;
            services = (0..count).map(|_| MS / 4 + rng.below(4 * MS)).collect();
            failing = [0, 0, 0, 20, 100, 400, 1000][rng.below(7) as usize];
            if failing == 1000 {
                until = now + (100 + rng.below(600)) * MS;
            }
        }
        let mut place = paths.place(request);
        if rng.below(200) == 0 {
            place = rng.below(count as u64) as usize;
        }
        if rng.below(1000) < failing {
            let nack = |reason| Congestion::Nack { reason, marked: false };
            let kinds =
                [Congestion::Loss, Congestion::Timeout, nack(NackReason::Congestion), nack(NackReason::NoRoute)];
            let at = now + (5 + rng.below(300)) * MS;
            return Fate::Fails { at, kind: kinds[rng.below(4) as usize] };
        }
        match paths.fate(place, now, services[place]) {
            Fate::Arrives { at, .. } if !labelled => Fate::data(at),
            fate => fate,
        }
    })
}

#[test]
fn mpcc_agrees_over_forty_drawn_sequences() {
    let mut all = Seen::new();
    for seed in 0..40 {
        drawn(seed).into_iter().for_each(|(did, n)| *all.entry(did).or_default() += n);
    }
    assert!(all.values().filter(|&&n| n >= 10).count() >= 12, "{all:?}");
}
