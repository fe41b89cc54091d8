//! Packets extracted from a byte stream (TCP, Unix sockets): NDN puts its TLV elements one after the other.

use ndnweir_wire::packet::{MAX_PACKET_SIZE, frame_len};

/// The largest frame taken from a stream: a full packet with a full link header around it.
pub const MAX_FRAME: usize = MAX_PACKET_SIZE + 1024;

/// Why a stream cannot be read any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// A type or length that TLV does not allow.
    #[error("the stream does not hold TLV elements: {0}")]
    Malformed(String),
    /// An element larger than [`MAX_FRAME`].
    #[error("an element of {0} bytes, more than the {MAX_FRAME} that a packet can have")]
    TooLong(u64),
}

/// Collects bytes and returns whole frames. It never holds more than was read and not yet returned.
#[derive(Debug, Default)]
pub struct Deframer {
    buffer: Vec<u8>,
    taken: usize,
}

impl Deframer {
    /// An empty one.
    pub fn new() -> Deframer {
        Deframer::default()
    }

    /// Adds bytes read from the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken == self.buffer.len() {
            self.buffer.clear();
            self.taken = 0;
        } else if self.taken >= MAX_FRAME {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame.
    ///
    /// # Errors
    /// If the stream cannot be read any further; the connection must be closed.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, FramingError> {
        let rest = &self.buffer[self.taken..];
        let Some(len) = frame_len(rest).map_err(|e| FramingError::Malformed(e.to_string()))? else { return Ok(None) };
        if len > MAX_FRAME as u64 {
            return Err(FramingError::TooLong(len));
        }
        let len = len as usize;
        if rest.len() < len {
            return Ok(None);
        }
        let start = self.taken;
        self.taken += len;
        Ok(Some(&self.buffer[start..start + len]))
    }

    /// Frees memory that a burst needed.
    pub fn trim(&mut self) {
        if self.taken == self.buffer.len() && self.buffer.capacity() > 2 * MAX_FRAME {
            *self = Deframer::new();
        }
    }

    /// Bytes read that no frame has taken yet.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn element(typ: u8, len: usize) -> Vec<u8> {
        let mut bytes = vec![typ, 253, (len >> 8) as u8, len as u8];
        bytes.extend(std::iter::repeat_n(7, len));
        bytes
    }

    #[test]
    fn an_element_longer_than_a_packet_ends_the_stream_before_it_is_waited_for() {
        let mut deframer = Deframer::new();
        deframer.push(&[6, 254, 0, 1, 0, 0]);
        assert_eq!(deframer.next_frame(), Err(FramingError::TooLong(6 + 65536)));
    }

    proptest! {
        #[test]
        fn frames_come_out_whole_however_the_stream_is_cut(
            lens in prop::collection::vec(253usize..2000, 1..20),
            cuts in prop::collection::vec(1usize..700, 1..80),
        ) {
            let frames: Vec<Vec<u8>> = lens.iter().map(|&len| element(6, len)).collect();
            let stream = frames.concat();
            let mut deframer = Deframer::new();
            let mut out = Vec::new();
            let mut at = 0;
            for cut in cuts.iter().cycle() {
                let end = (at + cut).min(stream.len());
                deframer.push(&stream[at..end]);
                while let Some(frame) = deframer.next_frame().unwrap() {
                    out.push(frame.to_vec());
                }
                at = end;
                if at == stream.len() {
                    break;
                }
            }
            prop_assert_eq!(out, frames);
            prop_assert_eq!(deframer.pending(), 0);
        }
    }
}
