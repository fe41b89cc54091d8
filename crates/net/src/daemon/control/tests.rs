//! Strategies and content store, set by commands and configurations.

use super::*;
use crate::daemon::{Config, RouteSpec};
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_wire::{DataBuilder, InterestBuilder, LpPacketView};
use serde_json::{Value, json};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn config(scheme: Value) -> (Config, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config { unix: Some(dir.path().join("s")), management: false, cache: 10, ..Config::default() };
    config.scheme = Scheme::resolve("test", &scheme).unwrap();
    for port in [9, 10] {
        let to: FaceUri = format!("udp4://127.0.0.1:{port}").parse().unwrap();
        config.routes.push(RouteSpec::new(name("/a"), to.clone(), port));
        config.face(to);
    }
    (config, dir)
}

/// Two faces over which /a is routed, and one that sends Interests.
struct Rig {
    daemon: Daemon,
    asks: FaceId,
    nonce: u8,
    _dir: tempfile::TempDir,
}

impl Rig {
    fn new(scheme: Value) -> Rig {
        let (config, dir) = config(scheme);
        let mut daemon = Daemon::new(config).unwrap();
        // Without management the configured routes are not made.
        let faces: Vec<FaceId> = daemon.faces.iter().map(|(id, _)| id).collect();
        let now = daemon.clock.now();
        for (cost, face) in (1..).zip(&faces) {
            daemon.forwarder.add_next_hop(now, name("/a").as_view(), *face, cost).unwrap();
        }
        let spec = FaceSpec::new("udp4://127.0.0.1:11".parse().unwrap());
        let asks = daemon.create(&spec, Persistency::Permanent).unwrap();
        Rig { daemon, asks, nonce: 0, _dir: dir }
    }

    fn set(&mut self, prefix: &str, strategy: &str) -> Result<String, u32> {
        let strategy = name(&format!("/localhost/nfd/strategy/{strategy}"));
        let done = self.daemon.set_strategy(name(prefix).as_view(), strategy.as_view());
        done.map(|name| name.to_string()).map_err(|failure| failure.code)
    }

    fn list(&self) -> Vec<(String, String)> {
        let own = |choice: StrategyChoice| {
            let strategy = choice.strategy.to_string();
            (choice.name.to_string(), strategy.trim_start_matches("/localhost/nfd/strategy/").to_owned())
        };
        self.daemon.strategies().into_iter().map(own).collect()
    }

    /// How many faces an Interest goes to.
    fn copies(&mut self, asked: &str) -> u64 {
        self.nonce += 1;
        let before = self.daemon.status().out_interests;
        let interest = InterestBuilder::new(name(asked).as_view()).nonce([0, 0, 0, self.nonce]).encode().unwrap();
        let now = self.daemon.clock.now();
        self.daemon.forwarder.receive(now, self.asks, &interest);
        self.daemon.send_all(now);
        self.daemon.status().out_interests - before
    }

    fn answer(&mut self, asked: &str) {
        let data = DataBuilder::new(name(asked).as_view()).sign(&ndnweir_wire::signature::DigestSha256).unwrap();
        assert!(LpPacketView::decode(&data).is_ok());
        let (now, from) = (self.daemon.clock.now(), self.daemon.faces.iter().next().unwrap().0);
        self.daemon.forwarder.receive(now, from, &data);
        self.daemon.send_all(now);
    }
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(prefix, strategy)| ((*prefix).to_owned(), (*strategy).to_owned())).collect()
}

#[test]
fn commands_set_list_and_unset_the_strategy_of_a_prefix() {
    let mut rig = Rig::new(json!({}));
    assert_eq!(rig.list(), pairs(&[("/", "best-route/v=1")]));
    assert_eq!(rig.copies("/a/1"), 1);
    assert_eq!(rig.set("/a/b", "multicast/v=5"), Ok("/localhost/nfd/strategy/multicast/v=1".into()));
    assert_eq!((rig.copies("/a/b/1"), rig.copies("/a/2")), (2, 1));
    assert_eq!(rig.set("/", "multicast"), Ok("/localhost/nfd/strategy/multicast/v=1".into()));
    assert_eq!(rig.set("/a/b", "asf/v=5/max-timeouts~2"), Ok("/localhost/nfd/strategy/asf/v=1/max-timeouts~2".into()));
    assert_eq!(rig.list(), pairs(&[("/", "multicast/v=1"), ("/a/b", "asf/v=1/max-timeouts~2")]));
    assert_eq!((rig.copies("/a/b/3"), rig.copies("/a/4")), (1, 2));
    rig.daemon.unset_strategy(name("/a/b").as_view());
    rig.daemon.unset_strategy(name("/a/never").as_view());
    assert_eq!(rig.list(), pairs(&[("/", "multicast/v=1")]));
    assert_eq!(rig.copies("/a/b/5"), 2);
}

#[test]
fn an_unknown_strategy_or_invalid_parameter_is_rejected_and_changes_nothing() {
    let mut rig = Rig::new(json!({}));
    assert_eq!(rig.set("/a", "nonsense"), Err(404));
    assert_eq!(rig.set("/a", "asf/max-timeouts~none"), Err(409));
    assert_eq!(rig.list().len(), 1);
    for i in 0..Scheme::MAX_CHOICES {
        rig.set(&format!("/a/{i}"), "asf").unwrap();
    }
    assert_eq!(rig.set("/a/more", "asf"), Err(500));
    assert_eq!(rig.set("/a/1", "multicast"), Ok("/localhost/nfd/strategy/multicast/v=1".into()));
    assert_eq!(rig.list().len(), 1 + Scheme::MAX_CHOICES);
}

#[test]
fn a_configuration_that_is_read_again_changes_what_it_says_and_leaves_what_commands_set() {
    let mut rig = Rig::new(json!({ "prefixes": { "/a/old": "asf", "/a/kept": "multicast" } }));
    rig.set("/a/command", "multicast").unwrap();
    rig.set("/a/kept", "random").unwrap();
    let scheme = json!({ "strategy": "multicast", "prefixes": { "/a/new": "best-route", "/a/kept": "multicast" } });
    let (new, _dir) = config(scheme);
    rig.daemon.reload(new).unwrap();
    let expected = [
        ("/", "multicast/v=1"),
        ("/a/new", "best-route/v=1"),
        ("/a/kept", "random/v=1"),
        ("/a/command", "multicast/v=1"),
    ];
    assert_eq!(rig.list(), pairs(&expected));
    assert_eq!(rig.daemon.config.scheme.part(Family::Strategy).name, "multicast");
}

#[test]
fn a_configuration_with_another_shaper_is_rejected_until_the_next_start() {
    let mut rig = Rig::new(json!({ "shaper": "his" }));
    let (exempt, _dir) = config(json!({ "shaper": "his", "prefixes": { "/a": { "shaper": "none" } } }));
    rig.daemon.reload(exempt).unwrap();
    let (other, _dir) = config(json!({ "prefixes": { "/a": { "shaper": "hobhis" } } }));
    let error = rig.daemon.reload(other).unwrap_err().to_string();
    assert!(error.contains("until the next start"), "{error}");
    assert_eq!(rig.list().len(), 2);
}

#[test]
fn commands_configure_the_content_store() {
    let mut rig = Rig::new(json!({}));
    let both = cs_flags::ADMIT | cs_flags::SERVE;
    let store = |rig: &mut Rig, i: u32| {
        assert_eq!(rig.copies(&format!("/a/{i}")), 1);
        rig.answer(&format!("/a/{i}"));
    };
    (0..10).for_each(|i| store(&mut rig, i));
    assert_eq!((rig.daemon.cs().capacity, rig.daemon.cs().flags, rig.daemon.cs().entries), (10, both, 10));
    rig.daemon.configure_cs(Some(4), None, None).unwrap();
    assert_eq!((rig.daemon.cs().capacity, rig.daemon.cs().entries), (4, 4));
    assert_eq!((rig.copies("/a/9"), rig.copies("/a/0")), (0, 1), "the most recently used stay");
    rig.daemon.configure_cs(None, None, Some(false)).unwrap();
    assert_eq!((rig.daemon.cs().flags, rig.copies("/a/9")), (cs_flags::ADMIT, 1));
    rig.daemon.configure_cs(Some(100), Some(false), Some(true)).unwrap();
    assert_eq!((rig.daemon.cs().flags, rig.copies("/a/8")), (cs_flags::SERVE, 0));
    store(&mut rig, 20);
    assert_eq!(rig.daemon.cs().entries, 4, "nothing is taken in");
    rig.daemon.configure_cs(Some(0), Some(true), None).unwrap();
    assert_eq!((rig.daemon.cs().flags, rig.daemon.cs().entries, rig.copies("/a/7")), (both, 0, 1));
}

#[test]
fn the_face_that_answers_commands_is_not_destroyed_and_the_command_fails() {
    let (mut config, _dir) = config(json!({ "base": "pcon" }));
    config.management = true;
    let mut daemon = Daemon::new(config).unwrap();
    let own = daemon.faces.number(daemon.management.id()).unwrap();
    let failure = daemon.destroy_face(own).unwrap_err();
    assert_eq!((failure.code, daemon.face(own).is_some()), (409, true));
    let other = daemon.faces().iter().map(|face| face.face_id).find(|face| *face != own).unwrap();
    assert_eq!((daemon.destroy_face(other), daemon.face(other)), (Ok(()), None));
}

#[test]
fn a_face_is_not_made_with_an_mtu_that_it_cannot_have() {
    let mut daemon = Rig::new(json!({ "base": "pcon" })).daemon;
    for (uri, mtu, mtu_of_the_face) in [
        ("udp4://127.0.0.1:12", 10, Err(409)),
        ("udp4://127.0.0.1:12", MIN_MTU - 1, Err(409)),
        ("tcp4://127.0.0.1:12", 1400, Err(409)),
        ("udp4://127.0.0.1:12", MAX_MTU + 1, Err(409)),
        ("udp4://127.0.0.1:12", 99_999_999_999, Err(409)),
        ("udp4://127.0.0.1:12", MIN_MTU, Ok(Some(MIN_MTU))),
        ("udp4://127.0.0.1:13", MAX_MTU, Ok(Some(MAX_MTU))),
        ("udp4://127.0.0.1:14", AUTO_MTU, Ok(Some(1400))),
    ] {
        let settings = FaceSettings { mtu: Some(mtu), ..FaceSettings::default() };
        let made = daemon.create_face(&FaceRequest { remote: uri.parse().unwrap(), settings });
        let made = made.map(|made| match made {
            FaceCreated::New(face) | FaceCreated::Existing(face) => daemon.face(face).unwrap().mtu,
        });
        assert_eq!(made.map_err(|failure| failure.code), mtu_of_the_face, "{uri} {mtu}");
    }
}
