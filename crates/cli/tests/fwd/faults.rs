//! Bad input and faults: others must not be affected.

use crate::application::{App, object, producer};
use crate::common::{KEY, PUBLIC};
use crate::process::{Fwd, PATIENCE, wait_for};
use ndnweir_net::mgmt::{CommandFormat, ControlParameters, Freshness, command_name, sign_command};
use ndnweir_wire::lp::Fragmenter;
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, InterestBuilder, InterestView, LpHeader, NackReason, Name};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn interest(name: &str, nonce: u32) -> Vec<u8> {
    let name: Name = name.parse().unwrap();
    InterestBuilder::new(name.as_view()).nonce(nonce.to_be_bytes()).encode().unwrap()
}

/// A value in the page of metrics.
fn metric(fwd: &Fwd, name: &str) -> u64 {
    let page = fwd.metrics();
    let line = page.lines().find_map(|line| line.strip_prefix(&format!("ndnweir_{name} ")));
    line.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// An LpPacket around some bytes, again and again.
fn nested(mut inside: Vec<u8>, levels: usize) -> Vec<u8> {
    for _ in 0..levels {
        inside = LpHeader { congestion_mark: Some(1), ..LpHeader::default() }.encode(Some(&inside));
    }
    inside
}

#[test]
fn truncated_oversized_and_nested_packets_are_dropped_and_counted_and_do_no_harm() {
    let fwd = Fwd::start("--udp 127.0.0.1:0 --tcp 127.0.0.1:0 --metrics 127.0.0.1:0");
    let bytes = object(200_000);
    let _producer = producer(&fwd, "/test/object", &bytes);
    let mut app = App::connect(&fwd);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(fwd.udp()).unwrap();
    // A packet that makes it a face.
    udp.send(&interest("/test/object", 1)).unwrap();
    let whole = interest("/test/object/some/long/enough/name", 2);
    for len in 0..whole.len() {
        udp.send(&whole[..len]).unwrap();
    }
    for levels in [2, 3, 10, 300, 1000] {
        udp.send(&nested(whole.clone(), levels)).unwrap();
    }
    // The largest datagram that UDP has, as one packet: TLV-LENGTH 65496.
    let mut large = vec![0x06, 253, 0xff, 0xd8];
    large.resize(65_500, 0);
    udp.send(&large).unwrap();
    // All prefixes but the empty one, which is not a frame and no packet either, 5 nested ones and the large one.
    wait_for("the malformed packets", || metric(&fwd, "dropped_total{reason=\"malformed\"}") >= whole.len() as u64 + 4);
    // On streams an element that no packet can be ends the connection, before it has come as a whole.
    let mut tcp = TcpStream::connect(fwd.tcp()).unwrap();
    tcp.write_all(&[0x06, 254, 0x7f, 0xff, 0xff, 0xff]).unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(tcp.read(&mut [0; 64]), Ok(0) | Err(_)));
    // Nested ones do not: they are whole frames.
    let mut unix = UnixStream::connect(fwd.socket()).unwrap();
    unix.write_all(&nested(whole.clone(), 50)).unwrap();
    unix.write_all(&interest("/nowhere/x", 3)).unwrap();
    unix.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(unix.read(&mut [0; 1000]).unwrap() > 0, "a NACK comes back");
    assert!(app.fetch("/test/object", bytes.len()) == bytes);
}

/// 300 peers send ten beginnings of packets each, 4.2 MB together.
#[test]
fn fragments_of_many_peers_share_a_limit() {
    let fwd = Fwd::with_config(
        "fragments = \"1MiB\"\nmetrics = \"127.0.0.1:0\"\n[listen]\nudp = [\"127.0.0.1:0\"]\n\
                                per-address = 1000\n",
    );
    let bytes = object(400_000);
    let _producer = producer(&fwd, "/test/object", &bytes);
    let near = Fwd::start(&format!("--udp 127.0.0.1:0 --route /test=udp4://{}", fwd.udp()));
    let to = fwd.udp();
    let mut peers: Vec<UdpSocket> = Vec::new();
    peers.resize_with(300, || UdpSocket::bind("127.0.0.1:0").unwrap());
    let (mut most, mut sequence) = (0, 0);
    let mut fetched = None;
    wait_for("packets to be dropped for newer ones", || {
        for _ in 0..10 {
            for peer in &peers {
                sequence += 10;
                let fragments = Fragmenter::new(1400, sequence).fragment(&LpHeader::default(), &[6; 8000]).unwrap();
                peer.send_to(&fragments[0], to).unwrap();
            }
        }
        // Fragments of honest peers are put together meanwhile.
        fetched.get_or_insert_with(|| App::connect(&near).fetch("/test/object", bytes.len()));
        let now = metric(&fwd, "fragment_bytes");
        most = most.max(now);
        metric(&fwd, "dropped_total{reason=\"fragment-room\"}") > 1000 && most > 300_000
    });
    assert!(fetched.unwrap() == bytes);
    assert!(most <= 1 << 20, "{most} bytes of fragments");
    wait_for("the fragments to be given up", || metric(&fwd, "fragment_bytes") == 0);
    assert!(metric(&fwd, "dropped_total{reason=\"fragment-late\"}") > 0);
}

#[test]
fn fragments_whose_rest_never_comes_take_bounded_memory_for_a_short_time() {
    let fwd = Fwd::start("--udp 127.0.0.1:0 --metrics 127.0.0.1:0");
    let bytes = object(400_000);
    let _producer = producer(&fwd, "/test/object", &bytes);
    let near = Fwd::start(&format!("--udp 127.0.0.1:0 --route /test=udp4://{}", fwd.udp()));
    let before = fwd.memory();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(fwd.udp()).unwrap();
    let mut most = 0;
    for round in 0..20_u64 {
        for i in 0..500 {
            let mut fragmenter = Fragmenter::new(1400, (round * 500 + i) * 10);
            let fragments = fragmenter.fragment(&LpHeader::default(), &[6; 8000]).unwrap();
            udp.send(&fragments[usize::from(i % 2 == 0)]).unwrap();
        }
        most = most.max(metric(&fwd, "fragment_bytes"));
    }
    // What came before is not disturbed, and large Data go through the same reassembly on another face.
    assert!(App::connect(&near).fetch("/test/object", bytes.len()) == bytes);
    wait_for("a look at the fragments", || {
        udp.send(&Fragmenter::new(1400, 7).fragment(&LpHeader::default(), &[6; 8000]).unwrap()[0]).unwrap();
        most = most.max(metric(&fwd, "fragment_bytes"));
        most > 0
    });
    // 10,000 packets of 1.4 kB each would be 14 MB. A face has 1 MiB.
    assert!(most <= 1 << 20, "{most} bytes of fragments");
    assert!(fwd.memory() < before + 12_000_000, "{} bytes, {before} before", fwd.memory());
    wait_for("the fragments to be given up", || metric(&fwd, "fragment_bytes") == 0);
}

/// Ends a flood with the test, however that ends.
#[derive(Default)]
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// 1000 Interests may be pending. At least ten times as many come, and stay for 4 s if they may.
#[test]
fn a_fetch_continues_during_a_flood_of_interests_and_memory_is_bounded() {
    const PIT: u64 = 1000;
    let fwd = Fwd::with_config(&format!("pit = {PIT}\nmetrics = \"127.0.0.1:0\"\n[listen]\nudp = [\"127.0.0.1:0\"]\n"));
    let bytes = object(800_000);
    let _producer = producer(&fwd, "/test/object", &bytes);
    // Takes Interests and never answers.
    let _silent = producer(&fwd, "/test/silent", &[]);
    std::fs::write(fwd.folder().join("in"), &bytes).unwrap();
    let _put = fwd.start_tool("put in /t");
    wait_for("the producer", || fwd.tool(&["route", "list"]).contains("/t "));
    let before = fwd.memory();
    let rejected = || metric(&fwd, "dropped_total{reason=\"pit-full\"}");
    let (stop, to) = (Stop::default(), fwd.udp());
    let stopped = Arc::clone(&stop.0);
    std::thread::spawn(move || {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        for sent in 0_u32.. {
            let name: Name = format!("/test/silent/{sent}").parse().unwrap();
            let interest = InterestBuilder::new(name.as_view()).lifetime(Duration::from_secs(4));
            udp.send_to(&interest.nonce(sent.to_be_bytes()).encode().unwrap(), to).unwrap();
            if sent % 200 == 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
            if stopped.load(Ordering::Relaxed) {
                return;
            }
        }
    });
    wait_for("the table to be full", || rejected() > 0);
    let get = fwd.start_tool("get /t -o out --timeout 50s").end();
    assert_eq!(get.code, Some(0), "{}", get.stderr);
    wait_for("a flood of ten times what the table holds", || rejected() >= 9 * PIT);
    assert!(metric(&fwd, "pit_entries") <= PIT);
    drop(stop);
    assert!(std::fs::read(fwd.folder().join("out")).unwrap() == bytes);
    let most = fwd.memory();
    assert!(most < before + 40_000_000, "{most} bytes, {before} before");
    // And all is well afterwards.
    wait_for("the PIT to be empty", || metric(&fwd, "pit_entries") == 0);
    assert!(App::connect(&fwd).fetch("/test/object", bytes.len()) == bytes);
}

/// 24 MB for a peer that does not read: 8 MiB wait in the forwarder, and at most twice 4 MiB in the kernel.
#[test]
fn packets_for_an_application_that_does_not_read_are_dropped_and_counted() {
    let fwd = Fwd::start("--cs 0 --metrics 127.0.0.1:0");
    let bytes = object(24_000_000);
    let _producer = producer(&fwd, "/test/object", &bytes);
    let mut app = App::connect(&fwd);
    for i in 0..3000 {
        app.send(&interest(&format!("/test/object/seg={i}"), i + 1));
    }
    let dropped = || metric(&fwd, "dropped_total{reason=\"backlog\"}");
    wait_for("drops", || dropped() > 0);
    drop(app);
    wait_for("the face to go", || !fwd.metrics().contains("face=\"258\""));
    assert!(dropped() > 0, "what ended faces dropped is not forgotten");
    assert!(App::connect(&fwd).fetch("/test/object", 80_000) == bytes[..80_000]);
}

/// The same nonce for the same name looks like a loop. An Interest with another nonce is answered.
#[test]
fn an_interest_with_the_nonce_of_another_is_rejected_and_a_new_nonce_is_answered() {
    let fwd = Fwd::start("--udp 127.0.0.1:0 --cs 0 --metrics 127.0.0.1:0");
    let (mut first, mut second, mut held) = (App::connect(&fwd), App::connect(&fwd), App::connect(&fwd));
    held.register("/test");
    first.send(&interest("/test/x", 7));
    // Connections are read in no order, so the second asks once the producer has the first one's Interest.
    held.wait_for_interest();
    second.send(&interest("/test/x", 7));
    assert_eq!(second.answer(), Err(Some(NackReason::Duplicate)));
    second.send(&interest("/test/x", 8));
    wait_for("the other nonce to be aggregated", || metric(&fwd, "aggregated_total") == 1);
    held.answer_with("/test/x", b"yes");
    assert_eq!((first.answer(), second.answer()), (Ok(b"yes".to_vec()), Ok(b"yes".to_vec())));
}

#[test]
fn commands_without_the_right_signature_are_rejected_and_those_of_a_trust_anchor_are_done_from_anywhere() {
    let fwd = Fwd::with_config("[listen]\ntcp = [\"127.0.0.1:0\"]\n");
    let names = ["key", "pub", "other"];
    let on_demand_peer = KEY.replace("KlbT1j0", "KlbT1j1");
    for (name, text) in names.iter().zip([KEY, PUBLIC, &on_demand_peer]) {
        std::fs::write(fwd.folder().join(name), text).unwrap();
    }
    let tcp = fwd.tcp();
    let transport = format!("tcp4://{tcp}");
    let add = |key: &[&str]| {
        fwd.tool(&[&["route", "add", "/a", "udp4://127.0.0.1:9", "--transport", &transport], key].concat())
    };
    // No key is trusted yet, and a TCP peer has no known user.
    for key in [&[][..], &["--key", "key", "--key-name", "/op/KEY/1"]] {
        let text = add(key);
        assert!(text.contains("403") && text.contains("--key"), "{text}");
    }
    let anchored = "[[trust-anchor]]\nkey = \"pub\"\nname = \"/op\"\n";
    let fwd = fwd.again_with_config(&format!("[listen]\ntcp = [\"{tcp}\"]\n{anchored}"));
    let add = |key: &[&str]| {
        fwd.tool(&[&["route", "add", "/a", "udp4://127.0.0.1:9", "--transport", &transport], key].concat())
    };
    for key in [&[][..], &["--key", "other", "--key-name", "/op/KEY/1"], &["--key", "key", "--key-name", "/somebody"]] {
        let text = add(key);
        assert!(text.contains("403"), "{text}");
    }
    let text = add(&["--key", "key", "--key-name", "/op/KEY/1"]);
    assert!(text.starts_with("Added the static route to /a over face "), "{text}");
    assert!(fwd.tool(&["route", "list"]).contains("/a "));
}

#[test]
fn unsigned_changed_and_repeated_commands_are_rejected_even_from_the_owner() {
    let fwd = Fwd::start("");
    let parameters = ControlParameters::of_name("/a".parse().unwrap());
    let top: Name = "/localhost/nfd".parse().unwrap();
    let command = command_name(top.as_view(), "rib", "register", &parameters);
    let unsigned = InterestBuilder::new(command.as_view()).nonce([1; 4]).encode().unwrap();
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let sign = |format, nonce| {
        let freshness = Freshness { nonce: [nonce; 8], time };
        sign_command(command.as_view(), format, &DigestSha256, freshness, Duration::from_secs(4)).unwrap()
    };
    let mut app = App::connect(&fwd);
    assert_eq!(app.command(&unsigned), 403);
    // In the older format the last component is the signature.
    let old = sign(CommandFormat::NameSuffix, 2);
    let old = InterestView::decode(&old).unwrap().name();
    let mut signature = old.last().unwrap().value().to_vec();
    *signature.last_mut().unwrap() ^= 1;
    let changed = old.prefix(old.len() - 1).to_owned().with(Component::generic(signature));
    assert_eq!(app.command(&InterestBuilder::new(changed.as_view()).nonce([2; 4]).encode().unwrap()), 403);
    assert!(!fwd.tool(&["route", "list"]).contains("/a "));
    let right = sign(CommandFormat::SignedInterest, 3);
    assert_eq!(app.command(&right), 200);
    // The answer is in the content store for a moment.
    wait_for("the command to be rejected as a replay", || app.command(&right) == 403);
}
