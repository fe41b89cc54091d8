//! Every file in `tests/broken` gives exactly the errors its first lines announce (`expect: LINE: TEXT`), each with a
//! remedy.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use ndnweir_scenario::{Problems, Scenario, load};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

fn run(path: &Path) -> Result<Scenario, Problems> {
    let shown = path.to_str().unwrap().to_string();
    catch_unwind(move || load(&shown, &[])).unwrap_or_else(|_| panic!("{} panics", path.display()))
}

#[test]
fn every_broken_file_gives_the_announced_errors_at_their_lines_with_a_remedy() {
    let mut wrong = Vec::new();
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let expected: Vec<(usize, &str)> = text
            .lines()
            .map_while(|line| line.split_once("expect: "))
            .map(|(_, rest)| rest.trim_end_matches(" -->").split_once(": ").unwrap())
            .map(|(line, message)| (line.parse().unwrap(), message))
            .collect();
        assert!(!expected.is_empty(), "{} announces no error", path.display());
        let problems = match run(&path) {
            Ok(_) => {
                wrong.push(format!("{}: accepted", path.display()));
                continue;
            }
            Err(problems) => problems,
        };
        let fits = problems.list.len() == expected.len()
            && problems.list.iter().zip(&expected).all(|(found, (line, message))| {
                // Line 0: a finding about a whole file.
                found.place.line == *line && found.message.contains(message) && !found.help.is_empty()
            });
        let named = problems.list.iter().all(|p| Path::new(&*p.place.source) == path);
        if !fits || !named {
            wrong.push(format!("{}\n  expected {expected:?}\n  found\n{problems}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn there_are_at_least_forty_broken_files_of_every_format() {
    let files = files();
    assert!(files.len() >= 40);
    for ending in ["toml", "graphml", "cch", "txt"] {
        assert!(files.iter().any(|f| f.extension().is_some_and(|e| e == ending)), "{ending}");
    }
}

#[test]
fn a_key_by_its_former_name_is_answered_with_the_present_one() {
    let network =
        "[[node]]\nnames = [\"A\", \"B\"]\n[[link]]\nends = [\"A\", \"B\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"";
    for (text, message, help) in [
        ("jitter_reorders = true", "unknown key \"jitter_reorders\" in this link", "it is written \"jitter-reorders\""),
        (
            "[[event]]\nat = \"1s\"\naction = \"link-rate\"\nlink = \"A-B\"\nrate = \"2Mbps\"\nway = \"forward\"",
            "unknown key \"way\" in this event",
            "it is now called \"direction\"",
        ),
        ("[run]\nwarm_up = \"1s\"", "unknown key \"warm_up\" in [run]", "it is written \"warm-up\""),
        (
            "[scheme.mine]\nconsumer = \"bic\"\ninterest_marks = \"own\"",
            "a scheme has no \"interest_marks\"",
            "it is written \"interest-marks\"",
        ),
    ] {
        let source = ndnweir_scenario::Source::from_text("x.toml", &format!("{network}\n{text}"), Path::new(""));
        let problems = source.unwrap().validate().unwrap_err();
        let line = 6 + text.lines().count();
        let at = problems.list.iter().find(|p| p.place.line == line).unwrap_or_else(|| panic!("{text}\n{problems}"));
        assert_eq!((at.message.as_str(), at.help.as_str()), (message, help));
    }
}

#[test]
fn several_errors_are_reported_in_one_go_in_the_order_of_the_file() {
    let text = "[run]\nduration = 5\n[[node]]\nname = \"A\"\n[[link]]\nends = [\"A\", \"B\"]\n";
    let source = ndnweir_scenario::Source::from_text("x.toml", text, Path::new(""));
    let problems = source.unwrap().validate().unwrap_err();
    let lines: Vec<usize> = problems.list.iter().map(|p| p.place.line).collect();
    assert!(lines.len() >= 4, "{problems}");
    assert!(lines.is_sorted(), "{problems}");
}

#[test]
fn an_error_in_a_topology_file_names_that_file() {
    let text = "[topology]\nfile = \"ndnsim-self-link.txt\"\n[demand]\nmodel = \"gravity\"\n";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let source = ndnweir_scenario::Source::from_text("x.toml", text, &folder).unwrap();
    let problems = source.validate().unwrap_err();
    assert!(problems.list[0].place.source.ends_with("ndnsim-self-link.txt"), "{problems}");
    assert_eq!(problems.list[0].place.line, 7, "{problems}");
}
