//! The state that is collected during a run about nodes' tables, packets on links and hop counts.

use super::counts::{Counts, Steps};
use super::gather::Means;
use crate::results::NodeRun;
use ndnweir_sim::observer::{Drops, LinkCounters, NodeCounters, PathId};
use std::ops::Range;

/// The tables of one node.
#[derive(Default, ndnweir_state::Value)]
pub(super) struct NodeGather {
    /// In the order of [`totals`].
    steps: [Steps; 7],
    cached: Counts,
    pending: Counts,
    /// Sums over the samples in the window.
    cached_sum: u64,
    pending_sum: u64,
    pending_max: u64,
    samples: u64,
    base: NodeCounters,
    last: NodeCounters,
}

/// The running totals that have a series, in the order of its columns.
fn totals(counters: &NodeCounters) -> [u64; 7] {
    let NodeCounters { interests, hits, misses, aggregated, answered, rejected, expired, .. } = *counters;
    [interests, hits, misses, aggregated, answered, rejected, expired]
}

impl NodeGather {
    /// Whether any Interest reached the node; switches and idle nodes have no rows.
    pub(super) fn is_used(&self) -> bool {
        self.last.interests > 0
    }

    pub(super) fn sample(&mut self, now: &NodeCounters, bins: usize, bin: Option<usize>, warm: bool) {
        for (steps, total) in self.steps.iter_mut().zip(totals(now)) {
            steps.add(bins, bin, total);
        }
        if let Some(bin) = bin {
            self.cached.add(bins, bin, now.cache);
            self.pending.add(bins, bin, now.pit);
        }
        if warm {
            self.base = *now;
        } else {
            self.samples += 1;
            self.cached_sum += now.cache;
            self.pending_sum += now.pit;
            self.pending_max = self.pending_max.max(now.pit);
        }
        self.last = *now;
    }

    pub(super) fn finish(&self, name: &str) -> NodeRun {
        let mut counts = totals(&self.last);
        counts.iter_mut().zip(totals(&self.base)).for_each(|(last, base)| *last = last.saturating_sub(base));
        let [interests, cs_hits, cs_misses, pit_aggregated, pit_answered, pit_rejected, pit_expired] = counts;
        let looked_up = cs_hits + cs_misses;
        let mean = |sum: u64| if self.samples > 0 { sum as f64 / self.samples as f64 } else { 0.0 };
        NodeRun {
            name: name.to_owned(),
            interests,
            cs_hits,
            cs_misses,
            cs_hit_ratio: (looked_up > 0).then(|| cs_hits as f64 / looked_up as f64),
            cs_packets: mean(self.cached_sum),
            pit_entries: mean(self.pending_sum),
            pit_max_entries: self.pending_max,
            pit_aggregated,
            pit_answered,
            pit_rejected,
            pit_expired,
            looped: self.looped(),
            state_bytes: None,
        }
    }

    /// Interests that looped in the window.
    pub(super) fn looped(&self) -> u64 {
        self.last.loops.saturating_sub(self.base.loops)
    }

    /// Packets dropped outside the egress queues in the window.
    pub(super) fn drops(&self) -> Drops {
        self.last.drops.since(&self.base.drops)
    }

    /// One column for each metric of `SeriesKind::Nodes`; `samples` by bin.
    pub(super) fn columns(&self, bins: &Range<usize>, samples: &[u32]) -> Vec<Vec<f64>> {
        let states = [&self.cached, &self.pending].map(|sums| sums.means(bins, samples));
        self.steps.iter().map(|steps| steps.column(bins)).chain(states).collect()
    }
}

/// Packets of one direction of a link.
#[derive(Default, ndnweir_state::Value)]
pub(super) struct PacketGather {
    steps: [Steps; 4],
}

impl PacketGather {
    pub(super) fn sample(&mut self, now: &LinkCounters, bins: usize, bin: Option<usize>) {
        let drops = now.drops.total();
        let totals = [now.interest_packets, now.data_packets, now.nack_packets, drops];
        for (steps, total) in self.steps.iter_mut().zip(totals) {
            steps.add(bins, bin, total);
        }
    }

    /// One column for each metric of `SeriesKind::Packets`.
    pub(super) fn columns(&self, bins: &Range<usize>) -> Vec<Vec<f64>> {
        self.steps.iter().map(|steps| steps.column(bins)).collect()
    }
}

/// The number of links that the Data of one consumer crossed.
#[derive(Default, ndnweir_state::Value)]
pub(super) struct HopGather {
    means: Means,
    most: Vec<f64>,
}

impl HopGather {
    pub(super) fn new(bins: usize) -> HopGather {
        HopGather { means: Means::new(bins), most: vec![f64::NAN; bins] }
    }

    pub(super) fn delivered(&mut self, bin: usize, hops: u32) {
        self.means.add(bin, hops.into());
        // `f64::max` returns the number if the other value is NaN.
        self.most[bin] = self.most[bin].max(hops.into());
    }

    /// One column for each metric of `SeriesKind::Hops`.
    pub(super) fn columns(&self, bins: &Range<usize>) -> Vec<Vec<f64>> {
        vec![self.means.column(bins), self.most[bins.clone()].to_vec()]
    }
}

/// Number of links of every reported path, by path number; looked up once for each Data.
#[derive(Default, ndnweir_state::Value)]
pub(super) struct PathLengths(Vec<Option<u32>>);

impl PathLengths {
    pub(super) fn tell(&mut self, path: PathId, links: usize) {
        let path = path.0 as usize;
        self.0.resize(self.0.len().max(path + 1), None);
        self.0[path] = Some(links as u32);
    }

    pub(super) fn get(&self, path: PathId) -> Option<u32> {
        self.0.get(path.0 as usize).copied().flatten()
    }
}
