//! ICTP by its page and RFC 5681: a second model, and the component beside it.

use crate::fetch::{Fate, Fetch, Link, Request, Step};
use crate::{MS, near};
use ndnweir_core::consumer::{Congestion, Consumer};
use ndnweir_core::packet::NackReason;
use serde_json::json;
use std::collections::BTreeMap;

/// TCP at the receiver.
struct Model {
    window: f64,
    threshold: f64,
    /// What is in flight: by segment, the order in which its latest Interest left.
    flight: BTreeMap<u64, u64>,
    sent: u64,
    /// The first segment in flight when later ones came, and how many did.
    later: (u64, u32),
    /// Interests before this one left before the latest cut: what is lost of them is of the same window (RFC 6582).
    recover: u64,
    /// Data since the latest cut.
    heard: bool,
    /// Cuts by loss and by timeout; losses of a window cut already; timeouts in silence after a cut by loss.
    seen: [u32; 4],
}

impl Model {
    fn new() -> Model {
        let (flight, later) = (BTreeMap::new(), (u64::MAX, 0));
        Model { window: 2.0, threshold: 1e7, flight, sent: 0, later, recover: 0, heard: true, seen: [0; 4] }
    }

    fn send(&mut self, segment: u64) {
        self.flight.insert(segment, self.sent);
        self.sent += 1;
    }

    /// RFC 5681 §3.2, equation 4: half of what is in flight, at least two segments; a timeout leaves one (§3.1), also
    /// when it ends a recovery in which nothing arrived.
    fn lost(&mut self, order: u64, in_flight: f64, timeout: bool) {
        if order < self.recover {
            if timeout && !self.heard && self.window > 1.0 {
                self.window = 1.0;
                (self.recover, self.heard) = (self.sent, false);
                self.seen[3] += 1;
            } else {
                self.seen[2] += 1;
            }
            return;
        }
        self.threshold = (in_flight / 2.0).max(2.0);
        self.window = if timeout { 1.0 } else { self.threshold };
        (self.recover, self.heard) = (self.sent, false);
        self.seen[usize::from(timeout)] += 1;
    }

    fn on_data(&mut self, segment: u64) {
        let in_flight = self.flight.len() as f64;
        self.flight.remove(&segment);
        self.heard = true;
        if let Some((&first, &order)) = self.flight.first_key_value()
            && first < segment
        {
            self.later = (first, if self.later.0 == first { self.later.1 + 1 } else { 1 });
            if self.later.1 == 3 {
                return self.lost(order, in_flight, false);
            }
        }
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
    }

    fn on_failure(&mut self, kind: Congestion, segment: u64) {
        let in_flight = self.flight.len() as f64;
        let order = self.flight.remove(&segment).unwrap();
        if !kind.is_other_nack() {
            self.lost(order, in_flight, kind == Congestion::Timeout);
        }
    }
}

fn compare(script: impl FnMut(&Request) -> Fate, seconds: u64) -> [u32; 4] {
    let (mut fetch, mut model) = (Fetch::new("ictp", &json!({}), script), Model::new());
    while fetch.now < seconds * 1000 * MS {
        let step = fetch.step();
        match step {
            Step::Sent { segment, .. } => model.send(segment),
            Step::Data { segment, .. } => model.on_data(segment),
            Step::Failed { kind, segment } => model.on_failure(kind, segment),
            Step::Woken => {}
        }
        let (window, now) = (fetch.consumer.window(), fetch.now);
        assert!(near(window, model.window, 1e-12), "{step:?} at {now} ns: {window} instead of {}", model.window);
    }
    model.seen
}

#[test]
fn ictp_agrees_with_rfc_5681_where_single_segments_are_lost_and_time_out_later() {
    let mut link = Link::default();
    let seen = compare(
        |request| {
            let out = link.transmit(request.now, 2 * MS);
            if request.number % 211 == 150 || request.number % 503 > 497 {
                return Fate::Fails { at: request.now + 700 * MS, kind: Congestion::Timeout };
            }
            Fate::data(out + 40 * MS)
        },
        60,
    );
    assert!(seen[0] >= 5 && seen[2] >= 5, "{seen:?}");
}

#[test]
fn ictp_agrees_with_rfc_5681_in_a_queue_that_overflows_and_where_data_overtake_each_other() {
    let (mut link, congested) = (Link::default(), Congestion::Nack { reason: NackReason::Congestion, marked: false });
    let other = Congestion::Nack { reason: NackReason::NoRoute, marked: false };
    let seen = compare(
        |request| {
            if link.wait(request.now) > 60 * MS {
                let kind = if request.number % 2 == 0 { congested } else { Congestion::Loss };
                return Fate::Fails { at: request.now + 30 * MS, kind };
            }
            if request.number % 97 == 5 {
                return Fate::Fails { at: request.now + 20 * MS, kind: other };
            }
            // Every seventh comes 9 ms late, behind up to four others.
            let late = if request.number % 7 == 3 { 9 * MS } else { 0 };
            Fate::data(link.transmit(request.now, 2 * MS) + 40 * MS + late)
        },
        20,
    );
    assert!(seen[0] >= 5 && seen[2] >= 5, "{seen:?}");
}

#[test]
fn ictp_agrees_with_rfc_5681_in_silence() {
    let mut link = Link::default();
    let seen = compare(
        |request| {
            let out = link.transmit(request.now, 4 * MS);
            match request.now / (1000 * MS) % 5 {
                3 | 4 => Fate::Fails { at: request.now + 400 * MS, kind: Congestion::Timeout },
                _ => Fate::data(out + 50 * MS),
            }
        },
        20,
    );
    assert!(seen[1] >= 3 && seen[2] >= 3, "{seen:?}");
}

// One segment is lost, three later ones show it, and then nothing comes any more.
#[test]
fn ictp_agrees_with_rfc_5681_in_silence_right_after_a_loss() {
    let mut link = Link::default();
    let mut silent_from = u64::MAX;
    let seen = compare(
        |request| {
            let out = link.transmit(request.now, 4 * MS);
            if request.number == 100 {
                // It and the next three come; what follows is lost.
                silent_from = request.number + 4;
                return Fate::Fails { at: request.now + 600 * MS, kind: Congestion::Timeout };
            }
            if request.number >= silent_from {
                return Fate::Fails { at: request.now + 700 * MS, kind: Congestion::Timeout };
            }
            Fate::data(out + 50 * MS)
        },
        8,
    );
    assert_eq!((seen[0], seen[3]), (1, 1), "{seen:?}");
}
