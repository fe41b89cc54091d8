//! A window law × a reaction profile × a startup.

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, Timer};
use crate::ctx::Ctx;
use crate::shared::guard::WindowGuard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a window grows per unmarked Data and shrinks per reaction.
pub trait WindowLaw {
    /// One unmarked Data arrived.
    fn increase(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>);
    /// The reaction profile decided to cut.
    fn decrease(&mut self, cause: Cause, flight: &Flight, ctx: &mut Ctx<'_>);
    /// The window in segments.
    fn window(&self) -> f64;
    /// Continues from a window found by other means, in congestion avoidance if `avoid`.
    fn jump(&mut self, window: f64, avoid: bool);
}

/// Why a window is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A CongestionMark, on Data or on a NACK.
    Mark,
    /// A timeout, loss or unmarked NACK.
    Loss,
}

/// How often a signal is reacted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum React {
    /// Not at all.
    Never,
    /// At most once per window (see [`Reaction::recovery`]).
    OncePerWindow,
    /// To every one.
    Always,
}

/// When one more Interest may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// While in flight < window: ndnSIM, and the default.
    Below,
    /// While in flight ≤ window: the PCON authors' simulator.
    UpTo,
    /// While in flight < ⌊window⌋: ndn-tools.
    BelowFloor,
}

/// Which signals count, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reaction {
    /// To marked Data.
    pub marks: React,
    /// To timeouts and detected losses.
    pub losses: React,
    /// To NACKs for congestion.
    pub nacks: React,
    /// After a cut, further once-per-window signals are ignored until a segment beyond
    /// `next + recovery · (next − highest received)` arrives; in units of that distance.
    pub recovery: f64,
    /// When one more Interest may go out.
    pub gate: Gate,
}

impl Default for Reaction {
    /// ndnSIM's ConsumerPcon: once per about 1.5 round trips; NACKs are logged only.
    fn default() -> Reaction {
        Reaction {
            marks: React::OncePerWindow,
            losses: React::OncePerWindow,
            nacks: React::Never,
            recovery: 0.5,
            gate: Gate::Below,
        }
    }
}

impl Reaction {
    /// The PCON authors' 2016 consumer: every mark, other signals once per window.
    pub fn pcon_2016() -> Reaction {
        Reaction {
            marks: React::Always,
            losses: React::OncePerWindow,
            nacks: React::OncePerWindow,
            recovery: 0.0,
            gate: Gate::UpTo,
        }
    }
}

/// A consumer made of a window law and a reaction profile.
#[derive(Clone, Debug)]
pub struct Windowed<L> {
    law: L,
    reaction: Reaction,
    timer: Timer,
    guard: WindowGuard,
    decreases: u64,
}

impl<L: WindowLaw> Windowed<L> {
    /// Combines the parts.
    pub fn new(law: L, reaction: Reaction, timer: Timer) -> Windowed<L> {
        Windowed { law, reaction, timer, guard: WindowGuard::new(reaction.recovery), decreases: 0 }
    }

    /// The law, for its own tests.
    pub fn law(&self) -> &L {
        &self.law
    }

    fn react(&mut self, how: React, cause: Cause, flight: &Flight, ctx: &mut Ctx<'_>) {
        let cut = match how {
            React::Never => false,
            React::Always => true,
            React::OncePerWindow => self.guard.admit(flight),
        };
        if cut {
            self.law.decrease(cause, flight, ctx);
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", 0, self.law.window());
        }
    }
}

impl<L: WindowLaw> Consumer for Windowed<L> {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.mark > 0 {
            self.react(self.reaction.marks, Cause::Mark, &event.flight, ctx);
        } else {
            self.law.increase(event, ctx);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let (how, cause) = match event.kind {
            Congestion::Timeout | Congestion::Loss => (self.reaction.losses, Cause::Loss),
            Congestion::Nack { marked: true, .. } => (self.reaction.nacks, Cause::Mark),
            Congestion::Nack { .. } => (self.reaction.nacks, Cause::Loss),
        };
        self.react(how, cause, &event.flight, ctx);
    }

    fn window(&self) -> f64 {
        self.law.window()
    }

    fn may_send(&self, flight: &Flight) -> bool {
        let in_flight = f64::from(flight.in_flight);
        match self.reaction.gate {
            Gate::Below => in_flight < self.law.window(),
            Gate::UpTo => in_flight <= self.law.window(),
            Gate::BelowFloor => in_flight < libm::floor(self.law.window()),
        }
    }

    fn timer(&self) -> Timer {
        self.timer
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}
