//! The records of a state file, of which any may be damaged.

use ndnweir_wire::packet::MAX_PACKET_SIZE;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Lengths of what comes before the content, of the content, of what comes after, and of the digest.
pub(super) const LENGTHS: usize = 8;
/// The bytes that tell a record: its lengths, and the type and length of its packet, which have to agree with them.
const START: usize = LENGTHS + 4;
/// TLV-TYPE of Data.
const DATA: u8 = 6;
/// Bytes read at a time; more than any record.
const CHUNK: usize = 64 << 10;

/// What was found between the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where the last record ends, in bytes from the begin of the file.
    pub(super) end: u64,
    /// Gaps between records, and one behind the last.
    pub(super) gaps: u64,
}

/// The lengths of the record that begins here, if one may.
fn lengths(start: &[u8]) -> Option<[usize; 4]> {
    let [a, b, c, d, e, f, g, h, DATA, len, high, low] = *start.get(..START)? else { return None };
    let lengths = [[a, b], [c, d], [e, f], [g, h]].map(|bytes| usize::from(u16::from_be_bytes(bytes)));
    let [before, content, after, digest] = lengths;
    let (header, value) = match len {
        0..=252 => (2, usize::from(len)),
        253 => (4, usize::from(u16::from_be_bytes([high, low]))),
        _ => return None,
    };
    let packet = before + content + after;
    let whole = packet == header + value && packet <= MAX_PACKET_SIZE && before >= header;
    (whole && matches!(digest, 0 | 32)).then_some(lengths)
}

/// Part of a file in memory.
struct Window<'a> {
    file: &'a File,
    /// Bytes of the file.
    len: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// So many bytes from here on, fewer at the end of the file.
    fn at(&mut self, offset: u64, most: usize) -> io::Result<&[u8]> {
        let left = |most: usize| usize::try_from(self.len.saturating_sub(offset)).map_or(most, |left| left.min(most));
        let (most, chunk) = (left(most), left(CHUNK));
        if offset < self.start || offset + most as u64 > self.start + self.bytes.len() as u64 {
            self.bytes.resize(chunk, 0);
            self.file.read_exact_at(&mut self.bytes, offset)?;
            self.start = offset;
        }
        let from = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        Ok(self.bytes.get(from..from.saturating_add(most)).unwrap_or_default())
    }
}

/// Reads the records of a file from `start` on. Where there is none, the next is looked for: damage costs the records that
/// it is in. The work is proportional to the length of the file, whatever is in it.
///
/// # Errors
/// Of the file.
pub(super) fn read(file: &File, start: u64, mut each: impl FnMut([usize; 4], &[u8])) -> io::Result<Found> {
    let len = file.metadata()?.len();
    let mut window = Window { file, len, start, bytes: Vec::new() };
    let (mut at, mut found) = (start, Found { end: start, gaps: 0 });
    while at < len {
        let Some(lengths @ [before, _, after, digest]) = lengths(window.at(at, START)?) else {
            at += 1;
            continue;
        };
        let size = LENGTHS + before + after + digest;
        let bytes = window.at(at, size + START)?;
        let Some((record, next)) = bytes.split_at_checked(size) else {
            at += 1;
            continue;
        };
        found.gaps += u64::from(at > found.end);
        each(lengths, &record[LENGTHS..]);
        // Where no other follows, the lengths themselves may be what is damaged.
        let follows = next.len() < START || self::lengths(next).is_some();
        found.end = at + (if follows { size } else { size - digest }) as u64;
        at += if follows { size as u64 } else { 1 };
    }
    found.gaps += u64::from(len > found.end);
    Ok(found)
}
