//! The coupled windows of multipath TCP as their documents describe them: LIA (RFC 6356 §§3, 4), OLIA (Khalili et al.,
//! draft-khalili-mptcp-congestion-control) and BALIA (Peng et al., draft-walid-mptcp-congestion-control), with the
//! rules of a path as the component's page has them; a second model, and the component beside it.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::{MS, near};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::packet::NackReason;
use serde_json::json;
use std::collections::BTreeMap;

struct Subflow {
    label: u32,
    window: f64,
    threshold: f64,
    srtt: Option<f64>,
    in_flight: u32,
    heard: u64,
    /// When it was last cut.
    cut: Option<u64>,
    /// Data since the last cut, and between the last two.
    since: u64,
    between: u64,
}

impl Subflow {
    fn new(label: u32, now: u64) -> Subflow {
        let (window, threshold, srtt, cut) = (2.0, f64::INFINITY, None, None);
        Subflow { label, window, threshold, srtt, in_flight: 0, heard: now, cut, since: 0, between: 0 }
    }
}

/// A subflow with a round-trip time: its window and that time in seconds.
#[derive(Clone, Copy)]
struct Share {
    label: u32,
    window: f64,
    rtt: f64,
    /// OLIA's l: Data between losses.
    run: f64,
}

struct Model {
    law: &'static str,
    paths: Vec<Subflow>,
    /// By segment: the label it was sent on, and when.
    sent: BTreeMap<u64, (u32, u64)>,
    /// Growth by the coupled law, cuts, cuts not counted, timeouts, negative gains, gains of less than TCP's.
    seen: [u32; 6],
}

impl Model {
    fn new(law: &'static str) -> Model {
        Model { law, paths: vec![Subflow::new(0, 0)], sent: BTreeMap::new(), seen: [0; 6] }
    }

    fn place(&self, label: u32) -> Option<usize> {
        self.paths.iter().position(|path| path.label == label)
    }

    fn shares(&self) -> Vec<Share> {
        let share = |path: &Subflow| {
            let run = path.since.max(path.between) as f64;
            path.srtt.map(|rtt| Share { label: path.label, window: path.window, rtt: rtt / 1e9, run })
        };
        self.paths.iter().filter_map(share).collect()
    }

    /// What a Data adds to the window of a subflow in congestion avoidance.
    fn gain(&self, label: u32) -> f64 {
        let all = self.shares();
        let window = self.paths[self.place(label).unwrap()].window;
        let Some(own) = all.iter().find(|share| share.label == label) else { return 1.0 / window };
        let total = all.iter().map(|s| s.window / s.rtt).sum::<f64>().powi(2);
        match self.law {
            // RFC 6356 §3 and equation 2: α/cwnd_total is the factor of each path, at most TCP's own.
            "lia" => {
                let best = all.iter().map(|s| s.window / (s.rtt * s.rtt)).fold(0.0, f64::max);
                (best / total).min(1.0 / own.window)
            }
            "olia" => own.window / (own.rtt * own.rtt) / total + alpha(&all, own) / own.window,
            _ => {
                let rate = own.window / own.rtt;
                let ratio = all.iter().map(|s| s.window / s.rtt).fold(0.0, f64::max) / rate;
                rate / own.rtt / total * (1.0 + ratio) / 2.0 * (4.0 + ratio) / 5.0
            }
        }
    }

    /// What a cut leaves of a subflow's window.
    fn remains(&self, place: usize) -> f64 {
        let path = &self.paths[place];
        let all = self.shares();
        let share = all.iter().find(|share| share.label == path.label);
        let part = match (self.law, share) {
            ("balia", Some(own)) => {
                let rate = |s: &Share| s.window / s.rtt;
                let most = all.iter().map(rate).fold(0.0, f64::max);
                (most / rate(own)).min(1.5)
            }
            _ => 1.0,
        };
        let least = if self.law != "lia" && self.paths.len() > 1 { 1.0 } else { 2.0 };
        (path.window - path.window / 2.0 * part).max(least)
    }

    /// A signal of congestion on a subflow, by an Interest of the time `sent`.
    fn congested(&mut self, now: u64, label: u32, sent: u64, timeout: bool) {
        let Some(place) = self.place(label) else { return };
        if self.paths[place].cut.is_some_and(|cut| sent < cut) {
            self.seen[2] += 1;
            return;
        }
        let left = self.remains(place);
        let path = &mut self.paths[place];
        (path.cut, path.between, path.since) = (Some(now), path.since, 0);
        (path.threshold, path.window) = (left, if timeout { 1.0 } else { left });
        self.seen[if timeout { 3 } else { 1 }] += 1;
    }

    fn on_data(&mut self, now: u64, segment: u64, rtt: Option<u64>, label: u32, mark: bool) {
        let (on, sent) = self.sent.remove(&segment).unwrap();
        if let Some(place) = self.place(on) {
            self.paths[place].in_flight -= 1;
        }
        if self.paths.len() == 1 && self.paths[0].label == 0 {
            self.paths[0].label = label;
            self.sent.values_mut().for_each(|(on, _)| *on = label);
        }
        self.paths.retain(|path| path.label == label || now - path.heard < 2000 * MS);
        let place = self.place(label).unwrap_or_else(|| {
            self.paths.push(Subflow::new(label, now));
            self.paths.len() - 1
        });
        let path = &mut self.paths[place];
        path.heard = now;
        if let Some(rtt) = rtt {
            let rtt = rtt as f64;
            path.srtt = Some(path.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
        }
        path.since += 1;
        if mark {
            return self.congested(now, label, sent, false);
        }
        if path.window < path.threshold {
            path.window += 1.0;
            return;
        }
        let (gain, alone) = (self.gain(label), 1.0 / self.paths[place].window);
        self.paths[place].window += gain;
        self.seen[0] += 1;
        self.seen[4] += u32::from(gain < 0.0);
        self.seen[5] += u32::from(gain < 0.99 * alone);
    }

    fn on_failure(&mut self, now: u64, kind: Congestion, segment: u64) {
        let (on, sent) = self.sent.remove(&segment).unwrap();
        let Some(place) = self.place(on) else { return };
        self.paths[place].in_flight -= 1;
        if !kind.is_other_nack() {
            self.congested(now, on, sent, matches!(kind, Congestion::Timeout));
        }
    }

    fn on_sent(&mut self, now: u64, segment: u64, label: u32) {
        self.sent.insert(segment, (label, now));
        if let Some(place) = self.place(label) {
            self.paths[place].in_flight += 1;
        }
    }

    fn next(&self) -> u32 {
        let room = |path: &Subflow| path.window - f64::from(path.in_flight);
        let most = self.paths.iter().map(room).fold(f64::NEG_INFINITY, f64::max);
        self.paths.iter().find(|path| room(path) == most).unwrap().label
    }
}

/// OLIA's α: traffic moves from the paths with the largest windows to the best ones that have none of these.
fn alpha(all: &[Share], own: &Share) -> f64 {
    let largest = |value: &dyn Fn(&Share) -> f64| -> Vec<u32> {
        let most = all.iter().map(value).fold(0.0, f64::max);
        all.iter().filter(|s| value(s) == most).map(|s| s.label).collect()
    };
    let best = largest(&|s| s.run / (s.rtt * s.rtt));
    let widest = largest(&|s| s.window.floor());
    let collected: Vec<u32> = best.into_iter().filter(|label| !widest.contains(label)).collect();
    let n = all.len() as f64;
    if collected.is_empty() {
        0.0
    } else if collected.contains(&own.label) {
        1.0 / (n * collected.len() as f64)
    } else if widest.contains(&own.label) {
        -1.0 / (n * widest.len() as f64)
    } else {
        0.0
    }
}

fn compare(law: &'static str, script: impl FnMut(&Request) -> Fate, seconds: u64) -> [u32; 6] {
    let mut fetch = Fetch::new("coupled", &json!({ "coupling": law }), script);
    let mut model = Model::new(law);
    while fetch.now < seconds * 1000 * MS {
        let next = model.next();
        let step = fetch.step();
        let now = fetch.now;
        match step {
            Step::Sent { segment, label } => {
                assert!(label == 0 || label == next, "{law} at {now} ns: on {label} instead of {next}");
                model.on_sent(now, segment, label);
            }
            Step::Data { segment, rtt, label, mark, .. } => model.on_data(now, segment, rtt, label, mark),
            Step::Failed { kind, segment } => model.on_failure(now, kind, segment),
            Step::Woken => {}
        }
        let window = fetch.consumer.window();
        let sum: f64 = model.paths.iter().map(|path| path.window).sum();
        // The component keeps round-trip times in whole nanoseconds.
        assert!(near(window, sum, 1e-6), "{law}, {step:?} at {now} ns: {window} instead of {sum}");
    }
    model.seen
}

/// Paths of unlike rate and delay that mark what waits for 8 ms and lose what would wait for 60; an Interest without a
/// label takes one in turn. Some Interests time out, are found lost, or are rejected.
fn paths(count: usize, second_ends: u64) -> impl FnMut(&Request) -> Fate {
    let mut links: Vec<Link> = (0..count).map(|_| Link::default()).collect();
    move |request| {
        let Request { number, now, label } = *request;
        let mut path = if label == 0 { number as usize / 50 % count } else { label as usize - 11 };
        if now > second_ends && path == 1 {
            path = 0;
        }
        let nack = |reason| Congestion::Nack { reason, marked: false };
        let fails = |at: u64, kind| Fate::Fails { at: now + at * MS, kind };
        match number {
            n if n % 3001 == 3000 => return fails(300, Congestion::Timeout),
            n if n % 1501 == 1500 => return fails(60, Congestion::Loss),
            n if n % 1901 == 1900 => return fails(20, nack(NackReason::Congestion)),
            n if n % 1801 == 1800 => return fails(10, nack(NackReason::NoRoute)),
            _ => {}
        }
        let wait = links[path].wait(now);
        if wait > 60 * MS {
            return fails(100, Congestion::Loss);
        }
        let mark = u8::from(wait > 8 * MS && number.is_multiple_of(7));
        let at = links[path].transmit(now, [MS, 2 * MS, MS / 2][path]) + [40 * MS, 25 * MS, 90 * MS][path];
        Fate::Arrives { at, label: 11 + path as u32, level: 0, mark }
    }
}

#[test]
fn lia_olia_and_balia_agree_with_their_documents_over_two_and_three_paths() {
    for law in ["lia", "olia", "balia"] {
        for count in [2, 3] {
            let seen = compare(law, paths(count, u64::MAX), 40);
            assert!(seen[..3].iter().all(|&n| n >= 20) && seen[3] >= 2, "{law} {count}: {seen:?}");
            assert!(seen[5] >= 100 && (law == "olia") == (seen[4] > 0), "{law} {count}: {seen:?}");
        }
    }
}

#[test]
fn lia_olia_and_balia_agree_with_their_documents_over_one_path_and_when_a_path_ends() {
    for law in ["lia", "olia", "balia"] {
        let seen = compare(law, paths(1, u64::MAX), 20);
        assert!(seen[..3].iter().all(|&n| n >= 20) && seen[5] == 0, "TCP's own gain: {law} {seen:?}");
        compare(law, paths(2, 5000 * MS), 12);
    }
}
