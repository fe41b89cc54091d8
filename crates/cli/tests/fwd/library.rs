//! Objects fetched and published by a program through the library, over `ndnweir fwd` as a process.

use crate::application::object;
use crate::process::Fwd;
use ndnweir_core::units::Duration;
use ndnweir_net::application::{ApplicationError, Get, Put};
use ndnweir_net::face_uri::FaceUri;
use ndnweir_net::object::Trust;
use ndnweir_wire::Name;
use ndnweir_wire::signature::{Ed25519Signer, Ed25519Verifier};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn at(fwd: &Fwd) -> FaceUri {
    FaceUri::Unix(fwd.socket())
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn get(fwd: &Fwd, text: &str) -> Get {
    Get::new(name(text)).transport(at(fwd))
}

#[test]
fn what_a_program_publishes_another_fetches_with_any_schemes_consumer() {
    let fwd = Fwd::start("");
    let bytes = object(300_000);
    let published = Put::new(name("/lib/object")).transport(at(&fwd)).start(bytes.clone()).unwrap();
    for scheme in ["bic", "pcon", "ndnsieve"] {
        let seen = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&seen);
        let fetch = get(&fwd, "/lib/object").scheme(scheme).unwrap();
        let fetch = fetch.progress(move |counters, _| count.store(counters.segments, Ordering::Relaxed));
        let fetched = fetch.bytes().unwrap();
        assert!(fetched.content == bytes, "{scheme}");
        assert_eq!(&fetched.object, published.object());
        // 300 000 bytes in segments of 8000.
        assert_eq!((fetched.statistics.counters.segments, seen.load(Ordering::Relaxed)), (38, 38));
    }
    assert!(published.is_active());
    published.end().unwrap();
}

#[test]
fn a_stream_gives_the_object_in_order_and_ends_when_it_is_dropped() {
    let fwd = Fwd::start("");
    let bytes = object(3_000_000);
    let _published = Put::new(name("/lib/stream/v=7")).transport(at(&fwd)).start(bytes.clone()).unwrap();
    let mut stream = get(&fwd, "/lib/stream").stream().unwrap();
    let mut first = vec![0; 100_000];
    stream.read_exact(&mut first).unwrap();
    assert!(first == bytes[..100_000] && stream.statistics().is_none());
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest == bytes[100_000..]);
    let (object, statistics) = stream.statistics().unwrap();
    assert_eq!((object, statistics.counters.segments), (&name("/lib/stream/v=7"), 375));
    // Nobody reads this one: to drop it must not wait for that.
    let mut unread = get(&fwd, "/lib/stream").stream().unwrap();
    unread.read_exact(&mut [0; 10]).unwrap();
    drop(unread);
}

#[test]
fn signatures_are_made_and_demanded() {
    const PRIVATE: &str = crate::common::KEY;
    let fwd = Fwd::start("");
    let signer = Ed25519Signer::from_pkcs8_pem(PRIVATE, Some(name("/lib/KEY/1"))).unwrap();
    let _signed = Put::new(name("/lib/signed")).transport(at(&fwd)).signer(Box::new(signer)).start(object(10)).unwrap();
    let trust = |pem| Trust::Ed25519(Ed25519Verifier::from_spki_pem(pem).unwrap());
    let fetched = get(&fwd, "/lib/signed").trust(trust(crate::common::PUBLIC)).bytes().unwrap();
    assert_eq!(fetched.content, object(10));
    let other = get(&fwd, "/lib/signed").trust(trust(crate::common::UNTRUSTED_KEY));
    let patience = Duration::from_millis(500);
    assert!(matches!(other.patience(patience).bytes(), Err(ApplicationError::Download(_))));
}

#[test]
fn what_cannot_be_is_an_error_that_says_why() {
    let fwd = Fwd::start("");
    let nobody = get(&fwd, "/lib/nobody").patience(Duration::from_millis(300)).bytes().unwrap_err();
    assert!(nobody.to_string().contains("/lib/nobody"), "{nobody}");
    assert!(matches!(Get::new(Name::new()).transport(at(&fwd)).bytes(), Err(ApplicationError::Name(_))));
    assert!(matches!(Put::new(name("/v=1")).transport(at(&fwd)).start(vec![]), Err(ApplicationError::Name(_))));
    let unknown = get(&fwd, "/a").scheme("no-such-scheme").map(drop).unwrap_err();
    assert!(unknown.to_string().contains("no-such-scheme"), "{unknown}");
    // What is the forwarder's is not for applications.
    let reserved = Put::new(name("/localhost/nfd/x")).transport(at(&fwd)).start(vec![]).unwrap_err();
    assert!(reserved.to_string().contains("403"), "{reserved}");
    // Another thread stops what waits; one that was stopped before it began does not begin.
    let mut waiting = get(&fwd, "/lib/nobody").patience(Duration::from_millis(600_000));
    let stop = waiting.stop_handle().unwrap();
    let fetch = std::thread::spawn(move || waiting.bytes().map(drop));
    stop.stop();
    assert!(matches!(fetch.join().unwrap(), Err(ApplicationError::Stopped)));
    let gone = at(&fwd);
    drop(fwd);
    let error = Get::new(name("/a")).transport(gone).stream().map(drop).unwrap_err();
    assert!(error.to_string().contains("no forwarder listens"), "{error}");
}
