//! Files that a user or another program names, read whole up to a size.
//!
//! A device such as `/dev/zero` never ends and a pipe may never begin; neither is a file here.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Most bytes of what people write: configurations, plans, keys, criteria. 16 MiB.
pub const SETTINGS: u64 = 16 << 20;
/// Most bytes of what programs write: a file of results, a trace, a checkpoint. 4 GiB.
pub const RESULTS: u64 = 4 << 30;

/// A file of at most `most` bytes, open.
///
/// # Errors
/// If it cannot be read, is no file, or has more bytes.
pub fn open(path: &Path, most: u64) -> io::Result<File> {
    // Asked by name, since opening a pipe waits for a writer.
    let meta = fs::metadata(path)?;
    if !meta.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "this is not a file"));
    }
    if meta.len() > most { Err(too_long(meta.len(), most)) } else { File::open(path) }
}

fn too_long(bytes: u64, most: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("the file has {bytes} bytes, more than {most}"))
}

/// The content of a file of at most `most` bytes.
///
/// # Errors
/// Those of [`open`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // It may have grown since, and files of /proc have no length.
    open(path, most)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > most => Err(too_long(length, most)),
        _ => Ok(bytes),
    }
}

/// [`read`] of UTF-8 text.
///
/// # Errors
/// Those of [`read`], and for what is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "the file is not UTF-8 text"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn devices_and_folders_are_not_files() {
        for path in ["/dev/zero", "/dev/null", "/"] {
            let error = read(Path::new(path), 100).unwrap_err();
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::InvalidInput, "this is not a file".to_owned()));
        }
    }

    #[test]
    fn a_file_of_more_bytes_is_not_read_and_one_of_as_many_is() {
        let path = std::env::temp_dir().join(format!("ndnweir-files-{}", std::process::id()));
        fs::write(&path, "12345").unwrap();
        let found = (read_text(&path, 5).unwrap(), read(&path, 4).unwrap_err().to_string());
        // Its length is not told.
        let endless = read(Path::new("/proc/self/maps"), 10).unwrap_err().kind();
        fs::remove_file(&path).unwrap();
        assert_eq!(found, ("12345".to_owned(), "the file has 5 bytes, more than 4".to_owned()));
        assert_eq!(endless, ErrorKind::FileTooLarge);
    }
}
