//! `list`, `explain`, `validate`, `completions`, `--help` and `bench`.

use crate::common::process::{Running, command};
use crate::common::{self, contents, rejects, repository, run, stderr, stdout};
use serde_json::{Value, json};
use tempfile::tempdir;

fn listed() -> Value {
    let dir = tempdir().unwrap();
    serde_json::from_str(&stdout(&run(dir.path(), "list --json").success())).expect("one JSON document")
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn list_names_schemes_scenarios_and_components_with_a_summary_each() {
    let document = listed();
    for scheme in ["fixed", "aimd", "bic", "cubic", "pcon", "pcon-ndnsim"] {
        assert!(names(&document["schemes"]).contains(&scheme), "{scheme}");
    }
    for scenario in ["dumbbell", "two-paths", "parking-lot", "linear", "abilene", "geant", "star-100"] {
        assert!(names(&document["scenarios"]).contains(&scenario), "{scenario}");
    }
    let families = document["components"].as_object().unwrap();
    assert!(families.len() >= 6);
    let lists = families.values().chain([&document["schemes"], &document["scenarios"]]);
    for entry in lists.flat_map(|list| list.as_array().unwrap()) {
        assert!(!entry["summary"].as_str().unwrap().is_empty(), "{entry}");
    }
    let dir = tempdir().unwrap();
    let text = stdout(&run(dir.path(), "list").success());
    for name in [names(&document["schemes"]), names(&document["scenarios"])].concat() {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn every_scheme_and_component_is_explained_with_its_source() {
    let dir = tempdir().unwrap();
    let document = listed();
    let mut all = names(&document["schemes"]);
    all.extend(document["components"].as_object().unwrap().values().flat_map(names));
    all.sort_unstable();
    all.dedup();
    let mut without = Vec::new();
    for name in all {
        let text = stdout(&run(dir.path(), &format!("explain {name}")).success());
        assert!(text.contains(name), "{name}");
        if !text.to_lowercase().contains("source") {
            without.push(name.to_owned());
        }
        let json = stdout(&run(dir.path(), &format!("explain {name} --json")).success());
        serde_json::from_str::<Value>(&json).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    assert!(without.is_empty(), "no source: {without:?}");
}

#[test]
fn a_scheme_is_explained_with_what_it_does_with_marks() {
    let dir = tempdir().unwrap();
    let text = stdout(&run(dir.path(), "explain aimd").success());
    assert!(text.contains("interest-marks ignore") && text.contains("cached-marks   strip"), "{text}");
    let json = stdout(&run(dir.path(), "explain aimd --json").success());
    let scheme = &serde_json::from_str::<Value>(&json).unwrap()["scheme"];
    assert_eq!((&scheme["interest-marks"], &scheme["cached-marks"]), (&json!("ignore"), &json!("strip")));
}

#[test]
fn every_shipped_scenario_is_valid() {
    let dir = tempdir().unwrap();
    for name in names(&listed()["scenarios"]) {
        let text = stdout(&run(dir.path(), &format!("validate {name}")).success());
        assert!(text.contains("valid") && text.contains("nodes"), "{name}: {text}");
        let json = stdout(&run(dir.path(), &format!("validate {name} --json")).success());
        let scenario: Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(scenario["name"], name);
    }
    assert!(contents(dir.path()).is_empty(), "validate wrote something");
}

#[test]
fn every_shipped_topology_file_is_valid_alone() {
    let dir = tempdir().unwrap();
    for file in ["example-ndnsim.txt", "abilene.graphml", "geant.graphml"] {
        let path = repository(&format!("scenarios/topologies/{file}"));
        let done = common::ndnweir(dir.path()).arg("validate").arg(&path).assert().success();
        assert!(stdout(&done).contains("valid"), "{file}");
    }
}

#[test]
fn completions_exist_for_the_usual_shells_and_contain_every_command() {
    let dir = tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&run(dir.path(), &format!("completions {shell}")).success());
        for word in ["sim", "list", "explain", "validate", "report", "bench", "seeds"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
}

/// The commands that a help text lists.
fn subcommands(help: &str) -> Vec<&str> {
    (help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1))
        .take_while(|line| !line.is_empty())
        // A line that is indented further continues the one before it.
        .filter_map(|line| line.strip_prefix("  ").filter(|text| !text.starts_with(' ')))
        .filter_map(|text| text.split_whitespace().next())
        .filter(|word| *word != "help")
        .collect()
}

#[test]
fn every_help_text_has_an_example() {
    let dir = tempdir().unwrap();
    let help = stdout(&run(dir.path(), "--help").success());
    let commands = subcommands(&help);
    assert!(commands.len() >= 7, "{commands:?}");
    let mut left: Vec<String> = commands.into_iter().map(str::to_owned).collect();
    while let Some(command) = left.pop() {
        let text = stdout(&run(dir.path(), &format!("{command} --help")).success());
        let examples = text.split("Example").nth(1).unwrap_or_default();
        assert!(examples.contains(&format!("ndnweir {command}")), "{command} --help has no example");
        left.extend(subcommands(&text).into_iter().map(|below| format!("{command} {below}")));
    }
    assert!(help.contains("Exit status"));
}

#[test]
fn the_version_is_printed() {
    let dir = tempdir().unwrap();
    let text = stdout(&run(dir.path(), "--version").success());
    assert_eq!(text.trim(), format!("ndnweir {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn without_a_command_the_help_is_shown_and_the_status_is_that_of_bad_input() {
    let dir = tempdir().unwrap();
    let done = run(dir.path(), "").code(2);
    assert!(stderr(&done).contains("ndnweir sim dumbbell"), "{}", stderr(&done));
}

#[test]
fn a_reader_that_closes_the_stream_is_not_a_failure() {
    let dir = tempdir().unwrap();
    for line in ["list", "list --json", "explain pcon", "completions bash", "--help", "validate geant --json"] {
        let ended = Running::start_unread(&mut command(dir.path(), "none", line)).end();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{line}");
    }
}

#[test]
fn a_simulation_whose_reader_went_away_still_leaves_its_results() {
    let dir = tempdir().unwrap();
    let line = "sim dumbbell --scheme aimd --set run.duration=1s --json --out out";
    let ended = Running::start_unread(&mut command(dir.path(), "none", line)).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(dir.path().join("out/report.html").is_file());
}

#[test]
fn a_folder_that_cannot_be_filled_is_named_with_a_remedy() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "mine").unwrap();
    let mut lines = vec!["man file", "man file/pages"];
    if cfg!(feature = "gnmi") {
        lines.extend(["key certificates file --host a=::1", "key certificates file/keys --host a=::1"]);
    }
    // No one can write there, not even root.
    if cfg!(target_os = "linux") {
        lines.extend(["man /proc/x", "man /proc"]);
    }
    if cfg!(all(target_os = "linux", feature = "gnmi")) {
        lines.extend(["key certificates /proc/x --host a=::1", "key certificates /proc --host a=::1"]);
    }
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let folder = words.iter().find(|word| word.starts_with("file") || word.starts_with("/proc")).unwrap();
        rejects(dir.path(), &words, &[folder, "name a folder that can be made and written to"]);
    }
}

#[cfg(feature = "view")]
#[test]
fn a_folder_that_is_not_there_is_not_served() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "mine").unwrap();
    rejects(dir.path(), &["view", "resluts"], &["resluts: there is no such folder", "name one with result folders"]);
    rejects(dir.path(), &["view", "file"], &["file: is not a folder", "name one with result folders"]);
}
