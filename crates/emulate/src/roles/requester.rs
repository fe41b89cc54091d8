//! A consumer without congestion control: requests at its own pace the segments of an object, or for objects of a
//! catalogue, which are the segments of one object here.

use super::producer::VERSION;
use super::record::{Record, Recorder, SampleTimes};
use super::{Ready, RoleError, ready, stop_when_abandoned};
use ndnweir_core::ids::{FlowId, NameId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::{Duration, Time};
use ndnweir_net::client::{Session, Waiter};
use ndnweir_net::clock::Clock;
use ndnweir_net::object::naming;
use ndnweir_node::fetcher::Arrival;
use ndnweir_node::requests::{Pattern, Requests, RequestsConfig, Retry};
use ndnweir_wire::{Component, InterestBuilder, LpHeader, Name, PacketView};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What to request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequesterTask {
    /// The forwarder's socket.
    pub transport: PathBuf,
    /// The object's name, without version.
    pub object: String,
    /// Segments of a sequence; none continues until the end.
    pub segments: Option<u64>,
    /// Objects of a catalogue and Zipf's exponent, instead of a sequence.
    pub catalogue: Option<(u32, f64)>,
    /// Mean time between two requests.
    pub gap: Duration,
    /// Whether gaps are exponentially distributed.
    pub poisson: bool,
    /// How often a segment is requested again when its lifetime ends.
    pub retries: u32,
    /// The first Interest, in nanoseconds since the origin.
    pub start: u64,
    /// Nothing new is requested from here on, likewise.
    pub stop: u64,
    /// The end, likewise.
    pub end: u64,
    /// InterestLifetime.
    pub lifetime: Duration,
    /// Counters are recorded at this time, likewise,
    pub from: u64,
    /// and so often from then on.
    pub every: Duration,
    /// Where records go.
    pub record: PathBuf,
    /// The run's seed.
    pub seed: u64,
    /// The consumer's number in the run.
    pub number: u32,
}

impl RequesterTask {
    fn requests(&self) -> Requests {
        let catalogue = |(objects, exponent)| Pattern::Catalogue { objects, exponent };
        Requests::new(&RequestsConfig {
            flow: FlowId(0),
            number: self.number,
            seed: self.seed,
            pattern: self.catalogue.map_or(Pattern::Sequence(self.segments), catalogue),
            gap: self.gap,
            poisson: self.poisson,
            retry: if self.retries == 0 { Retry::Never } else { Retry::Lifetime(self.retries) },
            // Only packets of the simulator have this size.
            interest_size: 0,
            grows: false,
            lifetime: self.lifetime,
        })
    }
}

pub(super) fn run(task: &RequesterTask, origin: u64) -> Result<(), RoleError> {
    let clock = Clock::since(origin);
    let mut waiter = Waiter::new().map_err(RoleError::new)?;
    stop_when_abandoned(waiter.stop_handle());
    let uri = ndnweir_net::face_uri::FaceUri::Unix(task.transport.clone());
    let mut session = Session::connect(uri, &waiter, 0, task.seed).map_err(RoleError::new)?;
    let name: Name = task.object.parse().map_err(RoleError::new)?;
    let object = name.with(Component::version(VERSION));
    let mut requests = task.requests();
    let mut recorder = Recorder::create(&task.record).map_err(RoleError::new)?;
    ready(&Ready::default())?;
    let (start, end) = (Time::from_nanos(task.start), Time::from_nanos(task.end));
    let mut stop = Time::from_nanos(task.stop);
    while clock.now() < start && !waiter.stopped() {
        waiter.wait(clock.until(start)).map_err(RoleError::new)?;
    }
    requests.start(start);
    let mut grid = SampleTimes::new(Time::from_nanos(task.from), task.every, start);
    while clock.now() < end && !waiter.stopped() {
        if stop <= clock.now() {
            requests.stop(stop);
            stop = Time::NEVER;
        }
        session.poll(clock.now(), &waiter);
        let mut failed = None;
        session.receive(clock.now(), |header, packet| {
            let now = clock.now();
            if let Some(arrival) = take(&mut requests, &object, now, header, packet) {
                let at = now.nanos();
                let done = arrival.completed.then_some(Record::Completed { at });
                for record in [Some(Record::Arrival { at, arrival }), done].into_iter().flatten() {
                    failed = failed.take().or(recorder.add(&record).err());
                }
            }
        });
        failed.map_or(Ok(()), |error| Err(RoleError::new(error)))?;
        send(&mut requests, &object, clock.now(), &mut session);
        if let Some(at) = grid.reached(clock.now()) {
            let (at, counters) = (at.nanos(), requests.counters());
            recorder.add(&Record::Consumer { at, counters }).map_err(RoleError::new)?;
        }
        let own = if session.is_connected() { requests.poll_timeout() } else { Time::NEVER };
        let due = own.min(session.poll_timeout()).min(grid.next()).min(stop).min(end);
        waiter.wait(clock.until(due)).map_err(RoleError::new)?;
    }
    let (at, counters) = (clock.now().min(end).nanos(), requests.counters());
    recorder.add(&Record::Consumer { at, counters }).map_err(RoleError::new)?;
    recorder.flush().map_err(RoleError::new)
}

/// Sends what is to be requested now.
fn send(requests: &mut Requests, object: &Name, now: Time, session: &mut Session) {
    if !session.is_connected() {
        return;
    }
    requests.handle_timeout(now);
    while let Some(packet) = requests.poll_transmit(now) {
        let name = object.clone().with(Component::segment(packet.name.segment.into()));
        let interest = InterestBuilder::new(name.as_view())
            .nonce(packet.nonce.to_be_bytes())
            .lifetime(std::time::Duration::from_millis(packet.lifetime_ms.into()));
        // A name with a segment is not empty, so this always encodes.
        if let Ok(interest) = interest.encode() {
            session.send(&LpHeader::default(), &interest);
        }
    }
    session.flush(now);
}

/// Takes a packet; what it answered, if anything.
fn take(requests: &mut Requests, object: &Name, now: Time, header: &LpHeader, packet: &[u8]) -> Option<Arrival> {
    let (name, kind, payload) = match PacketView::decode(packet).ok()? {
        PacketView::Data(data) => (data.name().to_owned(), Kind::Data, data.content().len() as u32),
        PacketView::Interest(interest) => (interest.name().to_owned(), header.nack.map(|_| Kind::Nack)?, 0),
    };
    let segment = u32::try_from(naming::segment_of(object.as_view(), name.as_view())?).ok()?;
    let mark = u8::try_from(header.congestion_mark.unwrap_or(0)).unwrap_or(u8::MAX);
    let name = NameId { flow: FlowId(0), segment };
    requests.handle(now, &Packet { name, kind, payload, mark, ..Packet::default() })
}
