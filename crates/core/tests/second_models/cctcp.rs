//! CCTCP by its page (the source states no formulas): a second model, and the component beside it.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::{MS, near, uneven};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::packet::NackReason;
use serde_json::json;
use std::collections::BTreeMap;

/// A source: its window and ndnSIM's estimator (RttMeanDeviation), times in ns.
struct Source {
    window: f64,
    slow_start: bool,
    cut: Option<u64>,
    srtt: f64,
    variation: f64,
    sampled: bool,
    multiplier: f64,
    /// When its latest Data came.
    heard: u64,
}

impl Source {
    fn new(now: u64) -> Source {
        let (srtt, variation) = (1e9, 0.0);
        Source {
            window: 2.0,
            slow_start: true,
            cut: None,
            srtt,
            variation,
            sampled: false,
            multiplier: 1.0,
            heard: now,
        }
    }

    fn sample(&mut self, rtt: f64) {
        if self.sampled {
            let error = rtt - self.srtt;
            self.srtt += error / 8.0;
            self.variation += (error.abs() - self.variation) / 4.0;
        } else {
            (self.srtt, self.variation, self.sampled) = (rtt, rtt / 2.0, true);
        }
        self.multiplier = 1.0;
    }

    fn timeout(&self) -> f64 {
        (self.multiplier * 2e8).max(self.multiplier * (self.srtt + 4.0 * self.variation)).min(2e11)
    }
}

struct Model {
    sources: BTreeMap<u32, Source>,
    present: u32,
    /// By segment, the source it is expected from.
    flight: BTreeMap<u64, u32>,
    /// Per source: the first segment in flight from it when later ones came, and how many did.
    later: BTreeMap<u32, (u64, u32)>,
    heard: bool,
    /// Cuts by three later Data, by timeout, by the rest; losses within a round trip of a cut; changes of source.
    seen: [u32; 5],
}

impl Model {
    fn new(now: u64) -> Model {
        let sources = BTreeMap::from([(0, Source::new(now))]);
        let (flight, later) = (BTreeMap::new(), BTreeMap::new());
        Model { sources, present: 0, flight, later, heard: false, seen: [0; 5] }
    }

    fn send(&mut self, segment: u64) {
        self.flight.insert(segment, self.present);
    }

    fn charge(&mut self, source: u32, now: u64, which: usize) {
        let Some(source) = self.sources.get_mut(&source) else { return };
        // Before the first sample there is no round trip that would protect it.
        let guard = if source.sampled { source.srtt } else { 0.0 };
        if source.cut.is_some_and(|cut| ((now - cut) as f64) < guard) {
            self.seen[3] += 1;
            return;
        }
        source.window = (0.5 * source.window).max(2.0);
        source.slow_start = false;
        source.cut = Some(now);
        self.seen[which] += 1;
    }

    fn on_data(&mut self, now: u64, segment: u64, rtt: Option<u64>, label: u32) {
        self.flight.remove(&segment);
        if !self.heard {
            // What was sent before the first Data is of its source.
            let first = self.sources.remove(&0).unwrap();
            self.sources.insert(label, first);
            self.flight.values_mut().for_each(|source| *source = label);
            (self.present, self.heard) = (label, true);
        }
        if self.sources.len() > 1 {
            self.sources.retain(|&other, source| other == label || now - source.heard < 2000 * MS);
        }
        self.sources.entry(label).or_insert_with(|| {
            self.later.remove(&label);
            Source::new(now)
        });
        self.seen[4] += u32::from(self.present != label);
        self.present = label;
        let source = self.sources.get_mut(&label).unwrap();
        source.heard = now;
        if let Some(rtt) = rtt {
            source.sample(rtt as f64);
        }
        source.window += if source.slow_start { 1.0 } else { 1.0 / source.window };
        let first = self.flight.iter().find(|(_, source)| **source == label).map(|(&first, _)| first);
        if let Some(first) = first.filter(|first| *first < segment) {
            let count = self.later.entry(label).or_default();
            *count = (first, if count.0 == first { count.1 + 1 } else { 1 });
            if count.1 == 3 {
                self.charge(label, now, 0);
            }
        }
    }

    fn on_failure(&mut self, now: u64, kind: Congestion, segment: u64) {
        let source = self.flight.remove(&segment).unwrap();
        if kind.is_other_nack() {
            return;
        }
        let timeout = kind == Congestion::Timeout;
        self.charge(source, now, if timeout { 1 } else { 2 });
        if let Some(source) = self.sources.get_mut(&source).filter(|_| timeout) {
            source.multiplier = (source.multiplier * 2.0).min(64.0);
        }
    }

    fn in_flight_from(&self, source: u32) -> usize {
        self.flight.values().filter(|other| **other == source).count()
    }

    /// The gate: the present source has room, or nothing is in flight.
    fn may_send(&self) -> bool {
        // What is in flight from a source that was forgotten counts against the present one.
        let others =
            self.sources.keys().filter(|source| **source != self.present).map(|&source| self.in_flight_from(source));
        let own = self.flight.len() - others.sum::<usize>();
        self.flight.is_empty() || (own as f64) < self.sources[&self.present].window
    }

    /// The longest timeout of the present source and those with Interests in flight.
    fn timeout(&self) -> f64 {
        let concerned = |(label, _): &(&u32, &Source)| **label == self.present || self.in_flight_from(**label) > 0;
        self.sources.iter().filter(concerned).map(|(_, source)| source.timeout()).fold(0.0, f64::max)
    }
}

fn compare(script: impl FnMut(&Request) -> Fate, seconds: u64) -> [u32; 5] {
    let mut fetch = Fetch::new("cctcp", &json!({}), script);
    let mut model = Model::new(fetch.now);
    while fetch.now < seconds * 1000 * MS {
        let step = fetch.step();
        match step {
            Step::Sent { segment, .. } => model.send(segment),
            Step::Data { segment, rtt, label, .. } => model.on_data(fetch.now, segment, rtt, label),
            Step::Failed { kind, segment } => model.on_failure(fetch.now, kind, segment),
            Step::Woken => {}
        }
        let (window, now) = (fetch.consumer.window(), fetch.now);
        // The component adds what is in flight from other sources, so that its gate is one number.
        let others =
            model.sources.keys().filter(|label| **label != model.present).map(|&label| model.in_flight_from(label));
        let expected = model.sources[&model.present].window + others.sum::<usize>() as f64;
        assert!(near(window, expected, 1e-12), "{step:?} at {now} ns: {window} instead of {expected}");
        assert_eq!(fetch.consumer.may_send(&fetch.flight), model.may_send(), "{step:?} at {now} ns");
        let timeout = fetch.consumer.retransmission_timeout().unwrap().nanos() as f64;
        assert!(near(timeout, model.timeout(), 1e-6), "{step:?} at {now}: {timeout} instead of {}", model.timeout());
    }
    model.seen
}

#[test]
fn cctcp_agrees_with_its_page_where_runs_of_segments_come_from_two_sources() {
    let mut links = [Link::default(), Link::default()];
    let congested = Congestion::Nack { reason: NackReason::Congestion, marked: true };
    let other = Congestion::Nack { reason: NackReason::NoRoute, marked: true };
    let seen = compare(
        |request| {
            // Runs of 300 segments from a cache at 10 ms and from the producer at 60 ms.
            let near = request.number / 300 % 2 == 0;
            let link = &mut links[usize::from(near)];
            if link.wait(request.now) > 50 * MS {
                let kind = if request.number % 3 == 0 { congested } else { Congestion::Loss };
                return Fate::Fails { at: request.now + 20 * MS, kind };
            }
            if request.number % 401 > 398 {
                return Fate::Fails { at: request.now + 250 * MS, kind: Congestion::Timeout };
            }
            if request.number % 211 == 100 {
                return Fate::Fails { at: request.now + 30 * MS, kind: Congestion::Loss };
            }
            if request.number % 307 == 60 {
                return Fate::Fails { at: request.now + 5 * MS, kind: other };
            }
            let at = link.transmit(request.now, uneven(if near { MS } else { 2 * MS }, request.now))
                + if near { 10 * MS } else { 60 * MS };
            Fate::Arrives { at, label: if near { 77 } else { 4100 }, level: 0, mark: 0 }
        },
        30,
    );
    assert!(seen.iter().all(|&n| n >= 5), "{seen:?}");
}

#[test]
fn cctcp_agrees_with_its_page_in_silence_and_when_a_source_is_forgotten() {
    let mut link = Link::default();
    let seen = compare(
        |request| {
            let second = request.now / (1000 * MS);
            if second % 10 >= 8 {
                return Fate::Fails { at: request.now + 300 * MS, kind: Congestion::Timeout };
            }
            let label = 1 + (second / 5) as u32 % 3;
            let at = link.transmit(request.now, uneven(4 * MS, request.now)) + 30 * MS * u64::from(label);
            Fate::Arrives { at, label, level: 0, mark: 0 }
        },
        40,
    );
    assert!(seen[1] >= 3 && seen[4] >= 5, "{seen:?}");
}
