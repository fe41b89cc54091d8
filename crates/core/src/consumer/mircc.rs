//! `mircc`: sends over every path at the rates that its Data carry, and looks for paths with random labels.
//!
//! Source: M. Mahdian, S. Arianfar, J. Gibson, D. Oran, "MIRCC: Multipath-aware ICN rate-based congestion control", ICN
//! 2016, whose text was not available; law and constants from a complete implementation by others (Enidsky/mircc,
//! 6081c2c, `apps/mircc-consumer.cpp`): third-party. Data say which path they came by (`path-label`) and its two rates.
//! Primary Interests leave over path p at R_p · max_k(R_k)/Σ R_k, secondary ones at its secondary rate, each stream at
//! one packet/s or more; every 100 ms a primary Interest leaves with a random label, and a path that it finds is bound
//! to that label.
//!
//! Ours: any stream sends the segment that is due, also a retransmission (there a random one); 16 paths at most, the
//! one whose Data came longest ago is replaced, and a path without Data for 2 s is forgotten, so that in silence only
//! probes go on; Data without a rate leave the last one; the gap is exact (there of whole packets per second).

use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shaper::mircc::{PRIMARY, SECONDARY};
use crate::shared::explicit::{Schedule, gap, of_field};
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Parameters of [`Mircc`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Whether there are secondary Interests.
    pub dual: bool,
    /// The time between two Interests with a random label; 100 ms in the implementation.
    pub probe: Duration,
    /// How long a path without Data is remembered (ours).
    pub path_memory: Duration,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            dual: true,
            probe: Duration::from_millis(100),
            path_memory: Duration::from_millis(2000),
            timer: Timer::default(),
        }
    }
}

/// Paths at most (ours).
const MAX_PATHS: usize = 16;
/// Probes whose label is remembered until their Data come; the oldest is forgotten (ours).
const MAX_PROBES: usize = 64;

/// Traffic of one class over one path.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Stream {
    /// In bit/s; 0 before a Data brought one.
    rate: f64,
    schedule: Schedule,
}

#[derive(Clone, Debug, ndnweir_state::Value)]
struct PathState {
    /// What its Data carry.
    label: u32,
    /// What leads an Interest over it.
    guide: u32,
    /// Primary, secondary.
    streams: [Stream; 2],
    seen: Time,
}

/// What the next Interest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Probe,
    /// The place of the path, and whether it is secondary.
    Path(usize, bool),
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Mircc {
    #[state(skip)]
    params: Params,
    label: Slot,
    class: Slot,
    explicit: Slot,
    second: Option<Slot>,
    size: SizeEstimate,
    paths: Vec<PathState>,
    probes: VecDeque<(u64, u32)>,
    probe: Schedule,
    /// The label of the next probe.
    guide: u32,
    now: Time,
}

impl Component for Mircc {
    const NAME: &'static str = "mircc";
    const SUMMARY: &'static str = "sends over every path at the explicit rates its Data carry";
    const SOURCE: &'static str = "Mahdian et al., ICN 2016; law from a third-party implementation (Enidsky/mircc); \
         forgotten paths, order of segments: ours";
    const FIELDS: &'static [Field] =
        &[Field::PathLabel, Field::ServiceClass, Field::ExplicitRate, Field::SecondaryRate];
    type Params = Params;

    fn needs(params: &Params) -> Vec<Field> {
        let single = [Field::PathLabel, Field::ServiceClass, Field::ExplicitRate];
        if params.dual { Self::FIELDS.to_vec() } else { single.to_vec() }
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::least("probe", params.probe, Duration::from_millis(1))?;
        check::least("path-memory", params.path_memory, Duration::from_millis(1))?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Mircc {
        Mircc {
            label: env.slot(Field::PathLabel),
            class: env.slot(Field::ServiceClass),
            explicit: env.slot(Field::ExplicitRate),
            second: params.dual.then(|| env.slot(Field::SecondaryRate)),
            // A path is known from a Data, which brings a size.
            size: SizeEstimate::new(Bytes::new(1)),
            paths: Vec::new(),
            probes: VecDeque::new(),
            probe: Schedule::default(),
            guide: 0,
            now: Time::ZERO,
            params: params.clone(),
        }
    }
}

impl Mircc {
    /// What is due first, and when.
    fn next(&self) -> (Time, Turn) {
        let mut first = (self.probe.due(), Turn::Probe);
        for (place, path) in self.paths.iter().enumerate() {
            for (stream, secondary) in path.streams.iter().zip([false, self.params.dual]) {
                let due = stream.schedule.due();
                if due < first.0 {
                    first = (due, Turn::Path(place, secondary));
                }
                if !self.params.dual {
                    break;
                }
            }
        }
        first
    }

    /// The gap of a stream.
    fn gap(&self, place: usize, secondary: bool) -> Duration {
        let path = &self.paths[place];
        let rate = if secondary {
            path.streams[1].rate
        } else {
            let rates = self.paths.iter().map(|path| path.streams[0].rate);
            let (largest, sum) = rates.fold((0.0, 0.0), |(largest, sum), rate| (rate.max(largest), sum + rate));
            path.streams[0].rate * largest / sum.max(1.0)
        };
        gap(rate, self.size.bytes())
    }

    /// The place of the path that Data with this label came by; a new one is entered if a probe found it.
    fn path(&mut self, label: u32, probe: Option<u32>, now: Time) -> Option<usize> {
        if let Some(place) = self.paths.iter().position(|path| path.label == label) {
            return Some(place);
        }
        let stream = Stream { rate: 0.0, schedule: Schedule::default() };
        let path = PathState { label, guide: probe?, streams: [stream; 2], seen: now };
        if self.paths.len() < MAX_PATHS {
            self.paths.push(path);
            return Some(self.paths.len() - 1);
        }
        let oldest = (0..self.paths.len()).min_by_key(|&place| self.paths[place].seen)?;
        self.paths[oldest] = path;
        Some(oldest)
    }

    fn take_rates(&mut self, place: usize, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        let told = [Some(self.explicit), self.second].map(|slot| of_field(event.fields.get(slot?)));
        for (class, rate) in told.into_iter().enumerate() {
            let path = &mut self.paths[place];
            let stream = &mut path.streams[class];
            if let Some(rate) = rate.filter(|rate| *rate != stream.rate) {
                stream.rate = rate;
                ctx.trace.record(ctx.now, ["primary-rate", "secondary-rate"][class], path.label.into(), rate);
            }
            let soonest = ctx.now + self.gap(place, class == 1);
            let stream = &mut self.paths[place].streams[class];
            // The first packet of a stream follows one gap after the Data that showed the path.
            match stream.schedule.due() {
                Time::ZERO => stream.schedule.sent(ctx.now, soonest.since(ctx.now)),
                _ => stream.schedule.hasten(soonest),
            }
        }
    }
}

impl Consumer for Mircc {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.now = ctx.now;
        self.size.sample(event.size);
        let asked = self.probes.iter().position(|(segment, _)| *segment == event.segment);
        let probe = asked.and_then(|place| self.probes.remove(place)).map(|(_, guide)| guide);
        if let Some(place) = self.path(event.fields.get(self.label), probe, ctx.now) {
            self.paths[place].seen = ctx.now;
            self.take_rates(place, event, ctx);
        }
    }

    fn on_congestion(&mut self, _: &CongestionEvent<'_>, _: &mut Ctx<'_>) {}

    fn window(&self) -> f64 {
        MAX_WINDOW
    }

    fn stamp(&mut self, segment: u64, fields: &mut Fields) {
        let (guide, class) = match self.next().1 {
            Turn::Probe => {
                if self.probes.len() >= MAX_PROBES {
                    self.probes.pop_front();
                }
                self.probes.push_back((segment, self.guide));
                (self.guide, PRIMARY)
            }
            Turn::Path(place, secondary) => (self.paths[place].guide, if secondary { SECONDARY } else { PRIMARY }),
        };
        fields.set(self.label, guide);
        fields.set(self.class, class);
    }

    fn on_sent(&mut self, _: &SentEvent, ctx: &mut Ctx<'_>) {
        self.now = ctx.now;
        match self.next().1 {
            Turn::Probe => {
                self.probe.sent(ctx.now, self.params.probe);
                self.guide = ctx.rng.bits();
            }
            Turn::Path(place, secondary) => {
                let gap = self.gap(place, secondary);
                self.paths[place].streams[usize::from(secondary)].schedule.sent(ctx.now, gap);
            }
        }
        let memory = self.params.path_memory;
        self.paths.retain(|path| ctx.now.since(path.seen) <= memory);
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        Some(self.next().0.since(self.now))
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }
}

#[cfg(test)]
mod tests;
