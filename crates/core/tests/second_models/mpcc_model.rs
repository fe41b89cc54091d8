//! MPCC by its page and its authors' module for Linux (mpccopensource/mpcc_release, `tcp_mpcc.c`), written before the
//! component was read; a second model. What these left open it has from the page as it is since. Rates are in bytes per
//! second, times in ns.

mod route;

use crate::path::SIZE;
use ndnweir_core::ctx::Rng;
use std::collections::BTreeMap;

pub use route::{Did, MBIT};
use route::{NONE, Route};

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
        self.routes[place].on_sent(now, segment, &mut self.did);
        label
    }

    fn settle(&mut self, now: u64, label: u32) {
        let others = self.others(label);
        if let Some(place) = self.place(label) {
            self.routes[place].settle(now, others, self.latency, &mut self.chance, &mut self.did);
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
            self.routes[place].answered(segment, sent, rtt.filter(|_| on == label), false);
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
        let route = &mut self.routes[place];
        route.answered(segment, sent, None, lost);
        if timeout {
            route.on_timeout(now, sent, &mut self.chance, &mut self.did);
        }
        self.settle(now, on);
    }
}
