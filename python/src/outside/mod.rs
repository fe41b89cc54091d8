//! Components written in Python: each call becomes a call of a method of a Python object.
//!
//! What such a method raises is kept, the run ends, and the exception is raised to whoever began the run.

mod check;
mod consumer;
mod context;
mod marker;
mod strategy;

pub(crate) use check::{check_consumer, check_marker, check_strategy};

use crate::errors;
use ndnweir_core::component::Outside;
use ndnweir_core::registry::{ConsumerParams, MarkerParams, StrategyParams};
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What ends a run in which a component of Python failed.
#[derive(Clone, Default)]
pub(crate) struct Failures(Arc<Inner>);

#[derive(Default)]
struct Inner {
    stop: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl Failures {
    /// Set when the run is to end.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.0.stop
    }

    /// The first exception, once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.first.lock().ok()?.take()
    }

    /// The value of a call; after an exception, which is kept, what stands in for it.
    fn or<T>(&self, result: PyResult<T>, otherwise: T) -> T {
        result.unwrap_or_else(|error| {
            self.0.stop.store(true, Ordering::Relaxed);
            if let Ok(mut first) = self.0.first.lock() {
                first.get_or_insert(error);
            }
            otherwise
        })
    }
}

/// A scheme with components of Python: `(name, base, {family: class})`.
pub(crate) type Definition = (String, String, Vec<(String, Py<PyAny>)>);

/// A name that lives as long as the program, as names of components do; each is stored once.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let Ok(mut names) = NAMES.lock() else { return "outside" };
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(new);
    new
}

/// The scheme that a definition describes.
pub(crate) fn scheme(py: Python<'_>, definition: &Definition, failures: &Failures) -> PyResult<Scheme> {
    let (name, base, classes) = definition;
    let mut scheme = Scheme::named(base).map_err(|e| errors::input(py, e))?;
    scheme.name.clone_from(name);
    scheme.summary = format!("{base} with parts written in Python");
    for (family, class) in classes {
        let (key, class, failures) = (interned(name), Arc::new(class.clone_ref(py)), failures.clone());
        match family.as_str() {
            "consumer" => {
                let made = Outside::new(key, move || consumer::make(&class, &failures));
                scheme.parts.consumer = ComponentChoice::of(ConsumerParams::Custom(made));
            }
            "marker" => {
                let made = Outside::new(key, move || marker::make(&class, &failures));
                scheme.parts.marker = ComponentChoice::of(MarkerParams::Custom(made));
            }
            "strategy" => {
                let made = Outside::new(key, move || strategy::make(&class, &failures));
                scheme.parts.strategy = ComponentChoice::of(StrategyParams::Custom(made));
            }
            other => return Err(errors::input(py, format!("{other} cannot be written in Python"))),
        }
    }
    Ok(scheme)
}

/// An instance of a class, and which methods it has.
struct Instance {
    object: Option<Py<PyAny>>,
    failures: Failures,
}

impl Instance {
    fn new(class: &Py<PyAny>, failures: &Failures) -> Instance {
        let object = Python::attach(|py| class.call0(py));
        Instance { object: failures.or(object.map(Some), None), failures: failures.clone() }
    }

    /// Whether the object has such a method.
    fn has(&self, method: &str) -> bool {
        let Some(object) = &self.object else { return false };
        Python::attach(|py| object.bind(py).hasattr(method).unwrap_or(false))
    }

    /// Does something with the object; after an exception, or if there is none, `otherwise`.
    fn with<T>(&self, otherwise: T, act: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> T {
        let Some(object) = &self.object else { return otherwise };
        let result = Python::attach(|py| act(object.bind(py)));
        self.failures.or(result, otherwise)
    }
}
