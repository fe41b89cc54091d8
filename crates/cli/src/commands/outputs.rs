//! What a command writes is kept apart: no file that it reads, no two outputs in one, none over the results, and no page
//! or plan over what is none.

use super::run_files::may_create;
use crate::failure::Failure;
use ndnweir_lab::results::FILES;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The files that a command is going to write, with the options that name them.
#[derive(Default)]
pub(super) struct Outputs {
    all: Vec<(String, PathBuf)>,
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

    /// Checks that what is there already, if anything, was written by the same command before: it begins with `start`.
    pub(super) fn only_over(&self, start: &str) -> Result<(), Failure> {
        let begins = |path: &Path| {
            let mut head = vec![0; start.len()];
            let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
            read.is_ok() && head == start.as_bytes()
        };
        // Devices keep nothing, and in an empty file there is nothing to lose.
        let is_kept = |path: &Path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0);
        match self.all.iter().find(|(_, path)| is_kept(path) && !begins(path)) {
            Some((option, path)) => {
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

/// Checks that a page takes the place of nothing but an earlier one.
pub(super) fn may_write_page(out: &Path, inputs: &[PathBuf], folders: &[&Path]) -> Result<(), Failure> {
    may_create("--out", out)?;
    let mut outputs = Outputs::default();
    outputs.add("--out", out)?;
    outputs.not(inputs)?;
    folders.iter().try_for_each(|folder| outputs.outside(folder))?;
    outputs.only_over(ndnweir_report::PAGE_START)
}
