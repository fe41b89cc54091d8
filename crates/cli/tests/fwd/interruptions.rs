//! Transfers in which something dies or runs out.

use crate::application::object;
use crate::process::{Fwd, PATIENCE, Tool, peak_memory, wait_for};
use ndnweir_net::framing::Deframer;
use ndnweir_net::mgmt::{ControlParameters, ControlResponse};
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, DataView, InterestBuilder, InterestView, LpPacketView, Name};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

/// 200-byte segments one at a time take seconds, so that there is time to kill somebody.
const SLOW: &str = "get /t -o out --scheme fixed --set consumer.window=1";

fn publish(fwd: &Fwd, bytes: &[u8]) -> Tool {
    std::fs::write(fwd.folder().join("in"), bytes).unwrap();
    published_again(fwd)
}

fn published_again(fwd: &Fwd) -> Tool {
    let put = Tool::start(fwd, "put in /t --chunk 200");
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
fn a_fetch_whose_producer_is_killed_ends_with_an_error_and_no_file_and_goes_on_when_it_is_back() {
    let fwd = Fwd::start("--cs 0");
    let bytes = object(3_000_000);
    let mut put = publish(&fwd, &bytes);
    let get = Tool::start(&fwd, &format!("{SLOW} --timeout 1s"));
    grown(&fwd, 20_000);
    put.kill();
    let (status, text) = get.end();
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("error: ") && text.contains("/t"), "{text}");
    assert!(!fwd.folder().join("out").exists() && fwd.folder().join("out.part").exists());
    // Killed and started again while the fetch waits.
    put = published_again(&fwd);
    let get = Tool::start(&fwd, "get /t -o out --timeout 50s --scheme fixed --set consumer.window=2");
    grown(&fwd, 20_000);
    put.kill();
    let _put = published_again(&fwd);
    let (status, text) = get.end();
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
    let get = Tool::start(&near, "get /t -o out --timeout 50s --scheme fixed --set consumer.window=2");
    grown(&near, 50_000);
    far.kill();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!near.folder().join("out").exists());
    far.restart(&format!("--udp {address} --cs 0"));
    let (status, text) = get.end();
    assert_eq!(status, Some(0), "{text}");
    assert!(is_same(&near, &bytes));
}

#[test]
fn a_full_disk_ends_a_fetch_with_an_error_and_no_file_and_it_goes_on_when_there_is_room() {
    let fwd = Fwd::start("");
    let bytes = object(1_000_000);
    let _put = publish(&fwd, &bytes);
    // 512 blocks of 512 bytes are the largest file; a shell that ignores the signal hands that on.
    let script = "trap '' XFSZ; ulimit -f 512; exec \"$0\" get /t -o out -q";
    let run = |script: &str, stdout: Stdio| {
        let mut command = Command::new("sh");
        command.current_dir(fwd.folder()).args(["-c", script]).arg(assert_cmd::cargo::cargo_bin!("ndnweir"));
        command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", fwd.socket().display()));
        let output = command.stdout(stdout).stderr(Stdio::piped()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, text) = run(script, Stdio::null());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("error: ") && text.contains("out") && text.contains("File too large"), "{text}");
    assert!(!fwd.folder().join("out").exists());
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (status, text) = run("exec \"$0\" get /t -q", full.into());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
    let (status, text) = run("exec \"$0\" get /t -o out -q", Stdio::null());
    assert_eq!(status, Some(0), "{text}");
    assert!(is_same(&fwd, &bytes));
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
fn a_producer_whose_forwarder_asks_for_much_and_reads_nothing_keeps_little() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("in"), object(40_000_000)).unwrap();
    let listener = UnixListener::bind(dir.path().join("s")).unwrap();
    let mut put = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"))
        .current_dir(dir.path())
        .args(["put", "in", "/t/v=1", "--cache", "1", "-q", "--transport"])
        .arg(format!("unix://{}", dir.path().join("s").display()))
        .spawn()
        .unwrap();
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
    let before = peak_memory(&put);
    stream.write_all(&interests).unwrap();
    // The first answer is there, so they were read.
    read(&mut stream, &mut deframer, 1);
    std::thread::sleep(std::time::Duration::from_millis(500));
    // 1 MiB of output and one read of Interests; less than a quarter of all answers.
    let most = peak_memory(&put) - before;
    assert!(most < 10_000_000, "{most} bytes more");
    for packet in read(&mut stream, &mut deframer, 4999) {
        assert!(DataView::decode(&packet).is_ok_and(|data| !data.content().is_empty()));
    }
    put.kill().unwrap();
    put.wait().unwrap();
}
