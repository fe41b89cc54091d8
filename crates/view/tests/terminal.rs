//! A terminal is given back, and asked for.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The example, which is built with this test.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/panicking_forwarder")
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_printed() {
    let line = format!("stty rows 24 cols 80; '{}'; stty -a", example().display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
    let done = command.output().expect("script(1) of util-linux");
    let text = String::from_utf8_lossy(&done.stdout);
    let (taken, given) = (text.find("\x1b[?1049h"), text.find("\x1b[?1049l"));
    assert!(taken.is_some() && taken < given, "the alternate screen is entered and left: {text:?}");
    let after = &text[given.unwrap_or_default()..];
    assert!(after.contains("asked twice"), "the message is on the screen that stays: {text:?}");
    // Raw mode would have switched these off.
    for setting in ["icanon", "isig", "echo"] {
        assert!(after.split_whitespace().any(|word| word == setting), "{setting}: {after}");
    }
}

#[test]
fn without_a_terminal_nothing_is_drawn() {
    let done = Command::new(example()).stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0));
    assert!(error.contains("is none; leave it out"), "{error}");
}
