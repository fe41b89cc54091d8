//! The max-min fair allocation of Data, where links have room for the Interests that cross them.
//!
//! If Interests compete as Data do, a flow stops where its Interests cross a link that is full of slower flows, although
//! these would lose a thirtieth of what it gains; along a few such links, rates depend on a millionth of what links
//! carry. If they have room instead, links are narrower by it and flows compete with their Data alone, and the simplex
//! has none of these difficulties. The room is what the Interests of the rates take, found by repetition: as Interests
//! are small, an error of the room is one of a thirtieth in the next. That needs rates over the same paths in networks
//! that differ little, so every network begins with the same paths and prices, and with those paths that carried before.

use super::super::certificate::Allocation;
use super::super::error::SolverError;
use super::super::paths::Path;
use super::super::{AllowedLinks, DirectedLink, MAX_GAIN, MAX_SEARCHES, Problem};
use super::interior::Start;
use super::search::Search;
use super::steps::HOP_WORK;
use super::{Large, Outcome};
use ndnweir_core::units::Rate;

/// The part of a link by which its room may differ from what Interests take when the repetition ends, as much as a link
/// may be too full in a certificate; by which it may differ in an estimate; and the largest number of networks.
const CLOSE: f64 = 1e-3;
const NEAR: f64 = 1e-2;
const MAX_ROUNDS: usize = 8;
/// The number of networks without less difference after which the repetition ends.
const IN_VAIN: usize = 2;
/// The part of the difference that is corrected falls by this factor where its sign changes.
const LESS: f64 = 0.5;
/// The number of ties that are tried for a network, if the simplex loses its digits.
const TIES: u64 = 4;

/// An allocation, and the network that proves it: without Interests, and with links that lack the room for them.
pub(in super::super) struct Roomy {
    pub(in super::super) found: Allocation,
    pub(in super::super) data: Problem,
    /// The largest part of a link by which its room differs from what Interests take.
    pub(in super::super) error: f64,
}

/// The allocation if routing restricts all flows and it has a proof, with what it says.
pub(super) fn outcome(problem: &Problem, groups: &[Vec<usize>], start: &Start, most: u64) -> Option<Outcome> {
    let restricted = |routes: &AllowedLinks| !matches!(routes, AllowedLinks::Any { usable: None, .. });
    if problem.sizes.interest_wire_bytes == 0 || !problem.flows.iter().all(|flow| restricted(&flow.routes)) {
        return None;
    }
    let Roomy { found, data, error } = roomy(problem, groups, start, most).ok()?;
    if error > NEAR {
        return None;
    }
    let every = (found.levels.len() * problem.flows.len()).div_ceil(MAX_SEARCHES);
    if !found.check(&data, every).is_ok_and(|gain| gain <= MAX_GAIN) {
        return None;
    }
    let mut note = String::from(
        "links have room for the Interests that cross them, and flows compete with their Data alone; then no flow can \
         gain 1 % without lowering one that has no more",
    );
    if error > CLOSE {
        note += &format!(" (the room differs by up to {:.1} % of a link from what Interests take)", 100.0 * error);
    }
    Some(Outcome { found: Err(SolverError::Interests), estimate: Some((found, note)) })
}

/// The allocation within an amount of work.
pub(in super::super) fn roomy(
    problem: &Problem,
    groups: &[Vec<usize>],
    start: &Start,
    most: u64,
) -> Result<Roomy, SolverError> {
    let mut start = Start { paths: start.paths.clone(), prices: start.prices.clone(), work: 0 };
    let mut data = problem.clone();
    data.sizes.interest_wire_bytes = 0;
    let mut room = vec![0.0; problem.links.len()];
    let (mut part, mut before) = (vec![1.0f64; room.len()], room.clone());
    let (mut left, mut last, mut in_vain, mut best) = (most, 0, 0, None);
    for _ in 0..MAX_ROUNDS {
        if last > left {
            break;
        }
        let link = |(link, room): (&DirectedLink, &f64)| {
            let rate = Rate::from_mbps((link.rate.mbps() - room).max(0.0));
            DirectedLink { rate, ..link.clone() }
        };
        data.links = problem.links.iter().zip(&room).map(link).collect();
        let found = match simplex(&data, groups, &start, left) {
            Ok((found, work)) => {
                (left, last) = (left.saturating_sub(work), work);
                found
            }
            Err(_) if best.is_some() => break,
            Err(reason) => return Err(reason),
        };
        let taken = interests(problem, &found.paths);
        let error = |((taken, room), link): ((&f64, &f64), &DirectedLink)| match link.rate.mbps() {
            0.0 => 0.0,
            // Interests alone may be more than a link carries, whatever its room.
            rate => (taken - room).abs().max(taken - rate) / rate,
        };
        let error = taken.iter().zip(&room).zip(&problem.links).map(error).fold(0.0, f64::max);
        for (members, known) in groups.iter().zip(&mut start.paths) {
            let new = found.paths[members[0]].iter().filter(|(path, _)| !known.contains(path));
            let new: Vec<Path> = new.map(|(path, _)| path.clone()).collect();
            known.extend(new);
        }
        if best.as_ref().is_none_or(|best: &Roomy| error < best.error) {
            best = Some(Roomy { found, data: data.clone(), error });
            in_vain = 0;
        } else {
            in_vain += 1;
        }
        if error <= CLOSE || in_vain == IN_VAIN {
            break;
        }
        for (l, room) in room.iter_mut().enumerate() {
            let change = taken[l] - *room;
            part[l] *= if change * before[l] < 0.0 { LESS } else { 1.0 };
            before[l] = change;
            *room += part[l] * change;
        }
    }
    best.ok_or(SolverError::Singular)
}

/// The allocation by the simplex, and its work.
fn simplex(data: &Problem, groups: &[Vec<usize>], start: &Start, most: u64) -> Result<(Allocation, u64), SolverError> {
    let mut work = 0;
    for ties in 1..=TIES {
        let capacities = data.links.iter().map(|l| l.rate.mbps()).collect();
        let (search, left) = (Search::new(data.nodes), most.saturating_sub(work));
        let mut large = Large::new(data, groups.to_vec(), capacities, start, search, left, Some(ties))?;
        let levels = large.levels();
        work += large.work + large.search.work * HOP_WORK;
        match levels {
            Ok(levels) => return Ok((large.allocation(levels), work)),
            Err(reason) if ties == TIES || matches!(reason, SolverError::Work { .. }) => return Err(reason),
            Err(_) => {}
        }
    }
    Err(SolverError::Singular)
}

/// What Interests take of links, in 10⁶ bit/s.
fn interests(problem: &Problem, carried: &[Vec<(Path, f64)>]) -> Vec<f64> {
    let (_, up) = problem.overhead();
    let hops = problem.all_hops();
    let mut taken = vec![0.0; problem.links.len()];
    for (path, rate) in carried.iter().flatten() {
        path.iter().flat_map(|hop| &hops[*hop].interests).for_each(|l| taken[*l] += up * rate);
    }
    taken
}
