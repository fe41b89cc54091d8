//! The first window from packet pairs (Shi, Li, Wu, ICN 2019, §2) over one and several paths, as the paper and the page
//! have it, under AIMD with ConsumerPcon's reaction; a second model.

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

/// Two Interests that left back to back.
struct Pair {
    first: u64,
    left: u64,
    /// The Data of the first one, how many Data had come with it, and the least round trip before it.
    came: Option<(Arrived, u64, Option<u64>)>,
    /// The second one came before the first.
    turned: bool,
    again: bool,
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
    recovery: Option<f64>,
    highest: Option<u64>,
    pub searching: bool,
    pub end: Option<End>,
    last_sent: Option<(u64, u64)>,
    pairs: Vec<Pair>,
    looked_at: u64,
    routes: BTreeMap<u32, Route>,
    last_label: Option<u32>,
    data: u64,
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
            recovery: None,
            highest: None,
            searching: true,
            end: None,
            last_sent: None,
            pairs: Vec::new(),
            looked_at: 0,
            routes: BTreeMap::new(),
            last_label: None,
            data: 0,
            least_rtt: None,
            records: Vec::new(),
        }
    }

    /// An Interest left; two new ones at one instant, the one after the other, are a pair.
    pub fn on_sent(&mut self, now: u64, segment: u64, retransmission: bool) {
        if retransmission {
            self.last_sent = None;
            return;
        }
        match self.last_sent {
            Some((first, left)) if left == now && first + 1 == segment => {
                self.pairs.push(Pair { first, left, came: None, turned: false, again: false });
                self.last_sent = None;
            }
            _ => self.last_sent = Some((segment, now)),
        }
    }

    /// An Interest failed and is requested again: `cause` is what may cut the window, if anything.
    pub fn on_failure(&mut self, segment: u64, cause: Option<React>, next: u64) {
        for pair in self.pairs.iter_mut().filter(|pair| pair.first == segment || pair.first + 1 == segment) {
            pair.again = true;
        }
        if let Some(react) = cause {
            self.signal(react, next);
        }
    }

    /// A signal of congestion, reacted to or not.
    fn signal(&mut self, react: React, next: u64) {
        let waits = self.recovery.is_some_and(|point| self.highest.is_none_or(|highest| highest as f64 <= point));
        if react == React::Never || react == React::Once && waits {
            return;
        }
        if react == React::Once {
            let next = next as f64;
            self.recovery = Some(next + 0.5 * (next - self.highest.map_or(0.0, |highest| highest as f64)));
        }
        self.window = (self.window * 0.5).max(1.0);
        self.threshold = self.window;
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
        self.data += 1;
        let route = self.routes.entry(data.label).or_default();
        route.data += 1;
        route.in_a_row |= self.last_label == Some(data.label);
        self.last_label = Some(data.label);
        let (number, least) = (self.data, self.least_rtt);
        if let Some(pair) = self.pairs.iter_mut().find(|pair| pair.first == data.segment) {
            pair.came = Some((data, number, least));
        }
        let whole = |pair: &Pair| {
            let second = pair.first + 1 == data.segment && (pair.came.is_some());
            second || pair.turned && pair.first == data.segment
        };
        if let Some(place) = self.pairs.iter().position(whole) {
            let pair = self.pairs.remove(place);
            self.look_at(&pair, data);
        } else if let Some(pair) = self.pairs.iter_mut().find(|pair| pair.first + 1 == data.segment) {
            pair.turned = true;
        }
        if self.searching {
            self.decide();
        }
    }

    fn look_at(&mut self, pair: &Pair, second: Arrived) {
        self.looked_at += 1;
        let (first, place, least) = pair.came.unwrap();
        let longer = |rtt: Option<u64>| {
            let (Some(rtt), Some(least)) = (rtt, least) else { return true };
            rtt as f64 >= least as f64 * (1.0 - self.given.tolerance)
        };
        let fault = if first.mark || second.mark {
            MARKED
        } else if pair.turned || second.now <= first.now || self.data != place + 1 {
            DISORDERED
        } else if first.label != second.label {
            SPLIT
        } else if pair.again || first.rtt.is_none() || second.rtt.is_none() {
            RETRANSMITTED
        } else if second.label == 0 && !longer(first.rtt) && longer(second.rtt) {
            ROUND_TRIPS
        } else {
            0
        };
        if fault > 0 {
            self.records.push(("pair-discarded", self.looked_at, fault as f64));
            return;
        }
        let gap = (second.now - first.now).max(self.given.min_gap) as f64;
        let window = (first.now - pair.left) as f64 / gap;
        self.records.push(("pair-window", self.looked_at, window));
        self.records.push(("pair-rate", self.looked_at, second.bytes as f64 * 8e9 / gap));
        let route = self.routes.get_mut(&second.label).unwrap();
        route.counted += 1;
        route.estimate = Some(route.estimate.map_or(window, |least| least.min(window)));
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
