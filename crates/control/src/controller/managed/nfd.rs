//! Exchanges with NFD 24.07-31-gfe044ce3, recorded by `scripts/recorder.py` and given again by a socket: what was read of
//! its lists, and what it makes of commands (how they were recorded is in `docs/measurements/nfd.md`).

use super::*;
use crate::controller::mirror::Mirror;
use ndnweir_core::units::Rate;
use ndnweir_net::mgmt::{CommandFormat, Freshness, SignedCommand, dataset::FaceStatus, sign_command};
use ndnweir_wire::signature::EcdsaP256Signer;
use ndnweir_wire::tlv::Reader;
use ndnweir_wire::{DataBuilder, DataView, InterestView, NameView};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

const LED: &str = include_str!("../../../tests/nfd/led.txt");
const REJECTED: &str = include_str!("../../../tests/nfd/rejected.txt");
const KEY: &str = include_str!("../../../tests/nfd/controller.pem");
/// The name of the key in NFD's configuration, and one that is not there.
const KEY_NAME: &str = "/controller/KEY/%01";
const UNKNOWN_KEY: &str = "/stranger/KEY/%01";

/// An Interest of the controller and NFD's answer to it, if there was one.
struct Exchange {
    at: Duration,
    request: Vec<u8>,
    answer: Option<Vec<u8>>,
}

impl Exchange {
    fn interest(&self) -> InterestView<'_> {
        InterestView::decode(&self.request).unwrap()
    }

    fn command(&self) -> Option<SignedCommand<'_>> {
        SignedCommand::find(&self.interest())
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn exchanges(text: &str) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    for line in text.lines() {
        let [ms, direction, packet] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let packet = bytes(packet);
        if direction == ">" {
            all.push(Exchange { at: Duration::from_millis(ms.parse().unwrap()), request: packet, answer: None });
        } else {
            let data = DataView::decode(&packet).unwrap();
            let asked = all.iter_mut().find(|e| e.answer.is_none() && e.interest().matches(&data));
            asked.unwrap().answer = Some(packet);
        }
    }
    all
}

/// The next packet of a connection; none at its end.
fn packet(connection: &mut UnixStream) -> Option<Vec<u8>> {
    let (mut stream, mut one) = (Vec::new(), [0]);
    loop {
        if connection.read(&mut one).unwrap() == 0 {
            return None;
        }
        stream.push(one[0]);
        if Reader::new(&stream).element().is_ok() {
            return Some(stream);
        }
    }
}

/// A name without the digest of parameters, which has the time of a command in it.
fn lasting(name: NameView<'_>) -> NameView<'_> {
    match name.last().and_then(|last| last.as_parameters_digest()) {
        Some(_) => name.parent().unwrap(),
        None => name,
    }
}

/// Answers as NFD did, as long as the requests are those that it got. Answers to commands get the names of the present
/// ones, and with that a digest for NFD's signature.
fn give_again(listener: UnixListener, recorded: Vec<Exchange>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut connection = listener.accept().unwrap().0;
        for exchange in recorded {
            let request = loop {
                match packet(&mut connection) {
                    Some(request) => break request,
                    None => connection = listener.accept().unwrap().0,
                }
            };
            let (now, then) = (InterestView::decode(&request).unwrap(), exchange.interest());
            assert_eq!(lasting(now.name()), lasting(then.name()));
            assert_eq!((now.can_be_prefix(), now.must_be_fresh()), (then.can_be_prefix(), then.must_be_fresh()));
            let signed = |view: &InterestView<'_>| {
                let info = view.signature_info();
                info.map(|info| (info.signature_type, info.key_locator.map(|key| format!("{key:?}"))))
            };
            assert_eq!(signed(&now), signed(&then));
            let Some(answer) = exchange.answer else { continue };
            let data = DataView::decode(&answer).unwrap();
            let renamed = DataBuilder::new(now.name()).content(data.content()).content_type(data.content_type());
            let answer = if now.is_signed() { renamed.sign(&DigestSha256).unwrap() } else { answer.clone() };
            connection.write_all(&answer).unwrap();
        }
        // Whose last request NFD did not answer has waited for that.
        assert_eq!(packet(&mut connection), None);
    })
}

fn connect(uri: &FaceUri, key: Option<&str>, patience: Duration) -> Remote {
    let signer: Box<dyn Signer + Send> = match key {
        Some(name) => Box::new(EcdsaP256Signer::from_pkcs8_pem(KEY, Some(name.parse().unwrap())).unwrap()),
        None => Box::new(DigestSha256),
    };
    Remote::connect(uri, signer, patience).unwrap()
}

/// What NFD does not do for a controller, or only with a key that it trusts, in words.
fn rejections(uri: &FaceUri) -> Vec<String> {
    let prefix: Name = "/t".parse().unwrap();
    let long: Name = "/l".repeat(33).parse().unwrap();
    let said = |done: Result<(), Status>| done.map_or_else(|error| error.message().to_owned(), |()| "done".to_owned());
    let mut digest = connect(uri, None, PATIENCE);
    let mut all = vec![said(command(&mut digest, &prefix, &[(0, 5)]))];
    all.push(format!("{} faces", digest.list::<FaceStatus>("faces", "list").unwrap().len().min(1)));
    drop(digest);
    all.push(said(command(&mut connect(uri, Some(UNKNOWN_KEY), PATIENCE), &prefix, &[(0, 5)])));
    let mut keyed = connect(uri, Some(KEY_NAME), PATIENCE);
    all.push(said(command(&mut keyed, &prefix, &[(0, 5)])));
    all.push(said(command(&mut keyed, &prefix, &[(99_999, 5)])));
    all.push(said(command(&mut keyed, &long, &[(0, 5)])));
    let unknown = keyed.command("fib", "no-such-verb", &ControlParameters::of_name(prefix));
    all.push(unknown.unwrap_err().to_string());
    drop(keyed);
    let mut hasty = connect(uri, Some(KEY_NAME), Duration::from_millis(300));
    all.push(hasty.list::<FaceStatus>("faces", "no-such-list").unwrap_err().to_string());
    all
}

/// What [`rejections`] gives.
fn rejected() -> Vec<String> {
    let long = "/l".repeat(33);
    vec![
        // NFD takes a digest for the signature of anyone it trusts, though its configuration names a certificate.
        "done".to_owned(),
        "1 faces".into(),
        "/t/0: authorization rejected (403)".into(),
        "done".into(),
        "/t/99999: Face not found (410)".into(),
        format!("{long}/0: FIB entry prefix cannot exceed 32 components (414)"),
        "the forwarder did not answer fib/no-such-verb within 2 s; it may not know the request".into(),
        "the forwarder did not answer faces/no-such-list within 0.3 s; it may not know the request".into(),
    ]
}

#[test]
#[ignore = "needs NFD: docs/measurements/nfd.md"]
fn nfd_itself_rejects_commands_as_recorded() {
    let uri = format!("unix://{}", std::env::var("NFD_SOCKET").unwrap()).parse().unwrap();
    assert_eq!(rejections(&uri), rejected());
}

/// A socket where this is given again, and what gives it.
fn replayed(text: &str) -> (tempfile::TempDir, FaceUri, JoinHandle<()>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nfd.sock");
    let giver = give_again(UnixListener::bind(&path).unwrap(), exchanges(text));
    let uri = format!("unix://{}", path.display()).parse().unwrap();
    (folder, uri, giver)
}

#[test]
fn what_nfd_rejects_is_reported_in_its_words() {
    let (_folder, uri, giver) = replayed(REJECTED);
    assert_eq!(rejections(&uri), rejected());
    giver.join().unwrap();
}

#[test]
fn commands_that_nfd_carried_out_are_those_that_are_sent_to_the_byte() {
    let recorded = exchanges(LED);
    let commands: Vec<_> = recorded.iter().filter_map(|exchange| Some((exchange, exchange.command()?))).collect();
    assert_eq!(commands.len(), 13);
    for (exchange, sent) in commands {
        let interest = exchange.interest();
        let anti_replay = interest.signature_info().unwrap().anti_replay;
        let freshness =
            Freshness { time: anti_replay.time.unwrap(), nonce: anti_replay.nonce.unwrap().try_into().unwrap() };
        let format = CommandFormat::SignedInterest;
        let again = sign_command(sent.name(), format, &DigestSha256, freshness, PATIENCE).unwrap();
        assert_eq!(again, exchange.request);
    }
}

/// The costs of faces 259 and 261 that the controller ordered.
const ORDERS: [(u32, u32); 7] = [
    (11_076, 11_077),
    (11_019, 11_020),
    (11_019, 9_416),
    (11_019, 9_498),
    (10_962, 10_040),
    (10_393, 10_392),
    (10_396, 10_395),
];

#[test]
fn an_nfd_is_led_again_as_it_was_when_it_was_recorded() {
    let (_folder, uri, giver) = replayed(LED);
    let mut remote = connect(&uri, None, PATIENCE);
    let links = ["udp4://127.0.0.1:26858", "udp4://127.0.0.1:21460"];
    let rates = links.map(|uri| (uri.to_owned(), Rate::from_bps(20_000_000)));
    let (mut view, mut mirror) = (View::new(rates.into(), 0.85), Mirror::default());
    let prefix: Name = "/t".parse().unwrap();
    let costs = |(a, b): (u32, u32)| BTreeMap::from([(259, a), (261, b)]);
    let (recorded, mut orders, mut given, mut seen) = (exchanges(LED), ORDERS.into_iter(), None, Vec::new());
    let mut at = 0;
    while at < recorded.len() {
        let began = recorded[at].at;
        if recorded[at].command().is_none() {
            let read = Lists { at: began, ..lists(&mut remote).unwrap() };
            at += 3;
            mirror.take(&view.take(read));
            let used = [259, 261].map(|face| mirror.faces.get(&face).and_then(|face| face.utilization));
            seen.push((began.as_millis(), used));
            // Lists that NFD repeats for a second undo nothing.
            assert_eq!(view.in_force(&prefix), Some(given.clone().unwrap_or(costs((0, 5)))), "{began:?}");
            continue;
        }
        let order = costs(orders.next().unwrap());
        let steps = orders::steps(&view.in_force(&prefix).unwrap(), &order);
        at += steps.len();
        command(&mut remote, &prefix, &steps).unwrap();
        view.ordered(&prefix, Some(&order), began);
        given = Some(order);
    }
    assert_eq!(orders.next(), None);
    // (bytes + 28 * packets) * 8 / time / 20 Mbit/s, of what the lists count: 84320 and 2480, 65212 and 1918 in 1 s; 115600
    // and 3400, 133110 and 3915 in 1.501 s.
    let (second, third) = ([0.061_504, 0.047_566], [0.056_176, 0.064_685]);
    let expected = [(2021, second), (2521, second), (3021, second), (3522, third), (4021, third)];
    for ((ms, used), (at, wanted)) in seen.split_off(4).into_iter().zip(expected) {
        let near = |(used, wanted): (&Option<f64>, &f64)| used.is_some_and(|used| (used - wanted).abs() < 1e-6);
        assert!(ms == at && used.iter().zip(&wanted).all(near), "{ms} {used:?}");
    }
    // The first list has been in NFD's content store since before the routes were added; then nothing to compare with.
    assert_eq!(seen, [22, 521, 1021, 1521].map(|ms| (ms, [None, None])));
    drop(remote);
    giver.join().unwrap();
}
