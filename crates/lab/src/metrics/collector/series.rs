//! The series of a run: at its end all of them, before it what is known of bins that are complete.

use super::super::gather::ConsumerGather;
use super::super::jain;
use super::super::stats::mbps;
use super::Collector;
use crate::results::{Rows, Series, SeriesKind};
use ndnweir_core::units::Time;
use std::ops::Range;

impl Collector {
    /// The number of bins from time 0 on whose values do not change any more.
    pub(crate) fn complete(&self) -> usize {
        ((self.last.nanos() / self.setup.bin.nanos()) as usize).min(self.bins)
    }

    /// The length of a bin in s, where the run ends at `end`.
    fn width(&self, bin: usize, end: Time) -> f64 {
        let from = Time::ZERO + self.setup.bin * bin as u64;
        end.min(from + self.setup.bin).since(from).secs()
    }

    /// What [`Collector::series`] will have in these bins about the network, consumers and links.
    pub(crate) fn part(&self, bins: &Range<usize>) -> Series {
        self.until(self.setup.to, bins)
    }

    /// The same, where the last bin may end with the run, at `end`.
    fn until(&self, end: Time, bins: &Range<usize>) -> Series {
        let width = &|bin| self.width(bin, end);
        let mut series = Series { bin_s: self.setup.bin.secs(), tables: Default::default() };
        let mut put = |kind: SeriesKind, key: Vec<String>, columns| {
            series.tables[kind as usize].push(Rows { key, columns });
        };
        put(SeriesKind::Network, Vec::new(), self.network(bins, width));
        for (setup, gather) in self.setup.consumers.iter().zip(&self.consumers) {
            put(SeriesKind::Consumers, vec![setup.name.clone()], gather.columns(bins, width));
        }
        for ((setup, gather), packets) in self.setup.links.iter().zip(&self.links).zip(&self.packets) {
            put(SeriesKind::Links, vec![setup.name.clone()], gather.columns(bins, width, &self.samples));
            put(SeriesKind::Packets, vec![setup.name.clone()], packets.columns(bins));
        }
        series
    }

    /// All series up to `end`.
    pub(super) fn series(&self, end: Time) -> Series {
        let bins = 0..(end.nanos().div_ceil(self.setup.bin.nanos()) as usize).min(self.bins);
        let mut series = self.until(end, &bins);
        let mut put = |kind: SeriesKind, key: Vec<String>, columns| {
            series.tables[kind as usize].push(Rows { key, columns });
        };
        for (setup, gather) in self.setup.consumers.iter().zip(&self.consumers) {
            for (path, bits) in gather.path_series(&self.paths) {
                let column = bins.clone().map(|bin| mbps(bits[bin] as f64, self.width(bin, end))).collect();
                put(SeriesKind::Paths, vec![setup.name.clone(), path], vec![column]);
            }
        }
        for (key, values) in &self.shares {
            put(SeriesKind::Shares, self.share_names(*key).into(), vec![values[bins.clone()].to_vec()]);
        }
        for (name, gather) in self.used_nodes() {
            put(SeriesKind::Nodes, vec![name.clone()], gather.columns(&bins, &self.samples));
        }
        for (setup, gather) in self.setup.consumers.iter().zip(&self.hops) {
            put(SeriesKind::Hops, vec![setup.name.clone()], gather.columns(&bins));
        }
        for (setup, gather) in self.setup.consumers.iter().zip(&self.flows) {
            if let Some(gather) = gather {
                put(SeriesKind::Flows, vec![setup.name.clone()], gather.columns(bins.len(), end, self.clock()));
            }
        }
        series
    }

    /// One column for each metric of [`SeriesKind::Network`].
    fn network(&self, bins: &Range<usize>, width: &dyn Fn(usize) -> f64) -> Vec<Vec<f64>> {
        let mut columns = vec![Vec::new(); 4];
        for bin in bins.clone() {
            let rate = |c: &ConsumerGather| mbps(c.bits[bin] as f64, width(bin));
            let (from, to) = (self.setup.bin * bin as u64, self.setup.bin * (bin as u64 + 1));
            let fair: Vec<f64> = (self.setup.consumers.iter().zip(&self.consumers))
                .filter(|(s, c)| {
                    let stop = [s.stop, c.completed].into_iter().flatten().fold(Time::NEVER, Time::min);
                    s.long_lived && s.start <= Time::ZERO + from && Time::ZERO + to <= stop
                })
                .map(|(_, c)| rate(c))
                .collect();
            columns[0].push(self.consumers.iter().map(rate).sum());
            columns[1].push(jain(&fair).unwrap_or(f64::NAN));
            columns[2].push(self.links.iter().map(|l| l.rate(&l.overflow_bits, bin, width(bin))).sum());
            columns[3].push(self.looped(bin).map_or(f64::NAN, |n| n as f64));
        }
        columns
    }
}
