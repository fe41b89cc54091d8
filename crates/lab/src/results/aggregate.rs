//! Mean and spread over seeds.

use super::{Comparison, Distribution, FlowsRun, Run, Slowdown, mean_sd};
use ndnweir_sim::observer::DropCause;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A metric over the seeds of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation; `None` with one seed.
    pub sd: Option<f64>,
    /// Number of seeds for which the metric was defined.
    pub n: usize,
}

impl Summary {
    /// Mean ± spread as text with sensible digits.
    pub fn text(&self) -> String {
        let digits = |x: f64| match x.abs() {
            a if a >= 1000.0 || a == 0.0 => 0,
            a if a >= 100.0 => 1,
            a if a >= 1.0 => 2,
            _ => 3,
        };
        let d = if self.mean.fract() == 0.0 && self.sd.unwrap_or(0.0) == 0.0 { 0 } else { digits(self.mean) };
        match self.sd {
            Some(sd) => format!("{:.d$} ± {sd:.d$}", self.mean),
            None => format!("{:.d$}", self.mean),
        }
    }
}

/// All metrics of a scheme over its seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// The scheme.
    pub scheme: String,
    /// Number of runs.
    pub seeds: usize,
    /// Metrics by the dotted names of [`Run::scalars`].
    pub metrics: BTreeMap<String, Summary>,
}

impl Aggregate {
    /// One metric.
    pub fn get(&self, metric: &str) -> Option<&Summary> {
        self.metrics.get(metric)
    }

    /// The mean of one metric.
    pub fn mean(&self, metric: &str) -> Option<f64> {
        self.get(metric).map(|s| s.mean)
    }
}

impl Run {
    /// Every defined metric with a dotted name: `goodput_mbps`, `delay_ms.p99`, `consumers.C1.goodput_mbps`,
    /// `consumers.C1.paths.P1>R1>C1.goodput_mbps`, `links.R1>R2.queue_ms`, `shares.R1./a.R1>R2`.
    pub fn scalars(&self) -> Vec<(String, f64)> {
        self.scalars_of(Parts::All)
    }

    fn scalars_of(&self, parts: Parts) -> Vec<(String, f64)> {
        let mut all = self.totals();
        if parts == Parts::None {
            return all.0;
        }
        for c in &self.consumers {
            let at = format!("consumers.{}.", c.name);
            all.put(&at, "goodput_mbps", Some(c.goodput_mbps));
            all.put(&at, "goodput_run_mbps", Some(c.goodput_run_mbps));
            all.delay(&at, "delay_ms", c.delay_ms.as_ref());
            all.delay(&at, "rtt_ms", c.rtt_ms.as_ref());
            all.put(&at, "completion_s", c.completion_s);
            all.put(&at, "convergence_s", c.convergence_s);
            all.put(&at, "window_mean", c.window_mean);
            let counts = [
                ("interests", c.interests),
                ("retransmissions", c.retransmissions),
                ("segments", c.segments),
                ("duplicates", c.duplicates),
                ("in_order", c.in_order),
                ("out_of_order", c.out_of_order),
                ("marks", c.marks),
                ("nacks", c.nacks),
                ("timeouts", c.timeouts),
                ("losses", c.losses),
                ("false_losses", c.false_losses),
                ("decreases", c.decreases),
                ("falls", c.falls),
            ];
            all.counts(&at, &counts);
            all.put(&at, "interest_overhead", c.interest_overhead);
            all.put(&at, "state_bytes", c.state_bytes.map(|n| n as f64));
            if let Some(deadline) = &c.deadline {
                all.counts(&format!("{at}deadline."), &[("late", deadline.late), ("lost", deadline.lost)]);
                all.put(&at, "deadline.missed", deadline.missed);
            }
            for (name, value) in c.flows.iter().flat_map(FlowsRun::scalars) {
                all.put(&format!("{at}flows."), &name, Some(value));
            }
            for p in &c.paths {
                all.put(&format!("{at}paths.{}.", p.path), "goodput_mbps", Some(p.goodput_mbps));
            }
        }
        for l in &self.links {
            let at = format!("links.{}.", l.name);
            all.put(&at, "utilization", Some(l.utilization));
            all.put(&at, "queue_ms", Some(l.queue_ms));
            if parts == Parts::Shown {
                continue;
            }
            all.put(&at, "utilization_data", Some(l.utilization_data));
            all.put(&at, "utilization_interests", Some(l.utilization_interests));
            all.put(&at, "queue_max_ms", Some(l.queue_max_ms));
            all.put(&at, "queue_p99_ms", l.queue_p99_ms);
            all.put(&at, "queue_packets", Some(l.queue_packets));
            all.put(&at, "loss_mbps", Some(l.loss_mbps));
            all.counts(&at, &[("marks", l.marks), ("interest_marks", l.interest_marks), ("nacks", l.nacks)]);
            all.counts(&format!("{at}drops."), &drops(&l.drops));
        }
        if parts == Parts::Shown {
            return all.0;
        }
        for n in &self.nodes {
            let at = format!("nodes.{}.", n.name);
            all.counts(&at, &n.counts());
            all.put(&at, "cs_hit_ratio", n.cs_hit_ratio);
            all.put(&at, "cs_packets", Some(n.cs_packets));
            all.put(&at, "pit_entries", Some(n.pit_entries));
            all.put(&at, "state_bytes", n.state_bytes.map(|n| n as f64));
        }
        for s in &self.shares {
            all.put("", &format!("shares.{}.{}.{}", s.node, s.prefix, s.link), Some(s.share));
        }
        all.0
    }

    /// The same without what consumers, links, nodes and shares have.
    fn totals(&self) -> Scalars {
        let mut all = Scalars::default();
        all.put("", "goodput_mbps", Some(self.goodput_mbps));
        all.put("", "jain", self.jain);
        all.put("", "worst_share", self.worst_share);
        all.put("", "loss_mbps", Some(self.loss_mbps));
        all.delay("", "delay_ms", self.delay_ms.as_ref());
        all.put("", "bottleneck_utilization", self.bottleneck_utilization);
        all.put("", "bottleneck_queue_ms", self.bottleneck_queue_ms);
        all.put("", "interest_overhead", self.interest_overhead);
        all.put("", "looped", self.looped.map(|n| n as f64));
        all.put("", "looped_share", self.looped_share);
        for (number, recovery) in (1..).zip(&self.recoveries) {
            let number: u32 = number;
            all.put("recovery_s.", &number.to_string(), recovery.recovery_s);
            all.put("looped_after.", &number.to_string(), recovery.looped.map(|n| n as f64));
        }
        for (name, value) in self.slowdown.iter().flat_map(Slowdown::values) {
            all.put("slowdown.", name, Some(value));
        }
        all.counts("", &[("marks", self.marks), ("nacks", self.nacks), ("retransmissions", self.retransmissions)]);
        all.counts("drops.", &drops(&self.drops));
        if let Some(control) = &self.control {
            all.counts("control.", &control.counts());
        }
        for c in &self.cross {
            let at = format!("cross.{}.", c.name);
            all.counts(&at, &c.counts());
            all.put(&at, "goodput_mbps", Some(c.goodput_mbps));
            all.put(&at, "completed_s", c.completed_s);
        }
        all
    }
}

/// The causes with their counts.
pub fn drops(d: &super::Drops) -> [(&'static str, u64); 7] {
    DropCause::ALL.map(|cause| (cause.name(), d[cause]))
}

#[derive(Default)]
struct Scalars(Vec<(String, f64)>);

impl Scalars {
    fn put(&mut self, at: &str, name: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            // Rounded as in stored results, so that aggregates of results read back are the same.
            self.0.push((format!("{at}{name}"), super::significant(value, 9)));
        }
    }
    fn counts(&mut self, at: &str, counts: &[(&str, u64)]) {
        for (name, n) in counts {
            self.put(at, name, Some(*n as f64));
        }
    }
    fn delay(&mut self, at: &str, name: &str, d: Option<&Distribution>) {
        let Some(d) = d else { return };
        let at = format!("{at}{name}.");
        let quantiles = [("p50", d.p50), ("p90", d.p90), ("p95", d.p95), ("p99", d.p99)];
        for (name, value) in [("mean", d.mean), ("sd", d.sd)].into_iter().chain(quantiles).chain([("max", d.max)]) {
            self.put(&at, name, Some(value));
        }
    }
}

/// Of which parts of the network metrics are wanted beside those of the run.
#[derive(Clone, Copy, PartialEq)]
enum Parts {
    None,
    /// See [`aggregate_of_shown`].
    Shown,
    All,
}

/// Mean, spread and number of every metric, by scheme.
pub fn aggregate(comparison: &Comparison) -> Vec<Aggregate> {
    aggregated(comparison, Parts::All)
}

/// The same with what pages show: of consumers all, of links `utilization` and `queue_ms`, of nodes and shares nothing.
/// A large network has a million other metrics.
pub fn aggregate_of_shown(comparison: &Comparison) -> Vec<Aggregate> {
    aggregated(comparison, Parts::Shown)
}

/// The same without metrics of single consumers, links, nodes and shares.
pub(super) fn aggregate_of_runs(comparison: &Comparison) -> Vec<Aggregate> {
    aggregated(comparison, Parts::None)
}

fn aggregated(comparison: &Comparison, parts: Parts) -> Vec<Aggregate> {
    let mut all = Vec::new();
    for scheme in comparison.schemes() {
        let mut values: Vec<(String, f64)> = Vec::new();
        let mut seeds = 0;
        for run in comparison.runs_of(scheme) {
            seeds += 1;
            let attained = comparison.attained(run).into_iter().flat_map(|a| {
                // Rounded as in stored results.
                let stored = |name: &str, value| (name.to_owned(), super::significant(value, 9));
                [stored("attained", a.mean), stored("attained_worst", a.worst)]
            });
            let slowdowns = run.consumers.iter().filter_map(|c| {
                let slowdown = comparison.optimum.slowdown(&c.name, c.completion_s?)?;
                Some((format!("consumers.{}.slowdown", c.name), super::significant(slowdown, 9)))
            });
            let slowdowns = slowdowns.filter(|_| parts != Parts::None);
            values.extend(run.scalars_of(parts).into_iter().chain(attained).chain(slowdowns));
        }
        // Sorted once, and those of one name left in their order: a large network has half a million names.
        values.sort_by(|a, b| a.0.cmp(&b.0));
        let metrics = values.chunk_by_mut(|a, b| a.0 == b.0).filter_map(|same| {
            let v: Vec<f64> = same.iter().map(|&(_, value)| value).collect();
            let name = same.first_mut().map(|first| std::mem::take(&mut first.0))?;
            mean_sd(&v).map(|(mean, sd)| (name, Summary { mean, sd, n: v.len() }))
        });
        let metrics = metrics.collect();
        all.push(Aggregate { scheme: scheme.to_owned(), seeds, metrics });
    }
    all
}

/// A scheme whose runs are equal although their seeds differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeroSpread {
    /// The scheme.
    pub scheme: String,
    /// The number of seeds with one result.
    pub seeds: usize,
}

/// Schemes in which no metric differs between two or more seeds: the seed then has no effect on the run, and a spread
/// of zero would be meaningless.
pub fn zero_spread(comparison: &Comparison) -> Vec<ZeroSpread> {
    let mut found = Vec::new();
    if comparison.schemes().len() == comparison.runs.len() {
        return found;
    }
    for all in aggregate(comparison) {
        let differs = all.metrics.values().any(|m| m.n < all.seeds || m.sd.is_some_and(|sd| sd > 0.0));
        if all.seeds >= 2 && !differs {
            found.push(ZeroSpread { scheme: all.scheme, seeds: all.seeds });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::LinkRun;

    #[test]
    fn pages_are_given_some_metrics_of_links_and_those_of_runs_none() {
        let link = LinkRun { name: "A>B".to_owned(), ..LinkRun::default() };
        let run = Run { links: vec![link], ..Run::default() };
        let of_links = |parts| {
            let mut scalars = run.scalars_of(parts);
            scalars.retain(|(name, _)| name.starts_with("links."));
            scalars
        };
        let (all, shown) = (of_links(Parts::All), of_links(Parts::Shown));
        let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["links.A>B.utilization", "links.A>B.queue_ms"]);
        assert!(shown.iter().all(|scalar| all.contains(scalar)) && all.len() > 10);
        assert!(of_links(Parts::None).is_empty());
    }
}
