//! Transfers in which something dies or runs out.

use crate::application::object;
use crate::common::process::command;
use crate::process::{Ended, Fwd, PATIENCE, Running, wait_for};
use ndnweir_net::framing::Deframer;
use ndnweir_net::mgmt::{ControlParameters, ControlResponse};
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, DataView, InterestBuilder, InterestView, LpPacketView, Name};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

/// 200-byte segments one at a time take seconds, so that there is time to kill a process.
const SLOW: &str = "get /t -o out --scheme fixed --set consumer.window=1";

fn publish(fwd: &Fwd, bytes: &[u8]) -> Running {
    std::fs::write(fwd.folder().join("in"), bytes).unwrap();
    published_again(fwd)
}

fn published_again(fwd: &Fwd) -> Running {
    let put = fwd.start_tool("put in /t --chunk 200");
    wait_for("the producer", || fwd.tool(&["route", "list"]).contains("/t "));
    put
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// Waits until more of the object is there.
fn grown(fwd: &Fwd, by: u64) {
    let part = fwd.folder().join("out.part");
    let before = size(&part);
    wait_for("more content", || size(&part) > before + by);
}

fn is_same(fwd: &Fwd, bytes: &[u8]) -> bool {
    std::fs::read(fwd.folder().join("out")).unwrap() == bytes
}

#[test]
fn a_fetch_whose_producer_is_killed_ends_with_an_error_and_no_file_and_continues_when_it_is_back() {
    let fwd = Fwd::start("--cs 0");
    let bytes = object(3_000_000);
    let mut put = publish(&fwd, &bytes);
    let get = fwd.start_tool(&format!("{SLOW} --timeout 1s"));
    grown(&fwd, 20_000);
    put.kill();
    let Ended { code: status, stderr: text, .. } = get.end();
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("error: ") && text.contains("/t"), "{text}");
    assert!(!fwd.folder().join("out").exists() && fwd.folder().join("out.part").exists());
    // Killed and started again while the fetch waits.
    put = published_again(&fwd);
    let get = fwd.start_tool("get /t -o out --timeout 50s --scheme fixed --set consumer.window=2");
    grown(&fwd, 20_000);
    put.kill();
    let _put = published_again(&fwd);
    let Ended { code: status, stderr: text, .. } = get.end();
    assert_eq!(status, Some(0), "{text}");
    assert!(is_same(&fwd, &bytes));
}

#[test]
fn a_fetch_is_completed_when_a_forwarder_on_the_way_was_killed_and_is_back() {
    let mut far = Fwd::start("--udp 127.0.0.1:0 --cs 0");
    let address = far.udp();
    let bytes = object(3_000_000);
    let _put = publish(&far, &bytes);
    let near = Fwd::start(&format!("--udp 127.0.0.1:0 --cs 0 --route /t=udp4://{address}"));
    let get = near.start_tool("get /t -o out --timeout 50s --scheme fixed --set consumer.window=2");
    grown(&near, 50_000);
    far.kill();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!near.folder().join("out").exists());
    far.restart(&format!("--udp {address} --cs 0"));
    let Ended { code: status, stderr: text, .. } = get.end();
    assert_eq!(status, Some(0), "{text}");
    assert!(is_same(&near, &bytes));
}

#[test]
fn a_full_disk_ends_a_fetch_with_an_error_and_no_file_and_it_continues_when_there_is_room() {
    let fwd = Fwd::start("");
    let bytes = object(1_000_000);
    let _put = publish(&fwd, &bytes);
    let run = |script: &str, stdout: Stdio| {
        let mut command = Command::new("sh");
        command.current_dir(fwd.folder()).args(["-c", script]).arg(assert_cmd::cargo::cargo_bin!("ndnweir"));
        command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", fwd.socket().display()));
        let Ended { code, stderr, .. } = Running::start_with_stdout(&mut command, stdout).end();
        (code, stderr)
    };
    // 512 blocks of 512 bytes are the largest file; a shell that ignores the signal hands that on.
    let (status, text) = run("trap '' XFSZ; ulimit -f 512; exec \"$0\" get /t -o out -q", Stdio::null());
    assert_eq!(status, Some(1), "{text}");
    for part in ["error: ", "out", "File too large", "the same command continues from here"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!fwd.folder().join("out").exists());
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (status, text) = run("exec \"$0\" get /t -q", full.into());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
    let (status, text) = run("exec \"$0\" get /t -o out -q", Stdio::null());
    assert_eq!(status, Some(0), "{text}");
    assert!(is_same(&fwd, &bytes));
}

/// A file system of 2 MiB, which only the commands of the script see and which goes with them.
#[test]
fn a_full_file_system_keeps_a_partial_file_that_continues_when_it_has_grown() {
    let isolated = ["--map-root-user", "--mount"];
    if !Command::new("unshare").args(isolated).arg("true").output().is_ok_and(|done| done.status.success()) {
        eprintln!("no file system can be mounted here; the limit of the test above stands for it");
        return;
    }
    let fwd = Fwd::start("");
    let bytes = object(5_000_000);
    std::fs::write(fwd.folder().join("in"), &bytes).unwrap();
    let _put = fwd.start_tool("put in /t");
    std::fs::create_dir(fwd.folder().join("small")).unwrap();
    let script = "
        mount -t tmpfs -o size=2m small small || exit 9
        \"$0\" get /t -o small/out -q; echo $?
        ls small; stat -c %s small/out.part
        mount -o remount,size=16m small
        \"$0\" get /t -o small/out --json | grep resumed_bytes | tr -dc '0-9\\n'; ls small
        cp small/out out";
    let mut command = Command::new("unshare");
    command.args(isolated).args(["sh", "-c", script]).arg(assert_cmd::cargo::cargo_bin!("ndnweir"));
    command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", fwd.socket().display()));
    let ended = Running::start(command.current_dir(fwd.folder())).end();
    let (said, text) = (String::from_utf8_lossy(&ended.stdout), ended.stderr);
    assert_eq!(ended.code, Some(0), "{said}{text}");
    assert!(text.contains("small/out.part: No space left on device"), "{text}");
    assert!(text.contains("the same command continues from here"), "{text}");
    let lines: Vec<&str> = said.lines().collect();
    let [status, part, state, size, resumed, whole] = lines[..] else { panic!("{said}{text}") };
    assert_eq!([status, part, state, whole], ["1", "out.part", "out.part.state", "out"], "{said}");
    // 2 MiB less the 256 KiB that make room for the state file.
    let (size, resumed): (u64, u64) = (size.parse().unwrap(), resumed.parse().unwrap());
    assert!((1_500_000..2_097_152).contains(&size) && resumed <= size && resumed > 1_000_000, "{said}");
    assert!(is_same(&fwd, &bytes));
}

#[test]
fn a_fetch_that_is_killed_continues_from_its_recorded_state() {
    let fwd = Fwd::start("");
    let bytes = object(3_000_000);
    let _put = publish(&fwd, &bytes);
    // After a first line each segment has four lengths of two bytes, the second that of the content, which is
    // elsewhere.
    let noted = || {
        let state = std::fs::read(fwd.folder().join("out.part.state")).unwrap_or_default();
        let mut rest = &state[state.iter().position(|byte| *byte == b'\n').map_or(state.len(), |at| at + 1)..];
        let mut count = 0_u64;
        while let Some(lengths) = rest.get(..8) {
            let length = |at| usize::from(u16::from_be_bytes([lengths[at], lengths[at + 1]]));
            let Some(after) = rest.get(8 + length(0) + length(4) + length(6)..) else { break };
            (rest, count) = (after, count + 1);
        }
        count
    };
    let mut before = 0;
    for _ in 0..2 {
        let mut get = fwd.start_tool(SLOW);
        wait_for("more to be noted", || noted() > before);
        get.kill();
        before = noted();
        assert!(!fwd.folder().join("out").exists());
    }
    let Ended { code, stdout, stderr, .. } = fwd.start_tool("get /t -o out --json").end();
    assert_eq!(code, Some(0), "{stderr}");
    let statistics: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(statistics["resumed_bytes"], 200 * before);
    assert_eq!(statistics["bytes"], 3_000_000 - 200 * before);
    assert!(is_same(&fwd, &bytes));
}

/// A forwarder with 100 packets of cache, a producer with 16, and a consumer.
#[test]
fn a_larger_object_takes_no_more_memory_in_any_program() {
    let needs = |len: usize| {
        let fwd = Fwd::start("--cs 100");
        std::fs::write(fwd.folder().join("in"), object(len)).unwrap();
        let put = fwd.start_tool("put in /t --cache 16");
        let get = fwd.start_tool("get /t -o out --timeout 50s --scheme fixed --set consumer.window=32").end();
        assert_eq!(get.code, Some(0), "{}", get.stderr);
        assert_eq!(size(&fwd.folder().join("out")), len as u64);
        [get.memory, put.memory(), fwd.memory()]
    };
    let (small, large) = (needs(2_000_000), needs(40_000_000));
    for (who, (small, large)) in ["get", "put", "fwd"].iter().zip(small.iter().zip(large)) {
        assert!(large < small + 6_000_000, "{who}: {large} bytes for the large one, {small} for the small one");
    }
}

/// Reads packets until `count` have come.
fn read(stream: &mut UnixStream, deframer: &mut Deframer, count: usize) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut buffer = [0; 65_536];
    while found.len() < count {
        if let Some(frame) = deframer.next_frame().unwrap() {
            found.push(LpPacketView::decode(frame).unwrap().fragment.unwrap().to_vec());
        } else {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the producer goes away");
            deframer.push(&buffer[..read]);
        }
    }
    found
}

/// 5000 Interests are read at once; their answers are 40 MB.
#[test]
fn a_producer_whose_forwarder_requests_much_and_reads_nothing_keeps_little() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("in"), object(40_000_000)).unwrap();
    let listener = UnixListener::bind(dir.path().join("s")).unwrap();
    let put = Running::start(&mut command(dir.path(), "s", "put in /t/v=1 --cache 1 -q"));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut deframer = Deframer::new();
    let command = read(&mut stream, &mut deframer, 1).remove(0);
    let command = InterestView::decode(&command).unwrap().name().to_owned();
    let body = ControlParameters::of_name("/t".parse().unwrap());
    let response = ControlResponse { body: Some(Box::new(body)), ..ControlResponse::new(200, "OK") };
    let builder = DataBuilder::new(command.as_view());
    stream.write_all(&builder.content(&response.encode()).sign(&DigestSha256).unwrap()).unwrap();
    let mut interests = Vec::new();
    for i in 0..5000_u32 {
        let name = "/t/v=1".parse::<Name>().unwrap().with(Component::segment(i.into()));
        interests.extend(InterestBuilder::new(name.as_view()).nonce(i.to_be_bytes()).encode().unwrap());
    }
    let before = put.memory();
    stream.write_all(&interests).unwrap();
    // The first answer is there, so they were read.
    read(&mut stream, &mut deframer, 1);
    std::thread::sleep(std::time::Duration::from_millis(500));
    // 1 MiB of output and one read of Interests; less than a quarter of all answers.
    let most = put.memory() - before;
    assert!(most < 10_000_000, "{most} bytes more");
    for packet in read(&mut stream, &mut deframer, 4999) {
        assert!(DataView::decode(&packet).is_ok_and(|data| !data.content().is_empty()));
    }
}
