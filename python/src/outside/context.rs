//! What methods of Python get beside the event.

use ndnweir_core::ctx::{Ctx, Rng};
use ndnweir_core::units::Time;
use pyo3::prelude::*;
use std::sync::Mutex;

/// The time and the randomness of a call; nothing else may be used, so that runs repeat.
#[pyclass(frozen, module = "ndnweir")]
pub(crate) struct Context {
    /// Seconds since the start.
    #[pyo3(get)]
    now: f64,
    rng: Mutex<Rng>,
}

#[pymethods]
impl Context {
    /// A random number in [0, 1), from a stream of this instance.
    fn random(&self) -> f64 {
        self.rng.lock().map(|mut rng| rng.unit()).unwrap_or_default()
    }
}

/// A time in seconds.
pub(super) fn seconds(time: Time) -> f64 {
    time.secs()
}

/// Calls something with a context, and takes the stream's state back.
pub(super) fn with_context<T>(
    py: Python<'_>,
    ctx: &mut Ctx<'_>,
    act: impl FnOnce(&Bound<'_, Context>) -> PyResult<T>,
) -> PyResult<T> {
    let context = Context { now: seconds(ctx.now), rng: Mutex::new(ctx.rng.clone()) };
    let context = Bound::new(py, context)?;
    let result = act(&context);
    if let Ok(rng) = context.get().rng.lock() {
        *ctx.rng = rng.clone();
    }
    result
}
