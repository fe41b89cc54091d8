//! Losses on a link between two forwarders, which repair them.

use crate::application::{object, producer};
use crate::process::{Fwd, PATIENCE, Running, wait_for};
use ndnweir_wire::{Component, InterestBuilder, LpHeader, LpPacketView, Name};
use serde_json::Value;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Starts `ndnweir link` between two forwarders: the link, and the places at which either finds the other.
fn lossy(near: &Fwd, far: &Fwd, loss: &str) -> (Running, [String; 2]) {
    let ends = format!("--a {} --b {}", near.udp(), far.udp());
    let line = format!("link --rate 50Mbps --delay 5ms --queue 2BDP --loss {loss} {ends}");
    let link = Running::start(&mut near.command(&line));
    let ports = || -> Vec<String> {
        let said = link.stderr_text();
        let whole = said.lines().next().filter(|_| said.contains('\n')).unwrap_or_default();
        let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        whole.split("127.0.0.1:").skip(1).map(|rest| format!("udp4://127.0.0.1:{}", digits(rest))).collect()
    };
    wait_for("the link", || ports().len() >= 2);
    let ports = ports();
    (link, [ports[0].clone(), ports[1].clone()])
}

/// What `face show --json` says about a forwarder's face to a place.
fn face(fwd: &Fwd, uri: &str) -> Value {
    serde_json::from_str(&fwd.tool(&["face", "show", uri, "--json"])).unwrap()
}

fn transfer(reliability: &str) -> (Value, Value) {
    let (near, far) = (Fwd::start("--udp 127.0.0.1:0 --cs 0"), Fwd::start("--udp 127.0.0.1:0 --cs 0"));
    let (_link, [to_far, to_near]) = lossy(&near, &far, "0.01");
    for (fwd, uri) in [(&near, &to_far), (&far, &to_near)] {
        let said = fwd.tool(&["face", "create", uri, reliability]);
        assert!(said.starts_with("Created face"), "{said}");
    }
    near.tool(&["route", "add", "/t", &to_far]);
    let bytes: Vec<u8> = (0..2_000_000_u32).map(|i| (i % 251) as u8).collect();
    std::fs::write(far.folder().join("in"), &bytes).unwrap();
    let _put = Running::start(&mut far.command("put in /t"));
    wait_for("the producer", || far.tool(&["route", "list"]).contains("/t "));
    let fetch = || {
        let get = Running::start(&mut near.command("get /t -o out --timeout 50s")).end();
        assert_eq!(get.code, Some(0), "{}", get.stderr);
        assert!(std::fs::read(near.folder().join("out")).unwrap() == bytes);
        face(&far, &to_near)
    };
    // A neighbour is probed with one frame a second: one that is lost, or its ack, takes most of a fetch.
    if reliability == "--reliability" {
        wait_for("the ends to know of each other", || fetch()["reliability"]["acknowledged_frames"] != 0);
    }
    let far = fetch();
    (face(&near, &to_far), far)
}

#[test]
fn lost_frames_are_sent_again_and_counted_where_both_ends_want_it() {
    let (near, far) = transfer("--reliability");
    for face in [&near, &far] {
        assert!(face["flags"].as_array().unwrap().contains(&"reliability".into()), "{face}");
    }
    // 250 Data of six frames each, of which one in a hundred is lost.
    let link_retransmissions = &far["reliability"];
    assert!(link_retransmissions["retransmitted_frames"].as_u64().unwrap() >= 3, "{far}");
    assert!(link_retransmissions["acknowledged_frames"].as_u64().unwrap() >= 1000, "{far}");
    // On a busy machine acks come late, and a few packets are given up for that.
    assert!(link_retransmissions["given_up_packets"].as_u64().unwrap() <= 25, "{far}");
}

#[test]
fn nothing_is_acknowledged_where_it_is_switched_off() {
    let (near, far) = transfer("--reliability=false");
    for face in [&near, &far] {
        assert!(!face["flags"].as_array().unwrap().contains(&"reliability".into()), "{face}");
        let link_retransmissions = &face["reliability"];
        assert_eq!(
            (&link_retransmissions["acknowledged_frames"], &link_retransmissions["retransmitted_frames"]),
            (&0.into(), &0.into())
        );
    }
}

#[test]
fn a_stream_has_no_link_reliability() {
    let (fwd, far) = (Fwd::start(""), Fwd::start("--tcp 127.0.0.1:0"));
    let said = fwd.tool(&["face", "create", &format!("tcp4://{}", far.tcp()), "--reliability"]);
    assert!(said.contains("409") && said.contains("streams lose nothing"), "{said}");
}

/// What a forwarder keeps back from an address that may be forged must not be what asks it for the ack that proves it.
#[test]
fn the_first_data_that_a_peer_gets_asks_it_to_acknowledge_however_many_were_kept_back() {
    let config = "[listen]\nudp = [\"127.0.0.1:0\"]\nunproven-burst = \"16kB\"\nunproven-rate = \"1Mbps\"\n";
    let fwd = Fwd::with_config(config);
    let _producer = producer(&fwd, "/test/object", &object(1_600_000));
    let first_that_comes = |segments: std::ops::Range<u32>| {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.connect(fwd.udp()).unwrap();
        peer.set_read_timeout(Some(Duration::from_millis(4))).unwrap();
        let (mut frame, start) = ([0; 9000], Instant::now());
        for number in segments.cycle() {
            let name = "/test/object".parse::<Name>().unwrap().with(Component::segment(number.into()));
            let interest = InterestBuilder::new(name.as_view()).nonce(number.to_be_bytes()).encode().unwrap();
            let header = LpHeader { tx_sequence: Some(number.into()), ..LpHeader::default() };
            peer.send(&header.encode(Some(&interest))).unwrap();
            while let Ok(len) = peer.recv(&mut frame) {
                let header = LpPacketView::decode(&frame[..len]).unwrap().to_header();
                // The last fragment of a packet asks.
                if header.frag_count.is_some_and(|count| header.frag_index == Some(count - 1)) {
                    return header;
                }
            }
            assert!(start.elapsed() < PATIENCE);
        }
        unreachable!("segments go round")
    };
    // What may be sent at once to the address goes to the first.
    for _ in 0..5 {
        assert!(first_that_comes(0..200).tx_sequence.is_some());
    }
}
