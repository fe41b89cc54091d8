//! `ndnweir emulate` with its real processes. How fast this machine is decides how much arrives, so nothing of that is
//! asserted: an emulation checks its own packet accounting, or fails.
#![cfg(unix)]

mod common;

use common::{ndnweir, run, summary};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::tempdir;

/// Longest wait for anything here; far beyond what a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn an_emulated_dumbbell_is_compared_with_the_simulated_one() {
    let folder = tempdir().unwrap();
    let line = "emulate dumbbell --scheme bic --set run.duration=4s --set run.warm-up=1s --out out --json";
    let done = run(folder.path(), line).success();
    let document: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let row = &document["agreement"][0];
    assert_eq!(row["scheme"], "bic");
    let median = |what: &str, which: &str| row[what][which]["median"].as_f64().unwrap();
    // Counters that are read late hold a little more than their time allows.
    assert!(median("utilization", "emulated") > 0.0 && median("utilization", "emulated") < 1.1, "{row}");
    // Not faster than light: the round trip takes 60 ms, and a Data 0.9 ms on each of three links.
    assert!(median("delay_ms", "emulated") > 62.5, "{row}");
    assert_eq!(row["delay_ms"]["limit"], 0.15);
    assert!(row["within"].is_boolean());
    let schemes: Vec<&str> =
        document["runs"].as_array().unwrap().iter().map(|r| r["scheme"].as_str().unwrap()).collect();
    assert_eq!(schemes, ["bic", "bic emulated"]);
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("Simulation and emulation") && page.contains("mean delay, ms"));
    assert_eq!(summary(&folder.path().join("out")), document, "what is printed is what is stored");
    // No two emulated runs are the same: the same command is no reason to replace the results.
    let again = run(folder.path(), line).code(2);
    assert!(common::stderr(&again).contains("--force"), "{}", common::stderr(&again));
    run(folder.path(), "report out").success();
    assert_eq!(fs::read_to_string(folder.path().join("out/report.html")).unwrap(), page, "drawn again, it is the same");
}

/// On the dumbbell Data cross two routers and two hosts, and without a loss nothing but what routers told can have cut a
/// window of `e2e-aqm`: the queue is longer than slow start needs.
#[test]
fn what_routers_tell_crosses_two_forwarders_to_a_consumer_that_runs_codel() {
    let folder = tempdir().unwrap();
    let line =
        "emulate dumbbell --scheme e2e-aqm --set run.duration=5s --set link.*.queue=2000packets --out out --json";
    let done = run(folder.path(), line).success();
    let document: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let emulated = &document["runs"][1];
    assert_eq!(emulated["scheme"], "e2e-aqm emulated");
    for consumer in emulated["consumers"].as_array().unwrap() {
        let count = |what: &str| consumer[what].as_u64().unwrap();
        assert!(count("segments") > 0 && count("decreases") > count("retransmissions"), "{consumer}");
    }
}

/// A switch with the bottleneck below NDN, a rate that changes, a marker of a link's own, a node that crashes, losses,
/// and every kind of consumer.
const EVERYTHING: &str = r#"
[run]
duration = "4s"
cache = "20 packets"

[link-defaults]
rate = "10Mbps"
delay = "2ms"

[[node]]
names = ["C1", "C2", "R", "P", "Q"]

[[node]]
name = "S"
kind = "switch"

[[link]]
ends = ["C1", "R"]
loss = "10%"

[[link]]
ends = ["C2", "R"]

[[link]]
ends = ["R", "S"]

[[link]]
ends = ["S", "P"]
rate = "5Mbps"
queue = "20 packets"

[[link]]
ends = ["P", "Q"]
marker = { name = "codel", target = "1ms" }

[[producer]]
name = "P"
node = "P"
prefix = "/p"

[[consumer]]
name = "fetch"
node = "C1"
prefix = "/p/fetch"

[[consumer]]
name = "object"
node = "C2"
prefix = "/p/object"
kind = "object"
packets = 20

[[consumer]]
name = "stream"
node = "C1"
prefix = "/p/stream"
kind = "stream"
rate = "50/s"
retries = 1

[[consumer]]
name = "zipf"
node = "C2"
prefix = "/p/zipf"
kind = "zipf"
rate = "50/s"
catalogue = 100
stop = "3s"

[[event]]
at = "1s"
action = "link-rate"
link = "R-C2"
rate = "2Mbps"

[[event]]
at = "2s"
action = "node-crash"
node = "C2"

[[event]]
at = "2500ms"
action = "node-restart"
node = "C2"
"#;

#[test]
fn whatever_can_be_emulated_is_and_nothing_is_lost_unnoticed() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("everything.toml"), EVERYTHING).unwrap();
    let done = run(folder.path(), "emulate everything.toml --scheme hbhcm --out out --json").success();
    let document: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let emulated = &document["runs"][1];
    assert_eq!(emulated["scheme"], "hbhcm emulated");
    let named = |list: &str, name: &str| -> Value {
        let list = emulated[list].as_array().unwrap();
        list.iter().find(|entry| entry["name"] == name).unwrap().clone()
    };
    for consumer in ["fetch", "object", "stream", "zipf"] {
        assert!(named("consumers", consumer)["segments"].as_u64().unwrap() > 0, "{consumer}: {emulated}");
    }
    assert!(named("links", "C1>R")["drops"]["loss"].as_u64().unwrap() > 0, "{emulated}");
    let below = named("links", "S>P");
    assert!(below["utilization_interests"].as_f64().unwrap() > 0.0 && below["utilization_data"] == 0.0, "{below}");
    assert_eq!(named("links", "P>Q")["utilization"], 0.0);
}

/// Two flows, a short way and a detour; the controller is killed at 3 s, its stand-by starts at 4 s, and the first one
/// starts again at 5 s; messages take 20 ms. Who led is seen from the switches that routers carried out.
#[test]
fn a_real_controller_leads_emulated_forwarders_and_so_does_its_stand_by() {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/ndnsieve/failure.toml");
    let line = "--scheme ndnsieve --set run.duration=9s --set control.fails=3s --set control.stand-by=4s \
                --set control.returns=5s --set control.delay=20ms --out out --json";
    let times = |run: &Value| -> Vec<f64> {
        let all = run["switches"].as_array().cloned().unwrap_or_default();
        all.iter().map(|switch| switch["at_s"].as_f64().unwrap()).collect()
    };
    let between = |times: &[f64], from: f64, to: f64| times.iter().filter(|at| (from..to).contains(at)).count();
    // On a busy machine links may never be so full that anybody has to switch.
    for attempt in 0.. {
        let folder = tempdir().unwrap();
        let done =
            ndnweir(folder.path()).arg("emulate").arg(&scenario).args(line.split_whitespace()).assert().success();
        let document: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
        let (simulated, emulated) = (&document["runs"][0], &document["runs"][1]);
        assert_eq!(emulated["scheme"], "ndnsieve emulated");
        for consumer in emulated["consumers"].as_array().unwrap() {
            assert!(consumer["segments"].as_u64().unwrap() > 0, "{consumer}");
        }
        let row = &document["agreement"][0]["switches"];
        assert!(row["all"].as_u64().unwrap() > 0 && row["within"].is_boolean(), "{row}");
        let (simulated, emulated) = (times(simulated), times(emulated));
        for times in [&simulated, &emulated] {
            // An order may be on its way when the controller is killed.
            assert_eq!(between(times, 3.2, 4.0), 0, "nobody leads: {times:?}");
        }
        let both_lead = |times: &[f64]| between(times, 0.0, 3.0) > 0 && between(times, 4.0, 9.0) > 0;
        assert!(both_lead(&simulated), "the first one leads, then the stand-by: {simulated:?}");
        if both_lead(&emulated) {
            return;
        }
        assert!(attempt < 3, "the first one leads, then the stand-by: {emulated:?}");
    }
}

/// B is as near to the producer P as A is: with `all` no Interest would go from one to the other.
#[test]
fn real_packets_take_the_ways_that_planned_routing_offers() {
    let folder = tempdir().unwrap();
    let triangle = r#"
        run = { duration = "3s", warm-up = "1s", schemes = ["spread"] }
        routing = { mode = "planned" }
        link-defaults = { rate = "5Mbps", delay = "5ms", queue = "100 packets" }
        node = [{ names = ["P", "A", "B"] }]
        link = [{ ends = ["A", "P"] }, { ends = ["B", "P"] }, { ends = ["A", "B"] }]
        producer = [{ name = "P", node = "P", prefix = "/t" }]
        consumer = [{ name = "C", node = "B", prefix = "/t/object" }]
        scheme.spread = { base = "pcon", strategy = "random" }
    "#;
    fs::write(folder.path().join("triangle.toml"), triangle).unwrap();
    let done = run(folder.path(), "emulate triangle.toml --out out --json").success();
    let document: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    for run in document["runs"].as_array().unwrap() {
        let links = run["links"].as_array().unwrap();
        let data = |name: &str| links.iter().find(|link| link["name"] == name).unwrap()["utilization_data"].as_f64();
        let [direct, around, back] = ["P>B", "A>B", "B>A"].map(|name| data(name).unwrap());
        assert!(direct > 0.0 && around > 0.0 && back == 0.0, "{}: {direct} {around} {back}", run["scheme"]);
    }
}

#[test]
fn what_cannot_be_emulated_is_rejected_with_a_remedy_before_anything_starts() {
    for (change, wanted) in [
        ("consumer.C1.prefix=/prefix/B --set consumer.C1.kind=object --set consumer.C1.packets=9", "another prefix"),
        (
            "consumer.C1.prefix=/prefix/B --set consumer.C1.kind=zipf --set consumer.C1.catalogue=9 --set consumer.C1.rate=1/s",
            "another prefix",
        ),
        ("routing.mode=none", "choose another mode"),
        ("control.loss=1% --scheme ndnsieve", "set control.loss=0"),
    ] {
        let folder = tempdir().unwrap();
        let done = run(folder.path(), &format!("emulate dumbbell --set {change}")).code(2);
        let error = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(error.contains(wanted), "{change}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_process_without_a_task_says_so_and_ends() {
    let folder = tempdir().unwrap();
    let done = ndnweir(folder.path()).arg("emulation-role").write_stdin("nonsense\n").assert().code(1);
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("expected"));
}

/// An emulation that would continue for ten minutes, and its processes once all are there.
fn long_one(folder: &Path) -> (Child, Vec<u32>) {
    let mut emulation = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"))
        .current_dir(folder)
        .args("emulate dumbbell --scheme bic --set run.duration=10min --out out".split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    loop {
        // Six forwarders, two producers, two consumers.
        let processes = children(emulation.id());
        if processes.len() == 10 {
            return (emulation, processes);
        }
        if start.elapsed() > PATIENCE || emulation.try_wait().unwrap().is_some() {
            let _ = emulation.kill();
            panic!("the processes did not come up: {:?}", emulation.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The children of a process, in the order in which they were started.
fn children(parent: u32) -> Vec<u32> {
    let stat = |entry: &fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // After the name in brackets: state and parent.
        let of: u32 = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        (of == parent).then_some(pid)
    };
    let mut found: Vec<u32> = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| stat(&entry)).collect();
    found.sort_unstable();
    found
}

fn signal(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

fn end(mut emulation: Child) -> Output {
    let start = Instant::now();
    while emulation.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            emulation.kill().unwrap();
            panic!("the emulation continues");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    emulation.wait_with_output().unwrap()
}

#[test]
fn an_interrupt_ends_every_process_and_writes_nothing() {
    let folder = tempdir().unwrap();
    let (emulation, processes) = long_one(folder.path());
    signal("-INT", emulation.id());
    let output = end(emulation);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("interrupted before any run was complete"), "{error}");
    assert!(processes.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()), "{processes:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_process_that_dies_ends_the_emulation_with_its_name() {
    let folder = tempdir().unwrap();
    let (emulation, processes) = long_one(folder.path());
    signal("-KILL", processes[2]);
    let output = end(emulation);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("seed 1") && error.contains("signal 9"), "{error}");
    assert!(
        ["forwarder of node", "producer of /prefix", "consumer C"].iter().any(|name| error.contains(name)),
        "{error}"
    );
    assert!(processes.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()), "{processes:?}");
}
