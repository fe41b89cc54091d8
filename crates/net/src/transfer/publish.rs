//! The producer: registers the object's prefix and answers Interests until stopped.

use crate::client::{Registration, RegistrationError, RegistrationUpdate, Session, SessionEvent, Waiter};
use crate::clock::{Clock, seed};
use crate::object::naming;
use crate::object::publisher::{Answer, Publisher, PublisherError};
use crate::object::ranges::Ranges;
use crate::object::source::Source;
use ndnweir_core::ctx::Rng;
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::lp::PitToken;
use ndnweir_wire::{InterestView, LpHeader, NackReason, PacketView};
use std::collections::VecDeque;

/// Why publishing ended.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each is what its cause says")]
pub enum PublishError {
    #[error("{0}")]
    Registration(#[from] RegistrationError),
    #[error("{0}")]
    Publisher(#[from] PublisherError),
    #[error("waiting failed: {0}")]
    Wait(#[from] std::io::Error),
}

/// When to end without a stop request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopCondition {
    /// Once every segment was requested, and nothing more for a second.
    pub once: bool,
    /// Once no Interest came for this long.
    pub idle: Option<Duration>,
}

/// Events of [`publish`].
#[derive(Debug)]
pub enum PublishEvent {
    /// The prefix is registered.
    Registered,
    /// The forwarder does not answer; trying continues.
    Unanswered,
    /// The connection was lost or made again.
    Connection(SessionEvent),
    /// This many Interests were answered so far, for this many different segments.
    Progress {
        /// Interests answered.
        answered: u64,
        /// Different segments among them.
        segments: u64,
    },
}

/// After the last segment was requested, how long to wait for other consumers.
const LINGER: Duration = Duration::from_millis(1000);
/// How often to check whether to stop, and to report progress.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Publishes until stopped or [`StopCondition`] says so; `registration` is that of the prefix.
///
/// # Errors
/// [`PublishError`] if the forwarder rejects the prefix, does not answer at all, or the source fails.
pub fn publish<S: Source>(
    publisher: &mut Publisher<S>,
    registration: &mut Registration,
    session: &mut Session,
    waiter: &mut Waiter,
    quit: StopCondition,
    watch: &mut dyn FnMut(PublishEvent),
) -> Result<(), PublishError> {
    let clock = Clock::new();
    let mut served = Served { publisher, requested: Ranges::new(), answered: 0, latest: clock.now(), failure: None };
    let mut nonces = Rng::derive(seed(), &[]);
    let (mut ever, mut told) = (false, Time::ZERO);
    let mut waiting = VecDeque::new();
    while !waiter.stopped() && !served.is_done(quit, clock.now()) {
        let now = clock.now();
        if let Some(event) = session.poll(now, waiter) {
            // Answers to Interests of the old connection would be lost.
            waiting.clear();
            if matches!(event, SessionEvent::Reconnected) {
                registration.renew();
            }
            watch(PublishEvent::Connection(event));
        }
        if session.is_connected() {
            let nonce = u64::from(nonces.bits()) << 32 | u64::from(nonces.bits());
            match registration.poll_transmit(now, nonce) {
                Ok(Some(command)) => session.send(&LpHeader::default(), &command),
                Ok(None) => {}
                Err(error) if !ever => return Err(error.into()),
                Err(_) => watch(PublishEvent::Unanswered),
            }
        }
        let registered = serve(session, &mut served, &mut waiting, registration, now);
        if let Some(result) = registered {
            if result? == RegistrationUpdate::New {
                watch(PublishEvent::Registered);
            }
            ever = true;
        }
        if let Some(failure) = served.failure.take() {
            session.flush(now);
            return Err(failure.into());
        }
        session.flush(now);
        // Interests stay with the forwarder while it does not take the answers.
        session.set_reading(!session.is_congested() && waiting.is_empty());
        session.flush(now);
        if now.since(told) >= POLL_INTERVAL {
            told = now;
            watch(PublishEvent::Progress { answered: served.answered, segments: served.requested.count() });
        }
        let due =
            session.poll_timeout().min(if session.is_connected() { registration.poll_timeout() } else { Time::NEVER });
        let answers_wait = !waiting.is_empty() && !session.is_congested();
        waiter.wait(clock.until(if answers_wait { now } else { due.min(now + POLL_INTERVAL) }))?;
    }
    session.flush(clock.now());
    watch(PublishEvent::Progress { answered: served.answered, segments: served.requested.count() });
    Ok(())
}

struct Served<'p, S> {
    publisher: &'p mut Publisher<S>,
    requested: Ranges,
    answered: u64,
    latest: Time,
    failure: Option<PublisherError>,
}

impl<S: Source> Served<'_, S> {
    fn is_done(&self, quit: StopCondition, now: Time) -> bool {
        let quiet = now.since(self.latest);
        let all = self.requested.count() == self.publisher.last_segment() + 1;
        (quit.once && all && quiet >= LINGER) || quit.idle.is_some_and(|idle| quiet >= idle)
    }
}

/// A queued Interest, with what the forwarder attached.
type WaitingInterest = (Option<PitToken>, Vec<u8>);

/// Takes what has arrived if nothing waits any more, and answers as long as the forwarder takes the answers: of one
/// read, which may hold thousands of Interests, only Interests are kept. The result is the forwarder's answer to the
/// registration, if it came.
fn serve<S: Source>(
    session: &mut Session,
    served: &mut Served<'_, S>,
    waiting: &mut VecDeque<WaitingInterest>,
    registration: &mut Registration,
    now: Time,
) -> Option<Result<RegistrationUpdate, RegistrationError>> {
    let mut registered = None;
    if waiting.is_empty() && !session.is_congested() {
        session.receive(now, |header, packet| match PacketView::decode(packet) {
            Ok(PacketView::Data(data)) => registered = registration.handle_data(now, &data).or(registered.take()),
            Ok(PacketView::Interest(interest)) if header.nack.is_some() => {
                registration.handle_nack(now, &interest);
            }
            Ok(PacketView::Interest(_)) => waiting.push_back((header.pit_token, packet.to_vec())),
            Err(_) => {}
        });
    }
    while !session.is_congested() && served.failure.is_none() {
        let Some((pit_token, packet)) = waiting.pop_front() else { break };
        let Ok(interest) = InterestView::decode(&packet) else { continue };
        // What the forwarder attached is returned with the answer.
        let mut reply = LpHeader { pit_token, ..LpHeader::default() };
        match served.publisher.answer(&interest) {
            Ok(Answer::Data(data)) => session.send(&reply, data),
            Ok(Answer::Beyond) => {
                reply.nack = Some(NackReason::NoRoute);
                session.send(&reply, &packet);
                continue;
            }
            Ok(Answer::Nothing) => continue,
            Err(error) => {
                served.failure = Some(error);
                break;
            }
        }
        served.answered += 1;
        served.latest = now;
        if let Some(segment) = naming::segment_of(served.publisher.name().as_view(), interest.name()) {
            served.requested.insert(segment);
        }
        if session.is_congested() {
            session.flush(now);
        }
    }
    registered
}
