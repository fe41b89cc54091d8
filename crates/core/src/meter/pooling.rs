//! `pooling`: carries what resource pooling (methods A and C) and PCON's f(Distance) need from router to router.
//!
//! It serves those fields that other components of the scheme need, and no others:
//!
//! - [`Field::ConsumerWindow`] on Data that leaves: the window of the consumer that requested it, from this router's
//!   own PIT (the largest if Interests were aggregated), so that the marker of the queue it joins can see it.
//! - [`Field::FlowCount`] on Data that leaves: distinct flows with pending Interests from the face it leaves by.
//! - [`Field::MarkDistance`] on Data that arrives: hops from the queue that marked it, 1 at the next router.
//!
//! Source: Sakamoto, Hayamizu, Yamamoto, IEICE ComEx 13, 2024, §§3.1, 3.3 ("when a router marks a data packet, this
//! flow information is added"); Schneider et al., ICN 2016, for the distance.
//!
//! Deviations: a marker decides after this meter has seen the packet, so the flow count goes on every Data that is not
//! marked yet and means something only if the Data arrives marked. A Data that is marked already keeps the count and
//! distance of the queue that marked it first, though a later queue may mark it again. A Data whose mark came from a
//! marked Interest takes the count of the link that Interest came over.

use super::{DataIn, DataOut, Meter};
use crate::component::{Component, Env, NoParams};
use crate::ctx::Ctx;
use crate::fields::{Field, Slot};

/// The meter.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Pooling {
    window: Option<Slot>,
    flows: Option<Slot>,
    distance: Option<Slot>,
}

impl Component for Pooling {
    const NAME: &'static str = "pooling";
    const SUMMARY: &'static str = "puts consumers' windows, flow counts and distances from marks on Data";
    const SOURCE: &'static str = "Sakamoto et al., IEICE ComEx 2024, §§3.1, 3.3; Schneider et al., ICN 2016";
    const FIELDS: &'static [Field] = &[Field::ConsumerWindow, Field::FlowCount, Field::MarkDistance];
    type Params = NoParams;

    fn needs(_: &NoParams) -> Vec<Field> {
        Vec::new()
    }

    fn new(_: &NoParams, env: &mut Env<'_>) -> Pooling {
        Pooling {
            window: env.carried(Field::ConsumerWindow),
            flows: env.carried(Field::FlowCount),
            distance: env.carried(Field::MarkDistance),
        }
    }
}

impl Meter for Pooling {
    fn on_data_in(&mut self, event: &mut DataIn<'_>, _: &mut Ctx<'_>) {
        let (marked, fields) = (event.packet.mark > 0, &mut event.packet.fields);
        if let Some(slot) = self.distance {
            let hop = u32::from(!event.local);
            fields.set(slot, if marked { fields.get(slot).saturating_add(hop) } else { 0 });
        }
        // The count of an unmarked Data is of a queue that was not congested.
        if let Some(slot) = self.flows.filter(|_| !marked) {
            fields.set(slot, 0);
        }
    }

    fn on_data_out(&mut self, event: &mut DataOut<'_>, _: &mut Ctx<'_>) {
        let (marked, fields) = (event.packet.mark > 0, &mut event.packet.fields);
        if let Some(slot) = self.window {
            fields.set(slot, event.interest_fields.get(slot));
        }
        if let Some(slot) = self.flows
            && (!marked || fields.get(slot) == 0)
        {
            fields.set(slot, event.flows);
        }
        if let Some(slot) = self.distance.filter(|_| !marked) {
            fields.set(slot, 0);
        }
    }
}

#[cfg(test)]
mod tests;
