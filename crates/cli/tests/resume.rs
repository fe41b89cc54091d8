//! Runs that are killed or interrupted go on from their checkpoints to the same results.
#![cfg(unix)]

mod common;

use common::process::{Running, command};
use common::{contents, ndnweir, rejects, run};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::tempdir;

/// Three runs that take about a second each.
const RUNS: &str = "sim two-paths --scheme pcon,hobhis,cubic --set run.duration=150s --threads 1 --json";

fn start(dir: &Path, line: &str) -> Running {
    Running::start(&mut command(dir, "none", line))
}

/// Waits until there is a whole checkpoint.
fn wait(folder: &Path) {
    let begin = Instant::now();
    let is_there = || {
        fs::read_dir(folder).is_ok_and(|mut all| {
            all.any(|entry| entry.is_ok_and(|entry| entry.path().extension().is_some_and(|end| end == "checkpoint")))
        })
    };
    while !is_there() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn runs_that_are_killed_again_and_again_end_with_the_results_of_an_uninterrupted_command() {
    let dir = tempdir().unwrap();
    let whole = run(dir.path(), &format!("{RUNS} --out whole --deliveries whole.csv")).success();
    let line = format!("{RUNS} --out out --deliveries out.csv --checkpoint every=100ms");
    let checkpoints = dir.path().join("out.checkpoints");
    let mut child = start(dir.path(), &line);
    for _ in 0..3 {
        wait(&checkpoints);
        std::thread::sleep(Duration::from_millis(300));
        child.kill();
        assert!(!dir.path().join("out").exists(), "nothing is written before the end");
        child = start(dir.path(), &format!("{line} --resume"));
    }
    let end = child.end();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    assert!(contents(&dir.path().join("whole")) == contents(&dir.path().join("out")), "the results differ");
    assert!(common::stdout(&whole).into_bytes() == end.stdout, "the printed document differs");
    let trace = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert!(trace("whole.csv") == trace("out.csv"), "the traces differ");
    assert!(!checkpoints.exists(), "what is not needed any more is gone");
}

#[test]
fn ctrl_c_keeps_the_runs_and_says_how_to_go_on() {
    let dir = tempdir().unwrap();
    let line = "sim dumbbell --scheme aimd,cubic --set run.duration=700s --threads 1 --quiet";
    run(dir.path(), &format!("{line} --out whole")).success();
    // The only checkpoint is that of the signal.
    let child = start(dir.path(), &format!("{line} --checkpoint every=1h"));
    std::thread::sleep(Duration::from_millis(500));
    child.signal("INT");
    let end = child.end();
    assert_eq!(end.code, Some(1), "{}", end.stderr);
    let words = end.stderr.split("go on with: ndnweir ").nth(1).expect("it says how").trim();
    assert!(words.ends_with("--resume results/dumbbell"), "{words}");
    let known = contents(dir.path());
    assert!(known.keys().any(|path| path.starts_with("results/dumbbell.checkpoints")), "{:?}", known.keys());
    // Begun anew by accident: nothing is lost.
    let arguments: Vec<&str> = line.split(' ').chain(["--checkpoint", "every=1h"]).collect();
    rejects(dir.path(), &arguments, &["results/dumbbell.checkpoints: holds runs that were interrupted", "--resume"]);
    ndnweir(dir.path()).args(words.split(' ')).arg("--quiet").assert().success();
    assert!(contents(&dir.path().join("whole")) == contents(&dir.path().join("results/dumbbell")));
    assert!(!dir.path().join("results/dumbbell.checkpoints").exists());
}

#[test]
fn cases_are_kept_each_for_itself() {
    let dir = tempdir().unwrap();
    let line = "sim dumbbell --scheme aimd --set run.duration=200s --threads 1 --quiet \
                --vary link.R1-R2.queue=10kB,20kB,40kB";
    run(dir.path(), &format!("{line} --out whole")).success();
    let mut child = start(dir.path(), &format!("{line} --out out --checkpoint every=50ms"));
    wait(&dir.path().join("out.checkpoints"));
    std::thread::sleep(Duration::from_millis(400));
    child.kill();
    run(dir.path(), &format!("{line} --resume out")).success();
    assert!(contents(&dir.path().join("whole")) == contents(&dir.path().join("out")));
    assert!(!dir.path().join("out.checkpoints").exists());
}

#[test]
fn options_that_make_no_sense_are_rejected_and_a_damaged_checkpoint_is_named() {
    let dir = tempdir().unwrap();
    rejects(dir.path(), &["sim", "dumbbell", "--checkpoint", "5m"], &["write every= and a time"]);
    rejects(dir.path(), &["sim", "dumbbell", "--checkpoint", "every=5"], &["missing unit"]);
    rejects(dir.path(), &["sim", "dumbbell", "--checkpoint", "every=1ms"], &["at least 10ms"]);
    rejects(dir.path(), &["sim", "dumbbell", "--resume", "a", "--out", "b"], &["leave out --out"]);
    fs::create_dir(dir.path().join("out.checkpoints")).unwrap();
    fs::write(dir.path().join("out.checkpoints/aimd-1.checkpoint"), "ndnweir checkpoint\n").unwrap();
    let done = run(dir.path(), "sim dumbbell --scheme aimd --resume out").failure();
    let text = common::stderr(&done);
    assert!(
        text.contains("out.checkpoints/aimd-1.checkpoint: it is no checkpoint, or only the beginning of one"),
        "{text}"
    );
    assert!(text.contains("delete it: its run then begins anew"), "{text}");
}

#[test]
fn a_command_that_resumes_where_nothing_is_kept_says_so_and_begins_anew() {
    let dir = tempdir().unwrap();
    let done = run(dir.path(), "sim dumbbell --scheme aimd --set run.duration=2s --out out --resume").success();
    let text = common::stdout(&done);
    assert!(text.contains("note: out.checkpoints: nothing is kept there; all runs began anew"), "{text}");
    assert!(!dir.path().join("out.checkpoints").exists());
}
