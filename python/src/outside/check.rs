//! The conformance suite of consumers, for those of Python.

use super::{Failures, consumer};
use crate::errors;
use ndnweir_core::conformance::{Bench, Op, random_ops, standard_workload};
use ndnweir_core::consumer::Consumer;
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::Duration;
use pyo3::prelude::*;

/// Random operations for each seed.
const OPERATIONS: usize = 1500;

/// Runs random operations on instances of a class: the window stays sane, nothing waits for ever, equal operations give
/// equal windows, and a window that was cut grows again. Raises `RunError` with the first operation that shows
/// otherwise, or what the class raises.
#[pyfunction]
#[pyo3(signature = (class, seeds))]
pub(crate) fn check_consumer(py: Python<'_>, class: Py<PyAny>, seeds: u64) -> PyResult<()> {
    let workloads = (0..seeds).map(|seed| (format!("seed {seed}"), random_ops(seed, OPERATIONS)));
    for (name, ops) in workloads.chain([("the standard workload".to_owned(), standard_workload())]) {
        let mut bench = bench(&class)?;
        let mut seen = Vec::with_capacity(ops.len());
        for (step, &op) in ops.iter().enumerate() {
            bench.0.apply(op);
            bench.raised()?;
            let checked = bench.0.check();
            checked.map_err(|e| errors::work(py, format!("{name}, operation {step}, {op:?}: {e}")))?;
            seen.push(bench.0.seen());
        }
        let mut again = self::bench(&class)?;
        if again.0.run(&ops) != seen {
            let help = "use ctx.now and ctx.random() alone, and nothing that instances share";
            return Err(errors::work(py, format!("{name}: the same operations gave other windows; {help}")));
        }
        py.check_signals()?;
    }
    let grows = [None, Some(Duration::from_millis(1))].into_iter().try_fold(false, |grown, rtt| {
        let mut bench = bench(&class)?;
        bench.0.run(&random_ops(1, 2000));
        let before = bench.0.consumer.window();
        for _ in 0..100 {
            bench.0.run(&[Op::Wait(Duration::from_millis(20)), Op::Data { mark: 0, rtt, skip: 1000 }]);
        }
        bench.raised()?;
        let after = bench.0.consumer.window();
        PyResult::Ok(grown || after > before || before >= 1e6)
    })?;
    match grows {
        true => Ok(()),
        false => Err(errors::work(py, "after cuts, 100 Data without marks do not let the window grow")),
    }
}

/// A bench with a fresh instance, and what the instance raises.
struct Checked(Bench, Failures);

fn bench(class: &Py<PyAny>) -> PyResult<Checked> {
    let failures = Failures::default();
    let made = Checked(Bench::of(AnyConsumer::Custom(consumer::make(class, &failures))), failures);
    made.raised().map(|()| made)
}

impl Checked {
    fn raised(&self) -> PyResult<()> {
        self.1.take().map_or(Ok(()), Err)
    }
}
