//! `e2e-aqm`: AIMD driven by a CoDel that the consumer runs on every link of its path.
//!
//! Data tell the delay or the rate of one link ([`crate::queue::e2e_aqm`]); the last of each is kept per link. While
//! the link at hand has waited more than 5 ms since 100 ms, cuts fall due 100 ms / √(n + 1) apart, and each is made
//! with probability own rate / link rate, so that consumers are cut in proportion to their share. A Data that brings
//! no cut grows the window: by 1 in slow start, then by 1/w. In slow start more than 100 packets of queue cut at once.
//!
//! Source: M. Rodríguez-Pérez et al., "End-to-end Active Queue Management with Named-Data Networking", JNCA 221 (2024)
//! 103772; all constants from the authors' code, ICARUS-ICN/jaqmcc@0969a39, `extensions/consumer-src.*`, over ndnSIM's
//! ConsumerWindow. Its habits are kept: n has 8 bits and begins again after 256 cuts due in one incident; own rate is
//! window · 1040 B / smoothed round-trip time whatever the Data's size; every timeout cuts.
//!
//! Ours: at most [`MAX_LINKS`] links are kept, the one heard of longest ago makes room; plain CongestionMarks and
//! NACKs do nothing; before the first round trip is measured nothing is known of the own rate, and a due cut is made.

use super::windowed::{React, Window, check_start};
use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::shared::guard::WindowGuard;
use crate::shared::link_mark::{LinkMark, LinkReading};
use crate::shared::slow_start::SlowStart;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Links of which a consumer keeps the state.
pub const MAX_LINKS: usize = 64;

/// Parameters of [`E2eAqm`]; defaults are the authors' code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first and smallest window, in segments (ConsumerWindow: 1).
    pub initial_window: f64,
    /// Where the first slow start ends, in segments (code: unlimited).
    pub ssthresh: f64,
    /// What a cut multiplies the window by (code: 0.5).
    pub beta: f64,
    /// The queueing delay that is tolerated (code: 5 ms).
    pub target: Duration,
    /// How long it must be exceeded before the first cut falls due (code: 100 ms).
    pub interval: Duration,
    /// Packets of queue, of `segment` bytes each, above which slow start ends at once (code: 100).
    pub burst: f64,
    /// Bytes of content per Data assumed for the own rate and for `burst` (ConsumerWindow: 1040 B); "0B" counts each
    /// Data by its size on the wire (ours).
    pub segment: Bytes,
    /// How often cuts that are due are made (code: always; its rule of once per window is commented out).
    pub marks: React,
    /// How often timeouts and losses cut (code: always).
    pub losses: React,
    /// With "once-per-window": the rule of ndnSIM's ConsumerPcon, in units of the distance from the highest segment
    /// received to the next one (code: 0.5, without effect).
    pub recovery: f64,
    /// The retransmission timer (ndnSIM's Consumer).
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 1.0,
            ssthresh: MAX_WINDOW,
            beta: 0.5,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            burst: 100.0,
            segment: Bytes::new(1040),
            marks: React::Always,
            losses: React::Always,
            recovery: 0.5,
            timer: Timer::default(),
        }
    }
}

/// What is known of a link.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Link {
    number: u32,
    heard: Time,
    delay: Duration,
    rate: Rate,
    /// When the next cut falls due; none while the delay is within the target.
    due: Option<Time>,
    /// Cuts that fell due in this incident.
    count: u8,
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct E2eAqm {
    #[state(skip)]
    params: Params,
    slots: (Slot, Slot),
    window: Window,
    start: SlowStart,
    guard: WindowGuard,
    links: Vec<Link>,
    decreases: u64,
}

impl Component for E2eAqm {
    const NAME: &'static str = "e2e-aqm";
    const SUMMARY: &'static str = "AIMD that runs CoDel itself, on the delay and rate that Data tell of each link";
    const SOURCE: &'static str = "Rodríguez-Pérez et al., JNCA 221 (2024); ICARUS-ICN/jaqmcc@0969a39";
    const FIELDS: &'static [Field] = &[Field::LinkId, Field::LinkState];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_start(params.initial_window, params.initial_window, params.ssthresh)?;
        check::factor("beta", params.beta)?;
        check::least("interval", params.interval, Duration::from_millis(1))?;
        check::number("burst", params.burst, 0.0, 1e9)?;
        check::number("recovery", params.recovery, 0.0, 1e6)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> E2eAqm {
        E2eAqm {
            slots: (env.slot(Field::LinkId), env.slot(Field::LinkState)),
            window: Window::new(params.initial_window, params.initial_window),
            start: SlowStart::new(params.ssthresh),
            guard: WindowGuard::new(params.recovery),
            links: Vec::new(),
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl E2eAqm {
    /// The state of the link, a new one if it was not known.
    fn link(&mut self, number: u32, now: Time) -> usize {
        if let Some(found) = self.links.iter().position(|link| link.number == number) {
            return found;
        }
        let rate = Rate::from_bps(0);
        let fresh = Link { number, heard: now, delay: Duration::ZERO, rate, due: None, count: 0 };
        if self.links.len() < MAX_LINKS {
            self.links.push(fresh);
            return self.links.len() - 1;
        }
        let oldest = (0..self.links.len()).min_by_key(|&i| self.links[i].heard).unwrap_or(0);
        self.links[oldest] = fresh;
        oldest
    }

    /// Whether what the Data tells is congestion.
    fn is_congested(&mut self, mark: LinkMark, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) -> bool {
        let window = self.window.get();
        let index = self.link(mark.link, ctx.now);
        let link = &mut self.links[index];
        link.heard = ctx.now;
        match mark.reading {
            LinkReading::Delay(delay) => {
                link.delay = delay;
                ctx.trace.record(ctx.now, "link-delay", mark.link.into(), delay.millis());
            }
            LinkReading::Rate(rate) => {
                link.rate = rate;
                ctx.trace.record(ctx.now, "link-rate", mark.link.into(), rate.mbps());
            }
        }
        if link.rate.bps() == 0 {
            return false;
        }
        let segment = if self.params.segment > Bytes::ZERO { self.params.segment } else { event.size };
        let rate = link.rate.bps() as f64;
        if link.delay.secs() * rate > self.params.burst * segment.bits() as f64 && self.start.applies(window) {
            return true;
        }
        if link.delay <= self.params.target {
            (link.due, link.count) = (None, 0);
            return false;
        }
        let Some(due) = link.due else {
            link.due = Some(ctx.now + self.params.interval);
            return false;
        };
        if ctx.now <= due {
            return false;
        }
        link.count = link.count.wrapping_add(1);
        link.due = Some(due + self.params.interval.scale(1.0 / libm::sqrt(f64::from(link.count) + 1.0)));
        let own = window * segment.bits() as f64 / event.flight.srtt.secs();
        let guilt = own / rate;
        ctx.trace.record(ctx.now, "guilt", mark.link.into(), guilt.min(1.0));
        ctx.rng.unit() < guilt
    }

    fn cut(&mut self, how: React, flight: &Flight, ctx: &mut Ctx<'_>) {
        if how.admits(&mut self.guard, flight) {
            self.start.end_at(self.window.get() * self.params.beta);
            self.window.set(self.start.threshold());
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", 0, self.window.get());
        }
    }
}

impl Consumer for E2eAqm {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        let (link, state) = (event.fields.get(self.slots.0), event.fields.get(self.slots.1));
        let mark = LinkMark::of_fields(link, state);
        if mark.is_some_and(|mark| self.is_congested(mark, event, ctx)) {
            return self.cut(self.params.marks, &event.flight, ctx);
        }
        let window = self.window.get();
        let step = self.start.step(window);
        self.window.set(window + step);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if !matches!(event.kind, super::Congestion::Nack { .. }) {
            self.cut(self.params.losses, &event.flight, ctx);
        }
    }

    fn window(&self) -> f64 {
        self.window.get()
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn retransmits_on_nack(&self) -> bool {
        false
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests;
