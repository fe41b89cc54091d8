//! `ecp`: reports the state of a face by its pending Interests, and rejects Interests while it is congested.
//!
//! Source: Ren, Li, Shi, Li, Wang (INFOCOM workshops, 2016), of which the abstract alone is public: the outgoing
//! Interest queue shows FREE, BUSY or CONGESTION. The limit of 230 pending Interests, BUSY from half of it, the NACK
//! and the mean are those of a third-party router for ndnSIM, which counts its PIT and has the mean in a comment; per
//! face: ours, as is the header field: nothing for FREE, half the range for BUSY, all of it for CONGESTION, the largest
//! on the path.

use super::{Admission, Answer, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::FlowId;
use crate::packet::NackReason;
use crate::shared::level::to_field;
use crate::shared::outstanding::Outstanding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Ecp`]; from the third-party router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Pending Interests of a face above which it is congested.
    pub limit: f64,
    /// The part of that above which it is busy, in (0, 1).
    pub busy: f64,
    /// What a new count weighs in the mean, in (0, 1).
    pub weight: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { limit: 230.0, busy: 0.5, weight: 0.25 }
    }
}

/// The shaper of one face.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Ecp {
    #[state(skip)]
    params: Params,
    slot: Slot,
    pending: Outstanding,
    mean: f64,
}

impl Component for Ecp {
    const NAME: &'static str = "ecp";
    const SUMMARY: &'static str = "stands in for ECP's routers: states from pending Interests, NACKs while congested";
    const SOURCE: &'static str = "abstract of Ren et al., INFOCOM workshops 2016; third-party router; per face: ours";
    const STAND_IN: bool = true;
    const FIELDS: &'static [Field] = &[Field::CongestionLevel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("limit", params.limit, 1.0, 1e6)?;
        check::factor("busy", params.busy)?;
        check::factor("weight", params.weight)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Ecp {
        let slot = env.slot(Field::CongestionLevel);
        Ecp { params: params.clone(), slot, pending: Outstanding::default(), mean: 0.0 }
    }
}

impl Ecp {
    /// FREE, BUSY or CONGESTION as 0, ½ or 1.
    fn level(&self) -> f64 {
        match self.mean {
            mean if mean > self.params.limit => 1.0,
            mean if mean > self.params.limit * self.params.busy => 0.5,
            _ => 0.0,
        }
    }
}

impl Shaper for Ecp {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        if event.out.local {
            return Admission::Pass;
        }
        while self.pending.expired(ctx.now).is_some() {}
        let again = self.pending.face(event.packet.name).is_some();
        if !again {
            self.mean += self.params.weight * (self.pending.len() as f64 - self.mean);
            // 1 is where BUSY begins.
            ctx.trace.record(ctx.now, "load", 0, self.mean / (self.params.limit * self.params.busy));
            if self.level() >= 1.0 {
                return Admission::Reject(NackReason::Congestion);
            }
        }
        self.pending.sent(event.packet, event.out.face, ctx.now);
        Admission::Pass
    }

    fn on_answer(&mut self, answer: &Answer<'_>, _: &mut Ctx<'_>) {
        self.pending.answered(answer.packet.name);
    }

    fn stamp(&self, _: FlowId, fields: &mut Fields) {
        fields.set(self.slot, fields.get(self.slot).max(to_field(self.level())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shaper::harness::{Bench, ms};
    use serde_json::json;

    // A limit of 8, and no mean to speak of (weight 0.999): the ninth Interest finds 8 pending, the tenth 9.
    #[test]
    fn a_face_is_busy_above_half_of_the_limit_and_rejects_above_it() {
        let mut bench = Bench::<Ecp>::new(&json!({ "limit": 8.0, "weight": 0.999 }));
        let mut levels = Vec::new();
        let verdicts: Vec<Admission> = (0..11)
            .map(|_| {
                let verdict = bench.admit(ms(0), 1);
                let mut fields = Fields::default();
                bench.shaper.stamp(FlowId(1), &mut fields);
                levels.push(fields.get(bench.shaper.slot));
                verdict
            })
            .collect();
        assert!(levels[..5].iter().all(|&level| level == 0) && levels[6..9].iter().all(|&l| l == to_field(0.5)));
        assert_eq!(verdicts[..9], [Admission::Pass; 9]);
        assert_eq!(verdicts[10], Admission::Reject(NackReason::Congestion));
        // Lifetimes end after 4 s; the face is free again.
        bench.admit(ms(5000), 1);
        assert_eq!(bench.admit(ms(5000), 1), Admission::Pass);
    }

    // Weight ¼: counts of 0, 1, 2, 3 give 0, 0.25, 0.6875, 1.265625.
    #[test]
    fn the_mean_follows_the_count_by_a_quarter() {
        let mut bench = Bench::<Ecp>::new(&json!({}));
        let means = [0; 4].map(|_| {
            bench.admit(ms(0), 1);
            bench.shaper.mean
        });
        assert_eq!(means, [0.0, 0.25, 0.6875, 1.265_625]);
    }

    #[test]
    fn a_worse_state_from_upstream_stays() {
        let bench = Bench::<Ecp>::new(&json!({}));
        let mut fields = Fields::default();
        fields.set(bench.shaper.slot, to_field(0.5));
        bench.shaper.stamp(FlowId(1), &mut fields);
        assert_eq!(fields.get(bench.shaper.slot), to_field(0.5));
    }
}
