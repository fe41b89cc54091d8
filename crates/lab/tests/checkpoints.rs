//! Runs that go on from what was kept of them end with the same metrics, bit for bit; files that do not fit are rejected.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Time;
use ndnweir_lab::checkpoints::Checkpoints;
use ndnweir_lab::experiment::{Error, Experiment, Inputs, Progress, Silent, Watching, choose};
use ndnweir_lab::results::Run;
use ndnweir_scenario::{self as scenario, Scenario};
use ndnweir_sim::Keeper;
use ndnweir_state::{Value, Writer};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Keeps the state whenever it was asked twice as often as the last time: the last is of the second half of the run.
#[derive(Default)]
struct Doubling {
    asked: u64,
    kept: Option<Vec<u8>>,
}

impl Keeper for Doubling {
    fn asked_every(&self) -> u64 {
        16
    }

    fn wants(&mut self, _: bool) -> bool {
        self.asked += 1;
        self.asked.is_power_of_two()
    }

    fn keep(&mut self, _: Time, state: Vec<u8>) {
        self.kept = Some(state);
    }
}

fn bytes(run: &Run) -> Vec<u8> {
    let mut to = Writer::default();
    run.write(&mut to);
    to.into_bytes()
}

/// On so many threads.
fn on<'a>(threads: usize) -> Watching<'a> {
    Watching { threads, force_threads: threads > 1, ..Watching::default() }
}

/// Of the first number of threads on the second.
const THREADS: [[usize; 2]; 3] = [[2, 1], [1, 2], [2, 3]];

/// Compares a run that goes on with one that does not, on one thread, and on those that turn `turn` has.
fn resumes(scenario: &Scenario, scheme: &Scheme, turn: usize) {
    let experiment =
        Experiment { scenario: scenario.clone(), schemes: vec![], seeds: vec![], events: vec!["switch".into()] };
    let (inputs, stop) = (Inputs::new(scenario), AtomicBool::new(false));
    let mut keeper = Doubling::default();
    let watching = Watching { keeper: Some(&mut keeper), ..Watching::default() };
    let whole = experiment.run_one(&inputs, scheme, 5, &stop, watching).unwrap().unwrap();
    let state = keeper.kept.expect("there are more than 16 events");
    let watching = Watching { resume: Some(&state), ..Watching::default() };
    let resumed = experiment.run_one(&inputs, scheme, 5, &stop, watching).unwrap().unwrap();
    let what = format!("{} under {}", scenario.name, scheme.name);
    assert_eq!(format!("{:?}", whole.outcome), format!("{:?}", resumed.outcome), "{what}");
    assert!(bytes(&whole.run) == bytes(&resumed.run), "{what}: the metrics differ");
    let threads = THREADS[turn % THREADS.len()];
    let [kept, resumed] = threads;
    let mut keeper = Doubling::default();
    let watching = Watching { keeper: Some(&mut keeper), ..on(kept) };
    let run = experiment.run_one(&inputs, scheme, 5, &stop, watching).unwrap().unwrap().run;
    assert!(bytes(&whole.run) == bytes(&run), "{what}, {threads:?} threads: the metrics of who is kept differ");
    let mut again = Doubling::default();
    let state = keeper.kept.expect("there are more than 16 events");
    let watching = Watching { keeper: Some(&mut again), resume: Some(&state), ..on(resumed) };
    let run = experiment.run_one(&inputs, scheme, 5, &stop, watching).unwrap().unwrap().run;
    assert!(bytes(&whole.run) == bytes(&run), "{what}, {threads:?} threads: the metrics differ");
}

#[test]
fn every_shipped_scenario_resumes_under_its_schemes() {
    let all: Vec<(Scenario, Scheme)> = (scenario::shipped().iter())
        .flat_map(|shipped| {
            let scenario = scenario::load(shipped.name, &[] as &[&str]).unwrap();
            let schemes = choose(&scenario, &[]).unwrap();
            schemes.into_iter().map(move |scheme| (scenario.clone(), scheme))
        })
        .collect();
    assert!(all.len() > 12);
    all.par_iter().enumerate().for_each(|(turn, (scenario, scheme))| resumes(scenario, scheme, turn));
}

#[test]
fn every_named_scheme_resumes_where_there_are_two_paths() {
    let scenario = scenario::load("two-paths", &["run.duration=6s", "run.warm-up=1s"]).unwrap();
    let schemes: Vec<Scheme> = Scheme::names().map(|name| Scheme::named(name).unwrap()).collect();
    assert!(schemes.len() > 30);
    schemes.par_iter().enumerate().for_each(|(turn, scheme)| resumes(&scenario, scheme, turn));
}

/// Stops the work once a run has covered half of its time.
struct Half<'a>(&'a AtomicBool);

impl Progress for Half<'_> {
    fn advanced(&self, run: usize, fraction: f64) {
        if run == 1 && fraction > 0.5 {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn experiment(overrides: &[&str]) -> Experiment {
    let overrides = [&["run.duration=4s", "run.warm-up=1s"], overrides].concat();
    let scenario = scenario::load("dumbbell", &overrides).unwrap();
    let schemes = choose(&scenario, &["cubic".into()]).unwrap();
    Experiment { scenario, schemes, seeds: vec![1, 2], events: Vec::new() }
}

fn checkpoints(folder: &Path, engine: &str) -> Checkpoints {
    Checkpoints::new(folder.to_path_buf(), Duration::from_secs(3600), engine.into(), true)
}

/// Runs until the second of two runs has come to its half; the first file is of one that ended, the second of one that did
/// not.
fn interrupted(folder: &Path) -> [PathBuf; 2] {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let stop = AtomicBool::new(false);
    let partial =
        pool.install(|| experiment(&[]).run_kept(&Half(&stop), &stop, Some(&checkpoints(folder, "1.0 x")), 0)).unwrap();
    assert_eq!((partial.partial, partial.runs.len()), (true, 1));
    ["cubic-1.checkpoint", "cubic-2.checkpoint"].map(|name| folder.join(name))
}

fn resume(folder: &Path, engine: &str, overrides: &[&str]) -> Result<Vec<Run>, Error> {
    let stop = AtomicBool::new(false);
    experiment(overrides).run_kept(&Silent, &stop, Some(&checkpoints(folder, engine)), 0).map(|all| all.runs)
}

#[test]
fn an_experiment_goes_on_with_what_was_kept_and_a_run_that_ended_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let whole = experiment(&[]).run(&Silent, &AtomicBool::new(false)).unwrap().runs;
    interrupted(folder.path());
    let counted = std::sync::Mutex::new(Vec::new());
    struct First<'a>(&'a std::sync::Mutex<Vec<(usize, f64)>>);
    impl Progress for First<'_> {
        fn advanced(&self, run: usize, fraction: f64) {
            let mut all = self.0.lock().unwrap();
            if all.iter().all(|(known, _)| *known != run) {
                all.push((run, fraction));
            }
        }
    }
    let kept = checkpoints(folder.path(), "1.0 x");
    let resumed = experiment(&[]).run_kept(&First(&counted), &AtomicBool::new(false), Some(&kept), 0).unwrap().runs;
    for (whole, resumed) in whole.iter().zip(&resumed) {
        assert!(bytes(whole) == bytes(resumed));
    }
    let mut counted = counted.into_inner().unwrap();
    counted.sort_by_key(|(run, _)| *run);
    assert_eq!(counted[0], (0, 1.0), "it had ended");
    assert!(counted[1].1 > 0.5, "it had come half-way");
    assert!(kept.problems().is_empty());
    kept.clear().unwrap();
    assert!(!folder.path().exists());
}

#[test]
fn a_file_that_was_cut_or_in_which_a_bit_was_changed_gives_one_error_before_any_run() {
    let folder = tempfile::tempdir().unwrap();
    for file in interrupted(folder.path()) {
        let good = fs::read(&file).unwrap();
        let step = good.len() / 40;
        let cut = (0..good.len()).step_by(step).map(|length| good[..length].to_vec());
        let flipped = (0..good.len()).step_by(step).map(|at| {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            bytes
        });
        for bytes in cut.chain(flipped) {
            fs::write(&file, bytes).unwrap();
            let error = resume(folder.path(), "1.0 x", &[]).unwrap_err().to_string();
            let name = file.file_name().unwrap().to_string_lossy();
            assert!(error.contains(&*name) && error.ends_with("delete it: its run then begins anew"), "{error}");
        }
        fs::write(&file, good).unwrap();
    }
    resume(folder.path(), "1.0 x", &[]).unwrap();
}

#[test]
fn what_belongs_to_another_program_scenario_or_scheme_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    interrupted(folder.path());
    let error = resume(folder.path(), "1.0 y", &[]).unwrap_err().to_string();
    assert!(error.contains("another program (version 1.0"), "{error}");
    let error = resume(folder.path(), "1.0 x", &["link.R1-R2.rate=3Mbps"]).unwrap_err().to_string();
    assert!(
        error.contains("another scenario, or with other changes to it; resume with what it was started with"),
        "{error}"
    );
    let mut other = experiment(&[]);
    other.schemes = vec![Scheme::resolve("cubic", &serde_json::json!({ "base": "cubic", "consumer": "bic" })).unwrap()];
    let kept = checkpoints(folder.path(), "1.0 x");
    let error = other.run_kept(&Silent, &AtomicBool::new(false), Some(&kept), 0).unwrap_err().to_string();
    assert!(error.contains("another scheme, or with other parameters of it"), "{error}");
}

#[test]
fn runs_go_on_where_nothing_can_be_written_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let kept = Checkpoints::new(file, Duration::ZERO, "1.0 x".into(), false);
    let whole = experiment(&[]).run_kept(&Silent, &AtomicBool::new(false), Some(&kept), 0).unwrap();
    assert!(!whole.partial);
    assert!(kept.problems().iter().any(|problem| problem.contains("check that the folder is writable")));
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_checkpoint_is_replaced_and_what_it_leads_to_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, victim) = (folder.path().join("kept"), folder.path().join("victim"));
    fs::create_dir(&kept).unwrap();
    fs::write(&victim, "mine").unwrap();
    let name = format!(".cubic-1.checkpoint.new-{}", std::process::id());
    for name in ["cubic-1.checkpoint", "cubic-2.checkpoint", &name] {
        std::os::unix::fs::symlink(&victim, kept.join(name)).unwrap();
    }
    let files = Checkpoints::new(kept.clone(), Duration::from_secs(3600), "1.0 x".into(), false);
    experiment(&[]).run_kept(&Silent, &AtomicBool::new(false), Some(&files), 0).unwrap();
    assert!(files.problems().is_empty());
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    assert!(fs::symlink_metadata(kept.join("cubic-1.checkpoint")).unwrap().is_file());
    files.clear().unwrap();
    assert!(victim.exists() && !kept.exists());
}

#[test]
fn players_resume_on_demand_live_and_from_a_catalogue() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../judge/scenarios/player.toml");
    let usual = ["run.duration=14s", "run.warm-up=2s", "consumer.V.start=3s", "link.R1-R2.rate=3Mbps"];
    let kinds: [&[&str]; 3] = [
        &["consumer.V.rule=festive"],
        &["consumer.V.rule=bba-0", "consumer.V.live=true", "consumer.V.chunk=1s"],
        &["consumer.V.rule=festive", "consumer.V.catalogue=2", "consumer.V.length=4s"],
    ];
    kinds.par_iter().enumerate().for_each(|(turn, kind)| {
        let scenario = scenario::load(file, &[&usual[..], kind].concat()).unwrap();
        resumes(&scenario, &Scheme::named("aimd").unwrap(), turn);
    });
}
