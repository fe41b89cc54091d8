//! What a command writes is kept apart: no file that it reads, no two outputs in one, none over the results, and none
//! over what was not written as the same kind of file before.

use crate::failure::Failure;
use ndnweir_lab::results::FILES;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Whether a file that begins so is an earlier one of the same kind, written by this program.
pub(super) type IsOwn = fn(&[u8]) -> bool;

/// Bytes by which an earlier file is known, at most.
const HEAD: u64 = 512;

/// The files that a command is going to write, with the options that name them.
#[derive(Default)]
pub(super) struct Outputs {
    all: Vec<(String, PathBuf)>,
    /// Of those that take the place of none but an earlier one: how that is known.
    kept: Vec<(String, PathBuf, IsOwn)>,
}

impl Outputs {
    /// Adds a file; one that is the same as another is rejected.
    pub(super) fn add(&mut self, option: &str, path: &Path) -> Result<(), Failure> {
        if let Some((other, _)) = self.all.iter().find(|(_, there)| same(there, path)) {
            return Err(Failure::Input(format!("{option} {}: {other} writes this file; name another", path.display())));
        }
        self.all.push((option.to_owned(), path.to_owned()));
        Ok(())
    }

    /// Adds a file that may take the place of nothing but an earlier one (see [`Outputs::only_over`]).
    pub(super) fn add_over(&mut self, option: &str, path: &Path, is_own: IsOwn) -> Result<(), Failure> {
        may_create(option, path)?;
        self.add(option, path)?;
        self.kept.push((option.to_owned(), path.to_owned(), is_own));
        Ok(())
    }

    /// Checks that none is a file that the command reads.
    pub(super) fn not(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let replaced = |path: &Path| inputs.iter().any(|input| same(input, path));
        match self.all.iter().find(|(_, path)| replaced(path)) {
            Some((option, path)) => {
                Err(Failure::Input(format!("{option} {}: the command reads this file; name another", path.display())))
            }
            None => Ok(()),
        }
    }

    /// Checks that what is there already, if anything, was written as the same kind of file before.
    pub(super) fn only_over(&self) -> Result<(), Failure> {
        let begins = |path: &Path, is_own: IsOwn| {
            let mut head = Vec::new();
            let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
            read.is_ok() && is_own(&head)
        };
        // Devices keep nothing, and in an empty file there is nothing to lose.
        let has_content = |path: &Path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0);
        match self.kept.iter().find(|(_, path, is_own)| has_content(path) && !begins(path, *is_own)) {
            Some((option, path, _)) => {
                let path = path.display();
                Err(Failure::Input(format!("{option} {path}: holds something else; name another file, or delete it")))
            }
            None => Ok(()),
        }
    }

    /// Checks that none lies where a result folder has files of its own, whether they are there already or not.
    pub(super) fn outside(&self, folder: &Path) -> Result<(), Failure> {
        let results = FILES.map(|name| resolved(&folder.join(name)));
        let inside = |path: &Path| results.iter().any(|result| resolved(path).starts_with(result));
        match self.all.iter().find(|(_, path)| inside(path)) {
            Some((option, path)) => {
                let (path, folder) = (path.display(), folder.display());
                Err(Failure::Input(format!("{option} {path}: results in {folder} have this name; name another")))
            }
            None => Ok(()),
        }
    }
}

/// Where a file is, or will be: links are followed as far as there is anything.
fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = whole.ancestors().find_map(|part| Some((part.canonicalize().ok()?, part)));
    match there.map(|(real, part)| (real, whole.strip_prefix(part))) {
        Some((real, Ok(rest))) if !rest.as_os_str().is_empty() => real.join(rest),
        Some((real, _)) => real,
        None => whole,
    }
}

/// Whether to write one would change the other: one place, or one file under two names. Devices keep nothing.
fn same(one: &Path, other: &Path) -> bool {
    let is_device = one.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    !is_device && (resolved(one) == resolved(other) || linked(one, other))
}

#[cfg(unix)]
fn linked(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    number(one).is_some_and(|one| number(other) == Some(one))
}

#[cfg(not(unix))]
fn linked(_: &Path, _: &Path) -> bool {
    false
}

/// Checks that an option's file can be put at `path`, before the work.
fn may_create(option: &str, path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || path.as_os_str().is_empty() {
        return Err(Failure::Input(format!("{option} {}: is a folder; name a file", path.display())));
    }
    match folder.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => Err(Failure::Input(format!("{option} {}: check that the folder exists", path.display()))),
    }
}

/// Makes the folder that a command is going to fill, unless it is there.
pub(super) fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| no_room(folder, &error))
}

/// That nothing can be written to a folder that the command line names, or that it cannot be made.
pub(super) fn no_room(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Input(format!("{}: {error}; name a folder that can be made and written to", path.display()))
}

/// Checks that a page takes the place of nothing but an earlier one.
pub(super) fn may_write_page(out: &Path, inputs: &[PathBuf], folders: &[&Path]) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    outputs.add_over("--out", out, |head| head.starts_with(ndnweir_report::PAGE_START.as_bytes()))?;
    outputs.not(inputs)?;
    folders.iter().try_for_each(|folder| outputs.outside(folder))?;
    outputs.only_over()
}
