//! CHoPCoP by its page (the abstract alone is public): marker, shaper and consumer; second models, and the components
//! beside them.

use crate::egress::Egress;
use crate::face::{Face, interest};
use crate::fetch::{Fate, Fetch, Link, Step};
use crate::{MS, near};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::queue::Verdict;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::shaper::{Admission, Outcome, Shaper};
use ndnweir_core::units::{Duration, Rate};
use serde_json::json;
use std::collections::BTreeMap;

#[test]
fn chopcop_s_marker_agrees_with_random_early_marking_at_every_occupancy() {
    let mut egress = Egress::new("chopcop", &json!({}), 100, Rate::from_mbps(10.0));
    let (mut chance, mut dice) = (egress.bench.chance(), Rng::derive(8, &[]));
    // Interests; Data below, between and above the thresholds; marks by chance.
    let mut seen = [0; 5];
    while egress.bench.now < 20_000 * MS {
        let load = [0.6, 1.1, 1.5, 0.4][(egress.bench.now / (700 * MS) % 4) as usize];
        egress.pass(egress.bench.now + 1 + dice.exponential(Duration::from_nanos((MS as f64 / load) as u64)).nanos());
        let kind = if dice.below(10) == 0 { Kind::Interest } else { Kind::Data };
        let occupancy = f64::from(egress.waiting()) / 100.0;
        let Some(verdict) = egress.offer(Packet { kind, size: 1250, ..Packet::default() }) else { continue };
        let (place, marked) = match () {
            () if kind != Kind::Data => (0, false),
            () if occupancy <= 0.2 => (1, false),
            () if occupancy > 0.6 => (3, chance.unit() < 1.0),
            () => (2, chance.unit() < 0.1 * (occupancy - 0.2) / 0.4),
        };
        seen[place] += 1;
        seen[4] += i32::from(place == 2 && marked);
        assert_eq!(verdict == Verdict::Mark(1), marked, "at {occupancy}");
    }
    assert!(seen.iter().all(|&n| n > 20), "{seen:?}");
}

/// Fair shares: Interests of a flow leave N · S/C apart while the queue of Data is long; what leaves before that does
/// not count.
#[derive(Default)]
struct Shares {
    shaped: bool,
    /// When a flow may send its next Interest.
    due: BTreeMap<u32, u64>,
    /// Flow and tag, in order of arrival.
    held: Vec<(u32, u32)>,
}

impl Shares {
    const GAP: u64 = 3 * MS;

    fn observe(&mut self, data: u32) {
        self.shaped = if self.shaped { data >= 20 } else { data > 60 };
    }

    fn due(&self, flow: u32) -> u64 {
        self.due.get(&flow).copied().unwrap_or(0)
    }

    fn admit(&mut self, flow: u32, tag: u32, now: u64) -> Admission {
        let waits = self.held.iter().any(|(other, _)| *other == flow);
        if !waits && !self.shaped {
            return Admission::Pass;
        }
        if !waits && self.due(flow) <= now {
            self.due.insert(flow, now + Shares::GAP);
            return Admission::Pass;
        }
        if self.held.len() >= 100 {
            return Admission::Reject(NackReason::Congestion);
        }
        self.held.push((flow, tag));
        Admission::Hold
    }

    fn release(&mut self, now: u64) -> Vec<u32> {
        let mut released = Vec::new();
        while let Some(next) = self.held.iter().map(|(flow, _)| self.due(*flow)).min()
            && (next <= now || !self.shaped)
        {
            let place = self.held.iter().position(|(flow, _)| self.due(*flow) == next).unwrap();
            let (flow, tag) = self.held.remove(place);
            self.due.insert(flow, now + Shares::GAP);
            released.push(tag);
        }
        released
    }
}

#[test]
fn chopcop_s_shaper_agrees_with_fair_shares_while_the_data_queue_is_long() {
    let (mut face, mut shares) = (Face::new("chopcop", &json!({})), Shares::default());
    let mut dice = Rng::derive(6, &[]);
    face.flows = 3;
    // 1250 B at 10 Mbit/s are 1 ms: each of three flows may send one in 3 ms. A mean needs Data first.
    for segment in 0..50 {
        face.answer(&interest(9, 1_000_000 + segment), Outcome::Data, 0, 1250);
    }
    let mut seen = BTreeMap::new();
    for tag in 0..20_000_u32 {
        let until = face.bench.now + 1 + dice.below(MS);
        while face.bench.component.next_wake().nanos() <= until {
            face.bench.now = face.bench.now.max(face.bench.component.next_wake().nanos());
            shares.observe(face.data);
            let released: Vec<u32> = face.release().iter().map(|packet| packet.tag).collect();
            assert_eq!(released, shares.release(face.bench.now), "at {} ns", face.bench.now);
            *seen.entry("released").or_insert(0) += released.len();
        }
        face.bench.now = until;
        face.data = [10, 40, 70, 40, 70, 15, 65][tag as usize / 400 % 7];
        // Unequal demands: the third flow sends less than its share.
        let flow = [0, 0, 0, 0, 1, 1, 1, 1, 1, 2][dice.below(10) as usize];
        let packet = interest(flow, tag);
        shares.observe(face.data);
        let expected = shares.admit(flow, tag, face.bench.now);
        let admission = face.admit(&packet);
        assert_eq!(admission, expected, "flow {flow} at {} ns with {} Data waiting", face.bench.now, face.data);
        *seen
            .entry(match admission {
                Admission::Pass => "passed",
                Admission::Hold => "held",
                Admission::Reject(_) => "rejected",
            })
            .or_insert(0) += 1;
        let released: Vec<u32> = face.release().iter().map(|packet| packet.tag).collect();
        assert_eq!(released, shares.release(face.bench.now), "at {} ns", face.bench.now);
    }
    assert!(seen.len() == 4 && seen.values().all(|&n| n > 100), "{seen:?}");
}

/// AIMD with at most one cut per round trip, and a timer of 2 s.
#[test]
fn chopcop_s_consumer_agrees_with_aimd_over_marks_timeouts_and_nacks() {
    let scheme = Scheme::named("chopcop").unwrap();
    let (mut link, congested) = (Link::default(), Congestion::Nack { reason: NackReason::Congestion, marked: true });
    let mut fetch = Fetch::of(
        |layout| scheme.consumer(layout),
        |request| {
            if request.number % 401 == 300 {
                return Fate::Fails { at: request.now + 2000 * MS, kind: Congestion::Timeout };
            }
            if request.number % 89 == 7 {
                return Fate::Fails { at: request.now + 10 * MS, kind: congested };
            }
            let mark = u8::from(link.wait(request.now) > 20 * MS);
            Fate::Arrives { at: link.transmit(request.now, 2 * MS) + 40 * MS, label: 0, level: 0, mark }
        },
    );
    let timer = fetch.consumer.timer();
    assert_eq!((timer.min, timer.max), (Duration::from_millis(2000), Duration::from_millis(2000)));
    assert!(!fetch.consumer.retransmits_on_nack());
    let mut windows = Vec::new();
    while fetch.now < 20_000 * MS {
        let before = fetch.consumer.window();
        let step = fetch.step();
        let window = fetch.consumer.window();
        match step {
            Step::Failed { kind: Congestion::Nack { .. }, .. } | Step::Sent { .. } | Step::Woken => {
                assert!(near(window, before, 1e-12));
            }
            Step::Data { .. } if window > before => {
                let slow_start = windows.is_empty();
                assert!(near(window, before + if slow_start { 1.0 } else { 1.0 / before }, 1e-9));
            }
            _ if window < before => {
                assert!(near(window, (before / 2.0).max(1.0), 1e-9), "{step:?}: {window} after {before}");
                windows.push(fetch.now);
            }
            _ => {}
        }
    }
    let round_trips = windows.windows(2).filter(|pair| pair[1] - pair[0] < 40 * MS).count();
    assert!(windows.len() > 15 && round_trips == 0, "{} cuts, {round_trips} too close", windows.len());
}
