//! The server as its owner, and as an attacker, reaches it.

use ndnweir_view::{Attached, Options, Server};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for anything here; far beyond what a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server over an empty folder, and who has its address.
struct Visitor {
    folder: tempfile::TempDir,
    _server: Server,
    port: u16,
    key: String,
}

impl Visitor {
    fn new(attached: Vec<Attached>) -> Visitor {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { root: folder.path().to_owned(), port: 0, attached };
        let server = Server::start(options).unwrap();
        let url = server.url("/");
        let (address, key) = url.split_once("/?key=").unwrap();
        let port = address.strip_prefix("http://127.0.0.1:").unwrap().parse().unwrap();
        Visitor { folder, key: key.to_owned(), port, _server: server }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The answer to a request with just these headers.
    fn raw(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect();
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        // One that is rejected early may not be read whole.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_default();
        (status, text)
    }

    fn host(&self) -> String {
        format!("host: 127.0.0.1:{}\r\n", self.port)
    }

    fn cookie(&self) -> String {
        format!("cookie: ndnweir-{}={}\r\n", self.port, self.key)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.raw("GET", path, &(self.host() + &self.cookie()), "")
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let headers = format!(
            "{}{}x-ndnweir-key: {}\r\ncontent-type: application/json\r\norigin: http://127.0.0.1:{}\r\n",
            self.host(),
            self.cookie(),
            self.key,
            self.port
        );
        let (status, text) = self.raw("POST", path, &headers, &body.to_string());
        (status, serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap_or_default()).unwrap_or(Value::Null))
    }

    fn json(&self, path: &str) -> Value {
        let (status, text) = self.get(path);
        assert_eq!(status, 200, "{path}: {text}");
        let body = text.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// The events of a feed up to the one that is wanted.
    fn events(&self, path: &str, from: Option<u64>, wanted: impl Fn(&Value) -> bool) -> Vec<(u64, Value)> {
        let mut stream = self.connect();
        let last = from.map_or(String::new(), |last| format!("last-event-id: {last}\r\n"));
        write!(stream, "GET {path} HTTP/1.1\r\n{}{}{last}\r\n", self.host(), self.cookie()).unwrap();
        let (mut text, mut buffer, began) = (String::new(), [0; 65_536], Instant::now());
        loop {
            assert!(began.elapsed() < PATIENCE, "{text}");
            let read = stream.read(&mut buffer).unwrap();
            text.push_str(&String::from_utf8_lossy(&buffer[..read]));
            // Chunks may divide an event: lines between them are joined.
            let plain: String = text.split("\r\n").filter(|line| !line.is_empty() && line.len() > 8).collect();
            let parsed = plain.split("id: ").skip(1).filter_map(|event| {
                let (id, data) = event.split_once("\ndata: ")?;
                Some((id.trim().parse().ok()?, serde_json::from_str(data.trim()).ok()?))
            });
            let mut parsed: Vec<(u64, Value)> = parsed.collect();
            if let Some(end) = parsed.iter().position(|(_, event)| wanted(event)) {
                parsed.truncate(end + 1);
                return parsed;
            }
            assert!(read > 0, "the stream ended: {text}");
        }
    }

    fn wait_for_state(&self, id: u64) -> Value {
        let began = Instant::now();
        loop {
            let state = self.json(&format!("/api/runs/{id}"))["state"].clone();
            if state["state"] != "running" {
                return state;
            }
            assert!(began.elapsed() < PATIENCE, "{state}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn short_run() -> Value {
    json!({ "scenario": "dumbbell", "schemes": ["pcon", "bic"], "duration_s": 3, "link": "R1-R2", "rate_mbps": 5 })
}

#[test]
fn a_run_streams_its_values_and_becomes_an_ordinary_result_folder() {
    let visitor = Visitor::new(Vec::new());
    let (status, started) = visitor.post("/api/runs", &short_run());
    assert_eq!((status, &started["id"]), (201, &json!(1)));
    let events = visitor.events("/api/runs/1/events", None, |event| event["kind"] == "state");
    let state = &events.last().unwrap().1;
    assert_eq!((&state["state"], &state["folder"]), (&json!("complete"), &json!("dumbbell")));
    let folder = visitor.folder.path().join("dumbbell");
    let summary: Value = serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap();
    let command = "ndnweir sim dumbbell --scheme pcon,bic --seeds 1 --seed 1 --set run.duration=3s --set \
                   link.R1-R2.rate=5Mbps";
    assert_eq!(summary["repeat"]["command"], command);
    assert_eq!(visitor.json("/api/runs/1")["command"], command);
    // What was streamed is what the folder has: the goodput of the network, four digits of it.
    let csv = fs::read_to_string(folder.join("series/network.csv")).unwrap();
    let stored = csv.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let stored: Vec<f64> = stored.filter(|c| c[0] == "pcon").map(|c| c[3].parse().unwrap_or(f64::NAN)).collect();
    let mut streamed = Vec::new();
    for (_, event) in events.iter().filter(|(_, event)| event["kind"] == "bins" && event["run"] == 0) {
        assert_eq!(event["first"].as_u64(), Some(streamed.len() as u64));
        streamed.extend(event["all"][0].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()));
    }
    assert_eq!((streamed.len(), stored.len()), (30, 30), "{csv:.300}");
    for (streamed, stored) in streamed.iter().zip(&stored) {
        assert!((streamed - stored).abs() <= 1e-3 * stored.abs(), "{streamed} for {stored}");
    }
    // A page that comes back gets what it misses.
    let after = visitor.events("/api/runs/1/events", Some(events[0].0), |event| event["kind"] == "state");
    assert_eq!(after[0].0, events[1].0);
    // The report is served without the rights of this server, and listed.
    let (status, report) = visitor.get("/results/dumbbell/report.html");
    assert!(status == 200 && report.contains("sandbox allow-scripts") && report.contains("<h1>dumbbell</h1>"));
    let list = visitor.json("/api/results");
    assert_eq!(
        (&list["folders"][0]["path"], &list["folders"][0]["schemes"]),
        (&json!("dumbbell"), &json!(["pcon", "bic"]))
    );
    // The same again takes its place; another one does not.
    visitor.post("/api/runs", &short_run());
    assert_eq!(visitor.wait_for_state(2)["folder"], "dumbbell");
    visitor.post("/api/runs", &json!({ "scenario": "dumbbell", "schemes": ["bic"], "duration_s": 2 }));
    assert_eq!(visitor.wait_for_state(3)["folder"], "dumbbell-2");
}

#[test]
fn runs_are_few_at_a_time_and_can_be_cancelled() {
    let visitor = Visitor::new(Vec::new());
    // Minutes of work.
    let long = json!({ "scenario": "geant", "schemes": ["pcon", "bic", "cubic"], "duration_s": 600 });
    assert_eq!((visitor.post("/api/runs", &long).0, visitor.post("/api/runs", &long).0), (201, 201));
    let (status, answer) = visitor.post("/api/runs", &long);
    assert!(status == 429 && answer["error"].as_str().unwrap().contains("cancel"), "{answer}");
    // Neither waits for the other, not when it begins and not when it is cancelled.
    for id in [1, 2] {
        let began = Instant::now();
        while visitor.json(&format!("/api/runs/{id}"))["progress"] == 0.0 {
            assert!(began.elapsed() < PATIENCE, "run {id} does not begin");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    for id in [1, 2] {
        assert_eq!(visitor.post(&format!("/api/runs/{id}/cancel"), &json!({})).0, 200);
        assert_eq!(visitor.wait_for_state(id)["state"], "cancelled");
    }
    assert_eq!(visitor.post("/api/runs", &short_run()).0, 201);
    assert_eq!(visitor.wait_for_state(3)["state"], "complete");
}

#[test]
fn other_users_other_names_and_other_sites_reach_nothing() {
    let visitor = Visitor::new(Vec::new());
    let (host, cookie, key) = (visitor.host(), visitor.cookie(), &visitor.key);
    let run = short_run().to_string();
    let json = "content-type: application/json\r\n";
    let own = format!("x-ndnweir-key: {key}\r\n");
    for (method, headers, expected) in [
        ("GET", host.clone(), 401),
        ("GET", format!("{host}cookie: ndnweir-{}=0\r\n", visitor.port), 401),
        // DNS rebinding: another name that has become this address.
        ("GET", format!("host: evil.example:{}\r\n{cookie}", visitor.port), 421),
        ("GET", format!("host: 127.0.0.1\r\n{cookie}"), 421),
        ("GET", format!("{host}{cookie}origin: http://evil.example\r\n"), 403),
        ("GET", format!("{host}{cookie}sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\n"), 403),
        // What a form of another site can send.
        ("POST", format!("{host}{cookie}content-type: text/plain\r\n"), 403),
        ("POST", format!("{host}{cookie}{json}"), 403),
        ("POST", format!("{host}{cookie}{json}{own}origin: null\r\n"), 403),
        ("POST", format!("{host}{json}{own}"), 401),
        ("PUT", format!("{host}{cookie}{json}{own}"), 405),
        ("OPTIONS", format!("{host}{cookie}access-control-request-method: POST\r\n"), 405),
    ] {
        let (status, text) = visitor.raw(method, "/api/runs", &headers, &run);
        assert_eq!(status, expected, "{method} {headers}: {text}");
        assert!(!text.contains(key.as_str()) && !text.to_lowercase().contains("access-control-allow"), "{text}");
    }
    assert_eq!(visitor.json("/api/runs"), json!([]), "nothing was started");
    // The address with the key lets in.
    let (status, text) = visitor.raw("GET", &format!("/new?key={key}"), &host, "");
    assert!(status == 303 && text.contains("SameSite=Strict") && text.contains("location: /new\r\n"), "{text}");
    let (status, page) = visitor.get("/new");
    assert!(status == 200 && page.contains("script-src 'self'") && page.contains("frame-ancestors 'none'"), "{page}");
}

#[test]
fn names_that_are_markup_are_text_and_paths_lead_nowhere_else() {
    let visitor = Visitor::new(Vec::new());
    let root = visitor.folder.path();
    let put = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let name = "<img src=x onerror=alert(1)>";
    put(&root.join(name).join("summary.json"), &json!({"scenario": {"name": name}, "runs": []}).to_string());
    put(&root.join(name).join("report.html"), "<script>fetch('/api/runs')</script>");
    put(&root.join("../outside.txt"), "secret");
    let list = visitor.json("/api/results");
    assert_eq!(list["folders"][0]["scenario"], name);
    let (_, head) = visitor.get("/api/results");
    assert!(head.contains("content-type: application/json") && head.contains("x-content-type-options: nosniff"));
    for path in [
        "/results/../outside.txt",
        "/results/%2e%2e/outside.txt",
        "/results/..%2foutside.txt",
        "/results/x/..%2f..%2foutside.txt",
        "/results//etc/passwd",
        "/results/%2fetc%2fpasswd",
        "/assets/../Cargo.toml",
        "/results/x%00/report.html",
        "/api/runs/18446744073709551616",
        "/api/runs/-1/events",
        "/api/attached/99/events",
        "/runs/1/2/3",
    ] {
        let (status, text) = visitor.get(path);
        assert!(status == 404 || status == 400, "{path}: {text}");
        assert!(!text.contains("secret") && !text.contains("root:"), "{path}");
    }
    fs::remove_file(root.join("../outside.txt")).unwrap();
}

#[test]
fn large_bodies_and_malformed_requests_are_rejected() {
    let visitor = Visitor::new(Vec::new());
    let (status, _) = visitor.post("/api/runs", &json!({ "scenario": "x".repeat(1 << 20) }));
    assert!(status == 413 || status == 0, "{status}");
    for body in [json!({}), json!([]), json!({ "scenario": "dumbbell", "set": ["run.duration=1s"] }), json!("x")] {
        let (status, answer) = visitor.post("/api/runs", &body);
        assert!(status == 400 && answer["error"].is_string(), "{body}: {answer}");
    }
    // A body that does not come.
    let mut stream = visitor.connect();
    let key = format!("x-ndnweir-key: {}\r\ncontent-type: application/json\r\n", visitor.key);
    write!(stream, "POST /api/runs HTTP/1.1\r\n{}{}{key}content-length: 9\r\n\r\nx", visitor.host(), visitor.cookie())
        .unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    let mut stream = visitor.connect();
    stream.write_all(&[0xff; 4096]).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(visitor.get("/").0, 200);
}

#[test]
fn connections_that_say_nothing_are_closed_and_streams_are_bounded() {
    let visitor = Visitor::new(vec![Attached::Fetch("/nonexistent/trace.csv".into())]);
    // More than there is room for.
    let silent: Vec<TcpStream> = (0..100).map(|_| visitor.connect()).collect();
    assert_eq!(visitor.get("/").0, 200, "answered as soon as some of them are closed");
    drop(silent);
    let events = visitor.events("/api/attached/0/events", None, |event| event["kind"] == "trouble");
    assert!(events[0].1["message"].as_str().unwrap().contains("trace.csv"));
    let follow = || {
        let mut stream = visitor.connect();
        write!(stream, "GET /api/attached/0/events HTTP/1.1\r\n{}{}\r\n", visitor.host(), visitor.cookie()).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        (String::from_utf8_lossy(&head).into_owned(), stream)
    };
    let mut open = Vec::new();
    let full = loop {
        let (head, stream) = follow();
        if head != "HTTP/1.1 200" {
            break head;
        }
        open.push(stream);
        assert!(open.len() < 60);
    };
    assert_eq!(full, "HTTP/1.1 503");
    assert_eq!(visitor.get("/").0, 200, "pages are served beside streams");
}
