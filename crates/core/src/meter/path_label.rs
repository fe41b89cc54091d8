//! `path-label`: every node adds the face a Data arrived on to its path label.
//!
//! Sources: the simulator of Ye et al. (shifted face numbers) and of Bai et al. (decimal face numbers), each for RAAQM,
//! whose paper (Carofiglio et al., ICNP 2013) requires a label that distinguishes routes. Deviations: faces count from
//! 1, as ours start at 0 and a label of 0 means "none"; Data from an application on the node itself is not labelled,
//! since no link was crossed; the label has 32 bits (theirs 64), so that the shifted form remembers the last five hops;
//! the hashed form, for longer paths, is ours.

use super::{DataIn, Meter};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::fields::{Field, Slot};
use crate::ids::FaceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a hop enters the label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `(label << 6) + face mod 64` (Ye et al.): distinguishes up to five hops of up to 63 faces.
    #[default]
    Shifted,
    /// `label · 10 + face` (Bai et al.): distinguishes up to nine hops of up to nine faces.
    Decimal,
    /// A hash of label and face (ours): any length, at the risk of a collision in 2³².
    Hashed,
}

impl Form {
    /// The label after a hop by `face`.
    pub fn fold(self, label: u32, face: FaceId) -> u32 {
        let face = u32::from(face.0) + 1;
        match self {
            Form::Shifted => (label << 6) + face % 64,
            Form::Decimal => label.wrapping_mul(10).wrapping_add(face),
            Form::Hashed => mix(label ^ face.wrapping_mul(0x9e37_79b9)).max(1),
        }
    }

    /// The face of the hop that was folded last, and the label before it; none if it is empty or does not show that.
    pub fn first(self, label: u32) -> Option<(FaceId, u32)> {
        let base = match self {
            Form::Shifted => 64,
            Form::Decimal => 10,
            Form::Hashed => return None,
        };
        let face = (label % base).checked_sub(1)?;
        Some((FaceId(face as u16), label / base))
    }
}

/// The finaliser of MurmurHash3.
fn mix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// Parameters of [`PathLabel`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// How a hop enters the label; Ye et al.
    pub form: Form,
}

/// The meter.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct PathLabel {
    form: Form,
    slot: Slot,
}

impl Component for PathLabel {
    const NAME: &'static str = "path-label";
    const SUMMARY: &'static str = "adds the face a Data came by to its path label";
    const SOURCE: &'static str = "Carofiglio et al., ICNP 2013; label forms: simulators of Ye et al. and Bai et al.";
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = Params;

    fn new(params: &Params, env: &mut Env<'_>) -> PathLabel {
        PathLabel { form: params.form, slot: env.slot(Field::PathLabel) }
    }
}

impl Meter for PathLabel {
    fn on_data_in(&mut self, event: &mut DataIn<'_>, _: &mut Ctx<'_>) {
        if !event.local {
            let fields = &mut event.packet.fields;
            fields.set(self.slot, self.form.fold(fields.get(self.slot), event.face));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn along(form: Form, faces: &[u16]) -> u32 {
        faces.iter().fold(0, |label, &face| form.fold(label, FaceId(face)))
    }

    #[test]
    fn labels_are_the_shifted_or_decimal_face_numbers() {
        // (((0 << 6) + 3) << 6) + 1 = 193, and 3 · 10 + 1 = 31: faces 2 and 0 count as 3 and 1.
        assert_eq!(along(Form::Shifted, &[2, 0]), 193);
        assert_eq!(along(Form::Decimal, &[2, 0]), 31);
        assert_eq!(along(Form::Shifted, &[64]), 1, "modulo 64");
    }

    #[test]
    fn a_label_gives_back_the_face_that_came_last() {
        assert_eq!(Form::Shifted.first(193), Some((FaceId(0), 3)));
        assert_eq!(Form::Decimal.first(31), Some((FaceId(0), 3)));
        assert_eq!((Form::Shifted.first(0), Form::Shifted.first(64), Form::Hashed.first(193)), (None, None, None));
    }

    #[test]
    fn every_path_of_five_hops_over_four_faces_has_its_own_label() {
        for form in [Form::Shifted, Form::Decimal, Form::Hashed] {
            let path = |mut i: u16| [0; 5].map(|_| (i % 4, i /= 4).0);
            let labels: BTreeSet<u32> = (0..1024).map(|i| along(form, &path(i))).collect();
            assert_eq!(labels.len(), 1024, "{form:?}");
            assert!(!labels.contains(&0));
        }
    }

    #[test]
    fn only_the_hashed_form_tells_long_paths_apart_by_their_far_end() {
        let (near, far) = ([1, 1, 1, 1, 1, 1, 1, 1], [2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(along(Form::Shifted, &near), along(Form::Shifted, &far));
        assert_ne!(along(Form::Hashed, &near), along(Form::Hashed, &far));
    }
}
