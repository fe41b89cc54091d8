//! Which method is tried when, and what comes of the allowed work.

use super::super::certificate::Allocation;
use super::super::draws::Draws;
use super::super::error::SolverError;
use super::super::paths::Paths;
use super::super::{MAX_GAIN, Problem};
use super::groups::groups;
use super::interior::{self, Start};
use super::search::Search;
use super::{Large, approximation, cuts, mend, room, steps};

/// The part of the allowed work, one over this, after which the interior-point method is asked for paths; the part that
/// the simplex then has; the part of that which the method may take, and the gap at which it ends.
const FIRST_PART: u64 = 28;
const PREPARED_PART: u64 = 4;
const INTERIOR_PART: u64 = 2;
const START_GAP: f64 = 1e-3;
/// With no more paths per group than this, the simplex is tried so often, each time with this part of the work, one over
/// it.
const FEW_PATHS: usize = 2;
const ATTEMPTS: u64 = 4;
const ATTEMPT_PART: u64 = 7;
/// The number of flows beyond which rates are approximated then.
const MAX_FLOWS: usize = 450;

/// What came of the allowed work.
pub(in super::super) struct Outcome {
    pub(in super::super) found: Result<Allocation, SolverError>,
    /// Rates that links can carry, if `found` is an error or flows are in no level, and what is known about them.
    pub(in super::super) estimate: Option<(Allocation, String)>,
}

/// The max-min fair allocation, within an amount of work that is counted in elementary operations.
#[cfg(test)]
pub(in super::super) fn fill(problem: &Problem, most: u64) -> Result<Allocation, SolverError> {
    outcome(problem, most).found
}

/// The max-min fair allocation, or an estimate, within an amount of work that is counted in elementary operations.
pub(in super::super) fn outcome(problem: &Problem, most: u64) -> Outcome {
    let part = most / FIRST_PART;
    let mut best = match mended(problem, exact(problem, part, false)) {
        Ok(found) if found.1 == 0 => return Outcome { found: Ok(found.0), estimate: None },
        result => result,
    };
    let many = problem.flows.len() > MAX_FLOWS;
    let (groups, start) = prepared(problem, if many { approximation::START_GAP } else { START_GAP }, most);
    let few = start.paths.iter().map(Vec::len).sum::<usize>() <= FEW_PATHS * groups.len();
    let mut left = most.saturating_sub(part + start.work);
    for attempt in 0..if few || !many { ATTEMPTS } else { 0 } {
        // Where links are not coupled, no price is too high.
        let costly = if attempt == 0 && !many { f64::INFINITY } else { cuts::COSTLY };
        let allowed = left / if attempt == 0 && !many { PREPARED_PART } else { ATTEMPT_PART };
        let found = mended(problem, simplex(problem, groups.clone(), &start, costly, attempt, allowed));
        left -= if found.is_ok() { 0 } else { allowed };
        let unproved = |result: &Result<(Allocation, usize), SolverError>| result.as_ref().map_or(usize::MAX, |f| f.1);
        if unproved(&found) < unproved(&best) || best.is_err() {
            best = found;
        }
        if unproved(&best) == 0 {
            break;
        }
    }
    if !matches!(best, Ok((_, 0)))
        && let Some(roomy) = room::outcome(problem, &groups, &start, left)
    {
        return roomy;
    }
    if best.is_err() && many {
        let approximate = approximation::outcome(problem, groups, start, left);
        match approximate.found {
            Ok(found) if found.check(problem, 1).is_ok_and(|gain| gain <= MAX_GAIN) => {
                return Outcome { found: Ok(found), estimate: None };
            }
            Ok(found) => best = mended(problem, Ok(found)),
            Err(_) => return approximate,
        }
    }
    match best {
        Ok((found, 0)) => Outcome { found: Ok(found), estimate: None },
        Ok((found, unproved)) => {
            let note = format!("no proof limits {unproved} of {} flows", problem.flows.len());
            Outcome { found: Ok(found.clone()), estimate: Some((found, note)) }
        }
        Err(reason) => Outcome { found: Err(reason), estimate: None },
    }
}

/// Groups of equal flows, and the paths that they begin with.
fn plain(problem: &Problem) -> (Vec<Vec<usize>>, Start) {
    let mut search = Search::new(problem.nodes);
    let (groups, paths) = groups(problem, &Paths::without_paths(problem), &mut search);
    // The work of other starts contains their searches.
    (groups, Start { paths, prices: Vec::new(), work: search.work * steps::HOP_WORK })
}

/// The same with the paths and prices of the interior-point method, up to this gap and within its part of the work.
fn prepared(problem: &Problem, gap: f64, most: u64) -> (Vec<Vec<usize>>, Start) {
    let (paths, mut search) = (Paths::without_paths(problem), Search::new(problem.nodes));
    let (groups, first) = groups(problem, &paths, &mut search);
    let start = interior::start(problem, &paths, &mut search, &groups, first, gap, most / INTERIOR_PART);
    (groups, start)
}

/// An allocation whose proofs are mended, and the number of its flows without proof.
fn mended(problem: &Problem, found: Result<Allocation, SolverError>) -> Result<(Allocation, usize), SolverError> {
    let mut found = found?;
    let unproved = mend::mend(problem, &mut found)?;
    Ok((found, unproved))
}

/// The allocation by the simplex alone, with few paths to start from, or `prepared` by the interior-point method.
pub(in super::super) fn exact(problem: &Problem, most: u64, is_prepared: bool) -> Result<Allocation, SolverError> {
    let (groups, start) = if is_prepared { prepared(problem, START_GAP, most) } else { plain(problem) };
    simplex(problem, groups, &start, f64::INFINITY, 0, most.saturating_sub(start.work))
}

/// The allocation by the simplex, which keeps prices below `costly`; each attempt has other ties.
fn simplex(
    problem: &Problem,
    groups: Vec<Vec<usize>>,
    start: &Start,
    costly: f64,
    attempt: u64,
    most: u64,
) -> Result<Allocation, SolverError> {
    let capacities = problem.links.iter().map(|l| l.rate.mbps()).collect();
    let mut large = Large::new(problem, groups, capacities, start, Search::new(problem.nodes), most, None)?;
    large.costly = costly;
    if attempt > 0 {
        large.draws = Draws(1 + attempt);
    }
    let levels = large.levels()?;
    Ok(large.allocation(levels))
}

/// The allocation of Data where links have room for Interests, whether or not another one has a proof.
#[cfg(test)]
pub(in super::super) fn roomy(problem: &Problem, most: u64) -> Result<room::Roomy, SolverError> {
    let (groups, start) = prepared(problem, approximation::START_GAP, most);
    room::roomy(problem, &groups, &start, most.saturating_sub(start.work))
}
