//! The tables: what is a row, and which columns it has.

use super::super::{
    Attained, ConsumerRun, Distribution, EventInfo, LinkRun, Optimum, Rows, Run, SeriesKind, SizeClassRun, Slowdown,
    drops, significant,
};
use super::columns::{Builder, Table};
use ndnweir_sim::observer::DropCause;

/// A run with what names it beside its scheme and seed.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// The experiment, or the scenario's name.
    pub experiment: &'a str,
    /// The case; empty if nothing varies.
    pub case: &'a str,
    /// What was varied: the overrides of the case, as `KEY=VALUE`.
    pub set: &'a [String],
    /// The run.
    pub run: &'a Run,
    /// How close its flows came to the optimum.
    pub attained: Option<Attained>,
    /// What is known about the optimum that `attained` is relative to, if it is an estimate.
    pub estimate: Option<&'a str>,
    /// The optimum, for ideal completion times; `None` if they are not needed.
    pub optimum: Option<&'a Optimum>,
}

/// A row that belongs to a run.
trait OfRun<'a> {
    fn run(&self) -> &Labelled<'a>;
}

/// Something of a run.
struct Part<'a, T> {
    of: Labelled<'a>,
    it: T,
}

impl<'a> OfRun<'a> for Labelled<'a> {
    fn run(&self) -> &Labelled<'a> {
        self
    }
}

impl<'a, T> OfRun<'a> for Part<'a, T> {
    fn run(&self) -> &Labelled<'a> {
        &self.of
    }
}

/// Everything of the runs that `all` finds in each, in order.
fn parts<'a, T>(runs: &[Labelled<'a>], all: impl Fn(&Labelled<'a>) -> Vec<T>) -> Vec<Part<'a, T>> {
    runs.iter().flat_map(|of| all(of).into_iter().map(|it| Part { of: *of, it })).collect()
}

/// A table that begins with what names the run.
fn table<'t, 'a: 't, R: OfRun<'a>>(rows: &'t [R]) -> Builder<'t, R> {
    Builder::new(rows)
        .text("experiment", |row| Some(row.run().experiment))
        .text("case", |row| Some(row.run().case))
        .text("scheme", |row| Some(row.run().run.scheme.as_str()))
        .int("seed", |row| Some(row.run().run.seed))
}

/// The columns of a delay.
fn distribution<'a, R>(
    table: Builder<'a, R>,
    name: &str,
    of: impl Fn(&R) -> Option<&Distribution> + Copy,
) -> Builder<'a, R> {
    table
        .int(&format!("{name}_n"), |row| of(row).map(|d| d.n))
        .float(&format!("{name}_mean"), |row| of(row).map(|d| d.mean))
        .float(&format!("{name}_sd"), |row| of(row).map(|d| d.sd))
        .float(&format!("{name}_min"), |row| of(row).map(|d| d.min))
        .float(&format!("{name}_p50"), |row| of(row).map(|d| d.p50))
        .float(&format!("{name}_p90"), |row| of(row).map(|d| d.p90))
        .float(&format!("{name}_p95"), |row| of(row).map(|d| d.p95))
        .float(&format!("{name}_p99"), |row| of(row).map(|d| d.p99))
        .float(&format!("{name}_max"), |row| of(row).map(|d| d.max))
}

/// The columns of slowdowns.
fn slowdown<'a, R>(table: Builder<'a, R>, of: impl Fn(&R) -> Option<&Slowdown> + Copy) -> Builder<'a, R> {
    table
        .float("slowdown_mean", |row| of(row).map(|s| s.mean))
        .float("slowdown_p50", |row| of(row).map(|s| s.p50))
        .float("slowdown_p99", |row| of(row).map(|s| s.p99))
        .float("slowdown_max", |row| of(row).map(|s| s.max))
}

/// The columns of drops by cause.
fn drop_counts<'a, R>(
    table: Builder<'a, R>,
    of: impl Fn(&R) -> &ndnweir_sim::observer::Drops + Copy,
) -> Builder<'a, R> {
    let names = DropCause::ALL.map(|cause| format!("drops_{}", cause.name().replace('-', "_")));
    table.ints(names.each_ref().map(String::as_str), |row| drops(of(row)).map(|(_, n)| n))
}

/// One row for each run: its [`Run`] without what consumers, links and nodes have, and the values that were varied, a
/// column for each key.
pub fn runs(runs: &[Labelled]) -> Table {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in runs.iter().flat_map(|run| run.set).filter_map(|set| set.split_once('=')) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let varied = |row: &Labelled, key: &str| -> Option<usize> {
        row.set.iter().rposition(|set| set.split_once('=').is_some_and(|(k, _)| k == key))
    };
    let mut all = table(runs);
    for key in keys {
        all = all.text(key, |row| {
            let set = row.set.get(varied(row, key)?)?;
            set.split_once('=').map(|(_, value)| value)
        });
    }
    all = all
        .text("event_hash", |row| Some(row.run.event_hash.as_str()).filter(|hash| !hash.is_empty()))
        .float("measured_s", |row| Some(row.run.measured_s))
        .float("goodput_mbps", |row| Some(row.run.goodput_mbps))
        .float("attained", |row| row.attained.map(|a| a.mean))
        .float("attained_worst", |row| row.attained.map(|a| a.worst))
        .text("optimum_estimate", |row| row.estimate)
        .float("jain", |row| row.run.jain)
        .float("worst_share", |row| row.run.worst_share)
        .float("loss_mbps", |row| Some(row.run.loss_mbps));
    all = distribution(all, "delay_ms", |row| row.run.delay_ms.as_ref())
        .text("bottleneck", |row| row.run.bottleneck.as_deref())
        .float("bottleneck_utilization", |row| row.run.bottleneck_utilization)
        .float("bottleneck_queue_ms", |row| row.run.bottleneck_queue_ms)
        .float("interest_overhead", |row| row.run.interest_overhead)
        .int("marks", |row| Some(row.run.marks))
        .int("nacks", |row| Some(row.run.nacks))
        .int("retransmissions", |row| Some(row.run.retransmissions));
    all = slowdown(all, |row| row.run.slowdown.as_ref());
    drop_counts(all, |row| &row.run.drops).finish("runs")
}

/// One row for each consumer of each run; `slowdown` is its completion time over the ideal one.
pub fn consumers(runs: &[Labelled]) -> Table {
    let rows = parts(runs, |of| of.run.consumers.iter().collect());
    let ideal = |row: &Part<&ConsumerRun>| row.of.optimum?.slowdown(&row.it.name, row.it.completion_s?);
    let mut all = table(&rows)
        .text("consumer", |row| Some(row.it.name.as_str()))
        .float("goodput_mbps", |row| Some(row.it.goodput_mbps))
        .float("goodput_run_mbps", |row| Some(row.it.goodput_run_mbps))
        .int("payload_bits", |row| Some(row.it.payload_bits))
        .float("active_s", |row| Some(row.it.active_s))
        .float("completion_s", |row| row.it.completion_s)
        .float("slowdown", ideal)
        .float("convergence_s", |row| row.it.convergence_s)
        .float("window_mean", |row| row.it.window_mean)
        .float("interest_overhead", |row| row.it.interest_overhead);
    all = distribution(all, "delay_ms", |row| row.it.delay_ms.as_ref());
    all = distribution(all, "rtt_ms", |row| row.it.rtt_ms.as_ref());
    let names = [
        "interests",
        "retransmissions",
        "segments",
        "duplicates",
        "in_order",
        "out_of_order",
        "marks",
        "nacks",
        "timeouts",
        "losses",
        "false_losses",
        "decreases",
        "falls",
    ];
    all.ints(names, |row| {
        let c = row.it;
        [
            c.interests,
            c.retransmissions,
            c.segments,
            c.duplicates,
            c.in_order,
            c.out_of_order,
            c.marks,
            c.nacks,
            c.timeouts,
            c.losses,
            c.false_losses,
            c.decreases,
            c.falls,
        ]
    })
    .int("late", |row| row.it.deadline.as_ref().map(|d| d.late))
    .int("lost", |row| row.it.deadline.as_ref().map(|d| d.lost))
    .float("missed", |row| row.it.deadline.as_ref().and_then(|d| d.missed))
    .finish("consumers")
}

/// One row for each direction of each link of each run.
pub fn links(runs: &[Labelled]) -> Table {
    let rows: Vec<Part<&LinkRun>> = parts(runs, |of| of.run.links.iter().collect());
    let all = table(&rows)
        .text("link", |row| Some(row.it.name.as_str()))
        .float("utilization", |row| Some(row.it.utilization))
        .float("utilization_data", |row| Some(row.it.utilization_data))
        .float("utilization_interests", |row| Some(row.it.utilization_interests))
        .float("queue_ms", |row| Some(row.it.queue_ms))
        .float("queue_max_ms", |row| Some(row.it.queue_max_ms))
        .float("queue_p99_ms", |row| row.it.queue_p99_ms)
        .float("queue_packets", |row| Some(row.it.queue_packets))
        .float("loss_mbps", |row| Some(row.it.loss_mbps))
        .ints(["marks", "interest_marks", "nacks"], |row| [row.it.marks, row.it.interest_marks, row.it.nacks]);
    drop_counts(all, |row| &row.it.drops).finish("links")
}

/// One row for each size class of each consumer whose flows come and go.
pub fn flows(runs: &[Labelled]) -> Table {
    let rows: Vec<Part<(&str, &SizeClassRun)>> = parts(runs, |of| {
        let with = of.run.consumers.iter().filter_map(|c| Some((c, c.flows.as_ref()?)));
        with.flat_map(|(c, flows)| flows.classes.iter().map(|class| (c.name.as_str(), class))).collect()
    });
    let all = table(&rows)
        .text("consumer", |row| Some(row.it.0))
        .text("class", |row| Some(row.it.1.name.as_str()))
        .int("started", |row| Some(row.it.1.started))
        .int("completed", |row| Some(row.it.1.completed));
    slowdown(all, |row| row.it.1.slowdown.as_ref()).finish("flows")
}

/// One row for each bin of each series of a kind (see [`SeriesKind`]), with `time_s`, the begin of the bin.
pub fn series(runs: &[Labelled], kind: SeriesKind) -> Table {
    let rows: Vec<Part<(&Rows, usize)>> = parts(runs, |of| {
        let bins = |rows: &Rows| rows.columns.first().map_or(0, Vec::len);
        of.run.series.table(kind).iter().flat_map(|rows| (0..bins(rows)).map(move |bin| (rows, bin))).collect()
    });
    let mut all = table(&rows).float("time_s", |row| Some(row.it.1 as f64 * row.of.run.series.bin_s));
    for (number, key) in kind.keys().iter().enumerate() {
        all = all.text(key, |row| row.it.0.key.get(number).map(String::as_str));
    }
    for (number, metric) in kind.metrics().iter().enumerate() {
        // Six digits, as in the CSV files.
        let value = |row: &Part<(&Rows, usize)>| row.it.0.columns.get(number)?.get(row.it.1).copied();
        all = all.float(metric, |row| value(row).filter(|v| v.is_finite()).map(|v| significant(v, 6)));
    }
    all.finish(kind.name())
}

/// One row for each change of the network during the runs of a case.
pub fn events(cases: &[(&str, &str, &[EventInfo])]) -> Table {
    let rows: Vec<(&str, &str, &EventInfo)> =
        cases.iter().flat_map(|(experiment, case, all)| all.iter().map(|event| (*experiment, *case, event))).collect();
    Builder::new(&rows)
        .text("experiment", |row| Some(row.0))
        .text("case", |row| Some(row.1))
        .float("at_s", |row| Some(row.2.at_s))
        .text("what", |row| Some(row.2.what.as_str()))
        .text("target", |row| Some(row.2.target.as_str()))
        .text("text", |row| Some(row.2.text.as_str()))
        .finish("events")
}
