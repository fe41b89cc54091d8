//! `ndnweir sim` as a user runs it: what it prints and what it leaves.

use crate::common::{self, contents, run, short, stderr, stdout, summary};
use serde_json::Value;
use std::fs;
use tempfile::tempdir;

/// Every key below `value`.
fn keys(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(table) => table.iter().flat_map(|(k, v)| [vec![k.as_str()], keys(v)].concat()).collect(),
        Value::Array(list) => list.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn json_is_one_document_of_the_promised_shape_and_nothing_else() {
    let dir = tempdir().unwrap();
    let done = short(dir.path(), "out", "--scheme pcon,cubic --json").success();
    assert_eq!(stderr(&done), "");
    let document: Value = serde_json::from_str(&stdout(&done)).expect("exactly one JSON document");
    assert_eq!(document["scenario"]["name"], "dumbbell");
    let total = document["optimum"]["total_mbps"].as_f64().expect("the dumbbell has an optimum");
    assert!((9.0..10.0).contains(&total), "{total}");
    let runs = document["runs"].as_array().unwrap();
    let schemes: Vec<_> = runs.iter().map(|run| run["scheme"].as_str().unwrap()).collect();
    assert_eq!(schemes, ["pcon", "cubic"]);
    for run in runs {
        assert_eq!(run["seed"], 1);
        assert!((0.5..=1.0).contains(&run["jain"].as_f64().unwrap()));
        assert!(run["loss_mbps"].is_number());
        let consumers = run["consumers"].as_array().unwrap();
        assert_eq!(consumers.iter().map(|c| c["name"].as_str().unwrap()).collect::<Vec<_>>(), ["C1", "C2"]);
        for consumer in consumers {
            assert!(consumer["goodput_mbps"].as_f64().unwrap() > 0.5);
            for part in ["mean", "p50", "p99", "max"] {
                let value = consumer["delay_ms"][part].as_f64().unwrap();
                assert!(value > 60.0, "{part} is {value}, below the base round trip");
            }
            assert!(consumer["delay_ms"]["sd"].as_f64().unwrap() > 0.0);
        }
        let links = run["links"].as_array().unwrap();
        assert_eq!(links.len(), 10, "five links, two directions each");
        for link in links {
            assert!(link["name"].is_string());
            assert!((0.0..=1.0).contains(&link["utilization"].as_f64().unwrap()));
            assert!(link["queue_ms"].as_f64().unwrap() >= 0.0);
        }
    }
}

#[test]
fn no_wall_time_and_no_trace_of_the_machine_is_in_the_json() {
    let dir = tempdir().unwrap();
    let first = short(dir.path(), "one", "--scheme pcon --json").success();
    let second = short(dir.path(), "two", "--scheme pcon --json").success();
    assert_eq!(stdout(&first), stdout(&second));
    let document: Value = serde_json::from_str(&stdout(&first)).unwrap();
    for key in keys(&document) {
        for word in ["wall", "elapsed", "date", "timestamp", "host", "thread", "took"] {
            assert!(!key.split('_').any(|part| part == word), "{key}");
        }
    }
    let place = dir.path().display().to_string();
    for (path, bytes) in contents(dir.path()) {
        assert!(!String::from_utf8_lossy(&bytes).contains(&place), "{} names the folder", path.display());
    }
}

#[test]
fn the_number_of_threads_changes_not_one_byte() {
    let dir = tempdir().unwrap();
    for (out, threads) in [("one", 1), ("again", 1), ("four", 4)] {
        short(dir.path(), out, &format!("--scheme pcon,cubic --seeds 2 --threads {threads}")).success();
    }
    let one = contents(&dir.path().join("one"));
    assert!(one == contents(&dir.path().join("again")), "two runs of one seed differ");
    assert!(one == contents(&dir.path().join("four")), "one and four threads differ");
    let hashes: Vec<String> = (summary(&dir.path().join("one"))["runs"].as_array().unwrap().iter())
        .map(|run| run["event_hash"].as_str().unwrap().to_owned())
        .collect();
    assert!(hashes.iter().all(|hash| hash.len() == 16), "{hashes:?}");
    assert_ne!(hashes[0], hashes[1], "another seed is another run");
}

#[test]
fn a_seed_of_many_replays_alone() {
    let dir = tempdir().unwrap();
    short(dir.path(), "many", "--scheme cubic --seeds 3").success();
    short(dir.path(), "third", "--scheme cubic --seed 3").success();
    let (many, third) = (summary(&dir.path().join("many")), summary(&dir.path().join("third")));
    assert_eq!(many["runs"][2], third["runs"][0]);
}

#[test]
fn several_seeds_show_the_spread() {
    let dir = tempdir().unwrap();
    let many = short(dir.path(), "many", "--scheme cubic --seeds 3").success();
    assert!(stdout(&many).contains('±'), "{}", stdout(&many));
    assert!(fs::read_to_string(dir.path().join("many/report.html")).unwrap().contains('±'));
    let one = short(dir.path(), "one", "--scheme cubic").success();
    assert!(!stdout(&one).contains('±'), "one seed has no spread: {}", stdout(&one));
}

#[test]
fn seeds_that_make_no_difference_are_an_error_with_the_remedy() {
    let dir = tempdir().unwrap();
    let done = short(dir.path(), "out", "--scheme cubic --seeds 3 --set run.start-jitter=0ms").code(1);
    assert!(stderr(&done).contains("identical"), "{}", stderr(&done));
    assert!(stderr(&done).contains("start-jitter"), "{}", stderr(&done));
    assert_eq!(stdout(&done), "");
    assert!(contents(dir.path()).is_empty());
}

#[test]
fn the_command_a_summary_gives_repeats_it() {
    let dir = tempdir().unwrap();
    short(dir.path(), "out", "--scheme pcon,cubic --set link.R1-R2.rate=5Mbps --seeds 2").success();
    let first = summary(&dir.path().join("out"));
    let command = first["repeat"]["command"].as_str().unwrap();
    let words = command.strip_prefix("ndnweir ").expect("starts with the program's name");
    run(dir.path(), words).success();
    assert_eq!(first, summary(&dir.path().join("results/dumbbell")));
}

#[test]
fn without_out_the_results_go_to_a_folder_of_the_scenarios_name() {
    let dir = tempdir().unwrap();
    let done = run(dir.path(), "sim dumbbell --set run.duration=1s --scheme aimd").success();
    assert!(stdout(&done).contains("results/dumbbell/report.html"), "{}", stdout(&done));
    assert!(dir.path().join("results/dumbbell/report.html").is_file());
}

#[test]
fn an_override_changes_the_network() {
    let dir = tempdir().unwrap();
    short(dir.path(), "out", "--scheme aimd --set link.R1-R2.rate=2Mbps").success();
    let total = summary(&dir.path().join("out"))["runs"][0]["goodput_mbps"].as_f64().unwrap();
    assert!((1.0..2.0).contains(&total), "{total}");
}

#[test]
fn a_trace_is_a_pcapng_file_that_names_nodes_and_links() {
    let dir = tempdir().unwrap();
    let done = short(dir.path(), "out", "--scheme pcon --trace packets.pcapng").success();
    assert!(stdout(&done).contains("packets.pcapng"));
    let bytes = fs::read(dir.path().join("packets.pcapng")).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let has =
        |at: usize, part: &[u8]| bytes[at..at + word(at + 4) as usize].windows(part.len()).any(|window| window == part);
    assert_eq!((word(0), word(8)), (0x0a0d_0d0a, 0x1a2b_3c4d), "a section of pcapng");
    let (mut at, mut interfaces, mut names, mut frames) = (0, 0, 0, 0);
    while at < bytes.len() {
        match word(at) {
            1 => interfaces += 1,
            4 => names += ["C1", "C2", "R1", "R2"].iter().filter(|n| has(at, &[n.as_bytes(), b"\0"].concat())).count(),
            6 => {
                assert_eq!(bytes[at + 28 + 12..][..2], [0x86, 0xdd], "frame {frames}");
                frames += 1;
            }
            _ => {}
        }
        at += word(at + 4) as usize;
    }
    assert_eq!(at, bytes.len(), "the last block is complete");
    assert_eq!((interfaces, names), (10, 4), "five links, two directions each");
    assert!(frames > 1000, "{frames} frames");
}

#[test]
fn every_delivered_data_can_be_listed() {
    let dir = tempdir().unwrap();
    let done = short(dir.path(), "out", "--scheme cubic --deliveries data.csv").success();
    assert!(stdout(&done).contains("deliveries: data.csv"));
    let text = fs::read_to_string(dir.path().join("data.csv")).unwrap();
    assert!(text.starts_with("time_s,consumer,node,segment,delay_ms,rtt_ms,retransmissions,hops,mark,path\n"));
    let delivered: u64 = summary(&dir.path().join("out"))["runs"][0]["consumers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|consumer| consumer["segments"].as_u64().unwrap())
        .sum();
    assert_eq!(text.lines().count() as u64, delivered + 1, "the dumbbell has no warm-up in two seconds");
}

#[test]
fn a_real_topology_and_an_ndnsim_file_run_as_they_are() {
    let dir = tempdir().unwrap();
    for file in ["example-ndnsim.txt", "abilene.graphml"] {
        let path = common::repository(&format!("scenarios/topologies/{file}"));
        common::ndnweir(dir.path())
            .args(["sim", path.to_str().unwrap(), "--scheme", "cubic", "--set", "run.duration=1s", "--out", file])
            .assert()
            .success();
        assert!(summary(&dir.path().join(file))["runs"][0]["goodput_mbps"].as_f64().unwrap() > 0.0, "{file}");
    }
}
