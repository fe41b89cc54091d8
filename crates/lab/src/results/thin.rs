//! Series of large networks: of a table with many subjects those that say most are kept, so that a result folder and
//! the report stay small. What is left out is in no table of summaries: those have every subject.

use super::{Comparison, LinkRun, Rows, Run, SeriesKind};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Tables of at most this many subjects are kept whole, as are summaries in `summary.json`.
pub const MANY: usize = 256;
/// Rows, one for each subject and bin, that the tables of consumers keep for all schemes together.
const CONSUMER_ROWS: usize = 30_000;
/// The same of every other table.
const ROWS: usize = 12_000;
/// Schemes that share these rows at most: more schemes make more rows.
const SHARED: usize = 4;

impl LinkRun {
    /// How much a link is a bottleneck: its utilisation, then its queueing delay.
    pub fn load(&self) -> u64 {
        (self.utilization * 1e4) as u64 + (self.queue_ms * 10.0) as u64
    }
}

impl Comparison {
    /// Leaves out series of a large network as `docs/metrics.md` says, the same subjects in every run, and adds a note
    /// about it.
    pub fn thin_series(&mut self) {
        let subjects: Vec<String> = [
            self.thin_consumers(),
            self.thin(&[SeriesKind::Links, SeriesKind::Packets], "link directions", "that are the busiest", |run| {
                run.links.iter().map(|link| (link.name.clone(), link.load())).collect()
            }),
            self.thin(&[SeriesKind::Nodes], "nodes", "with the most Interests", |run| {
                run.nodes.iter().map(|node| (node.name.clone(), node.interests)).collect()
            }),
            self.thin_shares(),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !subjects.is_empty() {
            self.scenario.notes.push(format!(
                "a large network: series hold {}; the results of all are in summary.json and the folder summary",
                subjects.join(", ")
            ));
        }
    }

    /// The number of subjects to keep where each has a row in every bin.
    fn room(&self, rows: usize) -> usize {
        let bins = self.runs.iter().map(|run| run.series.len()).max().unwrap_or(0);
        rows / self.schemes().len().clamp(1, SHARED) / bins.max(1)
    }

    /// The longest table of a kind.
    fn longest(&self, kind: SeriesKind) -> usize {
        self.runs.iter().map(|run| run.series.table(kind).len()).max().unwrap_or(0)
    }

    /// Consumers at even distances in the scenario's order, so that their spread is that of all.
    fn thin_consumers(&mut self) -> Option<String> {
        use SeriesKind::{Consumers, Flows, Hops, Paths};
        let (all, room) = (self.longest(Consumers), self.room(CONSUMER_ROWS).max(1));
        if all <= MANY || all <= room {
            return None;
        }
        let names = self.scenario.consumers.iter().map(|consumer| &consumer.name);
        let kept: BTreeSet<String> =
            names.enumerate().filter(|(i, _)| i * room / all != (i + 1) * room / all).map(|(_, n)| n.clone()).collect();
        for kind in [Consumers, Flows, Hops, Paths] {
            self.retain(kind, |rows| kept.contains(&rows.key[0]));
        }
        // A consumer has several paths: those of the first consumers.
        let room = self.room(ROWS).max(1);
        for run in &mut self.runs {
            run.series.tables[Paths as usize].truncate(room);
        }
        Some(format!("{} of {all} consumers, at even distances in their order", kept.len()))
    }

    /// The subjects of the greatest weight in any run; the first of equals.
    fn thin(
        &mut self,
        kinds: &[SeriesKind],
        what: &str,
        which: &str,
        weights: impl Fn(&Run) -> Vec<(String, u64)>,
    ) -> Option<String> {
        let (all, room) = (self.longest(kinds[0]), self.room(ROWS).max(1));
        if all <= MANY || all <= room {
            return None;
        }
        let mut ranked: Vec<(Reverse<u64>, usize, String)> = Vec::new();
        for run in self.runs.iter().filter(|run| !run.series.is_empty()) {
            let of_run = weights(run).into_iter().enumerate();
            ranked.extend(of_run.map(|(at, (name, weight))| (Reverse(weight), at, name)));
        }
        ranked.sort_unstable();
        let mut kept = BTreeSet::new();
        for (_, _, name) in ranked {
            if kept.len() < room {
                kept.insert(name);
            }
        }
        for &kind in kinds {
            self.retain(kind, |rows| kept.contains(&rows.key[0]));
        }
        Some(format!("the {} of {all} {what} {which}", kept.len()))
    }

    /// The shares that changed most.
    fn thin_shares(&mut self) -> Option<String> {
        let (all, room) = (self.longest(SeriesKind::Shares), self.room(ROWS).max(1));
        if all <= MANY || all <= room {
            return None;
        }
        for run in &mut self.runs {
            let table = &mut run.series.tables[SeriesKind::Shares as usize];
            let mut moved: Vec<(Reverse<u64>, usize)> =
                table.iter().enumerate().map(|(at, rows)| (Reverse((movement(rows) * 1e9) as u64), at)).collect();
            moved.sort_unstable();
            let kept: BTreeSet<usize> = moved.into_iter().take(room).map(|(_, at)| at).collect();
            let mut at = 0..;
            table.retain(|_| at.next().is_some_and(|at| kept.contains(&at)));
        }
        Some(format!("the {room} of {all} forwarding shares that changed most"))
    }

    fn retain(&mut self, kind: SeriesKind, is_kept: impl Fn(&Rows) -> bool) {
        for run in &mut self.runs {
            run.series.tables[kind as usize].retain(&is_kept);
        }
    }
}

/// The largest difference between values of a share.
fn movement(rows: &Rows) -> f64 {
    let finite = || rows.columns.iter().flatten().copied().filter(|value| value.is_finite());
    finite().fold(0.0, f64::max) - finite().fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ConsumerInfo, NodeRun, Series};

    /// A run with `count` consumers, links and nodes of `bins` bins each; every tenth link is busy.
    fn comparison(count: usize, bins: usize, schemes: usize) -> Comparison {
        let mut all = Comparison::default();
        let name = |i: usize| format!("X{i}");
        all.scenario.consumers =
            (0..count).map(|i| ConsumerInfo { name: name(i), ..ConsumerInfo::default() }).collect();
        for k in 0..schemes {
            let mut run = Run { scheme: format!("s{k}"), ..Run::default() };
            run.links = (0..count)
                .map(|i| LinkRun {
                    name: name(i),
                    utilization: if i % 10 == 3 { 0.9 } else { 0.1 },
                    ..LinkRun::default()
                })
                .collect();
            run.nodes =
                (0..count).map(|i| NodeRun { name: name(i), interests: i as u64, ..NodeRun::default() }).collect();
            run.series = Series { bin_s: 0.1, ..Series::default() };
            for kind in SeriesKind::ALL {
                let key = |i: usize| kind.keys().iter().map(|_| name(i)).collect();
                let columns = vec![vec![1.0; bins]; kind.metrics().len()];
                let subjects = if kind == SeriesKind::Network { 1 } else { count };
                run.series.tables[kind as usize] =
                    (0..subjects).map(|i| Rows { key: key(i), columns: columns.clone() }).collect();
            }
            all.runs.push(run);
        }
        all
    }

    #[test]
    fn a_network_of_256_subjects_is_kept_whole() {
        let mut all = comparison(MANY, 600, 2);
        let before = all.clone();
        all.thin_series();
        assert_eq!(all, before);
    }

    #[test]
    fn the_series_of_1_000_consumers_take_a_bounded_number_of_rows_and_a_note_says_which_are_there() {
        // 2 schemes share 30 000 rows of consumers in 500 bins: 30 consumers; and 12 000 rows of links: 12.
        let mut all = comparison(1000, 500, 2);
        all.thin_series();
        let sizes = SeriesKind::ALL.map(|kind| all.runs[1].series.table(kind).len());
        // Network, consumers, paths, links, shares, nodes, packets, hops, flows.
        assert_eq!(sizes, [1, 30, 12, 12, 12, 12, 12, 30, 30]);
        let links: Vec<&str> = all.runs[0].series.table(SeriesKind::Links).iter().map(|r| &*r.key[0]).collect();
        assert_eq!(links[..3], ["X3", "X13", "X23"]);
        assert_eq!(all.runs[0].series.table(SeriesKind::Nodes)[0].key, ["X988"]);
        // Every thirty-third or thirty-fourth consumer.
        let consumers: Vec<&str> = all.runs[0].series.table(SeriesKind::Consumers).iter().map(|r| &*r.key[0]).collect();
        assert_eq!((consumers[0], consumers[1], consumers[29]), ("X33", "X66", "X999"));
        assert_eq!(
            all.scenario.notes,
            ["a large network: series hold 30 of 1000 consumers, at even distances in their order, the 12 of 1000 \
              link directions that are the busiest, the 12 of 1000 nodes with the most Interests, the 12 of 1000 forwarding shares \
              that changed most; the results of all are in summary.json and the folder summary"]
        );
        assert_eq!((all.runs[0].links.len(), all.runs[0].nodes.len()), (1000, 1000));
    }
}
