//! Checkpoints: runs of an experiment that are under way or have ended, kept in files, so that an experiment that was
//! interrupted goes on where it was and ends with the same results.
//!
//! A file for each run: a line that says what it is, the version of its format, what it belongs to (program, scenario,
//! scheme, seed), the state of the run or its metrics, and a SHA-256 of all that. It is written beside, synchronised and
//! renamed, so that there is always a whole one. The hash finds damage; it is no signature, so a file that someone made
//! up is believed.

use crate::hashes::{hash, scenario_hash, scheme_hash};
use crate::results::{Error, Run, WRITING, io_error, sibling};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Time;
use ndnweir_scenario::Scenario;
use ndnweir_sim::Keeper;
use ndnweir_state::{Reader, Value, Writer};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The first line of every file.
const MAGIC: &[u8] = b"ndnweir checkpoint\n";
/// The version of what follows.
const FORMAT: u64 = 1;
/// Bytes of the hash at the end.
const HASH: usize = 32;
/// The end of the names of files.
const ENDING: &str = ".checkpoint";

const REDO: &str = "delete it: its run then begins anew";

/// Where and how often the runs of an experiment are kept.
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    /// Begins the names of files.
    prefix: String,
    every: Duration,
    /// See [`crate::jobs::engine`].
    engine: String,
    /// Whether runs go on from what is there.
    resume: bool,
    problems: Mutex<Vec<String>>,
}

/// What a file belongs to.
#[derive(Clone, Debug, PartialEq, ndnweir_state::Value)]
struct Owner {
    engine: String,
    scenario: String,
    scheme: String,
    seed: u64,
}

/// What is kept of a run.
#[derive(Debug)]
pub(crate) enum Kept {
    /// It is under way, with this state.
    State(Vec<u8>),
    /// It has ended.
    Ended(Box<Run>),
}

impl Checkpoints {
    /// Runs are kept in `folder` after each such time of work on them; with `resume` they go on from what is there.
    /// `engine` names the program (see [`crate::jobs::engine`]).
    pub fn new(folder: PathBuf, every: Duration, engine: String, resume: bool) -> Checkpoints {
        Checkpoints { folder, prefix: String::new(), every, engine, resume, problems: Mutex::default() }
    }

    /// Those of one case of many, in the same folder.
    #[must_use]
    pub fn of_case(&self, number: usize) -> Checkpoints {
        let Checkpoints { folder, every, engine, resume, .. } = self;
        let part = Checkpoints::new(folder.clone(), *every, engine.clone(), *resume);
        Checkpoints { prefix: format!("case-{number}-"), ..part }
    }

    /// The folder beside a result folder.
    pub fn beside(results: &Path) -> PathBuf {
        let name = results.file_name().unwrap_or(OsStr::new("results"));
        let mut name = name.to_os_string();
        name.push(".checkpoints");
        results.with_file_name(name)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files that are there; a file that is being written counts.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let reading = || io_error(&self.folder, "make the folder readable");
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(reading())?,
        };
        let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_, _>>().map_err(reading())?;
        let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(ENDING));
        Ok(paths.into_iter().filter(is_ours).collect())
    }

    /// Whether something is kept.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn exist(&self) -> Result<bool, Error> {
        Ok(!self.files()?.is_empty())
    }

    /// Removes all that is kept.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn clear(&self) -> Result<(), Error> {
        for path in self.files()? {
            fs::remove_file(&path).map_err(io_error(&path, "delete it"))?;
        }
        match fs::remove_dir(&self.folder) {
            // Someone else's files are in it.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(io_error(&self.folder, "delete it")),
        }
    }

    /// What went wrong with keeping runs, which went on nevertheless.
    pub fn problems(&self) -> Vec<String> {
        self.problems.lock().map(|problems| problems.clone()).unwrap_or_default()
    }

    fn problem(&self, problem: String) {
        if let Ok(mut problems) = self.problems.lock()
            && !problems.contains(&problem)
        {
            problems.push(problem);
        }
    }

    /// Takes over the problems of one case.
    pub fn take_problems(&self, of_case: &Checkpoints) {
        of_case.problems().into_iter().for_each(|problem| self.problem(problem));
    }

    /// A hash of what all runs of an experiment share. `events` are the keys of scheme events that they keep.
    pub(crate) fn shared(scenario: &Scenario, events: &[String]) -> String {
        hash(format!("{} {events:?}", scenario_hash(scenario)).as_bytes())
    }

    /// The place of a run of an experiment with this [`Checkpoints::shared`] hash.
    pub(crate) fn place(&self, shared: &str, scheme: &Scheme, seed: u64) -> Place<'_> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = scheme.name.chars().map(plain).collect();
        // Two names must not become one.
        let name = if name == scheme.name { name } else { format!("{name}-{}", &hash(scheme.name.as_bytes())[..8]) };
        let owner =
            Owner { engine: self.engine.clone(), scenario: shared.to_owned(), scheme: scheme_hash(scheme), seed };
        let path = self.folder.join(format!("{}{name}-{seed}{ENDING}", self.prefix));
        Place { all: self, path, owner, next: Instant::now() + self.every }
    }
}

/// Where a run is kept.
pub(crate) struct Place<'a> {
    all: &'a Checkpoints,
    path: PathBuf,
    owner: Owner,
    /// When it is kept next.
    next: Instant,
}

impl Place<'_> {
    /// What is kept of the run, if it is to go on from that.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or belongs to another run.
    pub(crate) fn read(&self) -> Result<Option<Kept>, Error> {
        if !self.all.resume {
            return Ok(None);
        }
        let bytes = match ndnweir_files::read(&self.path, ndnweir_files::RESULTS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(io_error(&self.path, "make it readable, or delete it"))?,
        };
        let wrong =
            |what: &str, remedy| Error::Damaged { path: self.path.display().to_string(), what: what.into(), remedy };
        let Some(rest) = bytes.strip_prefix(MAGIC).filter(|rest| rest.len() >= HASH) else {
            return Err(wrong("it is no checkpoint, or only the beginning of one", REDO));
        };
        let (_, written) = bytes.split_at(bytes.len() - HASH);
        let content = &rest[..rest.len() - HASH];
        if Sha256::digest(&bytes[..bytes.len() - HASH])[..] != *written {
            return Err(wrong("its content is not what was written", REDO));
        }
        self.parse(content, wrong)
    }

    fn parse(&self, content: &[u8], wrong: impl Fn(&str, &'static str) -> Error) -> Result<Option<Kept>, Error> {
        let mut from = Reader::new(content);
        let damaged = |error: ndnweir_state::Damaged| wrong(&error.to_string(), REDO);
        if from.number().map_err(damaged)? != FORMAT {
            const OTHER: &str = "use the program that wrote it, or delete it: its run then begins anew";
            return Err(wrong("it has another format than this program's", OTHER));
        }
        let owner = Owner::read(&mut from).map_err(damaged)?;
        let other = |what: &str| {
            const OTHER: &str = "resume with what it was started with, or delete it: its run then begins anew";
            wrong(&format!("it belongs to a run of another {what}"), OTHER)
        };
        match () {
            () if owner.engine != self.owner.engine => {
                let version = owner.engine.split(' ').next().unwrap_or_default();
                return Err(other(&format!("program (version {version}; another build of one version is another)")));
            }
            () if owner.scenario != self.owner.scenario => return Err(other("scenario, or with other changes to it")),
            () if owner.scheme != self.owner.scheme => return Err(other("scheme, or with other parameters of it")),
            () if owner.seed != self.owner.seed => return Err(other("seed")),
            () => {}
        }
        let ended = bool::read(&mut from).map_err(damaged)?;
        if ended {
            let run = Run::read(&mut from).and_then(|run| from.end().map(|()| run)).map_err(damaged)?;
            return Ok(Some(Kept::Ended(Box::new(run))));
        }
        Ok(Some(Kept::State(from.rest().to_vec())))
    }

    /// The run that went on from here failed.
    pub(crate) fn failed(&self, what: &str) -> Error {
        Error::Damaged { path: self.path.display().to_string(), what: what.into(), remedy: REDO }
    }

    /// Keeps that the run has ended.
    pub(crate) fn end(&self, run: &Run) {
        let mut to = Writer::default();
        run.write(&mut to);
        self.write(true, &to.into_bytes());
    }

    /// Writes a file, or notes why not.
    fn write(&self, ended: bool, content: &[u8]) {
        let mut head = Writer::default();
        head.raw(MAGIC);
        head.number(FORMAT);
        self.owner.write(&mut head);
        ended.write(&mut head);
        let head = head.into_bytes();
        // What would be refused when it is read does not replace what would not.
        if (head.len() + content.len() + HASH) as u64 > ndnweir_files::RESULTS {
            self.all.problem(format!("{}: the state is too large", self.path.display()));
        } else if let Err(error) = self.replace(&head, content) {
            self.all.problem(error.to_string());
        }
    }

    fn replace(&self, head: &[u8], content: &[u8]) -> Result<(), Error> {
        let folder = &self.all.folder;
        fs::create_dir_all(folder).map_err(io_error(folder, WRITING))?;
        let new = sibling(&self.path, "new");
        let write = || {
            // Of a command that was killed, or a link that someone else has put there, which is not followed.
            match fs::remove_file(&new) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = File::create_new(&new)?;
            let mut hash = Sha256::new();
            for part in [head, content] {
                hash.update(part);
                file.write_all(part)?;
            }
            file.write_all(&hash.finalize())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)?;
            // The new name, too, is to outlive the machine's power.
            if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
        };
        let written = write();
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written.map_err(io_error(&self.path, WRITING))
    }
}

impl Keeper for Place<'_> {
    fn wants(&mut self, stopping: bool) -> bool {
        stopping || Instant::now() >= self.next
    }

    fn keep(&mut self, _: Time, state: Vec<u8>) {
        self.write(false, &state);
        // Counted from the end of the writing, so that runs go on however long that takes.
        self.next = Instant::now() + self.all.every;
    }
}
