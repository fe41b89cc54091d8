//! Result folders that are written: either completely or not at all.

use super::folder::{FILES, File, WRITING, io_error, may_write, read_from, sibling};
use super::{Comparison, Error};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A result folder that is being written. Its files come next to where it will be, one after the other, and
/// [`NewFolder::finish`] renames it, so that what is there is always either unchanged or complete. Dropped before that,
/// it leaves nothing.
pub struct NewFolder {
    dir: PathBuf,
    /// Where the files are for now, and where a folder is put that was there before.
    new: PathBuf,
    aside: PathBuf,
    exists: bool,
    /// How many files there should be.
    count: usize,
    /// Whether `summary.json` was written.
    summary: bool,
    /// Files that could not be written, with the errors.
    missing: Vec<(String, io::Error)>,
}

impl NewFolder {
    /// Begins.
    ///
    /// # Errors
    /// [`Error::Foreign`] when `dir` exists and neither is empty nor holds a `summary.json`; [`Error::Io`] when there is
    /// no room beside it.
    pub fn begin(dir: &Path) -> Result<NewFolder, Error> {
        // `.` and `results/..` have no name of their own to rename.
        let named = dir;
        let dir = std::path::absolute(dir).map_err(io_error(named, "name another folder"))?;
        let exists = may_write(&dir)?;
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(io_error(named, WRITING))?;
        }
        let (new, aside) = (sibling(&dir, "new"), sibling(&dir, "old"));
        if new.exists() {
            fs::remove_dir_all(&new).map_err(io_error(&new, "remove it"))?;
        }
        fs::create_dir_all(&new).map_err(io_error(named, WRITING))?;
        Ok(NewFolder { dir, new, aside, exists, count: 0, summary: false, missing: Vec::new() })
    }

    /// Writes a file; `name` has `/` where it is in a folder. An error is kept for [`NewFolder::finish`].
    pub fn write(&mut self, name: &str, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        self.count += 1;
        let path = self.new.join(name);
        let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = parent.and_then(|()| {
            let mut out = BufWriter::new(fs::File::create(&path)?);
            content(&mut out)?;
            out.flush()
        });
        match written {
            Ok(()) => self.summary |= name == "summary.json",
            Err(error) => {
                let _ = fs::remove_file(&path);
                self.missing.push((name.to_owned(), error));
            }
        }
    }

    /// Reads back the comparison that was written below `prefix`.
    ///
    /// # Errors
    /// As [`super::read`].
    pub fn read_back(&self, prefix: &str) -> Result<Comparison, Error> {
        read_from(&self.new.join(prefix), &self.dir.join(prefix))
    }

    /// Puts the folder in its place. An older result folder is replaced; other files in it are moved to the new one. If
    /// a file other than `summary.json` could not be written, the others are kept.
    ///
    /// # Errors
    /// [`Error::Incomplete`] when files are missing; [`Error::Io`] otherwise. Except for missing files what was there is
    /// unchanged then.
    pub fn finish(mut self) -> Result<(), Error> {
        let mut missing = std::mem::take(&mut self.missing);
        if missing.is_empty() {
            return self.swap();
        }
        let (name, source) = missing.swap_remove(0);
        if !self.summary {
            return Err(io_error(&self.dir.join(name), WRITING)(source));
        }
        self.swap()?;
        let (path, folder) = (self.dir.join(name).display().to_string(), self.dir.display().to_string());
        let count = missing.len() + 1;
        Err(Error::Incomplete { path, source, remedy: WRITING, count, all: self.count, folder })
    }

    fn swap(&self) -> Result<(), Error> {
        let NewFolder { dir, new, aside, .. } = self;
        if !self.exists {
            return fs::rename(new, dir).map_err(io_error(dir, WRITING));
        }
        fs::rename(dir, aside).map_err(io_error(dir, WRITING))?;
        if let Err(e) = fs::rename(new, dir) {
            let _ = fs::rename(aside, dir);
            return Err(io_error(dir, WRITING)(e));
        }
        for entry in fs::read_dir(aside).map_err(io_error(aside, WRITING))?.flatten() {
            let to = dir.join(entry.file_name());
            if !FILES.iter().any(|o| entry.file_name() == *o) && !to.exists() {
                fs::rename(entry.path(), &to).map_err(io_error(&to, WRITING))?;
            }
        }
        fs::remove_dir_all(aside).map_err(io_error(aside, "remove it: the results are complete without it"))
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // Not there any more if it is in its place; one that cannot be removed is ignored.
        let _ = fs::remove_dir_all(&self.new);
    }
}

/// Checks that a folder can be written at `dir`, before long work: tries, and leaves nothing.
///
/// # Errors
/// As [`NewFolder::begin`].
pub fn may_begin(dir: &Path) -> Result<(), Error> {
    let whole = std::path::absolute(dir).map_err(io_error(dir, "name another folder"))?;
    let missing: Vec<&Path> = whole.ancestors().skip(1).take_while(|parent| !parent.exists()).collect();
    let begun = NewFolder::begin(dir).map(drop);
    // Only empty ones can be removed: another process may have begun in them.
    for parent in missing {
        let _ = fs::remove_dir(parent);
    }
    begun
}

/// Writes a result folder of files in memory.
///
/// # Errors
/// See [`NewFolder`].
pub fn write_folder(dir: &Path, files: &[File]) -> Result<(), Error> {
    let mut folder = NewFolder::begin(dir)?;
    for (name, bytes) in files {
        folder.write(name, |out| out.write_all(bytes));
    }
    folder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_that_fails_half_way_is_left_out_and_named_and_the_others_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = NewFolder::begin(&root.path().join("out")).unwrap();
        folder.write("summary.json", |out| out.write_all(b"{}"));
        folder.write("series/links.csv", |out| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(names(root.path()).len(), 1, "nothing is in its place yet");
        let error = folder.finish().unwrap_err().to_string();
        assert!(error.contains("series/links.csv") && error.contains("1 of 2 files"), "{error}");
        assert_eq!(names(&root.path().join("out")), ["series", "summary.json"]);
        assert!(names(&root.path().join("out/series")).is_empty());
    }

    #[test]
    fn whether_a_folder_can_be_written_is_known_before_and_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        may_begin(&root.path().join("a/b/out")).unwrap();
        for bad in ["file/out", "file", &"x".repeat(250)] {
            let error = may_begin(&root.path().join(bad)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: ", root.path().join(bad).display())), "{error}");
        }
        assert_eq!(names(root.path()), ["file"]);
    }

    #[test]
    fn a_folder_that_is_dropped_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = NewFolder::begin(&root.path().join("out")).unwrap();
        folder.write("summary.json", |out| out.write_all(b"{}"));
        drop(folder);
        assert!(names(root.path()).is_empty());
    }
}
