//! The rate at which Data arrive, measured for each of them over the time from its Interest to its arrival.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-00 §3, in segments; what was in flight and lost at sending as
//! draft-ietf-ccwg-bbr §4.1.2 adds. That the application limited samples a consumer does not know: it only says so
//! itself, of what it held back on purpose.

use crate::units::{Duration, Time};
use std::collections::BTreeMap;

/// The most Interests whose state at sending is stored; the oldest is forgotten beyond that.
const MAX_STORED: usize = 1 << 17;

/// What had arrived when an Interest was sent.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Sent {
    at: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    in_flight: u32,
    lost: u64,
    limited: bool,
}

/// What was when an Interest was sent that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failed {
    /// Interests in flight, it included.
    pub in_flight: u32,
    /// Segments that were lost since, it included.
    pub lost: u64,
}

/// What a Data shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Data that had arrived when its Interest was sent.
    pub prior_delivered: u64,
    /// Segments per second; none if the time was shorter than the least round trip, so that bunching would count.
    pub rate: Option<f64>,
    /// Data that have arrived since, this one included.
    pub delivered: u64,
    /// Interests that were in flight when its own was sent, itself included.
    pub in_flight: u32,
    /// Segments that were lost since.
    pub lost: u64,
    /// Whether its Interest was sent while less than possible was.
    pub limited: bool,
}

/// Measures it.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Delivery {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    /// Samples are limited until so much is delivered; 0 is not at all.
    limited_until: u64,
    sent: BTreeMap<u64, Sent>,
}

impl Default for Delivery {
    fn default() -> Delivery {
        let (delivered_at, first_sent) = (Time::ZERO, Time::ZERO);
        Delivery { delivered: 0, delivered_at, first_sent, lost: 0, limited_until: 0, sent: BTreeMap::new() }
    }
}

impl Delivery {
    /// Data that have arrived.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// An Interest was sent; `in_flight` counts it.
    pub fn on_sent(&mut self, segment: u64, in_flight: u32, now: Time) {
        if in_flight <= 1 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let (delivered, delivered_at, first_sent) = (self.delivered, self.delivered_at, self.first_sent);
        let (lost, limited) = (self.lost, self.limited_until > 0);
        self.sent.insert(segment, Sent { at: now, delivered, delivered_at, first_sent, in_flight, lost, limited });
        if self.sent.len() > MAX_STORED {
            self.sent.pop_first();
        }
    }

    /// The Data of a segment arrived; `least` is the least round-trip time.
    pub fn on_data(&mut self, segment: u64, now: Time, least: Option<Duration>) -> Option<Sample> {
        self.delivered += 1;
        self.delivered_at = now;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let sent = self.sent.remove(&segment)?;
        self.first_sent = sent.at;
        let interval = sent.at.since(sent.first_sent).max(now.since(sent.delivered_at));
        let counts = interval > Duration::ZERO && least.is_none_or(|least| interval >= least);
        let rate = counts.then(|| (self.delivered - sent.delivered) as f64 / interval.secs());
        Some(Sample {
            prior_delivered: sent.delivered,
            rate,
            delivered: self.delivered - sent.delivered,
            in_flight: sent.in_flight,
            lost: self.lost - sent.lost,
            limited: sent.limited,
        })
    }

    /// The Interest of a segment failed, so that it has to be sent again.
    pub fn on_failed(&mut self, segment: u64) {
        self.sent.remove(&segment);
    }

    /// A segment was lost.
    pub fn on_lost(&mut self, segment: u64) -> Option<Failed> {
        self.lost += 1;
        let sent = self.sent.remove(&segment)?;
        Some(Failed { in_flight: sent.in_flight, lost: self.lost - sent.lost })
    }

    /// The Data that has just arrived counts as lost.
    pub fn on_marked(&mut self) {
        self.lost += 1;
    }

    /// Samples of Interests that are sent before what is in flight has arrived do not show what the path can carry.
    pub fn limit(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    // Ten Interests at once, Data 1 ms apart from 20 ms on: the first shows 1 segment in 20 ms, the tenth 10 in 29 ms.
    // The next ten were requested over 20 ms, those after them in the 10 ms of ten Data.
    #[test]
    fn data_sent_as_others_arrive_show_the_rate_of_the_bottleneck() {
        let mut delivery = Delivery::default();
        (0..10).for_each(|segment| delivery.on_sent(segment, segment as u32 + 1, ms(0)));
        let mut rates = Vec::new();
        for segment in 0..30 {
            let at = ms(20 + segment);
            rates.push(delivery.on_data(segment, at, None).unwrap().rate.unwrap());
            delivery.on_sent(segment + 10, 10, at);
        }
        assert!((rates[0] - 50.0).abs() < 1e-9);
        assert!((rates[9] - 10.0 / 0.029).abs() < 1e-9);
        assert!((rates[10] - 500.0).abs() < 1e-9);
        assert!((rates[20] - 1000.0).abs() < 1e-9 && (rates[29] - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn a_sample_shorter_than_the_least_round_trip_gives_no_rate() {
        let mut delivery = Delivery::default();
        delivery.on_sent(0, 1, ms(0));
        let sample = delivery.on_data(0, ms(5), Some(Duration::from_millis(20)));
        let (delivered, in_flight, lost, limited) = (1, 1, 0, false);
        assert_eq!(sample, Some(Sample { prior_delivered: 0, rate: None, delivered, in_flight, lost, limited }));
        assert_eq!(delivery.on_data(7, ms(6), None), None);
        assert_eq!(delivery.delivered(), 2);
    }

    // Three Interests at once; the first is lost, the second marked: two are lost since when the third arrives.
    #[test]
    fn losses_are_counted_since_each_interest_was_sent() {
        let mut delivery = Delivery::default();
        (0..3).for_each(|segment| delivery.on_sent(segment, segment as u32 + 1, ms(0)));
        assert_eq!(delivery.on_lost(0), Some(Failed { in_flight: 1, lost: 1 }));
        delivery.on_sent(3, 3, ms(1));
        assert_eq!(delivery.on_data(1, ms(2), None).map(|sample| sample.lost), Some(1));
        delivery.on_marked();
        let third = delivery.on_data(2, ms(3), None).unwrap();
        assert_eq!((third.lost, third.in_flight, third.delivered), (2, 3, 2));
        assert_eq!(delivery.on_data(3, ms(4), None).map(|sample| sample.lost), Some(1));
        assert_eq!(delivery.on_lost(9), None);
    }

    #[test]
    fn samples_are_limited_until_what_was_in_flight_has_arrived() {
        let mut delivery = Delivery::default();
        delivery.on_sent(0, 1, ms(0));
        delivery.limit(1);
        delivery.on_sent(1, 2, ms(1));
        assert!(!delivery.on_data(0, ms(10), None).unwrap().limited);
        assert!(delivery.on_data(1, ms(11), None).unwrap().limited);
        delivery.on_sent(2, 1, ms(12));
        assert!(!delivery.on_data(2, ms(22), None).unwrap().limited);
    }
}
