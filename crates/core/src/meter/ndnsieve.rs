//! `ndnsieve`: link utilisation and queue occupancy per interface, reports by period, signals above a threshold.
//!
//! Once per detection period, for each interface of known capacity: β = arriving bits / capacity (equation 1; it may
//! exceed 1) and ε = queue length / limit (equation 2) at that instant. A signal goes to the planner whenever β > th1,
//! whatever ε: sieving is the planner's task. Each T_p all interfaces are reported.
//!
//! Source: Ma et al., Discover Applied Sciences 2024, §4.1, tables 2 and 3.
//! Ours: the detection period (0.1 s; the paper gives none, but a switch at 4.1 s rules out 0.5 s); hysteresis and a
//! least gap of signals, both off; the Data rate per prefix and interface, which the paper's controller must know
//! to "select the prefix of traffic on congested links". Marks on severe congestion are the marker's
//! ([`crate::queue::ndnsieve`]), which sees every departure; this meter only records the state.

use super::{DataIn, Meter, Report};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, PrefixId};
use crate::shaper::FaceView;
use crate::units::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Pairs of prefix and interface counted at most; the rates of later ones are not reported.
const MAX_RATES: usize = 1 << 16;

/// Parameters of [`NdnSieve`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Link utilisation above which a signal is sent; th1 = 0.85 in table 3.
    pub utilization: f64,
    /// Queue occupancy above which the recorded state is severe; th2 = 0.9 in table 3.
    pub occupancy: f64,
    /// Detection period; 0.1 s is ours.
    pub detection: Duration,
    /// Reporting period T_p; 0.5 s in table 3. It is counted in whole detection periods.
    pub report: Duration,
    /// Once above `utilization`, an interface continues signalling until it falls below `utilization` less this (ours).
    pub hysteresis: f64,
    /// Least time between two signals of one interface; none signals every detection period (ours).
    pub signal_gap: Option<Duration>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            utilization: 0.85,
            occupancy: 0.9,
            detection: Duration::from_millis(100),
            report: Duration::from_millis(500),
            hysteresis: 0.0,
            signal_gap: None,
        }
    }
}

/// The state of a network as seen at one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub enum State {
    /// β ≤ th1 and ε ≤ th2.
    #[default]
    Free,
    /// β > th1 and ε ≤ th2: for the planner to relieve.
    Mild,
    /// ε > th2: for consumers to relieve.
    Severe,
}

impl State {
    /// Table 2.
    pub fn of(utilization: f64, occupancy: f64, th1: f64, th2: f64) -> State {
        match (utilization > th1, occupancy > th2) {
            (_, true) => State::Severe,
            (true, false) => State::Mild,
            (false, false) => State::Free,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Interface {
    /// Bits offered up to the last evaluation; none before the first.
    offered: Option<u64>,
    state: State,
    above: bool,
    /// No signal before this.
    quiet: Time,
}

/// The meter.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct NdnSieve {
    #[state(skip)]
    params: Params,
    interfaces: Vec<Interface>,
    evaluated: Time,
    next: Time,
    next_report: Time,
    last_report: Time,
    rates: BTreeMap<(PrefixId, FaceId), u64>,
    operations: u64,
}

impl Component for NdnSieve {
    const NAME: &'static str = "ndnsieve";
    const SUMMARY: &'static str = "reports link utilisation and queue occupancy, signals when a link is above 85 %";
    const SOURCE: &'static str =
        "Ma et al., Discover Applied Sciences 2024, §4.1; detection period, prefix rates: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("utilization", params.utilization, 0.0, 100.0)?;
        check::number("occupancy", params.occupancy, 0.0, 1.0)?;
        check::number("hysteresis", params.hysteresis, 0.0, 1.0)?;
        check::least("detection", params.detection, Duration::from_millis(1))?;
        if params.report < params.detection {
            let help = format!("give detection = {} or more", params.detection);
            return Err(SchemeError::value("report", params.report, "is shorter than detection", help));
        }
        Ok(())
    }

    fn new(params: &Params, _: &mut Env<'_>) -> NdnSieve {
        NdnSieve {
            params: params.clone(),
            interfaces: Vec::new(),
            evaluated: Time::ZERO,
            next: Time::ZERO,
            next_report: Time::ZERO,
            last_report: Time::ZERO,
            rates: BTreeMap::new(),
            operations: 0,
        }
    }
}

/// The first whole multiple of `period` after `now`, so that all routers evaluate at the same instants.
fn after(now: Time, period: Duration) -> Time {
    Time::ZERO + period * (now.nanos() / period.nanos() + 1)
}

impl NdnSieve {
    /// Basic operations of detection so far: per evaluation and interface one utilisation, one occupancy, one
    /// evaluation, and one for a signal if there is one (the paper's equation 6 counts 4 at most).
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Evaluates one interface; its β and ε unless this is the first time, and whether it signals.
    fn evaluate(
        &mut self,
        view: &FaceView,
        now: Time,
        elapsed: Duration,
        ctx: &mut Ctx<'_>,
    ) -> Option<(f64, f64, bool)> {
        let rate = view.rate.filter(|rate| rate.bps() > 0 && !view.local)?;
        let Params { utilization: th1, occupancy: th2, hysteresis, signal_gap, .. } = self.params;
        let interface = self.interfaces.get_mut(view.face.index())?;
        let before = interface.offered.replace(view.offered_bits)?;
        let possible = rate.bps() as f64 * elapsed.secs().max(1e-9);
        let utilization = view.offered_bits.saturating_sub(before) as f64 / possible;
        let occupancy = view.queue.occupancy();
        let state = State::of(utilization, occupancy, th1, th2);
        if state != interface.state {
            interface.state = state;
            ctx.trace.record(now, "state", view.face.index() as u64, f64::from(state as u8));
        }
        interface.above = utilization > th1 || (interface.above && utilization >= th1 - hysteresis && hysteresis > 0.0);
        let signals = interface.above && now >= interface.quiet;
        if signals {
            interface.quiet = now + signal_gap.unwrap_or(Duration::ZERO);
        }
        self.operations += 3 + u64::from(signals);
        Some((utilization, occupancy, signals))
    }

    fn report_rates(&mut self, now: Time, reports: &mut Vec<Report>) {
        let elapsed = now.since(self.last_report).secs();
        self.last_report = now;
        if elapsed <= 0.0 {
            return;
        }
        for (&(prefix, face), bits) in &mut self.rates {
            let rate = Rate::from_bps((*bits as f64 / elapsed) as u64);
            reports.push(Report::PrefixRate { prefix, face, rate });
        }
        // What has stopped is reported as zero once and then removed.
        self.rates.retain(|_, bits| std::mem::take(bits) > 0);
    }
}

impl Meter for NdnSieve {
    fn on_data_in(&mut self, event: &mut DataIn<'_>, _: &mut Ctx<'_>) {
        if event.local {
            return;
        }
        let key = (event.prefix, event.face);
        if self.rates.len() < MAX_RATES || self.rates.contains_key(&key) {
            let bits = self.rates.entry(key).or_insert(0);
            *bits = bits.saturating_add(event.packet.bytes().bits());
        }
    }

    fn next_wake(&self) -> Time {
        self.next
    }

    fn on_period(&mut self, faces: &[FaceView], reports: &mut Vec<Report>, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let elapsed = now.since(self.evaluated);
        (self.evaluated, self.next) = (now, after(now, self.params.detection));
        let reporting = now >= self.next_report;
        let top = faces.iter().map(|view| view.face.index() + 1).max().unwrap_or(0);
        self.interfaces.resize(top.max(self.interfaces.len()), Interface::default());
        let mut signals = Vec::new();
        for view in faces {
            let Some((utilization, occupancy, signal)) = self.evaluate(view, now, elapsed, ctx) else { continue };
            let face = view.face;
            if reporting {
                reports.push(Report::Interface { face, utilization, occupancy });
            }
            if signal {
                signals.push(Report::Signal { face });
            }
        }
        if reporting {
            self.next_report = after(now, self.params.report);
            self.report_rates(now, reports);
        }
        // After the reports, so that the planner judges a signal by the latest state.
        reports.append(&mut signals);
    }
}

#[cfg(test)]
mod tests;
