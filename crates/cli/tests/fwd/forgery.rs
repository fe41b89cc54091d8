//! Which answers count as the forwarder's, and the errors of a failed start.

use crate::common::{KEY, PUBLIC, UNTRUSTED_KEY};
use crate::process::{Ended, Fwd, Running, wait_for};
use std::process::Command;

#[test]
fn tools_check_the_signature_of_the_forwarders_answers_and_report_once_where_they_cannot() {
    let fwd = Fwd::start("");
    for (file, pem) in [("key", KEY), ("pub", PUBLIC), ("untrusted", UNTRUSTED_KEY)] {
        std::fs::write(fwd.folder().join(file), pem).unwrap();
    }
    let unsigned = fwd.start_tool("face list --forwarder-key pub").end();
    let fwd = fwd.again_with_config("answer-key = \"key\"\n[listen]\nunix = \"s\"");
    wait_for("the forwarder", || fwd.start_tool("status").end().code == Some(0));
    for (line, code, unverified) in [
        ("face list", Some(0), 1),
        ("face list --forwarder-key pub", Some(0), 0),
        ("route add /a udp4://127.0.0.1:9 --forwarder-key pub", Some(0), 0),
        ("face list --forwarder-key untrusted", Some(1), 0),
        ("face list --forwarder-key key", Some(2), 0),
    ] {
        let ended = fwd.start_tool(line).end();
        assert_eq!((ended.code, ended.stderr.matches("unverified").count()), (code, unverified), "{}", ended.stderr);
    }
    let wrong = fwd.start_tool("status --forwarder-key untrusted").end();
    for ended in [unsigned, wrong] {
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("was signed with the forwarder's key"), "{}", ended.stderr);
    }
    // By the environment, too; registrations are checked likewise.
    std::fs::write(fwd.folder().join("in"), "x").unwrap();
    let own = Running::start(fwd.command("put in /own").env("NDNWEIR_FORWARDER_KEY", "pub"));
    wait_for("a registration", || own.stderr_text().contains("publishing /own/"));
    let put = |key: &str| {
        let mut command = fwd.command("put in /t --idle 20s");
        Running::start(command.env("NDNWEIR_FORWARDER_KEY", key)).end()
    };
    assert!(put("untrusted").stderr.contains("does not answer the registration"));
}

fn fails(fwd: &Fwd, flags: &str) -> String {
    let Ended { code, stderr, .. } = fwd.start_tool(&format!("fwd {flags}")).end();
    assert_eq!(code, Some(1), "{stderr}");
    stderr
}

#[test]
fn an_address_that_cannot_be_had_is_not_blamed_on_another_forwarder() {
    let fwd = Fwd::start("--udp 127.0.0.1:0 --tcp 127.0.0.1:0");
    for kind in ["udp", "tcp"] {
        // An address for documentation, which no machine has.
        let said = fails(&fwd, &format!("--{kind} 192.0.2.1:6363"));
        assert!(said.contains("192.0.2.1:6363") && said.contains("no interface of this machine"), "{said}");
        let taken = if kind == "udp" { fwd.udp() } else { fwd.tcp() };
        let said = fails(&fwd, &format!("--{kind} {taken}"));
        assert!(said.contains("is another forwarder running?"), "{said}");
    }
    let said = fails(&fwd, "--udp 127.0.0.1:0 --metrics 192.0.2.1:9090");
    assert!(said.contains("metrics") && !said.contains("another forwarder"), "{said}");
}

#[test]
fn a_mistyped_log_level_is_reported_and_silences_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (level, warned) in [("debgu", true), ("warn,ndnweir_net=info", false)] {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"));
        command.args(["fwd", "--unix", "s"]).current_dir(dir.path()).env("NDNWEIR_LOG", level);
        let running = Running::start(&mut command);
        wait_for("its log", || running.stderr_text().contains("listening on unix"));
        assert_eq!(
            running.stderr_text().contains("is not a level: write one of off, error"),
            warned,
            "{}",
            running.stderr_text()
        );
    }
}
