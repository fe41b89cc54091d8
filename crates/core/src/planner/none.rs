//! `none`: routing's costs stay as they are.

use super::{Message, Order, Planner};
use crate::component::{Component, Env, NoParams};
use crate::ctx::Ctx;

/// The planner that does not plan.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct None;

impl Component for None {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "routing's costs stay as they are";
    const SOURCE: &'static str = "no controller: NFD, ndnSIM";
    type Params = NoParams;

    fn new(_: &NoParams, _: &mut Env<'_>) -> None {
        None
    }
}

impl Planner for None {
    fn is_none(&self) -> bool {
        true
    }
    fn on_message(&mut self, _: &Message, _: &mut Vec<Order>, _: &mut Ctx<'_>) {}
}
