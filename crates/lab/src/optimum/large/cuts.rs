//! Steps that keep prices of links within a range of some orders of magnitude.
//!
//! Where Interests couple full links, one flow gains 30 times what another loses, and the next 30 times that; prices
//! along such a chain soon exceed what numbers can hold. A price that is [`COSTLY`] times the highest of an open flow
//! says that a little more capacity of one link lifts the level far. What the certificate tolerates on links is more
//! than that little: the link gets it, and the chain ends there.

use super::super::error::SolverError;
use super::{Large, NONE};

/// How many times the highest price of an open flow a link's price may be. Of five values tried on three seeds of a
/// mesh with next hops nearer by hops, this one ended most often.
pub(super) const COSTLY: f64 = 1e6;
/// The part of its capacity, or half of it, that a link gets more each time, and the excess with which it gets no more.
const MORE: f64 = 2e-4;
const MOST_EXCESS: f64 = 6e-4;
/// A pivot should be at least this part of the largest entry of its column; so many columns are tried for one.
const LEAST_PIVOT: f64 = 1e-7;
const TRIES: usize = 10;

impl Large<'_> {
    /// The link of the highest price, if it is too high and the link may get more.
    pub(super) fn costly_link(&self, row: &[f64]) -> Option<usize> {
        let (groups, links) = row.split_at(self.groups.len());
        let open = groups.iter().zip(&self.open).filter(|(_, open)| **open);
        let highest = open.fold(0.0f64, |m, (price, _)| m.max(-price));
        let may = |l: &usize| {
            let column = &self.columns[*l];
            column.at == NONE && column.lower >= -MOST_EXCESS * self.rhs[self.groups.len() + l]
        };
        let costly = |l: &usize| links[*l] > self.costly * highest;
        (0..links.len()).filter(costly).filter(may).max_by(|a, b| links[*a].total_cmp(&links[*b]))
    }

    /// Gives a link a little more capacity, and replaces the variable that limits the level by what is free of it.
    pub(super) fn cut(&mut self, at: usize, link: usize) -> Result<(), SolverError> {
        let row = self.groups.len() + link;
        let mut alpha = vec![0.0; self.head.len()];
        alpha[row] = 1.0;
        self.factors.solve(&mut alpha);
        if alpha[at] <= 0.0 {
            return if self.factors.updates() == 0 { Err(SolverError::Singular) } else { self.factorise() };
        }
        let more = MORE * self.rhs[row] * (0.5 + 0.5 * self.draws.unit());
        // It leaves its bound in the direction that costs; with this cost it does not.
        let column = &mut self.columns[link];
        column.cost -= column.reduced;
        self.columns[self.head[at] as usize].reduced = 0.0;
        self.exchange(at, link as u32, &alpha);
        self.columns[link].lower -= more;
        Ok(())
    }

    /// A column that replaces the one at a position without losing digits: the first candidate, or the next ones. With
    /// its change of cost, and its product with the inverse.
    pub(super) fn stable(&self, at: usize, first: (u32, f64), mut candidates: Vec<u32>) -> (u32, f64, Vec<f64>) {
        let product = |id: u32| {
            let mut alpha = vec![0.0; self.head.len()];
            self.columns[id as usize].entries.iter().for_each(|(row, v)| alpha[*row as usize] = *v);
            self.factors.solve(&mut alpha);
            let most = alpha.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            (alpha[at].abs() / most, alpha)
        };
        let (mut part, alpha) = product(first.0);
        let mut best = (first.0, first.1, alpha);
        let mut tried = first.0;
        for _ in 0..TRIES {
            if part >= LEAST_PIVOT {
                break;
            }
            candidates.retain(|id| *id != tried);
            let Some((next, cost)) = self.entering(&candidates) else { break };
            tried = next;
            let (other, alpha) = product(next);
            if other > part {
                (part, best) = (other, (next, cost, alpha));
            }
        }
        best
    }
}
