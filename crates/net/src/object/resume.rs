//! The state of an interrupted fetch, with which a later one continues.
//!
//! In addition to the content, `FILE.part.state` stores the rest of each packet. So every packet can be
//! reassembled and its signature checked as if it had just arrived: neither content that was changed on the disk nor a
//! forged record counts for more than a packet from the network.

use super::naming;
use super::ranges::Ranges;
use super::records::{self, LENGTHS};
use super::trust::{Trust, Verification};
use ndnweir_wire::packet::MAX_PACKET_SIZE;
use ndnweir_wire::signature::sha256;
use ndnweir_wire::{DataView, Name};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a fetch cannot continue with the stored part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The version is no longer the same.
    #[error("{} holds a part of {there}, but {wanted} is to be fetched; --restart starts over", path.display())]
    Version {
        /// The state file.
        path: PathBuf,
        /// What was found.
        there: String,
        /// What is wanted.
        wanted: String,
    },
    /// The stored segments were accepted under other rules.
    #[error("{} was fetched with --trust {there}, not {wanted}; --restart starts over", path.display())]
    Trust {
        /// The state file.
        path: PathBuf,
        /// The trust then.
        there: String,
        /// The trust now.
        wanted: String,
    },
    /// The state file is malformed.
    #[error("{}: {problem}; --restart starts over", path.display())]
    Damaged {
        /// The state file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The state file cannot be opened.
    #[error("{}: {problem}", path.display())]
    File {
        /// The state file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Another fetch writes the same file.
    #[error("{}: another fetch is writing this file", .0.display())]
    InUse(PathBuf),
    /// Segments are missing.
    #[error("{}: not all of it was fetched", .0.display())]
    Incomplete(PathBuf),
}

/// The first line of the state file, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// Always [`FORMAT`].
    format: String,
    /// The versioned name.
    object: String,
    /// Under which trust the segments were accepted.
    trust: String,
}

const FORMAT: &str = "ndnweir partial object 2";
/// The longest first line: a name of the largest packet, in its text form.
const MAX_HEAD: u64 = 4 * MAX_PACKET_SIZE as u64;

/// Opens a file of our own beside the target, made if it is not there. Other users can write in folders such as `/tmp`:
/// links and files of others are rejected.
pub(super) fn open_own(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let rejected = |what: &str| io::Error::other(format!("{what}; remove it, or name another file with -o"));
    let file = match open(path, flags, Mode::from_bits_truncate(0o666)) {
        Err(Errno::ELOOP) => return Err(rejected("is a symbolic link, which is not followed")),
        result => File::from(result?),
    };
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(rejected("is not a regular file"));
    }
    if about.uid() != geteuid().as_raw() {
        return Err(rejected("belongs to another user"));
    }
    if about.nlink() != 1 {
        return Err(rejected("has another name elsewhere (a hard link)"));
    }
    Ok(file)
}

/// A packet without its content: what came before and after it. The implicit digest stands in where the signature was
/// not checked, so that a change is still noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record(Vec<u8>);

impl Record {
    pub(super) fn new(data: &DataView<'_>, checked: Verification) -> Record {
        let (wire, content) = (data.wire(), data.content());
        // An empty content may be absent, and then lies nowhere in the packet.
        let start = if content.is_empty() { wire.len() } else { content.as_ptr().addr() - wire.as_ptr().addr() };
        let (before, after) = (&wire[..start], &wire[start + content.len()..]);
        let digest = if checked == Verification::Nothing { &data.implicit_digest()[..] } else { &[] };
        let parts = [before.len(), content.len(), after.len(), digest.len()];
        let mut record = Vec::with_capacity(LENGTHS + before.len() + after.len() + digest.len());
        // A packet has at most 8800 bytes.
        record.extend(parts.iter().flat_map(|len| u16::try_from(*len).unwrap_or(u16::MAX).to_be_bytes()));
        record.extend([before, after, digest].concat());
        Record(record)
    }
}

/// What is stored and valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResumeState {
    /// Segments whose packets are whole and signed as demanded.
    pub(super) received: Ranges,
    /// Bytes of every segment but the last, once known.
    pub(super) segment_size: Option<u64>,
    /// The last segment, once known.
    pub(super) last: Option<u64>,
    /// Bytes of the whole object, once known.
    pub(super) length: Option<u64>,
    /// Recorded segments that have changed since.
    pub(super) damaged: Ranges,
    /// Damaged places of the state file: records of which it cannot be told what segments they stood for.
    pub(super) unread: u64,
}

/// What a record is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checked {
    /// It says which segment it stands for, and whether that is valid.
    Read,
    /// It is the last segment's, whose place is only known with the size of the others.
    TooEarly,
    /// It says nothing of use.
    Unread,
}

impl ResumeState {
    /// Adds the packet of a record if its content is in `part` and its signature is valid.
    fn check(&mut self, lengths: [usize; 4], rest: &[u8], part: &File, object: &Name, trust: &Trust) -> Checked {
        let [before, content, after, _] = lengths;
        let (head, rest) = rest.split_at(before);
        let (tail, digest) = rest.split_at(after);
        // The name is in the part before the content, which needs not be there to read it.
        let mut packet = [head, &vec![0; content], tail].concat();
        let Ok(view) = DataView::decode(&packet) else { return Checked::Unread };
        let Some(segment) = naming::segment_of(object.as_view(), view.name()) else { return Checked::Unread };
        let last = view.final_block_id().and_then(|last| last.as_segment()).or(self.last);
        let size = match self.segment_size {
            Some(size) => size,
            None if last == Some(segment) && segment > 0 => return Checked::TooEarly,
            None => content as u64,
        };
        let is_last = last == Some(segment);
        let fits = last.is_none_or(|last| segment <= last) && self.last.is_none_or(|known| last == Some(known));
        if !fits || (is_last && content as u64 > size) || (!is_last && content as u64 != size) {
            return Checked::Unread;
        }
        let found =
            segment.checked_mul(size).map(|offset| part.read_exact_at(&mut packet[before..][..content], offset));
        let right = matches!(found, Some(Ok(())))
            && DataView::decode(&packet).is_ok_and(|data| match trust.check(&data) {
                Ok(Verification::Nothing) => sha256(&[&packet]) == *digest,
                checked => checked.is_ok(),
            });
        if !right {
            // Beside a valid record of the segment it is the record that has changed, perhaps in the segment's number.
            if self.received.contains(segment) {
                return Checked::Unread;
            }
            self.damaged.insert(segment);
            return Checked::Read;
        }
        (self.segment_size, self.last) = (Some(size), last);
        if self.damaged.contains(segment) {
            self.damaged.remove(segment);
            self.unread += 1;
        }
        self.received.insert(segment);
        if is_last {
            self.length = Some(segment * size + content as u64);
        }
        Checked::Read
    }
}

/// `FILE.part.state`: written at its end only, so that an interruption at any point leaves what was there.
#[derive(Debug)]
pub(super) struct State {
    pub(super) path: PathBuf,
    out: BufWriter<File>,
}

impl State {
    /// Opens the file; checks which segments in `part` are valid, or starts over.
    pub(super) fn open(
        path: PathBuf,
        part: &File,
        (object, trust): (&Name, &Trust),
        restart: bool,
    ) -> Result<(State, ResumeState), ResumeError> {
        let damaged = |problem: String| ResumeError::Damaged { path: path.clone(), problem };
        let failed = |problem: io::Error| ResumeError::File { path: path.clone(), problem: problem.to_string() };
        let mut file = open_own(&path).map_err(failed)?;
        let fresh = Head { format: FORMAT.into(), object: object.to_string(), trust: trust.fingerprint() };
        let mut kept = ResumeState::default();
        if restart {
            file.set_len(0).map_err(failed)?;
        }
        if file.metadata().map_err(failed)?.len() > 0 {
            let mut input = BufReader::new(&file);
            let mut line = Vec::new();
            input.by_ref().take(MAX_HEAD).read_until(b'\n', &mut line).map_err(failed)?;
            let head: Head = serde_json::from_slice(&line).map_err(|e| damaged(e.to_string()))?;
            if head.format != FORMAT {
                return Err(damaged(format!("its format is {:?}, not {FORMAT:?}", head.format)));
            }
            if head.object != fresh.object {
                return Err(ResumeError::Version { path, there: head.object, wanted: fresh.object });
            }
            if head.trust != fresh.trust {
                return Err(ResumeError::Trust { path, there: head.trust, wanted: fresh.trust });
            }
            let mut early = None;
            let found = records::read(&file, line.len() as u64, |lengths, rest| {
                match kept.check(lengths, rest, part, object, trust) {
                    Checked::Read => {}
                    Checked::TooEarly => early = Some((lengths, rest.to_vec())),
                    Checked::Unread => kept.unread += 1,
                }
            });
            let found = found.map_err(failed)?;
            kept.unread += found.gaps;
            if let Some((lengths, rest)) = early {
                let checked = kept.check(lengths, &rest, part, object, trust);
                kept.unread += u64::from(checked != Checked::Read);
            }
            // A record that was cut off is written again.
            file.set_len(found.end).map_err(failed)?;
        }
        if kept.received.count() == 0 {
            part.set_len(0).and_then(|()| file.set_len(0)).and_then(|()| file.rewind()).map_err(failed)?;
            let head = serde_json::to_vec(&fresh).map_err(|e| damaged(e.to_string()))?;
            file.write_all(&[&head, &b"\n"[..]].concat()).map_err(failed)?;
        }
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok((State { path, out: BufWriter::with_capacity(BUFFERED, file) }, kept))
    }

    /// Records a segment whose content was written.
    pub(super) fn note(&mut self, record: &Record) -> io::Result<()> {
        self.out.write_all(&record.0)
    }

    /// Writes the records to the file.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Hands it to the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_data()
    }
}

/// Bytes of records that are not written yet.
const BUFFERED: usize = 64 << 10;
