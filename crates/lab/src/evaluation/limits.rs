//! The limits of a case: its optimum and its base RTTs; and metrics of runs relative to them.

use super::eval::{Measured, Runs};
use super::expr::Expr;
use super::grid::ExperimentGrid;
use crate::experiment::{describe, optimum};
use crate::results::{Optimum, Run, ScenarioInfo};
use ndnweir_scenario::Scenario;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The limits of a case.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The optimum, or the reason why it is undefined.
    pub optimum: Optimum,
    /// By consumer: the base RTT in ms, over its cheapest path to the nearest of its producers.
    pub base_rtt_ms: Vec<(String, f64)>,
    /// By link direction: its rate and the content rate that it can carry, in Mbit/s.
    rates: Vec<(String, f64, f64)>,
}

impl Limits {
    /// The limits of a scenario.
    pub fn of(scenario: &Scenario) -> Limits {
        Limits { optimum: optimum(scenario), ..Limits::without_optimum(scenario) }
    }

    /// The limits without the optimum, which requires a linear program.
    pub fn without_optimum(scenario: &Scenario) -> Limits {
        let info = describe(scenario);
        let payload = info.payload_bytes as f64 / info.data_wire_bytes.max(1) as f64;
        let rates = info.links.iter().map(|l| (l.name.clone(), l.rate_mbps, l.rate_mbps * payload)).collect();
        let base = (0..scenario.consumers.len()).filter_map(|c| base_rtt(scenario, &info, c));
        Limits { optimum: Optimum::default(), base_rtt_ms: base.collect(), rates }
    }

    /// The same names with a fictitious optimum, to find which metrics exist.
    pub fn all_defined(scenario: &Scenario) -> Limits {
        let mut limits = Limits::without_optimum(scenario);
        let each = |name: &str| crate::results::ConsumerOptimum { name: name.into(), goodput_mbps: 1.0 };
        let consumers: Vec<_> = scenario.consumers.iter().map(|c| each(&c.name)).collect();
        let physical = crate::results::Physical { total_mbps: 1.0, jain: None, consumers: consumers.clone() };
        limits.optimum = Optimum { total_mbps: Some(1.0), consumers, physical: Some(physical), ..Optimum::default() };
        limits
    }
}

/// Propagation and transmission of one Interest and its Data over the cheapest path by routing costs; of paths with
/// equal costs, the one with the lowest delay.
fn base_rtt(scenario: &Scenario, info: &ScenarioInfo, consumer: usize) -> Option<(String, f64)> {
    let adjacency = scenario.adjacency();
    let asks = &scenario.consumers[consumer];
    let producers: Vec<usize> = asks.producers.iter().map(|p| scenario.producers[*p].node).collect();
    let sending = |bytes: u64, rate_mbps: f64| bytes as f64 * 8.0 / (rate_mbps * 1e3);
    // Times are in picoseconds, so that paths can be compared without rounding.
    let mut open = BinaryHeap::from([Reverse((0u64, 0u64, asks.node))]);
    let mut seen = vec![false; scenario.nodes.len()];
    while let Some(Reverse((cost, time, node))) = open.pop() {
        if std::mem::replace(&mut seen[node], true) {
            continue;
        }
        if producers.contains(&node) {
            return Some((asks.name.clone(), time as f64 / 1e9));
        }
        for &(link, next, _) in &adjacency[node] {
            let (forward, backward) = (&info.links[2 * link], &info.links[2 * link + 1]);
            let is_forward = forward.from == info.nodes[node].name;
            let (up, down) = if is_forward { (forward, backward) } else { (backward, forward) };
            let ms = up.delay_ms
                + down.delay_ms
                + sending(info.interest_wire_bytes, up.rate_mbps)
                + sending(info.data_wire_bytes, down.rate_mbps);
            let cost = cost.saturating_add(u64::from(scenario.links[link].cost));
            open.push(Reverse((cost, time.saturating_add((ms * 1e9).round() as u64), next)));
        }
    }
    None
}

/// Packets dropped by queues, over the sum of these and the Data that arrived.
fn dropped_share(run: &Run) -> Option<f64> {
    let dropped = (run.drops.overflow + run.drops.marker) as f64;
    let arrived: u64 = run.consumers.iter().map(|c| c.segments + c.duplicates).sum();
    let all = dropped + arrived as f64;
    (all > 0.0).then(|| dropped / all)
}

impl Measured {
    /// A run of a case with these limits: the metrics of [`Measured::new`] and those relative to the limits.
    pub fn with_limits(case: usize, run: Run, info: &ScenarioInfo, limits: &Limits) -> Measured {
        let mut measured = Measured::new(case, run, info);
        let more = more(&measured.scalars, &measured.run, limits);
        measured.scalars.extend(more);
        measured.estimate.clone_from(&limits.optimum.estimate);
        measured
    }
}

/// Whether a metric is relative to the routed optimum. An estimate of the physical one is left out.
fn needs_optimum(name: &str) -> bool {
    matches!(name, "optimum_mbps" | "share" | "attained" | "attained_worst")
        || name.starts_with("consumers.") && name.ends_with(".optimum_mbps")
}

impl Runs {
    /// What is known about the optimum that the value of an expression in a run of experiment number `experiment` is
    /// relative to; `None` if the optimum is proved, or the value needs none.
    pub fn estimate<'a>(
        &'a self,
        experiments: &[ExperimentGrid],
        experiment: usize,
        measured: &'a Measured,
        expr: &'a Expr,
    ) -> Option<&'a str> {
        match expr {
            Expr::Number(_) => None,
            Expr::Name(name) => measured.estimate.as_deref().filter(|_| needs_optimum(name)),
            Expr::At(inner, target) => {
                let (there, other) = self.target(experiments, (experiment, measured), target)?;
                self.estimate(experiments, there, other, inner)
            }
            Expr::Call(_, arguments) => {
                arguments.iter().find_map(|e| self.estimate(experiments, experiment, measured, e))
            }
        }
    }
}

fn more(known: &BTreeMap<String, f64>, run: &Run, limits: &Limits) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = Vec::new();
    let mut put = |name: &str, value: Option<f64>| {
        all.extend(value.filter(|v| v.is_finite()).map(|v| (name.to_owned(), v)));
    };
    let optimum = &limits.optimum;
    let over = |total: Option<f64>| total.filter(|t| *t > 0.0).map(|t| run.goodput_mbps / t);
    let physical = optimum.physical.as_ref().map(|p| p.total_mbps);
    put("optimum_mbps", optimum.total_mbps);
    put("physical_mbps", physical);
    put("share", over(optimum.total_mbps));
    put("physical_share", over(physical));
    let attained = optimum.attained(run.consumers.iter().map(|c| (c.name.as_str(), c.goodput_mbps)));
    put("attained", attained.map(|a| a.mean));
    put("attained_worst", attained.map(|a| a.worst));
    put("dropped_share", dropped_share(run));
    let sent: u64 = run.consumers.iter().map(|c| c.interests).sum();
    let segments: u64 = run.consumers.iter().map(|c| c.segments).sum();
    put("interests_per_segment", (segments > 0).then(|| sent as f64 / segments as f64));
    for c in &optimum.consumers {
        put(&format!("consumers.{}.optimum_mbps", c.name), Some(c.goodput_mbps));
    }
    let mut worst: BTreeMap<String, f64> = BTreeMap::new();
    for (name, base) in &limits.base_rtt_ms {
        put(&format!("consumers.{name}.base_rtt_ms"), Some(*base));
        for key in ["mean", "p50", "p90", "p95", "p99"] {
            let Some(delay) = known.get(&format!("consumers.{name}.delay_ms.{key}")) else { continue };
            let above = delay - base;
            put(&format!("consumers.{name}.above_base_ms.{key}"), Some(above));
            put(&format!("consumers.{name}.above_base_rtts.{key}"), Some(above / base));
            for (kind, value) in [("ms", above), ("rtts", above / base)] {
                let most = worst.entry(format!("above_base_{kind}.{key}")).or_insert(f64::MIN);
                *most = most.max(value);
            }
        }
    }
    for (name, value) in worst {
        put(&name, Some(value));
    }
    for (name, rate, content) in &limits.rates {
        put(&format!("links.{name}.rate_mbps"), Some(*rate));
        put(&format!("links.{name}.content_mbps"), Some(*content));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ConsumerOptimum, ConsumerRun, Physical};
    use serde_json::json;

    #[test]
    fn the_metrics_that_change_with_the_optimum_are_those_that_need_it() {
        let consumer: ConsumerRun = serde_json::from_value(json!({
            "name": "C", "goodput_mbps": 3.0, "payload_bits": 0, "active_s": 1.0, "interests": 1, "retransmissions": 0,
            "segments": 1, "duplicates": 0, "in_order": 1, "out_of_order": 0, "marks": 0, "nacks": 0, "timeouts": 0,
            "decreases": 0, "paths": [],
        }))
        .unwrap();
        let run = Run { goodput_mbps: 3.0, consumers: vec![consumer], ..Run::default() };
        let of = |rate: f64| {
            let consumers = vec![ConsumerOptimum { name: "C".into(), goodput_mbps: rate }];
            let physical = Some(Physical { total_mbps: 9.0, jain: None, consumers: consumers.clone() });
            let optimum = Optimum { total_mbps: Some(rate), consumers, physical, ..Optimum::default() };
            more(&BTreeMap::new(), &run, &Limits { optimum, ..Limits::default() })
        };
        let (one, other) = (of(4.0), of(5.0));
        assert_eq!(one.len(), other.len());
        for ((name, value), (_, changed)) in one.iter().zip(&other) {
            assert_eq!(value != changed, needs_optimum(name), "{name}");
        }
        assert_eq!(one.iter().filter(|(name, _)| needs_optimum(name)).count(), 5);
    }
}
