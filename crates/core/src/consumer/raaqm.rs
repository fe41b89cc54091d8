//! `raaqm`: remote adaptive active queue management; random cuts whose probability grows with the delay of each route.
//!
//! Source: Carofiglio, Gallo, Muscariello, Papalini, Wang, "Optimal multipath congestion control and request forwarding
//! in information-centric networks" (ICNP 2013), whose text was not available; laws and constants from its authors'
//! downloader and hICN and from the simulators of Ye et al. and Bai et al., each a preset.
//! One window for the flow; per route (label in the Data) the last RTTs. A Data of round-trip time R cuts the window
//! with probability p_min + p_slope·(R − low)/(RTTmax − low), where low = RTTmin + dead band, else lets it grow.
//! Ours: marks as the signal instead of (or beside) delay, as Ye et al. propose in section VII of HbHCM + PAQM; a bound
//! on the routes remembered; a NACK for congestion counts as a timeout.

use super::preset::params_with_presets;
use super::rtt_window::{RttWindow, check_samples};
use super::{CongestionEvent, Consumer, DataEvent, MAX_WINDOW, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Published versions of RAAQM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The authors' downloader, ported to ndnSIM by Rozhnova and Zeng.
    #[default]
    Downloader,
    /// FD.io hICN's transport library.
    Hicn,
    /// Simulator of Ye et al.: the OMCC-RF that HbHCM + PAQM is compared to.
    Ye,
    /// Simulator of Bai et al. (QSCCP), β and p_slope as in their scripts.
    Qsccp,
}

/// How the window grows after slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// By `increase`/W per Data.
    PerData,
    /// By `increase` after each ⌊W⌋ Data.
    PerWindow,
}

/// What a timeout does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// Multiplies it by `decrease`.
    Cut,
    /// Sets it to `initial-window`.
    Reset,
}

/// What counts as congestion of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// A draw with the probability that its delay gives: RAAQM.
    Delay,
    /// A CongestionMark, such as HbHCM + PAQM sets.
    Marks,
    /// Either.
    Both,
}

/// What RTTmin is the least of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum RttMinimum {
    /// The samples kept: all sources.
    Recent,
    /// All samples of the route so far; ours.
    Ever,
}

params_with_presets! { Preset;
    /// The window at the start, in segments; 1 in all sources.
    initial_window: f64,
    /// A cut goes no lower, in segments.
    min_window: f64,
    /// Growth ends here, in segments.
    max_window: f64,
    /// What a cut multiplies the window by, in (0, 1).
    decrease: f64,
    /// Growth per window of Data, in segments; 1 in all sources.
    increase: f64,
    /// When it is added.
    growth: Growth,
    /// Whether the window grows by a segment per Data until the first cut.
    slow_start: bool,
    /// Whether a Data that cuts the window lets it grow before.
    grow_with_cut: bool,
    /// RTT samples per route; 30 in all sources.
    samples: u32,
    /// What RTTmin is the least of.
    least: RttMinimum,
    /// Whether a route without that many samples causes no cut.
    needs_samples: bool,
    /// The least probability of a cut.
    p_min: f64,
    /// What the longest RTT adds to it.
    p_slope: f64,
    /// RTT above the least of the route that causes no cut at all.
    dead_band: Duration,
    /// Spread of a route's RTTs (beyond the dead band) up to which the probability is `p-min`.
    min_spread: Duration,
    /// After a cut, Data of the same route that cause none, in windows (before the cut).
    hold: f64,
    /// What counts as congestion; ours.
    signal: Signal,
    /// What a timeout does.
    on_timeout: OnTimeout,
    /// A fixed retransmission timeout; "0" takes that of `timer`.
    timeout: Duration,
    /// The retransmission timer.
    timer: Timer,
}

impl Preset {
    fn params(self) -> Params {
        let downloader = Params {
            preset: None,
            initial_window: 1.0,
            min_window: 1.0,
            max_window: 127_999.0,
            decrease: 0.5,
            increase: 1.0,
            growth: Growth::PerWindow,
            slow_start: false,
            grow_with_cut: true,
            samples: 30,
            least: RttMinimum::Recent,
            needs_samples: true,
            p_min: 1e-5,
            p_slope: 0.02,
            dead_band: Duration::ZERO,
            min_spread: Duration::ZERO,
            hold: 0.0,
            signal: Signal::Delay,
            on_timeout: OnTimeout::Cut,
            timeout: Duration::from_millis(1000),
            timer: Timer::default(),
        };
        match self {
            Preset::Downloader => downloader,
            Preset::Hicn => Params {
                max_window: 512.0,
                decrease: 0.8,
                growth: Growth::PerData,
                p_slope: 0.2,
                min_spread: Duration::from_millis(1),
                timeout: Duration::from_millis(1001),
                ..downloader
            },
            Preset::Ye => Params {
                max_window: MAX_WINDOW,
                decrease: 0.875,
                growth: Growth::PerData,
                slow_start: true,
                grow_with_cut: false,
                needs_samples: false,
                p_slope: 0.499_99,
                dead_band: Duration::from_millis(5),
                hold: 1.0,
                on_timeout: OnTimeout::Reset,
                timeout: Duration::ZERO,
                ..downloader
            },
            Preset::Qsccp => Params {
                min_window: 10.0,
                max_window: MAX_WINDOW,
                decrease: 0.95,
                growth: Growth::PerData,
                slow_start: true,
                grow_with_cut: false,
                p_min: 1e-4,
                p_slope: 0.05,
                min_spread: Duration::from_micros(100),
                timeout: Duration::ZERO,
                ..downloader
            },
        }
    }
}

/// Routes remembered; the one unused for longest is forgotten. Ours.
const MAX_ROUTES: usize = 64;

#[derive(Clone, Debug, ndnweir_state::Value)]
struct PathState {
    label: u32,
    rtts: RttWindow,
    /// The shortest round trip so far.
    shortest: Duration,
    /// Data (this one included) that must still come before a cut.
    held: u64,
    used: u64,
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Raaqm {
    #[state(skip)]
    params: Params,
    label: Slot,
    window: f64,
    slow_start: bool,
    received: u64,
    routes: Vec<PathState>,
    data: u64,
    decreases: u64,
}

impl Component for Raaqm {
    const NAME: &'static str = "raaqm";
    const SUMMARY: &'static str = "random cuts by the delay of each route (OMCC's consumer)";
    const SOURCE: &'static str =
        "Carofiglio et al., ICNP 2013; downloader, hICN, simulators of Ye et al. and Bai et al.";
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("min-window", params.min_window)?;
        check_window("max-window", params.max_window)?;
        check::factor("decrease", params.decrease)?;
        check::number("increase", params.increase, 1e-3, 100.0)?;
        check_samples("samples", params.samples)?;
        check::number("p-min", params.p_min, 0.0, 1.0)?;
        check::number("p-slope", params.p_slope, 0.0, 1.0)?;
        check::number("hold", params.hold, 0.0, 100.0)?;
        if params.max_window < params.min_window.max(params.initial_window) {
            let help = "give at least min-window and initial-window";
            return Err(SchemeError::value("max-window", params.max_window, "is below another window", help));
        }
        if params.timeout > Duration::ZERO && params.timeout < Duration::from_millis(1) {
            return Err(SchemeError::value("timeout", params.timeout, "is too short", "give 0 or at least \"1ms\""));
        }
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Raaqm {
        Raaqm {
            params: params.clone(),
            label: env.slot(Field::PathLabel),
            window: params.initial_window,
            slow_start: params.slow_start,
            received: 0,
            routes: Vec::new(),
            data: 0,
            decreases: 0,
        }
    }
}

impl Params {
    /// The probability that a Data of round-trip time `rtt` cuts the window; `rtt` is already among the samples.
    fn probability(&self, rtt: Duration, rtts: &RttWindow, shortest: Duration) -> f64 {
        let enough = rtts.is_full() || !self.needs_samples;
        let Some((least, most)) = rtts.extremes().filter(|_| enough) else { return 0.0 };
        let least = if self.least == RttMinimum::Ever { shortest } else { least };
        let low = least + self.dead_band;
        if rtt < low {
            return 0.0;
        }
        let spread = most - low;
        if spread <= self.min_spread {
            return self.p_min;
        }
        self.p_min + self.p_slope * (rtt - low).secs() / spread.secs()
    }
}

impl Raaqm {
    /// The place of the route in the table, which it enters if it is new.
    fn route(&mut self, label: u32) -> usize {
        if let Some(place) = self.routes.iter().position(|route| route.label == label) {
            return place;
        }
        let route =
            PathState { label, rtts: RttWindow::new(self.params.samples), shortest: Duration::MAX, held: 0, used: 0 };
        if self.routes.len() < MAX_ROUTES {
            self.routes.push(route);
            return self.routes.len() - 1;
        }
        let oldest = (0..self.routes.len()).min_by_key(|&place| self.routes[place].used).unwrap_or(0);
        self.routes[oldest] = route;
        oldest
    }

    fn grow(&mut self) {
        self.received += 1;
        let grown = match self.params.growth {
            _ if self.slow_start => 1.0,
            Growth::PerData => self.params.increase / self.window,
            Growth::PerWindow if self.received >= self.window as u64 => {
                self.received = 0;
                self.params.increase
            }
            Growth::PerWindow => 0.0,
        };
        self.window = (self.window + grown).min(self.params.max_window);
    }

    fn cut(&mut self, ctx: &mut Ctx<'_>) {
        let least = self.params.min_window.min(self.window);
        self.window = (self.params.decrease * self.window).max(least);
        self.slow_start = false;
        self.received = 0;
        self.decreases += 1;
        ctx.trace.record(ctx.now, "decrease", 0, self.window);
    }
}

impl Consumer for Raaqm {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.data += 1;
        let label = event.fields.get(self.label);
        let place = self.route(label);
        let route = &mut self.routes[place];
        route.used = self.data;
        route.held = route.held.saturating_sub(1);

        let mut congested = event.mark > 0 && self.params.signal != Signal::Delay;
        if let Some(rtt) = event.rtt {
            route.rtts.push(rtt);
            route.shortest = route.shortest.min(rtt);
            if self.params.signal != Signal::Marks {
                let probability = self.params.probability(rtt, &route.rtts, route.shortest);
                congested |= probability > 0.0 && ctx.rng.unit() < probability;
                ctx.trace.record(ctx.now, "cut-probability", u64::from(label), probability);
            }
        }
        let cut = congested && route.held == 0;
        if !cut || self.params.grow_with_cut {
            self.grow();
        }
        if cut {
            self.routes[place].held = (self.params.hold * self.window) as u64;
            self.cut(ctx);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind.is_other_nack() {
            return;
        }
        match self.params.on_timeout {
            OnTimeout::Cut => self.cut(ctx),
            OnTimeout::Reset => {
                self.window = self.params.initial_window;
                self.decreases += 1;
                ctx.trace.record(ctx.now, "decrease", 0, self.window);
            }
        }
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn retransmission_timeout(&self) -> Option<Duration> {
        Some(self.params.timeout).filter(|&timeout| timeout > Duration::ZERO)
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests;
