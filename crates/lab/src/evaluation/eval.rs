//! Values of expressions in finished runs.

use super::expr::{Expr, Function, Target};
use super::grid::ExperimentGrid;
use crate::metrics::{Episode, convergence, episodes, jain, rebin};
use crate::results::{ComponentEvent, Run, ScenarioInfo, SeriesKind, Summary, mean_sd};
use ndnweir_core::units::{Duration, Time};
use std::collections::BTreeMap;

/// A finished run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The case's position in its experiment.
    pub case: usize,
    /// The metrics.
    pub run: Run,
    /// [`Run::scalars`] by name, and [`QUEUEING`].
    pub scalars: BTreeMap<String, f64>,
    /// Values of patterns, for a run whose tables were not kept.
    pub patterns: BTreeMap<String, Option<Vec<f64>>>,
    /// What is known about the optimum that scalars are relative to, if it is an estimate.
    pub estimate: Option<String>,
}

/// Matches any part of a name in an expression.
pub const ANY: &str = "*";

/// The mean queueing time of a delivered Data over its whole path, in ms: the mean wait of each link direction weighted
/// by the Data it carried, over the Data delivered. The mean delay of a single queue is meaningless with several paths.
pub const QUEUEING: &str = "queueing_ms";

impl Measured {
    /// A run of a case with this scenario.
    pub fn new(case: usize, run: Run, scenario: &ScenarioInfo) -> Measured {
        let mut scalars: BTreeMap<String, f64> = run.scalars().into_iter().collect();
        if let Some(waited) = queueing(&run, scenario) {
            scalars.insert(QUEUEING.into(), waited);
        }
        Measured { case, scalars, run, patterns: BTreeMap::new(), estimate: None }
    }

    /// The metric of all consumers, links, nodes or cross traffic whose name matches the pattern. `None` if it is
    /// undefined for one of them, or if none matches.
    pub(crate) fn every(&self, pattern: &str) -> Option<Vec<f64>> {
        if let Some(values) = self.patterns.get(pattern) {
            return values.clone();
        }
        let (table, rest) = pattern.split_once('.')?;
        let (head, tail) = rest.split_once(ANY)?;
        let (end, metric) = tail.split_once('.')?;
        let names: Vec<&str> = match table {
            "consumers" => self.run.consumers.iter().map(|c| c.name.as_str()).collect(),
            "links" => self.run.links.iter().map(|l| l.name.as_str()).collect(),
            "nodes" => self.run.nodes.iter().map(|n| n.name.as_str()).collect(),
            "cross" => self.run.cross.iter().map(|c| c.name.as_str()).collect(),
            _ => return None,
        };
        let fitting = names.iter().filter(|name| name.strip_prefix(head).is_some_and(|rest| rest.ends_with(end)));
        let values: Vec<f64> = fitting
            .map(|name| self.scalars.get(&format!("{table}.{name}.{metric}")).copied())
            .collect::<Option<_>>()?;
        (!values.is_empty()).then_some(values)
    }
}

fn queueing(run: &Run, scenario: &ScenarioInfo) -> Option<f64> {
    let delivered = run.goodput_mbps / scenario.payload_bytes as f64;
    let waited = run.links.iter().zip(&scenario.links).map(|(l, info)| {
        let packets = l.utilization_data * info.offered_mbps() / scenario.data_wire_bytes as f64;
        packets * l.queue_ms
    });
    (delivered > 0.0).then(|| waited.sum::<f64>() / delivered)
}

/// Finished runs, by experiment; cases, schemes and seeds in order.
#[derive(Clone, Debug, Default)]
pub struct Runs(pub Vec<Vec<Measured>>);

/// Variation and convergence use means over this many seconds.
const SECOND: f64 = 1.0;

impl Runs {
    /// The runs of a scheme in an experiment, of one case or of all.
    pub fn of<'a>(
        &'a self,
        experiment: usize,
        case: Option<usize>,
        scheme: &'a str,
    ) -> impl Iterator<Item = &'a Measured> {
        let runs = self.0.get(experiment).map_or(&[][..], Vec::as_slice);
        runs.iter().filter(move |m| m.run.scheme == scheme && case.is_none_or(|c| c == m.case))
    }

    /// The run that a target refers to, relative to another run.
    pub(super) fn target<'a>(
        &'a self,
        experiments: &[ExperimentGrid],
        from: (usize, &'a Measured),
        target: &'a Target,
    ) -> Option<(usize, &'a Measured)> {
        let (experiment, measured) = from;
        let experiment = match &target.experiment {
            Some(id) => experiments.iter().position(|e| e.id == *id)?,
            None => experiment,
        };
        let case = if experiments[experiment].cases.len() > 1 { measured.case } else { 0 };
        let scheme = target.scheme.as_ref().unwrap_or(&measured.run.scheme);
        let found = self.of(experiment, Some(case), scheme).find(|m| m.run.seed == measured.run.seed)?;
        Some((experiment, found))
    }

    /// The value of an expression in a run of experiment number `experiment`; `None` if it is undefined.
    pub fn value(
        &self,
        experiments: &[ExperimentGrid],
        experiment: usize,
        measured: &Measured,
        expr: &Expr,
    ) -> Option<f64> {
        let at = |e: &Expr| self.value(experiments, experiment, measured, e);
        let all = |list: &[Expr]| -> Option<Vec<f64>> {
            let each = |e: &Expr| match e {
                Expr::Name(name) if name.contains(ANY) => measured.every(name),
                _ => at(e).map(|x| vec![x]),
            };
            let values: Vec<Vec<f64>> = list.iter().map(each).collect::<Option<_>>()?;
            Some(values.concat())
        };
        match expr {
            Expr::Number(x) => Some(*x),
            Expr::Name(name) => measured.scalars.get(name).copied(),
            Expr::At(inner, target) => {
                let (there, other) = self.target(experiments, (experiment, measured), target)?;
                self.value(experiments, there, other, inner)
            }
            Expr::Call(function, arguments) => match (function, arguments.as_slice()) {
                (Function::Event | Function::When, [Expr::Name(key), id @ ..]) => {
                    let id = id.first().and_then(at).map(|x| x as u64);
                    let events = &measured.run.events;
                    let first = events.iter().find(|e| e.key == *key && id.is_none_or(|id| id == e.id))?;
                    Some(if *function == Function::When { first.at_s } else { first.value })
                }
                (Function::Dwell, [Expr::Name(key), value, ids @ ..]) => {
                    let ids: Vec<u64> = ids.iter().filter_map(at).map(|x| x as u64).collect();
                    let selected =
                        |id: u64| ids.first().is_none_or(|a| *a <= id) && ids.last().is_none_or(|b| id <= *b);
                    dwell(&measured.run.events, key, at(value)?, selected)
                }
                (Function::Ratio, [a, b]) => at(b).filter(|b| *b != 0.0).and_then(|b| Some(at(a)? / b)),
                (Function::Difference, [a, b]) => Some(at(a)? - at(b)?),
                (Function::Harm, [alone, beside]) => harm(at(alone)?, at(beside)?),
                (Function::HarmLess, [alone, beside]) => harm(at(beside)?, at(alone)?),
                (Function::Sum, list) => Some(all(list)?.iter().sum()),
                (Function::Product, list) => Some(all(list)?.iter().product()),
                (Function::Average, list) => mean(&all(list)?),
                (Function::Largest, list) => all(list)?.into_iter().reduce(f64::max),
                (Function::Smallest, list) => all(list)?.into_iter().reduce(f64::min),
                (Function::Balance, [Expr::Name(a), Expr::Name(b), from, to]) => {
                    balance(&measured.run, [a, b], at(from)?, at(to)?)
                }
                (Function::Reach, [Expr::Name(name), from, level, step @ ..]) => {
                    let step = step.first().and_then(at).unwrap_or(measured.run.series.bin_s);
                    reach(&measured.run, name, at(from)?, at(level)?, step)
                }
                (Function::PeakShare, [Expr::Name(part), Expr::Name(other), from, to, window, least]) => {
                    let within = (at(from)?, at(to)?);
                    peak_share(&measured.run, (part, other), within, at(window)?, at(least)?)
                }
                (Function::Least, [Expr::Name(name), from, to, stretch]) => {
                    least_in(&measured.run, name, (at(from)?, at(to)?), at(stretch)?)
                }
                (function, [Expr::Name(name), a, b, step @ ..]) => {
                    let step = step.first().and_then(at).unwrap_or(SECOND);
                    over_time(*function, &measured.run, name, (at(a)?, at(b)?), step)
                }
                _ => None,
            },
        }
    }

    /// An expression over all runs of a scheme; `None` if it is undefined in every run.
    pub fn summary(
        &self,
        experiments: &[ExperimentGrid],
        experiment: usize,
        case: Option<usize>,
        scheme: &str,
        expr: &Expr,
    ) -> Option<(Summary, Vec<f64>)> {
        let values: Vec<f64> = (self.of(experiment, case, scheme))
            .filter_map(|m| self.value(experiments, experiment, m, expr))
            .filter(|v| v.is_finite())
            .collect();
        let (mean, sd) = mean_sd(&values)?;
        Some((Summary { mean, sd, n: values.len() }, values))
    }
}

/// Table, keys and column of a series name; `None` if it has a different form.
pub fn split(name: &str) -> Option<(SeriesKind, Vec<&str>, &str)> {
    let (head, metric) = name.rsplit_once('.')?;
    let (table, key) = head.split_once('.').unwrap_or((head, ""));
    let kind = SeriesKind::ALL.into_iter().find(|k| k.name() == table)?;
    let keys = match (kind, key) {
        (SeriesKind::Network, "") => Vec::new(),
        (_, "") | (SeriesKind::Network, _) => return None,
        (
            SeriesKind::Consumers
            | SeriesKind::Links
            | SeriesKind::Nodes
            | SeriesKind::Packets
            | SeriesKind::Hops
            | SeriesKind::Flows,
            key,
        ) => vec![key],
        // A path begins after the last dot before its first `>`; a prefix begins with a slash.
        (SeriesKind::Paths, key) => {
            let before = key.find('>')?;
            let at = key[..before].rfind('.')?;
            vec![&key[..at], &key[at + 1..]]
        }
        (SeriesKind::Shares, key) => {
            let at = key.find("./")?;
            let end = at + 1 + key[at + 1..].find('>').and_then(|to| key[at + 1..at + 1 + to].rfind('.'))?;
            vec![&key[..at], &key[at + 1..end], &key[end + 1..]]
        }
    };
    Some((kind, keys, metric))
}

/// A series of a run by its name.
pub fn series<'a>(run: &'a Run, name: &str) -> Option<&'a [f64]> {
    let (kind, keys, metric) = split(name)?;
    run.series.get(kind, &keys, metric)
}

/// The bins of a series that are completely between two times.
pub fn between(values: &[f64], bin_s: f64, from: f64, to: f64) -> &[f64] {
    let first = ((from / bin_s - 1e-6).ceil().max(0.0) as usize).min(values.len());
    let end = ((to / bin_s + 1e-6).floor().max(0.0) as usize).clamp(first, values.len());
    &values[first..end]
}

fn finite(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|v| v.is_finite()).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    mean_sd(&finite(values)).map(|(mean, _)| mean)
}

/// Mean time, in s, between a record of `value` under `key` and the next record of the same component and number.
fn dwell(events: &[ComponentEvent], key: &str, value: f64, of: impl Fn(u64) -> bool) -> Option<f64> {
    let mut since: BTreeMap<(u32, u64), f64> = BTreeMap::new();
    let mut stays = Vec::new();
    for event in events.iter().filter(|e| e.key == key && of(e.id)) {
        let who = (event.node, event.id);
        stays.extend(since.remove(&who).map(|from| event.at_s - from));
        if event.value == value {
            since.insert(who, event.at_s);
        }
    }
    mean(&stays)
}

/// The part of the better value that is lost with the worse one, never below zero; `None` unless the larger one is
/// positive.
fn harm(large: f64, small: f64) -> Option<f64> {
    (large > 0.0).then(|| ((large - small) / large).max(0.0))
}

/// The bursts of a count: groups of nonzero bins that are at most `gap` s apart.
fn bursts(values: &[f64], width: f64, gap: f64) -> Vec<Episode> {
    let at = |bin: usize| Time::ZERO + Duration::from_secs_f64(bin as f64 * width);
    let counts = values.iter().map(|v| if *v > 0.0 { *v as u64 } else { 0 });
    let events: Vec<(Time, u64)> = counts.enumerate().map(|(bin, count)| (at(bin), count)).collect();
    episodes(&events, Duration::from_secs_f64(gap.max(0.0)))
}

/// Mean over bins of the smaller of two series over the larger; a bin in which both are 0, or one is undefined, does not
/// count.
fn balance(run: &Run, names: [&str; 2], from: f64, to: f64) -> Option<f64> {
    let bins = |name: &str| Some(between(series(run, name)?, run.series.bin_s, from, to));
    let (a, b) = (bins(names[0])?, bins(names[1])?);
    let each = a.iter().zip(b).filter(|(a, b)| (*a + *b).is_finite() && a.max(**b) > 0.0);
    mean(&each.map(|(a, b)| a.min(*b) / a.max(*b)).collect::<Vec<f64>>())
}

/// Time after `from` until the end of the first mean over `step` s that is at least `level`.
fn reach(run: &Run, name: &str, from: f64, level: f64, step: f64) -> Option<f64> {
    let width = run.series.bin_s;
    let by = ((step / width).round() as usize).max(1);
    let values = rebin(between(series(run, name)?, width, from, f64::MAX), by);
    let reached = values.iter().position(|v| *v >= level).map_or(values.len(), |at| at + 1);
    (!values.is_empty()).then_some((reached * by) as f64 * width)
}

/// The largest share of a series in its sum with another, over all stretches of `window` s between two times whose sum
/// is at least `least`; 0 if there is none.
fn peak_share(run: &Run, (part, other): (&str, &str), (from, to): (f64, f64), window: f64, least: f64) -> Option<f64> {
    let width = run.series.bin_s;
    let bins = ((window / width - 1e-6).ceil() as usize).max(1);
    let within = |name: &str| Some(between(series(run, name)?, width, from, to));
    let (part, other) = (within(part)?, within(other)?);
    let sum = |values: &[f64]| finite(values).iter().sum::<f64>();
    let share = |(part, other): (&[f64], &[f64])| {
        let (part, all) = (sum(part), sum(part) + sum(other));
        (all > 0.0 && all >= least).then(|| part / all)
    };
    let shares = part.windows(bins).zip(other.windows(bins)).filter_map(share);
    (part.len() >= bins).then(|| shares.fold(0.0, f64::max))
}

/// A column of every consumer, or of the one that the name has; `None` if one has no such column.
fn of_consumers<'a>(run: &'a Run, name: &str) -> Option<Vec<&'a [f64]>> {
    let (_, keys, metric) = split(name)?;
    let rows = run.series.table(SeriesKind::Consumers).iter().filter(|r| keys[0] == ANY || r.key[0] == keys[0]);
    rows.map(|r| run.series.get(SeriesKind::Consumers, &[&r.key[0]], metric)).collect()
}

/// The smallest mean that any of the consumers has over any stretch of `stretch` s (whole bins, one at least) between
/// two times; `None` if there is no such stretch.
fn least_in(run: &Run, name: &str, (from, to): (f64, f64), stretch: f64) -> Option<f64> {
    let width = run.series.bin_s;
    let bins = ((stretch / width).round() as usize).max(1);
    let each = of_consumers(run, name)?;
    let stretches = each.into_iter().flat_map(|values| between(values, width, from, to).windows(bins));
    stretches.filter_map(mean).reduce(f64::min)
}

fn over_time(function: Function, run: &Run, name: &str, (a, b): (f64, f64), step: f64) -> Option<f64> {
    let width = run.series.bin_s;
    let by = ((step / width).round() as usize).max(1);
    if let Function::Jain | Function::Least = function {
        let each = of_consumers(run, name)?;
        let means: Vec<f64> =
            each.into_iter().map(|values| mean(between(values, width, a, b))).collect::<Option<_>>()?;
        return match function {
            Function::Jain => jain(&means),
            _ => means.into_iter().reduce(f64::min),
        };
    }
    let values = series(run, name)?;
    if function == Function::Convergence {
        let seconds = rebin(values, by);
        let at = convergence(&seconds, a, b).unwrap_or(seconds.len());
        return (!seconds.is_empty()).then_some(at as f64 * by as f64 * width);
    }
    if let Function::BurstCount | Function::BurstStart | Function::BurstSize = function {
        let found = bursts(values, width, a);
        let nth = || found.get((b as usize).checked_sub(1)?);
        return match function {
            Function::BurstCount => Some(found.iter().filter(|e| e.count as f64 >= b).count() as f64),
            Function::BurstStart => nth().map(|e| e.from.secs()),
            _ => nth().map(|e| e.count as f64),
        };
    }
    let values = between(values, width, a, b);
    match function {
        Function::Mean => mean(values),
        Function::Highest => finite(values).into_iter().reduce(f64::max),
        Function::Lowest => finite(values).into_iter().reduce(f64::min),
        Function::Total => Some(finite(values).iter().sum()),
        Function::Variation => {
            let (mean, sd) = mean_sd(&finite(&rebin(values, by)))?;
            (mean != 0.0).then(|| sd.unwrap_or(0.0) / mean)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
