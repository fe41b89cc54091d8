//! Strategies of Python.

use super::context::with_context;
use super::{Failures, Instance};
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::NackReason;
use ndnweir_core::strategy::{
    Arrival, DataReturn, ForwardingDecision, InterestArrival, NextHop, Strategy, TimeoutEvent,
};
use ndnweir_core::units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An Interest that needs next hops.
#[pyclass(frozen, get_all, module = "ndnweir")]
pub(crate) struct Interest {
    /// "new", "retransmission" (by the same downstream) or "joining" (another downstream asks for what is pending).
    arrival: &'static str,
    /// The number of its prefix.
    prefix: u32,
    /// The face that it came from.
    in_face: u16,
    /// Faces that it may go to, the cheapest first, each with its cost.
    hops: Vec<(u16, u32)>,
    /// Of these, those that have an Interest of this name already.
    sent: Vec<u16>,
}

/// What came of an Interest.
#[pyclass(frozen, get_all, module = "ndnweir")]
pub(crate) struct Answer {
    /// The number of its prefix.
    prefix: u32,
    /// The face that it came from; `None` of the content store, and if nothing came.
    face: Option<u16>,
    /// Seconds since the last Interest was sent there; `None` if it was sent there more than once.
    rtt: Option<f64>,
    /// CongestionMark; 0 is none.
    mark: u8,
    /// Faces that it was asked of.
    sent: Vec<u16>,
}

struct PythonStrategy {
    instance: Instance,
    hears_data: bool,
    hears_timeouts: bool,
}

pub(super) fn make(class: &Py<PyAny>, failures: &Failures) -> Box<dyn Strategy + Send> {
    let instance = Instance::new(class, failures);
    let (hears_data, hears_timeouts) = (instance.has("on_data"), instance.has("on_timeout"));
    Box::new(PythonStrategy { instance, hears_data, hears_timeouts })
}

/// What a strategy says: a face, several, `None`, or "reject".
fn decide(said: &Bound<'_, PyAny>, hops: &[(u16, u32)], choice: &mut ForwardingDecision) -> PyResult<()> {
    if said.is_none() {
        return Ok(());
    }
    if said.extract::<&str>().is_ok_and(|word| word == "reject") {
        choice.reject(NackReason::NoRoute);
        return Ok(());
    }
    let wrong = || {
        let faces: Vec<u16> = hops.iter().map(|hop| hop.0).collect();
        PyValueError::new_err(format!(
            "a strategy returned {said}; return a face of {faces:?}, several, None or \"reject\""
        ))
    };
    let faces = said.extract::<u16>().map(|face| vec![face]).or_else(|_| said.extract::<Vec<u16>>());
    let faces = faces.map_err(|_| wrong())?;
    if let Some(first) = faces.first() {
        if faces.iter().any(|face| hops.iter().all(|hop| hop.0 != *face)) {
            return Err(wrong());
        }
        choice.send(FaceId(*first));
        faces[1..].iter().filter(|face| *face != first).for_each(|face| choice.probe(FaceId(*face)));
    }
    Ok(())
}

impl PythonStrategy {
    fn tell(&self, method: &str, answer: Answer, ctx: &mut Ctx<'_>) {
        self.instance.with((), |object| {
            let py = object.py();
            let answer = Bound::new(py, answer)?;
            with_context(py, ctx, |context| object.call_method1(method, (answer, context)).map(drop))
        });
    }
}

impl Strategy for PythonStrategy {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let hops: Vec<(u16, u32)> = event.eligible().map(|NextHop { face, cost }| (face.0, cost)).collect();
        let arrival = match event.arrival {
            Arrival::New => "new",
            Arrival::Retransmission => "retransmission",
            Arrival::Joining => "joining",
        };
        let sent = event.sent.iter().map(|record| record.face.0).collect();
        let interest = Interest { arrival, prefix: event.prefix.0, in_face: event.in_face.0, hops: hops.clone(), sent };
        self.instance.with((), |object| {
            let py = object.py();
            let interest = Bound::new(py, interest)?;
            with_context(py, ctx, |context| {
                decide(&object.call_method1("on_interest", (interest, context))?, &hops, choice)
            })
        });
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        if !self.hears_data {
            return;
        }
        let answer = Answer {
            prefix: event.prefix.0,
            face: (event.face != FaceId::NONE).then_some(event.face.0),
            rtt: event.rtt.map(Duration::secs),
            mark: event.packet.mark,
            sent: event.sent.iter().map(|record| record.face.0).collect(),
        };
        self.tell("on_data", answer, ctx);
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, ctx: &mut Ctx<'_>) {
        if !self.hears_timeouts {
            return;
        }
        let sent = event.sent.iter().map(|record| record.face.0).collect();
        self.tell("on_timeout", Answer { prefix: event.prefix.0, face: None, rtt: None, mark: 0, sent }, ctx);
    }
}
