//! Markers of Python.

use super::context::with_context;
use super::{Failures, Instance};
use ndnweir_core::ctx::Ctx;
use ndnweir_core::packet::Kind;
use ndnweir_core::queue::{DequeueEvent, EnqueueEvent, Marker, QueueView, Verdict};
use ndnweir_core::units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A packet at a queue, and the queue.
#[pyclass(frozen, get_all, module = "ndnweir")]
pub(crate) struct Queued {
    /// "interest", "data" or "nack".
    kind: &'static str,
    /// Bytes on the wire.
    size: u64,
    /// Seconds that it has waited; 0 when it joins.
    wait: f64,
    /// Packets waiting.
    packets: u32,
    /// Bytes waiting.
    bytes: u64,
    /// How much of the limit is used, from 0 to 1.
    occupancy: f64,
    /// The rate at which the queue drains, in bit/s; `None` if it is unknown.
    rate: Option<f64>,
}

struct PythonMarker {
    instance: Instance,
    joins: bool,
    leaves: bool,
}

pub(super) fn make(class: &Py<PyAny>, failures: &Failures) -> Box<dyn Marker + Send> {
    let instance = Instance::new(class, failures);
    let (joins, leaves) = (instance.has("on_enqueue"), instance.has("on_dequeue"));
    Box::new(PythonMarker { instance, joins, leaves })
}

fn queued(kind: Kind, size: u64, wait: Duration, queue: &QueueView) -> Queued {
    let kind = match kind {
        Kind::Interest => "interest",
        Kind::Data => "data",
        Kind::Nack => "nack",
    };
    let rate = queue.rate.map(|rate| rate.bps() as f64);
    let (packets, bytes, occupancy) = (queue.packets, queue.bytes.get(), queue.occupancy());
    Queued { kind, size, wait: wait.secs(), packets, bytes, occupancy, rate }
}

/// `None`, "mark", "drop", or a level from 1 on.
fn verdict(said: &Bound<'_, PyAny>) -> PyResult<Verdict> {
    if said.is_none() {
        return Ok(Verdict::Pass);
    }
    match (said.extract::<&str>(), said.extract::<u8>()) {
        (Ok("mark"), _) => Ok(Verdict::Mark(1)),
        (Ok("drop"), _) => Ok(Verdict::Drop),
        (_, Ok(level @ 1..)) => Ok(Verdict::Mark(level)),
        _ => Err(PyValueError::new_err(format!(
            "a marker returned {said}; return None, \"mark\", \"drop\" or a level from 1 to 255"
        ))),
    }
}

impl PythonMarker {
    fn ask(&self, method: &str, event: Queued, ctx: &mut Ctx<'_>) -> Verdict {
        self.instance.with(Verdict::Pass, |object| {
            let py = object.py();
            let event = Bound::new(py, event)?;
            with_context(py, ctx, |context| verdict(&object.call_method1(method, (event, context))?))
        })
    }
}

impl Marker for PythonMarker {
    fn predictable(&self) -> bool {
        false
    }

    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict {
        let packet = event.packet;
        match self.joins {
            true => {
                self.ask("on_enqueue", queued(packet.kind, u64::from(packet.size), Duration::ZERO, &event.queue), ctx)
            }
            false => Verdict::Pass,
        }
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        match self.leaves {
            true => self.ask("on_dequeue", queued(event.kind, event.size.get(), event.sojourn, &event.queue), ctx),
            false => Verdict::Pass,
        }
    }
}
