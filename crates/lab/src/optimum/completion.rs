//! Ideal completion times of finite fetches: rates are max-min fair at every instant. Slowdowns are relative to them.
//!
//! This is a fluid model: whenever a fetch begins or ends, the rates of all active fetches are recomputed. To the
//! completion time of the fluid, the delays that do not depend on rates are added: the first Interest's time to the
//! producer, propagation back, and the transmission of one Data on each link except the narrowest, which the fluid
//! includes.

use super::paths::Paths;
use super::{AllocationError, AllowedLinks, FlowDemand, Hop, Problem, ProblemError, water_filling};
use std::collections::BTreeMap;

/// A fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// When it begins, in s.
    pub start_s: f64,
    /// Payload; `None` for a flow that never ends and only uses its share.
    pub payload_bytes: Option<u64>,
    /// Time in s that is added to the completion time of the fluid (see [`Problem::latency`]).
    pub latency_s: f64,
}

/// A remaining payload below this fraction of a byte counts as zero.
const REMAINDER_TOLERANCE: f64 = 1e-6;
/// Limit on the combinations of flows whose rates are kept.
const MAX_KNOWN: usize = 10_000;
/// Limit on flows times links, added up over the combinations that are solved with several paths: some ten seconds.
const MAX_WORK: usize = 50_000_000;

impl Problem {
    /// The completion time of a fetch over a path, less the time of its Data on the narrowest link, in s: its first
    /// Interest upstream, and one Data downstream, without transmission on the narrowest link. `propagation_s` is by
    /// link.
    pub fn latency(&self, path: &[usize], propagation_s: &[f64]) -> f64 {
        self.times(path, propagation_s).0
    }

    /// The same, and the time of one Data on the narrowest link.
    fn times(&self, path: &[usize], propagation_s: &[f64]) -> (f64, f64) {
        let hops = self.all_hops();
        let sum = |links: &mut dyn Iterator<Item = &usize>, bytes: u64| {
            let one = |l: &usize| (bytes as f64 * 8e-6 / self.links[*l].rate.mbps(), propagation_s[*l]);
            links.map(one).fold((0.0, 0.0, 0.0f64), |a, t| (a.0 + t.0, a.1 + t.1, a.2.max(t.0)))
        };
        let up = sum(&mut path.iter().flat_map(|h| &hops[*h].interests), self.sizes.interest_wire_bytes);
        let down = sum(&mut path.iter().flat_map(|h| &hops[*h].data), self.sizes.data_wire_bytes);
        (up.0 + up.1 + down.0 + down.1 - down.2, down.2)
    }

    /// The lowest latency of each flow over any allowed path; `None` if it has no path. `propagation_s` is by link.
    pub fn least_latencies(&self, propagation_s: &[f64]) -> Vec<Option<f64>> {
        self.solo(propagation_s).into_iter().map(|latency| Some(latency?.0)).collect()
    }

    /// The lowest latency, with the time of one Data on the narrowest link of that path, in s, which is the time that
    /// each further Data takes if the flow is alone.
    pub fn solo(&self, propagation_s: &[f64]) -> Vec<Option<(f64, f64)>> {
        let one = |links: &[usize], bytes: u64| {
            let time = |l: &usize| propagation_s[*l] + bytes as f64 * 8e-6 / self.links[*l].rate.mbps();
            links.iter().map(time).sum::<f64>()
        };
        let cost = |hop: &Hop| {
            one(&hop.data, self.sizes.data_wire_bytes) + one(&hop.interests, self.sizes.interest_wire_bytes)
        };
        let costs: Vec<f64> = self.all_hops().iter().map(cost).collect();
        let sum = |path: &Vec<usize>| path.iter().map(|h| costs[*h]).sum::<f64>();
        let paths = Paths::new(self);
        let least = |(f, flow): (usize, &FlowDemand)| {
            let path = match &flow.routes {
                AllowedLinks::Paths(all) => all.iter().min_by(|a, b| sum(a).total_cmp(&sum(b))).cloned(),
                AllowedLinks::Any { .. } => paths.cheapest(f, &costs),
            };
            path.map(|path| self.times(&path, propagation_s))
        };
        self.flows.iter().enumerate().map(least).collect()
    }

    /// From its start to its last Data, in s, for each flow's fetch; `None` for a flow that never ends.
    ///
    /// `transfers` has one fetch for each flow of the problem, in the same order.
    ///
    /// # Errors
    /// If there is no allocation (see [`Problem::allocate`]).
    pub fn completion_times(&self, transfers: &[Transfer]) -> Result<Vec<Option<f64>>, AllocationError> {
        let kinds = self.kinds();
        let mut rates = FairRates::new(self, &kinds);
        let mut left: Vec<f64> =
            transfers.iter().map(|t| t.payload_bytes.map_or(f64::INFINITY, |b| b as f64)).collect();
        let mut done = vec![None; transfers.len()];
        let mut waiting: Vec<usize> = (0..transfers.len()).filter(|i| left[*i] > REMAINDER_TOLERANCE).collect();
        waiting.sort_by(|a, b| transfers[*b].start_s.total_cmp(&transfers[*a].start_s));
        let begin = |waiting: &[usize]| waiting.last().map_or(f64::INFINITY, |i| transfers[*i].start_s);
        let mut active: Vec<usize> = Vec::new();
        let mut now = begin(&waiting);
        loop {
            while begin(&waiting) <= now
                && let Some(next) = waiting.pop()
            {
                active.push(next);
            }
            let by_kind = rates.of(&active)?;
            // Bytes per second.
            let speed = |i: usize| by_kind[kinds[i]] * 1e6 / 8.0;
            let ends = active.iter().map(|&i| now + left[i] / speed(i)).filter(|t| !t.is_nan());
            let next = ends.fold(begin(&waiting), f64::min);
            if next.is_infinite() {
                return Ok(done);
            }
            active.retain(|&i| {
                left[i] -= speed(i) * (next - now);
                // The remainder may be a rounding error after a long time.
                let ends = left[i] <= REMAINDER_TOLERANCE + 1e-9 * speed(i) * next;
                if ends {
                    done[i] = Some(next - transfers[i].start_s + transfers[i].latency_s);
                }
                !ends
            });
            now = next;
        }
    }

    /// By flow the number of its kind: flows from the same producers to the same node over the same hops have equal
    /// rates.
    fn kinds(&self) -> Vec<usize> {
        let mut numbers = BTreeMap::new();
        let mut number = |flow: &'_ FlowDemand| {
            let next = numbers.len();
            *numbers.entry((flow.consumer, flow.routes.clone())).or_insert(next)
        };
        self.flows.iter().map(&mut number).collect()
    }

    /// How many kinds of flows there are, which differ in their node, producers or hops.
    pub fn number_of_kinds(&self) -> usize {
        self.kinds().into_iter().max().map_or(0, |last| last + 1)
    }
}

/// Max-min fair rates of flows of some kinds.
struct FairRates<'a> {
    problem: &'a Problem,
    kinds: &'a [usize],
    /// A flow of each kind.
    examples: Vec<&'a FlowDemand>,
    /// By how many flows of each kind there are: the rate of one, by kind.
    known: BTreeMap<Vec<usize>, Vec<f64>>,
    /// Flows times links of what was solved so far.
    work: usize,
}

impl<'a> FairRates<'a> {
    fn new(problem: &'a Problem, kinds: &'a [usize]) -> FairRates<'a> {
        let mut examples: Vec<&FlowDemand> = Vec::new();
        for (flow, kind) in problem.flows.iter().zip(kinds) {
            if *kind == examples.len() {
                examples.push(flow);
            }
        }
        FairRates { problem, kinds, examples, known: BTreeMap::new(), work: 0 }
    }

    /// With these flows: the rate of a flow of each kind, in 10⁶ bit/s; zero where there is none.
    fn of(&mut self, active: &[usize]) -> Result<Vec<f64>, AllocationError> {
        let mut counts = vec![0; self.examples.len()];
        active.iter().for_each(|i| counts[self.kinds[*i]] += 1);
        if let Some(rates) = self.known.get(&counts) {
            return Ok(rates.clone());
        }
        let copies = self.examples.iter().zip(&counts).flat_map(|(flow, n)| std::iter::repeat_n((*flow).clone(), *n));
        let some = Problem { flows: copies.collect(), ..self.problem.clone() };
        let mut rates = vec![0.0; counts.len()];
        if !some.flows.is_empty() {
            some.check()?;
            let each = if some.single_paths() { water_filling(&some) } else { self.filled(&some)? };
            let kinds = counts.iter().enumerate().flat_map(|(kind, n)| std::iter::repeat_n(kind, *n));
            kinds.zip(each).for_each(|(kind, rate)| rates[kind] = rate);
        }
        if self.known.len() < MAX_KNOWN {
            self.known.insert(counts, rates.clone());
        }
        Ok(rates)
    }

    /// Rates over several paths, as long as all of them together are no more work than is allowed.
    fn filled(&mut self, some: &Problem) -> Result<Vec<f64>, AllocationError> {
        let (flows, links) = (some.flows.len(), some.links.len());
        self.work = self.work.saturating_add(flows.saturating_mul(links));
        if some.is_large() || self.work > MAX_WORK {
            return Err(ProblemError::TooLarge { flows, links }.into());
        }
        Ok(some.filled()?.rates)
    }
}
