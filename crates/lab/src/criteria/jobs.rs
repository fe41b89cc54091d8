//! The jobs of a judgement, and a folder that stores the result of each.
//!
//! A job runs a scheme in a criterion: all cells with all seeds. Its key is a hash of everything that its result
//! depends on, so that a result stored under this key can replace the job, on any machine.

use super::cell_data::CellData;
use super::chosen::schemes_in;
use super::model::Criterion;
use super::verdict::CriterionResult;
use crate::experiment::Error;
use crate::results::{self, replace_files};
use ndnweir_core::scheme::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A job: a scheme in a criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Hash of what its result depends on, in hexadecimal digits.
    pub key: String,
    /// The criterion's name.
    pub criterion: String,
    /// The scheme's name.
    pub scheme: String,
    /// Number of runs: cells times seeds.
    pub runs: usize,
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// The verdict.
    pub result: CriterionResult,
    /// The data that are drawn of each cell.
    pub shown: Vec<CellData>,
    /// Interests, Data and NACKs that crossed a link.
    pub packet_hops: u64,
}

/// Identifies the program that runs the jobs: its version and a hash of its executable file, since two builds of one
/// version may give different results. Takes some milliseconds.
///
/// # Errors
/// If the program may not read its own executable file.
pub fn engine(version: &str) -> Result<String, results::Error> {
    let reject = |path: &Path, source| results::Error::Io {
        path: path.display().to_string(),
        source,
        remedy: "let the program read its own file, or leave out what needs keys of jobs",
    };
    let path = std::env::current_exe().map_err(|e| reject(Path::new("the program's own file"), e))?;
    let bytes = fs::read(&path).map_err(|e| reject(&path, e))?;
    Ok(format!("{version} {}", hex(&Sha256::digest(&bytes))))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The key of a job: a hash of the engine, the criterion with its scenarios as they were read, the scheme as each
/// scenario has it, and the seeds. `schemes` are by cell.
pub(super) fn key(criterion: &Criterion, schemes: &[Scheme], seeds: &[u64], engine: &str) -> String {
    let scenario = |(e, c): (usize, usize)| {
        let mut read = json!(criterion.experiments[e].cases[c].scenario);
        // The place of the file does not affect the result.
        read.as_object_mut().map(|keys| keys.remove("source"));
        read
    };
    let scenarios: Vec<Value> = criterion.cells().map(scenario).collect();
    // The thresholds are included because stored results contain verdicts.
    let thresholds = format!("{:?} {:?}", criterion.measures, criterion.exceptions);
    let names: Vec<String> = criterion.cells().map(|(e, c)| criterion.cell_name(e, c)).collect();
    let all = json!([engine, criterion.name, thresholds, names, scenarios, schemes, seeds]);
    hex(&Sha256::digest(all.to_string().as_bytes()))
}

/// All jobs, by criterion, then scheme.
///
/// # Errors
/// [`Error::Choice`] for unknown scheme names.
pub fn jobs(criteria: &[Criterion], names: &[String], seeds: &[u64], engine: &str) -> Result<Vec<Job>, Error> {
    let mut all = Vec::new();
    for criterion in criteria {
        for name in names {
            let schemes = schemes_in(criterion, name)?;
            all.push(Job {
                key: key(criterion, &schemes, seeds, engine),
                criterion: criterion.name.clone(),
                scheme: name.clone(),
                runs: schemes.len() * seeds.len(),
            });
        }
    }
    Ok(all)
}

/// A folder that stores the results of jobs, each in its own file.
#[derive(Clone, Debug)]
pub struct StoredResults {
    folder: PathBuf,
    engine: String,
}

impl StoredResults {
    /// The stored results of this engine in a folder; the folder is created when the first result is stored.
    pub fn new(folder: &Path, engine: &str) -> StoredResults {
        StoredResults { folder: folder.to_path_buf(), engine: engine.to_owned() }
    }

    pub(super) fn key(&self, criterion: &Criterion, schemes: &[Scheme], seeds: &[u64]) -> String {
        key(criterion, schemes, seeds, &self.engine)
    }

    fn file(key: &str) -> String {
        format!("{key}.json")
    }

    /// The stored result of a job, if there is one.
    ///
    /// # Errors
    /// [`results::Error`] for a file that cannot be read or does not hold a result.
    pub fn get(&self, key: &str) -> Result<Option<JobResult>, results::Error> {
        let path = self.folder.join(StoredResults::file(key));
        let shown = || path.display().to_string();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(results::Error::Io { path: shown(), source, remedy: "make it readable, or delete it" });
            }
        };
        let damaged = |e: serde_json::Error| results::Error::Damaged {
            path: shown(),
            what: e.to_string(),
            remedy: "delete it; the job is done again",
        };
        serde_json::from_slice(&bytes).map(Some).map_err(damaged)
    }

    /// Stores the result of a job.
    ///
    /// # Errors
    /// [`results::Error::Io`].
    pub fn put(&self, key: &str, result: &JobResult) -> Result<(), results::Error> {
        let text = json!(result).to_string();
        replace_files(&self.folder, &[(StoredResults::file(key), text.into_bytes())])
    }
}
