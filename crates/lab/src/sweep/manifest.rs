//! What a folder of a sweep says about itself.

use crate::results::{Error, replace_files};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

/// The name of the file.
pub(crate) const FILE: &str = "sweep.json";
/// Version of the format.
const FORMAT: u32 = 1;

/// The program and the plan that the results of a folder are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    sweep: u32,
    /// The program (see [`crate::jobs::engine`]).
    pub engine: String,
    /// The plan's name.
    pub plan: String,
    /// A hash of the keys of all jobs.
    pub jobs: String,
    /// The command's words, of the worker that was the first.
    #[serde(default)]
    pub command: Vec<String>,
}

impl Manifest {
    /// For a program and a plan.
    pub fn new(engine: String, plan: String, jobs: String) -> Manifest {
        Manifest { sweep: FORMAT, engine, plan, jobs, command: Vec::new() }
    }

    /// Reads that of a folder.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn read(folder: &Path) -> Result<Manifest, Error> {
        let path = folder.join(FILE);
        let shown = path.display().to_string();
        let remedy = "name a folder of `ndnweir sweep`";
        let text = ndnweir_files::read_text(&path, ndnweir_files::RESULTS).map_err(|source| Error::Io {
            path: shown.clone(),
            source,
            remedy,
        })?;
        serde_json::from_str(&text).map_err(|e| Error::Damaged { path: shown, what: e.to_string(), remedy })
    }

    /// Whether both are of the same program, plan and options.
    pub fn is_same(&self, other: &Manifest) -> bool {
        let of = |m: &Manifest| (m.sweep, m.engine.clone(), m.plan.clone(), m.jobs.clone());
        of(self) == of(other)
    }

    /// Checks that a folder is new or belongs to this sweep, and says so in it. Several workers may do it at once, as
    /// all write the same.
    ///
    /// # Errors
    /// [`Error::Damaged`] for the folder of another plan or another program, [`Error::Foreign`] for one that holds
    /// something else, [`Error::Io`].
    pub fn claim(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(FILE);
        let shown = || path.display().to_string();
        let damaged = |what: String, remedy| Err(Error::Damaged { path: shown(), what, remedy });
        let text = match ndnweir_files::read_text(&path, ndnweir_files::RESULTS) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                // What another worker is about to put there begins with its name and a dot.
                let ours = |name: &OsStr| name.as_encoded_bytes().starts_with(format!(".{FILE}.").as_bytes());
                let others =
                    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| !ours(&entry.file_name())));
                // Another worker may have written it meanwhile.
                if others && !path.is_file() {
                    return Err(Error::Foreign { path: folder.display().to_string() });
                }
                let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
                return replace_files(folder, &[(FILE.to_owned(), text.into_bytes())]);
            }
            Err(source) => return Err(Error::Io { path: shown(), source, remedy: "make it readable" }),
        };
        let there: Manifest = match serde_json::from_str(&text) {
            Ok(there) => there,
            Err(e) => return damaged(e.to_string(), "delete it, and give the same command again"),
        };
        if self.is_same(&there) {
            return Ok(());
        }
        if there.engine != self.engine {
            let what = format!("these results are of another build of the program ({})", there.engine);
            return damaged(what, "use that build, or name another folder: results of two builds are not mixed");
        }
        let what = format!("these results are of another plan ({}), or of other options", there.plan);
        damaged(what, "name another folder")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_workers_claim_a_new_folder_at_once_and_another_plan_is_rejected() {
        let folder = std::env::temp_dir().join(format!("ndnweir-claim-{}", std::process::id()));
        let manifest = Manifest::new("1".into(), "plan".into(), "jobs".into());
        fs::create_dir_all(&folder).unwrap();
        // A file that is being written, as another worker leaves it for an instant.
        fs::write(folder.join(".sweep.json.new-1"), "{").unwrap();
        manifest.claim(&folder).unwrap();
        manifest.claim(&folder).unwrap();
        let other = Manifest::new("1".into(), "plan".into(), "others".into());
        assert!(other.claim(&folder).unwrap_err().to_string().contains("another plan"));
        fs::remove_dir_all(folder).unwrap();
    }
}
