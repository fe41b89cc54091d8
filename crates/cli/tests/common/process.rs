//! Programs that run during a test and end with it, even if the test fails.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest wait for anything here; far beyond what a loaded machine needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The built command, to be started in `dir`; it finds a forwarder at the socket there.
pub fn command(dir: &Path, socket: &str, line: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ndnweir"));
    command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", dir.join(socket).display()));
    command.current_dir(dir).args(line.split_whitespace());
    command
}

/// What a program left.
pub struct Ended {
    /// The exit status; none if a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// The most memory that it had, in bytes, as far as it was seen.
    pub memory: u64,
}

/// What a program writes, read as it comes so that it never waits for us.
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Pipe {
    fn new(mut pipe: impl Read + Send + 'static) -> Pipe {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(len @ 1..) = pipe.read(&mut buffer) {
                read.lock().unwrap().extend_from_slice(&buffer[..len]);
            }
        });
        Pipe { bytes, thread }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn all(self) -> Vec<u8> {
        self.thread.join().unwrap();
        std::mem::take(&mut self.bytes.lock().unwrap())
    }
}

/// A program that runs; killed when dropped.
pub struct Running {
    child: Child,
    stdout: Option<Pipe>,
    stderr: Option<Pipe>,
    memory: AtomicU64,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        Running::start_with_stdout(command, Stdio::piped())
    }

    /// Its standard output goes elsewhere.
    pub fn start_with_stdout(command: &mut Command, stdout: Stdio) -> Running {
        let mut child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().map(Pipe::new), child.stderr.take().map(Pipe::new));
        Running { child, stdout, stderr, memory: AtomicU64::default() }
    }

    /// Its reader closes the stream immediately.
    pub fn start_unread(command: &mut Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let stderr = child.stderr.take().map(Pipe::new);
        Running { child, stdout: None, stderr, memory: AtomicU64::default() }
    }

    /// Writes to its standard input, which was made a pipe, and closes it.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.child.stdin.take().unwrap().write_all(bytes).unwrap();
    }

    /// What it wrote to standard error so far.
    pub fn stderr_text(&self) -> String {
        self.stderr.as_ref().map_or(String::new(), Pipe::so_far)
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal, such as INT.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// The most memory that it had so far, in bytes; what was seen last when it has ended.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        let now = now.unwrap_or(0) * 1024;
        self.memory.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// The variables that it was started with.
    pub fn environment(&self) -> String {
        let bytes = std::fs::read(format!("/proc/{}/environ", self.child.id())).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        wait_for("the program to end", || {
            self.memory();
            self.child.try_wait().unwrap().is_some()
        });
        let all = |pipe: Option<Pipe>| pipe.map_or(Vec::new(), Pipe::all);
        let (stdout, stderr) = (all(self.stdout.take()), all(self.stderr.take()));
        let code = self.child.wait().unwrap().code();
        Ended { code, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned(), memory: self.memory() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
