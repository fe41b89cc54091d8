//! `none`: nothing is measured.

use super::Meter;
use crate::component::{Component, Env, NoParams};

/// The meter that does not measure.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct None;

impl Component for None {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "nothing is measured or stamped";
    const SOURCE: &'static str = "no measurement: NFD, ndnSIM";
    type Params = NoParams;

    fn new(_: &NoParams, _: &mut Env<'_>) -> None {
        None
    }
}

impl Meter for None {
    fn is_none(&self) -> bool {
        true
    }
}
