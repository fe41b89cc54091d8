//! `scripts/install` with the built command, into a folder and out of it again.
#![cfg(unix)]

use crate::common;
use crate::common::repository;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn install(prefix: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(repository("scripts/install"));
    command.args(["--prefix", prefix.to_str().unwrap()]).args(more);
    command.env("NDNWEIR_BINARY", assert_cmd::cargo::cargo_bin!("ndnweir")).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn everything_is_installed_with_its_paths_and_removed_but_for_the_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path();
    let done = install(prefix, &[]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let version = Command::new(prefix.join("bin/ndnweir")).arg("--version").output().unwrap();
    assert!(text(&version.stdout).starts_with("ndnweir "));
    for completions in [
        "share/bash-completion/completions/ndnweir",
        "share/zsh/site-functions/_ndnweir",
        "share/fish/vendor_completions.d/ndnweir.fish",
        "share/man/man1/ndnweir.1",
        "share/man/man1/ndnweir-sim.1",
    ] {
        assert!(fs::read_to_string(prefix.join(completions)).unwrap().contains("ndnweir"), "{completions}");
    }
    let unit = fs::read_to_string(prefix.join("lib/systemd/system/ndnweir-fwd.service")).unwrap();
    let start = format!("ExecStart={0}/bin/ndnweir fwd --config {0}/etc/ndnweir/fwd.toml\n", prefix.display());
    assert!(unit.contains(&start), "{unit}");

    // What the operator wrote stays.
    let config = prefix.join("etc/ndnweir/fwd.toml");
    fs::write(&config, "# mine\n").unwrap();
    let again = install(prefix, &[]);
    assert!(again.status.success() && text(&again.stdout).contains("left as it was"));
    let removed = install(prefix, &["--uninstall"]);
    assert!(removed.status.success(), "{}", text(&removed.stderr));
    let left: Vec<_> = common::contents(prefix).into_keys().collect();
    assert_eq!(left, [Path::new("etc/ndnweir/fwd.toml")]);
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine\n");
}

#[test]
fn an_install_with_options_that_do_not_exist_does_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (more, says) in [(&["--perfix", "/x"][..], "--perfix"), (&["--prefix", "here"], "full path")] {
        let rejected = install(dir.path(), more);
        assert_eq!(rejected.status.code(), Some(2));
        assert!(text(&rejected.stderr).contains(says), "{}", text(&rejected.stderr));
    }
    assert!(common::contents(dir.path()).is_empty());
}
