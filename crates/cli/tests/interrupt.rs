//! Ctrl-C leaves complete, readable partial results or none at all.
#![cfg(unix)]

mod common;

use common::process::{Running, command};
use common::{contents, run, summary};
use std::path::Path;
use std::time::Duration;
use tempfile::tempdir;

fn start(dir: &Path, line: &str) -> Running {
    Running::start(&mut command(dir, "none", line))
}

#[test]
fn an_interrupted_comparison_leaves_the_complete_runs_flagged_as_partial() {
    let dir = tempdir().unwrap();
    // Runs of a few tenths of a second, more of them than end in a minute: when the signal comes, some are complete.
    let line = "sim dumbbell --scheme aimd --set run.duration=5s --seeds 10000 --threads 2 --out out";
    let child = start(dir.path(), line);
    std::thread::sleep(Duration::from_secs(5));
    child.signal("INT");
    let output = child.end();
    let text = output.stderr;
    assert_eq!(output.code, Some(1), "{text}");
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
    child.signal("INT");
    let output = child.end();
    assert_eq!(output.code, Some(1));
    assert_eq!(output.stderr.trim(), "error: interrupted before any run was complete");
    assert!(output.stdout.is_empty());
    assert!(contents(dir.path()).is_empty());
}

#[test]
fn an_interrupt_leaves_older_results_as_they_were_when_there_is_nothing_new() {
    let dir = tempdir().unwrap();
    common::short(dir.path(), "out", "--scheme aimd").success();
    let before = contents(dir.path());
    let child = start(dir.path(), "sim dumbbell --scheme aimd --set run.duration=50000s --out out --force");
    std::thread::sleep(Duration::from_secs(2));
    child.signal("INT");
    assert_eq!(child.end().code, Some(1));
    assert!(before == contents(dir.path()));
}
