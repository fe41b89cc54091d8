//! Ideal completion times of finite fetches: rates are max-min fair at every instant. Slowdowns are relative to them.
//!
//! This is a fluid model: whenever a fetch begins or ends, the rates of all active fetches are recomputed. To the
//! completion time of the fluid, the delays that do not depend on rates are added: the first Interest's time to the
//! producer, propagation back, and the transmission of one Data on each link except the narrowest, which the fluid
//! includes.

use super::paths::Paths;
use super::{AllocationError, AllowedLinks, FlowDemand, Hop, Problem, water_filling};

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
        let mut left: Vec<f64> =
            transfers.iter().map(|t| t.payload_bytes.map_or(f64::INFINITY, |b| b as f64)).collect();
        let mut done = vec![None; transfers.len()];
        let mut now = transfers.iter().map(|t| t.start_s).fold(f64::INFINITY, f64::min);
        let ended = |left: &[f64], i: usize| left[i] <= REMAINDER_TOLERANCE;
        loop {
            let active: Vec<usize> =
                (0..transfers.len()).filter(|i| transfers[*i].start_s <= now && !ended(&left, *i)).collect();
            let rates = self.rates_of(&active)?;
            // Bytes per second.
            let speed = |k: usize| rates[k] * 1e6 / 8.0;
            let begins = transfers.iter().map(|t| t.start_s).filter(|s| *s > now).fold(f64::INFINITY, f64::min);
            let ends = active.iter().enumerate().map(|(k, i)| now + left[*i] / speed(k)).filter(|t| !t.is_nan());
            let next = ends.fold(begins, f64::min);
            if next.is_infinite() {
                return Ok(done);
            }
            for (k, &i) in active.iter().enumerate() {
                left[i] -= speed(k) * (next - now);
                // The remainder may be a rounding error after a long time.
                if left[i] <= REMAINDER_TOLERANCE + 1e-9 * speed(k) * next {
                    left[i] = 0.0;
                    done[i] = Some(next - transfers[i].start_s + transfers[i].latency_s);
                }
            }
            now = next;
        }
    }

    /// Max-min fair rates of some of the flows.
    fn rates_of(&self, active: &[usize]) -> Result<Vec<f64>, AllocationError> {
        if active.is_empty() {
            return Ok(Vec::new());
        }
        let flows: Vec<FlowDemand> = active.iter().map(|i| self.flows[*i].clone()).collect();
        let some = Problem { flows, ..self.clone() };
        some.check()?;
        if some.single_paths() { Ok(water_filling(&some)) } else { Ok(some.filled()?.rates) }
    }
}
