//! The keys of a link's table about its directions.

use ndnweir_core::registry::{DisciplineParams, MarkerParams};
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_sim::network::{Arq, BurstLoss, FieldChange, MarkChange, RateTrace, SignalChange};

use super::diag::Findings;
use super::fields::{Fields, Probability};
use super::impairments;
use super::model::{Direction, Impairment, QueueLimit, Run};
use super::network::component;
use super::traces::Traces;
use super::tree::Table;

/// The settings of a direction in one table; absent ones are `None`.
#[derive(Clone, Default)]
pub(super) struct DirectionTable {
    rate: Option<Rate>,
    trace: Option<RateTrace>,
    delay: Option<Duration>,
    queue: Option<QueueLimit>,
    loss: Option<Probability>,
    jitter: Option<Duration>,
    jitter_reorders: Option<bool>,
    duplicate: Option<Probability>,
    reorder: Option<Probability>,
    reorder_delay: Option<Duration>,
    burst: Option<BurstLoss>,
    arq: Option<Arq>,
    pub(super) marker: Option<ComponentChoice<MarkerParams>>,
    pub(super) discipline: Option<ComponentChoice<DisciplineParams>>,
    marks: Option<MarkChange>,
    pub(super) mark_after: Option<Duration>,
    fields: Option<FieldChange>,
    /// Keys that are present, valid or not.
    present: Vec<String>,
}

/// The remedy for what [`rate_check`] rejects.
pub const RATE_HELP: &str = "write a rate from \"1kbps\" to \"10Tbps\"";
/// The remedy for what [`delay_check`] rejects.
pub const DELAY_HELP: &str = "write a delay from \"0ms\" to \"100s\"";

/// Whether a link can have this rate.
///
/// # Errors
/// Why not.
pub fn rate_check(&rate: &Rate) -> Result<(), String> {
    match rate {
        Rate::ZERO => Err("a link at rate zero carries nothing".into()),
        r if r < Rate::from_bps(1_000) => Err(format!("{r} is less than 1kbps")),
        r if r > Rate::from_mbps(1e7) => Err(format!("{r} is absurdly fast")),
        _ => Ok(()),
    }
}

/// Whether a link can have this one-way delay.
///
/// # Errors
/// Why not.
pub fn delay_check(&delay: &Duration) -> Result<(), String> {
    if delay <= Duration::from_millis(100_000) { Ok(()) } else { Err(format!("{delay} is absurdly long")) }
}

/// The values of `marks`.
const MARKS: [(&str, MarkChange); 3] =
    [("keep", MarkChange::Keep), ("clear", MarkChange::Clear), ("set", MarkChange::Set)];
/// The values of `fields`.
const FIELDS: [(&str, FieldChange); 4] = [
    ("keep", FieldChange::Keep),
    ("clear", FieldChange::Clear),
    ("least", FieldChange::Least),
    ("largest", FieldChange::Largest),
];

/// The remedy for what [`lag_check`] rejects.
pub const LAG_HELP: &str = "write a time from \"0ms\" to \"2s\"";

/// Whether packets can have an extra delay of up to this: links keep all kinds of it together in 32 bits of nanoseconds.
///
/// # Errors
/// Why not.
pub fn lag_check(&lag: &Duration) -> Result<(), String> {
    if lag <= Duration::from_millis(2_000) { Ok(()) } else { Err(format!("{lag} is too long")) }
}

impl DirectionTable {
    pub(super) fn read(f: &Fields<'_>, table: &Table, traces: &Traces<'_>, found: &Findings) -> DirectionTable {
        let marker = f.item("marker").and_then(|item| component(item, found));
        let discipline = f.item("discipline").and_then(|item| component(item, found));
        DirectionTable {
            rate: f.checked("rate", RATE_HELP, rate_check),
            trace: traces.read(f, found),
            delay: f.checked("delay", DELAY_HELP, delay_check),
            queue: f.get("queue"),
            loss: f.get("loss"),
            jitter: f.checked("jitter", LAG_HELP, lag_check),
            jitter_reorders: f.get("jitter-reorders"),
            duplicate: f.get("duplicate"),
            reorder: f.get("reorder"),
            reorder_delay: f.checked("reorder-delay", LAG_HELP, lag_check),
            burst: impairments::burst_loss(f, found),
            arq: impairments::arq(f, found),
            marker,
            discipline,
            marks: f.word("marks", &MARKS),
            mark_after: f.checked("mark-after", LAG_HELP, lag_check),
            fields: f.word("fields", &FIELDS),
            present: table.entries.iter().map(|e| e.key.clone()).collect(),
        }
    }

    pub(super) fn or(self, other: &DirectionTable) -> DirectionTable {
        let other = other.clone();
        // A trace stands in place of a rate, and a rate in place of a trace.
        let own_rate = self.present.iter().any(|key| key == "rate" || key == "trace");
        let (rate, trace) = if own_rate { (self.rate, self.trace) } else { (other.rate, other.trace) };
        DirectionTable {
            rate,
            trace,
            delay: self.delay.or(other.delay),
            queue: self.queue.or(other.queue),
            loss: self.loss.or(other.loss),
            jitter: self.jitter.or(other.jitter),
            jitter_reorders: self.jitter_reorders.or(other.jitter_reorders),
            duplicate: self.duplicate.or(other.duplicate),
            reorder: self.reorder.or(other.reorder),
            reorder_delay: self.reorder_delay.or(other.reorder_delay),
            burst: self.burst.or(other.burst),
            arq: self.arq.or(other.arq),
            marker: self.marker.or(other.marker),
            discipline: self.discipline.or(other.discipline),
            marks: self.marks.or(other.marks),
            mark_after: self.mark_after.or(other.mark_after),
            fields: self.fields.or(other.fields),
            present: [self.present, other.present].concat(),
        }
    }

    /// The link is one of a medium of this rate, whose queues lie below NDN.
    pub(super) fn share(&mut self, rate: Rate) {
        (self.rate, self.trace) = (Some(rate), None);
        (self.marker, self.discipline, self.mark_after) = (None, None, None);
        self.present.push("rate".to_owned());
    }

    pub(super) fn finish(self, f: &Fields<'_>, payload: Bytes, run: &Run) -> Option<Direction> {
        let has = |key: &str| self.present.iter().any(|k| k == key);
        for (key, example) in [("rate", "\"10Mbps\""), ("delay", "\"10ms\"")] {
            let is_set = has(key) || (key == "rate" && has("trace"));
            if !is_set {
                f.missing(key, example);
            }
        }
        let delay = self.delay?;
        let reorder = self.reorder.map_or(0.0, |p| p.0);
        if reorder > 0.0 && !has("reorder-delay") {
            f.missing("reorder-delay", "\"5ms\"");
        }
        let queue = self.queue.unwrap_or(QueueLimit::Packets(100));
        if let QueueLimit::Bytes(bytes) = queue
            && bytes < run.data_on_wire(payload)
        {
            let message = format!("queue: {bytes} has no room for one Data of {}", run.data_on_wire(payload));
            f.error("queue", message, "write a larger queue, or count it in packets");
        }
        Some(Direction {
            rate: Some(self.trace.as_ref().map(RateTrace::mean).or(self.rate)?),
            trace: self.trace,
            delay,
            limit: queue,
            framing: run.framing,
            impairment: Impairment {
                loss: self.loss.map_or(0.0, |p| p.0),
                jitter: self.jitter.unwrap_or(Duration::ZERO),
                jitter_reorders: self.jitter_reorders.unwrap_or(false),
                duplicate: self.duplicate.map_or(0.0, |p| p.0),
                reorder,
                reorder_delay: self.reorder_delay.unwrap_or(Duration::ZERO),
                burst: self.burst,
                arq: self.arq,
            },
            marker: self.marker,
            discipline: self.discipline,
            signals: SignalChange { marks: self.marks.unwrap_or_default(), fields: self.fields.unwrap_or_default() },
            mark_after: self.mark_after,
        })
    }
}
