//! MPCC by its page and its authors' module for Linux (mpccopensource/mpcc_release, `tcp_mpcc.c`), written before the
//! component was read; a second model. Rates are in bytes per second, times in ns. Which probe of a pair comes first is
//! chance: the model takes it from what was sent.

use crate::near;
use crate::path::SIZE;
use crate::vivace::slope;
use std::collections::BTreeMap;

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
    open: Vec<u64>,
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
    /// Rate and utility of the interval to compare with.
    before: (f64, f64),
    tries: u32,
    /// The last probing decision: up, down or neither.
    decision: f64,
    amplifier: f64,
    bound: f64,
    swing: f64,
    intervals: Vec<Interval>,
    srtt: Option<f64>,
    in_flight: u32,
    heard: u64,
    /// When silence last halved the rate.
    halved: u64,
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
            before: (rate, f64::NEG_INFINITY),
            tries: 2,
            decision: 0.0,
            amplifier: 0.0,
            bound: 0.0,
            swing: 0.0,
            intervals: Vec::new(),
            srtt: None,
            in_flight: 0,
            heard: now,
            halved: 0,
            credit: 0.0,
        }
    }

    /// The rate at which it sends now.
    pub fn pace(&self) -> f64 {
        self.intervals.last().map_or(self.rate, |interval| interval.rate)
    }

    pub fn window(&self) -> f64 {
        (2.0 * self.rate * self.srtt.unwrap_or(0.0) / 1e9 / SIZE as f64).max(4.0)
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
    pub did: Vec<Did>,
}

impl Model {
    pub fn new(latency: bool, now: u64) -> Model {
        Model { latency, routes: vec![Route::new(NONE, now, 0.0)], sent: BTreeMap::new(), did: Vec::new() }
    }

    pub fn pace(&self) -> f64 {
        self.routes.iter().map(Route::pace).sum()
    }

    pub fn window(&self) -> f64 {
        self.routes.iter().map(Route::window).sum()
    }

    fn place(&self, label: u32) -> Option<usize> {
        self.routes.iter().position(|route| route.label == label)
    }

    fn others(&self, label: u32) -> f64 {
        self.routes.iter().filter(|route| route.label != label).map(|route| route.advertised).sum()
    }

    /// Whose turn it is: each collects its share, the one with most that has room goes and pays one.
    pub fn next(&mut self) -> u32 {
        let pace = self.pace();
        for route in &mut self.routes {
            route.credit += route.pace() / pace;
        }
        let mut best: Option<usize> = None;
        for (place, route) in self.routes.iter().enumerate() {
            let more = best.is_none_or(|best| route.credit > self.routes[best].credit);
            if f64::from(route.in_flight) < route.window() && more {
                best = Some(place);
            }
        }
        let best = best.unwrap();
        self.routes[best].credit -= 1.0;
        self.routes[best].label
    }

    /// An Interest left; `pace` is the sum of rates that followed.
    pub fn on_sent(&mut self, now: u64, segment: u64, label: u32, pace: f64) {
        self.sent.insert(segment, (label, now));
        let Some(place) = self.place(label) else { return };
        let rest: f64 = self.routes.iter().filter(|route| route.label != label).map(Route::pace).sum();
        let route = &mut self.routes[place];
        route.in_flight += 1;
        let over = |last: &Interval| last.sent >= 5.0 && (now - last.first) as f64 >= last.lasts;
        if let Some(srtt) = route.srtt {
            if route.intervals.last().is_none_or(|last| last.counts && over(last)) {
                let counted = route.intervals.len();
                let counts = counted < route.wanted();
                let probes = route.probes();
                let rate = match counted {
                    _ if !counts || route.phase != Phase::Probing => route.rate,
                    _ if counted % 2 == 1 => probes[0] + probes[1] - route.intervals[counted - 1].rate,
                    _ => probes[usize::from((pace - rest - probes[1]).abs() < (pace - rest - probes[0]).abs())],
                };
                if counts && route.phase == Phase::Probing && probes[1] == probes[0] / 2.0 {
                    self.did.push(Did::LowerProbeHalved);
                }
                route.intervals.push(Interval {
                    rate,
                    counts,
                    first: now,
                    last: now,
                    lasts: 1.5 * srtt,
                    open: Vec::new(),
                    sent: 0.0,
                    lost: 0.0,
                    samples: Vec::new(),
                });
            }
        }
        if let Some(interval) = route.intervals.last_mut() {
            interval.open.push(segment);
            interval.sent += 1.0;
            interval.last = now;
        }
    }

    fn answered(&mut self, now: u64, segment: u64, sent: u64, rtt: Option<u64>, lost: bool, label: u32) {
        let Some(place) = self.place(label) else { return };
        let route = &mut self.routes[place];
        route.in_flight -= 1;
        for interval in &mut route.intervals {
            if let Some(place) = interval.open.iter().position(|other| *other == segment) {
                interval.open.remove(place);
                interval.lost += f64::from(u8::from(lost));
                interval.samples.extend(rtt.map(|rtt| (sent as f64, rtt as f64)));
            }
        }
        self.settle(now, place);
    }

    pub fn on_data(&mut self, now: u64, segment: u64, rtt: Option<u64>, label: u32) {
        if self.routes.len() == 1 && self.routes[0].label == NONE {
            self.routes[0].label = label;
            self.sent.values_mut().for_each(|(on, _)| *on = label);
        }
        let (on, sent) = self.sent.remove(&segment).unwrap();
        self.routes.retain(|route| route.label == label || now - route.heard < 2_000_000_000);
        if self.place(label).is_none() && self.routes.len() < 16 {
            let others = self.others(label);
            self.routes.push(Route::new(label, now, others));
        }
        let rtt = rtt.filter(|_| on == label);
        if let Some(place) = self.place(label) {
            let route = &mut self.routes[place];
            route.heard = now;
            if let Some(rtt) = rtt {
                let rtt = rtt as f64;
                route.srtt = Some(route.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
            }
        }
        self.answered(now, segment, sent, rtt, false, on);
    }

    /// An Interest failed: `lost` unless a NACK said something else, `timeout` if it was one.
    pub fn on_failure(&mut self, now: u64, segment: u64, lost: bool, timeout: bool) {
        let (on, sent) = self.sent.remove(&segment).unwrap();
        if let Some(place) = self.place(on).filter(|_| timeout) {
            let route = &mut self.routes[place];
            if sent > route.heard && sent > route.halved {
                let halved = route.rate / 2.0;
                route.set(halved, &mut self.did);
                (route.halved, route.phase, route.advertised) = (now, Phase::Probing, route.rate);
                route.intervals.clear();
                self.did.push(Did::Silent);
            }
        }
        self.answered(now, segment, sent, None, lost, on);
    }

    /// Decides for a path if its intervals are answered or overdue.
    fn settle(&mut self, now: u64, place: usize) {
        let others = self.others(self.routes[place].label);
        let (latency, did) = (self.latency, &mut self.did);
        let route = &mut self.routes[place];
        for interval in &mut route.intervals {
            if !interval.open.is_empty() && now as f64 > interval.last as f64 + 4.0 * interval.lasts {
                interval.lost += interval.open.len() as f64;
                interval.open.clear();
            }
        }
        if route.intervals.len() <= route.wanted()
            || route.intervals.iter().any(|interval| interval.counts && !interval.open.is_empty())
        {
            return;
        }
        let counted: Vec<Interval> = route.intervals.drain(..).filter(|interval| interval.counts).collect();
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
                    (route.phase, route.others) = (Phase::Probing, others);
                    did.push(Did::Started);
                }
            }
            Phase::Probing => {
                let gradients = [gradient(judged[0], judged[1]), gradient(judged[2], judged[3])];
                let agrees = gradients[0] * gradients[1] > 0.0;
                let mut change = 0.0;
                if agrees {
                    let least = gradients[0].abs().min(gradients[1].abs());
                    change = route.step(least * gradients[0].signum(), did);
                }
                if braked > 2 {
                    change = -route.rate / 2.0;
                    did.push(Did::BrakedInProbing);
                }
                route.decision = if change == 0.0 { 0.0 } else { change.signum() };
                route.set(route.rate + change, did);
                route.advertised = route.rate;
                if change == 0.0 {
                    route.others = others;
                    did.push(Did::Disagreed);
                } else {
                    route.before = judged[usize::from(judged[1].1 < judged[0].1)];
                    route.phase = Phase::Moving;
                    did.push(Did::Agreed);
                }
            }
            Phase::Moving => {
                let gradient = gradient(judged[0], route.before);
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
                (route.phase, route.others) = (Phase::Probing, others);
            }
        }
    }

    /// Whether the sum of rates is that of the model.
    pub fn agrees(&self, pace: f64) -> bool {
        near(pace, self.pace(), 1e-4)
    }
}
