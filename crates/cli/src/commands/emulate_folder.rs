//! The folder of an emulation's sockets and records, in that for temporary files. It goes with the run; what a run that
//! was killed leaves behind, the next one removes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::TempDir;

/// How the folders' names begin. They are short, as their sockets' paths are.
const PREFIX: &str = "ndnweir-run-";
/// A file that its process has locked as long as it is there.
const LOCK: &str = "lock";

/// The folder of one run.
pub struct RunFolder {
    folder: TempDir,
    /// Let go after the folder is removed.
    _lock: File,
}

impl RunFolder {
    /// A folder in `parent`, where those of runs that are no more are removed.
    ///
    /// # Errors
    /// If it cannot be made or locked.
    pub fn new(parent: &Path) -> io::Result<RunFolder> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // It has its name once it is locked, so nobody finds it without.
        let new = folder.path().join("new");
        let lock = File::create(&new)?;
        lock.lock()?;
        fs::rename(&new, folder.path().join(LOCK))?;
        let owner = fs::metadata(folder.path())?.uid();
        for entry in fs::read_dir(parent)?.flatten() {
            let path = entry.path();
            let ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
                && fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir() && found.uid() == owner);
            if ours && File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()) {
                // What cannot be removed harms nobody.
                let _ = fs::remove_dir_all(&path);
            }
        }
        Ok(RunFolder { folder, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_runs_that_were_killed_are_removed_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let running = RunFolder::new(parent.path()).unwrap();
        for name in ["ndnweir-run-killed", "ndnweir-run-new", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        for name in ["ndnweir-run-killed", "other"] {
            fs::write(at(name).join(LOCK), "").unwrap();
        }
        std::os::unix::fs::symlink(at("other"), at("ndnweir-run-link")).unwrap();
        let next = RunFolder::new(parent.path()).unwrap();
        assert!(!at("ndnweir-run-killed").exists());
        for left in
            [running.path(), next.path(), &at("ndnweir-run-new"), &at("other").join(LOCK), &at("ndnweir-run-link")]
        {
            assert!(left.exists(), "{}", left.display());
        }
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists());
    }
}
