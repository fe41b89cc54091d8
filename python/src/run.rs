//! Runs of a scenario, in threads of their own while Python waits and can be interrupted.

use crate::errors;
use crate::outside::{self, Definition, Failures};
use crate::results::Results;
use ndnweir_core::scheme::Scheme;
use ndnweir_lab::evaluation::grid::{Case, MAX_CASES, VaryError, cases, combinations, varied};
use ndnweir_lab::experiment::{Error, Experiment, Progress, choose};
use ndnweir_lab::results::{CaseResult, Comparison, RunWords, shell_word};
use ndnweir_scenario::{Problems, Scenario, Source, find};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often Python looks for interrupts, and progress is told.
const TICK: Duration = Duration::from_millis(100);

/// Fractions of all runs, of all cases.
struct Shared {
    fractions: Mutex<Vec<f64>>,
}

/// The runs of one case among them.
struct Part<'a> {
    shared: &'a Shared,
    first: usize,
}

impl Progress for Part<'_> {
    fn advanced(&self, run: usize, fraction: f64) {
        let Ok(mut all) = self.shared.fractions.lock() else { return };
        if let Some(known) = all.get_mut(self.first + run) {
            *known = fraction;
        }
    }
}

impl Shared {
    /// Runs that are done, and the mean of all fractions.
    fn now(&self) -> (usize, f64) {
        let Ok(all) = self.fractions.lock() else { return (0, 0.0) };
        let done = all.iter().filter(|fraction| **fraction >= 1.0).count();
        (done, all.iter().sum::<f64>() / all.len().max(1) as f64)
    }
}

fn source(scenario: &str, text: Option<&str>, folder: &Path) -> Result<Source, Problems> {
    match text {
        Some(text) => Source::from_text(scenario, text, folder),
        None => find(scenario),
    }
}

/// The cases of a scenario; one without a name if nothing varies.
fn read_cases(py: Python<'_>, scenario: &str, source: &Source, set: &[String], vary: &[String]) -> PyResult<Vec<Case>> {
    let all = varied(source, vary).map_err(|error| match error {
        VaryError::Scenario(problems) => errors::problems(py, &problems),
        VaryError::Text(why) => errors::input(py, format!("vary: {why}")),
        VaryError::Twice(case) => {
            errors::input(py, format!("vary: two cases are called \"{case}\"; give each value once"))
        }
        VaryError::TooMany(count) => {
            errors::input(py, format!("{count} cases; at most {MAX_CASES} can be, use a sweep for more"))
        }
    })?;
    // One, if nothing varies.
    let all = all.unwrap_or_else(|| combinations(&[]));
    cases(source, scenario, set, all).map_err(|p| errors::problems(py, &p))
}

/// The schemes called so: those that are written in Python, the scenario's own, the shipped ones.
fn chosen(
    py: Python<'_>,
    scenario: &Scenario,
    names: &[String],
    written: &[Definition],
    failures: &Failures,
) -> PyResult<Vec<Scheme>> {
    if names.is_empty() {
        return choose(scenario, &[]).map_err(|e| errors::input(py, e));
    }
    let mut all = Vec::new();
    for name in names {
        match written.iter().find(|definition| definition.0 == *name) {
            Some(definition) => all.push(outside::scheme(py, definition, failures)?),
            None => all.extend(choose(scenario, std::slice::from_ref(name)).map_err(|e| errors::input(py, e))?),
        }
    }
    Ok(all)
}

/// Runs a scenario under schemes with seeds; see `ndnweir.run`.
///
/// `scenario` is a name or path, or with `text` what errors call the text; `written` are schemes with
/// components of Python, whose names `schemes` may have; `progress` is called with the runs that are
/// done, all runs, and the fraction of the work.
#[pyfunction]
#[pyo3(signature = (scenario, text, folder, schemes, written, seeds, set, vary, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "Python passes them by position; nobody else calls it")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &str,
    text: Option<&str>,
    folder: PathBuf,
    schemes: Vec<String>,
    written: Vec<Definition>,
    seeds: Vec<u64>,
    set: Vec<String>,
    vary: Vec<String>,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let source = source(scenario, text, &folder).map_err(|p| errors::problems(py, &p))?;
    let cases = read_cases(py, scenario, &source, &set, &vary)?;
    let failures = Failures::default();
    let mut experiments = Vec::new();
    for case in &cases {
        let schemes = chosen(py, &case.scenario, &schemes, &written, &failures)?;
        let network = case.scenario.network();
        network.check().map_err(|e| errors::input(py, e))?;
        schemes.iter().try_for_each(|s| network.check_parts(s)).map_err(|e| errors::input(py, e))?;
        let (scenario, seeds) = (case.scenario.clone(), seeds.clone());
        experiments.push(Experiment { scenario, schemes, seeds, events: Vec::new() });
    }
    let runs: Vec<usize> = experiments.iter().map(|e| e.schemes.len() * e.seeds.len()).collect();
    let total: usize = runs.iter().sum();
    let shared = Shared { fractions: Mutex::new(vec![0.0; total]) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = pool.map_err(|e| errors::work(py, e))?;
    let one = |number: usize| {
        let part = Part { shared: &shared, first: runs[..number].iter().sum() };
        experiments[number].run_kept(&part, failures.stop(), None, total - runs[number])
    };
    let (sender, receiver) = channel();
    // Shared, as the closures that release Python's lock want it.
    let receiver = Mutex::new(receiver);
    let mut failed = None;
    let results: Vec<Result<Comparison, Error>> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let done = pool.install(|| (0..experiments.len()).into_par_iter().map(one).collect());
            // The receiver waits for it.
            let _: Result<(), _> = sender.send(done);
        });
        loop {
            let waited = py.detach(|| match receiver.lock() {
                Ok(receiver) => receiver.recv_timeout(TICK),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            });
            match waited {
                Ok(results) => return results,
                Err(RecvTimeoutError::Disconnected) => return Vec::new(),
                Err(RecvTimeoutError::Timeout) if failed.is_none() => {
                    let (done, fraction) = shared.now();
                    let told = progress.as_ref().map_or(Ok(()), |f| f.call1((done, total, fraction)).map(drop));
                    if let Err(error) = told.and_then(|()| py.check_signals()) {
                        failures.stop().store(true, Ordering::Relaxed);
                        failed = Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    });
    if let Some(error) = failed.or_else(|| failures.take()) {
        return Err(error);
    }
    if let Some(progress) = progress {
        progress.call1((total, total, 1.0))?;
    }
    let from_command = text.is_none() && written.is_empty();
    let repeated = |schemes: &[Scheme], set: &[String], vary: &[String]| {
        let vary: Vec<String> = vary.iter().flat_map(|text| ["--vary".to_owned(), shell_word(text)]).collect();
        let (count, seed) = (seeds.len() as u32, seeds.first().copied().unwrap_or_default());
        let words = RunWords { command: "sim", scenario, schemes, seeds: count, seed, overrides: set };
        let mut repeat = words.repeat(&vary);
        // A text without a file, a scheme of Python and scattered seeds have no command.
        if !from_command || seeds.windows(2).any(|pair| pair[0].checked_add(1) != Some(pair[1])) {
            repeat.command.clear();
        }
        repeat
    };
    let mut done = Vec::new();
    for ((case, experiment), result) in cases.iter().zip(&experiments).zip(results) {
        let mut comparison = result.map_err(|e| errors::experiment(py, &e))?;
        comparison.repeat = repeated(&experiment.schemes, &case.set, &[]);
        done.push(CaseResult { name: case.name.clone(), set: case.set.clone(), comparison });
    }
    let whole = experiments.first().map(|e| repeated(&e.schemes, &set, &vary)).unwrap_or_default();
    Ok(Results::new(done, whole))
}
