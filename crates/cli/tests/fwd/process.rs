//! Forwarders and their peers as processes.

pub use crate::common::process::{Ended, PATIENCE, Running, wait_for};

use crate::common::process::command;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A running forwarder in a folder of its own.
pub struct Fwd {
    running: Running,
    dir: TempDir,
}

impl Fwd {
    /// With a Unix socket and these flags.
    pub fn start(flags: &str) -> Fwd {
        let dir = tempfile::tempdir().unwrap();
        Fwd { running: spawn(&dir, flags), dir }.ready()
    }

    /// As [`Fwd::start`], with no more than so many descriptors.
    pub fn with_descriptors(most: u32, flags: &str) -> Fwd {
        let dir = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {most}; exec \"$0\" fwd --unix s {flags}")]);
        shell.arg(assert_cmd::cargo::cargo_bin!("ndnweir")).current_dir(dir.path());
        Fwd { running: Running::start(&mut shell), dir }.ready()
    }

    /// With a Unix socket and this configuration.
    pub fn with_config(text: &str) -> Fwd {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("fwd.toml"), text).unwrap();
        Fwd { running: spawn(&dir, "--config fwd.toml"), dir }.ready()
    }

    fn ready(self) -> Fwd {
        self.wait_for_line("listening on unix");
        self
    }

    pub fn write_config(&self, text: &str) {
        std::fs::write(self.dir.path().join("fwd.toml"), text).unwrap();
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// The most memory that it had so far, in bytes.
    pub fn memory(&self) -> u64 {
        self.running.memory()
    }

    /// Ended, and started again in its folder with this configuration.
    pub fn again_with_config(mut self, text: &str) -> Fwd {
        self.write_config(text);
        self.kill();
        self.restart("--config fwd.toml");
        self
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// What a tool of ours, given these words, says about this forwarder.
    pub fn tool(&self, words: &[&str]) -> String {
        let ended = Running::start(self.command("").args(words)).end();
        // The note about unverified answers is the same each time.
        let said: String = ended.stderr.lines().filter(|line| !line.starts_with("unverified: ")).collect();
        String::from_utf8_lossy(&ended.stdout).into_owned() + &said
    }

    /// A tool of ours, to be started in this forwarder's folder.
    pub fn command(&self, line: &str) -> Command {
        command(self.folder(), "s", line)
    }

    /// A tool of ours that runs for a while.
    pub fn start_tool(&self, line: &str) -> Running {
        Running::start(&mut self.command(line))
    }

    pub fn wait_for_line(&self, text: &str) {
        wait_for(text, || self.running.stderr_text().contains(text));
    }

    /// The address after some words in its log.
    fn address(&self, words: &str) -> SocketAddr {
        self.wait_for_line(words);
        let log = self.running.stderr_text();
        let rest = &log[log.find(words).unwrap() + words.len()..];
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub fn udp(&self) -> SocketAddr {
        self.address("listening on udp address=")
    }

    pub fn tcp(&self) -> SocketAddr {
        self.address("listening on tcp address=")
    }

    pub fn gnmi(&self) -> SocketAddr {
        self.address("serving gNMI address=")
    }

    /// The page of its metrics.
    pub fn metrics(&self) -> String {
        self.try_metrics().unwrap()
    }

    /// As [`Fwd::metrics`], when connections may not be accepted.
    pub fn try_metrics(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.address("serving metrics address="))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    /// What it logged so far.
    pub fn stderr_text(&self) -> String {
        self.running.stderr_text()
    }

    pub fn signal(&self, signal: &str) {
        self.running.signal(signal);
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.running.kill();
    }

    pub fn restart(&mut self, flags: &str) {
        self.running = spawn(&self.dir, flags);
        self.wait_for_line("listening on unix");
    }

    /// Waits for its end: the exit status. Its folder stays.
    pub fn end(self) -> (Option<i32>, TempDir) {
        (self.running.end().code, self.dir)
    }
}

fn spawn(dir: &TempDir, flags: &str) -> Running {
    Running::start(&mut command(dir.path(), "s", &format!("fwd --unix s {flags}")))
}

fn ndnd(path: &str, fwd: &Fwd) -> Command {
    let mut command = Command::new(path);
    command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", fwd.socket().display()));
    command
}

/// `ndnd put`, with its prefix registered.
pub fn ndnd_put(path: &str, fwd: &Fwd, name: &str, bytes: &[u8]) -> Running {
    let mut running = Running::start(ndnd(path, fwd).args(["put", "--expose", name]).stdin(Stdio::piped()));
    running.feed(bytes);
    wait_for("ndnd to register its prefix", || running.stderr_text().contains("Registered route"));
    running
}

/// What `ndnd cat` gives.
pub fn ndnd_cat(path: &str, fwd: &Fwd, name: &str) -> Vec<u8> {
    let ended = Running::start(ndnd(path, fwd).args(["cat", name])).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}
