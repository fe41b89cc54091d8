//! `route`, `face`, `status`, `strategy` and `cs` against the management of a forwarder that only remembers.

mod common;
#[expect(dead_code, reason = "shared with the tests of the protocol, which use all of it")]
#[path = "../../net/tests/mgmt/fake.rs"]
mod fake;

use common::process::{Running, wait_for};
use common::{ndnweir, stderr, stdout};
use fake::{Fake, NOW, OWNER, UNKNOWN_PEER};
use ndnweir_net::framing::Deframer;
use ndnweir_net::mgmt::{Management, ManagementConfig, Requester, Timestamps};
use ndnweir_wire::InterestView;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

fn moment() -> Timestamps {
    Timestamps { unix: SystemTime::now().duration_since(UNIX_EPOCH).unwrap(), ..NOW }
}

/// A forwarder's management at a Unix socket.
struct Server {
    dir: TempDir,
    forwarder: Arc<Mutex<Fake>>,
}

impl Server {
    fn start(requester: Requester) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("sock")).unwrap();
        let forwarder = Arc::new(Mutex::new(Fake::new()));
        let shared = forwarder.clone();
        thread::spawn(move || {
            let mut management = Management::new(ManagementConfig::default(), moment());
            for stream in listener.incoming() {
                serve(stream.unwrap(), requester, &mut management, &shared);
            }
        });
        Server { dir, forwarder }
    }

    fn uri(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("sock")
    }

    fn run(&self, line: &str) -> assert_cmd::assert::Assert {
        let mut command = ndnweir(self.dir.path());
        command.args(line.split(' ')).env("NDN_CLIENT_TRANSPORT", self.uri()).assert()
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&stdout(&self.run(&format!("{line} --json")).success())).expect("one JSON document")
    }
}

fn serve(mut stream: UnixStream, requester: Requester, management: &mut Management, forwarder: &Mutex<Fake>) {
    let mut deframer = Deframer::new();
    let mut buffer = [0; 9000];
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        deframer.push(&buffer[..len]);
        while let Ok(Some(frame)) = deframer.next_frame() {
            let interest = InterestView::decode_unchecked_digest(frame).unwrap();
            let mut forwarder = forwarder.lock().unwrap();
            if let Some(data) = management.interest(&interest, requester, moment(), &mut *forwarder) {
                stream.write_all(&data).unwrap();
            }
        }
    }
}

#[test]
fn a_route_is_added_over_a_new_face_listed_and_removed() {
    let server = Server::start(OWNER);
    let text = stdout(&server.run("route add /a udp4://192.0.2.9 --cost 5 --expires 60").success());
    assert_eq!(text, "Added the static route to /a over face 301.\n");
    assert_eq!(server.forwarder.lock().unwrap().hops("/a"), [(301, 5)]);
    server.run("route add /a 300 --origin client --capture --no-inherit").success();
    let routes = server.json("route list");
    let of = |face: u64| routes.as_array().unwrap().iter().find(|route| route["face"] == face).unwrap().clone();
    assert_eq!((&of(301)["remote_uri"], &of(301)["cost"]), (&"udp4://192.0.2.9:6363".into(), &5.into()));
    assert_eq!((&of(300)["origin"], &of(300)["capture"]), (&"client".into(), &true.into()));
    assert_eq!(of(300)["child_inherit"], false);
    let table = stdout(&server.run("route list").success());
    assert!(
        table.starts_with("PREFIX  FACE  TO") && table.contains("/a       300  udp4://192.0.2.1:6363  client"),
        "{table}"
    );

    server.run("route remove /a udp4://192.0.2.9").success();
    assert_eq!(server.forwarder.lock().unwrap().hops("/a"), [(300, 0)]);
    let again = stderr(&server.run("route remove /a udp4://192.0.2.9").code(1));
    assert!(again.contains("no static route to /a over face 301"), "{again}");
}

#[test]
fn a_terminal_obeys_nothing_that_a_forwarder_says() {
    let server = Server::start(OWNER);
    server.run("route add /a 300").success();
    let hostile = "udp4://\x1b]0;mine\x07\x1b[2J\r\n\u{9b}\u{202e}";
    server.forwarder.lock().unwrap().faces.get_mut(&300).unwrap().remote_uri = hostile.into();
    let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    for (line, lines) in [("face list", 4), ("face show 300", 14), ("route list", 2), ("face destroy 300", 1)] {
        let text = stdout(&server.run(line).success());
        assert!(text.contains(r"udp4://\u{1b}]0;mine\u{7}\u{1b}[2J\u{d}\u{a}\u{9b}\u{202e}"), "{line}: {text:?}");
        assert!(!text.contains(obeyed) && text.lines().count() == lines, "{line}: {text:?}");
    }
    let server = Server::start(OWNER);
    server.forwarder.lock().unwrap().faces.get_mut(&300).unwrap().remote_uri = hostile.into();
    let text = stdout(&server.run("face show 300 --json").success());
    assert!(!text.contains(obeyed), "{text:?}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["remote_uri"], hostile);
}

#[test]
fn a_face_is_created_shown_and_destroyed() {
    let server = Server::start(OWNER);
    let made = server.json("face create udp4://192.0.2.9 --persistency permanent --mtu 1400");
    assert_eq!((&made["face"], &made["created"]), (&301.into(), &true.into()));
    assert_eq!(server.json("face create udp4://192.0.2.9")["created"], false);
    let shown = server.json("face show 301");
    assert_eq!((&shown["persistency"], &shown["scope"]), (&"permanent".into(), &"non-local".into()));
    assert!(stdout(&server.run("face show udp4://192.0.2.9").success()).contains("persistency        permanent\n"));
    assert_eq!(server.json("face list").as_array().unwrap().len(), 4);
    server.run("face destroy udp4://192.0.2.9").success();
    assert_eq!(stdout(&server.run("face list").success()).lines().count(), 4);
    let error = stderr(&server.run("face show 301").code(1));
    assert!(error.contains("there is no face 301; `ndnweir face list` shows them"), "{error}");
}

#[test]
fn strategies_are_set_by_their_short_names() {
    let server = Server::start(OWNER);
    let text = stdout(&server.run("strategy set /a multicast").success());
    assert_eq!(text, "/a has the strategy /localhost/nfd/strategy/multicast/v=4.\n");
    assert_eq!(server.json("strategy list").as_array().unwrap().len(), 2);
    assert!(stderr(&server.run("strategy set /a nonsense").code(1)).contains("there is no such strategy (404)"));
    server.run("strategy unset /a").success();
    assert_eq!(stdout(&server.run("strategy list").success()).lines().count(), 2);
    server.run("strategy unset /").code(2);
}

#[test]
fn the_content_store_is_erased_in_as_many_commands_as_it_takes() {
    let server = Server::start(OWNER);
    server.forwarder.lock().unwrap().cs.entries = 1000;
    assert_eq!(server.json("cs erase /a --count 300")["erased"], 300);
    assert_eq!(server.json("cs info")["entries"], 700);
    assert_eq!(stdout(&server.run("cs erase /a").success()), "Erased 700 packets under /a.\n");
    server.run("cs erase /a --count 0").code(2);
}

#[test]
fn the_content_store_is_configured_only_by_the_given_options() {
    let server = Server::start(OWNER);
    let before = server.json("cs info");
    let done = server.json("cs config --capacity 5000");
    assert_eq!((&done["capacity"], &done["admit"]), (&5000.into(), &before["admit"]));
    let text = stdout(&server.run("cs config --admit off").success());
    assert_eq!(text, "The content store holds 5000 packets at most, admit off, serve on.\n");
    let after = server.json("cs info");
    assert_eq!((&after["capacity"], &after["admit"], &after["serve"]), (&5000.into(), &false.into(), &true.into()));
    assert!(stderr(&server.run("cs config").code(2)).contains("--capacity PACKETS"));
    server.run("cs config --serve perhaps").code(2);
}

#[test]
fn the_status_is_a_table_or_one_document() {
    let server = Server::start(OWNER);
    assert!(stdout(&server.run("status").success()).starts_with("version        fake\nuptime         0 h 00 min"));
    assert_eq!(server.json("status")["version"], "fake");
}

#[test]
fn a_user_without_permission_gets_a_remedy() {
    let server = Server::start(UNKNOWN_PEER);
    let error = stderr(&server.run("route add /a 300").code(1));
    assert!(error.contains("not authorised") && error.contains("help: ") && error.contains("--key"), "{error}");
    assert!(server.forwarder.lock().unwrap().fib.is_empty());
    server.run("route list").success();
}

#[test]
fn an_invalid_face_origin_key_or_forwarder_is_reported() {
    let server = Server::start(OWNER);
    for (line, code, says) in [
        ("route add /a nonsense", 2, "neither a face's number nor a URI"),
        ("route add /a 0", 2, "not a face's number"),
        ("route add a 300", 2, "a name starts with '/'"),
        ("route add /a 300 --origin nobody", 2, "there are app, autoreg"),
        ("face destroy internal://", 1, "there is no face to internal://"),
        ("face show fd://999", 1, "there is no face to fd://999"),
        ("route add /a 999", 1, "there is no face 999"),
        ("face create ether://[02:00:00:00:00:01]", 2, "not a face URI"),
        ("face create udp6://192.0.2.1", 1, "no address of this family"),
        ("status --key no-such-file.pem", 2, "no-such-file.pem"),
        ("status --transport unix:///no/such/socket", 1, "no forwarder listens at unix:///no/such/socket"),
    ] {
        let error = stderr(&server.run(line).code(code));
        assert!(error.contains(says), "{line}: {error}");
    }
}

/// ndnd's forwarder.
struct Ndnd {
    _process: Running,
    dir: TempDir,
}

impl Ndnd {
    /// Starts the program that the variable NDND names, with a Unix socket and UDP on a free port.
    fn start() -> Ndnd {
        let program = std::env::var("NDND").expect("NDND names the program ndnd");
        let dir = tempfile::tempdir().unwrap();
        // Below the kernel's own range, so that no outgoing socket takes it before ndnd does.
        let from = 10_000 + (std::process::id() % 2_000) as u16 * 10;
        let port = (from..).find(|&port| std::net::UdpSocket::bind(("127.0.0.1", port)).is_ok()).unwrap();
        let socket = dir.path().join("sock");
        let config = format!(
            "faces:\n  udp: {{ enabled_unicast: true, enabled_multicast: false, port_unicast: {port} }}\n  tcp: {{ enabled: false }}\n  \
             websocket: {{ enabled: false }}\n  unix: {{ enabled: true, socket_path: {} }}\nfw: {{ threads: 1 }}\n",
            socket.display()
        );
        std::fs::write(dir.path().join("fw.yml"), config).unwrap();
        let mut command = std::process::Command::new(program);
        let process = Running::start(command.args(["fw", "run", "fw.yml"]).current_dir(dir.path()));
        wait_for("ndnd to listen", || UnixStream::connect(&socket).is_ok());
        Ndnd { _process: process, dir }
    }

    fn json(&self, line: &str) -> Value {
        let uri = format!("unix://{}", self.dir.path().join("sock").display());
        let mut command = ndnweir(self.dir.path());
        let done = command.args(line.split(' ')).arg("--json").env("NDN_CLIENT_TRANSPORT", uri).assert().success();
        serde_json::from_str(&stdout(&done)).expect("one JSON document")
    }
}

/// Its neighbour has the producer, and no planned routes.
#[cfg(feature = "gnmi")]
fn plan(ndnd: &Ndnd) {
    let net = "run = { duration = \"1s\" }\nlink-defaults = { rate = \"1Mbps\", delay = \"1ms\" }\n\
               node = [{ names = [\"P\", \"B\"] }]\nlink = [{ ends = [\"B\", \"P\"], cost = 7 }]\n\
               producer = [{ name = \"P\", node = \"P\", prefix = \"/p\" }]\n\
               consumer = [{ name = \"C\", node = \"B\", prefix = \"/p/1\" }]\n";
    // Both are the one forwarder, which has no routes as the producer's node.
    let (socket, other) = (ndnd.dir.path().join("sock"), ndnd.dir.path().join("other"));
    std::os::unix::fs::symlink(&socket, &other).unwrap();
    let router = |name: &str, socket: &std::path::Path| {
        format!("[[router]]\nname = \"{name}\"\nmanagement = \"unix://{}\"\n", socket.display())
    };
    let producer = router("P", &other) + "uris = [\"udp4://127.0.0.1:27001\"]\n";
    let control = producer + &router("B", &socket);
    std::fs::write(ndnd.dir.path().join("net.toml"), net).unwrap();
    std::fs::write(ndnd.dir.path().join("control.toml"), control).unwrap();
    let install = || ndnweir(ndnd.dir.path()).args("route plan net.toml --install control.toml".split(' ')).assert();
    install().success();
    let routes = ndnd.json("route list");
    let route = routes.as_array().unwrap().iter().find(|route| route["prefix"] == "/p").unwrap();
    assert_eq!((&route["remote_uri"], &route["cost"]), (&"udp4://127.0.0.1:27001".into(), &7.into()));
    assert_eq!(route["origin"], "plan");
}

#[test]
#[ignore = "needs ndnd v1.5.3: NDND=/path/to/ndnd cargo test -p ndnweir --test manage -- --ignored"]
fn the_same_commands_manage_the_forwarder_of_ndnd() {
    let ndnd = Ndnd::start();
    assert!(ndnd.json("status")["fib_entries"].as_u64().unwrap() > 0);
    let face = ndnd.json("face create udp4://127.0.0.1:27000 --persistency permanent")["face"].clone();
    assert_eq!(ndnd.json("face create udp4://127.0.0.1:27000")["created"], false);
    assert_eq!(ndnd.json("route add /a udp4://127.0.0.1:27000 --cost 5 --expires 60")["face"], face);
    let routes = ndnd.json("route list");
    let route = routes.as_array().unwrap().iter().find(|route| route["prefix"] == "/a").unwrap();
    assert_eq!((&route["face"], &route["cost"], &route["origin"]), (&face, &5.into(), &"static".into()));
    ndnd.json("route remove /a udp4://127.0.0.1:27000");
    #[cfg(feature = "gnmi")]
    plan(&ndnd);
    assert!(!ndnd.json("route list").as_array().unwrap().iter().any(|route| route["prefix"] == "/a"));
    assert_eq!(ndnd.json("strategy set /a multicast")["strategy"], "/localhost/nfd/strategy/multicast/v=1");
    assert_eq!(ndnd.json("strategy list").as_array().unwrap().len(), 2);
    ndnd.json("strategy unset /a");
    assert_eq!(ndnd.json("strategy list").as_array().unwrap().len(), 1);
    assert_eq!(ndnd.json("cs info")["capacity"], 1024);
    ndnd.json("face destroy udp4://127.0.0.1:27000");
    assert!(!ndnd.json("face list").as_array().unwrap().iter().any(|shown| shown["face"] == face));
}

#[cfg(feature = "view")]
#[test]
fn a_watched_status_shows_faces_in_the_terminal_until_a_key_ends_it() {
    let server = Server::start(OWNER);
    let program = assert_cmd::cargo::cargo_bin!("ndnweir").display().to_string();
    let line = format!("stty rows 20 cols 90; '{program}' status --watch 2>/dev/null; echo ended: $?");
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/bash");
    command.env("NDN_CLIENT_TRANSPORT", server.uri());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut script = command.spawn().expect("script(1) of util-linux");
    let (mut keys, mut screen) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let (mut text, mut buffer, mut pressed) = (String::new(), [0; 4096], false);
    while let Ok(read @ 1..) = screen.read(&mut buffer) {
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        // A rate needs a second look.
        if !pressed && text.contains("Mbit/s") && text.contains("faces") {
            keys.write_all(b"q").unwrap();
            pressed = true;
        }
    }
    script.wait().unwrap();
    assert!(text.contains("\x1b[?1049l") && text.contains("ended: 0"), "{text}");
    common::rejects(tempfile::tempdir().unwrap().path(), &["status", "--watch"], &["--watch draws on a terminal"]);
}
