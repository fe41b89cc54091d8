//! Stores fetched segments: at their place in a file, or in order into a stream.

use super::ranges::Ranges;
use super::resume::{Record, ResumeError, ResumeState, State, open_own};
use super::trust::{Trust, Verification};
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::{DataView, Name};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Why a segment or file could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The system rejected.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: io::Error,
    },
    /// The stream rejected.
    #[error("{0}")]
    Stream(io::Error),
    /// A file cannot be written in pieces of differing size.
    #[error(
        "segment {segment} has {found} bytes, others have {expected}: such an object can only be written in order; leave out -o"
    )]
    Uneven {
        /// The segment.
        segment: u64,
        /// Its bytes.
        found: usize,
        /// The bytes of those before.
        expected: u64,
    },
    /// The state of an earlier fetch cannot be continued.
    #[error("{0}")]
    Resume(#[from] ResumeError),
}

/// Takes segments as they arrive, in any order, each once.
pub trait Sink {
    /// Stores a segment; `last` is the number of the object's last segment, once it is known.
    ///
    /// # Errors
    /// [`SinkError`]; what was stored before stays.
    fn put(&mut self, segment: u64, content: &[u8], last: Option<u64>) -> Result<(), SinkError>;

    /// Stores a segment with what a later fetch needs to check it again; `checked` is what its signature showed.
    ///
    /// # Errors
    /// As [`Sink::put`].
    fn put_packet(
        &mut self,
        segment: u64,
        data: &DataView<'_>,
        _checked: Verification,
        last: Option<u64>,
    ) -> Result<(), SinkError> {
        self.put(segment, data.content(), last)
    }

    /// Called periodically, for work that can wait.
    fn tick(&mut self, _now: Time) {}

    /// Every segment was put: completes what is stored.
    ///
    /// # Errors
    /// [`SinkError`]; an incomplete object is then not presented as whole.
    fn finish(self: Box<Self>) -> Result<(), SinkError>;

    /// The fetch ended early: saves what is stored for a later one, if that is possible.
    ///
    /// # Errors
    /// [`SinkError`].
    fn save_partial(self: Box<Self>) -> Result<(), SinkError>;
}

/// Counts and forgets.
#[derive(Debug, Default)]
pub struct NullSink;

impl Sink for NullSink {
    fn put(&mut self, _: u64, _: &[u8], _: Option<u64>) -> Result<(), SinkError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), SinkError> {
        Ok(())
    }

    fn save_partial(self: Box<Self>) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Writes in order; holds what is early, which the fetcher's window bounds.
#[derive(Debug)]
pub struct StreamSink<W> {
    out: W,
    next: u64,
    early: BTreeMap<u64, Vec<u8>>,
}

impl<W: Write> StreamSink<W> {
    /// A sink that writes to `out`.
    pub fn new(out: W) -> StreamSink<W> {
        StreamSink { out, next: 0, early: BTreeMap::new() }
    }
}

impl<W: Write> Sink for StreamSink<W> {
    fn put(&mut self, segment: u64, content: &[u8], _last: Option<u64>) -> Result<(), SinkError> {
        if segment != self.next {
            self.early.insert(segment, content.to_vec());
            return Ok(());
        }
        self.out.write_all(content).map_err(SinkError::Stream)?;
        self.next += 1;
        while let Some(content) = self.early.remove(&self.next) {
            self.out.write_all(&content).map_err(SinkError::Stream)?;
            self.next += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), SinkError> {
        self.out.flush().map_err(SinkError::Stream)
    }

    fn save_partial(self: Box<Self>) -> Result<(), SinkError> {
        self.finish()
    }
}

/// How often progress is kept for a later fetch that continues.
const SAVE_INTERVAL: Duration = Duration::from_millis(1000);

/// Writes each segment to its place in `FILE.part`, which becomes `FILE` when it is whole.
///
/// `FILE.part.state` has what else the packets consisted of, with which a later fetch checks the content again.
#[derive(Debug)]
pub struct FileSink {
    target: PathBuf,
    part: PathBuf,
    file: File,
    kept: ResumeState,
    /// The last segment, if it came before any that tells its place.
    held: Option<(u64, Vec<u8>, Option<Record>)>,
    state: State,
    /// What belongs to the content that is being stored.
    record: Option<Record>,
    saved: (Time, u64),
}

/// Bytes kept free for the state file, whatever the file system's block size.
const STATE_FILE_ROOM: u64 = 256 << 10;

/// Whether there is no room on the disk.
fn is_full(problem: &io::Error) -> bool {
    matches!(problem.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Where the content of `target` is until the fetch is complete, and its state.
pub fn partial_files(target: &Path) -> [PathBuf; 2] {
    [".part", ".part.state"].map(|ending| {
        let mut name = target.as_os_str().to_owned();
        name.push(ending);
        name.into()
    })
}

impl FileSink {
    /// Opens `FILE.part` for the object, and continues with what an earlier fetch left there unless `restart`: all that
    /// is unchanged, and signed as `trust` demands.
    ///
    /// # Errors
    /// [`SinkError`] if it belongs to something else, is in use, or cannot be written.
    pub fn open(target: &Path, object: &Name, trust: &Trust, restart: bool) -> Result<FileSink, SinkError> {
        let [part, state] = partial_files(target);
        let file = open_own(&part).map_err(|problem| SinkError::File { path: part.clone(), problem })?;
        file.try_lock().map_err(|_| ResumeError::InUse(part.clone()))?;
        let (state, kept) = State::open(state, &file, (object, trust), restart)?;
        let saved = (Time::ZERO, kept.received.count());
        Ok(FileSink { target: target.into(), part, file, kept, held: None, state, record: None, saved })
    }

    /// The segments that are stored.
    pub fn received(&self) -> &Ranges {
        &self.kept.received
    }

    /// The segments that an earlier fetch had stored and that have changed since.
    pub fn changed_segments(&self) -> &Ranges {
        &self.kept.damaged
    }

    /// Places of the state file where no record can be read, of whatever segments.
    pub fn unread_records(&self) -> u64 {
        self.kept.unread
    }

    /// Bytes of content that are stored.
    pub fn stored_bytes(&self) -> u64 {
        let size = self.kept.segment_size.unwrap_or(0);
        // Of the last segment as many as it has.
        let short = self.kept.length.zip(self.kept.last).map_or(0, |(length, last)| (last + 1) * size - length);
        self.kept.received.count() * size - short
    }

    /// The last segment, if an earlier fetch learnt it.
    pub fn last_segment(&self) -> Option<u64> {
        self.kept.last
    }

    fn error(&self, problem: io::Error) -> SinkError {
        SinkError::File { path: self.part.clone(), problem }
    }

    /// On a full disk the end of the content is overwritten to make room for the state. The record of that end is then
    /// wrong, which the next fetch detects.
    fn make_room_for_state(&mut self) -> io::Result<()> {
        self.file.set_len(self.file.metadata()?.len().saturating_sub(STATE_FILE_ROOM))?;
        self.file.sync_data()
    }

    fn place(&mut self, segment: u64, content: &[u8], size: u64, record: Option<&Record>) -> Result<(), SinkError> {
        let offset = segment.checked_mul(size).ok_or_else(|| self.error(io::ErrorKind::FileTooLarge.into()))?;
        self.file.write_all_at(content, offset).map_err(|problem| self.error(problem))?;
        self.kept.received.insert(segment);
        match record.map(|record| self.state.note(record)) {
            Some(Err(problem)) => Err(SinkError::File { path: self.state.path.clone(), problem }),
            _ => Ok(()),
        }
    }
}

impl SinkError {
    /// Whether there is no room for more content, so that the same fetch can continue when there is.
    pub fn is_out_of_space(&self) -> bool {
        match self {
            SinkError::File { problem, .. } => is_full(problem) || problem.kind() == io::ErrorKind::FileTooLarge,
            _ => false,
        }
    }
}

impl Sink for FileSink {
    fn put(&mut self, segment: u64, content: &[u8], last: Option<u64>) -> Result<(), SinkError> {
        let record = self.record.take();
        self.kept.last = last.or(self.kept.last);
        let last = self.kept.last == Some(segment);
        let size = match self.kept.segment_size {
            Some(size) => size,
            None if last && segment > 0 => {
                self.held = Some((segment, content.to_vec(), record));
                return Ok(());
            }
            None => *self.kept.segment_size.insert(content.len() as u64),
        };
        let len = content.len() as u64;
        if (!last && len != size) || len > size {
            return Err(SinkError::Uneven { segment, found: content.len(), expected: size });
        }
        self.place(segment, content, size, record.as_ref())?;
        if last {
            self.kept.length = Some(segment * size + len);
        }
        match self.held.take() {
            Some((segment, content, record)) => {
                self.record = record;
                self.put(segment, &content, None)
            }
            None => Ok(()),
        }
    }

    fn put_packet(
        &mut self,
        segment: u64,
        data: &DataView<'_>,
        checked: Verification,
        last: Option<u64>,
    ) -> Result<(), SinkError> {
        self.record = Some(Record::new(data, checked));
        self.put(segment, data.content(), last)
    }

    fn tick(&mut self, now: Time) {
        let count = self.kept.received.count();
        if count != self.saved.1 && now.since(self.saved.0) >= SAVE_INTERVAL {
            // A failure shows when the next segment is written, or at the end.
            let _ = self.state.flush();
            self.saved = (now, count);
        }
    }

    fn save_partial(mut self: Box<Self>) -> Result<(), SinkError> {
        self.file.sync_data().map_err(|problem| self.error(problem))?;
        let mut written = self.state.sync();
        if written.as_ref().is_err_and(is_full) {
            self.make_room_for_state().map_err(|problem| self.error(problem))?;
            written = self.state.sync();
        }
        written.map_err(|problem| SinkError::File { path: self.state.path.clone(), problem })
    }

    fn finish(self: Box<Self>) -> Result<(), SinkError> {
        let complete = self.kept.last.is_some_and(|last| self.kept.received.count() == last + 1);
        let length = self.kept.length.filter(|_| complete).ok_or_else(|| ResumeError::Incomplete(self.part.clone()))?;
        self.file.set_len(length).map_err(|problem| self.error(problem))?;
        self.file.sync_all().map_err(|problem| self.error(problem))?;
        let rename = fs::rename(&self.part, &self.target);
        rename.map_err(|problem| SinkError::File { path: self.target.clone(), problem })?;
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
        // The file is complete under its name; the rest removes the state, and makes the new name durable.
        let _ = fs::remove_file(&self.state.path);
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(())
    }
}
