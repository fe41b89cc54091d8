//! Checks whether the names in an expression exist in its scenario.

use super::eval::{ANY, Measured, QUEUEING, split};
use super::expr::{Expr, Function, Signature};
use super::grid::{Case, ExperimentGrid};
use super::limits::Limits;
use crate::experiment::describe;
use crate::results::{
    ConsumerInfo, ConsumerRun, ControlRun, CrossRun, DeadlineRun, Distribution, FlowsInfo, LinkRun, NodeRun,
    RecoveryRun, Run, ScenarioInfo, SeriesKind, Slowdown,
};
use ndnweir_scenario::diag::suggest;
use std::collections::BTreeSet;

/// Every metric that a run of the scenario can have, except those of paths and forwarding shares.
pub fn scalars(case: &Case) -> BTreeSet<String> {
    let scenario = describe(&case.scenario);
    all_defined(&scenario).scalars().into_iter().map(|s| s.0).chain([QUEUEING.to_owned()]).collect()
}

/// The same with the metrics relative to the limits of a case.
fn scalars_with_limits(case: &Case) -> BTreeSet<String> {
    let scenario = describe(&case.scenario);
    let measured = Measured::with_limits(0, all_defined(&scenario), &scenario, &Limits::all_defined(&case.scenario));
    measured.scalars.into_keys().chain([QUEUEING.to_owned()]).collect()
}

/// A run in which every metric has a value.
fn all_defined(scenario: &ScenarioInfo) -> Run {
    let some = || {
        let d = Distribution {
            n: 1,
            mean: 1.0,
            sd: 0.0,
            min: 1.0,
            q1: 1.0,
            p50: 1.0,
            q3: 1.0,
            p90: 1.0,
            p95: 1.0,
            p99: 1.0,
            max: 1.0,
        };
        Some(d)
    };
    let consumer = |c: &ConsumerInfo| ConsumerRun {
        name: c.name.clone(),
        goodput_mbps: 1.0,
        goodput_run_mbps: 1.0,
        payload_bits: 0,
        active_s: 0.0,
        delay_ms: some(),
        rtt_ms: some(),
        completion_s: Some(1.0),
        convergence_s: Some(1.0),
        interests: 1,
        retransmissions: 0,
        segments: 1,
        duplicates: 0,
        in_order: 0,
        out_of_order: 0,
        marks: 0,
        nacks: 0,
        timeouts: 0,
        losses: 0,
        false_losses: 0,
        decreases: 0,
        falls: 0,
        window_mean: Some(1.0),
        interest_overhead: Some(1.0),
        state_bytes: (c.flows.is_none() && c.deadline_ms.is_none()).then_some(0),
        deadline: c.deadline_ms.map(|_| DeadlineRun { late: 0, lost: 0, missed: Some(0.0) }),
        flows: c.flows.as_ref().map(FlowsInfo::all_defined),
        paths: Vec::new(),
    };
    let link = |name: &str| LinkRun {
        name: name.into(),
        utilization: 0.0,
        utilization_data: 0.0,
        utilization_interests: 0.0,
        queue_ms: 0.0,
        queue_max_ms: 0.0,
        queue_p99_ms: Some(0.0),
        queue_packets: 0.0,
        queue_max_packets: 0,
        loss_mbps: 0.0,
        marks: 0,
        interest_marks: 0,
        nacks: 0,
        drops: Default::default(),
    };
    let node =
        |name: &str| NodeRun { name: name.into(), cs_hit_ratio: Some(0.0), state_bytes: Some(0), ..NodeRun::default() };
    Run {
        goodput_mbps: 1.0,
        jain: Some(1.0),
        worst_share: Some(1.0),
        delay_ms: some(),
        bottleneck_utilization: Some(1.0),
        bottleneck_queue_ms: Some(1.0),
        interest_overhead: Some(1.0),
        looped: Some(0),
        looped_share: Some(0.0),
        recoveries: (scenario.instants().into_iter())
            .map(|at_s| RecoveryRun { at_s, recovery_s: Some(0.0), looped: Some(0) })
            .collect(),
        slowdown: scenario.consumers.iter().any(|c| c.flows.is_some()).then(|| Slowdown::of(vec![1.0])).flatten(),
        consumers: scenario.consumers.iter().map(consumer).collect(),
        links: scenario.links.iter().map(|l| link(&l.name)).collect(),
        nodes: scenario.nodes.iter().map(|n| node(&n.name)).collect(),
        control: Some(ControlRun::default()),
        cross: scenario.cross.iter().map(|name| CrossRun::all_defined(name)).collect(),
        ..Run::default()
    }
}

/// Checks names against one experiment, or against the experiment of a target.
pub struct Resolver<'a> {
    experiments: &'a [ExperimentGrid],
    known: Vec<BTreeSet<String>>,
}

/// What is wrong with an expression: its form, or a name or argument in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct ExpressionError {
    /// What is wrong.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl ExpressionError {
    /// Of message and remedy.
    pub(crate) fn new(message: String, help: impl Into<String>) -> ExpressionError {
        ExpressionError { message, help: help.into() }
    }
}

impl<'a> Resolver<'a> {
    /// A resolver for these experiments.
    pub fn new(experiments: &'a [ExperimentGrid]) -> Resolver<'a> {
        // The cases of an experiment differ in values, not in names.
        let known = experiments.iter().map(|e| e.cases.first().map(scalars).unwrap_or_default()).collect();
        Resolver { experiments, known }
    }

    /// A resolver for these experiments, whose runs are measured relative to their limits.
    pub fn with_limits(experiments: &'a [ExperimentGrid]) -> Resolver<'a> {
        let known = experiments.iter().map(|e| e.cases.first().map(scalars_with_limits).unwrap_or_default()).collect();
        Resolver { experiments, known }
    }

    /// The experiment with this `id`.
    ///
    /// # Errors
    /// If there is no such experiment.
    pub fn experiment(&self, id: &str) -> Result<usize, ExpressionError> {
        let ids = || self.experiments.iter().map(|e| e.id.as_str());
        ids().position(|e| e == id).ok_or_else(|| {
            ExpressionError::new(format!("there is no experiment \"{id}\""), suggest(id, "experiments", ids()))
        })
    }

    /// Checks that the experiment runs the scheme.
    ///
    /// # Errors
    /// If it does not.
    pub fn scheme(&self, experiment: usize, scheme: &str) -> Result<(), ExpressionError> {
        let run = &self.experiments[experiment];
        let names = || run.schemes.iter().map(|s| s.name.as_str());
        match names().any(|n| n == scheme) {
            true => Ok(()),
            false => Err(ExpressionError::new(
                format!("experiment {} does not run \"{scheme}\"", run.id),
                suggest(scheme, "its schemes", names()),
            )),
        }
    }

    /// Checks an expression whose value is a number.
    ///
    /// # Errors
    /// The first wrong name or argument.
    pub fn value(&self, experiment: usize, expr: &Expr) -> Result<(), ExpressionError> {
        match expr {
            Expr::Number(_) => Ok(()),
            Expr::Name(name) => self.scalar(experiment, name),
            Expr::At(inner, target) => {
                let there = target.experiment.as_ref().map_or(Ok(experiment), |id| self.experiment(id))?;
                target.scheme.as_ref().map_or(Ok(()), |scheme| self.scheme(there, scheme))?;
                self.value(there, inner)
            }
            Expr::Call(function, arguments) => self.call(experiment, *function, arguments, expr),
        }
    }

    fn call(
        &self,
        experiment: usize,
        function: Function,
        arguments: &[Expr],
        whole: &Expr,
    ) -> Result<(), ExpressionError> {
        let form =
            |what: &str| Err(ExpressionError::new(format!("{whole} must be {what}"), "see docs/reproductions.md"));
        match (function.signature(), arguments) {
            (Signature::Series, [Expr::Name(name), Expr::Number(_), Expr::Number(_), step @ ..])
                if step.is_empty()
                    || (matches!(function, Function::Convergence | Function::Least)
                        && matches!(step, [Expr::Number(s)] if *s > 0.0)) =>
            {
                let many = matches!(function, Function::Jain | Function::Least);
                match many && name.starts_with("consumers.*.") {
                    true => self.column(SeriesKind::Consumers, name.rsplit('.').next().unwrap_or_default()),
                    false => self.series(experiment, name),
                }
            }
            (Signature::Series, _) => form("a function of a series and two numbers"),
            (Signature::Pair, [Expr::Name(a), Expr::Name(b), Expr::Number(_), Expr::Number(_)]) => {
                self.series(experiment, a)?;
                self.series(experiment, b)
            }
            (Signature::Pair, _) => form("a function of two series and two numbers"),
            (Signature::Reach, [Expr::Name(name), Expr::Number(_), level, step @ ..])
                if step.is_empty() || matches!(step, [Expr::Number(s)] if *s > 0.0) =>
            {
                self.series(experiment, name)?;
                self.value(experiment, level)
            }
            (Signature::Reach, _) => form("reach(series, from, level) or reach(series, from, level, step)"),
            (
                Signature::Share,
                [Expr::Name(part), Expr::Name(other), Expr::Number(_), Expr::Number(_), window, Expr::Number(_)],
            ) => {
                self.series(experiment, part)?;
                self.series(experiment, other)?;
                self.value(experiment, window)
            }
            (Signature::Share, _) => form("peak-share(series, series, from, to, window, least)"),
            (Signature::Event, [Expr::Name(_)] | [Expr::Name(_), Expr::Number(_)]) => Ok(()),
            (Signature::Event, _) => form("a function of a key, or of a key and a number"),
            (
                Signature::Dwell,
                [Expr::Name(_), Expr::Number(_)] | [Expr::Name(_), Expr::Number(_), Expr::Number(_), Expr::Number(_)],
            ) => Ok(()),
            (Signature::Dwell, _) => form("dwell(key, value) or dwell(key, value, from, to)"),
            (Signature::Values(least, most), list) if (least..=most).contains(&list.len()) => {
                list.iter().try_for_each(|e| match e {
                    Expr::Name(name) if name.contains(ANY) && (least, most) != (2, 2) => self.every(experiment, name),
                    _ => self.value(experiment, e),
                })
            }
            (Signature::Values(least, most), _) if least == most => form(&format!("a function of {least} values")),
            (Signature::Values(..), _) => form("a function of 1 to 16 values"),
        }
    }

    /// Checks that a name with `*` exists for at least one consumer, link, node or cross traffic.
    fn every(&self, experiment: usize, name: &str) -> Result<(), ExpressionError> {
        let (head, tail) = name.split_once(ANY).unwrap_or((name, ""));
        let fits = |known: &String| {
            let middle = known.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
            middle.is_some_and(|middle| !middle.is_empty())
        };
        let among = ["consumers.", "links.", "nodes.", "cross."].iter().any(|table| head.starts_with(table))
            && tail.contains('.');
        match among && self.known[experiment].iter().any(fits) {
            true => Ok(()),
            false => Err(ExpressionError::new(
                format!("no run has metrics \"{name}\""),
                "write a metric with * for the name, such as consumers.*.goodput_mbps or links.*.queue_ms",
            )),
        }
    }

    fn scalar(&self, experiment: usize, name: &str) -> Result<(), ExpressionError> {
        let known = &self.known[experiment];
        if known.contains(name) {
            return Ok(());
        }
        let at = |key: &'static str| name.split(key).nth(1).and_then(|rest| rest.strip_suffix(".goodput_mbps"));
        if let Some(rest) = name.strip_prefix("shares.") {
            return self.series(experiment, &format!("shares.{rest}.share"));
        }
        if let (Some(path), Some(consumer)) = (at(".paths."), name.strip_prefix("consumers.")) {
            let consumer = consumer.split(".paths.").next().unwrap_or_default();
            return self.series(experiment, &format!("paths.{consumer}.{path}.goodput_mbps"));
        }
        let help = suggest(name, "metrics", known.iter().map(String::as_str));
        Err(ExpressionError::new(format!("no run has a metric \"{name}\""), help))
    }

    fn column(&self, kind: SeriesKind, metric: &str) -> Result<(), ExpressionError> {
        match kind.metrics().contains(&metric) {
            true => Ok(()),
            false => {
                let help = suggest(metric, "its columns", kind.metrics().iter().copied());
                Err(ExpressionError::new(format!("the table {} has no column \"{metric}\"", kind.name()), help))
            }
        }
    }

    /// Checks the name of a series.
    ///
    /// # Errors
    /// If its table, its key or its column does not exist.
    pub fn series(&self, experiment: usize, name: &str) -> Result<(), ExpressionError> {
        let Some((kind, keys, metric)) = split(name) else {
            let help = "write TABLE.KEY.COLUMN such as consumers.C1.goodput_mbps, links.A>B.queue_ms or network.jain";
            return Err(ExpressionError::new(format!("\"{name}\" is not a series"), help));
        };
        self.column(kind, metric)?;
        let Some(case) = self.experiments[experiment].cases.first() else { return Ok(()) };
        let scenario = describe(&case.scenario);
        let consumers = || scenario.consumers.iter().map(|c| c.name.as_str());
        let links = || scenario.links.iter().map(|l| l.name.as_str());
        let nodes = || scenario.nodes.iter().map(|n| n.name.as_str());
        let prefixes = || scenario.prefixes.iter().map(String::as_str);
        let among = |what: &str, name: &str, names: &mut dyn Iterator<Item = &str>| {
            let names: Vec<&str> = names.collect();
            match names.contains(&name) {
                true => Ok(()),
                false => {
                    let help = suggest(name, &format!("{what}s"), names);
                    Err(ExpressionError::new(format!("the scenario has no {what} \"{name}\""), help))
                }
            }
        };
        match (kind, keys.as_slice()) {
            (SeriesKind::Consumers | SeriesKind::Hops, [name]) => among("consumer", name, &mut consumers()),
            (SeriesKind::Links | SeriesKind::Packets, [name]) => among("link direction", name, &mut links()),
            (SeriesKind::Paths, [consumer, path]) => {
                among("consumer", consumer, &mut consumers())?;
                let hops: Vec<&str> = path.split('>').collect();
                hops.windows(2).try_for_each(|w| among("link direction", &format!("{}>{}", w[0], w[1]), &mut links()))
            }
            (SeriesKind::Nodes, [name]) => among("node", name, &mut nodes()),
            (SeriesKind::Shares, [node, prefix, link]) => {
                among("node", node, &mut nodes())?;
                among("prefix", prefix, &mut prefixes())?;
                among("link direction", link, &mut links())
            }
            _ => Ok(()),
        }
    }
}

/// The event keys that an expression uses.
pub fn event_keys(expr: &Expr) -> Vec<String> {
    match expr {
        Expr::Call(Function::Event | Function::When | Function::Dwell, arguments) => match arguments.first() {
            Some(Expr::Name(key)) => vec![key.clone()],
            _ => Vec::new(),
        },
        Expr::Call(_, arguments) => arguments.iter().flat_map(event_keys).collect(),
        Expr::At(inner, _) => event_keys(inner),
        _ => Vec::new(),
    }
}
