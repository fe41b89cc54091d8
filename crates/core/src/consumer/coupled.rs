//! `coupled`: TCP's window for each path, coupled over all paths of a flow as multipath TCP couples them.
//!
//! Sources: RFC 6356 (LIA); Khalili, Gast, Popovic, Le Boudec, "MPTCP is not Pareto-optimal" (IEEE/ACM ToN, 2013) and
//! draft-khalili-mptcp-congestion-control (OLIA); Peng, Walid, Hwang, Low, "Multipath TCP: analysis, design, and
//! implementation" (IEEE/ACM ToN, 2016) and draft-walid-mptcp-congestion-control (BALIA). The laws are those of the
//! authors' modules for Linux (multipath-tcp/mptcp), see [`law`]; all else is TCP's (RFC 5681): slow start, one cut per
//! round trip, a window of one segment after a timeout.
//!
//! What NDN changes: routers choose paths, so a path is what Data's labels tell and Interests carry the label of theirs
//! (`ptp`'s steering). A mark cuts as a loss does (RFC 3168). Ours: the choice among paths with room; a NACK for
//! congestion is a loss; windows grow whether or not they are used up.

use super::windowed::Window;
use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, Timer, check_window};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shared::guard::RoundTripGuard;
use crate::shared::paths::Paths;
use crate::shared::rtt::SmoothedRtt;
use crate::shared::slow_start::SlowStart;
use crate::units::Time;
use law::Subflow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod law;

/// How the windows of a flow are coupled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// Linked increases (RFC 6356).
    Lia,
    /// Opportunistic linked increases.
    Olia,
    /// Balanced linked adaptation.
    Balia,
}

/// Parameters of [`Coupled`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// `lia`, `olia` or `balia`.
    pub coupling: Coupling,
    /// The first window of a path, in segments; RFC 5681 §3.1: at most 2 to 4.
    pub initial_window: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { coupling: Coupling::Lia, initial_window: 2.0, timer: Timer::default() }
    }
}

/// The window after a timeout (RFC 5681 §3.1), and the least of all.
const LOSS_WINDOW: f64 = 1.0;
/// Shorter round-trip times count as this, in s, so that rates stay finite; ours.
const LEAST_RTT: f64 = 1e-9;

/// What is known of one path.
#[derive(Clone, Debug, ndnweir_state::Value)]
struct PathState {
    window: Window,
    start: SlowStart,
    srtt: SmoothedRtt,
    /// Data since the last loss, and between the last two.
    since_loss: u64,
    between_losses: u64,
    guard: RoundTripGuard,
}

impl PathState {
    fn new(params: &Params) -> PathState {
        PathState {
            window: Window::new(params.initial_window, LOSS_WINDOW),
            start: SlowStart::new(MAX_WINDOW),
            srtt: SmoothedRtt::default(),
            since_loss: 0,
            between_losses: 0,
            guard: RoundTripGuard::default(),
        }
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Coupled {
    #[state(skip)]
    params: Params,
    paths: Paths<PathState>,
    /// The paths as the laws see them, refilled whenever a law is used.
    subflows: Vec<Subflow>,
    label: Slot,
    decreases: u64,
}

impl Component for Coupled {
    const NAME: &'static str = "coupled";
    const SUMMARY: &'static str = "multipath TCP's window for each path, coupled by LIA, OLIA or BALIA";
    const SOURCE: &'static str = "RFC 6356; Khalili et al., ToN 2013; Peng et al., ToN 2016; paths by labels: ours";
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Coupled {
        Coupled {
            paths: Paths::new(PathState::new(params)),
            subflows: Vec::new(),
            label: env.slot(Field::PathLabel),
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Coupled {
    /// Refills what the laws see: the paths with a round-trip time. The place of the one called `label` among them.
    fn refill(&mut self, label: u32) -> Option<usize> {
        let mut place = None;
        self.subflows.clear();
        for path in self.paths.iter() {
            let state = &path.state;
            let Some(rtt) = state.srtt.get() else { continue };
            if path.label == label {
                place = Some(self.subflows.len());
            }
            let between_losses = state.since_loss.max(state.between_losses) as f64;
            self.subflows.push(Subflow { window: state.window.get(), rtt: rtt.secs().max(LEAST_RTT), between_losses });
        }
        place
    }

    /// A path's window grows by an unmarked Data.
    fn grow(&mut self, label: u32, ctx: &mut Ctx<'_>) {
        let place = self.refill(label);
        let Some(path) = self.paths.find(label) else { return };
        let state = &mut path.state;
        let window = state.window.get();
        let gain = match place {
            Some(place) if !state.start.applies(window) => law::gain(self.params.coupling, &self.subflows, place),
            // In slow start, or without a round-trip time: a path that is not coupled yet.
            _ => state.start.step(window),
        };
        state.window.set(window + gain);
        ctx.trace.record(ctx.now, "path-window", label.into(), state.window.get());
    }

    /// A signal about an Interest of a path that left at `sent`: one cut per round trip.
    fn cut(&mut self, label: u32, sent: Time, timeout: bool, ctx: &mut Ctx<'_>) {
        let place = self.refill(label);
        let count = self.paths.iter().count();
        let Some(path) = self.paths.find(label) else { return };
        let state = &mut path.state;
        if !state.guard.admit(sent, ctx.now) {
            return;
        }
        let coupling = self.params.coupling;
        let kept = place.map_or(0.5, |place| law::kept(coupling, &self.subflows, place));
        let window = (kept * state.window.get()).max(law::least_threshold(coupling, count));
        state.start.end_at(window);
        state.window.set(if timeout { LOSS_WINDOW } else { window });
        state.between_losses = std::mem::take(&mut state.since_loss);
        self.decreases += 1;
        ctx.trace.record(ctx.now, "path-window", label.into(), state.window.get());
    }
}

impl Consumer for Coupled {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.paths.release(event.segment);
        let label = event.fields.get(self.label);
        let params = &self.params;
        let state = self.paths.on_data(label, ctx.now, || PathState::new(params));
        if let Some(rtt) = event.rtt {
            state.srtt.sample(rtt);
        }
        state.since_loss += 1;
        if event.mark > 0 {
            self.cut(label, event.sent, false, ctx);
        } else {
            self.grow(label, ctx);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let label = self.paths.release(event.segment).map(|path| path.label);
        if let Some(label) = label.filter(|_| !event.kind.is_other_nack()) {
            self.cut(label, event.sent, event.kind == Congestion::Timeout, ctx);
        }
    }

    fn window(&self) -> f64 {
        self.paths.window(|state| state.window.get())
    }

    fn may_send(&self, flight: &Flight) -> bool {
        self.paths.may_send(flight, |state| state.window.get())
    }

    fn stamp(&mut self, segment: u64, fields: &mut Fields) {
        let label = self.paths.assign_roomiest(segment, |state| state.window.get());
        fields.set(self.label, label);
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
