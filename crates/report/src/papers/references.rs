//! Ideal allocations: max-min fair, and coupled as with MPTCP's linked increases.

use crate::svg::escape;
use crate::tables;
use ndnweir_core::units::Rate;
use ndnweir_lab::evaluation::expr::Expr;
use ndnweir_lab::evaluation::number;
use ndnweir_lab::experiment::describe;
use ndnweir_lab::optimum::{Subflow, coupled};
use ndnweir_lab::papers::Results;
use ndnweir_lab::papers::model::Paper;
use ndnweir_scenario::Scenario;
use std::collections::VecDeque;
use std::fmt::Write;

const LEAD: &str = "<h2 id=\"ideal\">Ideal allocations</h2><p>Max-min fair: over any paths, by linear programs. Coupled: where \
    MPTCP's linked increases (RFC 6356) converge in the fluid model, one subflow for each producer by the path with the fewest \
    hops. Neither knows queues, losses or start-up.</p>";

const UNPROVED: &str = "<p>No rates over any paths are proved to be max-min fair within the allowed work: an estimate of them is left out.</p>";

/// A table for each experiment that requests one.
pub fn tables(paper: &Paper, results: &Results) -> String {
    let mut out = String::new();
    for id in &paper.references {
        let Some(at) = paper.experiments.iter().position(|e| e.id == *id) else { continue };
        if out.is_empty() {
            out.push_str(LEAD);
        }
        let _ = write!(out, "<h3>{}</h3>{}", escape(&paper.experiments[at].about), table(paper, results, at));
    }
    out
}

fn table(paper: &Paper, results: &Results, at: usize) -> String {
    let experiment = &paper.experiments[at];
    let Some(case) = experiment.cases.first() else { return String::new() };
    let described = describe(&case.scenario);
    // The optimum over any path: these papers compare pooling with it, not with the routes of a run.
    let optimum = results.optima[at].physical.as_ref();
    let linked = allocation(&case.scenario);
    let mut headings = vec!["goodput, Mbit/s", "max-min fair", "coupled (LIA)"];
    headings.extend(experiment.schemes.iter().map(|s| s.name.as_str()));
    let mut rows = Vec::new();
    for (i, consumer) in described.consumers.iter().enumerate() {
        let ideal =
            optimum.and_then(|o| o.consumers.iter().find(|c| c.name == consumer.name)).map(|c| number(c.goodput_mbps));
        let mut row = vec![escape(&consumer.name), ideal.unwrap_or_else(|| "–".into()), number(linked[i])];
        let metric = Expr::Name(format!("consumers.{}.goodput_mbps", consumer.name));
        row.extend(experiment.schemes.iter().map(|s| measured(paper, results, at, &s.name, &metric)));
        rows.push(row);
    }
    let dash = |x: Option<f64>| x.map_or_else(|| "–".into(), number);
    let mut total = vec!["total".to_owned(), dash(optimum.map(|o| o.total_mbps)), number(linked.iter().sum())];
    let mut jain =
        vec!["Jain index".to_owned(), dash(optimum.and_then(|o| o.jain)), dash(ndnweir_lab::metrics::jain(&linked))];
    for scheme in &experiment.schemes {
        total.push(measured(paper, results, at, &scheme.name, &Expr::Name("goodput_mbps".into())));
        jain.push(measured(paper, results, at, &scheme.name, &Expr::Name("jain".into())));
    }
    rows.extend([total, jain]);
    let note = match &results.optima[at].undefined {
        Some(reason) => format!("<p>The max-min fair allocation is undefined: {}.</p>", escape(reason)),
        None if optimum.is_none() => UNPROVED.into(),
        None => String::new(),
    };
    format!("{}{note}", tables::html(&headings, &rows, 1))
}

fn measured(paper: &Paper, results: &Results, at: usize, scheme: &str, metric: &Expr) -> String {
    let found = results.runs.summary(&paper.experiments, at, Some(0), scheme, metric);
    found.map_or_else(|| "–".into(), |(s, _)| escape(&s.text()))
}

/// Goodput of each consumer in the coupled allocation, in Mbit/s.
pub fn allocation(scenario: &Scenario) -> Vec<f64> {
    let data = scenario
        .producers
        .first()
        .map_or(1.0, |p| scenario.run.data_on_wire(p.payload).get() as f64 / p.payload.get().max(1) as f64);
    let directions = scenario.links.iter().flat_map(|l| [&l.forward, &l.backward]);
    let capacities: Vec<f64> = directions.map(|d| d.rate.map_or(f64::INFINITY, Rate::mbps) / data).collect();
    let subflows = |c: &ndnweir_scenario::Consumer| {
        let subflows = c.producers.iter().filter_map(|p| shortest_path(scenario, scenario.producers[*p].node, c.node));
        subflows.collect::<Vec<_>>()
    };
    let flows: Vec<Vec<Subflow>> = scenario.consumers.iter().map(subflows).collect();
    coupled(&capacities, &flows).into_iter().map(|f| f.into_iter().sum()).collect()
}

/// The path with the fewest hops: directions of links by position (forward 2l, backward 2l + 1), and its round-trip
/// time.
fn shortest_path(scenario: &Scenario, from: usize, to: usize) -> Option<Subflow> {
    let adjacency = scenario.adjacency();
    let mut came: Vec<Option<(usize, usize)>> = vec![None; scenario.nodes.len()];
    let mut open = VecDeque::from([from]);
    while let Some(node) = open.pop_front() {
        for &(link, next, first) in &adjacency[node] {
            if next != from && came[next].is_none() {
                came[next] = Some((node, 2 * link + usize::from(!first)));
                open.push_back(next);
            }
        }
    }
    let (mut links, mut rtt, mut at) = (Vec::new(), 0.0, to);
    while at != from {
        let (before, direction) = came[at]?;
        let link = &scenario.links[direction / 2];
        rtt += link.forward.delay.secs() + link.backward.delay.secs();
        links.push(direction);
        at = before;
    }
    Some(Subflow { links, rtt: rtt.max(1e-6) })
}
