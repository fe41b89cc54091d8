//! Jobs: single runs as units of work that can be stored, reused and divided among machines.
//!
//! A job is one scenario under one scheme with one seed. Its key is a hash of everything that the run depends on, so
//! that a result stored under this key can replace the run, whoever computed it. What a job's result holds is up to
//! its user; [`StoredResults`] stores any value that serialises.

use crate::experiment::{describe, routed};
pub(crate) use crate::hashes::hash;
pub use crate::hashes::{scenario_hash, scheme_hash};
use crate::results::{Error, replace_files};
use ndnweir_scenario::{Scenario, Traffic};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Identifies the program that runs the jobs: its version and a hash of its executable file, since two builds of one
/// version may give different results. Takes some milliseconds.
///
/// # Errors
/// If the program may not read its own executable file.
pub fn engine(version: &str) -> Result<String, Error> {
    let reject = |path: &Path, source| Error::Io {
        path: path.display().to_string(),
        source,
        remedy: "let the program read its own file, or leave out what needs keys of jobs",
    };
    let path = std::env::current_exe().map_err(|e| reject(Path::new("the program's own file"), e))?;
    let bytes = fs::read(&path).map_err(|e| reject(&path, e))?;
    Ok(format!("{version} {}", hash(&bytes)))
}

/// The key of a job: a hash of the [`engine`], the [`scenario_hash`], the [`scheme_hash`] and the seed.
pub fn key(engine: &str, scenario: &str, scheme: &str, seed: u64) -> String {
    hash(json!([engine, scenario, scheme, seed]).to_string().as_bytes())
}

/// Estimates how many times Interests and Data cross a link in one run of a scenario: those of the optimum at its rates,
/// and twice the Data of finite objects and streams for each link of their path, which is assumed to have three links.
pub fn cost(scenario: &Scenario) -> f64 {
    const LINKS: f64 = 3.0;
    let info = describe(scenario);
    let duration = info.duration_s;
    let endless = scenario.consumers.iter().any(|c| matches!(c.traffic, Traffic::Fetch { segments: None, .. }));
    let optimum = if endless { routed(scenario).ok().map(|problem| problem.solve()) } else { None };
    // A bit of Data also has the cost of its share of an Interest on the return path.
    let pair = 8.0 * (info.data_wire_bytes + info.interest_wire_bytes) as f64;
    let loads = optimum.iter().flat_map(|o| &o.links).zip(&info.links);
    let long: f64 = loads.map(|(load, link)| load.utilization * link.rate_mbps * 1e6 * duration / pair * 2.0).sum();
    let other = |c: &ndnweir_scenario::Consumer| match c.traffic {
        Traffic::Fetch { segments, .. } => segments.unwrap_or(0) as f64,
        Traffic::Stream { gap, .. } | Traffic::Zipf { gap, .. } => duration / gap.secs(),
        Traffic::Flows(ref flows) => flows.expected_segments(c.stop.unwrap_or(scenario.run.duration) - c.start),
    };
    long + scenario.consumers.iter().map(other).sum::<f64>() * 2.0 * LINKS
}

/// Divides jobs among `parts` so that the sums of their costs are nearly equal: the most expensive first, each to the
/// part with the least so far. Returns the part of each job, from 0 on; the same for the same costs.
fn balance(costs: &[u64], parts: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    // Stable: among equal costs the first comes first.
    order.sort_by_key(|job| Reverse(costs[*job]));
    // Of equal loads the part with fewer jobs, so that jobs without cost are spread too; then the first.
    let mut loads: BinaryHeap<_> = (0..parts.max(1)).map(|part| Reverse((0u64, 0usize, part))).collect();
    let mut part_of = vec![0; costs.len()];
    for job in order {
        let Some(mut least) = loads.peek_mut() else { break };
        let Reverse((load, jobs, part)) = *least;
        *least = Reverse((load.saturating_add(costs[job]), jobs + 1, part));
        part_of[job] = part;
    }
    part_of
}

/// The positions of the jobs in part `part` (from 0 on) of `of`, see [`balance`].
pub fn part_of(costs: &[u64], part: usize, of: usize) -> Vec<usize> {
    let parts = balance(costs, of);
    (0..costs.len()).filter(|job| parts[*job] == part).collect()
}

/// A folder that stores the results of jobs, each in a file of its own. Files appear whole or not at all, so that a
/// worker that is killed leaves nothing half-written, and several workers may share the folder.
#[derive(Clone, Debug)]
pub struct StoredResults {
    folder: PathBuf,
}

/// The content of a file: the result with what it is the result of, and a hash of it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    job: String,
    sha256: String,
    result: Value,
}

const REDO: &str = "delete it; the job is done again";

impl StoredResults {
    /// The results in a folder, which is created when the first result is stored.
    pub fn new(folder: &Path) -> StoredResults {
        StoredResults { folder: folder.to_path_buf() }
    }

    fn file(key: &str) -> String {
        format!("{key}.json")
    }

    /// The stored result of a job, if there is one.
    ///
    /// # Errors
    /// [`Error`] for a file that cannot be read, is damaged, or holds the result of another job.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let path = self.folder.join(StoredResults::file(key));
        let shown = || path.display().to_string();
        let bytes = match ndnweir_files::read(&path, ndnweir_files::RESULTS) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(Error::Io { path: shown(), source, remedy: "make it readable, or delete it" });
            }
        };
        let wrong = |what: String| Error::Damaged { path: shown(), what, remedy: REDO };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        if stored.job != key {
            return Err(wrong(format!("it holds the result of job {}", stored.job)));
        }
        if stored.sha256 != hash(stored.result.to_string().as_bytes()) {
            return Err(wrong("its content is not what was stored".into()));
        }
        serde_json::from_value(stored.result).map(Some).map_err(|e| wrong(e.to_string()))
    }

    /// Stores the result of a job.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn put<T: Serialize>(&self, key: &str, result: &T) -> Result<(), Error> {
        let result = json!(result);
        let stored = Stored { job: key.to_owned(), sha256: hash(result.to_string().as_bytes()), result };
        replace_files(&self.folder, &[(StoredResults::file(key), json!(stored).to_string().into_bytes())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_nearly_equal_costs_and_every_job_is_in_one() {
        // By hand: 9 to the first, 7 and 2 to the second, 5 and 4 to the third.
        assert_eq!(balance(&[5, 9, 7, 4, 2], 3), [2, 0, 1, 2, 1]);
        assert_eq!(balance(&[0, 0, 0], 2), [0, 1, 0]);
        assert_eq!(balance(&[], 4), Vec::<usize>::new());
        assert_eq!(balance(&[1, 2], 1), [0, 0]);
    }

    #[test]
    fn a_million_jobs_are_divided_among_many_thousand_parts() {
        // Were each part looked at for each job, this would take an hour.
        let parts = balance(&vec![7; 1_000_000], 100_000);
        assert!((0..1_000_000).all(|job| parts[job] == job % 100_000));
    }

    #[test]
    fn what_is_stored_comes_back_and_what_is_damaged_or_of_another_job_is_rejected() {
        let folder = std::env::temp_dir().join(format!("ndnweir-jobs-{}", std::process::id()));
        let stored = StoredResults::new(&folder);
        assert_eq!(stored.get::<Vec<f64>>("a").unwrap(), None);
        let values = vec![0.1 + 0.2, 1e-300, 7.0];
        stored.put("a", &values).unwrap();
        assert_eq!(stored.get::<Vec<f64>>("a").unwrap(), Some(values));
        let text = fs::read_to_string(folder.join("a.json")).unwrap();
        for (file, content, part) in [
            ("b", text.clone(), "it holds the result of job a"),
            ("a", text.replace("7.0", "8.0"), "not what was stored"),
            ("a", text[..text.len() / 2].to_owned(), "EOF"),
            ("a", text.replace("sha256", "md5"), "unknown field `md5`"),
        ] {
            fs::write(folder.join(format!("{file}.json")), content).unwrap();
            let error = stored.get::<Vec<f64>>(file).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("delete it"), "{error}");
        }
        fs::write(folder.join("a.json"), text).unwrap();
        assert!(stored.get::<String>("a").unwrap_err().to_string().contains("invalid type"));
        fs::remove_dir_all(folder).unwrap();
    }
}
