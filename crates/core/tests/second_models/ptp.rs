//! PTP: the law of the per-path consumer in the first author's simulator (yyhtbs/ndnSIM-2.7-SLIM, 0e76617,
//! `ndn-consumer-delay-aimd`), a window for each path as the page has it; a second model, and the components beside it.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::{MS, near};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::packet::NackReason;
use serde_json::json;
use std::collections::BTreeMap;

struct Window {
    label: u32,
    window: f64,
    slow_start: bool,
    base: u64,
    /// Data until a cut may follow.
    hold: u64,
    in_flight: u32,
    heard: u64,
}

struct Model {
    paths: Vec<Window>,
    /// The path an Interest was sent on: its label, 0 before the first Data, none without a label.
    sent_on: BTreeMap<u64, u32>,
    /// Cuts, congested Data under hold, growth after a cut, timeouts.
    seen: [u32; 4],
}

impl Model {
    fn new() -> Model {
        Model { paths: vec![Model::path(0, 0)], sent_on: BTreeMap::new(), seen: [0; 4] }
    }

    fn path(label: u32, now: u64) -> Window {
        Window { label, window: 1.0, slow_start: true, base: u64::MAX, hold: 0, in_flight: 0, heard: now }
    }

    fn find(&mut self, label: u32) -> Option<&mut Window> {
        self.paths.iter_mut().find(|path| path.label == label)
    }

    fn send(&mut self, segment: u64, label: u32) {
        self.sent_on.insert(segment, label);
        if let Some(path) = self.find(label) {
            path.in_flight += 1;
        }
    }

    fn unsend(&mut self, segment: u64) -> u32 {
        let label = self.sent_on.remove(&segment).unwrap();
        if let Some(path) = self.find(label) {
            path.in_flight -= 1;
        }
        label
    }

    fn on_data(&mut self, now: u64, segment: u64, rtt: Option<u64>, label: u32) {
        self.unsend(segment);
        if self.paths.len() == 1 && self.paths[0].label == 0 {
            // What was sent without a label belongs to the path of the first Data.
            self.paths[0].label = label;
            self.sent_on.values_mut().for_each(|on| *on = label);
        }
        if self.paths.len() > 1 {
            self.paths.retain(|path| path.label == label || now - path.heard < 2000 * MS);
        }
        if self.find(label).is_none() {
            self.paths.push(Model::path(label, now));
        }
        let path = self.find(label).unwrap();
        path.heard = now;
        let (mut cut, mut held, mut grew) = (false, false, false);
        path.hold = path.hold.saturating_sub(1);
        path.base = path.base.min(rtt.unwrap_or(u64::MAX));
        // What was requested twice has no round trip here (Karn); there the latest Interest counts.
        let congested = rtt.filter(|rtt| *rtt >= path.base + 20 * MS);
        if let Some(rtt) = congested.filter(|_| path.hold == 0) {
            path.hold = (2.0 * path.window) as u64;
            path.window = (path.window * 0.85 * path.base as f64 / rtt as f64).max(2.0);
            path.slow_start = false;
            cut = true;
        } else {
            held = congested.is_some();
            path.window += if path.slow_start { 1.0 } else { 1.0 / path.window };
            grew = !path.slow_start;
        }
        for (count, happened) in self.seen.iter_mut().zip([cut, held, grew, false]) {
            *count += u32::from(happened);
        }
    }

    fn on_failure(&mut self, kind: Congestion, segment: u64) {
        let label = self.unsend(segment);
        if kind.is_other_nack() {
            return;
        }
        if let Some(path) = self.find(label) {
            path.window = 1.0;
            self.seen[3] += 1;
        }
    }

    /// The path with the most room.
    fn next(&self) -> u32 {
        let room = |path: &Window| path.window - f64::from(path.in_flight);
        let most = self.paths.iter().map(room).fold(f64::NEG_INFINITY, f64::max);
        self.paths.iter().find(|path| room(path) == most).unwrap().label
    }
}

fn compare(script: impl FnMut(&Request) -> Fate, seconds: u64) -> ([u32; 4], BTreeMap<u32, u32>) {
    let (mut fetch, mut model) = (Fetch::new("ptp", &json!({}), script), Model::new());
    let mut labels = BTreeMap::new();
    while fetch.now < seconds * 1000 * MS {
        let next = model.next();
        let step = fetch.step();
        match step {
            Step::Sent { segment, label } => {
                assert!(label == 0 || label == next, "at {} ns: on {label} instead of {next}", fetch.now);
                model.send(segment, label);
                *labels.entry(label).or_default() += 1;
            }
            Step::Data { segment, rtt, label, .. } => model.on_data(fetch.now, segment, rtt, label),
            Step::Failed { kind, segment } => model.on_failure(kind, segment),
            Step::Woken => {}
        }
        let (window, now) = (fetch.consumer.window(), fetch.now);
        let sum: f64 = model.paths.iter().map(|path| path.window).sum();
        assert!(near(window, sum, 1e-9), "{step:?} at {now} ns: {window} instead of {sum}");
    }
    (model.seen, labels)
}

/// Two paths of 10 and 5 Mbit/s; an Interest without a label takes one in turn.
fn two_paths(second_ends: u64) -> impl FnMut(&Request) -> Fate {
    let mut links = [Link::default(), Link::default()];
    move |request| {
        let mut path = match request.label {
            0 => request.number as usize / 50 % 2,
            label => label as usize - 11,
        };
        if request.now > second_ends {
            path = 0;
        }
        if request.number % 1501 == 1500 {
            return Fate::Fails { at: request.now + 300 * MS, kind: Congestion::Timeout };
        }
        if request.number % 1801 == 1800 {
            let kind = Congestion::Nack { reason: NackReason::NoRoute, marked: false };
            return Fate::Fails { at: request.now + 10 * MS, kind };
        }
        let at = links[path].transmit(request.now, [MS, 2 * MS][path]) + [40 * MS, 25 * MS][path];
        Fate::Arrives { at, label: 11 + path as u32, level: 0, mark: 0 }
    }
}

#[test]
fn ptp_agrees_with_the_per_path_law_over_two_paths() {
    let (seen, labels) = compare(two_paths(u64::MAX), 20);
    assert!(seen.iter().all(|&n| n >= 5) && labels.len() == 3, "{seen:?} {labels:?}");
    let (bare, all) = (f64::from(labels[&0]), f64::from(labels.values().sum::<u32>()));
    assert!((0.005..0.02).contains(&(bare / all)), "one in a hundred: {bare} of {all}");
}

#[test]
fn ptp_agrees_with_the_per_path_law_when_a_path_ends_and_in_silence() {
    let (seen, _) = compare(two_paths(5000 * MS), 12);
    assert!(seen[0] >= 5, "{seen:?}");
    let mut link = Link::default();
    let (seen, _) = compare(
        |request| match request.now / (1000 * MS) % 4 {
            3 => Fate::Fails { at: request.now + 400 * MS, kind: Congestion::Timeout },
            _ => Fate::Arrives { at: link.transmit(request.now, 4 * MS) + 50 * MS, label: 3, level: 0, mark: 0 },
        },
        12,
    );
    assert!(seen[3] >= 3, "{seen:?}");
}
