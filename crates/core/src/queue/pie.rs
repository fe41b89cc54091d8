//! `pie`: a probability that follows the queueing delay and its trend (RFC 8033).
//!
//! Every 15 ms the probability changes by `α · (delay − target) + β · (delay − former delay)`, scaled down while it is
//! small; packets that join are marked with it, spread out by a counter instead of by chance alone. A queue that was
//! empty may hold a burst of 150 ms first. Above a probability of 10 % packets are dropped, as marks have then failed.
//! Source: RFC 8033 §4 and §5.1 to §5.5; specification, router side §9.3.
//!
//! Choices the RFC leaves: the delay is the waiting time of the last packet that left, and 0 once the link is idle (the
//! RFC's option to time packets instead of measuring the departure rate); the probability does not depend on packet
//! sizes; the counter starts again after a mark as after a drop. Left out: the optional switch that turns PIE off while
//! the queue is below a third of its limit. Ours: updates are applied at the next packet, at the instants at which they
//! were due; after 2¹⁶ of them without a packet the rest is skipped. "Two packets" of the exempt queue are counted,
//! where the RFC has bytes of mean packets.

use super::{Action, DequeueEvent, EnqueueEvent, Marker, Verdict};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Pie`]; defaults are the RFC's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The queueing delay aimed at (RFC 8033 §4.1, QDELAY_REF: 15 ms).
    pub target: Duration,
    /// How long a queue that was not congested is left alone (RFC 8033 §4.4, MAX_BURST: 150 ms).
    pub burst: Duration,
    /// Time between two updates of the probability, at least 1 ms (RFC 8033 §4.2, T_UPDATE: 15 ms).
    pub update: Duration,
    /// Probability per update and second of delay above the target (RFC 8033 §4.2: 1/8).
    pub alpha: f64,
    /// Probability per update and second by which the delay has grown (RFC 8033 §4.2: 1 1/4).
    pub beta: f64,
    /// The probability up to which packets are marked; above it they are dropped (RFC 8033 §5.1, MAX_ECNTH: 10 %).
    pub mark_up_to: f64,
    /// What happens to the packets picked (RFC 8033 §5.1 lets ECN decide; ours: mark).
    pub action: Action,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Duration::from_millis(15),
            burst: Duration::from_millis(150),
            update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            mark_up_to: 0.1,
            action: Action::Mark,
        }
    }
}

/// Below so much probability its changes are divided by that (RFC 8033 §4.2).
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// The most the probability grows at once when it is 0.1 or more (RFC 8033 §5.5).
const MAX_GROWTH: f64 = 0.02;
/// What is left of the probability per update without delay (RFC 8033 §4.2).
const DECAY: f64 = 0.98;
/// Below this sum of probabilities since the last packet picked none is picked (RFC 8033 §5.4).
const MIN_SUM: f64 = 0.85;
/// From this sum on one is picked for certain (RFC 8033 §5.4).
const MAX_SUM: f64 = 8.5;
/// Below this probability a queue that was short at the last update is left alone (RFC 8033 §4.1).
const SAFE_PROBABILITY: f64 = 0.2;
/// Packets in a queue that is left alone (RFC 8033 §4.1).
const MIN_PACKETS: u32 = 2;
/// The most updates applied at one packet (ours).
const MAX_UPDATES: u32 = 1 << 16;

/// The marker.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Pie {
    #[state(skip)]
    params: Params,
    probability: f64,
    /// The last waiting time seen.
    delay: Duration,
    /// The waiting time at the last update.
    former: Duration,
    /// How long bursts are still allowed.
    allowance: Duration,
    /// Sum of the probabilities since the last packet picked.
    sum: f64,
    next_update: Time,
}

impl Component for Pie {
    const NAME: &'static str = "pie";
    const SUMMARY: &'static str = "PIE of RFC 8033: marks with a probability that follows the delay, drops above 10 %";
    const SOURCE: &'static str = "RFC 8033";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::least("update", params.update, Duration::from_millis(1))?;
        check::number("alpha", params.alpha, 0.0, 1e6)?;
        check::number("beta", params.beta, 0.0, 1e6)?;
        check::number("mark-up-to", params.mark_up_to, 0.0, 1.0)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Pie {
        Pie {
            params: params.clone(),
            probability: 0.0,
            delay: Duration::ZERO,
            former: Duration::ZERO,
            allowance: params.burst,
            sum: 0.0,
            next_update: Time::ZERO + params.update,
        }
    }
}

impl Pie {
    /// Applies the updates that were due up to now.
    fn catch_up(&mut self, ctx: &mut Ctx<'_>) {
        let mut most = MAX_UPDATES;
        while self.next_update <= ctx.now {
            let before = (self.probability, self.former, self.allowance);
            self.update();
            let settled = before == (self.probability, self.former, self.allowance);
            if !settled {
                ctx.trace.record(self.next_update, "pie-probability", 0, self.probability);
            }
            most -= 1;
            let skipped = if settled || most == 0 {
                ctx.now.since(self.next_update).nanos() / self.params.update.nanos()
            } else {
                0
            };
            self.next_update += self.params.update * (skipped + 1);
            if self.next_update == Time::NEVER {
                return;
            }
        }
    }

    fn update(&mut self) {
        let Params { target, burst, update, alpha, beta, .. } = self.params;
        let (delay, former) = (self.delay.secs(), self.former.secs());
        let mut change = alpha * (delay - target.secs()) + beta * (delay - former);
        if let Some((_, scale)) = SCALES.into_iter().find(|(below, _)| self.probability < *below) {
            change /= scale;
        } else {
            change = change.min(MAX_GROWTH);
        }
        self.probability += change;
        if self.delay == Duration::ZERO && self.former == Duration::ZERO {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.allowance = self.allowance - update;
        if self.probability == 0.0 && self.is_short(self.delay) && self.is_short(self.former) {
            self.allowance = burst;
        }
        self.former = self.delay;
    }

    /// Whether a delay is below half of the target.
    fn is_short(&self, delay: Duration) -> bool {
        delay < Duration::from_nanos(self.params.target.nanos() / 2)
    }

    /// Whether a packet that joins a queue of so many is picked.
    fn picks(&mut self, packets: u32, ctx: &mut Ctx<'_>) -> bool {
        let safe = self.is_short(self.former) && self.probability < SAFE_PROBABILITY;
        if self.allowance > Duration::ZERO || safe || packets <= MIN_PACKETS {
            return false;
        }
        if self.probability == 0.0 {
            self.sum = 0.0;
        }
        self.sum += self.probability;
        if self.sum < MIN_SUM || (self.sum < MAX_SUM && ctx.rng.unit() >= self.probability) {
            return false;
        }
        self.sum = 0.0;
        true
    }
}

impl Marker for Pie {
    fn predictable(&self) -> bool {
        true
    }

    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict {
        self.catch_up(ctx);
        if !self.picks(event.queue.packets, ctx) {
            return Verdict::Pass;
        }
        if self.probability <= self.params.mark_up_to { self.params.action.verdict() } else { Verdict::Drop }
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        self.catch_up(ctx);
        self.delay = event.sojourn;
        Verdict::Pass
    }

    fn on_idle(&mut self, ctx: &mut Ctx<'_>) {
        self.catch_up(ctx);
        self.delay = Duration::ZERO;
    }

    fn on_overflow(&mut self, _: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) {
        self.catch_up(ctx);
        self.sum = 0.0;
    }
}

#[cfg(test)]
mod tests;
