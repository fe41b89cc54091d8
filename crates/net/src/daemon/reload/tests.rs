//! Configurations that are read again while a forwarder runs.

use super::*;
use crate::mgmt::ManagedForwarder;

const BASE: &str = r#"
prefixes = 5
[[face]]
uri = "udp4://127.0.0.1:47011"
[[route]]
prefix = "/ex"
to = "udp4://127.0.0.1:47011"
[[strategy]]
prefix = "/v"
strategy = "asf"
"#;

struct Rig {
    daemon: Daemon,
    dir: tempfile::TempDir,
}

impl Rig {
    fn new(text: &str) -> Rig {
        let dir = tempfile::tempdir().unwrap();
        let daemon = Daemon::new(config(&dir, text)).unwrap();
        Rig { daemon, dir }
    }

    fn reload(&mut self, text: &str) -> Result<Vec<&'static str>, String> {
        let done = self.daemon.reload(config(&self.dir, text)).map_err(|error| error.to_string());
        let now = self.daemon.clock.now();
        self.daemon.manage(now);
        done
    }

    /// Faces with their numbers, the FIB, the RIB, strategies, and what counts as configured.
    fn state(&mut self) -> String {
        let faces: Vec<_> = self.daemon.faces().into_iter().map(|face| (face.face_id, face.remote_uri)).collect();
        let now = self.daemon.clock.now();
        let rib = self.daemon.with_management(|management, _| management.rib().list(now)).unwrap();
        let (fib, strategies) = (self.daemon.fib(), self.daemon.strategies());
        format!("{faces:?}\n{fib:?}\n{rib:?}\n{strategies:?}\n{:?}", self.daemon.config)
    }
}

fn config(dir: &tempfile::TempDir, text: &str) -> Config {
    let mut config = Config::read("fwd.toml", text).unwrap();
    config.unix = Some(dir.path().join("s"));
    config
}

/// The base with another neighbour and another strategy, and something at its end.
fn changed(end: &str) -> String {
    format!("{}{end}", BASE.replace("47011", "47012").replace("asf", "multicast"))
}

#[test]
fn a_configuration_with_anything_wrong_in_it_changes_nothing_and_is_named_with_its_line() {
    let mut rig = Rig::new(BASE);
    let before = rig.state();
    let long = format!("[[route]]\nprefix = \"{}\"\nto = \"udp4://127.0.0.1:47013\"\n", "/a".repeat(33));
    let route = |prefix: &str| format!("[[route]]\nprefix = \"{prefix}\"\nto = \"udp4://127.0.0.1:47013\"\n");
    let many: String = (0..5).map(|i| route(&format!("/many/{i}"))).collect();
    let hops = |i| format!("[[route]]\nprefix = \"/ex\"\nto = \"udp4://127.0.0.1:{}\"\n", 48_000 + i);
    let hops: String = (0..MAX_HOPS).map(hops).collect();
    for (end, said) in [
        ("[[face]]\nuri = \"udp4://no.such.host.invalid:1\"\n", "fwd.toml:12: face udp4://no.such.host.invalid:1: "),
        (&long, "fwd.toml:12: route /a/a/"),
        (&route("/localhost/x"), "fwd.toml:12: route /localhost/x: names under /localhost may not leave"),
        (&route("/localhost/nfd/x"), "fwd.toml:12: route /localhost/nfd/x: names under this prefix belong"),
        (&many, "fwd.toml:21: route /many/3: there may be 5 prefixes"),
        (&hops, "fwd.toml:201: route /ex: a prefix has 64 next hops"),
        ("[[face]]\nuri = \"udp://127.0.0.1:47012\"\n", "fwd.toml:12: the faces udp4://127.0.0.1:47012 and udp://"),
        (
            "[[face]]\nuri = \"udp4://127.0.0.1:47013\"\nqueue = \"9 packets\"\nlearn-rate = false\n",
            "fwd.toml:12: face udp4://127.0.0.1:47013: ",
        ),
        (
            "[listen]\nallow-local = [\"group:no-such-group\"]\n",
            "fwd.toml:12: this machine has no group:no-such-group: make it (`groupadd --system no-such-group`",
        ),
        (
            "[listen]\nallow-local = [\"user:no-such-user\"]\n",
            "fwd.toml:12: this machine has no user:no-such-user: make it (`useradd no-such-user`",
        ),
    ] {
        let error = rig.reload(&changed(end)).unwrap_err();
        assert!(error.starts_with(said) && error.ends_with("; the configuration stays as it was"), "{error}");
        assert_eq!(rig.state(), before, "{end}");
        // At the start it is said before anything is opened.
        let dir = tempfile::tempdir().unwrap();
        let error = Daemon::new(config(&dir, &changed(end))).err().unwrap().to_string();
        assert!(error.starts_with(said) && !dir.path().join("s").exists(), "{error}");
    }
    assert_eq!(rig.reload(&changed("")), Ok(vec![]));
    let after = rig.state();
    assert!(after.contains("47012") && !after.contains("47011") && after.contains("multicast"), "{after}");
}

#[test]
fn what_fails_while_it_is_applied_is_taken_back() {
    let mut rig = Rig::new(BASE);
    let face = rig.daemon.faces.with_uri(&"udp4://127.0.0.1:47011".parse().unwrap()).unwrap();
    let face = rig.daemon.faces.number(face).unwrap();
    // Commands take the room that the configuration does not know of.
    for i in 0..3 {
        let name: Name = format!("/command/{i}").parse().unwrap();
        rig.daemon.set_next_hop(name.as_view(), face, 7).unwrap();
    }
    let before = rig.state();
    let end = "[[route]]\nprefix = \"/more\"\nto = \"udp4://127.0.0.1:47012\"\n";
    let error = rig.reload(&changed(end)).unwrap_err();
    assert!(error.starts_with("fwd.toml:12: route /more: the table of routes is full"), "{error}");
    assert!(error.ends_with("; the configuration stays as it was"), "{error}");
    let after = rig.state();
    assert_eq!(after, before);
}

#[test]
fn a_face_with_other_settings_is_made_anew_with_its_routes() {
    let mut rig = Rig::new(BASE);
    let uri: FaceUri = "udp4://127.0.0.1:47011".parse().unwrap();
    let number = |rig: &Rig| rig.daemon.faces.with_uri(&uri).and_then(|id| rig.daemon.faces.number(id)).unwrap();
    let before = number(&rig);
    let moved = format!("\n\n{BASE}");
    assert_eq!(rig.reload(&moved), Ok(vec![]));
    assert_eq!(number(&rig), before, "lines elsewhere are no change");
    assert_eq!(rig.reload(&BASE.replace("47011\"\n[[route]]", "47011\"\nmtu = 1000\n[[route]]")), Ok(vec![]));
    let after = number(&rig);
    assert_ne!(after, before);
    let prefix: Name = "/ex".parse().unwrap();
    let entry = rig.daemon.fib().into_iter().find(|entry| entry.name == prefix).unwrap();
    assert_eq!(entry.next_hops.iter().map(|hop| hop.face_id).collect::<Vec<_>>(), [after]);
}

#[test]
fn another_word_for_the_same_host_is_another_face_without_the_routes_of_the_former() {
    let mut rig = Rig::new(BASE);
    let other = BASE.replace("udp4://", "udp://").replace("/ex", "/other");
    assert_eq!(rig.reload(&other), Ok(vec![]));
    let faces: Vec<String> = rig.daemon.faces().into_iter().map(|face| face.remote_uri).collect();
    assert_eq!(faces, ["internal://", "udp://127.0.0.1:47011"]);
    let routes = |rig: &Rig| rig.daemon.fib().into_iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>();
    assert_eq!(routes(&rig), ["/other", "/localhost/nfd"]);
    assert_eq!(rig.reload(BASE), Ok(vec![]));
    assert_eq!(routes(&rig), ["/ex", "/localhost/nfd"]);
}

#[test]
fn settings_that_need_another_start_are_named() {
    let mut rig = Rig::new(BASE);
    let other = "cache = 9\nmetrics = \"127.0.0.1:0\"\nscheme = \"pcon\"\n".to_owned()
        + &BASE.replace("prefixes = 5", "prefixes = 6")
        + "[listen]\nudp = [\"127.0.0.1:0\"]\nidle = \"1s\"\n";
    let kept = ["scheme (but for strategies)", "cache", "prefixes", "metrics", "listen.udp", "listen.idle"];
    assert_eq!(rig.reload(&other), Ok(kept.to_vec()));
    assert_eq!(rig.reload(&other), Ok(kept.to_vec()), "as long as it is so");
    assert_eq!(rig.reload(BASE), Ok(vec![]));
}
