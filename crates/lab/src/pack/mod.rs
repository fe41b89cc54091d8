//! Packs: results with all that is needed to compute them again, in one archive.
//!
//! A pack holds the command, the files that it reads, the versions of program and dependencies, and the results. It is a
//! gzip-compressed tar archive whose bytes depend on its content alone: files in the order of their names, no times, no
//! owners. Whoever gets one need not trust it: see [`unpack`].

mod archive;
mod manifest;

pub use archive::{Entry, MAX_BYTES, MAX_FILES, pack, unpack};
pub use manifest::Manifest;

use crate::results::Error;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// The file with the manifest.
pub const MANIFEST: &str = "pack.json";
/// The folder with the files that the command reads; the command runs there.
pub const INPUTS: &str = "inputs";
/// The folder with the results.
pub const RESULTS: &str = "results";

/// A relative path that leads to nothing outside of where it begins, with `/`; none for others.
pub fn inside(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The files below a folder that are at `names` or below them, as paths within it with `/`, in order.
///
/// # Errors
/// [`Error::Io`]; what is neither file nor folder is an error too.
pub fn files_at(folder: &Path, names: &[&str]) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    while let Some(within) = left.pop() {
        let path = folder.join(&within);
        let reject = |source| Error::Io { path: path.display().to_string(), source, remedy: "make it a readable file" };
        // What a link leads to is not part of the folder.
        let kind = match fs::symlink_metadata(&path) {
            Ok(meta) => meta.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(reject(error)),
        };
        if kind.is_dir() {
            for entry in fs::read_dir(&path).map_err(reject)? {
                left.push(within.join(entry.map_err(reject)?.file_name()));
            }
        } else if kind.is_file() {
            let name = inside(&within).ok_or_else(|| reject(io::Error::other("its name is not UTF-8")))?;
            found.push(name);
        } else {
            return Err(reject(io::Error::other("neither a file nor a folder")));
        }
    }
    found.sort();
    Ok(found)
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source, remedy: "make it readable" }
}

/// What two folders differ in, for the files in either of `one` and `other` (as [`files_at`] gives them), in words.
///
/// # Errors
/// [`Error::Io`].
pub fn differences(one: (&Path, &[String]), other: (&Path, &[String])) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for name in one.1.iter().filter(|name| !other.1.contains(name)) {
        found.push(format!("{name} was not made"));
    }
    for name in other.1 {
        if !one.1.contains(name) {
            found.push(format!("{name} is not in the pack"));
            continue;
        }
        let (first, second) = (one.0.join(name), other.0.join(name));
        let size = |path: &Path| fs::metadata(path).map(|meta| meta.len()).map_err(unreadable(path));
        // Of a pack that is not to be trusted no more is read than was made here.
        if size(&first)? != size(&second)? {
            found.push(format!("{name} is of another size"));
            continue;
        }
        let read = |path: &Path| fs::read(path).map_err(unreadable(path));
        let (a, b) = (read(&first)?, read(&second)?);
        if a != b {
            let at = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            found.push(format!("{name} differs from byte {at} on"));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
