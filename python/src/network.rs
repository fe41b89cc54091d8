//! Objects of a real network: fetched in a thread of their own, read by Python as they come; published meanwhile.

use crate::errors;
use ndnweir_core::units::Duration as Patience;
use ndnweir_net::application::{ApplicationError, Get, ObjectStream, Published, Put};
use ndnweir_net::client::transport;
use ndnweir_net::object::trust::Verification;
use ndnweir_net::object::{FileSource, Trust, signer};
use ndnweir_node::FetcherCounters;
use ndnweir_wire::Name;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often Python looks for interrupts.
const TICK: Duration = Duration::from_millis(100);

fn name(py: Python<'_>, text: &str) -> PyResult<Name> {
    text.parse().map_err(|error| errors::input(py, format!("{text:?} is not a name: {error}")))
}

fn failed(py: Python<'_>, error: &ApplicationError) -> PyErr {
    match error {
        ApplicationError::Transport(_)
        | ApplicationError::Scheme(_)
        | ApplicationError::Name(_)
        | ApplicationError::Publisher(_) => errors::input(py, error),
        error => errors::work(py, error),
    }
}

/// An object that is fetched.
#[pyclass(frozen)]
pub(crate) struct Fetch {
    stream: Mutex<Option<ObjectStream>>,
    latest: Arc<Mutex<FetcherCounters>>,
}

/// Starts to fetch.
#[pyfunction]
pub(crate) fn fetch(
    py: Python<'_>,
    object: &str,
    scheme: &str,
    trust: &str,
    forwarder: Option<&str>,
    timeout: f64,
) -> PyResult<Fetch> {
    if !(timeout > 0.0 && timeout < 1e9) {
        return Err(errors::input(py, format!("timeout={timeout}: give seconds, more than none")));
    }
    let trust = Trust::read(trust).map_err(|error| errors::input(py, format!("trust: {error}")))?;
    let uri = transport(forwarder).map_err(|error| errors::input(py, error))?;
    let latest: Arc<Mutex<FetcherCounters>> = Arc::default();
    let counted = Arc::clone(&latest);
    let get = Get::new(name(py, object)?).scheme(scheme).map_err(|error| failed(py, &error))?;
    let get = get.transport(uri).trust(trust).patience(Patience::from_secs_f64(timeout));
    let get = get.progress(move |counters, _| *counted.lock().unwrap_or_else(PoisonError::into_inner) = *counters);
    let stream = py.detach(|| get.stream()).map_err(|error| failed(py, &error))?;
    Ok(Fetch { stream: Mutex::new(Some(stream)), latest })
}

/// Numbers of a fetch.
fn counted<'py>(py: Python<'py>, counters: &FetcherCounters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("bytes", counters.payload_bits / 8)?;
    dict.set_item("segments", counters.segments)?;
    dict.set_item("interests", counters.interests)?;
    dict.set_item("retransmissions", counters.retransmissions)?;
    dict.set_item("timeouts", counters.timeouts)?;
    dict.set_item("losses", counters.losses)?;
    dict.set_item("nacks", counters.nacks)?;
    dict.set_item("marks", counters.marks)?;
    dict.set_item("window", counters.window)?;
    Ok(dict)
}

#[pymethods]
impl Fetch {
    /// Up to so many bytes, in order; none at the end. Waits for the first.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        loop {
            let read = py.detach(|| {
                let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
                let stream = stream.as_mut()?;
                if !stream.wait(TICK) {
                    return Some(Ok(None));
                }
                // A segment is read at once, whatever else is asked for.
                let mut bytes = vec![0; size.min(1 << 16)];
                let count = stream.read(&mut bytes);
                Some(count.map(|count| {
                    bytes.truncate(count);
                    Some(bytes)
                }))
            });
            py.check_signals()?;
            match read {
                Some(Ok(Some(bytes))) => return Ok(PyBytes::new(py, &bytes)),
                Some(Ok(None)) => {}
                Some(Err(error)) => return Err(errors::work(py, error)),
                None => return Err(errors::work(py, "the stream is closed")),
            }
        }
    }

    /// What is counted so far; of a fetch that has been read to its end also its name, duration and what was checked.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let finished = py.detach(|| {
            let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            stream.as_ref().and_then(|stream| stream.statistics().cloned())
        });
        let Some((object, finished)) = finished else {
            let latest = *self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            return counted(py, &latest);
        };
        let dict = counted(py, &finished.counters)?;
        dict.set_item("object", object.to_string())?;
        dict.set_item("duration_s", finished.ended.since(finished.started).secs())?;
        dict.set_item("rejected", finished.rejected)?;
        let checked = match finished.checked {
            Verification::Signer => "signer",
            Verification::Digest => "digest",
            Verification::Nothing => "nothing",
        };
        dict.set_item("checked", checked)?;
        Ok(dict)
    }

    /// Ends the fetch.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.stream.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

/// An object that is published.
#[pyclass(frozen)]
pub(crate) struct Publication(Mutex<Option<Published>>);

/// Publishes bytes, or the file at a path.
#[pyfunction]
pub(crate) fn publish(
    py: Python<'_>,
    object: &str,
    content: Option<Vec<u8>>,
    file: Option<&str>,
    sign: &str,
    forwarder: Option<&str>,
) -> PyResult<Publication> {
    let object = name(py, object)?;
    let uri = transport(forwarder).map_err(|error| errors::input(py, error))?;
    let signer = signer(sign, &object).map_err(|error| errors::input(py, format!("sign: {error}")))?;
    let put = Put::new(object).transport(uri).signer(signer);
    let published = match file {
        Some(path) => {
            let source = FileSource::open(Path::new(path));
            let source = source.map_err(|error| errors::input(py, format!("{path}: {error}")))?;
            py.detach(|| put.start(source))
        }
        None => py.detach(|| put.start(content.unwrap_or_default())),
    };
    Ok(Publication(Mutex::new(Some(published.map_err(|error| failed(py, &error))?))))
}

#[pymethods]
impl Publication {
    /// The name with version; none once it was ended.
    fn object(&self) -> Option<String> {
        let published = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        published.as_ref().map(|published| published.object().to_string())
    }

    /// Whether it is published.
    fn is_active(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(Published::is_active)
    }

    /// Ends it.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let published = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match published {
            Some(published) => py.detach(|| published.end()).map_err(|error| failed(py, &error)),
            None => Ok(()),
        }
    }
}
