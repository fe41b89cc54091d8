//! The sources of an object's bytes.

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes that can be read at any place, and do not change.
pub trait Source {
    /// How many there are.
    fn size(&self) -> u64;

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// If the bytes cannot be read, or are no longer those that were there at first.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl Source for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.get(start..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A file, read piece by piece.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    path: PathBuf,
    size: u64,
    modified: SystemTime,
}

impl FileSource {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not a regular file: only of such a one any piece can be read at any time.
    pub fn open(path: &Path) -> io::Result<FileSource> {
        // Opening a pipe would block until there is a writer.
        let file = open(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC, Mode::empty())?;
        FileSource::of(file.into(), path)
    }

    /// Standard input: the file that it is, or what comes out of a pipe to its end, kept in a file without a name in
    /// the folder for temporary files.
    ///
    /// # Errors
    /// If it cannot be read or kept.
    pub fn stdin() -> io::Result<FileSource> {
        let input = io::stdin();
        let path = Path::new("standard input");
        let mut file = File::from(input.as_fd().try_clone_to_owned()?);
        if file.metadata()?.is_file() {
            return FileSource::of(file, path);
        }
        let folder = std::env::temp_dir();
        let flags = OFlag::O_TMPFILE | OFlag::O_RDWR | OFlag::O_CLOEXEC;
        let failed = |e: Errno| io::Error::other(format!("cannot be kept in {}: {e}", folder.display()));
        let mut kept = File::from(open(&folder, flags, Mode::S_IRUSR | Mode::S_IWUSR).map_err(failed)?);
        io::copy(&mut file, &mut kept)?;
        FileSource::of(kept, path)
    }

    fn of(file: File, path: &Path) -> io::Result<FileSource> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            let message = "not a regular file; only a file that can be read anywhere at any time can be published";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (size, modified) = (metadata.len(), metadata.modified()?);
        Ok(FileSource { file, path: path.to_owned(), size, modified })
    }

    /// When it was last changed, in microseconds since the Unix epoch: the conventional version number.
    pub fn modified_micros(&self) -> u64 {
        let since = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn is_changed(&self, now: &Metadata) -> bool {
        now.len() != self.size || now.modified().ok() != Some(self.modified)
    }
}

impl Source for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let read = self.file.read_exact_at(buffer, offset);
        // Checked after reading, so that a change before or during it is detected.
        if self.is_changed(&self.file.metadata()?) {
            let path = self.path.display();
            let message = format!("{path} was changed while it is published; publish it again as a new version");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        read
    }
}
