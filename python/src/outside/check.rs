//! The conformance suites of consumers, markers and strategies, for those of Python.

use super::{Failures, consumer, marker, strategy};
use crate::errors;
use ndnweir_core::conformance::strategy::Pace;
use ndnweir_core::conformance::{Bench, Broken, Desk, Op, random_ops, standard_workload};
use ndnweir_core::consumer::Consumer;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::registry::{AnyConsumer, AnyMarker, AnyStrategy};
use ndnweir_core::units::Duration;
use pyo3::prelude::*;

/// Random operations for each seed.
const OPERATIONS: usize = 1500;

/// What makes components repeat.
const REPEAT: &str = "use ctx.now and ctx.random() alone, and nothing that instances share";

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
            return Err(errors::work(py, format!("{name}: the same operations gave other windows; {REPEAT}")));
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

/// Runs one workload twice on fresh instances: keeps to the rules of its family, and decides the same again. Raises
/// `RunError` with what is otherwise, or what the class raises.
fn twice(py: Python<'_>, name: &str, run: impl Fn(&Failures) -> Result<Vec<u64>, Broken>) -> PyResult<()> {
    let once = || {
        let failures = Failures::default();
        let decided = run(&failures);
        failures.take().map_or(Ok(()), Err)?;
        decided.map_err(|e| errors::work(py, format!("{name}: {e}")))
    };
    if once()? != once()? {
        return Err(errors::work(py, format!("{name}: the same operations gave other decisions; {REPEAT}")));
    }
    py.check_signals()
}

/// Sends random packets through queues with instances of a class, and a workload of overload, underload and pauses.
#[pyfunction]
pub(crate) fn check_marker(py: Python<'_>, class: Py<PyAny>, seeds: u64) -> PyResult<()> {
    use ndnweir_core::conformance::marker::{fuzz, workload};
    let desk = |failures: &Failures, seed| {
        Desk::new(AnyMarker::Custom(marker::make(&class, failures)), FieldLayout::new(), seed)
    };
    for seed in 0..seeds {
        twice(py, &format!("seed {seed}"), |failures| fuzz(desk(failures, seed), false))?;
    }
    twice(py, "the standard workload", |failures| workload(|seed| desk(failures, seed)))
}

/// Lets instances of a class forward at a node with a PIT whose routes and links change, wildly and calmly.
#[pyfunction]
pub(crate) fn check_strategy(py: Python<'_>, class: Py<PyAny>, seeds: u64) -> PyResult<()> {
    use ndnweir_core::conformance::strategy::{run, unknown_prefix};
    let desk = |failures: &Failures, seed| {
        Desk::new(AnyStrategy::Custom(strategy::make(&class, failures)), FieldLayout::new(), seed)
    };
    for seed in 0..seeds {
        for (pace, word) in [(Pace::Wild, "wild"), (Pace::Interrupted, "calm")] {
            let name = format!("seed {seed}, {word}");
            twice(py, &name, |failures| run(desk(failures, seed), 1500, pace))?;
        }
    }
    twice(py, "a prefix without routes so far", |failures| unknown_prefix(desk(failures, 0)).map(|()| Vec::new()))
}
