//! Losses on a link between two forwarders, which repair them.

use crate::process::{Fwd, Tool, wait_for};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// `ndnweir link` between two forwarders; killed when dropped.
struct Lossy(Child);

impl Lossy {
    /// The places at which either forwarder finds the other.
    fn start(near: &Fwd, far: &Fwd, loss: &str) -> (Lossy, [String; 2]) {
        let ends = [near.udp().to_string(), far.udp().to_string()];
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"))
            .args(["link", "--rate", "50Mbps", "--delay", "5ms", "--queue", "2BDP", "--loss", loss])
            .args(["--a", &ends[0], "--b", &ends[1]])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let ports = line.split("127.0.0.1:").skip(1).map(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            format!("udp4://127.0.0.1:{digits}")
        });
        let ports: Vec<String> = ports.collect();
        (Lossy(child), [ports[0].clone(), ports[1].clone()])
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `face show --json` says about a forwarder's face to a place.
fn face(fwd: &Fwd, uri: &str) -> Value {
    serde_json::from_str(&fwd.tool(&["face", "show", uri, "--json"])).unwrap()
}

fn transfer(reliability: &str) -> (Value, Value) {
    let (near, far) = (Fwd::start("--udp 127.0.0.1:0 --cs 0"), Fwd::start("--udp 127.0.0.1:0 --cs 0"));
    let (_link, [to_far, to_near]) = Lossy::start(&near, &far, "0.01");
    for (fwd, uri) in [(&near, &to_far), (&far, &to_near)] {
        let said = fwd.tool(&["face", "create", uri, reliability]);
        assert!(said.starts_with("Created face"), "{said}");
    }
    near.tool(&["route", "add", "/t", &to_far]);
    let bytes: Vec<u8> = (0..2_000_000_u32).map(|i| (i % 251) as u8).collect();
    std::fs::write(far.folder().join("in"), &bytes).unwrap();
    let _put = Tool::start(&far, "put in /t");
    wait_for("the producer", || far.tool(&["route", "list"]).contains("/t "));
    let get = Tool::start(&near, "get /t -o out --timeout 50s").end();
    assert_eq!(get.0, Some(0), "{}", get.1);
    assert!(std::fs::read(near.folder().join("out")).unwrap() == bytes);
    (face(&near, &to_far), face(&far, &to_near))
}

#[test]
fn lost_frames_are_sent_again_and_counted_where_both_ends_want_it() {
    let (near, far) = transfer("--reliability");
    for face in [&near, &far] {
        assert!(face["flags"].as_array().unwrap().contains(&"reliability".into()), "{face}");
    }
    // 250 Data of six frames each, of which one in a hundred is lost.
    let repairs = &far["reliability"];
    assert!(repairs["retransmitted_frames"].as_u64().unwrap() >= 3, "{far}");
    assert!(repairs["acknowledged_frames"].as_u64().unwrap() >= 1000, "{far}");
    assert_eq!(repairs["given_up_packets"], 0, "{far}");
}

#[test]
fn nothing_is_acknowledged_where_it_is_switched_off() {
    let (near, far) = transfer("--reliability=false");
    for face in [&near, &far] {
        assert!(!face["flags"].as_array().unwrap().contains(&"reliability".into()), "{face}");
        let repairs = &face["reliability"];
        assert_eq!((&repairs["acknowledged_frames"], &repairs["retransmitted_frames"]), (&0.into(), &0.into()));
    }
}

#[test]
fn a_stream_has_no_link_reliability() {
    let (fwd, far) = (Fwd::start(""), Fwd::start("--tcp 127.0.0.1:0"));
    let said = fwd.tool(&["face", "create", &format!("tcp4://{}", far.tcp()), "--reliability"]);
    assert!(said.contains("409") && said.contains("streams lose nothing"), "{said}");
}
