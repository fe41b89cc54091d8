//! `mpcc`: a rate for each path that online learning finds, with utilities that all paths of the flow share.
//!
//! Source: Gilad, Rozen-Schiff, Godfrey, Raiciu, Schapira, "MPCC: Online Learning Multipath Transport" (CoNEXT 2020),
//! whose text was not at hand; the law and its constants are those of the authors' modules for Linux
//! (mpccopensource/mpcc_release, 8b72ec5), see [`learner`]. Of the NDN scheme of the same name (online learning over
//! loss, bandwidth and round-trip time of path tags) nothing but an abstract is public; this stands in for both.
//!
//! What NDN changes: routers choose paths, so a path is what Data's labels tell and Interests carry the label of theirs
//! (`ptp`'s steering); an interval's Interests are the packets sent. Ours: paths take turns in proportion to their
//! rates; timeouts and NACKs for congestion are losses; a path that stays silent for a whole timeout halves its rate;
//! the slope of round-trip times by regression, as in `vivace`. Marks do nothing, as in the source.

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shared::paths::{Known, Paths};
use crate::units::{Duration, Rate};
use learner::{Learner, MAX_MBPS, MIN_MBPS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod learner;

/// Parameters of [`Mpcc`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first rate of a path; the authors' modules: 500,000 bytes per second.
    pub initial_rate: Rate,
    /// Whether growing round-trip times lower the utility: the authors' `tcp_mpcc`; without it `tcp_mpcc_loss`.
    pub latency: bool,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_rate: Rate::from_bps(4_000_000), latency: true, timer: Timer::default() }
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Mpcc {
    #[state(skip)]
    params: Params,
    paths: Paths<Learner>,
    label: Slot,
    /// Bytes of the last Data.
    size: f64,
    decreases: u64,
}

impl Component for Mpcc {
    const NAME: &'static str = "mpcc";
    const SUMMARY: &'static str = "stands in for MPCC: a rate for each path by online learning of a shared utility";
    const SOURCE: &'static str = "authors' code of Gilad et al., CoNEXT 2020; paths by labels, silence: ours";
    const STAND_IN: bool = true;
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("initial-rate", params.initial_rate.bps() as f64, MIN_MBPS * 1e6, MAX_MBPS * 1e6)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Mpcc {
        Mpcc {
            paths: Paths::new(Learner::new(params, 0.0)),
            label: env.slot(Field::PathLabel),
            size: 1400.0,
            decreases: 0,
            params: params.clone(),
        }
    }
}

fn has_room(path: &Known<Learner>, size: f64) -> bool {
    path.has_room(path.state.window(size), 0)
}

/// The path whose turn it is, of those with room: each in proportion to its rate.
fn next_in_turn(paths: &mut [Known<Learner>], size: f64) -> usize {
    let open: Vec<usize> = (0..paths.len()).filter(|&place| has_room(&paths[place], size)).collect();
    let sum: f64 = open.iter().map(|&place| paths[place].state.sends_at()).sum();
    for &place in &open {
        let state = &mut paths[place].state;
        state.credit += state.sends_at() / sum;
    }
    let credit = |place: usize| paths[place].state.credit;
    let first = open.iter().copied().reduce(|best, place| if credit(place) > credit(best) { place } else { best });
    let first = first.unwrap_or(0);
    paths[first].state.credit -= 1.0;
    first
}

impl Mpcc {
    /// What the paths but the one called `label` last told each other to send at, in Mbit/s.
    fn others(&self, label: u32) -> f64 {
        self.paths.iter().filter(|path| path.label != label).map(|path| path.state.advertised()).sum()
    }

    /// Decides the rate of a path as soon as all intervals of a decision were answered.
    fn decide(&mut self, label: u32, ctx: &mut Ctx<'_>) {
        let (others, size, latency) = (self.others(label), self.size, self.params.latency);
        let Some(path) = self.paths.find(label) else { return };
        let before = path.state.rate();
        if path.state.decide(others, size, latency, ctx) {
            self.decreases += u64::from(path.state.rate() < before);
            ctx.trace.record(ctx.now, "path-rate-mbps", label.into(), path.state.rate());
        }
    }
}

impl Consumer for Mpcc {
    fn on_sent(&mut self, event: &SentEvent, ctx: &mut Ctx<'_>) {
        if let Some(path) = self.paths.of(event.segment) {
            path.state.on_sent(event.segment, ctx.now);
        }
    }

    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.size = event.size.get().max(1) as f64;
        let label = event.fields.get(self.label);
        let asked = self.paths.release(event.segment).map(|path| {
            // A Data that came by another path says nothing about the round-trip time of the one it was asked on.
            let rtt = event.rtt.filter(|_| path.label == label || path.label == 0);
            path.state.on_answer(event.segment, rtt);
            path.label
        });
        let (params, others) = (&self.params, self.others(label));
        self.paths.on_data(label, ctx.now, || Learner::new(params, others)).on_data(event.rtt, ctx.now);
        for label in asked.into_iter().filter(|asked| *asked != label).chain([label]) {
            self.decide(label, ctx);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let Some(path) = self.paths.release(event.segment) else { return };
        let label = path.label;
        if event.kind.is_other_nack() {
            path.state.on_answer(event.segment, None);
        } else {
            path.state.on_lost(event.segment);
            if event.kind == Congestion::Timeout && path.state.on_timeout(event.sent, ctx) {
                self.decreases += 1;
            }
        }
        self.decide(label, ctx);
    }

    fn window(&self) -> f64 {
        self.paths.window(|state| state.window(self.size))
    }

    fn may_send(&self, flight: &Flight) -> bool {
        self.paths.may_send(flight, |state| state.window(self.size))
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        let rate = |with_room: bool| -> f64 {
            let paths = self.paths.iter().filter(|path| !with_room || has_room(path, self.size));
            paths.map(|path| path.state.sends_at()).sum()
        };
        let open = rate(true);
        Some(Duration::from_secs_f64(8e-6 * self.size / if open > 0.0 { open } else { rate(false) }))
    }

    fn stamp(&mut self, segment: u64, fields: &mut Fields) {
        let size = self.size;
        fields.set(self.label, self.paths.assign(segment, |paths| next_in_turn(paths, size)));
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests;
