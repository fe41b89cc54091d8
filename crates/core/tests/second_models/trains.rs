//! Packet trains: the search of Hu and Steenkiste (JSAC 2003) as their tool has it (igi-ptr, `ptr-client.c`:
//! `fast_probing`, `gap_comp`, `get_competing_bw`), with the page's completions; a second model, and the startup
//! beside it.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::{MS, near, uneven};
use ndnweir_core::consumer::{Congestion, Consumer};
use serde_json::json;

const LENGTH: usize = 60;

struct Model {
    igi: bool,
    /// When the Interests of this train left and its Data came.
    left: Vec<u64>,
    came: Vec<u64>,
    gap: f64,
    bottleneck: f64,
    least_rtt: u64,
    trains: u32,
    /// The rate of the last whole train, per ns.
    rate: Option<f64>,
    done: bool,
    /// Trains after which the next distance began from the mean of both.
    jumps: u32,
}

impl Model {
    fn new(igi: bool) -> Model {
        let (left, came, gap, bottleneck, least_rtt) = (Vec::new(), Vec::new(), 0.0, 0.0, u64::MAX);
        Model { igi, left, came, gap, bottleneck, least_rtt, trains: 0, rate: None, done: false, jumps: 0 }
    }

    fn on_sent(&mut self, now: u64) {
        if self.done {
            return;
        }
        if let Some(&last) = self.left.last() {
            let gap = (now - last) as f64;
            assert!((gap - self.gap).abs() <= 1.0, "train {}: {gap} ns instead of {}", self.trains, self.gap);
        }
        self.left.push(now);
        assert!(self.left.len() <= LENGTH, "a train leaves when the one before has come back");
    }

    fn mean(times: &[u64]) -> f64 {
        (times[times.len() - 1] - times[0]) as f64 / (times.len() - 1) as f64
    }

    fn on_data(&mut self, now: u64, rtt: u64) {
        self.least_rtt = self.least_rtt.min(rtt);
        if self.done {
            return;
        }
        self.came.push(now);
        if self.came.len() < LENGTH {
            return;
        }
        let distances: Vec<f64> = self.came.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let (sent, out) = (Model::mean(&self.left), Model::mean(&self.came));
        if self.trains == 0 {
            let mut sorted = distances.clone();
            sorted.sort_by(f64::total_cmp);
            self.bottleneck = sorted[sorted.len() / 2];
            self.gap = self.bottleneck / 2.0;
        }
        let longer = |gap: &&f64| **gap > self.bottleneck.max(sent) + 5000.0;
        let others: f64 = distances.iter().filter(longer).map(|gap| gap - self.bottleneck).sum();
        self.rate =
            Some(if self.igi { (1.0 - others / distances.iter().sum::<f64>()) / self.bottleneck } else { 1.0 / out });
        self.trains += 1;
        if (self.trains > 1 && out <= 1.05 * sent) || self.trains == 8 {
            self.done = true;
            return;
        }
        if self.trains > 1 && out >= 1.5 * sent {
            self.gap = f64::midpoint(sent, out).max(self.gap);
            self.jumps += 1;
        }
        self.gap += self.bottleneck / 8.0;
        self.left.clear();
        self.came.clear();
    }

    /// The window after the search: the rate of its last whole train times the least round trip.
    fn window(&self) -> Option<f64> {
        self.rate.map(|rate| (rate * self.least_rtt as f64).clamp(1.0, 4096.0))
    }
}

/// Runs the search, and 200 Data of congestion avoidance after it.
fn compare(igi: bool, script: impl FnMut(&Request) -> Fate) -> Model {
    let estimate = if igi { "igi" } else { "ptr" };
    let params = json!({ "startup": { "kind": "packet-train", "estimate": estimate } });
    let (mut fetch, mut model, mut expected, mut after) =
        (Fetch::new("aimd", &params, script), Model::new(igi), None, 0);
    while after < 200 {
        let was_done = model.done;
        match fetch.step() {
            Step::Sent { .. } => model.on_sent(fetch.now),
            Step::Data { rtt: Some(rtt), .. } => model.on_data(fetch.now, rtt),
            Step::Failed { .. } if !model.done => {
                model.done = true;
                return model;
            }
            step => panic!("{step:?} is not of this path"),
        }
        if model.done && !was_done {
            expected = model.window();
        } else if let Some(window) = expected.as_mut().filter(|_| fetch.seen != fetch.flight) {
            // A Data after the search: congestion avoidance.
            *window += 1.0 / *window;
            after += 1;
        }
        if let Some(expected) = expected {
            let window = fetch.consumer.window();
            assert!(near(window, expected, 1e-6), "after {} trains: {window} instead of {expected}", model.trains);
        }
    }
    model
}

/// A link of 10 Mbit/s of which others take `others` of every ten packets' time; 40 ms beyond it.
fn shared(others: u64) -> impl FnMut(&Request) -> Fate {
    let (mut link, mut next) = (Link::default(), 0);
    move |request| {
        while others > 0 && next <= request.now {
            link.transmit(next, uneven(MS, next));
            next += uneven(10 * MS / others, next);
        }
        Fate::data(link.transmit(request.now, uneven(MS, request.now)) + 40 * MS)
    }
}

#[test]
fn trains_agree_with_the_authors_tool_alone_and_beside_others() {
    let alone = compare(false, shared(0));
    // Distances of 0, 5/8, then from the mean of 5/8 and 1 on 15/16, and 17/16, which comes back as it left.
    assert_eq!((alone.trains, alone.jumps), (4, 1));
    let window = alone.window().unwrap();
    // 40 ms and more at 16/17 of the link.
    assert!((window - 38.6).abs() < 2.0, "{window}");
    let beside = compare(false, shared(5));
    let window = beside.window().unwrap();
    assert!(beside.trains > 4 && window < 30.0, "{} trains, {window}", beside.trains);
    let igi = compare(true, shared(5)).window().unwrap();
    assert!((15.0..32.0).contains(&igi), "{igi}");
}

#[test]
fn trains_agree_with_the_authors_tool_on_a_path_that_grows_slower_and_slower() {
    let mut link = Link::default();
    let model = compare(false, |request| {
        let service = MS + request.number * MS / 40;
        Fate::data(link.transmit(request.now, service) + 40 * MS)
    });
    assert!(model.trains == 8 && model.jumps >= 3, "{} trains, {} jumps", model.trains, model.jumps);
}

#[test]
fn a_failed_interest_ends_the_search_with_the_rate_of_the_last_whole_train() {
    let mut link = Link::default();
    let script = |request: &Request| {
        let at = link.transmit(request.now, uneven(MS, request.now)) + 40 * MS;
        if request.number == 70 { Fate::Fails { at, kind: Congestion::Timeout } } else { Fate::data(at) }
    };
    let params = json!({ "startup": { "kind": "packet-train" } });
    let (mut fetch, mut model) = (Fetch::new("aimd", &params, script), Model::new(false));
    loop {
        match fetch.step() {
            Step::Sent { .. } => model.on_sent(fetch.now),
            Step::Data { rtt: Some(rtt), .. } => model.on_data(fetch.now, rtt),
            Step::Failed { .. } => break,
            step => panic!("{step:?} is not of this path"),
        }
    }
    // The rate of the first train fills the path; the failure itself halves that.
    let (window, found) = (fetch.consumer.window(), model.window().unwrap());
    assert!(model.trains == 1 && (near(window, found, 1e-6) || near(window, found / 2.0, 1e-6)), "{window}, {found}");
}
