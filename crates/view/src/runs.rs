//! Runs that the page started, or that it shows for the command line.

use crate::feed::{Feed, Full};
use crate::request::Checked;
use crate::stream::{ALL, CONSUMER, LINK, PendingBins, Subjects};
use ndnweir_lab::experiment::{self, Experiment, Progress};
use ndnweir_lab::results::{self, RunWords, ScenarioInfo, Series, SeriesOf};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Runs at a time.
pub const AT_ONCE: usize = 2;
/// Runs that are remembered; of those that are over, the oldest are forgotten.
const REMEMBERED: usize = 16;
/// Bytes of events of one run.
const FEED: usize = 24 << 20;
/// A run that the page started is cancelled after this.
const LONGEST: Duration = Duration::from_secs(900);
/// How often the progress is sent.
const PAUSE: Duration = Duration::from_millis(150);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run while it is simulated and after that, as the page sees it.
pub struct LiveRun {
    info: Value,
    subjects: Subjects,
    /// By run of the experiment: whether its values are streamed, and those that wait.
    pending: Vec<Option<Mutex<PendingBins>>>,
    fractions: Mutex<(Vec<f64>, Instant)>,
    /// Set to cancel it.
    stop: AtomicBool,
    until: Option<Instant>,
    state: Mutex<(State, Value)>,
    pub(crate) feed: Feed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Over,
}

impl LiveRun {
    /// For an experiment; `command` repeats it.
    pub fn new(experiment: &Experiment, scenario: &ScenarioInfo, command: &str) -> LiveRun {
        let subjects = Subjects::new(scenario);
        let seeds = experiment.seeds.len();
        let schemes: Vec<&str> = experiment.schemes.iter().map(|s| s.name.as_str()).collect();
        let pending = |run: usize| run.is_multiple_of(seeds.max(1)).then(|| Mutex::new(PendingBins::new(&subjects)));
        let runs = schemes.len() * seeds;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let info = json!({
            "scenario": scenario.name, "about": scenario.description, "schemes": schemes, "seeds": experiment.seeds,
            "duration_s": scenario.duration_s, "bin_s": scenario.bin_s, "command": command, "started_unix": started,
            "consumers": subjects.consumers, "links": subjects.links,
            "consumers_in_all": scenario.consumers.len(), "links_in_all": scenario.links.len(),
            "metrics": { "all": ALL, "consumers": CONSUMER, "links": LINK },
            "events": scenario.events.iter().map(|e| json!([e.at_s, e.text])).collect::<Vec<_>>(),
        });
        LiveRun {
            info,
            pending: (0..runs).map(pending).collect(),
            subjects,
            fractions: Mutex::new((vec![0.0; runs], Instant::now())),
            stop: AtomicBool::new(false),
            until: None,
            state: Mutex::new((State::Running, json!({ "kind": "state", "state": "running" }))),
            feed: Feed::new(FEED, Full::Omit),
        }
    }

    /// What the page shows about it, and how it stands.
    pub(crate) fn describe(&self) -> Value {
        let mut all = self.info.clone();
        all["state"] = locked(&self.state).1.clone();
        all["progress"] = json!(self.done().0);
        all
    }

    /// The share of the work that is done, and the number of complete simulations.
    fn done(&self) -> (f64, usize) {
        let fractions = &locked(&self.fractions).0;
        let sum: f64 = fractions.iter().sum();
        (sum / fractions.len().max(1) as f64, fractions.iter().filter(|f| **f >= 1.0).count())
    }

    pub(crate) fn is_over(&self) -> bool {
        locked(&self.state).0 == State::Over
    }

    /// Whether its page has cancelled it.
    pub fn is_cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whoever simulates it stops soon.
    pub(crate) fn cancel(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// It is over: `complete`, `cancelled` or `failed`, where its results are, and what there is to say.
    pub fn end(&self, state: &str, folder: Option<&str>, message: &str) {
        for (run, pending) in self.pending.iter().enumerate() {
            if let Some(pending) = pending {
                locked(pending).send(run, &self.feed);
            }
        }
        let message = match message {
            "" if self.feed.has_omitted() => {
                "the charts show the beginning, as there was no room for more; the report has all"
            }
            _ => message,
        };
        let event = json!({ "kind": "state", "state": state, "folder": folder, "message": message });
        *locked(&self.state) = (State::Over, event.clone());
        self.feed.close(&event);
    }
}

impl Progress for LiveRun {
    fn advanced(&self, run: usize, fraction: f64) {
        if self.until.is_some_and(|until| Instant::now() > until) {
            self.cancel();
        }
        {
            let (fractions, sent) = &mut *locked(&self.fractions);
            if let Some(known) = fractions.get_mut(run) {
                *known = fraction;
            }
            if sent.elapsed() < PAUSE {
                return;
            }
            *sent = Instant::now();
        }
        let (done, complete) = self.done();
        self.feed.push(&json!({ "kind": "progress", "done": done, "complete": complete, "of": self.pending.len() }));
    }

    fn wants_bins(&self) -> bool {
        true
    }

    fn bins(&self, run: usize, first: usize, series: &Series) {
        if let Some(Some(pending)) = self.pending.get(run) {
            locked(pending).take(run, first, series, &self.subjects, &self.feed);
        }
    }
}

/// All runs that are remembered.
pub struct Runs {
    /// Where result folders are.
    root: PathBuf,
    list: Mutex<List>,
    /// One folder is chosen and written at a time.
    writing: Mutex<()>,
}

#[derive(Default)]
struct List {
    next: u64,
    runs: VecDeque<(u64, Arc<LiveRun>)>,
}

/// Why a run was not started.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{AT_ONCE} runs are simulated already; wait for one or cancel it")]
pub struct Busy;

impl Runs {
    pub fn new(root: PathBuf) -> Runs {
        Runs { root, list: Mutex::default(), writing: Mutex::default() }
    }

    /// Remembers a run of the command line; its number.
    pub fn add(&self, run: Arc<LiveRun>) -> u64 {
        Self::insert(&mut locked(&self.list), run)
    }

    fn insert(list: &mut List, run: Arc<LiveRun>) -> u64 {
        while list.runs.len() >= REMEMBERED {
            let Some(at) = list.runs.iter().position(|(_, run)| run.is_over()) else { break };
            list.runs.remove(at);
        }
        list.next += 1;
        list.runs.push_back((list.next, run));
        list.next
    }

    /// Simulates in threads of its own and writes a result folder; the run's number.
    pub fn start(self: &Arc<Self>, checked: Checked) -> Result<u64, Busy> {
        let Checked { scenario, schemes, overrides, seeds } = checked;
        let words = RunWords {
            command: "sim",
            scenario: &scenario.name,
            schemes: &schemes,
            seeds,
            seed: 1,
            overrides: &overrides,
        };
        let repeat = words.repeat(&[]);
        let info = experiment::describe(&scenario);
        let experiment = Experiment { scenario, schemes, seeds: (1..=u64::from(seeds)).collect(), events: Vec::new() };
        let mut run = LiveRun::new(&experiment, &info, &repeat.command);
        run.until = Some(Instant::now() + LONGEST);
        let run = Arc::new(run);
        let number = {
            let mut list = locked(&self.list);
            if list.runs.iter().filter(|(_, run)| !run.is_over()).count() >= AT_ONCE {
                return Err(Busy);
            }
            Self::insert(&mut list, Arc::clone(&run))
        };
        let runs = Arc::clone(self);
        std::thread::spawn(move || {
            let guard = Unfinished(&run);
            // Threads of its own: in those that all share, a cancelled run would wait until another one is over.
            let simulate = || experiment.run(&*run, &run.stop);
            let result =
                rayon::ThreadPoolBuilder::new().build().map_or_else(|_| simulate(), |own| own.install(simulate));
            match result {
                Ok(mut comparison) => {
                    comparison.repeat = repeat;
                    runs.write(&run, &comparison);
                }
                Err(experiment::Error::Nothing) => run.end("cancelled", None, "cancelled before any run was complete"),
                Err(error) => run.end("failed", None, &error.to_string()),
            }
            drop(guard);
        });
        Ok(number)
    }

    fn write(&self, run: &LiveRun, comparison: &results::Comparison) {
        let one_at_a_time = locked(&self.writing);
        // Incomplete results do not replace complete ones.
        let command = (!comparison.partial).then_some(comparison.repeat.command.as_str());
        let first = self.root.join(&comparison.scenario.name);
        let written = results::free_folder(&first, command).and_then(|(folder, _)| {
            ndnweir_report::write(comparison, &folder, SeriesOf::First)?;
            Ok(folder)
        });
        drop(one_at_a_time);
        let state = if comparison.partial { "cancelled" } else { "complete" };
        match written {
            Ok(folder) => run.end(state, relative(&self.root, &folder).as_deref(), ""),
            Err(error) => run.end("failed", None, &error.to_string()),
        }
    }

    /// The run of this number.
    pub fn get(&self, number: u64) -> Option<Arc<LiveRun>> {
        let list = locked(&self.list);
        list.runs.iter().find(|(known, _)| *known == number).map(|(_, run)| Arc::clone(run))
    }

    /// All, the newest first.
    pub fn describe(&self) -> Value {
        let runs: Vec<(u64, Arc<LiveRun>)> = locked(&self.list).runs.iter().cloned().collect();
        let one = |(number, run): &(u64, Arc<LiveRun>)| {
            let mut all = run.describe();
            all["id"] = json!(number);
            all
        };
        runs.iter().rev().map(one).collect()
    }

    /// Cancels all that are simulated.
    pub fn cancel_all(&self) {
        locked(&self.list).runs.iter().for_each(|(_, run)| run.cancel());
    }
}

/// Where a folder is below another, with `/`.
pub fn relative(root: &Path, folder: &Path) -> Option<String> {
    let parts = folder.strip_prefix(root).ok()?.components();
    let parts: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// A simulation that ends in a panic is over, too.
struct Unfinished<'a>(&'a LiveRun);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.0.is_over() {
            self.0.end("failed", None, "the simulation ended unexpectedly; please report this");
        }
    }
}
