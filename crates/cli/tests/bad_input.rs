//! Bad input: exit status 2, an error that names place and remedy, nothing on standard output, nothing written.

use crate::common::{self, ndnweir, rejects, repository, stderr};
use std::fs;
use tempfile::tempdir;

/// Broken files with the line of the error and a part of the message.
const BROKEN: [(&str, &str, &str); 14] = [
    ("unknown-key-run.toml", "26", "durration"),
    ("truncated.toml", "23", "not valid TOML"),
    ("self-link.toml", "6", "joins A to itself"),
    ("negative-rate.toml", "7", "negative value"),
    ("nan-rate.toml", "", "rate"),
    ("zero-queue.toml", "", "queue"),
    ("dangling-node-in-link.toml", "", "node"),
    ("unreachable-prefix.toml", "", ""),
    ("duplicate-link.toml", "", ""),
    ("wrong-unit-delay.toml", "", "delay"),
    ("unknown-scheme.toml", "", "scheme"),
    ("truncated.graphml", "8", "not valid XML"),
    ("cch-router-twice.cch", "4", "router 2 occurs twice"),
    ("ndnsim-zero-queue.txt", "7", "is not a queue length"),
];

#[test]
fn broken_files_are_rejected_with_file_line_and_remedy() {
    let dir = tempdir().unwrap();
    for (name, line, says) in BROKEN {
        let file = repository(&format!("crates/scenario/tests/broken/{name}"));
        let file = file.to_str().unwrap();
        let place = format!("{name}:{line}");
        for command in ["sim", "validate"] {
            rejects(dir.path(), &[command, file], &[&place, says, "help: "]);
        }
    }
}

#[test]
fn a_word_that_names_nothing_is_answered_with_what_there_is() {
    let dir = tempdir().unwrap();
    let short = ["--set", "run.duration=1s"];
    rejects(dir.path(), &["sim", "dumbell"], &["dumbell", "dumbbell"]);
    rejects(dir.path(), &["validate", "dumbell"], &["dumbell", "dumbbell"]);
    rejects(dir.path(), &["sim", "no/such/file.toml"], &["no/such/file.toml"]);
    let unknown_scheme = ["sim", "dumbbell", "--scheme", "pcon,cubik"];
    rejects(dir.path(), &[&unknown_scheme[..], &short].concat(), &["cubik", "cubic"]);
    rejects(dir.path(), &["explain", "nope"], &["nope", "pcon"]);
    rejects(dir.path(), &["bench", "nope"], &["nope", "dumbbell"]);
    rejects(dir.path(), &["completions", "nope"], &["nope", "bash"]);
}

#[test]
fn overrides_that_fit_nothing_are_rejected() {
    let dir = tempdir().unwrap();
    for (change, says) in [
        ("run.durration=1s", "durration"),
        ("run.duration=fast", "run.duration"),
        ("run.duration", "="),
        ("link.R1-R9.rate=5Mbps", "R9"),
        ("link.R1-R2.rate=-5Mbps", "rate"),
        ("link.R1-R2.rate=5", "rate"),
        ("nothing.at=all", "nothing"),
        ("=", "="),
        ("", "="),
    ] {
        rejects(dir.path(), &["sim", "dumbbell", "--scheme", "aimd", "--set", change], &[says]);
        rejects(dir.path(), &["validate", "dumbbell", "--set", change], &[says]);
    }
}

#[test]
fn flags_that_do_not_exist_or_do_not_fit_are_rejected() {
    let dir = tempdir().unwrap();
    rejects(dir.path(), &["sim", "dumbbell", "--sead", "1"], &["--sead", "--seed"]);
    rejects(dir.path(), &["sim", "dumbbell", "--seeds", "0"], &["--seeds"]);
    rejects(dir.path(), &["sim", "dumbbell", "--seeds", "many"], &["--seeds"]);
    rejects(dir.path(), &["sim", "dumbbell", "--threads", "0"], &["--threads"]);
    rejects(dir.path(), &["sim"], &["SCENARIO"]);
    rejects(dir.path(), &["simulate"], &["simulate", "sim"]);
    rejects(dir.path(), &["report", "a", "--out"], &["--out"]);
}

#[test]
fn a_place_that_cannot_be_written_is_rejected_before_the_work() {
    let dir = tempdir().unwrap();
    // Fifty thousand simulated seconds would not end: the answer must come before it starts.
    let long = ["sim", "dumbbell", "--scheme", "aimd", "--set", "run.duration=50000s"];
    fs::create_dir(dir.path().join("thesis")).unwrap();
    fs::write(dir.path().join("thesis/chapter.tex"), "years of work").unwrap();
    rejects(dir.path(), &[&long[..], &["--out", "thesis"]].concat(), &["thesis", "name another folder"]);
    rejects(dir.path(), &[&long[..], &["--out", "thesis/chapter.tex"]].concat(), &["chapter.tex"]);
    rejects(dir.path(), &[&long[..], &["--out", "thesis/chapter.tex/below"]].concat(), &["chapter.tex"]);
    rejects(dir.path(), &[&long[..], &["--trace", "no/such/folder.pcap"]].concat(), &["no/such", "exists"]);
    rejects(dir.path(), &[&long[..], &["--trace", "thesis"]].concat(), &["thesis"]);
}

#[test]
fn files_that_are_not_text_are_rejected_without_a_panic() {
    let dir = tempdir().unwrap();
    let noise: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for ending in ["toml", "graphml", "cch", "txt"] {
        for (name, bytes) in [("noise", &noise[..]), ("empty", b"")] {
            let file = format!("{name}.{ending}");
            fs::write(dir.path().join(&file), bytes).unwrap();
            rejects(dir.path(), &["sim", &file], &[&file]);
        }
    }
    fs::create_dir(dir.path().join("folder.toml")).unwrap();
    fs::write(dir.path().join("folder.toml/x"), "").unwrap();
    rejects(dir.path(), &["sim", "folder.toml"], &["folder.toml"]);
}

#[test]
fn no_error_shows_a_panic_or_a_word_of_the_programming_language() {
    let dir = tempdir().unwrap();
    for args in [&["sim", "nope"][..], &["report", "nope"], &["explain", ""], &["sim", ""], &["validate", "/"]] {
        let done = ndnweir(dir.path()).args(args).assert().code(2);
        let text = stderr(&done);
        for word in ["panicked", "RUST_BACKTRACE", "Err(", "Some(", "unwrap"] {
            assert!(!text.contains(word), "{args:?}: {text}");
        }
    }
}

#[test]
fn a_long_list_of_names_takes_as_long_as_it_has_names() {
    let dir = tempfile::tempdir().unwrap();
    let takes = |count: usize| {
        let names: Vec<String> = (0..count).map(|i| format!("\"N{i}\"")).collect();
        fs::write(dir.path().join("s.toml"), format!("[[node]]\nnames = [{}]\n", names.join(", "))).unwrap();
        let began = std::time::Instant::now();
        ndnweir(dir.path()).args(["validate", "s.toml"]).assert().code(2);
        began.elapsed()
    };
    // Ten times as many: linear is up to 10, quadratic about 100.
    let (few, many) = (takes(3_000), takes(30_000));
    assert!(many < 40 * few, "{few:?} for 3,000 names, {many:?} for 30,000");
}

/// A device is read to its end by who takes it for a file; this one has an end.
#[test]
#[cfg(unix)]
fn what_is_no_file_is_refused_wherever_a_file_is_named() {
    let dir = tempdir().unwrap();
    for arguments in [
        &["sim", "/dev/null"][..],
        &["validate", "/dev/null"],
        &["sweep", "/dev/null"],
        &["judge", "--run-plan", "/dev/null"],
        // The second option would end the command, too.
        &["fwd", "--config", "/dev/null", "--route", "nothing"],
    ] {
        let is_left_out = match arguments[0] {
            "sweep" => !cfg!(feature = "sweep"),
            "fwd" => !cfg!(feature = "network"),
            _ => false,
        };
        if is_left_out {
            continue;
        }
        rejects(dir.path(), arguments, &["/dev/null", "this is not a file"]);
    }
}

#[test]
#[cfg(all(unix, feature = "sweep"))]
fn a_table_of_runs_that_is_no_file_is_refused() {
    let dir = tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/null", dir.path().join("runs.parquet")).unwrap();
    rejects(dir.path(), &["report", "runs.parquet"], &["runs.parquet: this is not a file", "--merge"]);
}

#[test]
#[cfg(unix)]
fn a_checkpoint_that_is_no_file_is_refused() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("a.checkpoints")).unwrap();
    std::os::unix::fs::symlink("/dev/null", dir.path().join("a.checkpoints/pcon-1.checkpoint")).unwrap();
    let run = ["sim", "dumbbell", "--scheme", "pcon", "--set", "run.duration=1s", "-o", "a", "--resume"];
    let output = ndnweir(dir.path()).args(run).assert().failure();
    let says = stderr(&output);
    assert!(says.contains("pcon-1.checkpoint") && says.contains("this is not a file"), "{says}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_error_that_cannot_be_written_ends_the_command_with_the_status_that_it_has() {
    let dir = tempdir().unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"));
    let status = command.current_dir(dir.path()).args(["validate", "missing.toml"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn outputs_replace_neither_inputs_nor_each_other_nor_results() {
    let dir = tempdir().unwrap();
    let dumbbell = fs::read(repository("scenarios/dumbbell.toml")).unwrap();
    fs::write(dir.path().join("own.toml"), &dumbbell).unwrap();
    fs::create_dir(dir.path().join("folder")).unwrap();
    fs::hard_link(dir.path().join("own.toml"), dir.path().join("linked.toml")).unwrap();
    common::run(dir.path(), "sim own.toml --scheme aimd --set run.duration=1s -o R").success();
    let before = common::contents(dir.path());
    for (options, says) in [
        ("--trace own.toml", "--trace own.toml: the command reads this file"),
        ("--deliveries folder/../own.toml", "the command reads this file"),
        ("--qlog linked.toml", "the command reads this file"),
        ("--trace x --qlog ./x", "--qlog ./x: --trace writes this file"),
        ("-o R --force --trace R/summary.json", "--trace R/summary.json: results in R have this name"),
        ("-o R --force --qlog R/series/links.csv", "results in R have this name"),
    ] {
        let line = format!("sim own.toml --scheme aimd --set run.duration=1s {options}");
        let done = common::run(dir.path(), &line).code(2);
        assert!(stderr(&done).contains(says), "{options}: {}", stderr(&done));
        assert!(before == common::contents(dir.path()), "{options}: something was written");
    }
    // A device keeps nothing that another output could replace.
    #[cfg(unix)]
    common::run(dir.path(), "sim own.toml --scheme aimd --set run.duration=1s -q --trace /dev/null --qlog /dev/null")
        .success();
}

#[test]
#[cfg(feature = "network")]
fn what_get_writes_on_the_way_does_not_replace_the_object_or_its_parts() {
    let dir = tempdir().unwrap();
    for (options, says) in [
        ("--trace y", "--trace y: -o writes this file"),
        ("--trace y.part", "--trace y.part: -o writes this file"),
        ("--qlog y.part.state", "-o writes this file"),
        ("--trace t --qlog t", "--qlog t: --trace writes this file"),
    ] {
        let line = format!("get /example/x -o y {options}");
        rejects(dir.path(), &line.split(' ').collect::<Vec<_>>(), &[says]);
    }
}

#[test]
fn a_packet_trace_takes_the_place_of_nothing_but_an_earlier_one_of_its_kind() {
    let dir = tempdir().unwrap();
    let options = match cfg!(feature = "perfetto") {
        true => &["--trace", "--qlog", "--deliveries", "--perfetto"][..],
        false => &["--trace", "--qlog", "--deliveries"],
    };
    let sim = ["sim", "dumbbell", "--scheme", "aimd", "--set", "run.duration=1s", "--force"];
    // Another program's capture is no trace of this one.
    let mut foreign = b"\x0a\x0d\x0d\x0a\x30\0\0\0M<+\x1a\x01\0\0\0".to_vec();
    foreign.extend(b"\xff\xff\xff\xff\xff\xff\xff\xff\x04\0\x0b\0dumpcap 4.2");
    for (file, content) in [("notes.txt", &b"years of work\n"[..]), ("other.pcapng", &foreign)] {
        fs::write(dir.path().join(file), content).unwrap();
        for option in options {
            rejects(
                dir.path(),
                &[&sim[..], &[option, file]].concat(),
                &[option, file, "holds something else", "delete"],
            );
        }
    }
    fs::write(dir.path().join("empty"), "").unwrap();
    ndnweir(dir.path()).args(sim).args(["--trace", "empty"]).assert().success();
    for option in options {
        for _ in 0..2 {
            ndnweir(dir.path()).args(sim).args([option, option.trim_start_matches('-')]).assert().success();
        }
    }
    for (one, other) in [("--trace", "qlog"), ("--qlog", "deliveries"), ("--deliveries", "trace")] {
        rejects(dir.path(), &[&sim[..], &[one, other]].concat(), &[one, other, "holds something else"]);
    }
    #[cfg(feature = "network")]
    for option in ["--trace", "--qlog"] {
        rejects(dir.path(), &["get", "/x", "-o", "y", option, "notes.txt"], &[option, "holds something else"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn where_no_results_can_be_written_the_error_names_the_folder_that_was_given() {
    let dir = tempdir().unwrap();
    for out in ["/proc/x", "/proc/x/y"] {
        let said = format!("error: {out}: ");
        rejects(dir.path(), &["sim", "dumbbell", "--scheme", "aimd", "--out", out], &[&said, "is writable"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_trace_that_was_not_written_is_not_said_to_be_there() {
    let dir = tempdir().unwrap();
    let done = common::run(dir.path(), "sim dumbbell --scheme aimd --set run.duration=1s --trace /dev/full").code(1);
    assert!(stderr(&done).contains("/dev/full"), "{}", stderr(&done));
    assert!(!common::stdout(&done).contains("packets: "), "{}", common::stdout(&done));
}

/// A scenario of a link, whose texts try to command a terminal.
const HOSTILE: &str = r#"
name = "it"
about = "Red \u001B[31m\u001B[2J and \u202Eleft\u0007."
[[link]]
ends = ["A", "B"]
rate = "10Mbps"
delay = "1ms"
queue = "10 packets"
[[node]]
names = ["A", "B"]
[[producer]]
name = "B"
node = "B"
prefix = "/p"
[[consumer]]
name = "A"
node = "A"
prefix = "/p"
[run]
duration = "100ms"
"#;

#[test]
fn a_terminal_obeys_nothing_that_a_scenario_says() {
    let dir = tempdir().unwrap();
    let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    let vary = "[[vary]]\nkey = \"link.A-B.queue\"\nvalues = [[\"a\\u001B[2J\\n\\u202E\", \"20 packets\"]]\n";
    for (name, text, coloured) in [
        ("plain", HOSTILE.to_owned(), r"Red \u{1b}[31m\u{1b}[2J and \u{202e}left\u{7}."),
        ("vary", format!("{HOSTILE}{vary}"), r"a\u{1b}[2J\u{a}\u{202e}"),
    ] {
        let file = dir.path().join(format!("{name}.toml"));
        fs::write(&file, text).unwrap();
        let mut command = ndnweir(dir.path());
        command.args(["sim", file.to_str().unwrap(), "--scheme", "aimd", "--out", name]);
        let text = common::stdout(&command.assert().success());
        assert!(text.contains(coloured) && !text.contains(obeyed), "{text:?}");
        let json = common::stdout(
            &ndnweir(dir.path())
                .args(["sim", file.to_str().unwrap(), "--scheme", "aimd", "--force", "--out", name, "--json"])
                .assert()
                .success(),
        );
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
        assert!(!json.contains(obeyed), "{json:?}");
        // Colours are those of the table alone.
        let text = common::stdout(&command.env("CLICOLOR_FORCE", "1").assert().success());
        assert!(text.contains(coloured) && text.contains("\x1b[1m") && !text.contains("\x1b[31m\x1b[2J"), "{text:?}");
    }
    let file = dir.path().join("bad.toml");
    for (from, to) in [("\"/p\"", r#""/p\u001B[2J\n\u202E""#), ("[run]", "[run]\nschemes = [\"a\\u001B[2J\\n\"]")] {
        fs::write(&file, HOSTILE.replace(from, to)).unwrap();
        let text = stderr(&ndnweir(dir.path()).args(["validate", file.to_str().unwrap()]).assert().code(2));
        assert!(text.contains(r"\u{1b}[2J") && !text.contains(obeyed), "{text:?}");
    }
}

#[test]
fn a_scenario_whose_results_could_not_be_in_a_folder_of_its_name_is_rejected() {
    let dir = tempdir().unwrap();
    for name in [".", "..", ".hidden"] {
        fs::write(dir.path().join("it.toml"), HOSTILE.replace("\"it\"", &format!("{name:?}"))).unwrap();
        for command in ["validate", "sim"] {
            rejects(dir.path(), &[command, "it.toml"], &["it.toml:2:8: ", "begins with a dot", "help: begin it with"]);
        }
    }
    fs::write(dir.path().join("..toml"), HOSTILE.replace("name = \"it\"", "")).unwrap();
    rejects(dir.path(), &["validate", "..toml"], &["begins with a dot", "help: add name ="]);
}

#[test]
fn a_folder_for_results_that_cannot_be_made_is_known_before_the_work() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    // An hour is not simulated within the time that a test has.
    let sim = ["sim", "dumbbell", "--scheme", "all", "--set", "run.duration=3600s", "--out"];
    let long = "x".repeat(250);
    for out in ["file/out", long.as_str()] {
        rejects(dir.path(), &[&sim[..], &[out]].concat(), &[out]);
    }
    #[cfg(target_os = "linux")]
    rejects(dir.path(), &[&sim[..], &["/proc/out"]].concat(), &["/proc"]);
}

#[test]
fn a_negative_number_is_answered_with_a_remedy() {
    let dir = tempdir().unwrap();
    let mut lines = vec!["sim dumbbell --seeds -1"];
    if cfg!(feature = "network") {
        lines.push("route add /a 300 --cost -1");
    }
    for line in lines {
        rejects(
            dir.path(),
            &line.split(' ').collect::<Vec<_>>(),
            &["'-1'", "a negative number", "write one from 0 up"],
        );
    }
}

#[test]
fn a_topology_may_begin_with_a_byte_order_mark() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("it.txt"), "\u{feff}router\nA NA 1 2\nB NA 3 4\nlink\nA B 10Mbps 2 5ms 20\n").unwrap();
    common::run(dir.path(), "validate it.txt").success();
}

#[test]
fn an_error_quotes_a_short_part_of_a_very_long_value() {
    let dir = tempdir().unwrap();
    let rate = format!("rate = \"{}\"", "9".repeat(1_000_000));
    fs::write(dir.path().join("it.toml"), HOSTILE.replace("rate = \"10Mbps\"", &rate)).unwrap();
    let text = stderr(&common::run(dir.path(), "validate it.toml").code(2));
    assert!(text.len() < 1000 && text.contains(&"9".repeat(60)) && text.contains("it.toml:6:"), "{}", text.len());
}
