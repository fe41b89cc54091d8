//! Ctrl-C leaves complete, readable partial results or none at all.
#![cfg(unix)]

mod common;

use common::{contents, run, summary};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::tempdir;

/// Longest wait for anything here; far beyond what a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(dir: &Path, line: &str) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"))
        .current_dir(dir)
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// What the command left when it ended; kills it and fails if it does not end.
fn end(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the command goes on after an interrupt");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn an_interrupted_comparison_leaves_the_complete_runs_flagged_as_partial() {
    let dir = tempdir().unwrap();
    // Runs of a few tenths of a second, more of them than end in a minute: when the signal comes, some are complete.
    let line = "sim dumbbell --scheme aimd --set run.duration=5s --seeds 10000 --threads 2 --out out";
    let child = start(dir.path(), line);
    std::thread::sleep(Duration::from_secs(5));
    interrupt(&child);
    let output = end(child);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("interrupted"), "{text}");
    if !dir.path().join("out").exists() {
        // A machine so slow that no run was complete.
        assert!(text.contains("before any run was complete"), "{text}");
        assert!(contents(dir.path()).is_empty());
        return;
    }
    let kept = summary(&dir.path().join("out"));
    assert_eq!(kept["partial"], true);
    let runs = kept["runs"].as_array().unwrap();
    assert!(!runs.is_empty() && runs.len() < 10_000, "{}", runs.len());
    assert!(runs.iter().all(|run| run["partial"] == false && run["measured_s"] == 5.0), "only whole runs are kept");
    let page = std::fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.to_lowercase().contains("partial") || page.contains("interrupted"), "the report does not say so");
    let before = contents(dir.path());
    run(dir.path(), "report out").success();
    assert!(before == contents(dir.path()), "the folder is whole: drawing again changes nothing");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["out"], "nothing temporary is left");
}

#[test]
fn an_interrupt_before_any_run_is_complete_writes_nothing() {
    let dir = tempdir().unwrap();
    let child = start(dir.path(), "sim dumbbell --scheme aimd,cubic --set run.duration=50000s --json --out out");
    std::thread::sleep(Duration::from_secs(2));
    interrupt(&child);
    let output = end(child);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "error: interrupted before any run was complete");
    assert!(output.stdout.is_empty());
    assert!(contents(dir.path()).is_empty());
}

#[test]
fn an_interrupt_leaves_older_results_as_they_were_when_there_is_nothing_new() {
    let dir = tempdir().unwrap();
    common::short(dir.path(), "out", "--scheme aimd").success();
    let before = contents(dir.path());
    let child = start(dir.path(), "sim dumbbell --scheme aimd --set run.duration=50000s --out out");
    std::thread::sleep(Duration::from_secs(2));
    interrupt(&child);
    assert_eq!(end(child).status.code(), Some(1));
    assert!(before == contents(dir.path()));
}
