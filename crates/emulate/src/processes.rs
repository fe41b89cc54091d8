//! The processes of one emulation: started, waited for, ended.

use super::Error;
use crate::roles::{Ready, Role, Task};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{self, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Child {
    /// A node's forwarder.
    Node(usize),
    /// A producer.
    Producer(usize),
    /// A consumer.
    Consumer(usize),
    /// A controller.
    Controller(usize),
}

struct Process {
    process: process::Child,
    /// Its first line of output.
    line: Receiver<String>,
    ready: bool,
}

/// All of them; those that still run when this is dropped are killed.
pub(super) struct Fleet {
    program: (PathBuf, Vec<String>),
    origin: u64,
    /// The name of a process in errors.
    name: Box<dyn Fn(Child) -> String>,
    running: BTreeMap<Child, Process>,
}

/// How long a process may take to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(20);

impl Fleet {
    /// None yet.
    pub(super) fn new(program: &(PathBuf, Vec<String>), origin: u64, name: Box<dyn Fn(Child) -> String>) -> Fleet {
        Fleet { program: program.clone(), origin, name, running: BTreeMap::new() }
    }

    /// The error of a process that failed.
    pub(super) fn failure(&self, who: Child, what: &str) -> Error {
        Error::Process { who: (self.name)(who), what: what.to_owned() }
    }

    /// Starts a process; [`Fleet::wait`] waits until it is ready.
    pub(super) fn start(&mut self, who: Child, role: Role) -> Result<(), Error> {
        let (program, arguments) = &self.program;
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C at the terminal is for the parent process, which then ends them all.
            .process_group(0)
            .spawn()?;
        let task = serde_json::to_string(&Task { origin: self.origin, role }).map_err(std::io::Error::from)?;
        if let Some(stdin) = &mut process.stdin {
            // A process that has already ended reports why when it is waited for.
            let _ = writeln!(stdin, "{task}").and_then(|()| stdin.flush());
        }
        let (sender, line) = channel();
        if let Some(stdout) = process.stdout.take() {
            std::thread::spawn(move || first_line(stdout, |line| drop(sender.send(line))));
        }
        self.running.insert(who, Process { process, line, ready: false });
        Ok(())
    }

    /// Waits until all that were started are ready; returns what forwarders reported, by node.
    pub(super) fn wait(&mut self) -> Result<Vec<(usize, Ready)>, Error> {
        let deadline = Instant::now() + PATIENCE;
        let mut output = Vec::new();
        let mut failed = None;
        for (who, process) in self.running.iter_mut().filter(|(_, process)| !process.ready) {
            let left = deadline.saturating_duration_since(Instant::now());
            let what = match process.line.recv_timeout(left) {
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(ready) => {
                        process.ready = true;
                        if let Child::Node(node) = *who {
                            output.push((node, ready));
                        }
                        continue;
                    }
                    Err(error) => error.to_string(),
                },
                Err(RecvTimeoutError::Timeout) => "did not come up".into(),
                Err(RecvTimeoutError::Disconnected) => {
                    let words = last_words(&mut process.process);
                    ended_by(process.process.wait()?, &words)
                }
            };
            failed = Some((*who, what));
            break;
        }
        failed.map_or(Ok(output), |(who, what)| Err(self.failure(who, &what)))
    }

    /// Whether all are still running.
    pub(super) fn check_running(&mut self) -> Result<(), Error> {
        let mut failed = None;
        for (who, process) in &mut self.running {
            if let Some(status) = process.process.try_wait()?
                && !status.success()
            {
                failed = Some((*who, ended_by(status, &last_words(&mut process.process))));
                break;
            }
        }
        failed.map_or(Ok(()), |(who, what)| Err(self.failure(who, &what)))
    }

    /// Kills a process, as a crash does.
    pub(super) fn kill(&mut self, who: Child) {
        if let Some(mut process) = self.running.remove(&who) {
            // It may have already ended.
            let _ = process.process.kill();
            let _ = process.process.wait();
        }
    }

    /// Stops those of a kind and waits until they have ended.
    pub(super) fn finish(&mut self, kind: impl Fn(Child) -> bool) -> Result<(), Error> {
        let leaving: Vec<Child> = self.running.keys().copied().filter(|who| kind(*who)).collect();
        for who in &leaving {
            if let Some(process) = self.running.get_mut(who) {
                drop(process.process.stdin.take());
            }
        }
        let deadline = Instant::now() + END_TIMEOUT;
        for who in leaving.into_iter().rev() {
            let Some(mut process) = self.running.remove(&who) else { continue };
            loop {
                match process.process.try_wait()? {
                    Some(status) if status.success() => break,
                    Some(status) => {
                        return Err(self.failure(who, &ended_by(status, &last_words(&mut process.process))));
                    }
                    None if Instant::now() > deadline => {
                        process.process.kill()?;
                        process.process.wait()?;
                        return Err(self.failure(who, "did not end when it was stopped"));
                    }
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        }
        Ok(())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let left: Vec<Child> = self.running.keys().copied().collect();
        for who in left {
            self.kill(who);
        }
    }
}

fn first_line(stdout: ChildStdout, tell: impl FnOnce(String)) {
    let mut out = BufReader::new(stdout);
    let mut line = String::new();
    if out.read_line(&mut line).is_ok_and(|read| read > 0) {
        tell(line);
    }
}

/// How a process that failed ended: its message, or the signal that ended it.
fn ended_by(status: ExitStatus, words: &str) -> String {
    match (status.signal(), words.is_empty()) {
        (Some(signal), true) => format!("was ended by signal {signal}"),
        (None, true) => "ended without a word".into(),
        (_, false) => words.to_owned(),
    }
}

/// The last message of a process that has ended, or is about to.
fn last_words(process: &mut process::Child) -> String {
    let mut words = String::new();
    if let Some(mut stderr) = process.stderr.take() {
        let _ = process.wait();
        let _ = stderr.by_ref().take(1 << 16).read_to_string(&mut words);
    }
    match words.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => line.trim().to_owned(),
        None => String::new(),
    }
}
