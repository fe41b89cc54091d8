//! `hbhcm`: hop-by-hop congestion measurement, and marks from what it measures (PAQM).
//!
//! Every node writes into each Data how long it waited for it; the next node subtracts that from its own wait and has
//! the round trip of the hop between them, whatever lies on it. The least such time is the base; what exceeds it is
//! queueing delay, and a delay law turns it into marks.
//!
//! Source: Ye, Lee, Qiao, "Hop-by-Hop Congestion Measurement and Practical Active Queue Management in NDN" (2020),
//! sections III and IV; constants that the text leaves out from the first author's simulator.
//! Ours: what is written is per downstream, from the arrival of *its* Interest, as an aggregated Interest waits less
//! long than the one forwarded; Interests sent twice give no measure, and the downstream is notified; a negative hop is
//! discarded. Producers and caches write their own (small) wait, so "no measure" and "zero" differ.
//! Any registered marker can stand in for PAQM-CoDel: it sees the hop's queueing delay as sojourn time.

use super::hbhcm_base::HopBase;
use super::hbhcm_noise::HopNoise;
use super::hbhcm_pair::PacketPair;
use super::paqm::{Constants, PaqmCodel, Smoothed, Spacing, State, red_marks};
use super::path_label::Form;
use super::{DataIn, DataOut, Meter};
use crate::component::{Component, Env, FamilyParams};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, FieldLayout, Slot};
use crate::ids::FaceId;
use crate::packet::{Kind, Packet};
use crate::queue::{DequeueEvent, EnqueueEvent, Limit, Marker, QueueView, Verdict};
use crate::registry::{AnyMarker, MarkerParams};
use crate::units::{Bytes, Duration, Time};
use ndnweir_state::{Damaged, Reader, Writer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Written where the sender has no valid measure of its own; the receiver skips the sample.
const NO_MEASURE: u32 = u32::MAX;
/// The unit of [`Field::HopRtt`].
const UNIT: u64 = 100;

/// How long a minimum counts as base where no window is set: longer than the runs of the paper. A neighbour that once
/// wrote a wait just below the true one, or a way that has grown longer, must not be congestion for ever.
const LONGEST_BASE: Duration = Duration::from_millis(600_000);

/// Bytes of a full packet, where nothing better is known.
const FULL: u64 = 1500;

/// The paper's law, and the name that selects it.
const PAQM_CODEL: &str = "paqm-codel";
/// The RED form of the authors' simulator.
const PAQM_RED: &str = "paqm-red";

/// Parameters of [`HbHcm`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// What turns delay into marks: `paqm-codel` (section IV.B), `paqm-red` (simulator), or the name of any marker.
    #[schemars(schema_with = "law_schema")]
    pub law: String,
    /// Parameters of the marker that `law` names; none for the two laws above.
    pub law_params: Map<String, Value>,
    /// paqm-codel: queueing delay that is tolerated; section IV.B.
    pub target: Duration,
    /// paqm-codel: how long the delay may exceed the target before the first mark; section IV.B.
    pub interval: Duration,
    /// paqm-codel: the reading of equation (6).
    pub spacing: Spacing,
    /// paqm-codel: delay from which every Data is marked; none in the paper, "100ms" in the authors' simulator for
    /// several paths.
    pub immediate: Option<Duration>,
    /// paqm-red: delay up to which nothing is marked; authors' simulator.
    pub red_min: Duration,
    /// paqm-red: delay from which every Data is marked; authors' simulator.
    pub red_max: Duration,
    /// Weight of the newest delay in the mean the law sees, in (0, 1]; 1 is the delay itself (the paper).
    pub smoothing: f64,
    /// Whether the base depends on the packet size (section III.C).
    pub size_compensation: bool,
    /// How long a minimum counts as base; without it 10 min (ours; for ever in the paper).
    pub base_window: Option<Duration>,
    /// How long delay that less traffic did not lessen counts as noise of the hop, and is no reason to mark; without it
    /// all delay is queueing delay (the paper).
    pub noise_window: Option<Duration>,
    /// Whether to measure hops whose far end writes no measure; the hop then reaches to the producer or to the last
    /// node that measures (section III.B: the field starts at 0).
    pub plain_ends: bool,
    /// Whether to estimate the bottleneck's bandwidth by packet pairs, and from it the queue (equation 5, section V).
    pub packet_pair: bool,
    /// Whether to stamp path labels too, in the shifted form of `path-label`.
    pub path_labels: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            law: PAQM_CODEL.into(),
            law_params: Map::new(),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            spacing: Spacing::Compounding,
            immediate: None,
            red_min: Duration::from_millis(10),
            red_max: Duration::from_millis(50),
            smoothing: 1.0,
            size_compensation: true,
            base_window: None,
            noise_window: None,
            plain_ends: true,
            packet_pair: false,
            path_labels: false,
        }
    }
}

impl Params {
    /// For links in use, of `measured` and `weir`; docs/default-scheme.md has the reasons.
    pub fn deployed() -> Params {
        let window = Some(Duration::from_millis(10_000));
        let interval = Duration::from_millis(10);
        Params { interval, base_window: window, noise_window: window, plain_ends: false, ..Params::default() }
    }
}

/// The schema of [`Params::law`]: the laws there are.
fn law_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let markers = AnyMarker::ALL.iter().map(|info| info.name);
    let names: Vec<_> = [PAQM_CODEL, PAQM_RED].into_iter().chain(markers).collect();
    schemars::json_schema!({ "type": "string", "enum": names })
}

/// What marks one face's Data.
#[derive(ndnweir_state::State)]
enum Law {
    PaqmCodel(PaqmCodel),
    PaqmRed,
    Marker(#[state(inner)] Box<AnyMarker>),
}

#[derive(ndnweir_state::State)]
struct Hop {
    base: HopBase,
    noise: Option<HopNoise>,
    pair: PacketPair,
    mean: Smoothed,
    law: Law,
    state: State,
    known_base: Duration,
    marks: u64,
}

/// The meter.
pub struct HbHcm {
    params: Params,
    rtt: Slot,
    label: Slot,
    layout: FieldLayout,
    /// The law of hops, where it is a marker.
    marker: Option<MarkerParams>,
    hops: Vec<Option<Box<Hop>>>,
}

impl Component for HbHcm {
    const NAME: &'static str = "hbhcm";
    const SUMMARY: &'static str = "measures the queueing delay of every hop and marks Data by it (PAQM-CoDel)";
    const SOURCE: &'static str = "Ye, Lee, Qiao 2020 (HbHCM + PAQM), sections III and IV";
    const FIELDS: &'static [Field] = &[Field::HopRtt, Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        if !(params.smoothing > 0.0 && params.smoothing <= 1.0) {
            let help = "give a number above 0 and up to 1";
            return Err(SchemeError::value("smoothing", params.smoothing, "is out of range", help));
        }
        if params.red_max <= params.red_min {
            let help = format!("give more than red-min = {}", params.red_min);
            return Err(SchemeError::value("red-max", params.red_max, "is not above red-min", help));
        }
        if params.law == PAQM_CODEL || params.law == PAQM_RED {
            return match params.law_params.is_empty() {
                true => Ok(()),
                false => {
                    let help = format!("{} takes its parameters from the meter's", params.law);
                    Err(SchemeError::about("law-params", "law-params are for markers", help))
                }
            };
        }
        let Some(info) = AnyMarker::ALL.iter().find(|info| info.name == params.law) else {
            let known: Vec<_> = AnyMarker::ALL.iter().map(|info| info.name).collect();
            let help = format!("there are {PAQM_CODEL}, {PAQM_RED}, or a marker: {}", known.join(", "));
            return Err(SchemeError::about("law", format!("law = {:?} is not known", params.law), help));
        };
        if !info.fields.is_empty() {
            let message = format!("law = {:?} needs header fields", params.law);
            return Err(SchemeError::about("law", message, "a meter's law cannot have any"));
        }
        AnyMarker::check(&params.law, &Value::Object(params.law_params.clone())).map_err(|e| {
            let parameter = e.parameter.as_ref().map_or("law-params".into(), |inner| format!("law-params.{inner}"));
            SchemeError::about(&parameter, format!("law-params: {}", e.problem()), e.help)
        })
    }

    fn new(params: &Params, env: &mut Env<'_>) -> HbHcm {
        let (rtt, label) = (env.slot(Field::HopRtt), env.slot(Field::PathLabel));
        // The names that `check` lets pass and no marker has are PAQM's.
        let marker = MarkerParams::read(&params.law, &Value::Object(params.law_params.clone())).ok();
        HbHcm { params: params.clone(), rtt, label, layout: env.layout.clone(), marker, hops: Vec::new() }
    }
}

impl HbHcm {
    fn law(&mut self) -> Law {
        let Params { target, interval, spacing, immediate, .. } = self.params;
        if self.params.law == PAQM_RED {
            return Law::PaqmRed;
        }
        match &self.marker {
            Some(marker) => Law::Marker(Box::new(marker.build(&mut Env { layout: &mut self.layout }))),
            None => Law::PaqmCodel(PaqmCodel::new(Constants { target, interval, spacing, immediate })),
        }
    }

    fn ensure(&mut self, face: FaceId) {
        if self.hops.len() <= face.index() {
            self.hops.resize_with(face.index() + 1, || None);
        }
        if self.hops[face.index()].is_none() {
            let hop = Hop {
                base: HopBase::new(self.params.base_window.unwrap_or(LONGEST_BASE), self.params.size_compensation),
                noise: self.params.noise_window.map(|window| HopNoise::new(window, self.params.target)),
                pair: PacketPair::default(),
                mean: Smoothed::default(),
                law: self.law(),
                state: State::Healthy,
                known_base: Duration::MAX,
                marks: 0,
            };
            self.hops[face.index()] = Some(Box::new(hop));
        }
    }
}

/// Only the hops change.
impl ndnweir_state::State for HbHcm {
    fn save(&self, to: &mut Writer) {
        to.length(self.hops.len());
        for hop in &self.hops {
            ndnweir_state::save_each(hop.iter().map(|hop| &**hop), to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let faces = from.length()?;
        if faces > usize::from(FaceId::NONE.0) {
            return Err(from.damaged());
        }
        self.hops.clear();
        self.hops.resize_with(faces, || None);
        for face in 0..faces {
            if from.number()? == 1 {
                self.ensure(FaceId(face as u16));
                self.hops[face].iter_mut().try_for_each(|hop| ndnweir_state::State::load(&mut **hop, from))?;
            }
        }
        Ok(())
    }
}

impl Hop {
    /// The verdict of the law on a Data that was delayed by `delay`.
    fn state(&mut self, packet: &Packet, delay: Duration, params: &Params, ctx: &mut Ctx<'_>) -> State {
        let marked = match &mut self.law {
            Law::PaqmCodel(law) => return law.observe(delay, ctx.now),
            Law::PaqmRed => red_marks(delay, params.red_min, params.red_max, ctx.rng),
            Law::Marker(marker) => {
                let queue = queue_view(packet, delay, &self.pair);
                let size = packet.bytes();
                let event = DequeueEvent { kind: Kind::Data, flow: packet.name.flow, size, sojourn: delay, queue };
                // The Data is seen as leaving the hop's queue first, so that a marker that decides on dequeue and
                // marks on enqueue marks the Data that carried the news.
                let left = marker.on_dequeue(&event, ctx);
                let joined = marker.on_enqueue(&EnqueueEvent { packet, queue }, ctx);
                if delay == Duration::ZERO {
                    marker.on_idle(ctx);
                }
                left != Verdict::Pass || joined != Verdict::Pass
            }
        };
        if marked { State::Congested } else { State::Healthy }
    }
}

/// The queue that would delay by `delay`. Without an estimate of the bandwidth all that is known is that a delay means
/// a queue: three full packets, more than any law exempts (PIE leaves two alone).
fn queue_view(packet: &Packet, delay: Duration, pair: &PacketPair) -> QueueView {
    let size = packet.bytes().get().max(1);
    let waiting = if delay > Duration::ZERO { 3 * size.max(FULL) } else { 0 };
    let bytes = pair.queue(delay).unwrap_or(Bytes::new(waiting));
    let packets = u32::try_from(bytes.get().div_ceil(size)).unwrap_or(u32::MAX);
    QueueView { packets, bytes, limit: Limit::Packets(u32::MAX), rate: pair.bandwidth() }
}

impl HbHcm {
    /// Lets a Data tell no wait, as it will wait here for what its hop is not to be blamed for.
    pub fn tell_nothing(&self, packet: &mut Packet) {
        packet.fields.set(self.rtt, NO_MEASURE);
    }

    /// Takes a Data that arrived into the base of its hop, and no more: for hops whose delay says nothing now but may
    /// later.
    pub fn learn_base(&mut self, event: &DataIn<'_>, now: Time) {
        let measured = self.hop_rtt(event);
        let Some(Some(hop)) = self.hops.get_mut(event.face.index()) else { return self.begin(event, now) };
        if let Some(rtt) = measured {
            hop.base.learn(rtt, event.packet.bytes(), now);
        }
    }

    /// The same for the first Data of a face.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, event: &DataIn<'_>, now: Time) {
        self.ensure(event.face);
        let measured = self.hop_rtt(event);
        if let (Some(Some(hop)), Some(rtt)) = (self.hops.get_mut(event.face.index()), measured) {
            hop.base.observe(rtt, event.packet.bytes(), now);
        }
    }

    /// The round trip of the hop that a Data came over; none if it gives no measure.
    fn hop_rtt(&self, event: &DataIn<'_>) -> Option<Duration> {
        let carried = event.packet.fields.get(self.rtt);
        let beyond = Duration::from_nanos(UNIT * u64::from(carried));
        let unknown = carried == NO_MEASURE || (carried == 0 && !self.params.plain_ends);
        (!unknown && !event.retransmitted && beyond <= event.rtt).then(|| event.rtt - beyond)
    }
}

impl Meter for HbHcm {
    fn counts_flows(&self) -> bool {
        false
    }

    fn on_data_in(&mut self, event: &mut DataIn<'_>, ctx: &mut Ctx<'_>) {
        if event.local || event.face == FaceId::NONE {
            return;
        }
        if self.params.path_labels {
            let label = Form::Shifted.fold(event.packet.fields.get(self.label), event.face);
            event.packet.fields.set(self.label, label);
        }
        self.ensure(event.face);
        let measured = self.hop_rtt(event);
        let params = &self.params;
        let Some(hop) = self.hops[event.face.index()].as_mut() else { return };

        if let Some(noise) = &mut hop.noise {
            noise.delivered(event.packet.bytes(), ctx.now);
        }
        let Some(hop_rtt) = measured else {
            hop.pair.interrupt();
            if let Some(noise) = &mut hop.noise {
                noise.lossy();
            }
            return;
        };
        let size = event.packet.bytes();
        let base = hop.base.observe(hop_rtt, size, ctx.now);
        let delay = hop_rtt - base;
        let id = u64::from(event.face.0);
        if params.packet_pair {
            hop.pair.observe(ctx.now - hop_rtt, ctx.now, size);
            if let (Some(rate), Some(queue)) = (hop.pair.bandwidth(), hop.pair.queue(delay)) {
                ctx.trace.record(ctx.now, "hop-bandwidth", id, rate.mbps());
                ctx.trace.record(ctx.now, "hop-queue", id, queue.get() as f64);
            }
        }
        let queueing = hop.noise.as_mut().map_or(delay, |noise| noise.remove(delay, event.rtt, base, ctx.now));
        let mean = hop.mean.update(queueing, params.smoothing);
        let before = hop.state;
        hop.state = hop.state(event.packet, mean, params, ctx);
        if hop.state == State::Congested {
            event.packet.mark = event.packet.mark.max(1);
            hop.marks += 1;
            ctx.trace.record(ctx.now, "paqm-mark", id, hop.marks as f64);
        }
        if ctx.trace.is_on() {
            ctx.trace.record(ctx.now, "hop-delay", id, delay.millis());
            if let Some(noise) = &hop.noise {
                ctx.trace.record(ctx.now, "hop-noise", id, noise.noise().millis());
            }
            if base != hop.known_base {
                hop.known_base = base;
                ctx.trace.record(ctx.now, "hop-base", id, base.millis());
            }
            if before != hop.state {
                ctx.trace.record(ctx.now, "paqm-state", id, f64::from(hop.state as u8));
            }
        }
    }

    fn on_data_out(&mut self, event: &mut DataOut<'_>, ctx: &mut Ctx<'_>) {
        let waited = if event.from_cache { Duration::ZERO } else { ctx.now.since(event.interest_arrival) };
        let measure = (waited.nanos() / UNIT).clamp(1, u64::from(NO_MEASURE - 1)) as u32;
        event.packet.fields.set(self.rtt, if event.retransmitted { NO_MEASURE } else { measure });
    }
}

#[cfg(test)]
mod tests;
