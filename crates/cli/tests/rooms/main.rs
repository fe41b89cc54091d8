//! The crates depend on each other in one direction only, and those that need no network build on any operating system.

mod circles;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What each crate may depend on, itself apart: the arrows of the README.
const ARROWS: [(&str, &[&str]); 17] = [
    ("files", &[]),
    ("prefetch", &[]),
    ("state-derive", &[]),
    ("state", &["state-derive"]),
    ("core", &["state"]),
    ("wire", &[]),
    ("node", &["prefetch", "state", "core", "wire"]),
    ("link", &["prefetch", "state", "core", "node"]),
    ("sim", &["prefetch", "state", "core", "wire", "node", "link"]),
    ("scenario", &["files", "core", "wire", "node", "link", "sim"]),
    ("lab", &["files", "prefetch", "state", "core", "wire", "node", "link", "sim", "scenario"]),
    ("report", &["files", "core", "wire", "node", "link", "sim", "scenario", "lab"]),
    ("view", &["files", "core", "wire", "node", "link", "sim", "scenario", "lab", "report"]),
    ("net", &["files", "core", "wire", "node", "link"]),
    ("control", &["files", "core", "wire", "node", "link", "net"]),
    ("emulate", &["files", "core", "wire", "node", "link", "sim", "scenario", "lab", "net"]),
    (
        "cli",
        &[
            "files", "core", "wire", "node", "link", "sim", "scenario", "lab", "report", "view", "net", "control",
            "emulate",
        ],
    ),
];

/// Crates that build on any operating system.
const PORTABLE: [&str; 10] = ["files", "prefetch", "core", "wire", "node", "link", "sim", "scenario", "lab", "report"];

/// Libraries for Unix, or for sockets.
const FOREIGN: [&str; 12] = [
    "ctrlc",
    "io-uring",
    "linux-raw-sys",
    "mio",
    "ndnweir-emulate",
    "ndnweir-net",
    "nix",
    "quinn-udp",
    "rustix",
    "signal-hook",
    "signal-hook-registry",
    "socket2",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The `.rs` files below `folder`, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// What `cargo tree` lists with these arguments in this format, each once.
fn lines(format: &str, arguments: &[&str]) -> BTreeSet<String> {
    let always = ["tree", "--offline", "--locked", "--prefix", "none", "--format", format];
    let output = Command::new(env!("CARGO")).current_dir(repository()).args(always).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// The crates that `cargo tree` lists with these arguments, without versions.
fn tree(arguments: &[&str]) -> BTreeSet<String> {
    let lines = lines("{p}", arguments);
    lines.iter().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn foreign(tree: &BTreeSet<String>) -> Vec<&str> {
    FOREIGN.into_iter().filter(|name| tree.contains(*name)).collect()
}

#[test]
fn crates_depend_on_each_other_in_one_direction() {
    let crates = repository().join("crates");
    let mut there: Vec<String> =
        fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.retain(|name| crates.join(name).join("Cargo.toml").exists());
    there.sort();
    let mut known: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(there, known, "a new crate needs a line in the table of this test");
    for (place, (name, allowed)) in ARROWS.iter().enumerate() {
        assert!(allowed.iter().all(|other| ARROWS[..place].iter().any(|(before, _)| before == other)), "{name}");
        let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default().split("\n[").next().unwrap();
        for line in dependencies.lines() {
            let Some(rest) = line.strip_prefix("ndnweir-") else { continue };
            let other: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            assert!(allowed.contains(&other.as_str()), "{name} must not depend on {other}");
        }
    }
}

#[test]
fn simulations_and_reports_need_no_crate_for_linux_on_other_systems() {
    for target in ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"] {
        let packages = ["--package", "ndnweir-lab", "--package", "ndnweir-report"];
        let tree = tree(&[&packages[..], &["--edges", "normal", "--target", target]].concat());
        assert!(tree.contains("ndnweir-lab") && tree.contains("ndnweir-sim") && tree.contains("ndnweir-report"));
        assert_eq!(foreign(&tree), Vec::<&str>::new(), "for {target}");
    }
}

#[test]
fn the_command_without_its_network_feature_contains_no_network() {
    let tree = tree(&["--package", "ndnweir", "--no-default-features", "--edges", "normal"]);
    assert!(tree.contains("ndnweir-report"));
    for name in ["ndnweir-net", "ndnweir-emulate", "quinn-udp", "socket2", "nix"] {
        assert!(!tree.contains(name), "{name}");
    }
}

#[test]
fn the_command_and_the_tests_need_every_dependency_in_the_same_form() {
    let tests = ["--workspace", "--exclude", "ndnweir-python", "--edges", "normal,build,dev"];
    let tests = lines("{p} [{f}]", &tests);
    for (what, edges) in [("cargo run", "normal,build"), ("cargo test", "normal,build,dev")] {
        let alone = lines("{p} [{f}]", &["--edges", edges]);
        let other: Vec<&String> = alone.difference(&tests).collect();
        assert!(other.is_empty(), "compiled again by `{what}`; name the features in crates/cli/Cargo.toml: {other:?}");
    }
}

#[test]
fn portable_crates_use_nothing_of_one_operating_system() {
    for name in PORTABLE {
        for path in sources(&repository().join("crates").join(name).join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            for word in ["std::os::", "cfg(unix", "cfg(target_os", "cfg(windows"] {
                assert!(!text.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}

#[test]
fn every_file_of_tests_belongs_to_a_test_program() {
    for (name, _) in ARROWS {
        let folder = repository().join("crates").join(name);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if !manifest.contains("\nautotests = false\n") {
            continue;
        }
        let together = fs::read_to_string(folder.join("tests/integration.rs")).unwrap();
        for entry in fs::read_dir(folder.join("tests")).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            if path.extension().is_some_and(|ending| ending == "rs") || path.join("main.rs").exists() {
                let found = together.lines().any(|line| line == format!("mod {stem};"))
                    || manifest.contains(&format!("[[test]]\nname = \"{stem}\"\n"));
                assert!(found, "{} is in no test program: name it in tests/integration.rs", path.display());
            }
        }
    }
}

#[test]
fn a_library_whose_tests_or_examples_are_not_run_has_none() {
    for (name, _) in ARROWS {
        let folder = repository().join("crates").join(name);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for path in sources(&folder.join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            for (setting, sign) in [("\ntest = false\n", "#[test]"), ("\ndoctest = false\n", "/ ```")] {
                assert!(!manifest.contains(setting) || !text.contains(sign), "{}: {setting:?}", path.display());
            }
        }
    }
}
