//! Consumers of Python.

use super::context::{seconds, with_context};
use super::{Failures, Instance};
use ndnweir_core::consumer::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, Timer};
use ndnweir_core::ctx::Ctx;
use ndnweir_core::packet::NackReason;
use ndnweir_core::units::{Duration, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A segment that arrived.
#[pyclass(frozen, get_all, module = "ndnweir")]
pub(crate) struct Data {
    /// Its number.
    segment: u64,
    /// When the latest Interest for it was sent, in seconds.
    sent: f64,
    /// Round-trip time in seconds; `None` if it was requested more than once.
    rtt: Option<f64>,
    /// CongestionMark; 0 is none.
    mark: u8,
    /// Bytes on the wire.
    size: u64,
    /// Interests outstanding, this one counted.
    in_flight: u32,
    /// Smoothed round-trip time in seconds; zero before the first sample.
    srtt: f64,
}

/// An Interest that failed.
#[pyclass(frozen, get_all, module = "ndnweir")]
pub(crate) struct Failure {
    /// "timeout", "loss" or "nack".
    kind: &'static str,
    /// Of a NACK: "congestion", "duplicate" or "no-route".
    reason: Option<&'static str>,
    /// Of a NACK: whether it was marked.
    marked: bool,
    /// Its number.
    segment: u64,
    /// When it was sent, in seconds.
    sent: f64,
    /// Interests outstanding, this one counted.
    in_flight: u32,
    /// Smoothed round-trip time in seconds; zero before the first sample.
    srtt: f64,
}

struct PythonConsumer {
    instance: Instance,
    window: f64,
    /// Whether it has a method `pacing`.
    paces: bool,
    gap: Option<Duration>,
    decreases: u64,
}

pub(super) fn make(class: &Py<PyAny>, failures: &Failures) -> Box<dyn Consumer + Send> {
    let instance = Instance::new(class, failures);
    let paces = instance.has("pacing");
    let mut consumer = PythonConsumer { instance, window: 1.0, paces, gap: None, decreases: 0 };
    consumer.read();
    consumer.decreases = 0;
    Box::new(consumer)
}

impl PythonConsumer {
    /// Reads the window, and the gap between Interests, after a call that may have changed them.
    fn read(&mut self) {
        let before = self.window;
        self.window = self.instance.with(before, |object| {
            let window = object.getattr("window")?;
            let window: f64 = if window.is_callable() { window.call0()?.extract()? } else { window.extract()? };
            if (1.0..=MAX_WINDOW).contains(&window) {
                return Ok(window);
            }
            Err(PyValueError::new_err(format!("the window is {window}; keep it from 1 to {MAX_WINDOW} segments")))
        });
        if self.window < before {
            self.decreases += 1;
        }
        if self.paces {
            self.gap = self.instance.with(None, |object| {
                let gap: Option<f64> = object.call_method0("pacing")?.extract()?;
                match gap {
                    Some(gap) if !(0.0..=1e6).contains(&gap) => {
                        let help = "give seconds between Interests, or None";
                        Err(PyValueError::new_err(format!("pacing is {gap}; {help}")))
                    }
                    gap => Ok(gap.map(|gap| Duration::from_nanos((gap * 1e9) as u64))),
                }
            });
        }
    }

    fn call(
        &mut self,
        method: &str,
        event: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
        ctx: &mut Ctx<'_>,
    ) {
        self.instance.with((), |object| {
            let py = object.py();
            let event = event(py)?;
            with_context(py, ctx, |context| object.call_method1(method, (event, context)).map(drop))
        });
        self.read();
    }
}

impl Consumer for PythonConsumer {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        let DataEvent { segment, sent, rtt, mark, size, flight, .. } = *event;
        let data = Data {
            segment,
            sent: seconds(sent),
            rtt: rtt.map(Duration::secs),
            mark,
            size: size.get(),
            in_flight: flight.in_flight,
            srtt: flight.srtt.secs(),
        };
        self.call("on_data", |py| Ok(Bound::new(py, data)?.into_any()), ctx);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let (kind, reason, marked) = match event.kind {
            Congestion::Timeout => ("timeout", None, false),
            Congestion::Loss => ("loss", None, false),
            Congestion::Nack { reason, marked } => {
                let reason = match reason {
                    NackReason::Congestion => "congestion",
                    NackReason::Duplicate => "duplicate",
                    NackReason::NoRoute => "no-route",
                };
                ("nack", Some(reason), marked)
            }
        };
        let Flight { in_flight, srtt, .. } = event.flight;
        let (segment, sent, srtt) = (event.segment, seconds(event.sent), srtt.secs());
        let failure = Failure { kind, reason, marked, segment, sent, in_flight, srtt };
        self.call("on_congestion", |py| Ok(Bound::new(py, failure)?.into_any()), ctx);
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        self.gap
    }

    fn timer(&self) -> Timer {
        Timer::default()
    }

    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}
