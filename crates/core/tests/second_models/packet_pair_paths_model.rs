//! The first window from packet pairs (Shi, Li, Wu, ICN 2019, §2) over one and several paths, as the paper and the page
//! have it, under AIMD with ConsumerPcon's reaction; a second model. It was written from these; which Data are a pair,
//! the order of the reasons, and that nothing cuts before segment 1, it has from the page as it is since.

use std::collections::BTreeMap;

/// What the model takes from the tables `startup` and `reaction`; times in ns.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    pub pairs: u64,
    pub attempts: u64,
    pub min_gap: u64,
    pub cap: f64,
    pub tolerance: f64,
    /// Whether marks, losses and NACKs for congestion cut: never, once per window, always.
    pub marks: React,
    pub losses: React,
    pub nacks: React,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum React {
    Never,
    Once,
    Always,
}

/// Why a pair does not count, by the page's numbers.
const MARKED: u64 = 1;
const DISORDERED: u64 = 2;
const SPLIT: u64 = 3;
const RETRANSMITTED: u64 = 4;
const ROUND_TRIPS: u64 = 5;

/// One Data as the model needs it; times in ns.
#[derive(Clone, Copy)]
pub struct Arrived {
    pub now: u64,
    pub segment: u64,
    /// None if the segment was requested more than once.
    pub rtt: Option<u64>,
    pub label: u32,
    pub mark: bool,
    pub bytes: u64,
}

/// A path by its label.
#[derive(Default)]
struct Route {
    data: u64,
    /// Two Data came over it in a row.
    in_a_row: bool,
    counted: u64,
    estimate: Option<f64>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Counted,
    Attempts,
    NoneCounted,
    Reached,
    Cut,
}

pub struct Model {
    given: Given,
    pub window: f64,
    threshold: f64,
    /// Signals once per window count again beyond this segment.
    recovery: f64,
    highest: Option<u64>,
    pub searching: bool,
    pub end: Option<End>,
    /// When the latest Interest for a segment left.
    left: BTreeMap<u64, u64>,
    /// The latest Data, and the least round trip before it.
    last: Option<(Arrived, Option<u64>)>,
    looked_at: u64,
    routes: BTreeMap<u32, Route>,
    least_rtt: Option<u64>,
    /// Key, number and value of each record.
    pub records: Vec<(&'static str, u64, f64)>,
}

impl Model {
    pub fn new(given: Given) -> Model {
        Model {
            given,
            window: 1.0,
            threshold: 1e7,
            recovery: 0.0,
            highest: None,
            searching: true,
            end: None,
            left: BTreeMap::new(),
            last: None,
            looked_at: 0,
            routes: BTreeMap::new(),
            least_rtt: None,
            records: Vec::new(),
        }
    }

    pub fn on_sent(&mut self, now: u64, segment: u64) {
        self.left.insert(segment, now);
    }

    /// A signal of congestion, reacted to or not.
    pub fn signal(&mut self, react: React, next: u64) {
        let waits = self.highest.unwrap_or(0) as f64 <= self.recovery;
        if react == React::Never || react == React::Once && waits {
            return;
        }
        if react == React::Once {
            let next = next as f64;
            self.recovery = next + 0.5 * (next - self.highest.unwrap_or(0) as f64);
        }
        self.window = (self.window * 0.5).max(1.0);
        self.threshold = self.window;
        self.records.push(("decrease", 0, self.window));
        if self.searching {
            self.finish(End::Cut);
        }
    }

    fn finish(&mut self, end: End) {
        self.searching = false;
        self.end = Some(end);
    }

    pub fn on_data(&mut self, data: Arrived, next: u64) {
        self.highest = Some(self.highest.map_or(data.segment, |highest| highest.max(data.segment)));
        if data.mark {
            self.signal(self.given.marks, next);
        } else {
            self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        }
        if self.searching {
            self.search(data);
        }
        if let Some(rtt) = data.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    fn search(&mut self, data: Arrived) {
        let known = self.routes.contains_key(&data.label) || self.routes.len() < 16;
        if known {
            let route = self.routes.entry(data.label).or_default();
            route.data += 1;
            route.in_a_row |= self.last.is_some_and(|(last, _)| last.label == data.label);
        }
        let before = self.last.replace((data, self.least_rtt));
        if let Some((first, least)) = before.filter(|(first, _)| self.left_together(first.segment, data.segment)) {
            self.look_at(first, data, least);
        }
        self.decide();
    }

    /// Whether two neighbours' Interests left back to back.
    fn left_together(&self, one: u64, other: u64) -> bool {
        one.abs_diff(other) == 1 && self.left.get(&one) == self.left.get(&other)
    }

    fn look_at(&mut self, first: Arrived, second: Arrived, least: Option<u64>) {
        self.looked_at += 1;
        let shorter =
            |rtt: u64| least.is_some_and(|least| (rtt as f64) < (least as f64 * (1.0 - self.given.tolerance)).round());
        let fault = match (first.rtt, second.rtt) {
            (None, _) | (_, None) => RETRANSMITTED,
            _ if first.mark || second.mark => MARKED,
            _ if second.segment < first.segment || second.now == first.now => DISORDERED,
            _ if first.label != second.label => SPLIT,
            (Some(one), Some(other)) if second.label == 0 && shorter(one) && !shorter(other) => ROUND_TRIPS,
            _ => 0,
        };
        if fault > 0 {
            self.records.push(("pair-discarded", self.looked_at, fault as f64));
            return;
        }
        let gap = (second.now - first.now).max(self.given.min_gap) as f64;
        let window = (first.now - self.left[&first.segment]) as f64 / gap;
        self.records.push(("pair-window", self.looked_at, window));
        self.records.push(("pair-rate", self.looked_at, second.bytes as f64 * 8e9 / gap));
        if let Some(route) = self.routes.get_mut(&second.label) {
            route.counted += 1;
            route.estimate = Some(route.estimate.map_or(window, |least| least.min(window)));
        }
    }

    /// The window that overfills no path with an estimate.
    fn allowed(&self) -> Option<f64> {
        let known = || self.routes.values().filter_map(|route| Some((route.data as f64, route.estimate?)));
        let all: f64 = known().map(|(data, _)| data).sum();
        known().map(|(data, estimate)| estimate * all / data).min_by(f64::total_cmp)
    }

    fn decide(&mut self) {
        let wanted = |route: &Route| route.in_a_row && route.counted < self.given.pairs;
        let Some(allowed) = self.allowed() else {
            if self.looked_at >= self.given.attempts {
                self.finish(End::NoneCounted);
            }
            return;
        };
        let end = if !self.routes.values().any(wanted) {
            End::Counted
        } else if self.looked_at >= self.given.attempts {
            End::Attempts
        } else if self.window >= allowed {
            End::Reached
        } else {
            return;
        };
        self.finish(end);
        self.window = self.window.max(allowed.min(self.given.cap));
        self.threshold = self.window;
        self.records.push(("startup-window", 0, self.window));
    }
}
