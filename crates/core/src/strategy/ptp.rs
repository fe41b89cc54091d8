//! `ptp`: sends an Interest along the path of its label, as PTP and all consumers with a window or rate per path need
//! it.
//!
//! Source: the abstract of Ye et al. (Computer Networks, 2018): label switching of Interests, and routing as usual
//! where there is no label. The label is what the meter `path-label` wrote into Data in its shifted or decimal form:
//! each node takes the digit of its own face from it and passes on the rest, so that the last label read is empty.
//! Ours: without a label, or with one that leads to no next hop of the prefix, the node draws a next hop with equal
//! probability and the Interest goes on without a label; joining Interests are aggregated.

use super::{Arrival, ForwardingDecision, InterestArrival, Strategy};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::meter::path_label::Form;
use crate::packet::NackReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Ptp`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// How labels are made: the form of the meter `path-label`, which cannot be `hashed`.
    pub form: Form,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Ptp {
    form: Form,
    slot: Slot,
}

impl Component for Ptp {
    const NAME: &'static str = "ptp";
    const SUMMARY: &'static str = "label switching: an Interest takes the path of its label, any without one";
    const SOURCE: &'static str = "abstract of Ye et al., Computer Networks 2018; forms of labels, discovery: ours";
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        if params.form == Form::Hashed {
            let help = "give \"shifted\" or \"decimal\"";
            return Err(SchemeError::value("form", "hashed", "does not say which face comes first", help));
        }
        Ok(())
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Ptp {
        Ptp { form: params.form, slot: env.slot(Field::PathLabel) }
    }
}

impl Strategy for Ptp {
    fn wakes(&self) -> bool {
        false
    }

    fn watches_data(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if event.arrival == Arrival::Joining && event.pending(ctx.now) {
            return;
        }
        let label = event.packet.fields.get(self.slot);
        let labelled = self.form.first(label).filter(|(face, _)| event.eligible().any(|hop| hop.face == *face));
        let (face, rest) = match labelled {
            Some((face, rest)) => (Some(face), rest),
            None => {
                let drawn = ctx.rng.below(event.eligible().count() as u64);
                (event.eligible().nth(drawn as usize).map(|hop| hop.face), 0)
            }
        };
        let Some(face) = face else {
            if event.pending(ctx.now) {
                choice.reject_one(event.in_face, NackReason::NoRoute);
            } else {
                choice.reject(NackReason::NoRoute);
            }
            return;
        };
        choice.send(face);
        if rest != label {
            choice.stamp(self.slot, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, sent};
    use super::*;
    use crate::ids::FaceId;
    use serde_json::json;

    fn new(params: &serde_json::Value) -> Bench<Ptp> {
        Bench::new(params, &[(1, 1), (2, 5), (3, 5)])
    }

    // Faces 2 and 4 ahead: the label of Data is ((4 + 1) · 64) + (2 + 1) = 323, since the nearest hop comes last.
    #[test]
    fn the_nearest_hop_is_taken_from_the_label_and_the_rest_goes_on() {
        for (form, label, rest) in [("shifted", 323, 5), ("decimal", 53, 5)] {
            let mut bench = new(&json!({ "form": form }));
            let slot = bench.strategy.slot;
            bench.packet.fields.set(slot, label);
            let choice = bench.choice(0, 0, Arrival::New, &[]);
            assert_eq!(choice.copies()[0].face, FaceId(2));
            assert_eq!(choice.stamped(&bench.packet).unwrap().fields.get(slot), rest);
        }
    }

    #[test]
    fn without_a_label_that_leads_on_every_next_hop_is_equally_likely() {
        let mut bench = new(&json!({}));
        let slot = bench.strategy.slot;
        // Face 9 is no next hop; face 0 is where the Interest came from.
        for label in [0, 64 + 10, 64 + 1] {
            bench.packet.fields.set(slot, label);
            let mut counts = [0u32; 4];
            for _ in 0..3000 {
                let choice = bench.choice(0, 0, Arrival::New, &[]);
                counts[usize::from(choice.copies()[0].face.0)] += 1;
                assert_eq!(choice.stamped(&bench.packet).map(|p| p.fields.get(slot)), (label > 0).then_some(0));
            }
            assert!(counts[1..].iter().all(|n| n.abs_diff(1000) < 130), "{counts:?}");
        }
    }

    #[test]
    fn a_joining_interest_waits_and_one_without_a_next_hop_is_rejected() {
        let mut bench = new(&json!({}));
        assert_eq!(bench.interest(0, 7, Arrival::Joining, &[sent(1, 0)]), [0u16; 0]);
        let mut bench: Bench<Ptp> = Bench::new(&json!({}), &[(1, 1)]);
        assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
    }
}
