//! MPCC by its page and its authors' module for Linux (mpccopensource/mpcc_release, `tcp_mpcc.c`), written before the
//! component was read; a second model. Rates are in bytes per second, times in ns.

use crate::path::SIZE;
use crate::vivace::slope;
use ndnweir_core::ctx::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// 1 Mbit/s.
pub const MBIT: f64 = 125_000.0;
/// No path before the first Data.
pub const NONE: u32 = 0;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    Starting,
    Probing,
    Moving,
}

/// What a path did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Did {
    Doubled,
    Tried,
    Started,
    Agreed,
    Disagreed,
    Moved,
    Stayed,
    Braked,
    BrakedInProbing,
    Silent,
    Limited,
    Least,
    LowerProbeHalved,
}

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

impl Interval {
    /// The share of its Interests that were lost, and whether that is too much.
    fn loss(&self) -> (f64, bool) {
        let share = self.lost / self.sent;
        (share, share > 0.3 && self.sent > 100.0)
    }

    fn utility(&self, others: f64, latency: bool, starting: bool) -> f64 {
        let mut gradient = if latency { slope(&self.samples) } else { 0.0 };
        let (mut loss, _) = self.loss();
        if gradient.abs() < 0.03 || starting && gradient < 0.0 {
            gradient = 0.0;
        }
        if starting && loss < 0.15 {
            loss = 0.0;
        }
        let total = self.rate + others;
        libm::pow(total, 0.9) - total * gradient - 11.0 * total * loss
    }

    /// At what rate its Interests asked for Data.
    fn asked(&self) -> f64 {
        (self.sent - 1.0) * SIZE as f64 * 1e9 / (self.last - self.first) as f64
    }
}

pub struct Route {
    pub label: u32,
    phase: Phase,
    pub rate: f64,
    advertised: f64,
    others: f64,
    /// Whether the higher one of each pair of probes comes first.
    higher_first: [bool; 2],
    /// Rate and utility of the interval to compare with.
    before: (f64, f64),
    tries: u32,
    /// The last probing decision: up, down or neither.
    decision: f64,
    amplifier: f64,
    bound: f64,
    swing: f64,
    intervals: Vec<Interval>,
    srtt: f64,
    /// When its last Data came, and what left until when does not count as silence.
    heard: u64,
    quiet: Option<u64>,
    received: bool,
    credit: f64,
}

impl Route {
    fn new(label: u32, now: u64, others: f64) -> Route {
        let rate = 4.0 * MBIT;
        Route {
            label,
            phase: Phase::Starting,
            rate,
            advertised: rate,
            others,
            higher_first: [false; 2],
            before: (rate, f64::NEG_INFINITY),
            tries: 2,
            decision: 1.0,
            amplifier: 0.0,
            bound: 0.0,
            swing: 0.0,
            intervals: Vec::new(),
            srtt: 0.0,
            heard: now,
            quiet: None,
            received: false,
            credit: 0.0,
        }
    }

    /// The rate at which it sends now.
    pub fn pace(&self) -> f64 {
        self.intervals.last().map_or(self.rate, |interval| interval.rate)
    }

    fn window(&self, size: f64) -> f64 {
        (2.0 * self.pace() * self.srtt / 1e9 / size).max(4.0)
    }

    fn counted(&self) -> usize {
        self.intervals.iter().filter(|interval| interval.counts).count()
    }

    fn wanted(&self) -> usize {
        if self.phase == Phase::Probing { 4 } else { 1 }
    }

    /// The rates of a pair of probes, the higher one first.
    fn probes(&self) -> [f64; 2] {
        let distance = 0.05 * (self.rate + self.others);
        let higher = self.rate + distance;
        [higher, if self.rate < distance { higher / 2.0 } else { self.rate - distance }]
    }

    /// Probing begins anew.
    fn probe(&mut self, others: f64, chance: &mut Rng) {
        (self.phase, self.others) = (Phase::Probing, others);
        self.higher_first = [0; 2].map(|_| chance.below(2) == 1);
    }

    /// The step that a gradient leads to.
    fn step(&mut self, gradient: f64, did: &mut Vec<Did>) -> f64 {
        let direction = gradient.signum();
        let turned = direction != self.decision;
        if turned {
            (self.amplifier, self.bound) = (0.0, 0.0);
            self.swing = (self.swing + 1.0).min(2.0);
        }
        let mut step = gradient.abs() * (1.0 + self.amplifier) * MBIT;
        if !turned {
            if self.swing > 0.0 {
                self.swing -= 1.0;
            } else {
                self.amplifier += 2.0;
            }
        }
        let most = 0.05 * (1.0 + self.bound) * (self.rate + self.others);
        if step > most {
            step = most;
            self.bound += 1.0;
            did.push(Did::Limited);
        } else {
            self.bound = (self.bound - 1.0).max(0.0);
        }
        if turned {
            self.bound = 0.0;
        }
        direction * step.max(0.5 * MBIT).min(self.rate / 2.0)
    }

    fn set(&mut self, rate: f64, did: &mut Vec<Did>) {
        self.rate = rate.max(0.2 * MBIT);
        if self.rate == 0.2 * MBIT {
            did.push(Did::Least);
        }
    }
}

fn gradient(one: (f64, f64), other: (f64, f64)) -> f64 {
    if ((other.0 - one.0) / one.0).abs() < 0.001 { 0.0 } else { (other.1 - one.1) / (other.0 - one.0) }
}

pub struct Model {
    latency: bool,
    pub routes: Vec<Route>,
    /// By segment: the label it was sent on, and when.
    sent: BTreeMap<u64, (u32, u64)>,
    /// By label, whether its path is known or not.
    in_flight: BTreeMap<u32, u32>,
    requests: u64,
    /// Bytes of the last Data.
    pub size: f64,
    chance: Rng,
    pub did: Vec<Did>,
}

impl Model {
    pub fn new(latency: bool, now: u64, chance: Rng) -> Model {
        let routes = vec![Route::new(NONE, now, 0.0)];
        Model {
            latency,
            routes,
            sent: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            requests: 0,
            size: 1400.0,
            chance,
            did: Vec::new(),
        }
    }

    /// Which paths have room in their windows.
    fn open(&self) -> Vec<usize> {
        let has_room = |place: &usize| {
            let route = &self.routes[*place];
            let in_flight = self.in_flight.get(&route.label).copied().unwrap_or(0);
            f64::from(in_flight) < route.window(self.size)
        };
        (0..self.routes.len()).filter(has_room).collect()
    }

    pub fn pace(&self) -> f64 {
        let open = self.open();
        let paths = if open.is_empty() { (0..self.routes.len()).collect() } else { open };
        paths.into_iter().map(|place| self.routes[place].pace()).sum()
    }

    pub fn window(&self) -> f64 {
        self.routes.iter().map(|route| route.window(self.size)).sum()
    }

    fn place(&self, label: u32) -> Option<usize> {
        self.routes.iter().position(|route| route.label == label)
    }

    fn others(&self, label: u32) -> f64 {
        self.routes.iter().filter(|route| route.label != label).map(|route| route.advertised).sum()
    }

    /// Whose turn it is: each with room collects its share, the one with most goes and pays one. The label that the
    /// Interest carries; `found` is the one that it did, which decides where rounding does.
    fn turn(&mut self, found: u32) -> u32 {
        let open = self.open();
        let sum: f64 = open.iter().map(|&place| self.routes[place].pace() / MBIT).sum();
        for &place in &open {
            self.routes[place].credit += self.routes[place].pace() / MBIT / sum;
        }
        let most = open.iter().map(|&place| self.routes[place].credit).fold(f64::NEG_INFINITY, f64::max);
        let has_most = |place: &usize, less: f64| self.routes[*place].credit >= most - less;
        let as_found = |place: &usize| has_most(place, 1e-9) && self.routes[*place].label == found;
        let first =
            open.iter().find(|place| as_found(place)).or_else(|| open.iter().find(|place| has_most(place, 0.0)));
        let &first = first.unwrap();
        self.routes[first].credit -= 1.0;
        self.requests += 1;
        if self.requests.is_multiple_of(100) { NONE } else { self.routes[first].label }
    }

    /// An Interest leaves. The label that it carries; `found` is the one that it did.
    pub fn on_sent(&mut self, now: u64, segment: u64, found: u32) -> u32 {
        let label = self.turn(found);
        self.sent.insert(segment, (label, now));
        *self.in_flight.entry(label).or_default() += 1;
        let Some(place) = self.place(label) else { return label };
        let route = &self.routes[place];
        let begins = route.srtt > 0.0
            && route.intervals.last().is_none_or(|last| match last.counts {
                true => last.sent >= 5.0 && (now - last.first) as f64 >= last.lasts,
                false => route.counted() == 0,
            });
        if begins {
            let (counted, probes) = (route.counted(), route.probes());
            let probing = route.phase == Phase::Probing && counted < 4;
            if probing && probes[1] == probes[0] / 2.0 {
                self.did.push(Did::LowerProbeHalved);
            }
            let lower = |place: usize| usize::from(route.higher_first[place / 2] == (place % 2 == 1));
            let rate = if probing { probes[lower(counted)] } else { route.rate };
            let counts = counted < route.wanted();
            self.begin(place, rate, counts, now);
        }
        if let Some(interval) = self.routes[place].intervals.last_mut() {
            interval.open.insert(segment);
            interval.sent += 1.0;
            interval.last = now;
        }
        label
    }

    fn begin(&mut self, place: usize, rate: f64, counts: bool, now: u64) {
        let route = &mut self.routes[place];
        route.intervals.retain(|interval| interval.counts);
        route.intervals.push(Interval {
            rate: rate.max(0.2 * MBIT),
            counts,
            first: now,
            last: now,
            lasts: 1.5 * route.srtt,
            open: BTreeSet::new(),
            sent: 0.0,
            lost: 0.0,
            samples: Vec::new(),
        });
    }

    fn answered(&mut self, segment: u64, sent: u64, rtt: Option<u64>, lost: bool, place: usize) {
        for interval in &mut self.routes[place].intervals {
            if interval.open.remove(&segment) {
                interval.lost += f64::from(u8::from(lost));
                interval.samples.extend(rtt.map(|rtt| (sent as f64, rtt as f64)));
            }
        }
    }

    fn release(&mut self, segment: u64) -> (u32, u64) {
        let (on, sent) = self.sent.remove(&segment).unwrap();
        *self.in_flight.get_mut(&on).unwrap() -= 1;
        (on, sent)
    }

    pub fn on_data(&mut self, now: u64, segment: u64, rtt: Option<u64>, label: u32) {
        self.size = SIZE as f64;
        if self.routes.len() == 1 && !self.routes[0].received {
            self.routes[0].label = label;
            self.sent.values_mut().for_each(|(on, _)| *on = label);
            self.in_flight = BTreeMap::from([(label, self.sent.len() as u32)]);
        }
        let (on, sent) = self.release(segment);
        if let Some(place) = self.place(on) {
            self.answered(segment, sent, rtt.filter(|_| on == label), false, place);
        }
        let others = self.others(label);
        let only = self.routes.len() == 1;
        self.routes.retain(|route| only || route.label == label || now - route.heard < 2_000_000_000);
        if self.place(label).is_none() {
            if self.routes.len() == 16 {
                let oldest = self.routes.iter().map(|route| route.heard).min().unwrap();
                let place = self.routes.iter().position(|route| route.heard == oldest).unwrap();
                self.routes.remove(place);
            }
            self.routes.push(Route::new(label, now, others));
        }
        let place = self.place(label).unwrap();
        let route = &mut self.routes[place];
        (route.heard, route.quiet, route.received) = (now, Some(now), true);
        if let Some(rtt) = rtt {
            let rtt = rtt as f64;
            route.srtt = if route.srtt == 0.0 { rtt } else { route.srtt + (rtt - route.srtt) / 8.0 };
        }
        if on != label {
            self.settle(now, on);
        }
        self.settle(now, label);
    }

    /// An Interest failed: `lost` unless a NACK said something else, `timeout` if it was one.
    pub fn on_failure(&mut self, now: u64, segment: u64, lost: bool, timeout: bool) {
        let (on, sent) = self.release(segment);
        let Some(place) = self.place(on) else { return };
        self.answered(segment, sent, None, lost, place);
        let route = &mut self.routes[place];
        if timeout && route.quiet.is_none_or(|quiet| sent > quiet) {
            let halved = route.rate / 2.0;
            route.set(halved, &mut self.did);
            (route.quiet, route.advertised) = (Some(now), route.rate);
            route.probe(route.others, &mut self.chance);
            route.intervals.clear();
            self.did.push(Did::Silent);
        }
        self.settle(now, on);
    }

    /// Decides for a path if its intervals are answered or overdue.
    fn settle(&mut self, now: u64, label: u32) {
        let others = self.others(label);
        let Some(place) = self.place(label) else { return };
        let (latency, did) = (self.latency, &mut self.did);
        let route = &mut self.routes[place];
        let overdue = |interval: &Interval| (now - interval.last) as f64 > 4.0 * interval.lasts;
        let waits = |interval: &Interval| interval.counts && !interval.open.is_empty() && !overdue(interval);
        let waits = route.intervals.iter().any(waits);
        if waits || route.counted() == 0 || route.intervals.last().is_none_or(|last| last.counts) {
            return;
        }
        let goes_on = route.intervals.pop().unwrap();
        let mut counted = std::mem::replace(&mut route.intervals, vec![goes_on]);
        counted.iter_mut().for_each(|interval| interval.lost += interval.open.len() as f64);
        let starting = route.phase == Phase::Starting;
        let judged: Vec<(f64, f64)> =
            counted.iter().map(|interval| (interval.rate, interval.utility(route.others, latency, starting))).collect();
        let braked = counted.iter().filter(|interval| interval.loss().1).count();
        match route.phase {
            Phase::Starting => {
                if judged[0].1 > route.before.1 && counted[0].asked() > 0.9 * route.rate {
                    (route.before, route.tries) = (judged[0], 2);
                    route.rate *= 2.0;
                    did.push(Did::Doubled);
                } else if route.tries > 0 {
                    route.tries -= 1;
                    did.push(Did::Tried);
                } else {
                    route.rate = route.before.0;
                    route.probe(others, &mut self.chance);
                    did.push(Did::Started);
                }
            }
            Phase::Probing => {
                let gradients = [gradient(judged[0], judged[1]), gradient(judged[2], judged[3])];
                let agrees = gradients[0] * gradients[1] > 0.0;
                let mut change = 0.0;
                if braked > 2 {
                    change = -route.rate / 2.0;
                    did.push(Did::BrakedInProbing);
                } else if agrees {
                    let least = gradients[0].abs().min(gradients[1].abs());
                    change = route.step(least * gradients[0].signum(), did);
                }
                let rate = route.rate;
                route.decision = if change == 0.0 { 0.0 } else { change.signum() };
                route.set(route.rate + change, did);
                route.advertised = route.rate;
                if route.rate == rate {
                    route.probe(others, &mut self.chance);
                    did.push(Did::Disagreed);
                } else {
                    route.before = judged[usize::from(judged[1].1 < judged[0].1)];
                    route.phase = Phase::Moving;
                    did.push(Did::Agreed);
                }
            }
            Phase::Moving => {
                let gradient = if braked > 0 { 0.0 } else { gradient(judged[0], route.before) };
                let change = if gradient == 0.0 { 0.0 } else { route.step(gradient, did) };
                route.before = judged[0];
                if braked > 0 {
                    route.set(route.rate / 2.0, did);
                    did.push(Did::Braked);
                } else if change != 0.0 && change.signum() == route.decision {
                    route.set(route.rate + change, did);
                    did.push(Did::Moved);
                    return;
                } else {
                    did.push(Did::Stayed);
                }
                route.probe(others, &mut self.chance);
            }
        }
    }
}
