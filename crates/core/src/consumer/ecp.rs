//! `ecp`: a window that grows and shrinks by the state that routers report: MIAIMD.
//!
//! Source: Ren, Li, Shi, Li, Wang, "An explicit congestion control algorithm for named data networking" (INFOCOM
//! workshops, 2016), of which the abstract alone is public: routers watch the outgoing Interest queue and report FREE,
//! BUSY or CONGESTION; multiplicative increase, additive increase, multiplicative decrease. Laws and constants are
//! those of a third-party consumer for ndnSIM. Ours: the state travels in a header field of Data instead of a NACK for
//! every Interest; CONGESTION is the NACK of a rejected Interest, as there.

use super::windowed::Window;
use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::shared::guard::WindowGuard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Ecp`]; from the third-party consumer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, and the smallest, in segments.
    pub initial_window: f64,
    /// Added per Data while the path is free: half as much again per round trip.
    pub free: f64,
    /// What a NACK for congestion multiplies the window by, in (0, 1).
    pub congested: f64,
    /// What a timeout multiplies the window by, in (0, 1).
    pub timed_out: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 1.0, free: 0.5, congested: 0.875, timed_out: 0.5, timer: Timer::default() }
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Ecp {
    #[state(skip)]
    params: Params,
    window: Window,
    level: Slot,
    guard: WindowGuard,
    decreases: u64,
}

impl Component for Ecp {
    const NAME: &'static str = "ecp";
    const SUMMARY: &'static str = "stands in for ECP: MIAIMD by the states FREE, BUSY and CONGESTION of routers";
    const SOURCE: &'static str =
        "abstract of Ren et al., INFOCOM workshops 2016; third-party law for ndnSIM; header field: ours";
    const STAND_IN: bool = true;
    const FIELDS: &'static [Field] = &[Field::CongestionLevel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check::number("free", params.free, 1e-3, 100.0)?;
        check::factor("congested", params.congested)?;
        check::factor("timed-out", params.timed_out)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Ecp {
        Ecp {
            window: Window::new(params.initial_window, params.initial_window),
            level: env.slot(Field::CongestionLevel),
            guard: WindowGuard::new(0.0),
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Ecp {
    fn cut(&mut self, factor: f64, flight: &Flight, ctx: &mut Ctx<'_>) {
        if self.guard.admit(flight) {
            self.window.set(self.window.get() * factor);
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", 0, self.window.get());
        }
    }
}

impl Consumer for Ecp {
    fn on_data(&mut self, event: &DataEvent<'_>, _: &mut Ctx<'_>) {
        let window = self.window.get();
        let step = if event.fields.get(self.level) == 0 { self.params.free } else { 1.0 / window };
        self.window.set(window + step);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let factor = match event.kind {
            kind if kind.is_other_nack() => return,
            Congestion::Nack { .. } => self.params.congested,
            Congestion::Timeout | Congestion::Loss => self.params.timed_out,
        };
        self.cut(factor, &event.flight, ctx);
    }

    fn window(&self) -> f64 {
        self.window.get()
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctx::{Rng, Trace};
    use crate::fields::{FieldLayout, Fields};
    use crate::packet::NackReason;
    use crate::units::{Bytes, Duration, Time};

    // FREE: 1, 1.5, 2, 2.5, 3. BUSY: 3 + 1/3. A NACK: · 0.875; a second one of the same window: nothing. A timeout two
    // windows later: · 0.5.
    #[test]
    fn the_window_grows_by_the_reported_state_and_is_cut_once_per_window() {
        let mut layout = FieldLayout::new();
        let mut ecp = Ecp::new(&Params::default(), &mut Env { layout: &mut layout });
        let level = layout.slot(Field::CongestionLevel).unwrap();
        let (mut rng, mut trace) = (Rng::derive(1, &[]), Trace::new(false));
        let mut ctx = Ctx { now: Time::ZERO, rng: &mut rng, trace: &mut trace };
        let flight = |received: u64| Flight {
            in_flight: 3,
            next_segment: received + 4,
            highest_received: Some(received),
            srtt: Duration::from_millis(20),
        };
        let data = |ecp: &mut Ecp, segment, busy: u32, ctx: &mut Ctx<'_>| {
            let mut fields = Fields::default();
            fields.set(level, busy);
            let (sent, rtt, size) = (Time::ZERO, None, Bytes::new(1066));
            let event = DataEvent { segment, sent, rtt, mark: 0, size, fields: &fields, flight: flight(segment) };
            ecp.on_data(&event, ctx);
            ecp.window()
        };
        let windows: Vec<f64> = (0..5).map(|i| data(&mut ecp, i, u32::from(i == 4), &mut ctx)).collect();
        assert_eq!(windows, [1.5, 2.0, 2.5, 3.0, 3.0 + 1.0 / 3.0]);
        let fail = |ecp: &mut Ecp, kind, received, ctx: &mut Ctx<'_>| {
            let fields = Fields::default();
            let (sent, flight) = (Time::ZERO, flight(received));
            ecp.on_congestion(&CongestionEvent { kind, segment: 5, sent, fields: &fields, flight }, ctx);
            ecp.window()
        };
        let nack = Congestion::Nack { reason: NackReason::Congestion, marked: false };
        let cut = 0.875 * (3.0 + 1.0 / 3.0);
        assert_eq!(fail(&mut ecp, nack, 4, &mut ctx), cut);
        assert_eq!(fail(&mut ecp, nack, 5, &mut ctx), cut);
        assert_eq!(fail(&mut ecp, Congestion::Timeout, 9, &mut ctx), 0.5 * cut);
        let other = Congestion::Nack { reason: NackReason::NoRoute, marked: false };
        assert_eq!(fail(&mut ecp, other, 30, &mut ctx), 0.5 * cut);
    }
}
