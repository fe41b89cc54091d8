//! ECP: the third party's consumer and router, with the page's completions; a second model, and the components beside
//! it.

use crate::face::{Face, interest};
use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::{MS, near};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::NackReason;
use ndnweir_core::shaper::{Admission, Outcome};
use serde_json::json;
use std::collections::BTreeMap;

/// MIAIMD. Segments are numbered from 0; the source compares the highest received with the next one to be sent.
struct Model {
    window: f64,
    /// The next segment at the latest cut: Data beyond it end its guard.
    recovery: u64,
    highest: u64,
    /// Growth while FREE and BUSY; cuts by NACK, by timeout; failures that changed nothing.
    seen: [u32; 5],
}

impl Model {
    fn on_data(&mut self, segment: u64, level: u32) {
        self.highest = self.highest.max(segment);
        self.window += if level == 0 { 0.5 } else { 1.0 / self.window };
        self.seen[usize::from(level > 0)] += 1;
    }

    fn on_failure(&mut self, kind: Congestion, next: u64) {
        if kind.is_other_nack() {
            return;
        }
        if self.highest <= self.recovery {
            self.seen[4] += 1;
            return;
        }
        let nack = matches!(kind, Congestion::Nack { .. });
        self.recovery = next;
        self.window = (self.window * if nack { 0.875 } else { 0.5 }).max(1.0);
        self.seen[if nack { 2 } else { 3 }] += 1;
    }
}

fn compare(script: impl FnMut(&Request) -> Fate, seconds: u64) -> [u32; 5] {
    let mut fetch = Fetch::new("ecp", &json!({}), script);
    let mut model = Model { window: 1.0, recovery: 0, highest: 0, seen: [0; 5] };
    while fetch.now < seconds * 1000 * MS {
        let step = fetch.step();
        match step {
            Step::Data { segment, level, .. } => model.on_data(segment, level),
            Step::Failed { kind, .. } => model.on_failure(kind, fetch.seen.next_segment),
            Step::Sent { .. } | Step::Woken => {}
        }
        let (window, now) = (fetch.consumer.window(), fetch.now);
        assert!(near(window, model.window, 1e-12), "{step:?} at {now} ns: {window} instead of {}", model.window);
    }
    model.seen
}

#[test]
fn ecp_s_consumer_agrees_with_miaimd_while_routers_are_free_busy_and_congested() {
    let (mut link, congestion) = (Link::default(), Congestion::Nack { reason: NackReason::Congestion, marked: false });
    let other = Congestion::Nack { reason: NackReason::Duplicate, marked: false };
    let seen = compare(
        |request| {
            let wait = link.wait(request.now);
            let level = if wait > 20 * MS { u32::MAX / 2 + 1 } else { 0 };
            if wait > 60 * MS || request.number % 301 == 300 {
                return Fate::Fails { at: request.now + 10 * MS, kind: congestion };
            }
            if request.number % 89 == 7 {
                return Fate::Fails { at: request.now + 10 * MS, kind: other };
            }
            if request.number % 401 > 397 {
                let kind = if request.number % 2 == 0 { Congestion::Timeout } else { Congestion::Loss };
                return Fate::Fails { at: request.now + 300 * MS, kind };
            }
            Fate::Arrives { at: link.transmit(request.now, 2 * MS) + 40 * MS, label: 0, level, mark: 0 }
        },
        20,
    );
    assert!(seen.iter().all(|&n| n >= 5), "{seen:?}");
}

/// The router: pending Interests per face in place of those of the whole PIT.
#[derive(Default)]
struct Router {
    pending: BTreeMap<u32, u64>,
    mean: f64,
    /// Interests while FREE, BUSY and in CONGESTION.
    seen: [u32; 3],
}

impl Router {
    fn admit(&mut self, segment: u32, now: u64) -> bool {
        if self.pending.contains_key(&segment) {
            return true;
        }
        self.mean += 0.25 * (self.pending.len() as f64 - self.mean);
        self.seen[self.state() as usize] += 1;
        if self.state() == 2.0 {
            return false;
        }
        self.pending.insert(segment, now);
        true
    }

    /// 0, 1 or 2; a level of the same part of the range.
    fn state(&self) -> f64 {
        if self.mean > 230.0 { 2.0 } else { f64::from(u8::from(self.mean > 115.0)) }
    }
}

#[test]
fn ecp_s_router_agrees_with_its_states_from_free_to_congestion_and_back() {
    let (mut face, mut router, mut dice) = (Face::new("ecp", &json!({})), Router::default(), Rng::derive(4, &[]));
    for segment in 0..12_000_u32 {
        face.bench.now += dice.below(2 * MS);
        // A load of 60 to 400 pending Interests; one in ten Interests is for what may be pending.
        let wanted = [60, 150, 400, 250, 20][segment as usize / 600 % 5];
        let segment = if dice.below(10) == 0 { segment.saturating_sub(dice.below(100) as u32) } else { segment };
        let admission = face.admit(&interest(1, segment));
        let expected = if router.admit(segment, face.bench.now) {
            Admission::Pass
        } else {
            Admission::Reject(NackReason::Congestion)
        };
        assert_eq!(admission, expected, "mean {} of {} pending", router.mean, router.pending.len());
        while router.pending.len() > wanted {
            let place = dice.below(router.pending.len() as u64) as usize;
            let (&answered, &sent) = router.pending.iter().nth(place).unwrap();
            router.pending.remove(&answered);
            let outcomes = [Outcome::Data, Outcome::Data, Outcome::Timeout, Outcome::Nack(NackReason::NoRoute)];
            face.answer(&interest(1, answered), outcomes[dice.below(4) as usize], sent, 1250);
        }
        for level in [0, u32::MAX / 3, u32::MAX / 4 * 3] {
            let expected = (router.state() / 2.0).max(f64::from(level) / f64::from(u32::MAX));
            let stamped = f64::from(face.stamped(1, level)) / f64::from(u32::MAX);
            assert!((stamped - expected).abs() < 1e-6, "{stamped} instead of {expected} at a mean of {}", router.mean);
        }
    }
    assert!(router.seen.iter().all(|&n| n > 500), "{:?}", router.seen);
}
