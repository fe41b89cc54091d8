//! Forwarders and their peers as processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest wait for anything here; far beyond what a loaded machine needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A running forwarder in a folder of its own; killed when dropped.
pub struct Fwd {
    child: Child,
    dir: TempDir,
    log: Arc<Mutex<String>>,
}

impl Fwd {
    /// With a Unix socket and these flags.
    pub fn start(flags: &str) -> Fwd {
        let dir = tempfile::tempdir().unwrap();
        let (child, log) = spawn(&dir, flags);
        Fwd { child, dir, log }.ready()
    }

    /// With a Unix socket and this configuration.
    pub fn with_config(text: &str) -> Fwd {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("fwd.toml"), text).unwrap();
        let (child, log) = spawn(&dir, "--config fwd.toml");
        Fwd { child, dir, log }.ready()
    }

    fn ready(self) -> Fwd {
        self.wait_for_line("listening on unix");
        self
    }

    pub fn write_config(&self, text: &str) {
        std::fs::write(self.dir.path().join("fwd.toml"), text).unwrap();
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// What a tool of ours, given these words, says about this forwarder.
    pub fn tool(&self, words: &[&str]) -> String {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"));
        command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", self.socket().display()));
        let output = command.args(words).output().unwrap();
        (String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr)).into_owned()
    }

    pub fn wait_for_line(&self, text: &str) {
        wait_for(text, || self.log.lock().unwrap().contains(text));
    }

    /// The address after some words in its log.
    fn address(&self, words: &str) -> SocketAddr {
        self.wait_for_line(words);
        let log = self.log.lock().unwrap();
        let rest = &log[log.find(words).unwrap() + words.len()..];
        rest.lines().next().unwrap().trim().parse().unwrap()
    }

    pub fn udp(&self) -> SocketAddr {
        self.address("listening on udp address=")
    }

    pub fn tcp(&self) -> SocketAddr {
        self.address("listening on tcp address=")
    }

    /// The page of its metrics.
    pub fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(self.address("serving metrics address=")).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn restart(&mut self, flags: &str) {
        let (child, log) = spawn(&self.dir, flags);
        (self.child, self.log) = (child, log);
        self.wait_for_line("listening on unix");
    }

    /// Waits for its end: the exit status.
    pub fn end(&mut self) -> Option<i32> {
        let mut status = None;
        wait_for("the forwarder to end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

impl Drop for Fwd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(dir: &TempDir, flags: &str) -> (Child, Arc<Mutex<String>>) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"))
        .current_dir(dir.path())
        .args(["fwd", "--unix", "s"])
        .args(flags.split_whitespace())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = Arc::new(Mutex::new(String::new()));
    let written = Arc::clone(&log);
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            let mut log = written.lock().unwrap();
            log.push_str(&line);
            log.push('\n');
        }
    });
    (child, log)
}

/// Fails unless the command refuses these words with status 2 and an error that says what they say.
pub fn refuses(line: &str, words: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"))
        .current_dir(dir.path())
        .args(line.split_whitespace())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {text}");
    assert!(text.starts_with("error: "), "{line}: {text}");
    for word in words {
        assert!(text.contains(word), "{line} does not say {word:?}: {text}");
    }
}

/// A tool of another implementation; killed when dropped.
pub struct Peer(Child);

fn ndnd(path: &str, fwd: &Fwd) -> Command {
    let mut command = Command::new(path);
    command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", fwd.socket().display()));
    command
}

impl Peer {
    /// `ndnd put`, with its prefix registered.
    pub fn put(path: &str, fwd: &Fwd, name: &str, bytes: &[u8]) -> Peer {
        let mut command = ndnd(path, fwd);
        command.args(["put", "--expose", name]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("Registered route")), "ndnd registers its prefix");
        std::thread::spawn(move || lines.for_each(drop));
        Peer(child)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `ndnd cat` gives.
pub fn cat(path: &str, fwd: &Fwd, name: &str) -> Vec<u8> {
    let output = ndnd(path, fwd).args(["cat", name]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
