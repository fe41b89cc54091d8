//! A scenario in several cases: `--vary` and `[[vary]]`.

use crate::common::{ndnweir, stderr, stdout, summary};
use assert_cmd::assert::Assert;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::tempdir;

const QUICK: &str = "--set run.duration=3s --scheme cubic";

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// Runs the command with words that may hold blanks.
fn run(dir: &Path, line: &[String]) -> Assert {
    ndnweir(dir).args(line).assert()
}

#[test]
fn every_combination_is_a_case_with_a_folder_of_its_own() {
    let dir = tempdir().unwrap();
    let mut line = words(&format!("sim dumbbell {QUICK} --out out --vary link.R1-R2.delay=5ms,50ms"));
    line.extend(["--vary".into(), "link.R1-R2.queue=0.5 BDP,2 BDP".into()]);
    let done = run(dir.path(), &line).success();
    let text = stdout(&done);
    assert!(text.contains("5ms, 0.5 BDP") && text.contains("50ms, 2 BDP"), "{text}");
    let whole = summary(&dir.path().join("out"));
    let cases = whole["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    assert_eq!(cases[1]["name"], "5ms, 2 BDP");
    assert_eq!(cases[1]["set"][2], "link.R1-R2.queue=2 BDP");
    assert!(cases[3]["aggregates"][0]["metrics"]["goodput_mbps"]["mean"].as_f64().unwrap() > 1.0);
    for case in cases {
        let folder = dir.path().join("out").join(case["folder"].as_str().unwrap());
        assert!(folder.join("report.html").is_file() && folder.join("series/consumers.csv").is_file());
        let own = summary(&folder);
        assert_eq!(own["aggregates"], case["aggregates"]);
        assert!(own["repeat"]["command"].as_str().unwrap().contains("--set"), "{own}");
    }
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains(&format!("{}/report.html", cases[2]["folder"].as_str().unwrap())));
    // Two keys: curves and maps, with each value as it was written.
    let figures = fs::read_dir(dir.path().join("out/figures")).unwrap().count();
    assert!(figures >= 8 && page.matches("<svg").count() == figures, "{figures}");
    for word in ["Goodput", "link.R1-R2.delay", "50ms", "link.R1-R2.queue", "0.5 BDP"] {
        assert!(page.contains(word), "nothing drawn says {word}");
    }
    // A longer queue on a longer link: another result.
    assert_ne!(cases[0]["aggregates"], cases[3]["aggregates"]);
    let again = run(dir.path(), &line).success();
    assert!(stdout(&again).contains("replaces earlier results"));
    let report = run(dir.path(), &words("report out")).failure();
    assert!(stderr(&report).contains("several cases") && stderr(&report).contains("cases/"), "{}", stderr(&report));
}

#[test]
fn a_scenario_may_say_itself_what_varies() {
    let dir = tempdir().unwrap();
    let shipped = include_str!("../../../scenarios/dumbbell.toml");
    let vary = "\n[[vary]]\nkey = [\"link.R1-R2.rate\", \"run.sample\"]\nvalues = [[\"slow\", \"2Mbps\", \"100ms\"], [\"fast\", \"20Mbps\", \"50ms\"]]\n";
    fs::write(dir.path().join("mine.toml"), format!("{shipped}{vary}")).unwrap();
    let done = run(dir.path(), &words(&format!("sim mine.toml {QUICK} --out out --json"))).success();
    let document: Value = serde_json::from_str(&stdout(&done)).unwrap();
    let names: Vec<&str> = document["cases"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["slow", "fast"]);
    // What varies together is one axis.
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains(">slow<") && !page.contains(">20Mbps<"));
    let goodput = |i: usize| document["cases"][i]["runs"][0]["goodput_mbps"].as_f64().unwrap();
    assert!(goodput(0) < 2.0 && goodput(1) > 4.0, "{} {}", goodput(0), goodput(1));
    assert!(stdout(&run(dir.path(), &words("validate mine.toml")).success()).contains("valid in 2 cases"));
    // The command line takes the place of the file.
    let line = format!("sim mine.toml {QUICK} --out other --json --vary link.R1-R2.rate=5Mbps");
    let document: Value = serde_json::from_str(&stdout(&run(dir.path(), &words(&line)).success())).unwrap();
    assert_eq!(document["cases"].as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_vary_is_reported_before_anything_is_written() {
    let dir = tempdir().unwrap();
    for (vary, message) in [
        ("link.R1-R2.queue", "has no ="),
        ("link.R1-R2.queue=", "empty key or value"),
        ("link.R1-R9.queue=5 packets,6 packets", "R1-R9"),
        ("link.R1-R2.queue=5 pints", "pints"),
        ("link.R1-R2.delay=5ms,6ms,5ms", "two cases are called \"5ms\""),
    ] {
        let mut line = words(&format!("sim dumbbell {QUICK} --out out --vary"));
        line.push(vary.into());
        let failed = run(dir.path(), &line).code(2);
        assert!(stderr(&failed).contains(message), "{vary}: {}", stderr(&failed));
    }
    let many: Vec<String> = (1..=65).map(|n| format!("{n}ms")).collect();
    let line = format!("sim dumbbell {QUICK} --out out --vary link.R1-R2.delay={}", many.join(","));
    assert!(stderr(&run(dir.path(), &words(&line)).code(2)).contains("65 cases"));
    let line = format!("sim dumbbell {QUICK} --out out --vary link.R1-R2.delay=1ms,2ms --trace t.pcapng");
    assert!(stderr(&run(dir.path(), &words(&line)).code(2)).contains("--trace"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
