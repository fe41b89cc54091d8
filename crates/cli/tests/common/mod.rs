//! What the tests of the command share: starting the built binary in an empty folder, and reading what it left.
#![allow(dead_code, reason = "every test program has its own copy and uses a part of it")]

#[cfg(unix)]
pub mod process;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

// Made with `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`.
/// A private key.
pub const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKlbT1j06Opso8uXYlCUxR/MFNYOivzDt5PpXS9llQGn\n-----END PRIVATE KEY-----\n";
/// The public key to it.
pub const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA/2wgnCbgr+45IOi35fYrw1bzEWvQ4UqHa6oLYnXNjpE=\n-----END PUBLIC KEY-----\n";
/// The public key to another.
pub const UNTRUSTED_KEY: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAec9dhcX+WEUPvab28LJU3XQ0J3jwUZptttFUjrOxcMk=\n-----END PUBLIC KEY-----\n";

/// The built command, started in `dir`.
pub fn ndnweir(dir: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"));
    command.current_dir(dir);
    command
}

/// Runs the words of a command line in `dir`.
pub fn run(dir: &Path, line: &str) -> Assert {
    ndnweir(dir).args(line.split_whitespace()).assert()
}

/// A short run on the dumbbell into the folder `out`.
pub fn short(dir: &Path, out: &str, more: &str) -> Assert {
    run(dir, &format!("sim dumbbell --set run.duration=2s --out {out} {more}"))
}

pub fn stdout(done: &Assert) -> String {
    String::from_utf8(done.get_output().stdout.clone()).expect("standard output is UTF-8")
}

pub fn stderr(done: &Assert) -> String {
    String::from_utf8(done.get_output().stderr.clone()).expect("standard error is UTF-8")
}

/// Every file below `dir`, by its path within.
pub fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path),
                false => {
                    found.insert(path.strip_prefix(dir).unwrap().to_path_buf(), fs::read(&path).unwrap());
                }
            }
        }
    }
    found
}

/// The `summary.json` of a result folder.
pub fn summary(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap()
}

/// A path within the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().unwrap()
}

/// Fails unless the command rejected bad input as it should: status 2, nothing on standard output, one error on
/// standard error that contains every one of `words`, nothing written.
pub fn rejects(dir: &Path, args: &[&str], words: &[&str]) {
    let before = contents(dir);
    let done = ndnweir(dir).args(args).assert();
    let text = stderr(&done);
    assert_eq!(done.get_output().status.code(), Some(2), "{args:?}: {text}");
    assert_eq!(stdout(&done), "", "{args:?}");
    assert!(text.starts_with("error: "), "{args:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{args:?} does not say {word:?}: {text}");
    }
    assert!(before == contents(dir), "{args:?} wrote something");
    let empty = fs::read_dir(dir).unwrap().flatten().any(|e| e.path().is_dir() && contents(&e.path()).is_empty());
    assert!(!empty, "{args:?} left an empty folder");
}
