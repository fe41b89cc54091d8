//! `put`, `get` and `bench get` as processes around a forwarder process.
#![cfg(unix)]

mod common;

use common::process::{Ended, PATIENCE, Running, command, wait_for};
use common::{KEY, PUBLIC, UNTRUSTED_KEY, ndnweir, rejects};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};

fn start(dir: &Path, args: &[&str]) -> Running {
    Running::start(command(dir, "fwd.sock", "").args(args))
}

fn forwarder(dir: &Path) -> Running {
    // A socket file left by a forwarder that was killed says nothing about this one.
    let _ = fs::remove_file(dir.join("fwd.sock"));
    forwarder_at(dir, &[])
}

fn forwarder_at(dir: &Path, more: &[&str]) -> Running {
    let running = start(dir, &[&["fwd", "--unix", "fwd.sock", "--cs", "0"], more].concat());
    wait_for("the forwarder does not listen", || dir.join("fwd.sock").exists());
    running
}

/// A folder with a file `in`, a forwarder, and the file published as `/t`.
struct Place {
    dir: TempDir,
    fwd: Option<Running>,
    put: Option<Running>,
}

impl Place {
    fn new(len: usize, put: &[&str]) -> Place {
        let dir = tempdir().unwrap();
        let content: Vec<u8> = (0..len).map(|i| (i * 7 + i / 255) as u8).collect();
        fs::write(dir.path().join("in"), content).unwrap();
        fs::write(dir.path().join("key"), KEY).unwrap();
        fs::write(dir.path().join("pub"), PUBLIC).unwrap();
        fs::write(dir.path().join("untrusted"), UNTRUSTED_KEY).unwrap();
        let fwd = Some(forwarder(dir.path()));
        let put = Some(start(dir.path(), &[&["put", "in", "/t"], put].concat()));
        Place { dir, fwd, put }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start(&self, args: &str) -> Running {
        start(self.dir.path(), &args.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs a command to its end: exit status, standard output, standard error.
    fn run(&self, args: &str) -> (i32, String, String) {
        let Ended { code, stdout, stderr, .. } = self.start(args).end();
        (code.unwrap_or(-1), String::from_utf8_lossy(&stdout).into_owned(), stderr)
    }

    fn is_same(&self, name: &str) -> bool {
        fs::read(self.path(name)).unwrap() == fs::read(self.path("in")).unwrap()
    }
}

#[test]
fn a_file_comes_through_a_forwarder_as_it_was_and_is_counted() {
    let place = Place::new(1_000_003, &[]);
    let (status, stdout, stderr) = place.run("get /t -o out --json --trace trace.csv");
    assert_eq!(status, 0, "{stderr}");
    assert!(place.is_same("out"));
    let statistics: Value = serde_json::from_str(&stdout).unwrap();
    // 1,000,003 bytes are 126 segments of 8000, the last of 3.
    assert_eq!((&statistics["bytes"], &statistics["segments"]), (&1_000_003.into(), &126.into()));
    assert!(statistics["goodput_mbps"].as_f64().unwrap() > 0.0 && statistics["rtt_ms"]["p50"].is_number());
    let (status, _, stderr) = place.run("report trace.csv");
    assert_eq!(status, 0, "{stderr}");
    assert!(fs::read_to_string(place.path("trace.html")).unwrap().contains("<svg"));
    let (status, _, stderr) = place.run("report trace.csv -o trace.csv");
    assert!(status == 2 && stderr.contains("the command reads this file; name another"), "{stderr}");

    let (status, _, _) = place.run("get /t -q -o second --scheme bic --pace 0");
    assert!(status == 0 && place.is_same("second"));
    let transport = format!("unix://{}", place.path("fwd.sock").display());
    let mut command = ndnweir(place.dir.path());
    let done = command.args(["get", "/t", "-q", "--transport", &transport]).timeout(PATIENCE).assert().success();
    assert_eq!(done.get_output().stdout, fs::read(place.path("in")).unwrap());
    let (status, stdout, stderr) = place.run("bench get /t --fetches 5 --at-once 2 --json");
    assert_eq!(status, 0, "{stderr}");
    let statistics: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&statistics["complete"], &statistics["bytes"]), (&5.into(), &5_000_015.into()));
}

#[test]
fn a_file_comes_over_udp_in_fragments_and_over_tcp() {
    let mut place = Place::new(1_000_003, &[]);
    assert_eq!(place.run("get /t -q -o unix").0, 0);
    // Free at this moment for both; the forwarder takes it at once.
    let address = loop {
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        if std::net::TcpListener::bind(udp).is_ok() {
            break udp.to_string();
        }
    };
    place.fwd = None;
    place.fwd = Some(forwarder_at(place.dir.path(), &["--udp", &address, "--tcp", &address]));
    for transport in ["udp4", "tcp4"] {
        let (status, _, stderr) = place.run(&format!("get /t -q -o {transport} --transport {transport}://{address}"));
        assert_eq!(status, 0, "{transport}: {stderr}");
        assert!(place.is_same(transport));
    }
}

#[test]
fn only_the_key_that_is_trusted_is_accepted() {
    let place = Place::new(20_000, &["--sign", "ed25519:key"]);
    let (status, _, stderr) = place.run("get /t -o out --trust ed25519:pub");
    assert!(status == 0 && place.is_same("out"), "{stderr}");
    for (trust, says) in [("ed25519:untrusted", "does not match"), ("digest", "found SignatureEd25519")] {
        let (status, _, stderr) = place.run(&format!("get /t -o rejected --trust {trust}"));
        assert_eq!(status, 1, "{stderr}");
        for part in ["is not signed as demanded", says, "sha256digest=", "cs erase /t/32=metadata"] {
            assert!(stderr.contains(part), "{part:?} is not in {stderr}");
        }
        assert!(!place.path("rejected").exists());
    }
}

#[test]
fn an_interrupted_fetch_continues_and_rejects_another_version() {
    let mut place = Place::new(3_000_000, &["--chunk", "200"]);
    let slow = "get /t -o out -q --scheme fixed --set consumer.window=1";
    for _ in 0..2 {
        let before = fs::metadata(place.path("out.part")).map_or(0, |part| part.len());
        let get = place.start(slow);
        let grown = || fs::metadata(place.path("out.part")).is_ok_and(|part| part.len() > before + 20_000);
        wait_for("nothing arrives", grown);
        get.signal("INT");
        assert_eq!(get.end().code, Some(1));
        assert!(!place.path("out").exists() && place.path("out.part.state").exists());
    }
    // Changed while it is published: the producer ends. Published again: another version.
    let version = fs::read(place.path("out.part.state")).unwrap();
    let mut content = fs::read(place.path("in")).unwrap();
    content[5] ^= 1;
    fs::write(place.path("in"), content).unwrap();
    let get = place.start("get /t -o else -q --timeout 30s");
    let put = place.put.take().unwrap().end();
    assert_eq!(put.code, Some(1));
    assert!(put.stderr.contains("was changed while it is published"));
    drop(get);
    place.put = Some(place.start("put in /t --chunk 200"));
    let (status, _, stderr) = place.run("get /t -o out");
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains("holds a part of /t/v=") && stderr.contains("--restart"), "{stderr}");
    assert_eq!(fs::read(place.path("out.part.state")).unwrap(), version);
    let (status, _, stderr) = place.run("get /t -o out --restart");
    assert!(status == 0 && place.is_same("out"), "{stderr}");
    assert!(!place.path("out.part").exists() && !place.path("out.part.state").exists());
}

#[test]
fn a_continued_fetch_requests_only_what_is_missing() {
    let place = Place::new(3_000_000, &["--chunk", "200"]);
    let get = place.start("get /t -o out -q --scheme fixed --set consumer.window=1");
    wait_for("nothing arrives", || fs::metadata(place.path("out.part")).is_ok_and(|part| part.len() > 50_000));
    get.signal("INT");
    get.end();
    let there = fs::metadata(place.path("out.part")).unwrap().len();
    let (status, stdout, stderr) = place.run("get /t -o out --json");
    assert!(status == 0 && place.is_same("out"), "{stderr}");
    let statistics: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&statistics["resumed_bytes"], &statistics["bytes"]), (&there.into(), &(3_000_000 - there).into()));
}

#[test]
fn a_fetch_survives_a_restart_of_the_forwarder() {
    let mut place = Place::new(3_000_000, &["--chunk", "200"]);
    let get = place.start("get /t -o out --scheme fixed --set consumer.window=2 --timeout 50s");
    wait_for("nothing arrives", || fs::metadata(place.path("out.part")).is_ok_and(|part| part.len() > 50_000));
    place.fwd = None;
    place.fwd = Some(forwarder(place.dir.path()));
    let Ended { code, stderr, .. } = get.end();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("connection lost") && place.is_same("out"), "{stderr}");
}

/// In a pseudo terminal, which `script` of util-linux makes.
#[cfg(target_os = "linux")]
#[test]
fn in_a_terminal_progress_is_shown_and_content_only_on_request() {
    let place = Place::new(600_000, &["--chunk", "200"]);
    let typed = |line: &str| {
        let program = assert_cmd::cargo::cargo_bin!("ndnweir").display();
        let transport = format!("unix://{}", place.path("fwd.sock").display());
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &format!("stty cols 120; {program} {line}"), "/dev/null"]).env("TERM", "xterm");
        Running::start(script.env("NDN_CLIENT_TRANSPORT", transport).current_dir(place.dir.path())).end()
    };
    let Ended { code, stdout, .. } = typed("get /t -o out --scheme fixed --set consumer.window=1");
    let shown = String::from_utf8_lossy(&stdout);
    assert_eq!(code, Some(0), "{shown}");
    for part in ["% of 585.94 KiB", " Mbit/s, rtt ", " ms, window 1, 0 marks, ", " left", "600000 bytes in "] {
        assert!(shown.contains(part), "{part:?} is not in {shown:?}");
    }
    assert!(place.is_same("out"));
    let Ended { code, stdout, .. } = typed("get /t -q");
    let shown = String::from_utf8_lossy(&stdout);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("standard output is a terminal") && shown.contains("-o FILE"), "{shown}");
    // Line ends become two bytes in a terminal, and there is nothing else than content.
    let Ended { code, stdout, .. } = typed("get /t -q -o -");
    assert!(code == Some(0) && stdout.len() >= 600_000);
}

#[test]
fn a_producer_with_once_ends_when_all_was_requested() {
    let mut place = Place::new(50_000, &["--once", "--quiet"]);
    let (status, _, stderr) = place.run("get /t -o out -q");
    assert_eq!((status, stderr.as_str()), (0, ""));
    let put = place.put.take().unwrap().end();
    assert_eq!((put.code, put.stderr.as_str()), (Some(0), ""));
    let idle = place.start("put in /t --idle 100ms -q").end();
    assert_eq!(idle.code, Some(0));
}

#[test]
fn an_unanswered_name_and_a_missing_forwarder_are_failed_work() {
    let place = Place::new(10, &[]);
    for name in ["/nobody", "/nobody/v=1"] {
        // Three rounds of NACKs take about 1.5 s, a tenth of the patience.
        let began = std::time::Instant::now();
        let (status, stdout, stderr) = place.run(&format!("get {name} --timeout 60s"));
        assert_eq!((status, stdout.as_str()), (1, ""));
        assert!(stderr.contains("there is no route to") && stderr.contains(name), "{stderr}");
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}", began.elapsed());
    }
    for command in ["get /t", "put in /t", "bench get /t"] {
        let (status, _, stderr) = place.run(&format!("{command} --transport unix:///no/such.sock"));
        assert_eq!(status, 1);
        for says in ["no forwarder listens at unix:///no/such.sock", "ndnweir fwd", "NDN_CLIENT_TRANSPORT"] {
            assert!(stderr.contains(says), "{command}: {stderr}");
        }
    }
}

#[test]
fn standard_input_is_published_from_a_pipe_and_from_a_file() {
    let mut place = Place::new(100_003, &[]);
    // `exec`: the process that is ended with the test is the producer itself.
    for shell in ["exec \"$0\" put - /piped < <(cat in)", "exec \"$0\" put - /redirected < in"] {
        let name = shell.split(' ').find(|word| word.starts_with('/')).unwrap();
        let mut command = std::process::Command::new("bash");
        command.args(["-c", shell]).arg(assert_cmd::cargo::cargo_bin!("ndnweir")).current_dir(place.dir.path());
        command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", place.path("fwd.sock").display()));
        place.put = Some(Running::start(&mut command));
        wait_for("it is not published", || place.run("route list").1.contains(name));
        let (status, _, stderr) = place.run(&format!("get {name} -o out"));
        assert!(status == 0 && place.is_same("out"), "{stderr}");
    }
}

#[test]
fn a_fetch_without_a_verified_signer_reports_it_once() {
    let place = Place::new(100_003, &["--sign", "ed25519:key"]);
    for (trust, warned, shown) in [("any", true, "nothing"), ("ed25519:pub", false, "signer")] {
        let (status, stdout, stderr) = place.run(&format!("get /t -o out --json --trust {trust}"));
        assert_eq!((status, stderr.matches("warning: ").count()), (0, usize::from(warned)), "{stderr}");
        assert_eq!(stderr.contains("--trust ed25519:PUBFILE"), warned, "{stderr}");
        assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["checked"], shown);
    }
    let place = Place::new(10, &[]);
    let (_, stdout, stderr) = place.run("get /t -o out --json");
    assert!(stderr.contains("only digests were checked"), "{stderr}");
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["checked"], "digest");
    assert_eq!(place.run("get /t -o out -q").2, "");
}

#[test]
fn bytes_changed_on_the_disk_between_two_fetches_do_not_end_in_the_file() {
    let place = Place::new(3_000_000, &["--chunk", "200"]);
    let get = place.start("get /t -o out -q --scheme fixed --set consumer.window=1");
    wait_for("nothing arrives", || fs::metadata(place.path("out.part")).is_ok_and(|part| part.len() > 50_000));
    get.signal("INT");
    get.end();
    let mut part = fs::read(place.path("out.part")).unwrap();
    for byte in &mut part[20_000..20_008] {
        *byte = !*byte;
    }
    fs::write(place.path("out.part"), part).unwrap();
    let (status, stdout, stderr) = place.run("get /t -o out --json");
    assert!(status == 0 && place.is_same("out"), "{stderr}");
    assert!(stderr.contains("out.part: 1 segments are not as they came and are fetched again"), "{stderr}");
    let statistics: Value = serde_json::from_str(&stdout).unwrap();
    assert!(statistics["resumed_bytes"].as_u64().unwrap() > 20_000, "{stdout}");
}

#[test]
fn a_pipe_cannot_be_published_and_is_not_waited_for() {
    // Not in the folder that is looked at for what was written.
    let (dir, elsewhere) = (tempdir().unwrap(), tempdir().unwrap());
    let pipe = elsewhere.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    rejects(dir.path(), &["put", pipe.to_str().unwrap(), "/a"], &["pipe", "not a regular file"]);
}

#[test]
fn a_private_key_that_everybody_can_read_gets_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(10, &[]);
    for (mode, warned) in [(0o600, false), (0o644, true)] {
        fs::set_permissions(place.path("key"), PermissionsExt::from_mode(mode)).unwrap();
        for line in ["put in /k --sign ed25519:key --idle 1ms", "status --key key --key-name /me"] {
            let (_, _, stderr) = place.run(line);
            assert_eq!(
                stderr.contains("warning: key is a private key") && stderr.contains("chmod 600 key"),
                warned,
                "{stderr}"
            );
        }
    }
}

#[test]
fn a_flag_that_does_not_exist_is_not_reported_as_a_value() {
    let dir = tempdir().unwrap();
    for line in ["get /a --otput x", "put in /a --frehsness 1s", "route list --jsno", "fwd --unx /s"] {
        let done = ndnweir(dir.path()).args(line.split(' ')).assert().code(2);
        let said = common::stderr(&done);
        assert!(said.contains("unexpected argument") && !said.contains("as a value"), "{said}");
        assert!(said.contains("a similar argument exists"), "{said}");
    }
}

#[test]
fn a_fetch_is_decided_on_by_a_policy_of_a_file() {
    let place = Place::new(400_000, &[]);
    let layers = "[[layers]]\nweights = [[0, 0, 0, -1, 0, 0, 0, 0]]\nbias = [1.5]\n";
    fs::write(place.path("agent.toml"), format!("name = \"policy\"\ninterval = \"5ms\"\n{layers}")).unwrap();
    // An RTT twice the least one keeps the window; what is beside the file counts instead of what is in it.
    let (status, _, stderr) = place.run("get /t -o out -q --set consumer.file=agent.toml --set consumer.interval=2ms");
    assert!(status == 0 && place.is_same("out"), "{stderr}");
    fs::write(place.path("agent.toml"), "name = \"policy\"\n[[layers]]\nweights = [[1]]\nbias = [0]\n").unwrap();
    let (status, _, stderr) = place.run("get /t -o else --set consumer.file=agent.toml");
    assert!(status == 2 && stderr.contains("row 1 has 1 weights"), "{stderr}");
    let (status, _, stderr) = place.run("get /t -o else --set consumer.file=none.toml");
    assert!(status == 2 && stderr.contains("none.toml"), "{stderr}");
}

#[test]
fn bad_input_is_rejected_before_anything_is_done() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("in"), "content").unwrap();
    fs::write(dir.path().join("key"), KEY).unwrap();
    for (line, words) in [
        ("get no-slash", &["no-slash", "not a name"][..]),
        ("get /", &["/like/this"]),
        ("get /a -o .", &["-o .", "name a file"]),
        ("get /a -o no/such/file", &["no such folder"]),
        ("get /a -o /dev/zero", &["-o /dev/zero", "not a regular file", "leave out -o"]),
        ("get /a -o - --json", &["-o -", "need a file"]),
        ("get /a --scheme cubik", &["cubik", "cubic"]),
        ("get /a --set consumer.c", &["consumer.KEY=VALUE"]),
        ("get /a --set marker.x=1", &["consumer.KEY=VALUE"]),
        ("get /a --set consumer.windw=1", &["windw", "expected one of"]),
        ("get /a --lifetime fast", &["--lifetime fast"]),
        ("get /a --lifetime 1ns", &["--lifetime 1ns", "1ms or more"]),
        ("get /a --timeout 0s", &["--timeout 0s"]),
        ("get /a --pace=-1", &["--pace -1"]),
        ("get /a --pace 1000", &["--pace 1000"]),
        ("get /a --trust rsa", &["--trust", "rsa", "ed25519:PUBFILE"]),
        ("get /a --trust ed25519:nope", &["nope", "No such file"]),
        ("get /a --trust ed25519:key", &["key", "not a valid Ed25519 public key"]),
        ("get /a --transport ether://x", &["ether://x", "unix:///PATH"]),
        ("get /a --json", &["--output"]),
        ("get /a --restart", &["--output"]),
        ("get /a --trace no/such/trace.csv", &["--trace", "no/such"]),
        ("get /a --qlog no/such/fetch.sqlog", &["--qlog", "no/such"]),
        ("put nope /a", &["nope", "No such file"]),
        ("put . /a", &["regular file"]),
        ("put in a", &["not a name"]),
        ("put in /v=3", &["before the version"]),
        ("put in /a --chunk 0", &["--chunk"]),
        ("put in /a --chunk 8790", &["8790", "more than 8800", "--chunk 87"]),
        ("put in /a --sign ecdsa:key", &["key", "P-256"]),
        ("put in /a --sign sha1", &["sha1", "ed25519:KEYFILE"]),
        ("put in /a --freshness never", &["--freshness never"]),
        ("bench get", &["NAMES"]),
        ("bench get /a --fetches 0", &["--fetches"]),
        ("report in", &["line 1", "no trace of a fetch"]),
    ] {
        rejects(dir.path(), &line.split_whitespace().collect::<Vec<_>>(), words);
    }
    let transport = "NDN_CLIENT_TRANSPORT";
    let done = ndnweir(dir.path()).args(["get", "/a"]).env(transport, "nonsense").assert().code(2);
    assert!(common::stderr(&done).contains("NDN_CLIENT_TRANSPORT: `nonsense`"));
}
