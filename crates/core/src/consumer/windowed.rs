//! A window law × a reaction profile × a startup.

use super::startup::{Search, Startup};
use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer, check_window};
use crate::check;
use crate::component::Env;
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot, window_to_field};
use crate::shared::guard::WindowGuard;
use crate::shared::noise::Noise;
use crate::units::Duration;
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

/// A window kept finite and within [floor, [`MAX_WINDOW`]].
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub struct Window {
    segments: f64,
    floor: f64,
}

impl Window {
    /// A window of `initial` segments that never falls below `floor`.
    pub fn new(initial: f64, floor: f64) -> Window {
        let mut window = Window { segments: floor, floor };
        window.set(initial);
        window
    }

    /// In segments.
    pub fn get(&self) -> f64 {
        self.segments
    }

    /// Changes it, within its bounds; a NaN leaves it unchanged.
    pub fn set(&mut self, segments: f64) {
        if !segments.is_nan() {
            self.segments = segments.min(MAX_WINDOW).max(self.floor);
        }
    }
}

/// Checks the window a law starts from.
///
/// # Errors
/// As [`check_window`].
pub fn check_start(initial_window: f64, floor: f64, ssthresh: f64) -> Result<(), SchemeError> {
    check_window("initial-window", initial_window)?;
    check_window("floor", floor)?;
    check_window("ssthresh", ssthresh)
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum React {
    /// Not at all.
    Never,
    /// At most once per window (see [`Reaction::recovery`]).
    OncePerWindow,
    /// To every one.
    Always,
}

impl React {
    /// Whether this signal is reacted to. `guard` has seen those before.
    pub(super) fn admits(self, guard: &mut WindowGuard, flight: &Flight) -> bool {
        match self {
            React::Never => false,
            React::Always => true,
            React::OncePerWindow => guard.admit(flight),
        }
    }
}

/// When one more Interest may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Reaction {
    /// To marked Data.
    pub marks: React,
    /// To timeouts and detected losses.
    pub losses: React,
    /// To NACKs for congestion. With "never" a NACK does nothing at all: its segment waits for the timeout.
    pub nacks: React,
    /// After a cut, further once-per-window signals are ignored until a segment beyond
    /// `next + recovery · (next − highest received)` arrives; in units of that distance.
    pub recovery: f64,
    /// When one more Interest may go out.
    pub gate: Gate,
    /// The largest share of lost segments that is taken for noise of the path while round trips show no queue, and then
    /// not reacted to; 0, as in every source, takes every loss for congestion. Ours, see [`Noise`].
    pub noise: f64,
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
            noise: 0.0,
        }
    }
}

impl Reaction {
    /// Rejects a recovery distance that is not a number of windows.
    ///
    /// # Errors
    /// As [`check_window`].
    pub fn check(&self) -> Result<(), SchemeError> {
        check::number("reaction.recovery", self.recovery, 0.0, 1e6)?;
        check::number("reaction.noise", self.noise, 0.0, 1.0)
    }

    /// The PCON authors' 2016 consumer: every mark, other signals once per window.
    pub fn pcon_2016() -> Reaction {
        Reaction {
            marks: React::Always,
            losses: React::OncePerWindow,
            nacks: React::OncePerWindow,
            recovery: 0.0,
            gate: Gate::UpTo,
            noise: 0.0,
        }
    }
}

/// The header fields a [`Windowed`] uses in a run that carries them for other components: it announces its window on
/// every Interest, and compares path labels. It needs none itself.
pub const FIELDS: &[Field] = &[Field::ConsumerWindow, Field::PathLabel];

/// A consumer made of a window law, a reaction profile and a startup.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Windowed<L> {
    law: L,
    reaction: Reaction,
    timer: Timer,
    guard: WindowGuard,
    noise: Noise,
    decreases: u64,
    startup: Option<Search>,
    announced: Option<Slot>,
    low_latency: Option<Slot>,
}

impl<L: WindowLaw> Windowed<L> {
    /// Combines the parts.
    pub fn new(law: L, reaction: Reaction, timer: Timer) -> Windowed<L> {
        let guard = WindowGuard::new(reaction.recovery);
        let noise = Noise::new(reaction.noise);
        Windowed { law, reaction, timer, guard, noise, decreases: 0, startup: None, announced: None, low_latency: None }
    }

    /// Announces the window if the run carries it.
    pub fn announcing(self, env: &Env<'_>) -> Windowed<L> {
        Windowed { announced: env.carried(Field::ConsumerWindow), ..self }
    }

    /// Its packets request the low-latency queue of DualPI2, in this slot.
    pub fn with_low_latency(self, slot: Option<Slot>) -> Windowed<L> {
        Windowed { low_latency: slot, ..self }
    }

    /// Begins as `startup` says.
    pub fn starting(self, startup: Startup, env: &Env<'_>) -> Windowed<L> {
        Windowed { startup: Search::new(startup, env), ..self }
    }

    /// The law, for its own tests.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// Continues in congestion avoidance from what another law has in flight.
    pub(super) fn take_over(&mut self, in_flight: u32) {
        self.law.jump(f64::from(in_flight), true);
    }

    fn react(&mut self, how: React, cause: Cause, flight: &Flight, ctx: &mut Ctx<'_>) {
        if how.admits(&mut self.guard, flight) {
            self.law.decrease(cause, flight, ctx);
            self.decreases += 1;
            if let Some(startup) = &mut self.startup {
                startup.on_cut();
            }
            ctx.trace.record(ctx.now, "decrease", 0, self.law.window());
        }
    }
}

impl<L: WindowLaw> Consumer for Windowed<L> {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.noise.on_data(event.rtt);
        if self.startup.as_ref().is_some_and(|startup| startup.holds(&event.flight).is_some()) {
            // The law rests.
        } else if event.mark > 0 {
            self.react(self.reaction.marks, Cause::Mark, &event.flight, ctx);
        } else {
            self.law.increase(event, ctx);
        }
        let startup = self.startup.as_mut();
        if let Some(window) = startup.and_then(|startup| startup.on_data(event, self.law.window(), ctx)) {
            self.law.jump(window, true);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let (how, cause) = match event.kind {
            Congestion::Loss if self.noise.on_loss() => return,
            Congestion::Timeout | Congestion::Loss => (self.reaction.losses, Cause::Loss),
            kind if kind.is_other_nack() => return,
            Congestion::Nack { marked: true, .. } => (self.reaction.nacks, Cause::Mark),
            Congestion::Nack { .. } => (self.reaction.nacks, Cause::Loss),
        };
        let startup = self.startup.as_mut().filter(|_| how != React::Never);
        if let Some(window) = startup.and_then(|startup| startup.on_failed(self.law.window(), ctx)) {
            return self.law.jump(window, true);
        }
        self.react(how, cause, &event.flight, ctx);
    }

    fn window(&self) -> f64 {
        self.law.window()
    }

    fn may_send(&self, flight: &Flight) -> bool {
        if let Some(may) = self.startup.as_ref().and_then(|startup| startup.holds(flight)) {
            return may;
        }
        let in_flight = f64::from(flight.in_flight);
        match self.reaction.gate {
            Gate::Below => in_flight < self.law.window(),
            Gate::UpTo => in_flight <= self.law.window(),
            Gate::BelowFloor => in_flight < libm::floor(self.law.window()),
        }
    }

    fn watches_sending(&self) -> bool {
        self.startup.is_some() || self.announced.is_some() || self.low_latency.is_some()
    }

    fn on_sent(&mut self, _: &SentEvent, ctx: &mut Ctx<'_>) {
        if let Some(startup) = &mut self.startup {
            startup.on_sent(ctx.now);
        }
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        self.startup.as_ref().and_then(Search::pace)
    }

    fn timer(&self) -> Timer {
        self.timer
    }

    fn stamp(&mut self, _: u64, fields: &mut Fields) {
        if let Some(slot) = self.announced {
            fields.set(slot, window_to_field(self.law.window()));
        }
        if let Some(slot) = self.low_latency {
            fields.set(slot, 1);
        }
    }

    fn retransmits_on_nack(&self) -> bool {
        self.reaction.nacks != React::Never
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

/// Drives a consumer through a list of events, for the tests of the laws.
#[cfg(test)]
pub(crate) mod test_support {
    use super::*;
    use crate::component::{Component, Env};
    use crate::ctx::{Rng, Trace};
    use crate::fields::FieldLayout;
    use crate::units::{Bytes, Time};

    /// One event.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) enum Step {
        /// The next segment, unmarked.
        Data,
        /// The next segment, marked.
        Mark,
        /// The oldest segment times out.
        Timeout,
        /// Time passes.
        Wait(Duration),
    }

    /// Steps written as `D3 M T w0.1`: three Data, a mark, a timeout, a wait of 0.1 s.
    pub(crate) fn script(text: &str) -> Vec<Step> {
        let mut steps = Vec::new();
        for word in text.split_whitespace() {
            let (what, number) = word.split_at(1);
            if what == "w" {
                steps.push(Step::Wait(Duration::from_secs_f64(number.parse().unwrap())));
                continue;
            }
            let step = match what {
                "D" => Step::Data,
                "M" => Step::Mark,
                "T" => Step::Timeout,
                _ => panic!("unknown step {word}"),
            };
            let times = if number.is_empty() { 1 } else { number.parse().unwrap() };
            steps.extend(std::iter::repeat_n(step, times));
        }
        steps
    }

    /// Every mark counts, so that a trace of the law alone is a plain recursion.
    pub(crate) fn marks_always() -> Reaction {
        Reaction { marks: React::Always, ..Reaction::default() }
    }

    /// Compares windows at some steps with calculated ones, to nine digits.
    pub(crate) fn assert_close(windows: &[f64], expected: &[(usize, f64)]) {
        for &(step, window) in expected {
            let error = (windows[step] - window).abs() / window;
            assert!(error < 1e-9, "step {step}: {} instead of {window}", windows[step]);
        }
    }

    /// The window after each step but [`Step::Wait`]. The window is kept full: `next` is the segment after those in
    /// flight; the smoothed round-trip time is 100 ms.
    pub(crate) fn trace<C: Component + Consumer>(params: &C::Params, steps: &[Step]) -> Vec<f64> {
        C::check(params).unwrap();
        let mut consumer = C::new(params, &mut Env { layout: &mut FieldLayout::new() });
        let (mut rng, mut trace, fields) = (Rng::derive(1, &[]), Trace::default(), Fields::default());
        let (mut now, mut segment, mut windows) = (Time::ZERO, 0u64, Vec::new());
        for &step in steps {
            let in_flight = libm::ceil(consumer.window()) as u32;
            let received = matches!(step, Step::Data | Step::Mark);
            let highest = if received { Some(segment) } else { segment.checked_sub(1) };
            let flight = Flight {
                in_flight,
                next_segment: segment + u64::from(in_flight),
                highest_received: highest,
                srtt: Duration::from_millis(100),
            };
            let mut ctx = Ctx { now, rng: &mut rng, trace: &mut trace };
            match step {
                Step::Data | Step::Mark => {
                    let mark = u8::from(step == Step::Mark);
                    let sent = now - Duration::from_millis(100);
                    let rtt = Some(Duration::from_millis(100));
                    let size = Bytes::new(1066);
                    let event = DataEvent { segment, sent, rtt, mark, size, fields: &fields, flight };
                    consumer.on_data(&event, &mut ctx);
                    segment += 1;
                }
                Step::Timeout => {
                    let event =
                        CongestionEvent { kind: Congestion::Timeout, segment, sent: now, fields: &fields, flight };
                    consumer.on_congestion(&event, &mut ctx);
                }
                Step::Wait(duration) => {
                    now += duration;
                    continue;
                }
            }
            windows.push(consumer.window());
        }
        windows
    }
}
