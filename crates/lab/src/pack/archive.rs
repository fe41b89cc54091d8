//! The archive of a pack, written and read.

use super::{INPUTS, MANIFEST, RESULTS, inside};
use crate::results::Error;
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};

/// Most bytes of all files of a pack.
pub const MAX_BYTES: u64 = 4 << 30;
/// Most files of a pack.
pub const MAX_FILES: usize = 100_000;

/// A file of a pack.
#[derive(Clone, Debug)]
pub enum Entry {
    /// With this content.
    Text(String),
    /// With the content of this file.
    File(PathBuf),
}

fn too_much(path: &Path, remedy: &'static str) -> Error {
    let what = format!("more than {MAX_FILES} files or {} GiB", MAX_BYTES >> 30);
    Error::Damaged { path: path.display().to_string(), what, remedy }
}

/// Writes an archive of these files, by their paths with `/`, below a folder `top`. A file that exists is left alone.
///
/// # Errors
/// [`Error::Io`], also for a file that exists, and [`Error::Damaged`] if there is too much. The archive is removed then.
pub fn pack(archive: &Path, top: &str, mut files: Vec<(String, Entry)>) -> Result<(), Error> {
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let reject = |path: &Path, remedy| {
        let path = path.display().to_string();
        move |source| Error::Io { path, source, remedy }
    };
    let file = File::create_new(archive).map_err(reject(archive, "name another file, or delete it"))?;
    let written = write(archive, top, &files, file);
    if written.is_err() {
        let _ = fs::remove_file(archive);
    }
    written
}

fn write(archive: &Path, top: &str, files: &[(String, Entry)], file: File) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| Error::Io { path, source, remedy: "check that it can be read, and that the disk has room" }
    };
    let gzip = GzBuilder::new().write(BufWriter::new(file), Compression::default());
    let mut tar = tar::Builder::new(gzip);
    let mut left = MAX_BYTES;
    if files.len() > MAX_FILES {
        return Err(too_much(archive, "vary less, and pack the parts"));
    }
    for (name, entry) in files {
        let source = match entry {
            Entry::Text(_) => Path::new(name),
            Entry::File(path) => path,
        };
        let (size, content): (u64, Box<dyn Read>) = match entry {
            Entry::Text(text) => (text.len() as u64, Box::new(text.as_bytes())),
            Entry::File(path) => {
                let file = File::open(path).map_err(failed(path))?;
                (file.metadata().map_err(failed(path))?.len(), Box::new(BufReader::new(file)))
            }
        };
        left = left.checked_sub(size).ok_or_else(|| too_much(archive, "vary less, and pack the parts"))?;
        // The POSIX form, without extensions: its paths of up to 255 bytes are enough, and its readers need no more memory.
        let mut header = tar::Header::new_ustar();
        header.set_path(format!("{top}/{name}")).map_err(failed(source))?;
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        // A file that grows meanwhile is cut, one that shrinks is an error.
        let mut content = content.take(size);
        tar.append(&header, &mut content).map_err(failed(source))?;
        if content.limit() > 0 {
            return Err(failed(source)(io::ErrorKind::UnexpectedEof.into()));
        }
    }
    let gzip = tar.into_inner().map_err(failed(archive))?;
    gzip.finish().and_then(|mut file| io::Write::flush(&mut file)).map_err(failed(archive))
}

/// Where a pack may have files: the three beside the folders, and anything in these.
fn belongs(name: &str) -> bool {
    let in_folder = |folder: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    [MANIFEST, "README.md", "Cargo.lock"].contains(&name) || in_folder(INPUTS) || in_folder(RESULTS)
}

/// Unpacks an archive from anywhere into a new folder. Nothing is written outside of it, nothing but files is made, and
/// no more than [`MAX_FILES`] of [`MAX_BYTES`]; the folder is removed if anything is wrong.
///
/// # Errors
/// [`Error::Damaged`] for an archive that is no pack, or is damaged; [`Error::Io`].
pub fn unpack(archive: &Path, folder: &Path) -> Result<(), Error> {
    let shown = |path: &Path| path.display().to_string();
    let file = File::open(archive).map_err(|source| Error::Io {
        path: shown(archive),
        source,
        remedy: "name an archive of `ndnweir pack`",
    })?;
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(|source| Error::Io {
            path: shown(parent),
            source,
            remedy: "name another folder",
        })?;
    }
    fs::create_dir(folder).map_err(|source| Error::Io {
        path: shown(folder),
        source,
        remedy: "name a new folder with --out",
    })?;
    let read = read(archive, BufReader::new(file), folder);
    if read.is_err() {
        let _ = fs::remove_dir_all(folder);
    }
    read
}

fn read(archive: &Path, file: impl Read, folder: &Path) -> Result<(), Error> {
    let damaged = |what: String| Error::Damaged {
        path: archive.display().to_string(),
        what,
        remedy: "get it again from whoever made it; `ndnweir pack` writes such archives",
    };
    let broken = |error: io::Error| damaged(format!("no gzip-compressed tar archive, or a damaged one: {error}"));
    // Headers, paths and padding are more than the files, by less than this.
    let most = MAX_BYTES + 4096 * MAX_FILES as u64;
    let mut tar = tar::Archive::new(GzDecoder::new(file).take(most));
    let (mut top, mut known, mut left) = (None, BTreeSet::new(), MAX_BYTES);
    // Raw: extensions such as long names, which are read into memory whole, are entries that are no files.
    for entry in tar.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        let odd = |what: &str| damaged(format!("the entry {path:?} {what}: this is no pack"));
        if entry.header().entry_type() != tar::EntryType::Regular {
            return Err(odd("is not a file"));
        }
        let Some(name) = inside(&path) else { return Err(odd("leads elsewhere")) };
        let Some((first, name)) = name.split_once('/') else { return Err(odd("is in no folder")) };
        if *top.get_or_insert_with(|| first.to_owned()) != first || !belongs(name) {
            return Err(odd("does not belong to it"));
        }
        if !known.insert(name.to_owned()) {
            return Err(odd("is there twice"));
        }
        left = left.checked_sub(entry.size()).filter(|_| known.len() <= MAX_FILES).ok_or_else(|| {
            too_much(archive, "do not use it, or unpack it by hand and give the command in its README.md")
        })?;
        let target = folder.join(name);
        let failed = |source| Error::Io {
            path: target.display().to_string(),
            source,
            remedy: "check that the disk has room, or name another folder with --out",
        };
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file = File::create_new(&target).map_err(failed)?;
        let size = entry.size();
        match io::copy(&mut entry, &mut file) {
            Ok(copied) if copied == size => {}
            Ok(_) => return Err(broken(io::ErrorKind::UnexpectedEof.into())),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(failed(error)),
            Err(error) => return Err(broken(error)),
        }
    }
    if !known.contains(MANIFEST) {
        return Err(damaged(format!("there is no {MANIFEST} in it")));
    }
    // An archive that ends early may end between two files; the compression has a checksum at its end.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(broken)?;
    Ok(())
}
