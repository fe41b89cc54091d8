//! A consumer whose flows come and go.

use super::build::assign_strategies;
use super::process::Process;
use super::sink::Sink as _;
use crate::flows::{Arrivals, Flows, segments};
use crate::network::Network;
use crate::observer::{Arrival, ConsumerCounters, FlowEvent};
use crate::player::Playback;
use ndnweir_core::consumer::Consumer as _;
use ndnweir_core::ctx::{Rng, TraceEvent};
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::{FlowId, PrefixId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::registry::ConsumerParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_node::{Fetcher, FetcherConfig, StrategyChoiceId, Zipf};
use ndnweir_state::{Damaged, Reader, State, Value, Writer};
use std::collections::{BTreeMap, VecDeque};

/// Labels of the random streams of flows (see [`Rng::derive`]).
const STREAM: u64 = 0x666c_6f77;

/// The template of new flows.
pub(super) struct FlowTemplate {
    /// Copied for each flow, with its own name, number and length.
    pub(super) config: FetcherConfig,
    pub(super) consumer: ComponentChoice<ConsumerParams>,
    pub(super) layout: FieldLayout,
    pub(super) link: Option<Rate>,
    pub(super) prefix: PrefixId,
    /// By scheme index.
    pub(super) strategies: Vec<StrategyChoiceId>,
}

impl FlowTemplate {
    /// What fetches so many segments of a flow. `number` is for its random streams.
    fn fetcher(&mut self, flow: FlowId, number: u32, segments: u64) -> Box<Fetcher> {
        let mut built = self.consumer.build(&mut self.layout);
        built.on_link(self.link);
        let config = FetcherConfig { flow, number, total: Some(segments), ..self.config.clone() };
        Box::new(Fetcher::new(config, built))
    }
}

/// A flow that has not ended.
struct ActiveFlow {
    id: FlowId,
    began: Time,
    segments: u64,
    fetcher: Box<Fetcher>,
    /// When the fetcher next has something to do, as of its last packet.
    due: Time,
}

/// What a new flow fetches.
struct Choice {
    /// Its number among the objects that others fetch too.
    object: Option<u64>,
    /// The name's number, if it has been fetched before.
    known: Option<FlowId>,
}

/// The numbers of the names of catalogues' objects that have been fetched, by prefix and place in the catalogue, or as
/// players number chunks.
pub(super) type KnownObjects = BTreeMap<(PrefixId, u64), FlowId>;

/// The flows of one consumer.
pub(super) struct FlowSet {
    flows: Flows,
    template: FlowTemplate,
    /// When the next flow arrives.
    next: Time,
    /// Position in a trace, which began at `origin`.
    place: usize,
    origin: Time,
    times: Rng,
    sizes: Rng,
    numbers: Rng,
    /// The popularity of the objects of a catalogue.
    ranks: Option<(Zipf, Rng)>,
    /// Sorted by id.
    active: Vec<ActiveFlow>,
    /// Flows that may have something to send.
    eager: VecDeque<FlowId>,
    ended: Option<FlowEvent>,
    /// Of a player.
    playback: Option<Playback>,
    /// Counters of flows that have ended.
    totals: ConsumerCounters,
    trace: Vec<TraceEvent>,
}

/// Its flows are built as when they began and then take up their state.
impl State for FlowSet {
    fn save(&self, to: &mut Writer) {
        // Flows that have not begun: they too must be of the registry.
        let mut one = Writer::default();
        self.template.consumer.build(&mut self.template.layout.clone()).save(&mut one);
        one.refused().into_iter().for_each(|what| to.refuse(what));
        self.next.write(to);
        self.place.write(to);
        self.origin.write(to);
        [&self.times, &self.sizes, &self.numbers].into_iter().for_each(|rng| rng.write(to));
        self.ranks.iter().for_each(|(_, rng)| rng.write(to));
        to.length(self.active.len());
        for flow in &self.active {
            (flow.id, flow.began, flow.segments, flow.due).write(to);
            flow.fetcher.save(to);
        }
        self.eager.write(to);
        self.ended.write(to);
        self.playback.write(to);
        self.totals.write(to);
        self.trace.write(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.next.load(from)?;
        self.place.load(from)?;
        self.origin.load(from)?;
        [&mut self.times, &mut self.sizes, &mut self.numbers].into_iter().try_for_each(|rng| rng.load(from))?;
        self.ranks.iter_mut().try_for_each(|(_, rng)| rng.load(from))?;
        self.active.clear();
        for _ in 0..from.length()? {
            let (id, began, segments, due) = <(FlowId, Time, u64, Time)>::read(from)?;
            // Its random streams are part of its state.
            let mut fetcher = self.template.fetcher(id, 0, segments);
            State::load(&mut *fetcher, from)?;
            self.active.push(ActiveFlow { id, began, segments, fetcher, due });
        }
        self.eager.load(from)?;
        self.ended.load(from)?;
        self.playback.load(from)?;
        self.totals.load(from)?;
        self.trace.load(from)
    }
}

impl FlowSet {
    pub(super) fn new(flows: &Flows, template: FlowTemplate) -> FlowSet {
        let stream = |purpose| Rng::derive(template.config.seed, &[STREAM, flows.stream, purpose]);
        FlowSet {
            times: stream(0),
            sizes: stream(1),
            numbers: stream(2),
            ranks: flows.catalogue.map(|c| (Zipf::new(c.objects, c.exponent), stream(3))),
            flows: flows.clone(),
            template,
            next: Time::NEVER,
            place: 0,
            origin: Time::ZERO,
            active: Vec::new(),
            eager: VecDeque::new(),
            ended: None,
            playback: matches!(flows.arrivals, Arrivals::Player(_)).then(Playback::new),
            totals: ConsumerCounters::default(),
            trace: Vec::new(),
        }
    }

    pub(super) fn start(&mut self, now: Time) {
        self.origin = now;
        self.next = match &self.flows.arrivals {
            Arrivals::Drawn { poisson: false, .. } => now,
            Arrivals::Drawn { gap, .. } => now + self.times.exponential(*gap),
            Arrivals::Trace(trace) => trace.first().map_or(Time::NEVER, |first| now + first.0),
            Arrivals::Player(_) => Time::NEVER,
        };
        self.open_video(now);
    }

    /// A player opens the next video.
    fn open_video(&mut self, now: Time) {
        if let (Arrivals::Player(player), Some(playback)) = (&self.flows.arrivals, &mut self.playback) {
            let rank = self.ranks.as_mut().map(|(zipf, rng)| zipf.draw(rng));
            playback.open(player, now, rank);
        }
    }

    /// Ends the arrivals; active flows continue.
    pub(super) fn stop(&mut self) {
        self.next = Time::NEVER;
        self.playback.iter_mut().for_each(Playback::close);
    }

    fn place_of(&self, id: FlowId) -> Option<usize> {
        self.active.binary_search_by_key(&id, |flow| flow.id).ok()
    }

    /// Returns the size of the flow that arrives now, if there is one, and draws the time of the next arrival.
    fn arrival(&mut self, now: Time) -> Option<u64> {
        if let (Arrivals::Player(player), Some(playback)) = (&self.flows.arrivals, &mut self.playback) {
            return playback.ask(player, now);
        }
        if self.next > now {
            return None;
        }
        match &self.flows.arrivals {
            Arrivals::Drawn { gap, poisson, sizes } => {
                let gap = if *poisson { self.times.exponential(*gap) } else { *gap };
                self.next += gap.max(Duration::from_nanos(1));
                Some(sizes.draw(&mut self.sizes))
            }
            Arrivals::Trace(trace) => {
                let bytes = trace.get(self.place).map(|flow| flow.1);
                self.place += 1;
                self.next = trace.get(self.place).map_or(Time::NEVER, |flow| self.origin + flow.0);
                bytes
            }
            Arrivals::Player(_) => None,
        }
    }

    /// Chooses what a new flow fetches. Of a catalogue it is no object that an active flow fetches already, since both
    /// would be one download; none if a hundred draws find no other.
    fn choose(&mut self, known: impl Fn(u64) -> Option<FlowId>) -> Option<Choice> {
        if let (Arrivals::Player(player), Some(playback)) = (&self.flows.arrivals, &self.playback) {
            let object = playback.object(player);
            return Some(Choice { object, known: object.and_then(known) });
        }
        let Some((zipf, rng)) = &mut self.ranks else { return Some(Choice { object: None, known: None }) };
        (0..100).find_map(|_| {
            let object = u64::from(zipf.draw(rng));
            let known = known(object);
            let is_active = known.is_some_and(|id| self.active.binary_search_by_key(&id, |flow| flow.id).is_ok());
            (!is_active).then_some(Choice { object: Some(object), known })
        })
    }

    fn begin(&mut self, now: Time, id: FlowId, segments: u64) {
        let number = self.numbers.bits();
        let mut fetcher = self.template.fetcher(id, number, segments);
        fetcher.start(now);
        let place = self.active.partition_point(|flow| flow.id < id);
        self.active.insert(place, ActiveFlow { id, began: now, segments, fetcher, due: now });
        self.eager.push_back(id);
    }

    pub(super) fn handle(&mut self, now: Time, packet: &Packet) -> Option<Arrival> {
        let id = packet.name.flow;
        let Some(place) = self.place_of(id) else {
            // For a flow that has ended: an answer to a retransmission.
            self.totals.duplicates += u64::from(packet.kind == Kind::Data);
            return None;
        };
        let arrival = self.active[place].fetcher.handle(now, packet);
        match arrival {
            Some(arrival) if arrival.completed => {
                let mut flow = self.active.remove(place);
                self.trace.extend(flow.fetcher.drain_trace());
                add(&mut self.totals, &flow.fetcher.counters());
                self.ended = Some(FlowEvent::Completed { began: flow.began, segments: flow.segments });
                if let (Arrivals::Player(player), Some(playback)) = (&self.flows.arrivals, &mut self.playback) {
                    playback.arrived(player, now);
                }
                Some(Arrival { completed: false, ..arrival })
            }
            arrival => {
                self.eager.push_back(id);
                arrival
            }
        }
    }

    /// The flow that the last packet completed.
    pub(super) fn take_ended(&mut self) -> Option<FlowEvent> {
        self.ended.take()
    }

    /// What happened to a player's video since this was last called.
    pub(super) fn take_video_events(&mut self) -> Vec<FlowEvent> {
        self.playback.as_mut().map(Playback::take_said).unwrap_or_default()
    }

    /// When the next flow arrives, as far as is known.
    pub(super) fn comes(&self) -> Time {
        self.next.min(self.playback.as_ref().map_or(Time::NEVER, Playback::due))
    }

    /// Whether it is only known once another has ended when a flow arrives.
    pub(super) fn is_player(&self) -> bool {
        self.playback.is_some()
    }

    pub(super) fn poll_timeout(&self) -> Time {
        self.active.iter().map(|flow| flow.due).fold(self.comes(), Time::min)
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if let (Arrivals::Player(player), Some(playback)) = (&self.flows.arrivals, &mut self.playback)
            && playback.advance(player, now)
        {
            self.open_video(now);
        }
        for flow in self.active.iter_mut().filter(|flow| flow.due <= now) {
            flow.fetcher.handle_timeout(now);
            self.eager.push_back(flow.id);
        }
    }

    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        while let Some(&id) = self.eager.front() {
            if let Some(place) = self.place_of(id) {
                let flow = &mut self.active[place];
                if let Some(interest) = flow.fetcher.poll_transmit(now) {
                    return Some(interest);
                }
                flow.due = flow.fetcher.poll_timeout();
            }
            self.eager.pop_front();
        }
        None
    }

    /// Counters of all flows together: totals, and the sum of windows and of outstanding Interests.
    pub(super) fn counters(&self) -> ConsumerCounters {
        let mut sum = self.totals;
        (sum.window, sum.in_flight) = (0.0, 0);
        for flow in &self.active {
            let counters = flow.fetcher.counters();
            add(&mut sum, &counters);
            sum.window += counters.window;
            sum.in_flight += counters.in_flight;
            sum.rate = counters.rate.map_or(sum.rate, |rate| Some(rate + sum.rate.unwrap_or(0.0)));
        }
        sum
    }

    pub(super) fn drain_trace(&mut self, mut tell: impl FnMut(TraceEvent)) {
        self.trace.drain(..).for_each(&mut tell);
        for flow in &mut self.active {
            flow.fetcher.drain_trace().for_each(&mut tell);
        }
    }
}

/// Adds the monotonic counters.
fn add(sum: &mut ConsumerCounters, of: &ConsumerCounters) {
    sum.interests += of.interests;
    sum.retransmissions += of.retransmissions;
    sum.segments += of.segments;
    sum.payload_bits += of.payload_bits;
    sum.duplicates += of.duplicates;
    sum.unexpected += of.unexpected;
    sum.timeouts += of.timeouts;
    sum.losses += of.losses;
    sum.false_losses += of.false_losses;
    sum.probes += of.probes;
    sum.nacks += of.nacks;
    sum.marks += of.marks;
    sum.decreases += of.decreases;
    sum.falls += of.falls;
    sum.table_full += of.table_full;
    sum.srtt = of.srtt;
}

impl super::Engine<'_, '_> {
    /// Begins the flows that arrive now at a consumer.
    pub(super) fn begin_flows(&mut self, number: u32) {
        let Self { process, flows, next_flow, known_objects, .. } = self;
        let shared = flows.share();
        let Process { apps, places, now, net, .. } = process;
        let Some(set) = apps[number as usize].flow_set() else { return };
        while let Some(bytes) = set.arrival(*now) {
            let prefix = set.template.prefix;
            let is_room = set.active.len() < set.flows.max_active as usize;
            let choice = set.choose(|object| known_objects.get(&(prefix, object)).copied());
            let known = choice.as_ref().and_then(|choice| choice.known);
            let id = known.unwrap_or(FlowId(*next_flow));
            let strategies = &set.template.strategies;
            // Flow numbers run out only if a description was not checked; the remaining flows are then rejected.
            let is_bound = is_room && choice.is_some() && (known.is_some() || flows.bind(id, Some(prefix)));
            if is_bound && known.is_none() {
                assign_strategies(places, id, strategies);
            }
            let event = if is_bound {
                *next_flow += u32::from(known.is_none());
                if let Some(object) = choice.and_then(|choice| choice.object) {
                    known_objects.insert((prefix, object), id);
                }
                let segments = segments(bytes, set.flows.payload);
                set.begin(*now, id, segments);
                FlowEvent::Began { segments }
            } else {
                FlowEvent::Rejected
            };
            net.sink.flow(*now, number, event);
        }
        set.take_video_events().into_iter().for_each(|event| net.sink.flow(*now, number, event));
        if !flows.is_same(&shared) {
            self.share_flows();
        }
    }
}

/// The first number of flows that come and go; objects that are known from the start have lower numbers.
pub(super) fn first_number(network: &Network) -> u32 {
    network.flows().len() as u32
}
