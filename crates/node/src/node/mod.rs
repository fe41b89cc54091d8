//! The node: its faces, tables and pipelines.
//!
//! - Interest (`interest`): hop limit → content store → PIT (aggregation, loops) → FIB → strategy → shaper of each
//!   chosen face → meter → egress.
//! - Data (`data`): PIT → meter → shaper → strategy → content store → for each downstream: mark → meter → egress.
//! - NACK (`nack`): PIT → shaper → strategy → another next hop, or NACKs downstream.
//!
//! **Hop limit**: lowered on every arrival; at 0 the Interest reaches applications on this node only. A driver whose
//! Interest carries none gives [`Packet::HOP_LIMIT`].
//!
//! **Marks on Interests**: a congested queue of Interests marks them. With [`InterestMarks::Copy`] the node that
//! *receives* a marked Interest records the mark in its PIT and ORs it into the Data (also into one from its content
//! store). PCON's 2016 code instead sets the flag in the PIT entry of the router whose queue it is, one hop nearer the
//! consumer. The consumer sees the same mark on the same Data. Two things differ: an Interest that overflows or is lost
//! after being marked loses its mark, and the marking router itself sees the Data come back marked, as from a congested
//! next hop, so that its own strategy adapts too (in PCON's code only the routers downstream of it do).
//! With [`InterestMarks::Own`] only the downstream whose last Interest was marked gets the mark, as in NDN-DPDK; of
//! several marked downstreams each gets the highest level among them (NDN-DPDK has one level).

mod ahead;
mod choices;
mod data;
mod end;
mod extras;
mod faces;
mod faults;
mod interest;
mod nack;
mod routes;
mod send;
mod store;
mod timers;

pub use ahead::Expected;
pub use faults::Custom;

use crate::config::{Departure, NodeConfig, Transmit};
use crate::counters::NodeCounters;
use crate::cs::ContentStore;
use crate::dead::DeadNonces;
use crate::error::StrategyError;
use crate::face::Face;
use crate::fib::Fib;
use crate::keyed::NumberHash;
use crate::outbox::Outbox;
use crate::pit::Pit;
use crate::strategies::{Strategies, StrategyChoiceId, StrategyInstance};
use crate::streams::{self, stream};
use extras::Extras;
use ndnweir_core::ctx::{Rng, Trace, TraceEvent};
use ndnweir_core::fields::{Field, FieldLayout};
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::{Meter, Report};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::registry::{AnyDiscipline, AnyMarker, AnyMeter, DisciplineParams, MarkerParams};
use ndnweir_core::scheme::{ComponentChoice, InterestMarks, Scheme};
use ndnweir_core::shaper::{FaceView, Shaper};
use ndnweir_core::strategy::{ForwardingDecision, Strategy};
use ndnweir_core::units::{Duration, Time};
use ndnweir_state::{State as _, Writer};

/// Reports kept for a driver that does not collect them.
const MAX_REPORTS: usize = 1 << 16;

/// What the node's components are built from, at the start and after a crash.
struct Plan {
    scheme: Scheme,
    layout: FieldLayout,
    number: u32,
    seed: u64,
    force_events: bool,
    /// Whether the scheme has a shaper or a meter.
    shaping: bool,
    metering: bool,
}

/// Whether strategies write header fields of Data, see [`Strategy::stamp_data`].
fn stamps_data(layout: &FieldLayout) -> bool {
    layout.find(Field::Discovery).or(layout.find(Field::LongerWay)).is_some()
}

impl Plan {
    fn marker(&self, instead: Option<&ComponentChoice<MarkerParams>>) -> AnyMarker {
        instead.unwrap_or(&self.scheme.parts.marker).build(&mut self.layout.clone())
    }

    fn discipline(&self, instead: Option<&ComponentChoice<DisciplineParams>>) -> AnyDiscipline {
        instead.unwrap_or(&self.scheme.parts.discipline).build(&mut self.layout.clone())
    }

    fn stream(&self, purpose: u64, instance: u64) -> Rng {
        stream(self.seed, self.number, purpose, instance)
    }
}

/// What every packet counts, of [`NodeCounters`].
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Usual {
    interests: u64,
    data: u64,
    answered: u64,
    pending: u64,
}

/// One NDN node. What every packet needs comes first, side by side: up to the PIT in two cache lines.
#[derive(ndnweir_state::State)]
#[repr(C, align(64))]
pub struct Node {
    #[state(each)]
    faces: Vec<Face>,
    /// When the first egress must advance, or a time before.
    egress_wake: Time,
    extras: Extras,
    interest_marks: InterestMarks,
    fib: Fib,
    usual: Usual,
    pit: Pit,
    out: Outbox,
    /// But for [`Usual`].
    counters: NodeCounters,
    trace: Trace,
    choice: ForwardingDecision,
    strategies: Strategies,
    dead: DeadNonces,
    cs: ContentStore,
    meter: AnyMeter,
    /// When it is woken next, and after the last time; only its waking changes that.
    meter_wake: Time,
    meter_rng: Rng,
    nonces: Rng,
    /// A time not after the earliest any shaper requests.
    shaper_wake: Time,
    /// When the components were last woken: they are not woken twice for one instant.
    woken: Time,
    #[state(skip)]
    layout: FieldLayout,
    held_limit: u64,
    /// Faces that are down.
    down: u32,
    /// Working memory of the pipelines, as is `choice`.
    downstreams: Vec<FaceId>,
    /// By prefix, the propagation delay to the producer and back by a next hop, as far as the driver has set it.
    base_rtts: Vec<Vec<(FaceId, Duration)>>,
    /// Faces whose shaper was called since [`Node::release_held`].
    touched: Vec<FaceId>,
    /// When each face's egress must advance, by face.
    due: Vec<Time>,
    reports: Vec<Report>,
    /// What the meter sees of faces when it is woken.
    #[state(skip)]
    views: Vec<FaceView>,
    #[state(skip)]
    plan: Box<Plan>,
    /// Of the tables of flows.
    #[state(skip)]
    flow_hash: NumberHash,
}

impl Node {
    /// A node without faces and routes.
    ///
    /// # Errors
    /// If the scheme chooses strategies for too many prefixes.
    pub fn new(config: NodeConfig<'_>) -> Result<Node, StrategyError> {
        let mut layout = config.layout.clone();
        let (part, shaped) = (&config.scheme.parts.strategy, config.scheme.is_shaped(0));
        let strategy = part.build(&mut layout);
        let meter = config.scheme.meter(&mut layout);
        let plan = Plan {
            scheme: config.scheme.clone(),
            layout: config.layout.clone(),
            number: config.number,
            seed: config.seed,
            force_events: config.force_events,
            shaping: !config.scheme.shaper(&mut layout).is_none(),
            metering: !meter.is_none(),
        };
        let first = StrategyInstance::new(strategy, plan.stream(streams::STRATEGY, 0), part.clone(), shaped);
        let mut node = Node {
            faces: Vec::new(),
            pit: Pit::new(config.pit_limit, config.layout.iter().next().is_some()),
            cs: ContentStore::new(config.cache, config.scheme.cached_marks),
            fib: Fib::new(config.prefixes),
            dead: DeadNonces::default(),
            extras: Extras::NONE,
            strategies: Strategies::new(first),
            meter,
            meter_wake: Time::NEVER,
            meter_rng: plan.stream(streams::METER, 0),
            nonces: plan.stream(streams::NONCE, 0),
            trace: Trace::new(config.trace),
            out: Outbox::default(),
            usual: Usual::default(),
            counters: NodeCounters::default(),
            layout: config.layout.clone(),
            interest_marks: config.scheme.interest_marks,
            held_limit: config.pit_limit as u64,
            down: 0,
            choice: ForwardingDecision::default(),
            downstreams: Vec::new(),
            base_rtts: Vec::new(),
            touched: Vec::new(),
            due: Vec::new(),
            egress_wake: Time::NEVER,
            shaper_wake: Time::NEVER,
            woken: Time::ZERO,
            reports: Vec::new(),
            views: Vec::new(),
            plan: Box::new(plan),
            flow_hash: NumberHash::default(),
        };
        node.extras.set(Extras::STAMPS, stamps_data(config.layout));
        node.note_plan();
        for (place, choice) in config.scheme.choices.iter().enumerate() {
            node.choose(Time::ZERO, &choice.strategy, config.scheme.is_shaped(place + 1))?;
        }
        Ok(node)
    }

    /// From now on the node is a host: of the Interests of neighbours it takes only those for applications on it.
    /// Others are dropped without a NACK, as a host does with packets on its network card that are not addressed to it.
    pub fn set_host(&mut self) {
        self.extras.set(Extras::HOST, true);
    }

    /// After the components were built as planned.
    fn note_plan(&mut self) {
        self.extras.set(Extras::SHAPES, self.plan.shaping);
        self.extras.set(Extras::METERS, self.plan.metering);
        self.note_counting();
        self.note_parts();
    }

    /// After a change of the shapers or of the meter.
    fn note_counting(&mut self) {
        self.note_meter_wake();
        let counts = self.shapes() || (self.meters() && self.meter.counts_flows());
        self.extras.set(Extras::COUNTS_FLOWS, counts);
    }

    /// After a change of the strategies or of the content store.
    fn note_parts(&mut self) {
        let (strategies, cs, extras) = (&self.strategies, &self.cs, &mut self.extras);
        extras.set(Extras::ADMITS, cs.admits());
        extras.set(Extras::SERVES, cs.serves());
        extras.set(Extras::SEVERAL, strategies.several());
        extras.set(Extras::WATCHES, strategies.watch_data());
        extras.set(Extras::MARKS, strategies.mark_themselves());
        extras.set(Extras::WAKES, strategies.wake());
        extras.set(Extras::CHEAPEST, strategies.take_cheapest());
    }

    /// After a face has gone down, or one that was down is not any more.
    fn note_down(&mut self, down: bool) {
        self.down = if down { self.down + 1 } else { self.down.saturating_sub(1) };
        self.extras.set(Extras::DOWN, self.down > 0);
    }

    /// Whether a face is down, or does not exist.
    #[inline(always)]
    fn is_down(&self, face: FaceId) -> bool {
        face.index() >= self.faces.len() || self.extras.any(Extras::DOWN) && !self.faces[face.index()].egress.is_up()
    }

    fn shapes(&self) -> bool {
        self.extras.any(Extras::SHAPES)
    }

    fn meters(&self) -> bool {
        self.extras.any(Extras::METERS)
    }

    /// Notifies new strategies of all faces and next hops.
    fn initialise_strategies(&mut self, now: Time) {
        for face in 0..self.faces.len() {
            self.notify_face(FaceId(face as u16));
        }
        for prefix in 0..self.fib.prefixes() {
            self.notify_next_hops(now, PrefixId(prefix as u32));
        }
    }

    /// A packet has arrived on a face.
    #[inline]
    pub fn handle(&mut self, now: Time, face: FaceId, mut packet: Packet) {
        self.receive(now, face, &mut packet);
    }

    /// [`Node::handle`] without moving the packet, which is as the node left it afterwards.
    #[inline]
    pub fn receive(&mut self, now: Time, face: FaceId, packet: &mut Packet) {
        let departure = self.forward(now, face, packet);
        if departure.is_some() {
            self.collect(now, departure, packet);
        }
    }

    /// [`Node::receive`] for a driver that itself sends the packet, as it is then, where that is all that follows. Else
    /// there is no departure, and [`Node::poll_transmit`] has what leaves.
    #[inline(always)]
    pub fn forward(&mut self, now: Time, face: FaceId, packet: &mut Packet) -> Departure {
        let gone = match packet.kind {
            Kind::Interest if self.extras.send_at_once() => self.on_interest(now, face, packet),
            Kind::Data if self.extras.answer_at_once() => self.on_data(now, face, packet),
            _ => None,
        };
        gone.unwrap_or_else(|| self.on_other(now, face, packet))
    }

    /// [`Node::forward`] of a packet with which more is to be done, or may be.
    #[inline(never)]
    fn on_other(&mut self, now: Time, face: FaceId, packet: &mut Packet) -> Departure {
        let departure = match packet.kind {
            Kind::Interest => self.on_other_interest(now, face, packet),
            Kind::Data => self.on_other_data(now, face, packet),
            Kind::Nack => {
                self.on_nack(now, face, *packet);
                Departure::NONE
            }
        };
        // What shapers and the strategy release after a packet.
        if self.extras.any(Extras::SHAPES.and(Extras::HOLDS)) {
            if departure.is_some() {
                self.collect(now, departure, packet);
            }
            self.release_held(now);
            return Departure::NONE;
        }
        departure
    }

    /// The next packet that leaves; call until none after every call that takes the time.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.out.next().copied()
    }

    /// Whether [`Node::poll_transmit`] has nothing.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.out.is_empty()
    }

    /// [`Node::poll_transmit`] without moving the packet, which the driver may change.
    #[inline]
    pub fn next_transmit(&mut self) -> Option<&mut Transmit> {
        self.out.next()
    }

    /// Whether a component may read how many flows have pending Interests from a face.
    #[inline]
    fn counts_flows(&self) -> bool {
        self.extras.any(Extras::COUNTS_FLOWS)
    }

    /// Bytes that a checkpoint takes for what the strategies, the meter and the shapers keep; `None` if one of them was
    /// made outside the registry.
    pub fn kept_bytes(&self) -> Option<u64> {
        let mut to = Writer::default();
        self.strategies.save_own(&mut to);
        self.meter.save(&mut to);
        self.faces.iter().for_each(|face| face.shaper.save(&mut to));
        to.refused().is_none().then(|| to.into_bytes().len() as u64)
    }

    /// The node's totals.
    pub fn counters(&self) -> NodeCounters {
        let held = self.faces.iter().map(|face| u64::from(face.shaper.held())).sum();
        let (pit, pit_peak) = (self.pit.len() as u64, self.pit.peak() as u64);
        let Usual { interests, data, answered, pending } = self.usual;
        let cache = self.cs.len() as u64;
        NodeCounters { interests, data, answered, pending, pit, pit_peak, cache, held, ..self.counters }
    }

    /// Bytes of memory the PIT uses, with its timers and index.
    pub fn pit_memory(&self) -> usize {
        self.pit.memory()
    }

    /// Pushes the share of a prefix's Interests that each next hop gets from the strategy of a choice; nothing if that
    /// does not split.
    pub fn shares(&self, choice: StrategyChoiceId, prefix: PrefixId, out: &mut Vec<(FaceId, f64)>) {
        let hops = self.fib.hops(prefix);
        let mut shares = Vec::new();
        if let Some(instance) = self.strategies.get(choice) {
            instance.strategy.shares(prefix, hops, &mut shares);
        }
        out.extend(hops.iter().map(|hop| hop.face).zip(shares));
    }

    /// Takes what the components recorded since the last call. Records of egress queues may come late (see
    /// [`crate::egress`]); each has its time.
    pub fn drain_trace(&mut self) -> impl Iterator<Item = TraceEvent> + '_ {
        self.trace.drain()
    }

    /// Takes the meter's reports to the planner.
    pub fn drain_reports(&mut self) -> impl Iterator<Item = Report> + '_ {
        self.reports.drain(..)
    }

    /// The header fields that packets carry: those of the scheme and of strategies added since.
    pub fn layout(&self) -> &FieldLayout {
        &self.layout
    }
}
