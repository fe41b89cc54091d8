//! What a terminal gets: tables that fit, colours, quiet, manual pages and completions.
#![cfg(target_os = "linux")]

mod common;

use common::{contents, ndnweir, rejects, run, short, stdout};
use std::path::Path;
use std::process::Command;
use tempfile::tempdir;

/// What a terminal of so many columns shows of the table of a short run.
fn terminal(dir: &Path, columns: u32, environment: &str, more: &str) -> Vec<String> {
    let program = assert_cmd::cargo::cargo_bin!("ndnweir").display().to_string();
    let line = format!(
        "stty rows 40 cols {columns}; {environment} '{program}' sim dumbbell --scheme bic,pcon --force --out out \
         --set run.duration=1s {more} 2>/dev/null"
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(dir).env("SHELL", "/bin/bash").env("TERM", "xterm");
    let done = command
        // Where CI is set, terminals are taken to know colours.
        .env_remove("CI")
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .output()
        .expect("script(1) of util-linux");
    let text = String::from_utf8_lossy(&done.stdout).replace('\r', "");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn tables_fit_the_terminal_unless_wide_is_given() {
    let dir = tempdir().unwrap();
    let lines = terminal(dir.path(), 70, "NO_COLOR=1", "");
    assert!(lines.iter().all(|line| line.chars().count() <= 70 || line.contains("report:")), "{lines:#?}");
    let text = lines.join("\n");
    assert!(
        text.contains("goodput Mbit/s") && text.contains("delay ms") && !text.contains("retransmitted  "),
        "{text}"
    );
    assert!(text.contains("no room for:") && text.contains("--wide"), "{text}");
    let wide = terminal(dir.path(), 70, "NO_COLOR=1", "--wide").join("\n");
    assert!(wide.contains("marks  retransmitted") && !wide.contains("no room for:"), "{wide}");
    // What is not a terminal gets everything.
    let piped = stdout(&short(dir.path(), "piped", "--scheme bic,pcon").success());
    assert!(piped.contains("marks  retransmitted"), "{piped}");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let dir = tempdir().unwrap();
    let coloured = |environment: &str| terminal(dir.path(), 200, environment, "").join("\n").contains("\x1b[");
    assert!(coloured(""));
    assert!(!coloured("NO_COLOR=1"));
    assert!(!coloured("TERM=dumb"));
    let piped = stdout(&short(dir.path(), "piped", "--scheme bic,pcon").success());
    assert!(!piped.contains('\x1b'), "{piped}");
}

#[test]
fn the_table_is_sorted_by_goodput_or_as_requested() {
    let dir = tempdir().unwrap();
    let order = |more: &str| -> Vec<String> {
        let line = format!("--scheme fixed,pcon,bic --force {more}");
        let text = stdout(&short(dir.path(), "out", &line).success());
        let rows = text.lines().skip_while(|line| !line.starts_with('─')).skip(1).take(3);
        rows.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    let goodputs: Vec<f64> = order("").iter().map(|row| row.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    assert!(goodputs.is_sorted_by(|a, b| a >= b), "{goodputs:?}");
    let names = |more| order(more).iter().map(|row| row.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names("--sort name"), ["bic", "fixed", "pcon"]);
    assert_eq!(names("--sort given"), ["fixed", "pcon", "bic"]);
    rejects(dir.path(), &["sim", "dumbbell", "--sort", "colour"], &["goodput", "delay"]);
}

#[cfg(feature = "view")]
#[test]
fn a_watched_run_takes_the_screen_and_gives_it_back_before_the_table() {
    let dir = tempdir().unwrap();
    let text = terminal(dir.path(), 90, "NO_COLOR=1", "--watch").join("\n");
    let (taken, given) = (text.find("\x1b[?1049h").unwrap(), text.find("\x1b[?1049l").unwrap());
    let (screen, after) = (&text[taken..given], &text[given..]);
    assert!(screen.contains("consumers") && screen.contains("links") && screen.contains("dumbbell"), "{text}");
    assert!(!screen.contains("attained") && after.contains("goodput Mbit/s"), "the table stays: {text}");
    rejects(dir.path(), &["sim", "dumbbell", "--watch"], &["--watch draws on a terminal"]);
    rejects(dir.path(), &["sim", "dumbbell", "--watch", "--live"], &["cannot be used with"]);
}

#[cfg(feature = "view")]
#[test]
fn ctrl_c_on_the_screen_ends_the_work_and_gives_the_terminal_back() {
    use std::io::{Read, Write};
    use std::process::Stdio;
    let dir = tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin!("ndnweir").display().to_string();
    // Minutes of work.
    let line =
        format!("stty rows 30 cols 90; '{program}' sim geant --scheme bic --watch --set run.duration=600s; stty -a");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(dir.path()).env("TERM", "xterm").env("SHELL", "/bin/bash");
    let mut script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keys, mut screen) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    let mut pressed = false;
    while let Ok(read @ 1..) = screen.read(&mut buffer) {
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        // Once it is drawn, raw mode is on: a signal it is not.
        if !pressed && text.contains("Ctrl-C stop") {
            keys.write_all(b"\x03").unwrap();
            pressed = true;
        }
    }
    script.wait().unwrap();
    let after = text.split_once("\x1b[?1049l").unwrap_or_else(|| panic!("not given back: {text}")).1;
    assert!(pressed && after.contains("interrupted before any run was complete"), "{after}");
    assert!(["icanon", "isig", "echo"].iter().all(|s| after.split_whitespace().any(|word| word == *s)), "{after}");
}

#[test]
fn quiet_says_nothing_and_leaves_the_results() {
    let dir = tempdir().unwrap();
    let done = short(dir.path(), "out", "--scheme aimd -q").success();
    assert_eq!((stdout(&done), common::stderr(&done)), (String::new(), String::new()));
    assert!(dir.path().join("out/report.html").is_file());
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let dir = tempdir().unwrap();
    run(dir.path(), "man pages").success();
    let pages = contents(&dir.path().join("pages"));
    for name in ["ndnweir.1", "ndnweir-sim.1", "ndnweir-fwd.1", "ndnweir-face-create.1", "ndnweir-bench-get.1"] {
        let page = String::from_utf8_lossy(&pages[Path::new(name)]).into_owned();
        assert!(page.contains(".TH") && page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{name}");
    }
    let sim = String::from_utf8_lossy(&pages[Path::new("ndnweir-sim.1")]).into_owned();
    assert!(sim.contains("\\-\\-wide") && sim.contains("ndnweir sim dumbbell"), "{sim}");
    assert!(!pages.contains_key(Path::new("ndnweir-emulation-role.1")), "a hidden command");
    let one = stdout(&run(dir.path(), "man").success());
    assert!(one.contains(".TH NDNWEIR 1"), "{one}");
}

/// What bash offers for the last of `words`.
fn bash(dir: &Path, words: &[&str]) -> Vec<String> {
    let script = stdout(&run(dir, "completions bash").success());
    let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
    let ask = format!(
        "{script}\nCOMP_WORDS=({}); COMP_CWORD={}; _ndnweir ndnweir '{last}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len() - 1
    );
    let done = Command::new("bash").args(["-c", &ask]).output().unwrap();
    String::from_utf8_lossy(&done.stdout).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn completions_contain_schemes_scenarios_components_and_papers() {
    let dir = tempdir().unwrap();
    assert_eq!(bash(dir.path(), &["ndnweir", "sim", "dumb"]), ["dumbbell"]);
    assert_eq!(bash(dir.path(), &["ndnweir", "sim", "dumbbell", "--scheme", "pcon-n"]), ["pcon-ndnsim"]);
    assert_eq!(bash(dir.path(), &["ndnweir", "explain", "codel"]), ["codel", "codel-pcon"]);
    assert_eq!(bash(dir.path(), &["ndnweir", "papers", "pack"]), ["packet-pair"]);
    for shell in ["zsh", "fish"] {
        let script = stdout(&run(dir.path(), &format!("completions {shell}")).success());
        for name in ["dumbbell", "pcon-ndnsim", "codel-pcon", "packet-pair"] {
            assert!(script.contains(name), "{shell} does not know {name}");
        }
    }
    // Names are offered, paths are taken.
    ndnweir(dir.path()).args(["validate", "./none.toml"]).assert().code(2);
}
