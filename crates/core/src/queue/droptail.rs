//! `droptail`: no marks; a full queue drops what arrives.
//!
//! The null marker, always there as control. Source: none; the plain queue of every simulator and router.

use super::Marker;
use crate::component::{Component, Env, NoParams};

/// The marker that never marks.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct DropTail;

impl Component for DropTail {
    const NAME: &'static str = "droptail";
    const SUMMARY: &'static str = "no marks; a full queue drops what arrives";
    const SOURCE: &'static str = "the plain queue of every router";
    type Params = NoParams;

    fn new(_: &NoParams, _: &mut Env<'_>) -> DropTail {
        DropTail
    }
}

impl Marker for DropTail {
    fn predictable(&self) -> bool {
        true
    }

    fn watches_departures(&self) -> bool {
        false
    }
}
