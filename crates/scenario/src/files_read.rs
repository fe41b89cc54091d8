//! The files of which a scenario is read, and which files may be.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::diag::{Location, Problems};

/// The files of which a scenario, with whatever overrides, has been read.
#[derive(Clone, Debug, Default)]
pub(super) struct FilesRead {
    read: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Only what lies in the current folder is opened.
    here: bool,
}

impl FilesRead {
    pub(super) fn new(here: bool) -> FilesRead {
        FilesRead { here, ..FilesRead::default() }
    }

    pub(super) fn add(&self, path: &Path) {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }

    pub(super) fn all(&self) -> Vec<PathBuf> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Whether a file may be opened.
    ///
    /// # Errors
    /// That it lies elsewhere.
    pub(super) fn allow(&self, path: &Path, shown: &str) -> Result<(), Problems> {
        match !self.here || is_here(path) {
            true => Ok(()),
            false => {
                let help = "copy it there, and name it by its relative path";
                Err(Problems::one(Location::whole(shown), ELSEWHERE, help))
            }
        }
    }
}

/// What is wrong with a file that is not opened because of where it lies.
pub const ELSEWHERE: &str = "the file is outside of the folder where the command runs, and is not opened";

/// Whether a path leads to nothing outside of the current folder, also not by links. No file is opened to tell.
pub fn is_here(path: &Path) -> bool {
    if !path.components().all(|part| matches!(part, Component::CurDir | Component::Normal(_))) {
        return false;
    }
    // The nearest of its folders that exists decides where a file is that is missing.
    let there = path.ancestors().find(|part| part.symlink_metadata().is_ok()).unwrap_or(Path::new("."));
    match (Path::new(".").canonicalize(), there.canonicalize()) {
        (Ok(here), Ok(there)) => there.starts_with(here),
        _ => false,
    }
}
