//! Bad input to the programs around a forwarder, and a forwarder without descriptors.

use crate::application::{App, object, producer};
use crate::common::process::command;
use crate::common::{KEY, PUBLIC};
use crate::process::{Ended, Fwd, PATIENCE, Running, wait_for};
use ndnweir_wire::lp::Fragmenter;
use ndnweir_wire::{InterestBuilder, LpHeader, Name};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// The output of a hostile forwarder: garbage, an element without end, an empty one, a packet in packets, beginnings of
/// packets, Interests, a NACK without an Interest, and nothing at all.
fn speeches() -> Vec<Vec<u8>> {
    let noise: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let name: Name = "/t".parse().unwrap();
    let interest = InterestBuilder::new(name.as_view()).nonce([1; 4]).encode().unwrap();
    let mut nested = interest.clone();
    for _ in 0..200 {
        nested = LpHeader { congestion_mark: Some(1), ..LpHeader::default() }.encode(Some(&nested));
    }
    let beginning =
        |i: u64| Fragmenter::new(1400, 10 * i).fragment(&LpHeader::default(), &[6; 8000]).unwrap().remove(0);
    vec![
        noise,
        vec![0x06, 254, 0x7f, 0xff, 0xff, 0xff],
        vec![0x06, 0],
        [0x64, 0].repeat(10_000),
        nested.repeat(50),
        (0..3000).flat_map(beginning).collect(),
        interest.repeat(5000),
        vec![0x64, 6, 0xfd, 0x03, 0x20, 0x00, 0x50, 0x00],
        Vec::new(),
    ]
}

/// A forwarder that answers each connection with the next of the speeches, and then reads or closes.
fn hostile(dir: &Path) {
    let listener = UnixListener::bind(dir.join("s")).unwrap();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for (turn, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let speeches = speeches();
            // A peer that does not read all of it is dropped by a bound of its own.
            stream.set_write_timeout(Some(std::time::Duration::from_secs(1))).unwrap();
            let _ = stream.write_all(&speeches[turn % speeches.len()]);
            if turn % 2 == 0 {
                kept.push(stream);
            }
        }
    });
}

fn is_fine(line: &str, said: &str, memory: u64) {
    assert!(!said.contains("panicked"), "{line}: {said}");
    assert!(memory < 64 << 20, "{line}: {memory} bytes");
}

#[test]
fn tools_end_with_an_error_and_leave_no_file_when_the_forwarder_sends_garbage() {
    let dir = tempfile::tempdir().unwrap();
    hostile(dir.path());
    let lines =
        ["get /t -o out --timeout 1s", "get /t/v=1 -o out --timeout 1s", "bench get /t --timeout 1s --fetches 9"];
    for round in 0..3 {
        for line in lines {
            let Ended { code, stderr, memory, .. } = Running::start(&mut command(dir.path(), "s", line)).end();
            assert_eq!(code, Some(1), "{line}, round {round}: {stderr}");
            assert!(stderr.contains("error: "), "{line}: {stderr}");
            is_fine(line, &stderr, memory);
            assert!(!dir.path().join("out").exists());
        }
    }
}

#[test]
fn a_producer_and_the_management_tools_survive_a_forwarder_that_sends_garbage() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("in"), object(100_000)).unwrap();
    hostile(dir.path());
    let put = Running::start(&mut command(dir.path(), "s", "put in /t"));
    wait_for("the producer to try again", || put.stderr_text().matches("warning: ").count() > 1);
    for _ in 0..speeches().len() {
        let Ended { code, stderr, memory, .. } = Running::start(&mut command(dir.path(), "s", "route list")).end();
        assert_eq!(code, Some(1), "{stderr}");
        is_fine("route list", &stderr, memory);
    }
    // It gives up when its registration is not answered.
    put.signal("INT");
    let Ended { code, stderr, memory, .. } = put.end();
    assert!(code == Some(0) || code == Some(1) && stderr.contains("error: "), "{code:?}: {stderr}");
    is_fine("put", &stderr, memory);
}

/// Two producers publish different bytes: as two versions, and as the same one, of which one is signed.
#[test]
fn of_two_producers_of_one_name_a_fetch_brings_one_object_whole_or_none() {
    let fwd = Fwd::start("--cs 0");
    let (bytes, others) = (object(300_000), [object(300_000), vec![1]].concat());
    for (name, content) in [("in", &bytes[..]), ("other", &others), ("key", KEY.as_bytes()), ("pub", PUBLIC.as_bytes())]
    {
        std::fs::write(fwd.folder().join(name), content).unwrap();
    }
    let _producers =
        ["put in /t", "put other /t", "put in /s/v=1 --sign ed25519:key", "put other /s/v=1"].map(|line| {
            let put = fwd.start_tool(line);
            wait_for("the producer", || put.stderr_text().contains("publishing"));
            put
        });
    let out = fwd.folder().join("out");
    for _ in 0..3 {
        let get = fwd.start_tool("get /t -o out --timeout 5s").end();
        let whole = std::fs::read(&out).ok();
        match get.code {
            Some(0) => assert!(whole.is_some_and(|found| found == bytes || found == others)),
            _ => assert!(whole.is_none() && get.stderr.contains("error: "), "{}", get.stderr),
        }
        let _ = std::fs::remove_file(&out);
        let get = fwd.start_tool("get /s/v=1 -o out --restart --trust ed25519:pub --timeout 5s").end();
        let whole = std::fs::read(&out).ok();
        match get.code {
            Some(0) => assert!(whole.is_some_and(|found| found == bytes)),
            _ => assert!(whole.is_none() && get.stderr.contains("is not signed as demanded"), "{}", get.stderr),
        }
        let _ = std::fs::remove_file(&out);
    }
}

/// 64 descriptors, and 100 connections that say nothing.
#[test]
fn a_forwarder_without_descriptors_continues_and_accepts_connections_when_it_has_some_again() {
    let fwd = Fwd::with_descriptors(64, "--tcp 127.0.0.1:0 --metrics 127.0.0.1:0");
    let bytes = object(100_000);
    let _producer = producer(&fwd, "/test/object", &bytes);
    let mut app = App::connect(&fwd);
    let crowd: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(fwd.tcp()).unwrap()).collect();
    fwd.wait_for_line("connection not accepted");
    let lines = fwd.stderr_text().lines().count();
    assert!(app.fetch("/test/object", bytes.len()) == bytes);
    // Accepted connections are served; for the others there is one log message per second.
    let more = fwd.stderr_text().lines().count() - lines;
    assert!(more < 500, "{more} lines");
    // Neither the metrics nor the next application wait forever.
    let mut late = UnixStream::connect(fwd.socket()).unwrap();
    drop(crowd);
    let name: Name = "/nowhere".parse().unwrap();
    late.write_all(&InterestBuilder::new(name.as_view()).nonce([9; 4]).encode().unwrap()).unwrap();
    late.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(late.read(&mut [0; 1000]).unwrap() > 0, "a NACK comes back");
    wait_for("the metrics", || fwd.try_metrics().is_ok_and(|page| page.contains("reason=\"unknown-peer\"} ")));
}
