//! Result folders: written either completely or not at all.

use super::subjects::Subjects;
#[cfg(any(test, feature = "parquet"))]
use super::tables::{self, Labelled};
use super::{Comparison, Error, SeriesKind, csv, parse_document};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The runs whose series are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeriesOf {
    /// The run of each scheme's first seed.
    #[default]
    First,
    /// Every run.
    All,
}

/// A file of a result folder: its relative path, with `/`, and its content.
pub type File = (String, Vec<u8>);

/// `summary.json`, of large networks also `summary/*.csv`, and `series/*.csv` (with the feature `parquet` also `series/*.parquet`).
pub fn files(comparison: &Comparison, series: SeriesOf) -> Vec<File> {
    let mut files = vec![("summary.json".to_owned(), comparison.to_summary().into_bytes())];
    for subjects in Subjects::ALL.into_iter().filter(|subjects| subjects.are_many(comparison)) {
        files.push((subjects.file().to_owned(), subjects.write(comparison).into_bytes()));
    }
    for kind in SeriesKind::ALL {
        let stored = || {
            comparison.runs.iter().enumerate().filter(|(i, run)| {
                series == SeriesOf::All || !comparison.runs[..*i].iter().any(|earlier| earlier.scheme == run.scheme)
            })
        };
        if let Some(text) = csv::write(stored().map(|(_, run)| run), kind) {
            files.push((csv_name(kind), text.into_bytes()));
        }
        #[cfg(any(test, feature = "parquet"))]
        {
            let label = |run| Labelled { experiment: "", case: "", set: &[], run, attained: None, optimum: None };
            let runs: Vec<Labelled> = stored().map(|(_, run)| label(run)).collect();
            let table = tables::series(&runs, kind).without(&["experiment", "case"]);
            // Writing to memory does not fail; a test would reveal an error in the schema.
            if let (false, Ok(bytes)) = (table.is_empty(), tables::to_parquet(&table)) {
                files.push((format!("series/{}.parquet", kind.name()), bytes));
            }
        }
    }
    files
}

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

/// Whether `dir` exists, after a check that [`write_folder`] would accept it: to be called before long work.
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

/// The command that wrote a result folder, if it is stored there.
pub fn command(dir: &Path) -> Option<String> {
    let text = fs::read_to_string(dir.join("summary.json")).ok()?;
    let document: serde_json::Value = serde_json::from_str(&text).ok()?;
    document["repeat"]["command"].as_str().filter(|command| !command.is_empty()).map(str::to_owned)
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

/// Writes a result folder: it is assembled next to `dir` and then renamed, so that `dir` is always either unchanged or
/// complete. An older result folder is replaced; other files in it are moved to the new one. If a file other than
/// `summary.json` cannot be written, the others are kept.
///
/// # Errors
/// [`Error::Foreign`] when `dir` exists and neither is empty nor holds a `summary.json`; [`Error::Incomplete`] when
/// files are missing; [`Error::Io`] otherwise. Except for missing files `dir` is unchanged.
pub fn write_folder(dir: &Path, files: &[File]) -> Result<(), Error> {
    // `.` and `results/..` have no name of their own to rename.
    let dir = &std::path::absolute(dir).map_err(io_error(dir, "name another folder"))?;
    let exists = may_write(dir)?;
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).map_err(io_error(parent, WRITING))?;
    }
    let (new, aside) = (sibling(dir, "new"), sibling(dir, "old"));
    let result = assemble(&new, files).and_then(|missing| swap(dir, &new, &aside, exists).map(|()| missing));
    let mut missing = result.inspect_err(|_| {
        // A remaining folder that cannot be removed is ignored.
        let _ = fs::remove_dir_all(&new);
    })?;
    let count = missing.len();
    if count == 0 {
        return Ok(());
    }
    let (name, source) = missing.swap_remove(0);
    let (path, folder) = (dir.join(name).display().to_string(), dir.display().to_string());
    Err(Error::Incomplete { path, source, remedy: WRITING, count, all: files.len(), folder })
}

/// Files that could not be written, with the errors.
type Missing = Vec<(String, io::Error)>;

fn assemble(new: &Path, files: &[File]) -> Result<Missing, Error> {
    if new.exists() {
        fs::remove_dir_all(new).map_err(io_error(new, "remove it"))?;
    }
    fs::create_dir_all(new).map_err(io_error(new, WRITING))?;
    let mut missing = Vec::new();
    for (name, bytes) in files {
        let path = new.join(name);
        let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
        let Err(error) = parent.and_then(|()| fs::write(&path, bytes)) else { continue };
        let _ = fs::remove_file(&path);
        missing.push((name.clone(), error));
    }
    let kept = |wanted: &str| files.iter().any(|f| f.0 == wanted) && !missing.iter().any(|m| m.0 == wanted);
    if missing.is_empty() || kept("summary.json") {
        return Ok(missing);
    }
    let (name, error) = missing.swap_remove(0);
    Err(io_error(&new.join(name), WRITING)(error))
}

fn swap(dir: &Path, new: &Path, aside: &Path, exists: bool) -> Result<(), Error> {
    if !exists {
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
    let mut files = Vec::new();
    let names = std::iter::once("summary.json".to_owned())
        .chain(Subjects::ALL.map(|subjects| subjects.file().to_owned()))
        .chain(SeriesKind::ALL.map(csv_name));
    for name in names {
        let path = dir.join(&name);
        let first = files.is_empty();
        let remedy =
            if first { "name a folder that `ndnweir sim --out` wrote" } else { "make it readable, or delete it" };
        match fs::read(&path) {
            Ok(bytes) => files.push((name, bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound && !first => {}
            Err(e) => return Err(io_error(&path, remedy)(e)),
        }
    }
    load(&files, |name| dir.join(name).display().to_string())
}

/// The comparison in files in memory: the same as [`read`] returns after they are written.
///
/// # Errors
/// [`Error::Damaged`] naming the file.
pub fn from_files(files: &[File]) -> Result<Comparison, Error> {
    load(files, str::to_owned)
}

fn csv_name(kind: SeriesKind) -> String {
    format!("series/{}.csv", kind.name())
}

fn load(files: &[File], place: impl Fn(&str) -> String) -> Result<Comparison, Error> {
    let text = |name: &str| {
        let Some((_, bytes)) = files.iter().find(|f| f.0 == name) else {
            return Ok(None);
        };
        std::str::from_utf8(bytes).map(Some).map_err(|e| Error::Damaged {
            path: place(name),
            what: format!("no UTF-8 text at byte {}", e.valid_up_to()),
            remedy: "run the scenario again, or restore the file",
        })
    };
    let summary = text("summary.json")?.unwrap_or_default();
    let mut comparison = parse_document(summary, &place("summary.json"))?;
    for subjects in Subjects::ALL {
        if let Some(table) = text(subjects.file())? {
            subjects.read(&mut comparison, table, &place(subjects.file()))?;
        }
    }
    for kind in SeriesKind::ALL {
        if let Some(table) = text(&csv_name(kind))? {
            csv::read(&mut comparison, kind, table, &place(&csv_name(kind)))?;
        }
    }
    Ok(comparison)
}
