//! One path of the second model of MPCC: its law.

use crate::path::SIZE;
use crate::vivace::slope;
use ndnweir_core::ctx::Rng;
use std::collections::BTreeSet;

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
    SentBarelyEnough,
    SentBarelyTooLittle,
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
    pub advertised: f64,
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
    pub srtt: f64,
    /// When its last Data came, and what left until when does not count as silence.
    pub heard: u64,
    pub quiet: Option<u64>,
    pub received: bool,
    pub credit: f64,
}

impl Route {
    pub fn new(label: u32, now: u64, others: f64) -> Route {
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

    pub fn window(&self, size: f64) -> f64 {
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

    /// An Interest leaves, perhaps the first of an interval.
    pub fn on_sent(&mut self, now: u64, segment: u64, did: &mut Vec<Did>) {
        let begins = self.srtt > 0.0
            && self.intervals.last().is_none_or(|last| match last.counts {
                true => last.sent >= 5.0 && (now - last.first) as f64 >= last.lasts,
                false => self.counted() == 0,
            });
        if begins {
            let (counted, probes) = (self.counted(), self.probes());
            let probing = self.phase == Phase::Probing && counted < 4;
            if probing && probes[1] == probes[0] / 2.0 {
                did.push(Did::LowerProbeHalved);
            }
            let lower = |place: usize| usize::from(self.higher_first[place / 2] == (place % 2 == 1));
            let rate = if probing { probes[lower(counted)] } else { self.rate };
            let counts = counted < self.wanted();
            self.begin(rate, counts, now);
        }
        if let Some(interval) = self.intervals.last_mut() {
            interval.open.insert(segment);
            interval.sent += 1.0;
            interval.last = now;
        }
    }

    fn begin(&mut self, rate: f64, counts: bool, now: u64) {
        self.intervals.retain(|interval| interval.counts);
        self.intervals.push(Interval {
            rate: rate.max(0.2 * MBIT),
            counts,
            first: now,
            last: now,
            lasts: 1.5 * self.srtt,
            open: BTreeSet::new(),
            sent: 0.0,
            lost: 0.0,
            samples: Vec::new(),
        });
    }

    pub fn answered(&mut self, segment: u64, sent: u64, rtt: Option<u64>, lost: bool) {
        for interval in &mut self.intervals {
            if interval.open.remove(&segment) {
                interval.lost += f64::from(u8::from(lost));
                interval.samples.extend(rtt.map(|rtt| (sent as f64, rtt as f64)));
            }
        }
    }

    /// An Interest that left at `sent` timed out.
    pub fn on_timeout(&mut self, now: u64, sent: u64, chance: &mut Rng, did: &mut Vec<Did>) {
        if self.quiet.is_some_and(|quiet| sent <= quiet) {
            return;
        }
        self.set(self.rate / 2.0, did);
        (self.quiet, self.advertised) = (Some(now), self.rate);
        self.probe(self.others, chance);
        self.intervals.clear();
        did.push(Did::Silent);
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

    /// Decides if its intervals are answered or overdue.
    pub fn settle(&mut self, now: u64, others: f64, latency: bool, chance: &mut Rng, did: &mut Vec<Did>) {
        let overdue = |interval: &Interval| (now - interval.last) as f64 > 4.0 * interval.lasts;
        let waits = |interval: &Interval| interval.counts && !interval.open.is_empty() && !overdue(interval);
        let waits = self.intervals.iter().any(waits);
        if waits || self.counted() == 0 || self.intervals.last().is_none_or(|last| last.counts) {
            return;
        }
        let goes_on = self.intervals.pop().unwrap();
        let mut counted = std::mem::replace(&mut self.intervals, vec![goes_on]);
        counted.iter_mut().for_each(|interval| interval.lost += interval.open.len() as f64);
        let starting = self.phase == Phase::Starting;
        let judged: Vec<(f64, f64)> =
            counted.iter().map(|interval| (interval.rate, interval.utility(self.others, latency, starting))).collect();
        let braked = counted.iter().filter(|interval| interval.loss().1).count();
        match self.phase {
            Phase::Starting => {
                // Where the utility rose, what was sent decides.
                let share = counted[0].asked() / self.rate;
                if judged[0].1 > self.before.1 && (share - 0.9).abs() < 0.04 {
                    did.push(if share < 0.9 { Did::SentBarelyTooLittle } else { Did::SentBarelyEnough });
                }
                if judged[0].1 > self.before.1 && counted[0].asked() > 0.9 * self.rate {
                    (self.before, self.tries) = (judged[0], 2);
                    self.rate *= 2.0;
                    did.push(Did::Doubled);
                } else if self.tries > 0 {
                    self.tries -= 1;
                    did.push(Did::Tried);
                } else {
                    self.rate = self.before.0;
                    self.probe(others, chance);
                    did.push(Did::Started);
                }
            }
            Phase::Probing => {
                let gradients = [gradient(judged[0], judged[1]), gradient(judged[2], judged[3])];
                let agrees = gradients[0] * gradients[1] > 0.0;
                let mut change = 0.0;
                if braked > 2 {
                    change = -self.rate / 2.0;
                    did.push(Did::BrakedInProbing);
                } else if agrees {
                    let least = gradients[0].abs().min(gradients[1].abs());
                    change = self.step(least * gradients[0].signum(), did);
                }
                let rate = self.rate;
                self.decision = if change == 0.0 { 0.0 } else { change.signum() };
                self.set(self.rate + change, did);
                self.advertised = self.rate;
                if self.rate == rate {
                    self.probe(others, chance);
                    did.push(Did::Disagreed);
                } else {
                    self.before = judged[usize::from(judged[1].1 < judged[0].1)];
                    self.phase = Phase::Moving;
                    did.push(Did::Agreed);
                }
            }
            Phase::Moving => {
                let gradient = if braked > 0 { 0.0 } else { gradient(judged[0], self.before) };
                let change = if gradient == 0.0 { 0.0 } else { self.step(gradient, did) };
                self.before = judged[0];
                if braked > 0 {
                    self.set(self.rate / 2.0, did);
                    did.push(Did::Braked);
                } else if change != 0.0 && change.signum() == self.decision {
                    self.set(self.rate + change, did);
                    did.push(Did::Moved);
                    return;
                } else {
                    did.push(Did::Stayed);
                }
                self.probe(others, chance);
            }
        }
    }
}

fn gradient(one: (f64, f64), other: (f64, f64)) -> f64 {
    if ((other.0 - one.0) / one.0).abs() < 0.001 { 0.0 } else { (other.1 - one.1) / (other.0 - one.0) }
}
