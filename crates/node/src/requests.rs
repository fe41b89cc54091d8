//! Applications without congestion control: a stream at constant pace, and requests over a catalogue.

use crate::fetcher::{Arrival, FetcherCounters};
use crate::server::{grown, millis};
use crate::zipf::Zipf;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use ndnweir_core::ctx::Rng;
use ndnweir_core::ids::{FlowId, NameId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::{Bytes, Duration, Time};
use serde::Serialize;
use std::collections::VecDeque;

/// What a consumer does about a segment that does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// Gives up when its lifetime ends.
    Never,
    /// Retransmits when its lifetime ends, up to this many times.
    Lifetime(u32),
}

/// Which segments are requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Those of one object in order, this many of them; none continues until stopped.
    Sequence(Option<u64>),
    /// Objects of one segment from a catalogue, each drawn by Zipf's law: the object of rank r, which is its segment
    /// number plus one, with weight 1/r^exponent.
    Catalogue {
        /// Objects in it.
        objects: u32,
        /// Zipf's exponent.
        exponent: f64,
    },
}

/// What [`Requests`] request, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestsConfig {
    /// The flow of the object or catalogue.
    pub flow: FlowId,
    /// The application's number in the run, for its random streams.
    pub number: u32,
    /// The run's seed.
    pub seed: u64,
    /// Which segments.
    pub pattern: Pattern,
    /// Mean time between two requests.
    pub gap: Duration,
    /// Whether gaps are exponentially distributed (Poisson arrivals) rather than constant.
    pub poisson: bool,
    /// About segments that do not come.
    pub retry: Retry,
    /// Bytes of an Interest on the wire, link framing excluded.
    pub interest_size: u32,
    /// Whether that grows with the segment number (see [`crate::server::grown`]).
    pub grows: bool,
    /// InterestLifetime.
    pub lifetime: Duration,
}

/// An outstanding request.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Pending {
    first: Time,
    last: Time,
    tries: u32,
}

/// What is requested next.
#[derive(Debug, ndnweir_state::State)]
enum NextRequest {
    /// The next segment, so many in all.
    Sequence { next: u64, total: Option<u64> },
    /// A draw from the catalogue.
    Catalogue {
        #[state(skip)]
        ranks: Zipf,
        rng: Rng,
    },
}

/// The application.
#[derive(Debug, ndnweir_state::State)]
pub struct Requests {
    flow: FlowId,
    interest_size: u32,
    grows: bool,
    lifetime: Duration,
    #[state(skip)]
    lifetime_ms: u32,
    retry: Retry,
    gap: Duration,
    /// For exponential gaps.
    gaps: Option<Rng>,
    nonces: Rng,
    choice: NextRequest,
    pending: HashMap<u32, Pending, FixedState>,
    /// When requests run out of time, oldest first; entries of answered requests stay until then.
    deadlines: VecDeque<(Time, u32)>,
    /// Requests to repeat now.
    again: VecDeque<u32>,
    next_request: Time,
    /// The lowest segment not yet answered, of a sequence.
    expected: u64,
    counters: FetcherCounters,
    /// Requests given up.
    pub abandoned: u64,
}

/// Labels of the random streams of applications (see [`Rng::derive`]).
const STREAM: u64 = 0x7265_7173;

impl Requests {
    /// An application that sends nothing until [`Requests::start`].
    pub fn new(config: &RequestsConfig) -> Requests {
        let RequestsConfig { flow, interest_size, grows, lifetime, retry, gap, .. } = *config;
        let rng = |purpose: u64| Rng::derive(config.seed, &[STREAM, config.number.into(), purpose]);
        let choice = match config.pattern {
            Pattern::Sequence(total) => NextRequest::Sequence { next: 0, total },
            Pattern::Catalogue { objects, exponent } => {
                NextRequest::Catalogue { ranks: Zipf::new(objects, exponent), rng: rng(2) }
            }
        };
        Requests {
            flow,
            interest_size,
            grows,
            lifetime,
            lifetime_ms: millis(lifetime),
            retry,
            gap,
            gaps: config.poisson.then(|| rng(1)),
            nonces: rng(0),
            choice,
            pending: HashMap::with_hasher(FixedState::with_seed(0)),
            deadlines: VecDeque::new(),
            again: VecDeque::new(),
            next_request: Time::NEVER,
            expected: 0,
            counters: FetcherCounters::default(),
            abandoned: 0,
        }
    }

    /// Begins to send Interests.
    pub fn start(&mut self, now: Time) {
        self.next_request = now;
    }

    /// Requests nothing new; what is outstanding may still come.
    pub fn stop(&mut self, _now: Time) {
        self.next_request = Time::NEVER;
    }

    /// The totals and state.
    pub fn counters(&self) -> FetcherCounters {
        FetcherCounters { in_flight: self.pending.len() as u32, window: self.pending.len() as f64, ..self.counters }
    }

    /// A packet arrived; what it answered, if it is Data for an outstanding Interest.
    pub fn handle(&mut self, now: Time, packet: &Packet) -> Option<Arrival> {
        let segment = packet.name.segment;
        match packet.kind {
            Kind::Interest => return None,
            Kind::Nack => {
                self.counters.nacks += u64::from(self.pending.contains_key(&segment));
                return None;
            }
            Kind::Data => {}
        }
        let Some(pending) = self.pending.remove(&segment) else {
            self.counters.duplicates += 1;
            return None;
        };
        self.counters.segments += 1;
        let payload = Bytes::new(packet.payload.into());
        self.counters.payload_bits += payload.bits();
        self.counters.marks += u64::from(packet.mark > 0);
        let rtt = (pending.tries == 1).then(|| now.since(pending.last));
        let (mut in_order, mut completed) = (true, false);
        if let NextRequest::Sequence { next, total } = self.choice {
            in_order = u64::from(segment) == self.expected;
            if in_order {
                // What is below `next` and no longer outstanding was answered or given up.
                self.expected += 1;
                while self.expected < next && !self.pending.contains_key(&(self.expected as u32)) {
                    self.expected += 1;
                }
            }
            completed = total == Some(self.counters.segments);
        }
        self.counters.srtt = if self.counters.srtt == Duration::ZERO {
            rtt.unwrap_or_default()
        } else {
            rtt.map_or(self.counters.srtt, |rtt| (self.counters.srtt * 7 + rtt) / 8)
        };
        let (delay, retransmissions) = (now.since(pending.first), pending.tries - 1);
        let (segment, mark) = (segment.into(), packet.mark);
        Some(Arrival { segment, payload, delay, rtt, mark, retransmissions, in_order, completed })
    }

    /// The next Interest to send now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        while let Some(segment) = self.again.pop_front() {
            if let Some(pending) = self.pending.get_mut(&segment) {
                pending.last = now;
                pending.tries += 1;
                self.counters.retransmissions += 1;
                return Some(self.interest(now, segment));
            }
        }
        while self.next_request <= now {
            let segment = match &mut self.choice {
                NextRequest::Sequence { next, total } => {
                    let end = total.unwrap_or(u64::from(u32::MAX)).min(u32::MAX.into());
                    if *next >= end {
                        self.next_request = Time::NEVER;
                        return None;
                    }
                    *next += 1;
                    (*next - 1) as u32
                }
                NextRequest::Catalogue { ranks, rng } => ranks.draw(rng),
            };
            let gap = match &mut self.gaps {
                Some(rng) => rng.exponential(self.gap),
                None => self.gap,
            };
            self.next_request += gap.max(Duration::from_nanos(1));
            // A request for an object that is already requested waits for the same Data.
            if !self.pending.contains_key(&segment) {
                self.pending.insert(segment, Pending { first: now, last: now, tries: 1 });
                return Some(self.interest(now, segment));
            }
        }
        None
    }

    fn interest(&mut self, now: Time, segment: u32) -> Packet {
        self.counters.interests += 1;
        self.deadlines.push_back((now + self.lifetime, segment));
        Packet {
            name: NameId { flow: self.flow, segment },
            nonce: self.nonces.bits(),
            size: grown(self.interest_size, segment, self.grows),
            lifetime_ms: self.lifetime_ms,
            kind: Kind::Interest,
            hop_limit: Packet::HOP_LIMIT,
            ..Packet::default()
        }
    }

    /// When [`Requests::handle_timeout`] or [`Requests::poll_transmit`] must be called.
    pub fn poll_timeout(&self) -> Time {
        let deadline = self.deadlines.front().map_or(Time::NEVER, |first| first.0);
        deadline.min(self.next_request)
    }

    /// The time requested has come.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(&(deadline, segment)) = self.deadlines.front()
            && deadline <= now
        {
            self.deadlines.pop_front();
            let Some(pending) = self.pending.get(&segment) else { continue };
            if pending.last + self.lifetime > now {
                continue;
            }
            self.counters.timeouts += 1;
            match self.retry {
                Retry::Lifetime(most) if pending.tries <= most => self.again.push_back(segment),
                _ => {
                    self.pending.remove(&segment);
                    self.abandoned += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(segments: Option<u64>, retry: Retry) -> Requests {
        Requests::new(&RequestsConfig {
            flow: FlowId(3),
            number: 0,
            seed: 1,
            pattern: Pattern::Sequence(segments),
            gap: Duration::from_millis(10),
            poisson: false,
            retry,
            interest_size: 30,
            grows: false,
            lifetime: Duration::from_millis(100),
        })
    }

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    fn data(interest: &Packet) -> Packet {
        Packet { kind: Kind::Data, payload: 1000, ..*interest }
    }

    #[test]
    fn a_stream_sends_interests_at_constant_pace_and_completes() {
        let mut app = stream(Some(3), Retry::Never);
        app.start(ms(5));
        let mut sent = Vec::new();
        while app.poll_timeout() < ms(100) {
            let now = app.poll_timeout();
            app.handle_timeout(now);
            while let Some(interest) = app.poll_transmit(now) {
                sent.push((now, interest));
            }
        }
        assert_eq!(sent.iter().map(|s| s.0).collect::<Vec<_>>(), [ms(5), ms(15), ms(25)]);
        let answers: Vec<_> = [1, 0, 2].iter().filter_map(|&i: &usize| app.handle(ms(40), &data(&sent[i].1))).collect();
        assert_eq!(answers.iter().map(|a| a.in_order).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(answers.iter().map(|a| a.completed).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(app.counters().payload_bits, 24_000);
    }

    #[test]
    fn an_unanswered_request_is_repeated_as_often_as_allowed_and_then_given_up() {
        let mut app = stream(Some(1), Retry::Lifetime(2));
        app.start(ms(0));
        let mut at = Vec::new();
        while app.poll_timeout() < Time::NEVER {
            let now = app.poll_timeout();
            app.handle_timeout(now);
            while app.poll_transmit(now).is_some() {
                at.push(now);
            }
        }
        assert_eq!(at, [ms(0), ms(100), ms(200)]);
        let counters = app.counters();
        assert_eq!((counters.interests, counters.retransmissions, counters.timeouts), (3, 2, 3));
        assert_eq!((app.abandoned, counters.in_flight), (1, 0));
    }

    #[test]
    fn requests_over_a_catalogue_follow_zipfs_law() {
        let mut app = Requests::new(&RequestsConfig {
            flow: FlowId(0),
            number: 0,
            seed: 1,
            pattern: Pattern::Catalogue { objects: 10, exponent: 1.0 },
            gap: Duration::from_millis(1),
            poisson: true,
            retry: Retry::Never,
            interest_size: 30,
            grows: false,
            lifetime: Duration::from_millis(100),
        });
        app.start(ms(0));
        let mut counts = [0u32; 10];
        let mut now = ms(0);
        for _ in 0..10_000 {
            now = app.poll_timeout();
            app.handle_timeout(now);
            while let Some(interest) = app.poll_transmit(now) {
                counts[interest.name.segment as usize] += 1;
                app.handle(now, &data(&interest));
            }
        }
        let total: u32 = counts.iter().sum();
        assert!((f64::from(counts[0]) / f64::from(total) - 1.0 / 2.929).abs() < 0.02, "{counts:?}");
        assert!((f64::from(counts[9]) / f64::from(total) - 0.1 / 2.929).abs() < 0.01, "{counts:?}");
        assert!((now.secs() / f64::from(total) * 1000.0 - 1.0).abs() < 0.3, "mean gap");
    }
}
