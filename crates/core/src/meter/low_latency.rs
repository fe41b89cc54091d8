//! `low-latency`: a Data inherits from its Interest which queue of DualPI2 it joins.
//!
//! A consumer whose window reacts in proportion to its marks sets a header field of its Interests
//! ([`Field::LowLatency`]), as a sender does in IP's ECN field (RFC 9331, ECT(1)). The Data come the other way: each
//! node writes the field on a Data that leaves from the Interest it answers, as its own PIT has it, so that
//! [`crate::queue::dualpi2`] finds it there. Source: ours, after RFC 9331 §2.
//!
//! Data that answer several Interests at once take the field of the first one. A Data cannot bring the field along: its
//! value on arrival is overwritten.

use super::{DataOut, Meter};
use crate::component::{Component, Env, NoParams};
use crate::ctx::Ctx;
use crate::fields::{Field, Slot};

/// The meter.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct LowLatency {
    slot: Slot,
}

impl Component for LowLatency {
    const NAME: &'static str = "low-latency";
    const SUMMARY: &'static str = "Data inherit from their Interest which queue of DualPI2 they join";
    const SOURCE: &'static str = "ours, after RFC 9331 §2";
    const FIELDS: &'static [Field] = &[Field::LowLatency];
    type Params = NoParams;

    fn new(_: &NoParams, env: &mut Env<'_>) -> LowLatency {
        LowLatency { slot: env.slot(Field::LowLatency) }
    }
}

impl Meter for LowLatency {
    fn on_data_out(&mut self, event: &mut DataOut<'_>, _: &mut Ctx<'_>) {
        let latency_sensitive = event.interest_fields.get(self.slot);
        event.packet.fields.set(self.slot, latency_sensitive);
    }
}
