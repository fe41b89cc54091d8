//! The consumer side: an application on a local face that fetches the segments of one object.
//!
//! A pipeline of Interests with a window gate, optional pacing, retransmission timer and retransmissions, driven by a
//! [`Consumer`] of `ndnweir-core`. On Data: highest segment, round-trip sample, window, in flight − 1, send.
//!
//! Two ways to count what is in flight, after the consumer's [`Estimator`]:
//! * `ndnsim`: one more per Interest, one less per timeout and one less per Data, even if that segment had timed out
//!   before. So late Data allow more Interests than the window, as in ndnSIM's ConsumerWindow.
//! * `ndn-cxx`: exactly the Interests outstanding, as ndn-tools counts.
//!
//! Congestion NACKs: see [`Consumer::retransmits_on_nack`]. A rejected segment stays in flight and is requested again
//! only after half a round trip, doubled for each rejection in a row (NoRoute: after an RTO, doubled likewise). That is
//! ours; it keeps the fetch from looping on a face that rejects immediately, since no more than a window of Interests
//! can be rejected per such pause. A NACK with reason Duplicate is ignored: the earlier Interest is still in flight.

mod arrivals;
mod config;
mod counters;
mod loss;
mod segments;
mod sending;
mod signals;

pub use config::FetcherConfig;
pub use counters::{Arrival, FetcherCounters};
pub use loss::LossDetection;

use crate::server::millis;
use arrivals::Arrivals;
use loss::Recovery;
use ndnweir_core::consumer::{Consumer, DataEvent, Estimator, Flight, Timer};
use ndnweir_core::ctx::{Ctx, Rng, Trace, TraceEvent};
use ndnweir_core::ids::NameId;
use ndnweir_core::packet::{Kind, Packet, flags};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::shared::pacer::Pacer;
use ndnweir_core::shared::rtt::RttEstimator;
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_state::{State as _, Writer};
use segments::{Segments, State};

/// At most this many Data in a row may be marked as link-retransmitted; on links that lose a third of all frames, one
/// run in 40 million is longer. Ours.
const MAX_LINK_RETRANSMITTED: u32 = 16;

/// Fetches one object.
#[derive(ndnweir_state::State)]
pub struct Fetcher {
    #[state(skip)]
    config: FetcherConfig,
    #[state(skip)]
    lifetime_ms: u32,
    consumer: AnyConsumer,
    /// Whether the consumer may have a timeout of its own.
    #[state(skip)]
    asks_timeout: bool,
    /// See [`Consumer::watches_sending`].
    #[state(skip)]
    tells_sending: bool,
    timer: Timer,
    segments: Segments,
    rtt: RttEstimator,
    counters: FetcherCounters,
    /// The window after the last packet or timeout.
    window: f64,
    /// As the source of the consumer's timer counts, see the head of this file.
    in_flight: u32,
    /// When the timer last scanned, or would have found nothing.
    scanned: Option<Time>,
    /// No outstanding segment's own deadline is earlier.
    next_deadline: Time,
    /// No held segment is released earlier.
    next_release: Time,
    /// ndn-cxx: losses of segments up to here were backed off for.
    backoff_point: Option<u64>,
    /// Finds losses before their timeout, if enabled.
    recovery: Option<Recovery>,
    highest: Option<u64>,
    end: u64,
    pacer: Pacer,
    arrivals: Arrivals,
    nonces: Rng,
    rng: Rng,
    trace: Trace,
    active: bool,
    clock: Time,
    woken: Option<Time>,
    /// Data in a row that are marked as link-retransmitted.
    link_retransmitted: u32,
}

/// Label of a fetcher's random streams, so that they differ from those of nodes.
const STREAMS: u64 = 0xfe7c;

impl Fetcher {
    /// A fetch that has not started.
    pub fn new(config: FetcherConfig, consumer: AnyConsumer) -> Fetcher {
        let timer = consumer.timer();
        let stream = |purpose| Rng::derive(config.seed, &[STREAMS, u64::from(config.number), purpose]);
        let last = u64::from(NameId::WHOLE);
        Fetcher {
            segments: Segments::new(config.max_window),
            rtt: RttEstimator::new(timer),
            end: config.total.map_or(last, |total| total.min(last)),
            nonces: stream(0),
            rng: stream(1),
            trace: Trace::new(config.trace),
            counters: FetcherCounters::default(),
            window: consumer.window(),
            in_flight: 0,
            scanned: None,
            next_deadline: Time::NEVER,
            next_release: Time::NEVER,
            backoff_point: None,
            recovery: config.loss.map(Recovery::new),
            highest: None,
            pacer: Pacer::new(),
            arrivals: Arrivals::default(),
            active: false,
            clock: Time::ZERO,
            woken: None,
            link_retransmitted: 0,
            timer,
            lifetime_ms: millis(config.lifetime),
            asks_timeout: consumer.may_have_timeout(),
            tells_sending: consumer.watches_sending(),
            consumer,
            config,
        }
    }

    /// Begins, or continues after [`Fetcher::stop`]. Poll for transmissions afterwards.
    pub fn start(&mut self, now: Time) {
        self.active = true;
        self.clock = now;
        self.on_activity(now);
    }

    /// Sends nothing more and ignores what arrives.
    pub fn stop(&mut self, now: Time) {
        self.active = false;
        self.clock = now;
    }

    /// The object has no more than `total` segments: what is beyond is given up. Data that says it is the last does
    /// the same.
    pub fn limit(&mut self, total: u64) {
        self.end = self.end.min(total);
        let dropped = self.segments.truncate(self.end);
        self.in_flight = self.in_flight.saturating_sub(dropped);
    }

    /// Asks for what a Data of this segment needs that is about to arrive. The name that is requested next, and its nonce.
    #[inline(always)]
    pub fn expect(&self, segment: u32) -> (NameId, u32) {
        self.segments.expect(segment.into());
        (NameId { flow: self.config.flow, segment: self.segments.next() as u32 }, self.nonces.clone().bits())
    }

    /// Whether all segments have arrived.
    pub fn is_complete(&self) -> bool {
        self.segments.base() >= self.end
    }

    /// A packet arrived for this application. Poll for transmissions afterwards.
    pub fn handle(&mut self, now: Time, packet: &Packet) -> Option<Arrival> {
        self.clock = now;
        if !self.active || packet.name.flow != self.config.flow || packet.name.segment == NameId::WHOLE {
            self.counters.unexpected += 1;
            return None;
        }
        // A scan due at this instant comes first: in the source its event is the older one.
        self.scan_if_due(now, true);
        let arrival = match packet.kind {
            Kind::Data => self.on_data(now, packet),
            Kind::Nack => {
                self.on_nack(now, packet);
                None
            }
            Kind::Interest => {
                self.counters.unexpected += 1;
                None
            }
        };
        self.count_fall();
        arrival
    }

    /// Compares the window with what it was.
    fn count_fall(&mut self) {
        let window = self.consumer.window();
        self.counters.falls += u64::from(window < self.window);
        self.window = window;
    }

    fn on_data(&mut self, now: Time, packet: &Packet) -> Option<Arrival> {
        let segment = u64::from(packet.name.segment);
        if segment >= self.segments.next() {
            self.counters.unexpected += 1;
            return None;
        }
        let Some(slot) = self.segments.get(segment).filter(|slot| slot.state != State::Received).copied() else {
            self.counters.duplicates += 1;
            return None;
        };
        self.counters.segments += 1;
        self.arrivals.arrived(now, self.rtt.srtt());
        self.counters.payload_bits += u64::from(packet.payload) * 8;
        self.counters.marks += u64::from(packet.mark > 0);
        if self.highest.is_none_or(|highest| highest < segment) {
            self.highest = Some(segment);
        }

        let elapsed = now.since(slot.sent);
        // A link-retransmitted Data answers the first Interest, and its round trip says nothing about the path.
        let link_retransmitted = self.believes_link_retransmitted(packet.has(flags::LINK_RETRANSMITTED));
        let once = slot.retransmissions == 0 && !link_retransmitted;
        self.check_spurious_retransmission(now, segment, &slot, elapsed, link_retransmitted, &packet.fields);
        let counted = self.timer.estimator == Estimator::Ndnsim || slot.state != State::Waiting;
        let in_flight_after = self.in_flight.saturating_sub(u32::from(counted));
        if once && self.gives_sample(slot.state) {
            self.rtt.sample(elapsed, in_flight_after);
        }
        let event = DataEvent {
            segment,
            sent: slot.sent,
            rtt: once.then_some(elapsed),
            mark: packet.mark,
            size: packet.bytes(),
            fields: &packet.fields,
            flight: self.flight(),
        };
        self.consumer.on_data(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        self.in_flight = in_flight_after;
        if self.tells_sending && self.consumer.ends_gap() {
            self.end_gap(now);
        }

        let in_order = segment == self.segments.base();
        self.segments.receive(segment);
        if packet.has(flags::FINAL) {
            self.limit(segment + 1);
        }
        self.detect_losses(now);
        Some(Arrival {
            segment,
            payload: Bytes::new(u64::from(packet.payload)),
            delay: now.since(slot.first_sent),
            rtt: once.then_some(elapsed),
            mark: packet.mark,
            retransmissions: slot.retransmissions,
            in_order,
            completed: self.is_complete(),
        })
    }

    /// Whether a Data that is marked as link-retransmitted is treated so. Where nothing else comes there would be no
    /// further round-trip sample, and timeouts that have backed off would stay.
    fn believes_link_retransmitted(&mut self, said: bool) -> bool {
        self.link_retransmitted = if said { self.link_retransmitted.saturating_add(1) } else { 0 };
        said && self.link_retransmitted <= MAX_LINK_RETRANSMITTED
    }

    /// Karn's rule beyond the count of Interests: ndnSIM also distrusts a segment that timed out but was not yet
    /// requested again, ndn-tools does not; a rejected Interest measures no path.
    fn gives_sample(&self, state: State) -> bool {
        match state {
            State::Outstanding => true,
            State::Waiting => self.timer.estimator == Estimator::NdnCxx,
            _ => false,
        }
    }

    /// When [`Fetcher::handle_timeout`] must be called; may be early, never late.
    pub fn poll_timeout(&self) -> Time {
        if !self.active || self.is_complete() {
            return Time::NEVER;
        }
        let mut at = self.scan_due().min(self.next_release).min(self.recovery_due());
        if self.pacer.due() > self.clock && self.can_send() {
            at = at.min(self.pacer.due());
        }
        at.min(self.wake_due())
    }

    /// A wake-up that the consumer requests for the instant of the present one comes one nanosecond later.
    fn wake_due(&self) -> Time {
        let wake = self.consumer.next_wake();
        match self.woken {
            Some(woken) if wake <= woken => woken + Duration::from_nanos(1),
            _ => wake,
        }
    }

    /// The time of [`Fetcher::poll_timeout`] has come. Poll for transmissions afterwards.
    pub fn handle_timeout(&mut self, now: Time) {
        self.clock = now;
        if !self.active || self.is_complete() {
            return;
        }
        if self.wake_due() <= now {
            self.woken = Some(now);
            self.consumer.on_wake(&mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        }
        self.release_held(now);
        self.detect_losses(now);
        self.scan_if_due(now, false);
        self.count_fall();
    }

    /// Notifies the consumer of a failed Interest.
    fn report(&mut self, now: Time, event: ndnweir_core::consumer::CongestionEvent<'_>) {
        self.consumer.on_congestion(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
    }

    /// Where the fetch stands, as the consumer sees it.
    pub fn flight(&self) -> Flight {
        Flight {
            in_flight: self.in_flight,
            next_segment: self.segments.next(),
            highest_received: self.highest,
            srtt: self.rtt.srtt(),
        }
    }

    /// Bytes that a checkpoint takes for what the consumer component keeps; `None` if it was made outside the registry.
    pub fn kept_bytes(&self) -> Option<u64> {
        let mut to = Writer::default();
        self.consumer.save(&mut to);
        to.refused().is_none().then(|| to.into_bytes().len() as u64)
    }

    /// Totals and state now.
    pub fn counters(&self) -> FetcherCounters {
        FetcherCounters {
            decreases: self.consumer.decreases(),
            window: self.consumer.window(),
            in_flight: self.segments.outstanding(),
            srtt: self.rtt.srtt(),
            rate: self.consumer.pacing(&self.flight()).map(|gap| 1.0 / gap.secs().max(1e-9)),
            ..self.counters
        }
    }

    /// The consumer, to read its state.
    pub fn consumer(&self) -> &AnyConsumer {
        &self.consumer
    }

    /// What the consumer recorded since the last call.
    pub fn drain_trace(&mut self) -> impl Iterator<Item = TraceEvent> + '_ {
        self.trace.drain()
    }
}
