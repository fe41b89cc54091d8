//! `none`: every Interest leaves at once.

use super::{Admission, ShapeEvent, Shaper};
use crate::component::{Component, Env, NoParams};
use crate::ctx::Ctx;

/// The shaper that does not shape.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct None;

impl Component for None {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "every Interest leaves at once";
    const SOURCE: &'static str = "no shaping: NFD, ndnSIM";
    type Params = NoParams;

    fn new(_: &NoParams, _: &mut Env<'_>) -> None {
        None
    }
}

impl Shaper for None {
    fn is_none(&self) -> bool {
        true
    }
    fn admit(&mut self, _: &ShapeEvent<'_>, _: &mut Ctx<'_>) -> Admission {
        Admission::Pass
    }
}
