//! `dpccp`: a rate for each path, held where a fixed number of the flow's Data waits in queues, which delay shows.
//!
//! Source: Ye, Lee, Flynn, Xu, Fang, Qiao, "Delay-based network utility maximization modelling for congestion control
//! in named data networking" (IEEE/ACM ToN, 2021), of which the abstract alone is public: queueing delay as the signal,
//! control per path, laws that speed up convergence. States, laws and constants are those of a third-party consumer for
//! ndnSIM (`dpccp.cpp`); the router's mark and the path tags those of zzhang154/ndnSIM-2.9-raw (228240f83).
//!
//! That consumer has one rate and adds the backlogs of all paths; here every path has a rate (ours), which is the same
//! with one path. Ours besides: marks (no consumer at hand reads them); what a measurement without Data does; bounds.

use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shared::paths::{Known, Paths};
use crate::units::{Duration, Time};
use machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod machine;

/// Parameters of [`Dpccp`]; from the third-party consumer where nothing else is said. Rates are in packets per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first rate of a path.
    pub initial_rate: f64,
    /// The first monitoring interval.
    pub initial_interval: Duration,
    /// Longer round-trip times do not lengthen the interval.
    pub longest_rtt: Duration,
    /// β: how far bandwidth filling tries rates beside the present one, as a part of it.
    pub probe: f64,
    /// ψ: the backlog up to which the bandwidth counts as not filled, in packets.
    pub filled: f64,
    /// α: the backlog that a flow aims at.
    pub target: f64,
    /// η: the backlog above which queues are drained.
    pub excess: f64,
    /// Whether a mark counts as filled bandwidth; ours.
    pub marks: bool,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_rate: 100.0,
            initial_interval: Duration::from_millis(60),
            longest_rtt: Duration::from_millis(200),
            probe: 0.05,
            filled: 3.0,
            target: 20.0,
            excess: 30.0,
            marks: true,
            timer: Timer::default(),
        }
    }
}

/// The rate while queues drain, and the least of all.
const MIN_RATE: f64 = 2.0;
/// ζ: what the rate is multiplied by after that.
const AFTER_DRAIN: f64 = 0.8;
/// No rate is above this; ours.
const MAX_RATE: f64 = 1e9;

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Dpccp {
    #[state(skip)]
    params: Params,
    paths: Paths<Machine>,
    label: Slot,
    started: bool,
    decreases: u64,
}

impl Component for Dpccp {
    const NAME: &'static str = "dpccp";
    const SUMMARY: &'static str = "DPCCP: a rate for each path that keeps its backlog in queues at a target, by delay";
    const SOURCE: &'static str =
        "abstract of Ye et al., ToN 2021; third-party ndnSIM consumer; rate per path, marks: ours";
    const STAND_IN: bool = true;
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("initial-rate", params.initial_rate, MIN_RATE, MAX_RATE)?;
        check::least("initial-interval", params.initial_interval, Duration::from_millis(1))?;
        check::least("longest-rtt", params.longest_rtt, Duration::from_millis(1))?;
        check::factor("probe", params.probe)?;
        check::number("filled", params.filled, 0.0, 1e6)?;
        check::number("target", params.target, 0.0, 1e6)?;
        check::number("excess", params.excess, 0.0, 1e6)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Dpccp {
        Dpccp {
            paths: Paths::new(Machine::new(params)),
            label: env.slot(Field::PathLabel),
            started: false,
            decreases: 0,
            params: params.clone(),
        }
    }
}

/// The path whose turn it is: each in proportion to its rate.
fn next_in_turn(paths: &mut [Known<Machine>]) -> usize {
    let sum: f64 = paths.iter().map(|path| path.state.sends_at()).sum();
    for path in paths.iter_mut() {
        path.state.credit += path.state.sends_at() / sum;
    }
    let credit = |place: usize| paths[place].state.credit;
    let first = (0..paths.len()).reduce(|best, place| if credit(place) > credit(best) { place } else { best });
    let first = first.unwrap_or(0);
    paths[first].state.credit -= 1.0;
    first
}

impl Consumer for Dpccp {
    fn on_sent(&mut self, _: &SentEvent, ctx: &mut Ctx<'_>) {
        if !self.started {
            self.started = true;
            self.paths.iter_mut().for_each(|path| path.state.start(ctx.now, &self.params));
        }
    }

    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.end_intervals(ctx);
        self.paths.release(event.segment);
        let (params, label) = (&self.params, event.fields.get(self.label));
        let first = || {
            let mut machine = Machine::new(params);
            machine.start(ctx.now, params);
            machine
        };
        self.paths.on_data(label, ctx.now, first).on_data(event.rtt, event.mark > 0 && params.marks);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        self.end_intervals(ctx);
        self.paths.release(event.segment);
    }

    /// The rates are the only limit; what is outstanding is bounded by rate × timeout.
    fn window(&self) -> f64 {
        MAX_WINDOW
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        let sum: f64 = self.paths.iter().map(|path| path.state.sends_at()).sum();
        Some(Duration::from_secs_f64(1.0 / sum))
    }

    fn next_wake(&self) -> Time {
        self.paths.iter().map(|path| path.state.due()).min().unwrap_or(Time::NEVER)
    }

    fn on_wake(&mut self, ctx: &mut Ctx<'_>) {
        self.end_intervals(ctx);
    }

    fn stamp(&mut self, segment: u64, fields: &mut Fields) {
        fields.set(self.label, self.paths.assign(segment, next_in_turn));
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

impl Dpccp {
    /// Ends the intervals that are over, at a wake or, should that be late, at an answer.
    fn end_intervals(&mut self, ctx: &mut Ctx<'_>) {
        for path in self.paths.iter_mut().filter(|path| path.state.due() <= ctx.now) {
            let before = path.state.rate();
            path.state.advance(ctx.now, &self.params);
            self.decreases += u64::from(path.state.rate() < before);
            ctx.trace.record(ctx.now, "path-rate", path.label.into(), path.state.rate());
            ctx.trace.record(ctx.now, "backlog", path.label.into(), path.state.backlog());
        }
    }
}

#[cfg(test)]
mod tests;
