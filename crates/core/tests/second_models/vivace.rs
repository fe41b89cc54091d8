//! PCC Vivace by its page and the authors' code (PCCproject/PCC-Uspace, 98ac946 and 30c2cfe); a second model, and the
//! component beside it. Which side of a pair of probes comes first is chance; the model takes it from what was sent.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::path::SIZE;
use crate::{MS, near, uneven};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::packet::NackReason;
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    Starting,
    Probing,
    Moving,
}

/// An interval: Mbit/s and ns.
struct Interval {
    rate: f64,
    counts: bool,
    first: u64,
    last: u64,
    lasts: u64,
    open: Vec<u64>,
    sent: f64,
    lost: f64,
    samples: Vec<(f64, f64)>,
}

/// The slope of round-trip times over the times of their Interests.
pub fn slope(samples: &[(f64, f64)]) -> f64 {
    let n = samples.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| samples.iter().map(part).sum::<f64>() / n;
    let (x, y) = (mean(|sample| sample.0), mean(|sample| sample.1));
    let above: f64 = samples.iter().map(|sample| (sample.0 - x) * (sample.1 - y)).sum();
    let below: f64 = samples.iter().map(|sample| (sample.0 - x).powi(2)).sum();
    if below > 0.0 { above / below } else { 0.0 }
}

impl Interval {
    fn utility(&self) -> f64 {
        let x = (self.sent - 1.0) * SIZE as f64 * 8e3 / (self.last - self.first) as f64;
        let g = (slope(&self.samples) / 0.02).trunc() * 0.02;
        libm::pow(x, 0.9) - 900.0 * x * g - 11.35 * x * self.lost / self.sent
    }
}

struct Model {
    phase: Phase,
    rate: f64,
    /// Rate and utility of the interval before.
    before: (f64, f64),
    change: f64,
    same: f64,
    bound: f64,
    intervals: Vec<Interval>,
    /// When what is in flight left, and when a timeout before the first answer halved the rate last.
    left: BTreeMap<u64, u64>,
    halved: u64,
    /// Doublings, probes that agreed and that did not, moves on, turns, halvings by loss, and by silence.
    seen: [u32; 7],
}

impl Model {
    fn new() -> Model {
        let (phase, before) = (Phase::Starting, (0.0, 0.0));
        Model {
            phase,
            rate: 1.12,
            before,
            change: 0.0,
            same: 0.0,
            bound: 0.0,
            intervals: Vec::new(),
            left: BTreeMap::new(),
            halved: 0,
            seen: [0; 7],
        }
    }

    /// A timeout before the first answer: N's monitors time out, each of which halves the rate.
    fn on_silence(&mut self, now: u64, segment: u64) {
        if self.left[&segment] > self.halved {
            self.rate = (self.rate / 2.0).max(0.5);
            self.halved = now;
            self.seen[6] += 1;
        }
    }

    /// An Interest leaves; `rate` is that at which the next will follow.
    fn on_sent(&mut self, now: u64, segment: u64, srtt: u64, rate: f64) {
        self.left.insert(segment, now);
        let wanted = if self.phase == Phase::Probing { 4 } else { 1 };
        let over = |interval: &Interval| interval.sent >= 5.0 && now - interval.first >= interval.lasts;
        if srtt > 0 && self.intervals.last().is_none_or(|last| last.counts && over(last)) {
            let counts = self.intervals.len() < wanted;
            let expected = match self.intervals.len() {
                _ if !counts || self.phase != Phase::Probing => self.rate,
                place if place % 2 == 1 => 2.0 * self.rate - self.intervals[place - 1].rate,
                _ => self.rate * if rate > self.rate { 1.05 } else { 0.95 },
            };
            assert!(near(rate, expected, 1e-4), "{:?} at {now} ns: {rate} instead of {expected}", self.phase);
            self.intervals.push(Interval {
                rate: expected,
                counts,
                first: now,
                last: now,
                lasts: srtt,
                open: Vec::new(),
                sent: 0.0,
                lost: 0.0,
                samples: Vec::new(),
            });
        }
        let expected = self.intervals.last().map_or(self.rate, |interval| interval.rate);
        assert!(near(rate, expected, 1e-4), "{:?} at {now} ns: {rate} instead of {expected}", self.phase);
        if let Some(interval) = self.intervals.last_mut() {
            interval.open.push(segment);
            interval.sent += 1.0;
            interval.last = now;
        }
    }

    fn on_answer(&mut self, now: u64, segment: u64, sent: u64, rtt: Option<u64>, lost: bool) {
        for interval in &mut self.intervals {
            if let Some(place) = interval.open.iter().position(|other| *other == segment) {
                interval.open.remove(place);
                interval.lost += f64::from(u8::from(lost));
                interval.samples.extend(rtt.map(|rtt| (sent as f64, rtt as f64)));
            }
        }
        self.settle(now);
    }

    /// What is answered or overdue is judged.
    fn settle(&mut self, now: u64) {
        let wanted = if self.phase == Phase::Probing { 4 } else { 1 };
        for interval in &mut self.intervals {
            if !interval.open.is_empty() && now > interval.last + 4 * interval.lasts {
                interval.lost += interval.open.len() as f64;
                interval.open.clear();
            }
        }
        let counted = self.intervals.iter().filter(|interval| interval.counts);
        if self.intervals.len() <= wanted || counted.clone().any(|interval| !interval.open.is_empty()) {
            return;
        }
        let judged: Vec<(f64, f64)> = counted.clone().map(|interval| (interval.rate, interval.utility())).collect();
        let collapsed = counted.clone().any(|interval| interval.lost > 0.5 * interval.sent);
        self.intervals.clear();
        if collapsed {
            self.rate = (self.rate / 2.0).max(0.5);
            (self.same, self.bound, self.change) = (0.0, 0.0, 0.0);
            self.phase = Phase::Probing;
            self.seen[5] += 1;
            return;
        }
        match self.phase {
            Phase::Starting => {
                if judged[0].1 > self.before.1 {
                    self.rate *= 2.0;
                    self.before = judged[0];
                    self.seen[0] += 1;
                } else {
                    self.rate = (self.rate / 2.0).max(0.5);
                    self.phase = Phase::Probing;
                }
            }
            Phase::Probing => {
                let slope = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
                let slopes = [slope(&judged[..2]), slope(&judged[2..])];
                if slopes[0] * slopes[1] <= 0.0 {
                    (self.same, self.bound) = (0.0, 0.0);
                    self.seen[2] += 1;
                    return;
                }
                self.before = (self.rate, judged.iter().map(|judged| judged.1).sum::<f64>() / 4.0);
                self.step((slopes[0] + slopes[1]) / 2.0);
                self.phase = Phase::Moving;
                self.seen[1] += 1;
            }
            Phase::Moving => {
                let (rate, utility) = judged[0];
                let gradient = (utility - self.before.1) / (rate - self.before.0);
                let turned = gradient * self.change <= 0.0;
                self.before = judged[0];
                self.step(gradient);
                if turned {
                    self.phase = Phase::Probing;
                }
                self.seen[if turned { 4 } else { 3 }] += 1;
            }
        }
    }

    fn step(&mut self, gradient: f64) {
        if gradient * self.change < 0.0 {
            (self.same, self.bound) = (0.0, 0.0);
        }
        let t = self.same;
        let amplifier = match t {
            _ if t < 3.0 => t + 1.0,
            _ if t < 6.0 => 2.0 * t - 2.0,
            _ if t < 9.0 => 4.0 * t - 14.0,
            _ => 8.0 * t - 50.0,
        };
        let most = (0.05 + 0.06 * self.bound) * self.rate;
        let mut change = gradient * amplifier;
        if change.abs() > most {
            change = most.copysign(change);
            self.bound += 1.0;
        } else {
            self.bound = (self.bound - 1.0).max(0.0);
        }
        self.change = change.abs().max(0.5).copysign(change);
        self.same += 1.0;
        self.rate = (self.rate + self.change).max(0.5);
    }
}

fn compare(script: impl FnMut(&Request) -> Fate, seconds: u64) -> [u32; 7] {
    let (mut fetch, mut model) = (Fetch::new("vivace", &json!({}), script), Model::new());
    while fetch.now < seconds * 1000 * MS {
        let step = fetch.step();
        let (now, srtt) = (fetch.now, fetch.seen.srtt.nanos());
        match step {
            Step::Sent { segment, .. } => {
                let gap = fetch.consumer.pacing(&fetch.flight).unwrap().nanos() as f64;
                // Before the first Data a size of 1400 B is assumed.
                let size = if fetch.flight.highest_received.is_some() { SIZE } else { 1400 };
                model.on_sent(now, segment, srtt, size as f64 * 8e3 / gap);
            }
            Step::Data { segment, sent, rtt, .. } => model.on_answer(now, segment, sent, rtt, false),
            Step::Failed { kind, segment } => {
                let lost = !kind.is_other_nack();
                if srtt == 0 && kind == Congestion::Timeout {
                    model.on_silence(now, segment);
                }
                model.on_answer(now, segment, 0, None, lost);
            }
            Step::Woken => {}
        }
    }
    model.seen
}

/// 10 Mbit/s, 4 Mbit/s for every other four seconds, 30 ms, and a queue that holds 60 ms.
fn changing() -> impl FnMut(&Request) -> Fate {
    let mut link = Link::default();
    move |request| {
        if link.wait(request.now) > 60 * MS {
            return Fate::Fails { at: request.now + 200 * MS, kind: Congestion::Loss };
        }
        let service = if (request.now / (4000 * MS)).is_multiple_of(2) { MS } else { 5 * MS / 2 };
        Fate::data(link.transmit(request.now, uneven(service, request.now)) + 30 * MS)
    }
}

#[test]
fn vivace_agrees_with_its_authors_code_where_the_rate_of_the_path_changes() {
    let seen = compare(changing(), 40);
    assert!(seen[0] >= 2 && seen[1..5].iter().all(|&n| n >= 5), "{seen:?}");
}

#[test]
fn vivace_agrees_with_its_authors_code_through_losses_and_silence() {
    let mut path = changing();
    let other = Congestion::Nack { reason: NackReason::Duplicate, marked: false };
    let seen = compare(
        |request| match request.now / (1000 * MS) % 10 {
            0..=2 if request.now < 3000 * MS => Fate::Fails { at: request.now + 1000 * MS, kind: Congestion::Timeout },
            6 if request.number % 40 == 0 => Fate::Fails { at: request.now + 5 * MS, kind: other },
            4 | 5 if request.number % 3 > 0 => Fate::Fails { at: request.now + 200 * MS, kind: Congestion::Timeout },
            8 => Fate::Fails { at: request.now + 400 * MS, kind: Congestion::Timeout },
            _ => path(request),
        },
        40,
    );
    assert!(seen[5] >= 5 && seen[6] >= 2, "{seen:?}");
}
