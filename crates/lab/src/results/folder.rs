//! Result folders: which files they have, and reading them back.

use super::subjects::Subjects;
use super::{Comparison, Error, SeriesKind, csv, parse_document};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file of a result folder: its relative path, with `/`, and its content.
pub type File = (String, Vec<u8>);

pub(crate) fn io_error(path: &Path, remedy: &'static str) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source, remedy }
}

pub(crate) const WRITING: &str = "check that the folder is writable and the disk has room";

/// The files and folders that a result folder may consist of.
pub const FILES: [&str; 6] = ["summary.json", "summary", "report.html", "series", "figures", "cases"];

/// A hidden name in the parent folder of `dir`.
pub(crate) fn sibling(dir: &Path, tag: &str) -> PathBuf {
    let name = dir.file_name().map_or_else(|| "results".into(), |n| n.to_string_lossy().into_owned());
    dir.with_file_name(format!(".{name}.{tag}-{}", std::process::id()))
}

/// Whether `dir` exists, after a check that [`super::NewFolder`] would accept it: to be called before long work.
///
/// # Errors
/// [`Error::Foreign`] when `dir` exists and neither is empty nor holds a `summary.json`; [`Error::Io`] when it is not a
/// folder or cannot be read.
pub fn may_write(dir: &Path) -> Result<bool, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>().map_err(io_error(dir, WRITING))?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(io_error(dir, "name a folder that can be written")(e)),
    };
    if !entries.is_empty() && !dir.join("summary.json").is_file() {
        return Err(Error::Foreign { path: dir.display().to_string() });
    }
    Ok(true)
}

/// The summary of a result folder, if one is stored there.
fn summary(dir: &Path) -> Option<serde_json::Value> {
    let text = ndnweir_files::read_text(&dir.join("summary.json"), ndnweir_files::RESULTS).ok()?;
    serde_json::from_str(&text).ok()
}

/// The command that wrote a result folder, if it is stored there.
pub fn command(dir: &Path) -> Option<String> {
    let document = summary(dir)?;
    document["repeat"]["command"].as_str().filter(|command| !command.is_empty()).map(str::to_owned)
}

/// Whether a folder holds the results of an interrupted command.
pub fn is_partial(dir: &Path) -> bool {
    summary(dir).is_some_and(|document| document["partial"] == true)
}

/// Numbers tried for a folder that no one named.
pub const MAX_FOLDERS: u32 = 9_999;

/// The first of `first`, `first-2`, `first-3` and so on that holds no results, or those of the same command, and whether
/// it holds results.
///
/// # Errors
/// See [`may_write`]; [`Error::NoFolder`] if all hold results of others.
pub fn free_folder(first: &Path, command: Option<&str>) -> Result<(PathBuf, bool), Error> {
    for number in 1..=MAX_FOLDERS {
        let folder = numbered(first, number);
        if !may_write(&folder)? || !folder.join("summary.json").is_file() {
            return Ok((folder, false));
        }
        if command.is_some_and(|wanted| self::command(&folder).as_deref() == Some(wanted)) {
            return Ok((folder, true));
        }
    }
    Err(Error::NoFolder { path: first.display().to_string() })
}

/// `folder` for 1, `folder-2` for 2.
pub fn numbered(folder: &Path, number: u32) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    if number > 1 {
        name.push(format!("-{number}"));
    }
    name.into()
}

/// Replaces or adds files in a result folder, each one atomically.
///
/// # Errors
/// [`Error::Io`]; files that were replaced before the error remain replaced.
pub fn replace_files(dir: &Path, files: &[File]) -> Result<(), Error> {
    for (name, bytes) in files {
        let path = dir.join(name);
        let new = sibling(&path, "new");
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io_error(parent, WRITING))?;
        }
        let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, &path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written.map_err(io_error(&path, WRITING))?;
    }
    Ok(())
}

/// Reads a result folder back. Series whose file is missing are left out.
///
/// # Errors
/// [`Error`] naming the damaged or unreadable file.
pub fn read(dir: &Path) -> Result<Comparison, Error> {
    read_from(dir, dir)
}

/// [`read`] for a folder that is going to be `shown`.
pub(super) fn read_from(dir: &Path, shown: &Path) -> Result<Comparison, Error> {
    const RESTORE: &str = "run the scenario again, or restore the file";
    let place = |name: &str| shown.join(name).display().to_string();
    let text = |name: &str, remedy| match ndnweir_files::read(&dir.join(name), ndnweir_files::RESULTS) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|error| {
            let what = format!("no UTF-8 text at byte {}", error.utf8_error().valid_up_to());
            Error::Damaged { path: place(name), what, remedy: RESTORE }
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(&shown.join(name), remedy)(error)),
    };
    const SUMMARY: (&str, &str) = ("summary.json", "name a folder that `ndnweir sim --out` wrote");
    const READABLE: &str = "make it readable, or delete it";
    let missing = || {
        let source = io::Error::new(io::ErrorKind::NotFound, "there is no such file");
        io_error(&shown.join(SUMMARY.0), SUMMARY.1)(source)
    };
    let summary = text(SUMMARY.0, SUMMARY.1)?.ok_or_else(missing)?;
    let mut comparison = parse_document(&summary, &place(SUMMARY.0))?;
    drop(summary);
    for subjects in Subjects::ALL {
        if let Some(table) = text(subjects.file(), READABLE)? {
            subjects.read(&mut comparison, &table, &place(subjects.file()))?;
        }
    }
    for kind in SeriesKind::ALL {
        if let Some(table) = text(&csv::file(kind), READABLE)? {
            csv::read(&mut comparison, kind, &table, &place(&csv::file(kind)))?;
        }
    }
    Ok(comparison)
}
