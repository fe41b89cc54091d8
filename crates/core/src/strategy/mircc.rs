//! `mircc`: an Interest's path label chooses its next hop, like digits of a number.
//!
//! Source: MIRCC's path steering in a complete implementation by others (Enidsky/mircc, 6081c2c, `mircc-strategy.cpp`):
//! among the n next hops other than the face an Interest came from it takes the one of number label mod n, in the order
//! of the FIB entry, and label div n goes on. Nothing is sent while an answer is outstanding. Ours: an Interest without
//! a label has the label 0 and takes the cheapest next hops; one that the chosen face does not admit takes no other,
//! since a label means one path.

use super::{Arrival, ForwardingDecision, InterestArrival, Strategy};
use crate::component::{Component, Env, NoParams};
use crate::ctx::Ctx;
use crate::fields::{Field, Slot};
use crate::packet::NackReason;

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Mircc {
    label: Slot,
}

impl Component for Mircc {
    const NAME: &'static str = "mircc";
    const SUMMARY: &'static str = "the Interest's path label chooses its next hops, one digit per node";
    const SOURCE: &'static str = "Mahdian et al., ICN 2016, as in a third-party implementation (Enidsky/mircc)";
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = NoParams;

    fn new(_: &NoParams, env: &mut Env<'_>) -> Mircc {
        Mircc { label: env.slot(Field::PathLabel) }
    }
}

impl Strategy for Mircc {
    fn wakes(&self) -> bool {
        false
    }

    fn watches_data(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if event.pending(ctx.now) {
            return;
        }
        let label = event.packet.fields.get(self.label);
        let count = event.eligible().count() as u32;
        let Some(digit) = label.checked_rem(count) else {
            if event.arrival == Arrival::New {
                choice.reject(NackReason::NoRoute);
            }
            return;
        };
        let Some(hop) = event.eligible().nth(digit as usize) else { return };
        choice.send(hop.face);
        choice.fallback(hop.face);
        if count > 1 {
            choice.stamp(self.label, label / count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, sent};
    use super::*;
    use crate::fields::FieldLayout;
    use serde_json::json;

    // Faces 1, 2 and 3; from 2 there are two next hops, 1 and 3.
    #[test]
    fn a_label_is_read_as_digits_to_the_base_of_the_next_hops() {
        let mut bench: Bench<Mircc> = Bench::new(&json!({}), &[(1, 1), (2, 5), (3, 9)]);
        let slot = FieldLayout::new().slot(Field::PathLabel).unwrap();
        let mut taken = |label: u32, in_face: u16| {
            bench.packet.fields.set(slot, label);
            let choice = bench.choice(0, in_face, Arrival::New, &[]);
            let left = choice.stamped(&bench.packet).map(|packet| packet.fields.get(slot));
            (choice.copies()[0].face.0, left)
        };
        // 17 = 5·3 + 2; 17 = 8·2 + 1.
        assert_eq!([taken(17, 0), taken(17, 2), taken(0, 0)], [(3, Some(5)), (3, Some(8)), (1, Some(0))]);
    }

    #[test]
    fn with_one_next_hop_the_label_goes_on_unchanged_and_no_other_face_is_tried() {
        let mut bench: Bench<Mircc> = Bench::new(&json!({}), &[(1, 1)]);
        let choice = bench.choice(0, 0, Arrival::New, &[]);
        assert!(choice.stamped(&bench.packet).is_none());
        assert_eq!(choice.alternatives(), [choice.copies()[0].face]);
        assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
    }

    #[test]
    fn a_retransmission_waits_for_the_answer() {
        let mut bench: Bench<Mircc> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
        // The lifetime is 2 s, and what was sent must last for a quarter of it.
        assert!(bench.interest(1500, 0, Arrival::Retransmission, &[sent(1, 0)]).is_empty());
        assert_eq!(bench.interest(1501, 0, Arrival::Retransmission, &[sent(1, 0)]), [1]);
    }
}
