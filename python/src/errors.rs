//! Errors as the package's exceptions.

use ndnweir_lab::experiment::Error;
use ndnweir_scenario::Problems;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Display;

/// An exception of the module `ndnweir.errors`, called with these arguments.
fn exception(py: Python<'_>, name: &str, text: &str, problems: &[Bound<'_, PyDict>]) -> PyErr {
    let made = || py.import("ndnweir.errors")?.getattr(name)?.call1((text, problems.to_vec()));
    match made() {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// `ScenarioError`, with where, what and what to do, for each problem.
pub(crate) fn problems(py: Python<'_>, problems: &Problems) -> PyErr {
    let mut all = Vec::new();
    for finding in &problems.list {
        let one = PyDict::new(py);
        let line = (finding.place.line > 0).then_some(finding.place.line);
        let set = one
            .set_item("source", &*finding.place.source)
            .and_then(|()| one.set_item("line", line))
            .and_then(|()| one.set_item("message", &finding.message))
            .and_then(|()| one.set_item("help", &finding.help));
        match set {
            Ok(()) => all.push(one),
            Err(error) => return error,
        }
    }
    exception(py, "ScenarioError", &problems.to_string(), &all)
}

/// `InputError`: an argument is wrong.
pub(crate) fn input(py: Python<'_>, what: impl Display) -> PyErr {
    exception(py, "InputError", &what.to_string(), &[])
}

/// `InputError` for what was asked for, `RunError` for what failed.
pub(crate) fn experiment(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Network(_) | Error::Choice(_) | Error::NoSpread { .. } => "InputError",
        _ => "RunError",
    };
    exception(py, name, &error.to_string(), &[])
}

/// `RunError`: the work failed.
pub(crate) fn work(py: Python<'_>, what: impl Display) -> PyErr {
    exception(py, "RunError", &what.to_string(), &[])
}
