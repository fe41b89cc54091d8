//! `fixed`: a window that never changes.
//!
//! The control in every comparison, and the means to load a link exactly. Source: none; ours.

use super::windowed::{self, Cause, Gate, React, Reaction, WindowLaw, Windowed};
use super::{DataEvent, Flight, Timer};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::Field;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Fixed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The window, in segments.
    pub window: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { window: 16.0, timer: Timer::default() }
    }
}

/// A window law that keeps its window.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Law(f64);

impl WindowLaw for Law {
    fn increase(&mut self, _: &DataEvent<'_>, _: &mut Ctx<'_>) {}
    fn decrease(&mut self, _: Cause, _: &Flight, _: &mut Ctx<'_>) {}
    fn window(&self) -> f64 {
        self.0
    }
    fn jump(&mut self, _: f64, _: bool) {}
}

/// The consumer.
pub type Fixed = Windowed<Law>;

impl Component for Fixed {
    const NAME: &'static str = "fixed";
    const SUMMARY: &'static str = "a window that never changes";
    const SOURCE: &'static str = "ours: the control in every comparison";
    const FIELDS: &'static [Field] = windowed::FIELDS;
    type Params = Params;

    fn needs(_: &Params) -> Vec<Field> {
        Vec::new()
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        super::check_window("window", params.window)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Fixed {
        let reaction = Reaction {
            marks: React::Never,
            losses: React::Never,
            nacks: React::Never,
            recovery: 0.0,
            gate: Gate::Below,
            noise: 0.0,
        };
        Windowed::new(Law(params.window), reaction, params.timer).announcing(env)
    }
}
