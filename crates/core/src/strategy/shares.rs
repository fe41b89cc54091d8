//! Shares: which part of a prefix's Interests each next hop gets, drawn per Interest.
//!
//! PCON's forwarding percentages, and those of the schemes that move traffic as it does.

use super::{InterestArrival, NextHop};
use crate::ids::{FaceId, PrefixId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shares a prefix begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// Everything on the lowest cost.
    Shortest,
    /// The same for all.
    Equal,
}

/// A face's part of a prefix's Interests.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Share {
    face: FaceId,
    part: f64,
}

/// The shares of all prefixes of a node; those of one prefix sum to 1.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct Shares {
    /// By prefix; grows only when routing sets one.
    prefixes: Vec<Vec<Share>>,
}

/// The lowest cost, then the lowest face number.
pub fn cheapest(hops: impl Iterator<Item = NextHop>) -> Option<FaceId> {
    hops.min_by_key(|hop| (hop.cost, hop.face)).map(|hop| hop.face)
}

fn initial(init: Init, hops: &[NextHop]) -> Vec<Share> {
    let best = cheapest(hops.iter().copied());
    let part = |face| match init {
        Init::Equal => 1.0 / hops.len() as f64,
        Init::Shortest if Some(face) == best => 1.0,
        Init::Shortest => 0.0,
    };
    hops.iter().map(|hop| Share { face: hop.face, part: part(hop.face) }).collect()
}

/// Removes what rounding did to the sum.
fn normalise(shares: &mut [Share]) {
    let sum: f64 = shares.iter().map(|share| share.part).sum();
    for share in shares.iter_mut() {
        share.part /= sum;
    }
}

impl Shares {
    fn of(&self, prefix: PrefixId) -> &[Share] {
        self.prefixes.get(prefix.index()).map_or(&[], |shares| shares)
    }

    /// How many next hops the prefix has.
    pub fn hops(&self, prefix: PrefixId) -> usize {
        self.of(prefix).len()
    }

    /// The part of a next hop; none if it is not one.
    pub fn part(&self, prefix: PrefixId, face: FaceId) -> Option<f64> {
        self.of(prefix).iter().find(|share| share.face == face).map(|share| share.part)
    }

    /// Moves up to `step` of the share of `face` evenly to the others.
    pub fn spread(&mut self, prefix: PrefixId, face: FaceId, step: f64) {
        let Some(part) = self.part(prefix, face) else { return };
        let Some(shares) = self.prefixes.get_mut(prefix.index()) else { return };
        if shares.len() < 2 {
            return;
        }
        let step = step.min(part);
        let gain = step / (shares.len() - 1) as f64;
        for share in shares.iter_mut() {
            share.part = if share.face == face { part - step } else { share.part + gain };
        }
        normalise(shares);
    }

    /// Moves up to `step` of the share of `from` to `to`; what was moved.
    pub fn transfer(&mut self, prefix: PrefixId, from: FaceId, to: FaceId, step: f64) -> f64 {
        let (Some(part), Some(other)) = (self.part(prefix, from), self.part(prefix, to)) else { return 0.0 };
        let Some(shares) = self.prefixes.get_mut(prefix.index()) else { return 0.0 };
        if from == to {
            return 0.0;
        }
        let step = step.min(part);
        for share in shares.iter_mut() {
            if share.face == from {
                share.part = part - step;
            } else if share.face == to {
                share.part = other + step;
            }
        }
        normalise(shares);
        step
    }

    /// The next hop for the draw `u`, in [0, 1), among those eligible; the cheapest if none of them has a share.
    pub fn choose(&self, event: &InterestArrival<'_>, u: f64) -> Option<FaceId> {
        let shares = self.of(event.prefix);
        let part = |face| shares.iter().find(|share| share.face == face).map_or(0.0, |share| share.part);
        let total: f64 = event.eligible().map(|hop| part(hop.face)).sum();
        if total <= 0.0 {
            return cheapest(event.eligible());
        }
        let (mut reached, mut chosen) = (0.0, None);
        for hop in event.eligible() {
            let own = part(hop.face);
            reached += own / total;
            if own > 0.0 {
                chosen = Some(hop.face);
            }
            if u < reached {
                break;
            }
        }
        chosen
    }

    /// Routing set the next hops: those that stay keep their shares, scaled to a sum of 1; if none does, `init` says.
    pub fn route(&mut self, prefix: PrefixId, hops: &[NextHop], init: Init) {
        let mut shares = initial(init, hops);
        let kept: Vec<_> = hops.iter().map(|hop| self.part(prefix, hop.face)).collect();
        if kept.iter().flatten().sum::<f64>() > 0.0 {
            for (share, part) in shares.iter_mut().zip(kept) {
                share.part = part.unwrap_or(0.0);
            }
            normalise(&mut shares);
        }
        if self.prefixes.len() <= prefix.index() {
            self.prefixes.resize_with(prefix.index() + 1, Vec::new);
        }
        self.prefixes[prefix.index()] = shares;
    }

    /// The share of each of `hops`, pushed in their order.
    pub fn list(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        out.extend(hops.iter().map(|hop| self.part(prefix, hop.face).unwrap_or(0.0)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::hops;
    use super::*;

    fn list(shares: &Shares, of: &[NextHop]) -> Vec<f64> {
        let mut out = Vec::new();
        shares.list(PrefixId(0), of, &mut out);
        out
    }

    #[test]
    fn a_transfer_takes_at_most_what_is_there_and_touches_no_third_face() {
        let (mut shares, of) = (Shares::default(), hops(&[(1, 1), (2, 2), (3, 3)]));
        shares.route(PrefixId(0), &of, Init::Shortest);
        assert_eq!(shares.transfer(PrefixId(0), FaceId(1), FaceId(3), 0.75), 0.75);
        assert_eq!(list(&shares, &of), [0.25, 0.0, 0.75]);
        assert_eq!(shares.transfer(PrefixId(0), FaceId(1), FaceId(2), 0.75), 0.25);
        assert_eq!(list(&shares, &of), [0.0, 0.25, 0.75]);
        assert_eq!(shares.transfer(PrefixId(0), FaceId(3), FaceId(3), 0.75), 0.0);
        assert_eq!(shares.transfer(PrefixId(0), FaceId(3), FaceId(9), 0.75), 0.0);
        assert_eq!(list(&shares, &of), [0.0, 0.25, 0.75]);
    }
}
