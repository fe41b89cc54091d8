//! MPCC by its page; a second model, though not by a stranger to the component, and the component beside it. Which probe
//! of a pair comes first is chance; the model takes it from the pace and the windows.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::path::SIZE;
use crate::vivace::slope;
use crate::{MS, near, uneven};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::packet::NackReason;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// With attempts that are left.
    Starting(u32),
    Probing,
    Moving,
}

/// Mbit/s and ns.
struct Interval {
    rate: f64,
    counts: bool,
    first: u64,
    last: u64,
    lasts: f64,
    open: BTreeSet<u64>,
    sent: f64,
    lost: f64,
    samples: Vec<(f64, f64)>,
}

struct Path {
    label: u32,
    phase: Phase,
    rate: f64,
    advertised: f64,
    others: f64,
    /// Rate and utility that the next interval is compared with.
    last: (f64, f64),
    /// Of the last probing decision: 1, −1 or 0.
    direction: f64,
    a: f64,
    k: f64,
    s: f64,
    intervals: Vec<Interval>,
    srtt: f64,
    /// When its last Data came, and until when what left does not count as silence.
    heard: u64,
    quiet_from: u64,
    received: bool,
    credit: f64,
}

impl Path {
    fn new(label: u32, others: f64, now: u64) -> Path {
        Path {
            label,
            phase: Phase::Starting(2),
            rate: 4.0,
            advertised: 4.0,
            others,
            last: (4.0, f64::NEG_INFINITY),
            direction: 1.0,
            a: 0.0,
            k: 0.0,
            s: 0.0,
            intervals: Vec::new(),
            srtt: 0.0,
            heard: now,
            quiet_from: 0,
            received: false,
            credit: 0.0,
        }
    }

    /// What it sends at.
    fn pace(&self) -> f64 {
        self.intervals.last().map_or(self.rate, |interval| interval.rate)
    }

    /// Twice what its pace keeps in flight, with Data of `size` bytes.
    fn window(&self, size: f64) -> f64 {
        (2.0 * self.pace() * self.srtt / 8e3 / size).max(4.0)
    }

    fn counted(&self) -> usize {
        self.intervals.iter().filter(|interval| interval.counts).count()
    }

    /// Whether the next Interest begins an interval.
    fn begins(&self, now: u64) -> bool {
        self.intervals.last().is_none_or(|last| match last.counts {
            _ if self.srtt == 0.0 => false,
            true => last.sent >= 5.0 && (now - last.first) as f64 >= last.lasts,
            false => self.counted() == 0,
        })
    }

    /// The rates that the next interval may have, and whether it counts.
    fn next(&self) -> (Vec<f64>, bool) {
        let (place, counts) = (self.counted(), self.srtt > 0.0);
        let distance = 0.05 * (self.rate + self.others);
        let high = self.rate + distance;
        let low = if self.rate < distance { high / 2.0 } else { self.rate - distance };
        match self.phase {
            Phase::Probing if place >= 4 => (vec![self.rate], false),
            Phase::Probing if place % 2 == 1 => {
                let first = self.intervals.last().unwrap().rate;
                (vec![if first == high { low } else { high }], counts)
            }
            Phase::Probing => (vec![high, low], counts),
            _ => (vec![self.rate], counts && place == 0),
        }
    }

    fn begin(&mut self, rate: f64, counts: bool, now: u64) {
        self.intervals.retain(|interval| interval.counts);
        let (open, samples, lasts) = (BTreeSet::new(), Vec::new(), 1.5 * self.srtt);
        let (first, last, sent, lost) = (now, now, 0.0, 0.0);
        self.intervals.push(Interval { rate: rate.max(0.2), counts, first, last, lasts, open, sent, lost, samples });
    }

    fn utility(&self, interval: &Interval) -> f64 {
        let starting = matches!(self.phase, Phase::Starting(_));
        let x = (interval.rate + self.others) * 125_000.0;
        let slope = slope(&interval.samples);
        let g = if slope.abs() < 0.03 || starting && slope < 0.0 { 0.0 } else { slope };
        let share = interval.lost / interval.sent;
        let l = if starting && share < 0.15 { 0.0 } else { share };
        libm::pow(x, 0.9) - x * g - 11.0 * x * l
    }

    fn probe(&mut self, others: f64) {
        (self.phase, self.others) = (Phase::Probing, others);
    }

    fn step(&mut self, gradient: f64) -> f64 {
        let turned = gradient.signum() != self.direction;
        if turned {
            (self.a, self.k, self.s) = (0.0, 0.0, (self.s + 1.0).min(2.0));
        }
        let mut change = gradient.abs() * (1.0 + self.a);
        match turned {
            false if self.s > 0.0 => self.s -= 1.0,
            false => self.a += 2.0,
            true => {}
        }
        let most = 0.05 * (1.0 + self.k) * (self.rate + self.others);
        self.k = if change > most { self.k + 1.0 } else { (self.k - 1.0).max(0.0) };
        change = change.min(most);
        if turned {
            self.k = 0.0;
        }
        change.max(0.5).min(self.rate / 2.0) * gradient.signum()
    }

    /// Takes a decision if its intervals are answered; `seen` counts what it was.
    fn decide(&mut self, now: u64, others: f64, seen: &mut [u32; 9]) {
        let overdue = |interval: &Interval| (now - interval.last) as f64 > 4.0 * interval.lasts;
        let waits = self.intervals.iter().any(|i| i.counts && !i.open.is_empty() && !overdue(i));
        if self.intervals.last().is_none_or(|last| last.counts) || waits || self.counted() == 0 {
            return;
        }
        let goes_on = self.intervals.pop().unwrap();
        let mut done = std::mem::replace(&mut self.intervals, vec![goes_on]);
        done.iter_mut().for_each(|interval| interval.lost += interval.open.len() as f64);
        let judged: Vec<(f64, f64)> = done.iter().map(|interval| (interval.rate, self.utility(interval))).collect();
        let lossy = done.iter().filter(|interval| interval.lost > 0.3 * interval.sent && interval.sent > 100.0).count();
        let gradient = |a: (f64, f64), b: (f64, f64)| {
            if (b.0 - a.0).abs() < 0.001 * a.0 { 0.0 } else { (b.1 - a.1) / (b.0 - a.0) / 125_000.0 }
        };
        match self.phase {
            Phase::Starting(attempts) => {
                let sent_at = (done[0].sent - 1.0) * SIZE as f64 * 8e3 / (done[0].last - done[0].first) as f64;
                if judged[0].1 > self.last.1 && sent_at > 0.9 * judged[0].0 {
                    self.last = judged[0];
                    self.rate *= 2.0;
                    self.phase = Phase::Starting(2);
                    seen[0] += 1;
                } else if attempts > 0 {
                    self.phase = Phase::Starting(attempts - 1);
                    seen[1] += 1;
                } else {
                    self.rate = self.last.0;
                    self.probe(others);
                }
            }
            Phase::Probing => {
                let pairs = [gradient(judged[0], judged[1]), gradient(judged[2], judged[3])];
                let change = if lossy >= 3 {
                    seen[6] += 1;
                    -self.rate / 2.0
                } else if pairs[0] * pairs[1] > 0.0 {
                    seen[2] += 1;
                    self.step(pairs[0].abs().min(pairs[1].abs()).copysign(pairs[0]))
                } else {
                    seen[3] += 1;
                    0.0
                };
                self.direction = if change == 0.0 { 0.0 } else { change.signum() };
                let before = self.rate;
                self.rate = (self.rate + change).max(0.2);
                self.advertised = self.rate;
                if self.rate == before {
                    return self.probe(others);
                }
                self.last = if judged[1].1 < judged[0].1 { judged[1] } else { judged[0] };
                self.phase = Phase::Moving;
            }
            Phase::Moving if lossy > 0 => {
                self.rate = (self.rate / 2.0).max(0.2);
                self.probe(others);
                seen[7] += 1;
            }
            Phase::Moving => {
                let gradient = gradient(self.last, judged[0]);
                let change = if gradient == 0.0 { 0.0 } else { self.step(gradient) };
                self.last = judged[0];
                if change * self.direction > 0.0 {
                    self.rate = (self.rate + change).max(0.2);
                    seen[4] += 1;
                } else {
                    self.probe(others);
                    seen[5] += 1;
                }
            }
        }
    }
}

struct Model {
    paths: Vec<Path>,
    /// By segment: the label it was sent on, and when.
    sent: BTreeMap<u64, (u32, u64)>,
    requests: u64,
    size: f64,
    /// Doublings, starts tried again, probes that agreed and that did not, moves on, ends of moves, halvings of probes
    /// and of moves by losses, and by silence.
    seen: [u32; 9],
}

impl Model {
    fn new() -> Model {
        Model { paths: vec![Path::new(0, 0.0, 0)], sent: BTreeMap::new(), requests: 0, size: 1400.0, seen: [0; 9] }
    }

    fn place(&self, label: u32) -> Option<usize> {
        self.paths.iter().position(|path| path.label == label)
    }

    fn others(&self, label: u32) -> f64 {
        self.paths.iter().filter(|path| path.label != label).map(|path| path.advertised).sum()
    }

    /// Which paths have room in their windows.
    fn open(&self) -> Vec<usize> {
        let has_room = |place: &usize| {
            let path = &self.paths[*place];
            let in_flight = self.sent.values().filter(|(label, _)| *label == path.label).count();
            (in_flight as f64) < path.window(self.size)
        };
        (0..self.paths.len()).filter(has_room).collect()
    }

    /// The sum of all windows.
    fn window(&self) -> f64 {
        self.paths.iter().map(|path| path.window(self.size)).sum()
    }

    fn pace(&self) -> f64 {
        let open = self.open();
        let paths = if open.is_empty() { (0..self.paths.len()).collect() } else { open };
        paths.into_iter().map(|place| self.paths[place].pace()).sum()
    }

    /// An Interest leaves with this label; thereafter the pace and the sum of the windows are these.
    fn on_sent(&mut self, now: u64, segment: u64, label: u32, pace: f64, window: f64) {
        self.requests += 1;
        let open = self.open();
        let sum: f64 = open.iter().map(|&place| self.paths[place].pace()).sum();
        for &place in &open {
            self.paths[place].credit += self.paths[place].pace() / sum;
        }
        let most = open.iter().map(|&place| self.paths[place].credit).fold(f64::NEG_INFINITY, f64::max);
        let turn = open.into_iter().find(|&place| self.paths[place].credit >= most - 1e-9).unwrap_or(0);
        self.paths[turn].credit -= 1.0;
        let expected = if self.requests.is_multiple_of(100) { 0 } else { self.paths[turn].label };
        assert_eq!(label, expected, "at {now} ns");
        self.sent.insert(segment, (label, now));
        let Some(place) = self.place(label) else { return };
        if self.paths[place].begins(now) {
            let (rates, counts) = self.paths[place].next();
            self.paths[place].begin(rates[0], counts, now);
            // A path without room has no part in the pace.
            if rates.len() > 1 && !(near(self.pace(), pace, 1e-5) && near(self.window(), window, 1e-5)) {
                self.paths[place].intervals.pop();
                self.paths[place].begin(rates[1], counts, now);
            }
        }
        if let Some(interval) = self.paths[place].intervals.last_mut() {
            interval.open.insert(segment);
            interval.sent += 1.0;
            interval.last = now;
        }
    }

    fn answered(&mut self, segment: u64, sent: u64, rtt: Option<u64>, lost: bool, place: usize) {
        for interval in &mut self.paths[place].intervals {
            if interval.open.remove(&segment) {
                interval.lost += f64::from(u8::from(lost));
                interval.samples.extend(rtt.map(|rtt| (sent as f64, rtt as f64)));
            }
        }
    }

    fn on_data(&mut self, now: u64, segment: u64, sent: u64, rtt: Option<u64>, label: u32) {
        self.size = SIZE as f64;
        let (on, _) = self.sent.remove(&segment).unwrap();
        if let Some(place) = self.place(on) {
            self.answered(segment, sent, rtt.filter(|_| on == label || on == 0), false, place);
        }
        let only = self.paths.len() == 1;
        self.paths.retain(|path| only || path.label == label || now - path.heard < 2000 * MS);
        let mut asked = on;
        if let [path] = &mut self.paths[..]
            && !path.received
        {
            path.label = label;
            self.sent.values_mut().for_each(|(on, _)| *on = label);
            asked = label;
        }
        if self.place(label).is_none() {
            let others = self.others(label);
            self.paths.push(Path::new(label, others, now));
        }
        let place = self.place(label).unwrap();
        let path = &mut self.paths[place];
        (path.heard, path.quiet_from, path.received) = (now, now, true);
        if let Some(rtt) = rtt {
            let rtt = rtt as f64;
            path.srtt = if path.srtt == 0.0 { rtt } else { path.srtt + (rtt - path.srtt) / 8.0 };
        }
        if asked != label {
            self.decide(now, asked);
        }
        self.decide(now, label);
    }

    fn decide(&mut self, now: u64, label: u32) {
        let others = self.others(label);
        if let Some(place) = self.place(label) {
            self.paths[place].decide(now, others, &mut self.seen);
        }
    }

    fn on_failure(&mut self, now: u64, kind: Congestion, segment: u64) {
        let (on, sent) = self.sent.remove(&segment).unwrap();
        let Some(place) = self.place(on) else { return };
        self.answered(segment, sent, None, !kind.is_other_nack(), place);
        let path = &mut self.paths[place];
        if kind == Congestion::Timeout && sent > path.quiet_from {
            path.rate = (path.rate / 2.0).max(0.2);
            (path.advertised, path.quiet_from) = (path.rate, now);
            path.intervals.clear();
            path.phase = Phase::Probing;
            self.seen[8] += 1;
        }
        self.decide(now, on);
    }
}

fn compare(script: impl FnMut(&Request) -> Fate, seconds: u64) -> [u32; 9] {
    let (mut fetch, mut model) = (Fetch::new("mpcc", &json!({}), script), Model::new());
    while fetch.now < seconds * 1000 * MS {
        let step = fetch.step();
        let now = fetch.now;
        let pace =
            |fetch: &Fetch<'_>, size: f64| size * 8e3 / fetch.consumer.pacing(&fetch.flight).unwrap().nanos() as f64;
        match step {
            Step::Sent { segment, label } => {
                let pace = pace(&fetch, model.size);
                model.on_sent(now, segment, label, pace, fetch.consumer.window());
            }
            Step::Data { segment, sent, rtt, label, .. } => model.on_data(now, segment, sent, rtt, label),
            Step::Failed { kind, segment } => model.on_failure(now, kind, segment),
            Step::Woken => {}
        }
        let (found, expected) = (pace(&fetch, model.size), model.pace());
        let (window, windows) = (fetch.consumer.window(), model.window());
        assert!(near(window, windows, 1e-4), "{step:?} at {now} ns: window {window} instead of {windows}");
        assert!(near(found, expected, 1e-4), "{step:?} at {now} ns: {found} instead of {expected} Mbit/s");
    }
    model.seen
}

/// Paths of unlike rate and delay, the first of which slows down every other four seconds, with queues that hold 60 ms;
/// an Interest without a label takes one in turn. Sometimes most of what the second carries is lost.
fn paths(count: usize, second_ends: u64) -> impl FnMut(&Request) -> Fate {
    let mut links: Vec<Link> = (0..count).map(|_| Link::default()).collect();
    move |request| {
        let Request { number, now, label } = *request;
        let mut path = if label == 0 { number as usize / 100 % count } else { label as usize - 11 };
        if now > second_ends && path == 1 {
            path = 0;
        }
        let fails = |at: u64, kind| Fate::Fails { at: now + at * MS, kind };
        let second = now / (1000 * MS);
        match number {
            n if n % 901 == 900 => return fails(20, Congestion::Nack { reason: NackReason::Duplicate, marked: false }),
            _ if path == 1 && second % 20 == 13 => return fails(400, Congestion::Timeout),
            n if path == 0 && second % 20 == 17 && n % 2 == 0 => return fails(150, Congestion::Loss),
            _ => {}
        }
        if links[path].wait(now) > 60 * MS {
            return fails(100, Congestion::Loss);
        }
        let slow = path == 0 && !(now / (4000 * MS)).is_multiple_of(2);
        let service = if slow { MS } else { [MS / 2, 2 * MS, MS][path] };
        let at = links[path].transmit(now, uneven(service, now)) + [30 * MS, 25 * MS, 60 * MS][path];
        Fate::Arrives { at, label: 11 + path as u32, level: 0, mark: 0 }
    }
}

#[test]
fn mpcc_agrees_with_its_page_over_one_path() {
    let seen = compare(paths(1, u64::MAX), 60);
    assert!(seen[..6].iter().all(|&n| n >= 2) && seen[6] + seen[7] >= 1, "{seen:?}");
}

#[test]
fn mpcc_agrees_with_its_page_over_two_and_three_paths() {
    for count in [2, 3] {
        let seen = compare(paths(count, u64::MAX), 60);
        assert!(seen[..6].iter().all(|&n| n >= 3) && seen[8] >= 1, "{count}: {seen:?}");
    }
}

#[test]
fn mpcc_agrees_with_its_page_when_a_path_ends() {
    let seen = compare(paths(2, 8000 * MS), 30);
    assert!(seen[2] >= 3, "{seen:?}");
}
