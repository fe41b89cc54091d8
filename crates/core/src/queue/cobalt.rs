//! `cobalt`: CoDel that keeps its schedule between incidents, with BLUE for unresponsive flows.
//!
//! A packet that waited longer than the target starts an incident; one is picked every `interval / √count` while it
//! lasts. When it is over, the count falls by the same schedule instead of starting again. BLUE drops with a
//! probability that grows when the queue overflows or packets wait for 400 ms, and shrinks when the queue runs empty.
//! Source: ns-3 `CobaltQueueDisc` (after Linux `sch_cake`); specification, router side §9.4.
//!
//! Deviations: the packets picked are marked unless `action = "drop"` (ns-3 drops by default); what BLUE picks is
//! always dropped, as there. Square roots are exact, where ns-3 approximates them beyond a count of 15. L4S is left
//! out.

use super::{Action, DequeueEvent, EnqueueEvent, Marker, Verdict};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Cobalt`]; defaults are ns-3's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The waiting time that is tolerated, and the least time between two changes of BLUE's probability (ns-3: 5 ms).
    pub target: Duration,
    /// Time between the first two packets picked (ns-3: 100 ms).
    pub interval: Duration,
    /// What an overflow or a very long wait adds to BLUE's probability (ns-3: 1/256).
    pub increment: f64,
    /// What an empty queue takes off BLUE's probability (ns-3: 1/4096).
    pub decrement: f64,
    /// The waiting time above which BLUE's probability grows (ns-3: 400 ms).
    pub blue_threshold: Duration,
    /// The waiting time above which every packet is marked, when marking (ns-3: none).
    pub ce_threshold: Option<Duration>,
    /// What happens to the packets picked (ns-3: drop; ours: mark).
    pub action: Action,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            increment: 1.0 / 256.0,
            decrement: 1.0 / 4096.0,
            blue_threshold: Duration::from_millis(400),
            ce_threshold: None,
            action: Action::Mark,
        }
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Cobalt {
    #[state(skip)]
    params: Params,
    /// Sets the spacing.
    count: u32,
    /// When the next packet is due to be picked, or the count to fall.
    next: Time,
    /// Whether an incident is on.
    picking: bool,
    /// BLUE's probability.
    blue: f64,
    /// When it changed last.
    blue_changed: Time,
}

impl Component for Cobalt {
    const NAME: &'static str = "cobalt";
    const SUMMARY: &'static str = "COBALT as in ns-3: CoDel that keeps its count, and BLUE for flows that do not react";
    const SOURCE: &'static str = "ns-3 CobaltQueueDisc; marking by default: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        super::check_interval(params.interval)?;
        check::number("increment", params.increment, 0.0, 1.0)?;
        check::number("decrement", params.decrement, 0.0, 1.0)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Cobalt {
        Cobalt {
            params: params.clone(),
            count: 0,
            next: Time::ZERO,
            picking: false,
            blue: 0.0,
            blue_changed: Time::ZERO,
        }
    }
}

impl Cobalt {
    fn gap(&self) -> Duration {
        super::gap(self.params.interval, 1.0, u64::from(self.count))
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.next
    }

    /// Whether BLUE may change its probability.
    fn may_change(&self, now: Time) -> bool {
        now.since(self.blue_changed) > self.params.target
    }

    fn raise_blue(&mut self, now: Time) {
        if self.may_change(now) {
            self.blue = (self.blue + self.params.increment).min(1.0);
            self.blue_changed = now;
        }
    }
}

impl Marker for Cobalt {
    fn predictable(&self) -> bool {
        false
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        let now = ctx.now;
        let (mut late, due) = (now > self.next, self.is_due(now));
        if event.sojourn > self.params.target {
            if !self.picking {
                self.picking = true;
                self.next = now + self.gap();
            }
            self.count = self.count.max(1);
        } else {
            self.picking = false;
        }

        let mut verdict = Verdict::Pass;
        if due && self.picking {
            verdict = self.params.action.verdict();
            self.count = self.count.saturating_add(1);
            self.next += self.gap();
            late = now > self.next;
        } else if due {
            while self.is_due(now) {
                self.count -= 1;
                self.next += self.gap();
            }
            late = now > self.next;
        }
        let above = |threshold: Duration| event.sojourn > threshold;
        if self.params.action == Action::Mark && self.params.ce_threshold.is_some_and(above) {
            verdict = Verdict::Mark(1);
        }

        if event.sojourn > self.params.blue_threshold {
            self.raise_blue(now);
        }
        if self.blue > 0.0 && ctx.rng.unit() < self.blue {
            verdict = Verdict::Drop;
        }

        if self.count == 0 {
            self.next = now + self.params.interval;
        } else if late && verdict != Verdict::Drop {
            self.next = now;
        }
        verdict
    }

    fn on_idle(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        if self.blue > 0.0 && self.may_change(now) {
            self.blue = (self.blue - self.params.decrement).max(0.0);
            self.blue_changed = now;
        }
        self.picking = false;
        if self.is_due(now) {
            self.count -= 1;
            self.next += self.gap();
        }
    }

    fn on_overflow(&mut self, _: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) {
        self.raise_blue(ctx.now);
        self.picking = true;
        self.next = ctx.now;
        self.count = self.count.max(1);
    }
}

#[cfg(test)]
mod tests;
