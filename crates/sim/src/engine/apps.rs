//! Consumers on their local faces.

use super::flows::FlowSet;
use crate::observer::{Arrival, ConsumerCounters};
use crate::outcome::InterestAccount;
use ndnweir_core::ctx::TraceEvent;
use ndnweir_core::ids::{FlowId, NameId};
use ndnweir_core::packet::Packet;
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::Fetcher;
use ndnweir_node::requests::{Pattern, Requests, RequestsConfig, Retry};
use ndnweir_prefetch::prefetch;

/// What sends Interests.
#[derive(ndnweir_state::State)]
pub(super) enum Application {
    /// Under congestion control.
    Fetch(#[state(inner)] Box<Fetcher>),
    /// Without.
    Requests(#[state(inner)] Box<Requests>),
    /// Under congestion control, many at once.
    Flows(#[state(inner)] Box<FlowSet>),
}

/// A consumer application.
#[derive(ndnweir_state::State)]
pub(super) struct App {
    pub(super) application: Application,
    pub(super) node: u32,
    pub(super) face: u16,
    pub(super) source: u32,
    /// When it is due in the schedule.
    pub(super) scheduled: Time,
    start: Time,
    stop: Time,
    /// Whether its node works.
    paused: bool,
}

impl App {
    pub(super) fn new(application: Application, node: u32, face: u16, start: Time, stop: Time) -> App {
        App { application, node, face, source: 0, scheduled: Time::NEVER, start, stop, paused: false }
    }

    /// Stands for one that is in another process: it never acts.
    pub(super) fn elsewhere() -> App {
        let none = RequestsConfig {
            flow: FlowId(0),
            number: 0,
            seed: 0,
            pattern: Pattern::Sequence(Some(0)),
            gap: Duration::ZERO,
            poisson: false,
            retry: Retry::Never,
            interest_size: 0,
            grows: false,
            lifetime: Duration::ZERO,
        };
        App::new(Application::Requests(Box::new(Requests::new(&none))), 0, 0, Time::NEVER, Time::NEVER)
    }

    /// Asks for what it needs when a packet comes.
    #[inline(always)]
    pub(super) fn expect(&self) {
        match &self.application {
            Application::Fetch(fetcher) => prefetch(&**fetcher),
            Application::Requests(requests) => prefetch(&**requests),
            Application::Flows(flows) => prefetch(&**flows),
        }
    }

    /// Asks for what a Data of this segment needs that is about to come, after [`App::expect`]. The name of the Interest
    /// that may follow, and its nonce.
    #[inline(always)]
    pub(super) fn expect_segment(&self, segment: u32) -> Option<(NameId, u32)> {
        match &self.application {
            Application::Fetch(fetcher) => Some(fetcher.expect(segment)),
            Application::Requests(_) | Application::Flows(_) => None,
        }
    }

    /// When it next may begin flows; only of a consumer that has many.
    pub(super) fn flows_come(&self) -> Time {
        match &self.application {
            Application::Flows(flows) if !self.paused => flows.comes().min(self.start).min(self.stop),
            _ => Time::NEVER,
        }
    }

    /// When it wants to act next.
    pub(super) fn due(&self) -> Time {
        if self.paused {
            return Time::NEVER;
        }
        let own = match &self.application {
            Application::Fetch(fetcher) => fetcher.poll_timeout(),
            Application::Requests(requests) => requests.poll_timeout(),
            Application::Flows(flows) => flows.poll_timeout(),
        };
        own.min(self.start).min(self.stop)
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.start <= now {
            self.start = Time::NEVER;
            match &mut self.application {
                Application::Fetch(fetcher) => fetcher.start(now),
                Application::Requests(requests) => requests.start(now),
                Application::Flows(flows) => flows.start(now),
            }
        }
        if self.stop <= now {
            self.stop = Time::NEVER;
            // A consumer whose start the seed moved beyond its end never starts.
            self.start = Time::NEVER;
            match &mut self.application {
                Application::Fetch(fetcher) => fetcher.stop(now),
                Application::Requests(requests) => requests.stop(now),
                Application::Flows(flows) => flows.stop(),
            }
        }
        match &mut self.application {
            Application::Fetch(fetcher) => fetcher.handle_timeout(now),
            Application::Requests(requests) => requests.handle_timeout(now),
            Application::Flows(flows) => flows.handle_timeout(now),
        }
    }

    #[inline(always)]
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        match &mut self.application {
            Application::Fetch(fetcher) => fetcher.poll_transmit(now),
            Application::Requests(requests) => requests.poll_transmit(now),
            Application::Flows(flows) => flows.poll_transmit(now),
        }
    }

    /// The delivery that a packet is for the application, if it is Data for an outstanding Interest.
    #[inline(always)]
    pub(super) fn handle(&mut self, now: Time, packet: &Packet) -> Option<Arrival> {
        match &mut self.application {
            Application::Fetch(fetcher) => fetcher.handle(now, packet),
            Application::Requests(requests) => requests.handle(now, packet),
            Application::Flows(flows) => flows.handle(now, packet),
        }
    }

    /// The flows of a consumer that has many.
    #[inline]
    pub(super) fn flow_set(&mut self) -> Option<&mut FlowSet> {
        match &mut self.application {
            Application::Flows(flows) => Some(flows),
            Application::Fetch(_) | Application::Requests(_) => None,
        }
    }

    /// Bytes that its consumer component keeps, if it fetches one object.
    pub(super) fn kept_bytes(&self) -> Option<u64> {
        match &self.application {
            Application::Fetch(fetcher) => fetcher.kept_bytes(),
            Application::Requests(_) | Application::Flows(_) => None,
        }
    }

    /// Whether its flows come over time.
    pub(super) fn has_flows(&self) -> bool {
        matches!(self.application, Application::Flows(_))
    }

    /// Whether it is a video player.
    pub(super) fn is_player(&self) -> bool {
        matches!(&self.application, Application::Flows(flows) if flows.is_player())
    }

    pub(super) fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    pub(super) fn counters(&self) -> ConsumerCounters {
        match &self.application {
            Application::Fetch(fetcher) => fetcher.counters(),
            Application::Requests(requests) => requests.counters(),
            Application::Flows(flows) => flows.counters(),
        }
    }

    pub(super) fn account(&self) -> InterestAccount {
        let c = self.counters();
        let rejected = match &self.application {
            Application::Fetch(_) | Application::Flows(_) => c.nacks,
            // A NACK does not end a request: it waits for its lifetime.
            Application::Requests(_) => 0,
        };
        let given_up = match &self.application {
            Application::Fetch(_) | Application::Flows(_) => c.losses + c.probes,
            Application::Requests(_) => 0,
        };
        InterestAccount {
            interests: c.interests,
            answered: c.segments,
            rejected,
            timed_out: c.timeouts + given_up,
            pending: c.in_flight.into(),
        }
    }

    pub(super) fn drain_trace(&mut self, tell: impl FnMut(TraceEvent)) {
        match &mut self.application {
            Application::Fetch(fetcher) => fetcher.drain_trace().for_each(tell),
            Application::Flows(flows) => flows.drain_trace(tell),
            Application::Requests(_) => {}
        }
    }
}
