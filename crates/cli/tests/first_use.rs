//! What a new user of the simulator meets: long runs, results that stay, notes, events, mistakes.

use crate::common::{contents, ndnweir, rejects, repository, run, short, stderr, stdout, summary};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::tempdir;

const EVENTS: &str = r#"
[run]
duration = "6s"
[[node]]
names = ["C", "R", "P"]
[link-defaults]
rate = "10Mbps"
delay = "5ms"
[[link]]
ends = ["C", "R"]
[[link]]
ends = ["R", "P"]
[[producer]]
name = "P"
node = "P"
prefix = "/p"
[[consumer]]
name = "C"
node = "C"
prefix = "/p"
[control]
fails = "5s"
[[event]]
at = "4s"
action = "node-crash"
node = "R"
[[event]]
at = "2s"
action = "link-down"
link = "R-P"
[[event]]
at = "3s"
action = "link-up"
link = "R-P"
[[event]]
at = "3500ms"
action = "link-rate"
link = "P-R"
rate = "4Mbps"
direction = "forward"
"#;

#[test]
fn a_run_of_more_than_twenty_thousand_bins_keeps_all_its_results_and_says_how() {
    let dir = tempdir().unwrap();
    let line = "sim dumbbell --scheme aimd --set run.duration=5s --set run.sample=200us --out out";
    let text = stdout(&run(dir.path(), line).success());
    assert_eq!(text.matches("there is one every 400us").count(), 1, "{text}");
    let out = dir.path().join("out");
    assert!(out.join("report.html").is_file());
    let document = summary(&out);
    assert_eq!(document["scenario"]["bin_s"], 0.0004);
    let network = fs::read_to_string(out.join("series/network.csv")).unwrap();
    assert_eq!(network.lines().count(), 1 + 12_500);
    // What was stored reads back and draws the same.
    let before = contents(&out);
    run(dir.path(), "report out").success();
    assert!(before == contents(&out));
}

#[test]
fn json_is_the_document_of_summary_json() {
    let dir = tempdir().unwrap();
    let done = short(dir.path(), "out", "--scheme pcon,cubic --seeds 2 --json").success();
    assert_eq!(stdout(&done), fs::read_to_string(dir.path().join("out/summary.json")).unwrap());
    let document = summary(&dir.path().join("out"));
    assert!(document["aggregates"].is_array() && document["repeat"]["command"].is_string());
}

#[test]
fn a_simulation_says_what_was_assumed_of_a_topology_as_validation_does() {
    let dir = tempdir().unwrap();
    let path = repository("scenarios/topologies/geant.graphml");
    let file = path.to_str().unwrap();
    let valid = stdout(&ndnweir(dir.path()).args(["validate", file]).assert().success());
    let sim = ["sim", file, "--scheme", "bic", "--set", "run.duration=100ms", "--out", "out"];
    let said = stdout(&ndnweir(dir.path()).args(sim).assert().success());
    for note in ["22 links have no rate: 10Mbps assumed for NL-BE, NL-DK,", "two thirds of the speed of light"] {
        assert!(valid.contains(note), "{valid}");
        assert!(said.contains(note), "{said}");
        let notes = summary(&dir.path().join("out"))["scenario"]["notes"].to_string();
        assert!(notes.contains(note), "{notes}");
        assert!(fs::read_to_string(dir.path().join("out/report.html")).unwrap().contains(note));
    }
    // What is given is not assumed.
    let given = ["validate", file, "--set", "link-defaults.rate=1Gbps"];
    assert!(!stdout(&ndnweir(dir.path()).args(given).assert().success()).contains("have no rate"));
}

#[test]
fn every_event_is_in_the_report_the_document_and_the_text() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), EVENTS).unwrap();
    let text = stdout(&run(dir.path(), "sim x.toml --scheme aimd").success());
    let document = summary(&dir.path().join("results/x"));
    let events = document["scenario"]["events"].as_array().unwrap();
    let what: Vec<_> = events.iter().map(|e| (e["at_s"].as_f64().unwrap(), e["what"].as_str().unwrap())).collect();
    let expected =
        [(2.0, "link-down"), (3.0, "link-up"), (3.5, "link-rate"), (4.0, "node-crash"), (5.0, "planner-fails")];
    assert_eq!(what, expected);
    let page = fs::read_to_string(dir.path().join("results/x/report.html")).unwrap();
    for event in ["link R-P fails", "link R-P works again", "has a rate of 4Mbps from P to R", "node R crashes"] {
        assert!(page.contains(event) && text.contains(event), "{event}: {text}");
    }
    // Five lines in each panel over time.
    let panels = page.matches("2 s: link R-P fails</title>").count();
    assert!(panels >= 3 && page.matches("class=\"event\"").count() == 5 * panels, "{panels}");
}

#[test]
fn the_same_command_replaces_its_results_and_another_command_does_not() {
    let dir = tempdir().unwrap();
    let results = |name: &str| summary(&dir.path().join("results").join(name))["runs"][0]["scheme"].clone();
    let line = |scheme: &str, more: &str| format!("sim dumbbell --set run.duration=1s --scheme {scheme} {more}");
    run(dir.path(), &line("aimd", "")).success();
    let again = stdout(&run(dir.path(), &line("aimd", "")).success());
    assert!(again.contains("replaces earlier results") && !dir.path().join("results/dumbbell-2").exists(), "{again}");
    let other = stdout(&run(dir.path(), &line("cubic", "")).success());
    assert!(other.contains("report: results/dumbbell-2/report.html"), "{other}");
    assert_eq!((results("dumbbell"), results("dumbbell-2")), ("aimd".into(), "cubic".into()));
    run(dir.path(), &line("cubic", "")).success();
    run(dir.path(), &line("bic", "")).success();
    assert_eq!(results("dumbbell-3"), "bic");
    run(dir.path(), &line("pcon", "--force")).success();
    assert_eq!(results("dumbbell"), "pcon");
    assert_eq!(fs::read_dir(dir.path().join("results")).unwrap().count(), 3);
}

#[test]
fn a_folder_that_the_user_names_is_replaced_only_by_force_or_the_same_command() {
    let dir = tempdir().unwrap();
    short(dir.path(), "out", "--scheme aimd").success();
    short(dir.path(), "out", "--scheme aimd").success();
    let line = ["sim", "dumbbell", "--set", "run.duration=50000s", "--scheme", "bic", "--out", "out"];
    rejects(dir.path(), &line, &["out: holds the results of `ndnweir sim dumbbell", "--force"]);
    short(dir.path(), "out", "--scheme bic --force").success();
    assert_eq!(summary(&dir.path().join("out"))["runs"][0]["scheme"], "bic");
}

#[test]
fn a_trace_that_cannot_be_written_takes_nothing_else_with_it() {
    let dir = tempdir().unwrap();
    let done = short(dir.path(), "out", "--scheme aimd --trace /dev/full").code(1);
    assert!(stderr(&done).contains("/dev/full"), "{}", stderr(&done));
    assert!(stdout(&done).contains("goodput Mbit/s") && stdout(&done).contains("out/report.html"), "{}", stdout(&done));
    assert!(dir.path().join("out/report.html").is_file());
    let done = short(dir.path(), "other", "--scheme aimd --force --qlog /dev/full").code(1);
    assert!(stderr(&done).contains("/dev/full: No space left on device"), "{}", stderr(&done));
    if !cfg!(feature = "perfetto") {
        return;
    }
    let done = short(dir.path(), "other", "--scheme aimd --force --perfetto /dev/full").code(1);
    assert!(stderr(&done).contains("/dev/full"), "{}", stderr(&done));
    let done = short(dir.path(), "third", "--scheme aimd --perfetto no/such/folder").code(2);
    assert!(stderr(&done).contains("--perfetto no/such/folder: check that the folder exists"), "{}", stderr(&done));
    assert!(!dir.path().join("third").exists());
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_takes_no_result_with_it() {
    let dir = tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin!("ndnweir").display().to_string();
    // Folders can be made, but no file may have a byte.
    let sim = |more: &str| {
        let line = format!(
            "trap '' XFSZ; ulimit -f 0; exec '{program}' sim dumbbell --scheme aimd --set run.duration=2s --out out {more}"
        );
        assert_cmd::Command::new("bash").args(["-c", &line]).current_dir(dir.path()).assert().code(1)
    };
    let done = sim("");
    assert!(stderr(&done).contains("summary.json"), "{}", stderr(&done));
    assert!(stdout(&done).contains("goodput Mbit/s") && !stdout(&done).contains("report:"), "{}", stdout(&done));
    let document: Value = serde_json::from_str(&stdout(&sim("--json"))).unwrap();
    assert_eq!(document["runs"][0]["scheme"], "aimd");
    assert!(contents(dir.path()).is_empty());
}

#[cfg(unix)]
#[test]
fn files_that_are_too_large_take_no_smaller_ones_with_them() {
    let dir = tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin!("ndnweir").display().to_string();
    // No file may have more than 100 kB: the series have.
    let line = format!(
        "trap '' XFSZ; ulimit -f 100; exec '{program}' sim dumbbell --scheme aimd --set run.duration=10s --set run.sample=10ms --out out"
    );
    let done = assert_cmd::Command::new("bash").args(["-c", &line]).current_dir(dir.path()).assert().code(1);
    assert!(
        stderr(&done).contains("out/series/") && stderr(&done).contains("the others are there"),
        "{}",
        stderr(&done)
    );
    assert!(stdout(&done).contains("goodput Mbit/s"));
    assert_eq!(summary(&dir.path().join("out"))["runs"][0]["scheme"], "aimd");
    let there = contents(&dir.path().join("out"));
    assert!(!there.contains_key(Path::new("series/links.csv")) && there.len() > 5, "{:?}", there.keys());
}

#[test]
fn a_scheme_is_changed_with_one_override_and_run() {
    let dir = tempdir().unwrap();
    short(dir.path(), "plain", "--scheme pcon").success();
    short(dir.path(), "changed", "--set scheme.pcon.consumer.beta=0.7").success();
    let hash = |out: &str| summary(&dir.path().join(out))["runs"][0]["event_hash"].clone();
    assert_ne!(hash("plain"), hash("changed"));
    assert_eq!(summary(&dir.path().join("changed"))["runs"].as_array().unwrap().len(), 1);
    let idle = stdout(&short(dir.path(), "idle", "--scheme bic --set scheme.pcon.consumer.beta=0.7").success());
    assert!(idle.contains("scheme pcon is not run"), "{idle}");
}

#[test]
fn slips_are_answered_with_what_was_meant() {
    let dir = tempdir().unwrap();
    rejects(dir.path(), &["sim", "dumbbell", "-s", "pocn"], &["did you mean \"pcon\"?"]);
    rejects(dir.path(), &["explain", "codle"], &["did you mean \"codel\"?"]);
    rejects(dir.path(), &["sim", "dumbbell", "-s", ""], &["empty name", "all"]);
    rejects(dir.path(), &["sim", "dumbbell", "-s", "pcon,"], &["empty name"]);
}

#[test]
fn seeds_do_not_wrap() {
    let dir = tempdir().unwrap();
    let most = "18446744073709551615";
    for command in [Some("sim"), cfg!(feature = "network").then_some("emulate")].into_iter().flatten() {
        let line = [command, "dumbbell", "--scheme", "bic", "--seed", most, "--seeds", "3"];
        rejects(dir.path(), &line, &["--seed", "18446744073709551613"]);
    }
    short(dir.path(), "out", &format!("--scheme aimd --seed {most}")).success();
}
