//! `ndnweir route plan`: routes of a scenario at real forwarders.

use crate::application::{App, object, producer};
use crate::common::process::command;
use crate::process::{Fwd, Running};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// The producer's node P, and A and B, which are joined to it and to each other; the consumer is at B.
const TRIANGLE: &str = r#"
[run]
duration = "1s"
[routing]
mode = "planned"
[link-defaults]
rate = "10Mbps"
delay = "1ms"
[[node]]
names = ["P", "A", "B"]
[[link]]
ends = ["A", "P"]
[[link]]
ends = ["B", "P"]
[[link]]
ends = ["A", "B"]
[[producer]]
name = "P"
node = "P"
prefix = "/test"
[[consumer]]
name = "C"
node = "B"
prefix = "/test/object"
"#;

/// What the command says, and how it ends.
fn plan(folder: &Path, words: &str) -> (Option<i32>, String) {
    let ended = Running::start(&mut command(folder, "none", &format!("route plan {words}"))).end();
    (ended.code, String::from_utf8_lossy(&ended.stdout).into_owned() + &ended.stderr)
}

/// Planned routes of a forwarder: the URI and the cost.
fn routes(fwd: &Fwd) -> Vec<(String, u64)> {
    let list: Value = serde_json::from_str(&fwd.tool(&["route", "list", "--json"])).unwrap();
    let planned = list.as_array().unwrap().iter().filter(|route| route["origin"] == "plan");
    let route = |route: &Value| {
        assert_eq!((&route["prefix"], &route["child_inherit"]), (&"/test".into(), &false.into()));
        (route["remote_uri"].as_str().unwrap().to_owned(), route["cost"].as_u64().unwrap())
    };
    let mut routes: Vec<_> = planned.map(route).collect();
    routes.sort_by_key(|route| route.1);
    routes
}

#[test]
fn planned_routes_are_installed_carry_objects_and_follow_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["P", "A", "B"];
    let [p, a, b] = names.map(|_| Fwd::start("--udp 127.0.0.1:0 --cs 0"));
    let uri = |fwd: &Fwd| format!("udp4://{}", fwd.udp());
    let mut control = String::new();
    for (name, fwd) in names.iter().zip([&p, &a, &b]) {
        let (socket, uri) = (fwd.socket(), uri(fwd));
        let socket = socket.display();
        let _ =
            writeln!(control, "[[router]]\nname = \"{name}\"\nmanagement = \"unix://{socket}\"\nuris = [\"{uri}\"]");
    }
    std::fs::write(folder.path().join("control.toml"), control).unwrap();
    std::fs::write(folder.path().join("triangle.toml"), TRIANGLE).unwrap();

    let (status, said) = plan(folder.path(), "triangle.toml --install control.toml --dry-run");
    assert_eq!((status, routes(&b)), (Some(0), vec![]), "{said}");
    let (status, said) = plan(folder.path(), "triangle.toml --install control.toml");
    assert_eq!(status, Some(0), "{said}");
    // By hand: B is one hop from P, and the link to A, as near, leads away from the consumer.
    assert_eq!(routes(&a), [(uri(&p), 1)]);
    assert_eq!(routes(&b), [(uri(&p), 1), (uri(&a), 2)]);
    assert_eq!(routes(&p), []);
    let bytes = object(200_000);
    let _producer = producer(&p, "/test/object", &bytes);
    assert!(App::connect(&b).fetch("/test/object", bytes.len()) == bytes);

    // Without the link A-P the link between A and B leads the other way; nothing of the old direction is left.
    let other = "route add /test/other udp4://127.0.0.1:9";
    assert!(a.tool(&other.split(' ').collect::<Vec<_>>()).contains("Added"));
    let (status, said) = plan(folder.path(), "triangle.toml --install control.toml --down A-P");
    assert_eq!(status, Some(0), "{said}");
    assert_eq!((routes(&a), routes(&b)), (vec![(uri(&b), 2)], vec![(uri(&p), 1)]));
    assert!(App::connect(&a).fetch("/test/object", bytes.len()) == bytes);
    assert!(a.tool(&["route", "list"]).contains("/test/other"), "routes of others are left alone");
}

#[test]
fn planned_routes_are_installed_over_gnmi_too_and_follow_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["P", "A", "B"];
    let served = "[listen]\nunix = \"s\"\nudp = [\"127.0.0.1:0\"]\n[gnmi]\nlisten = \"127.0.0.1:0\"\ninsecure = true\n";
    let forwarders @ [p, a, b] = &names.map(|_| Fwd::with_config(served));
    let uri = |fwd: &Fwd| format!("udp4://{}", fwd.udp());
    let routers = names.iter().zip(forwarders).map(|(name, fwd)| {
        format!("[[router]]\nname = \"{name}\"\naddress = \"{}\"\nuris = [\"{}\"]\n", fwd.gnmi(), uri(fwd))
    });
    std::fs::write(folder.path().join("control.toml"), routers.collect::<String>()).unwrap();
    std::fs::write(folder.path().join("triangle.toml"), TRIANGLE).unwrap();
    let install = |words: &str| plan(folder.path(), &format!("triangle.toml --install control.toml {words}"));
    // Planned, there before, removed; in the order of the routers.
    let counts = |words: &str| {
        let (status, said) = install(&format!("{words} --json"));
        assert_eq!(status, Some(0), "{said}");
        let rows: Value = serde_json::from_str(&said).unwrap();
        let of = |row: &Value| ["planned", "already_there", "removed"].map(|key| row[key].as_u64().unwrap());
        rows.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let connect = |from: &Fwd, to: &Fwd| assert!(from.tool(&["face", "create", &uri(to)]).contains(&uri(to)));
    for (from, to) in [(a, p), (b, p)] {
        connect(from, to);
    }
    let (status, said) = install("");
    assert!(status == Some(2) && said.contains(&format!("B: no face leads to {}", uri(a))), "{said}");

    connect(b, a);
    assert_eq!(counts("--dry-run"), [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "nothing was changed");
    assert_eq!(counts(""), [[0, 0, 0], [1, 0, 0], [2, 0, 0]]);
    assert_eq!(counts("--dry-run"), [[0, 0, 0], [1, 1, 0], [2, 2, 0]]);
    let bytes = object(200_000);
    let _producer = producer(p, "/test/object", &bytes);
    assert!(App::connect(b).fetch("/test/object", bytes.len()) == bytes);

    connect(a, b);
    let other = "route add /test/other udp4://127.0.0.1:9";
    assert!(a.tool(&other.split(' ').collect::<Vec<_>>()).contains("Added"));
    assert_eq!(counts("--down A-P"), [[0, 0, 0], [1, 0, 1], [1, 1, 1]]);
    assert_eq!(counts("--down A-P --dry-run"), [[0, 0, 0], [1, 1, 0], [1, 1, 0]]);
    assert!(App::connect(a).fetch("/test/object", bytes.len()) == bytes);
    assert!(a.tool(&["route", "list"]).contains("/test/other"), "routes of others are left alone");
}

#[test]
fn a_plan_that_cannot_be_installed_changes_nothing_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("triangle.toml"), TRIANGLE).unwrap();
    let fwd = Fwd::start("--udp 127.0.0.1:0");
    let managed = |name: &str, more: &str| {
        format!("[[router]]\nname = \"{name}\"\nmanagement = \"unix://{}\"\n{more}\n", fwd.socket().display())
    };
    let gone = "[[router]]\nname = \"A\"\nmanagement = \"unix:///nowhere\"\nuris = [\"udp4://127.0.0.1:9\"]\n";
    let at_p = "[[router]]\nname = \"P\"\nmanagement = \"unix:///there\"\nuris = [\"udp4://127.0.0.1:8\"]\n";
    for (control, status, wanted) in [
        (managed("X", ""), 2, "router X is no node of the scenario"),
        (managed("B", ""), 2, "give the router P its uris"),
        (format!("[[router]]\nname = \"A\"\naddress = \"127.0.0.1:1\"\n{at_p}"), 1, "A: 127.0.0.1:1: "),
        (format!("{}{gone}{at_p}", managed("B", "")), 1, "A: "),
    ] {
        std::fs::write(folder.path().join("control.toml"), control).unwrap();
        let (code, said) = plan(folder.path(), "triangle.toml --install control.toml");
        assert!(code == Some(status) && said.contains(wanted), "{code:?}: {said}");
        assert_eq!(routes(&fwd), []);
    }
    for (words, wanted) in [
        ("triangle.toml --down X", "there is no such link; there are A-B, A-P, B-P"),
        ("triangle.toml --set routing.mode=none", "choose another"),
        ("triangle.toml --dry-run", "--install"),
    ] {
        let (code, said) = plan(folder.path(), words);
        assert!(code == Some(2) && said.contains(wanted), "{words}: {said}");
    }
}
