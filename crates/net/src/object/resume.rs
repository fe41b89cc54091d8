//! What an interrupted fetch leaves, so that a later one goes on where it ended.

use super::ranges::Ranges;
use ndnweir_wire::Name;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Why a fetch cannot go on with what is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The version is no longer the same.
    #[error("{} holds a part of {there}, but {wanted} is to be fetched; --restart begins anew", path.display())]
    Version {
        /// The state file.
        path: PathBuf,
        /// What is there.
        there: String,
        /// What is wanted.
        wanted: String,
    },
    /// What is there was accepted under other rules.
    #[error("{} was fetched with --trust {there}, not {wanted}; --restart begins anew", path.display())]
    Trust {
        /// The state file.
        path: PathBuf,
        /// The trust then.
        there: String,
        /// The trust now.
        wanted: String,
    },
    /// The state file makes no sense.
    #[error("{}: {problem}; --restart begins anew", path.display())]
    Damaged {
        /// The state file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Another fetch writes the same file.
    #[error("{}: another fetch is writing this file", .0.display())]
    InUse(PathBuf),
    /// Not every segment is there.
    #[error("{}: not all of it was fetched", .0.display())]
    Incomplete(PathBuf),
}

/// What `FILE.part.state` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    /// Always [`FORMAT`].
    format: String,
    /// The versioned name.
    object: String,
    /// Under which trust the segments were accepted.
    trust: String,
    /// Bytes of every segment but the last, once known.
    pub(super) segment_size: Option<u64>,
    /// The last segment, once known.
    pub(super) last: Option<u64>,
    /// Bytes of the whole object, once known.
    pub(super) length: Option<u64>,
    /// First segment of each range received, and the one after its last.
    received: Vec<(u64, u64)>,
}

const FORMAT: &str = "ndnweir partial object 1";

impl Kept {
    pub(super) fn new(object: &Name, trust: &str) -> Kept {
        Kept {
            format: FORMAT.into(),
            object: object.to_string(),
            trust: trust.into(),
            segment_size: None,
            last: None,
            length: None,
            received: Vec::new(),
        }
    }

    pub(super) fn ranges(&self) -> Ranges {
        Ranges::from_pairs(&self.received).unwrap_or_default()
    }

    pub(super) fn set_ranges(&mut self, ranges: &Ranges) {
        self.received = ranges.iter().collect();
    }

    /// What the file says, if there is one; it must continue `fresh` and fit a part of `len` bytes.
    pub(super) fn read(path: &Path, fresh: &Kept, len: u64) -> Result<Option<Kept>, ResumeError> {
        let damaged = |problem: String| ResumeError::Damaged { path: path.into(), problem };
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|error| damaged(error.to_string()))?,
        };
        let kept = Kept::decode(&text).map_err(damaged)?;
        if kept.object != fresh.object {
            let (there, wanted) = (kept.object, fresh.object.clone());
            return Err(ResumeError::Version { path: path.into(), there, wanted });
        }
        if kept.trust != fresh.trust {
            let (there, wanted) = (kept.trust, fresh.trust.clone());
            return Err(ResumeError::Trust { path: path.into(), there, wanted });
        }
        match kept.stored_end() {
            Some(end) if end <= len => Ok(Some(kept)),
            _ => Err(damaged(format!("it speaks of more than the {len} bytes that are there"))),
        }
    }

    /// Reads the text of a state file.
    pub(super) fn decode(text: &[u8]) -> Result<Kept, String> {
        let kept: Kept = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        if kept.format != FORMAT {
            return Err(format!("its format is {:?}, not {FORMAT:?}", kept.format));
        }
        let ranges = Ranges::from_pairs(&kept.received).ok_or("its ranges do not ascend")?;
        let beyond = kept.last.is_some_and(|last| ranges.end() > last.saturating_add(1));
        let size_missing = ranges.count() > 0 && kept.segment_size.is_none();
        let last_there = kept.last.is_some_and(|last| ranges.contains(last));
        if beyond || size_missing || (last_there != kept.length.is_some()) {
            return Err("it contradicts itself".into());
        }
        Ok(kept)
    }

    /// Where the content ends that is said to be there; none if that is beyond all bounds.
    fn stored_end(&self) -> Option<u64> {
        match self.length {
            Some(length) => Some(length),
            None => self.ranges().end().checked_mul(self.segment_size.unwrap_or(0)),
        }
    }

    /// Replaces the file in one step.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let fill = |mut file: File| {
            file.write_all(&serde_json::to_vec(self)?)?;
            file.sync_all()?;
            fs::rename(&beside, path)
        };
        let written = File::create(&beside).and_then(fill);
        if written.is_err() {
            // The one that was there stays, and says less than is true.
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

/// A thread that keeps progress, so that fetching does not wait for the disk.
#[derive(Debug)]
pub(super) struct Saver {
    state: PathBuf,
    work: Option<(SyncSender<Kept>, JoinHandle<()>)>,
}

impl Saver {
    /// A saver of what is in `part`.
    pub(super) fn new(part: File, state: PathBuf) -> Saver {
        let (sender, receiver) = sync_channel::<Kept>(1);
        let path = state.clone();
        let thread = std::thread::spawn(move || {
            for kept in receiver {
                // First the content, then what speaks of it. A failure shows when the next segment is written, or at the end.
                let _ = part.sync_data().and_then(|()| kept.write(&path));
            }
        });
        Saver { state, work: Some((sender, thread)) }
    }

    /// Keeps progress soon; if the disk is still busy with earlier progress, not at all.
    pub(super) fn save(&self, kept: Kept) {
        if let Some((sender, _)) = &self.work {
            let _ = sender.try_send(kept);
        }
    }

    /// Waits until nothing is being written, and says where the state file is.
    pub(super) fn finish(&mut self) -> PathBuf {
        if let Some((sender, thread)) = self.work.take() {
            drop(sender);
            // It does not panic; and if it did, there is nothing to wait for.
            let _ = thread.join();
        }
        self.state.clone()
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.finish();
    }
}
