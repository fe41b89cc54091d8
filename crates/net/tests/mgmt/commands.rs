//! What each command does, and the codes of what cannot be done.

use crate::fake::{NEIGHBOUR, OWNER, Rig, UNKNOWN_PEER, face};
use crate::name;
use ndnweir_net::mgmt::dataset::{FaceEventKind, RibEntry, decode_all};
use ndnweir_net::mgmt::{ControlParameters, ManagementConfig, Requester, TrustAnchor, command_name, face_flags};
use ndnweir_wire::signature::{DigestSha256, Ed25519Signer};
use ndnweir_wire::{InterestBuilder, Name};
use std::time::Duration;

fn rig() -> Rig {
    Rig::new(ManagementConfig::default())
}

fn params() -> ControlParameters {
    ControlParameters::default()
}

fn of_name(text: &str) -> ControlParameters {
    ControlParameters::of_name(name(text))
}

fn of_uri(uri: &str) -> ControlParameters {
    ControlParameters { uri: Some(uri.to_owned()), ..params() }
}

fn long_name() -> Name {
    format!("/{}", vec!["a"; 33].join("/")).parse().unwrap()
}

#[test]
fn a_route_goes_into_the_fib_and_out_again_and_longer_prefixes_inherit_it() {
    let mut rig = rig();
    let add = |face, cost| ControlParameters { face_id: Some(face), cost: Some(cost), ..of_name("/a") };
    assert_eq!(rig.command("rib/register", &add(300, 5)).0, 200);
    assert_eq!(rig.command("rib/register", &of_name("/a/b")).0, 200);
    assert_eq!(rig.forwarder.hops("/a"), [(300, 5)]);
    assert_eq!(rig.forwarder.hops("/a/b"), [(7, 0), (300, 5)]);
    let (code, body) = rig.command("rib/unregister", &ControlParameters { face_id: Some(300), ..of_name("/a") });
    assert_eq!((code, body.unwrap().origin), (200, Some(0)));
    assert_eq!((rig.forwarder.hops("/a"), rig.forwarder.hops("/a/b")), (vec![], vec![(7, 0)]));
    assert_eq!(rig.command("rib/unregister", &of_name("/never")).0, 200);
}

#[test]
fn a_route_with_an_expiration_period_ends_after_it() {
    let mut rig = rig();
    let p = ControlParameters { expiration_period: Some(Duration::from_secs(30)), ..of_name("/a") };
    assert_eq!(rig.command("rib/register", &p).0, 200);
    rig.advance(Duration::from_secs(29));
    rig.management.handle_timeout(rig.at.now, &mut rig.forwarder);
    let listed = rig.fetch(OWNER, &name("/localhost/nfd/rib/list")).unwrap();
    let routes = decode_all::<RibEntry>(&listed).unwrap().remove(0).routes;
    assert_eq!(routes[0].expiration_period, Some(Duration::from_secs(1)));
    rig.advance(Duration::from_secs(1));
    assert_eq!(rig.management.next_timeout(), rig.at.now);
    rig.management.handle_timeout(rig.at.now, &mut rig.forwarder);
    assert_eq!(rig.forwarder.hops("/a"), []);
}

#[test]
fn the_routes_of_a_face_go_with_it_however_it_ends() {
    let mut rig = rig();
    assert_eq!(rig.command("rib/register", &of_name("/a")).0, 200);
    let over_300 = ControlParameters { face_id: Some(300), ..of_name("/a/b") };
    assert_eq!(rig.command("rib/register", &over_300).0, 200);
    assert_eq!(rig.command("faces/destroy", &ControlParameters::of_face(300)).0, 200);
    assert_eq!((rig.management.rib().len(), rig.forwarder.fib.len()), (1, 1));
    rig.forwarder.destroy_quietly(7);
    rig.management.face_event(FaceEventKind::Destroyed, &face(7, "fd://7"), &mut rig.forwarder);
    assert_eq!((rig.management.rib().len(), rig.forwarder.fib.len()), (0, 0));
}

#[test]
fn a_registration_that_the_fib_does_not_take_leaves_nothing_behind() {
    let mut rig = rig();
    rig.forwarder.fib_capacity = 1;
    assert_eq!(rig.command("rib/register", &of_name("/a")).0, 200);
    assert_eq!(rig.command("rib/register", &of_name("/b")).0, 500);
    // /a has room for what it would inherit, / itself has none.
    let inherited = ControlParameters { face_id: Some(300), ..of_name("/") };
    assert_eq!(rig.command("rib/register", &inherited).0, 500);
    assert_eq!(rig.forwarder.hops("/a"), [(7, 0)]);
    assert_eq!((rig.management.rib().len(), rig.forwarder.fib.len()), (1, 1));
    let full = ManagementConfig { max_routes: 0, ..ManagementConfig::default() };
    assert_eq!(Rig::new(full).command("rib/register", &of_name("/a")).0, 500);
}

#[test]
fn next_hops_can_be_set_without_a_route() {
    let mut rig = rig();
    let p = ControlParameters { face_id: Some(300), cost: Some(9), ..of_name("/a") };
    assert_eq!(rig.command("fib/add-nexthop", &p).0, 200);
    assert_eq!(rig.forwarder.hops("/a"), [(300, 9)]);
    let (code, body) = rig.command("fib/remove-nexthop", &ControlParameters { cost: None, ..p });
    assert_eq!((code, body.unwrap().face_id, rig.forwarder.fib.len()), (200, Some(300), 0));
}

#[test]
fn a_face_is_created_once_changed_and_destroyed() {
    let mut rig = rig();
    let (code, body) = rig.command("faces/create", &of_uri("udp4://192.0.2.9:6363"));
    let body = body.unwrap();
    assert_eq!((code, body.face_id, body.face_persistency), (200, Some(301), Some(0)));
    assert_eq!(body.uri.as_deref(), Some("udp4://192.0.2.9:6363"));
    let (code, body) = rig.command("faces/create", &of_uri("udp4://192.0.2.9:6363"));
    assert_eq!((code, body.unwrap().face_id), (409, Some(301)));

    let marking = face_flags::CONGESTION_MARKING;
    let update =
        ControlParameters { flags: Some(0), mask: Some(marking), mtu: Some(1400), ..ControlParameters::of_face(301) };
    assert_eq!(rig.command("faces/update", &update).0, 200);
    let (face_id, settings) = rig.forwarder.updates.remove(0);
    assert_eq!((face_id, settings.mtu, settings.congestion_marking), (301, Some(1400), Some(false)));
    assert_eq!((settings.local_fields, settings.persistency), (None, None));
    assert_eq!(rig.command("faces/update", &ControlParameters { mtu: Some(1), ..update }).0, 409);

    assert_eq!(rig.command("faces/destroy", &ControlParameters::of_face(301)).0, 200);
    assert!(!rig.forwarder.faces.contains_key(&301));
    assert_eq!(rig.command("faces/destroy", &ControlParameters::of_face(301)).0, 200);
}

#[test]
fn a_scheme_without_a_family_gets_that_of_the_address() {
    for (uri, canonical) in [
        ("udp://192.0.2.9", "udp4://192.0.2.9:6363"),
        ("tcp://192.0.2.9:1", "tcp4://192.0.2.9:1"),
        ("udp://[2001:db8::1]", "udp6://[2001:db8::1]:6363"),
    ] {
        let (code, body) = rig().command("faces/create", &of_uri(uri));
        assert_eq!((code, body.unwrap().uri.as_deref()), (200, Some(canonical)));
    }
}

#[test]
fn a_rejection_has_an_empty_body() {
    let (code, body) = rig().command("faces/destroy", &ControlParameters::of_face(0));
    assert_eq!((code, body), (400, Some(params())));
}

#[test]
fn a_face_update_without_a_face_means_the_one_on_which_it_came() {
    let mut rig = rig();
    let p = ControlParameters { flags: Some(1), mask: Some(face_flags::LOCAL_FIELDS), ..params() };
    let (code, body) = rig.command("faces/update", &p);
    assert_eq!((code, body.unwrap().face_id), (200, Some(OWNER.face_id)));
    assert_eq!(rig.forwarder.updates[0].1.local_fields, Some(true));
    let elsewhere = ControlParameters { face_id: Some(300), ..p };
    assert_eq!(rig.command("faces/update", &elsewhere).0, 409);
}

#[test]
fn strategies_are_set_by_name_and_answered_with_their_version() {
    let mut rig = rig();
    let set = |strategy: &str| ControlParameters { strategy: Some(name(strategy)), ..of_name("/a") };
    let (code, body) = rig.command("strategy-choice/set", &set("/localhost/nfd/strategy/multicast"));
    assert_eq!((code, body.unwrap().strategy), (200, Some(name("/localhost/nfd/strategy/multicast/v=4"))));
    assert_eq!(rig.command("strategy-choice/set", &set("/no/such")).0, 404);
    assert_eq!(rig.command("strategy-choice/unset", &of_name("/a")).0, 200);
    assert_eq!(rig.forwarder.strategies.len(), 1);
    assert_eq!(rig.command("strategy-choice/unset", &of_name("/")).0, 400);
}

#[test]
fn the_content_store_is_resized_switched_and_erased_in_bounded_steps() {
    let mut rig = rig();
    let p = ControlParameters { capacity: Some(5), flags: Some(0), mask: Some(1), ..params() };
    let (code, body) = rig.command("cs/config", &p);
    let body = body.unwrap();
    assert_eq!((code, body.capacity, body.flags, body.mask), (200, Some(5), Some(2), None));

    rig.forwarder.cs.entries = 600;
    let (code, body) = rig.command("cs/erase", &of_name("/a"));
    let body = body.unwrap();
    assert_eq!((code, body.count, body.capacity), (200, Some(256), Some(256)));
    let body = rig.command("cs/erase", &ControlParameters { count: Some(3), ..of_name("/a") }).1.unwrap();
    assert_eq!((body.count, body.capacity), (Some(3), None));
    assert_eq!(rig.command("cs/erase", &ControlParameters { count: Some(0), ..of_name("/a") }).0, 400);
}

#[test]
fn what_cannot_be_done_is_answered_with_the_code_that_nfd_uses() {
    let too_long = ControlParameters::of_name(long_name());
    let no_face = ControlParameters { face_id: Some(99), ..of_name("/a") };
    let flags_alone = ControlParameters { flags: Some(1), ..ControlParameters::of_face(7) };
    let on_demand = ControlParameters { face_persistency: Some(1), ..of_uri("udp4://192.0.2.9:6363") };
    let persistency = ControlParameters { face_persistency: Some(3), ..of_uri("udp4://192.0.2.9:6363") };
    for (verb, p, code) in [
        ("rib/register", params(), 400),
        ("rib/register", too_long.clone(), 414),
        ("fib/add-nexthop", too_long, 414),
        ("rib/register", no_face.clone(), 410),
        ("fib/add-nexthop", no_face, 410),
        ("rib/unregister", ControlParameters { cost: Some(1), ..of_name("/a") }, 400),
        ("faces/create", params(), 400),
        ("faces/create", of_uri("udp4://"), 400),
        (
            "faces/create",
            ControlParameters { local_uri: Some("udp4://192.0.2.1:6363".into()), ..of_uri("udp4://192.0.2.9:6363") },
            406,
        ),
        ("faces/create", of_uri("udp4://router.example.net:6363"), 400),
        ("faces/create", of_uri("udp://router.example.net"), 400),
        ("faces/create", of_uri("udp4:192.0.2.1"), 400),
        ("faces/create", of_uri("udp4://192.0.2.1:0"), 400),
        ("faces/create", of_uri("udp://0.0.0.0:6363"), 400),
        ("faces/create", of_uri("udp4://224.0.23.170:56363"), 400),
        ("faces/create", of_uri("udp4://[2001:db8::1]:6363"), 400),
        ("faces/create", of_uri("ether://[02:00:00:00:00:01]"), 406),
        ("faces/create", on_demand, 406),
        ("faces/create", persistency, 400),
        ("faces/update", ControlParameters::of_face(99), 404),
        ("faces/update", flags_alone, 400),
        ("faces/destroy", ControlParameters::of_face(0), 400),
        ("nothing/at-all", params(), 501),
    ] {
        assert_eq!(rig().command(verb, &p).0, code, "{verb} {p:?}");
    }
}

#[test]
fn parameters_that_are_malformed_or_absent_are_answered_with_400_and_counted() {
    let mut rig = rig();
    for command in
        ["/localhost/nfd/rib/register/%68%01", "/localhost/nfd/rib/register", "/localhost/nfd/rib/register/a/b"]
    {
        let wire = rig.signed(&name(command), &DigestSha256);
        assert_eq!(rig.answer(OWNER, &wire).unwrap().code, 400, "{command}");
    }
    assert_eq!((rig.management.counters().failed, rig.management.counters().done), (3, 0));
}

#[test]
fn an_unsigned_command_is_rejected_even_from_the_owner() {
    let mut rig = rig();
    let command = command_name(name("/localhost/nfd").as_view(), "rib", "register", &of_name("/a"));
    let wire = InterestBuilder::new(command.as_view()).encode().unwrap();
    assert_eq!(rig.answer(OWNER, &wire).unwrap().code, 403);
    assert_eq!(rig.management.counters().rejected, 1);
}

#[test]
fn neighbours_register_under_localhop_when_it_is_open_and_a_key_of_theirs_is_trusted() {
    let signer = Ed25519Signer::from_seed(&[7; 32], Some(name("/neighbour/KEY/1")));
    // SubjectPublicKeyInfo of an Ed25519 key is a fixed head and the 32 bytes (RFC 8410 section 4).
    let spki = signer.verifier().to_spki_der().unwrap();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", base64(&spki));
    let anchor = TrustAnchor::from_pem(&pem, None).unwrap();
    let open = ManagementConfig { trust_anchors: vec![anchor], localhop: true, ..ManagementConfig::default() };
    let command = command_name(name("/localhop/nfd").as_view(), "rib", "register", &of_name("/theirs"));

    let mut rig = Rig::new(open.clone());
    assert_eq!(rig.management.prefixes(), [name("/localhost/nfd"), name("/localhop/nfd/rib")]);
    let wire = rig.signed(&command, &signer);
    assert_eq!(rig.answer(NEIGHBOUR, &wire).unwrap().code, 200);
    assert_eq!(rig.forwarder.hops("/theirs"), [(NEIGHBOUR.face_id, 0)]);
    let wire = rig.signed(&command, &DigestSha256);
    assert_eq!(rig.answer(NEIGHBOUR, &wire).unwrap().code, 403);
    let fib = command_name(name("/localhop/nfd").as_view(), "fib", "add-nexthop", &of_name("/theirs"));
    let wire = rig.signed(&fib, &signer);
    assert_eq!(rig.packet(NEIGHBOUR, &wire), None, "only the RIB is open to neighbours");

    let mut rig = Rig::new(ManagementConfig { localhop: false, ..open });
    let wire = rig.signed(&command, &signer);
    assert_eq!(rig.packet(NEIGHBOUR, &wire), None);
    assert_eq!(rig.management.prefixes(), [name("/localhost/nfd")]);
}

pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

#[test]
fn a_route_of_the_configuration_needs_no_command() {
    let mut rig = rig();
    let p = ControlParameters { face_id: Some(300), origin: Some(255), ..of_name("/") };
    assert_eq!(rig.management.register(p, rig.at.now, &mut rig.forwarder), Ok(()));
    assert_eq!(rig.forwarder.hops("/"), [(300, 0)]);
    let p = ControlParameters { face_id: Some(99), ..of_name("/") };
    assert_eq!(rig.management.register(p, rig.at.now, &mut rig.forwarder).unwrap_err().code, 410);
}

/// A user whom the configuration allows to register prefixes serves any prefix on its own connection, and cannot affect
/// the forwarder or others.
#[test]
fn a_user_who_may_register_prefixes_does_so_for_its_own_face_and_nothing_else() {
    let user = Requester { registers: true, ..UNKNOWN_PEER };
    let mut rig = rig();
    let mut told = |from, verb: &str, parameters: &ControlParameters| {
        let (module, verb) = verb.split_once('/').unwrap();
        let command = command_name(name("/localhost/nfd").as_view(), module, verb, parameters);
        let wire = rig.signed(&command, &DigestSha256);
        rig.answer(from, &wire).unwrap().code
    };
    let at = |face| ControlParameters { face_id: Some(face), ..of_name("/mine") };
    assert_eq!(told(UNKNOWN_PEER, "rib/register", &of_name("/mine")), 403);
    for parameters in [of_name("/mine"), at(0), at(user.face_id)] {
        assert_eq!(told(user, "rib/register", &parameters), 200);
        assert_eq!(told(user, "rib/unregister", &parameters), 200);
    }
    for (verb, parameters) in [
        ("rib/register", at(OWNER.face_id)),
        ("rib/register", of_name("/localhost/nfd")),
        ("rib/register", of_name("/localhop/nfd")),
        ("rib/unregister", at(OWNER.face_id)),
        ("fib/add-nexthop", of_name("/mine")),
        ("faces/create", of_uri("udp4://192.0.2.1:6363")),
        ("faces/destroy", ControlParameters::of_face(300)),
        (
            "strategy-choice/set",
            ControlParameters { strategy: Some(name("/localhost/nfd/strategy/asf")), ..of_name("/") },
        ),
        ("cs/erase", of_name("/")),
    ] {
        assert_eq!(told(user, verb, &parameters), 403, "{verb} {parameters:?}");
    }
    assert_eq!(rig.management.rib().len(), 0);
}
