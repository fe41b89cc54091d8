//! Commands that other implementations sent: accepted as they are, rejected when anything in them is changed.
//!
//! Each was written down by a Unix socket that only listens, on 2026-11-21, and is the first packet of:
//! - `NDND`: ndnd v1.5.3, `ndnd put /example/ndnd`;
//! - `PYTHON_OLD`: python-ndn 0.5.2, `ndn.app.NDNApp.register`, which uses the older format;
//! - `PYTHON`: python-ndn 0.5.2, `ndn.appv2.NDNApp.register`;
//! - `NDNTS`: NDNts 0.0.20250307, `enableNfdPrefixReg` and `produce`, with its default signer;
//! - `NDNTS_ED25519` and `NDNTS_ECDSA`: the same, with the key `/example/operator/KEY/k1` made for the occasion.

use crate::fake::{NEIGHBOUR, OWNER, Rig, UNKNOWN_PEER};
use crate::{hex, name};
use ndnweir_net::mgmt::{ControlResponse, ManagementConfig, Requester, SignedCommand, Timestamps, TrustAnchor};
use ndnweir_wire::{InterestView, LpPacketView};
use std::time::Duration;

const NDND: &str = "05a4075908096c6f63616c686f737408036e666408037269620808726567697374657208166814070f08076578616d706c6508046e646e646a010002201fb7de4667ea844b88ff3077d8f73ef5aa827d1b9e9f1f5ae3228c252899280212000a0457c7ead20c0203e824002c171b01002608df02e6a45065e84b2808000001a1fc455f4e2e20ff85547a8a299fd889184a69e64cb03a64d5fecf247f26fae10e99beb1184fc5";
const PYTHON_OLD: &str = "0581077508096c6f63616c686f737408036e666408037269620808726567697374657208156813071108076578616d706c650806707974686f6e0808000001a1fc45e95d0808489ec8e9930caa32080516031b010008221720430ce79c1d9a83eae77e423c102cb23b91ae4f1ffe543a716e5a291f46dcc0e00a044cdb35a20c0203e8";
const PYTHON: &str = "05a1075808096c6f63616c686f737408036e666408037269620808726567697374657208156813071108076578616d706c650806707974686f6e02201e2374d900af351ec110380c0baf0ece44c79d9eba8a05bc0e18fa319fdf67ef0a041caf3b070c0203e824002c171b01002608593baed4dbffbdf12808000001a1fc4580ed2e200927e4026d0839f5926ce029cdaa59b90ae0814f612f5ab768b996d74bd58bc0";
const NDNTS: &str = "64bb6206736affffffff50b105af076608096c6f63616c686f737408036e666408037269620808726567697374657208236821071008076578616d706c6508056e646e74736f01416a01006c01026d0400124f8002203f975d1445eff44e2a4ebf2ef3481d46fe59408538eb6f9e68f871c35c7122c30a04eee7690a0c020f9f24002c171b01002608251b6724df8ccb872808000001a1fc464b362e204a4f2f82edd5a385e54cb5150593118ed225a1994d5d7ed99c225ef0279ab838";
const NDNTS_ED25519: &str = "64fb62067630ffffffff50f105ef076608096c6f63616c686f737408036e666408037269620808726567697374657208236821071008076578616d706c6508056e646e74736f01416a01006c01026d0400124f800220e20e56d2f5f3efeb9e17084c6fbd775282bf66987472f8e27dc914827b3998150a04473f8f670c020f9f24002c371b01051c1e071c08076578616d706c6508086f70657261746f7208034b455908026b312608ed6ed8878a278d022808000001a1fc4654c92e40271a6f132795c7c9f224cadf69db5a8ae6947aabdb2227b781df1fa8d2453e55d9b805eb6ab1244008c6f97e56b5cd3853d483259933cdd7ef09705737e1ac04";
const NDNTS_ECDSA: &str = "64fd010362064c12ffffffff50f905f7076608096c6f63616c686f737408036e666408037269620808726567697374657208236821071008076578616d706c6508056e646e74736f01416a01006c01026d0400124f8002206492d943d8ac11b226c9a15dc9275e76b586d860b85e27705e18b9ecd4311c370a041a6498c20c020f9f24002c371b01031c1e071c08076578616d706c6508086f70657261746f7208034b455908026b3126083f7feeb2765cb6442808000001a1fc48bb232e483046022100f93ed5d3f8bad0151c01c42cfa9432f574b7c444667742872da9749157c2bc920221008323b91be77088144a49415e6d891f8962dc0a28634571712724843d9403a9b3";

/// `NDNTS_ECDSA` with the other signature that is valid for the same bytes, s replaced by n - s, computed by a separate
/// script.
const NDNTS_ECDSA_TWIN: &str = "05f6076608096c6f63616c686f737408036e666408037269620808726567697374657208236821071008076578616d706c6508056e646e74736f01416a01006c01026d0400124f8002209c409a837f3f1035950b02a2e6eadce146f2e6829395402874c43063308efca50a041a6498c20c020f9f24002c371b01031c1e071c08076578616d706c6508086f70657261746f7208034b455908026b3126083f7feeb2765cb6442808000001a1fc48bb232e473045022100f93ed5d3f8bad0151c01c42cfa9432f574b7c444667742872da9749157c2bc9202207cdc46e3188f77ecb5b6bea19276e0765a0af08543d22d13cc954685685f7b9e";

const ED25519_PEM: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAuqE1hRgKz68YlD7/Jxn2oSHQMLm0b0M153HPvX6L+84=
-----END PUBLIC KEY-----
";
const ECDSA_PEM: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwYnXhDXwtfVfXmJ3QBug4s9FOFcz
RYD1t7o5HhC9d0D/lBZ8RUnarXKIOYjZIDYNwVXB3d2k1BF2xOv4wYu/Ag==
-----END PUBLIC KEY-----
";

pub fn interest_of(captured: &str) -> Vec<u8> {
    let wire = hex(captured);
    if wire[0] == 0x05 {
        return wire;
    }
    LpPacketView::decode(&wire).unwrap().fragment.unwrap().to_vec()
}

/// A rig that starts one second before the command was signed.
pub fn rig_for(wire: &[u8], config: ManagementConfig) -> Rig {
    let interest = InterestView::decode(wire).unwrap();
    let time = SignedCommand::find(&interest).unwrap().info().anti_replay.time.unwrap();
    let mut rig = Rig::new(config.clone());
    rig.at = Timestamps { unix: time - Duration::from_secs(1), ..rig.at };
    rig.management = ndnweir_net::mgmt::Management::new(config, rig.at);
    rig
}

pub fn anchors(pems: &[&str], named: Option<&str>) -> ManagementConfig {
    let anchor = |pem: &&str| TrustAnchor::from_pem(pem, named.map(name)).unwrap();
    ManagementConfig { trust_anchors: pems.iter().map(anchor).collect(), ..ManagementConfig::default() }
}

pub fn send(rig: &mut Rig, from: Requester, wire: &[u8]) -> ControlResponse {
    rig.answer(from, wire).expect("an answer")
}

#[test]
fn registrations_of_other_implementations_are_accepted_from_the_owner() {
    for (captured, prefix, body) in [
        (NDND, "/example/ndnd", (0, 0, 1, None)),
        (PYTHON_OLD, "/example/python", (0, 0, 1, None)),
        (PYTHON, "/example/python", (0, 0, 1, None)),
        (NDNTS, "/example/ndnts", (65, 0, 2, Some(1200))),
        (NDNTS_ED25519, "/example/ndnts", (65, 0, 2, Some(1200))),
        (NDNTS_ECDSA, "/example/ndnts", (65, 0, 2, Some(1200))),
    ] {
        let wire = interest_of(captured);
        let mut rig = rig_for(&wire, ManagementConfig::default());
        let response = send(&mut rig, OWNER, &wire);
        assert_eq!((response.code, response.text.as_str()), (200, "OK"), "{prefix}");
        let p = response.body.unwrap();
        assert_eq!((p.name, p.face_id), (Some(name(prefix)), Some(OWNER.face_id)));
        let seconds = p.expiration_period.map(|period| period.as_secs());
        assert_eq!((p.origin, p.cost, p.flags, seconds), (Some(body.0), Some(body.1), Some(body.2), body.3));
        assert_eq!(rig.forwarder.hops(prefix), [(OWNER.face_id, 0)]);
    }
}

#[test]
fn a_digest_or_an_unknown_key_does_not_make_a_on_demand_peer_an_owner() {
    for captured in [NDND, PYTHON_OLD, PYTHON, NDNTS, NDNTS_ED25519, NDNTS_ECDSA] {
        let wire = interest_of(captured);
        let mut rig = rig_for(&wire, ManagementConfig::default());
        assert_eq!(send(&mut rig, UNKNOWN_PEER, &wire).code, 403);
        assert_eq!((rig.management.counters().rejected, rig.forwarder.fib.len()), (1, 0));
    }
}

#[test]
fn a_trust_anchor_makes_a_on_demand_peer_welcome_once() {
    let config = anchors(&[ED25519_PEM, ECDSA_PEM], Some("/example/operator"));
    for captured in [NDNTS_ED25519, NDNTS_ECDSA] {
        let wire = interest_of(captured);
        let mut rig = rig_for(&wire, config.clone());
        assert_eq!(send(&mut rig, UNKNOWN_PEER, &wire).code, 200);
        assert_eq!(rig.forwarder.hops("/example/ndnts"), [(UNKNOWN_PEER.face_id, 0)]);
        let again = send(&mut rig, UNKNOWN_PEER, &wire);
        assert_eq!((again.code, again.text.as_str()), (403, "the command has been seen before"));
    }
}

#[test]
fn an_anchor_with_another_name_or_key_opens_nothing() {
    let wire = interest_of(NDNTS_ED25519);
    for config in [anchors(&[ED25519_PEM], Some("/other")), anchors(&[ECDSA_PEM], None)] {
        let mut rig = rig_for(&wire, config);
        assert_eq!(send(&mut rig, UNKNOWN_PEER, &wire).code, 403);
    }
}

#[test]
fn an_ecdsa_signature_turned_into_its_twin_is_still_a_replay() {
    let (wire, twin) = (interest_of(NDNTS_ECDSA), hex(NDNTS_ECDSA_TWIN));
    let config = anchors(&[ECDSA_PEM], None);
    let mut rig = rig_for(&wire, config.clone());
    assert_eq!(send(&mut rig, UNKNOWN_PEER, &twin).code, 200, "the twin is a valid signature");
    assert_eq!(send(&mut rig, UNKNOWN_PEER, &wire).text, "the command has been seen before");
}

#[test]
fn a_neighbour_reaches_localhost_under_no_circumstances() {
    let wire = interest_of(NDNTS_ED25519);
    let mut rig = rig_for(&wire, anchors(&[ED25519_PEM], None));
    assert_eq!(rig.packet(NEIGHBOUR, &wire), None);
    assert_eq!(rig.management.counters().out_of_scope, 1);
}

/// Whether a changed packet says the same as the original, in all that a forwarder must not change.
fn says_the_same(a: &InterestView<'_>, b: &InterestView<'_>) -> bool {
    a.name() == b.name() && a.parameters_portion() == b.parameters_portion()
}

#[test]
fn no_changed_bit_in_a_captured_command_is_accepted() {
    for (captured, from) in [
        (NDND, OWNER),
        (PYTHON_OLD, OWNER),
        (PYTHON, OWNER),
        (NDNTS, OWNER),
        (NDNTS_ED25519, UNKNOWN_PEER),
        (NDNTS_ECDSA, UNKNOWN_PEER),
    ] {
        let original = interest_of(captured);
        let view = InterestView::decode(&original).unwrap();
        let config = anchors(&[ED25519_PEM, ECDSA_PEM], None);
        // Verifying is slow in test builds: one bit of each byte, another one in the next.
        for at in 0..original.len() {
            let mut wire = original.clone();
            wire[at] ^= 1 << (at % 8);
            let Ok(changed) = InterestView::decode_unchecked_digest(&wire) else { continue };
            if says_the_same(&changed, &view) {
                continue;
            }
            let mut rig = rig_for(&original, config.clone());
            let code = rig.answer(from, &wire).map(|response| response.code);
            assert_ne!(code, Some(200), "byte {at} of {captured}");
            assert_eq!((rig.forwarder.fib.len(), rig.management.rib().len()), (0, 0));
        }
    }
}
