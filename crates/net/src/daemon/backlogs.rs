//! How much may wait for the readers of streams, of all faces together: here, and in the kernel's send buffers. Both
//! give a face at most what is free, the dynamic threshold of Choudhury and Hahne (1998): a single stalled reader gets
//! half, and many share it evenly.

use super::Daemon;
use super::faces::Transport;
use crate::face::sockets::BUFFER;
use crate::face::stream::StreamLink;
use crate::framing::MAX_FRAME;
use ndnweir_core::units::{Duration, Time};

/// The most bytes that wait for one reader.
const MAX_BACKLOG: usize = 8 << 20;
/// An even share of all may wait for a reader however many others stall, within these bounds: a packet, and what keeps
/// an active reader busy.
const MIN_BACKLOG: (usize, usize) = (MAX_FRAME, 64 << 10);
/// The kernel's send buffer of an on-demand face, in bytes. The kernel doubles it.
const MIN_BUFFER: usize = 16 << 10;
/// Bytes beyond [`MIN_BUFFER`] of all such faces together.
const MAX_EXTRA_BUFFERS: usize = 4 << 20;
/// The initial buffer of such a face, if that much is free.
const FIRST_BUFFER: usize = 128 << 10;
/// For how long a reader may stall before its backlog is dropped in favour of others, when more than a quarter is used.
const STALLED_AFTER: Duration = Duration::from_millis(1000);

/// The bytes in use.
#[derive(Debug)]
pub(super) struct Backlogs {
    limit: usize,
    used: usize,
    /// Of [`MAX_EXTRA_BUFFERS`].
    buffers: usize,
    /// Streams closed because their peers read nothing.
    pub(super) stuck: u64,
}

impl Backlogs {
    pub(super) fn new(limit: u64) -> Backlogs {
        Backlogs { limit: usize::try_from(limit).unwrap_or(usize::MAX), used: 0, buffers: 0, stuck: 0 }
    }

    /// Bytes that wait, of all streams together.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// The limit of one backlog, with this many readers, in bytes.
    pub(super) fn most(&self, readers: usize) -> usize {
        let least = (self.limit / readers.max(1)).clamp(MIN_BACKLOG.0, MIN_BACKLOG.1);
        self.limit.saturating_sub(self.used).clamp(least, MAX_BACKLOG)
    }

    /// The backlog of a stream has changed from `before` to `after` bytes.
    pub(super) fn change(&mut self, before: usize, after: usize) {
        self.used = (self.used + after).saturating_sub(before);
    }

    /// The kernel's buffer of a stream that a peer opens.
    pub(super) fn first_buffer(&mut self) -> usize {
        let more = (FIRST_BUFFER - MIN_BUFFER).min((MAX_EXTRA_BUFFERS - self.buffers) / 4);
        self.buffers += more;
        MIN_BUFFER + more
    }

    /// The buffer of a stream that reads fast and has one of `buffer` bytes.
    pub(super) fn larger_buffer(&mut self, buffer: usize) -> usize {
        let more = buffer.min(BUFFER.saturating_sub(buffer)).min((MAX_EXTRA_BUFFERS - self.buffers) / 2);
        self.buffers += more;
        buffer + more
    }

    /// A stream has ended.
    pub(super) fn give_back(&mut self, stream: &StreamLink) {
        self.change(stream.pending(), 0);
        if !stream.is_dialled() {
            self.give_buffer_back(stream.buffer());
        }
    }

    fn give_buffer_back(&mut self, buffer: usize) {
        self.buffers = self.buffers.saturating_sub(buffer.saturating_sub(MIN_BUFFER));
    }
}

impl Daemon {
    /// Handles stalled readers: a large backlog is dropped, and finally their streams are closed.
    pub(super) fn drop_stalled_backlogs(&mut self, now: Time) {
        let quarter = self.backlogs.limit / 4;
        let mut stuck = Vec::new();
        for (id, face) in self.faces.iter_mut() {
            let Transport::Stream(stream) = &mut face.transport else { continue };
            let still = stream.stalled_for(now);
            if still >= self.config.limits.stuck {
                stuck.push(id);
            } else if still >= STALLED_AFTER && self.backlogs.used > quarter {
                let before = stream.pending();
                stream.discard();
                self.backlogs.change(before, stream.pending());
            }
        }
        for id in stuck {
            self.backlogs.stuck += 1;
            self.lost(now, id, &"its peer reads nothing");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_that_hang_share_the_limit_and_never_exceed_it() {
        let limit = 16 << 20;
        let mut backlogs = Backlogs::new(limit as u64);
        let mut pending = vec![0_usize; 1000];
        for _ in 0..100 {
            for pending in &mut pending {
                while *pending + 8000 <= backlogs.most(1000) {
                    backlogs.change(*pending, *pending + 8000);
                    *pending += 8000;
                }
                assert!(backlogs.used() <= 2 * limit);
            }
        }
        assert_eq!(pending[0], (8 << 20) / 8000 * 8000, "one alone gets half");
        assert!(pending.iter().all(|pending| *pending + 8000 > limit / 1000), "everybody gets something");
    }

    #[test]
    fn buffers_of_many_are_small_and_one_that_reads_gets_a_large_one() {
        let mut backlogs = Backlogs::new(1 << 20);
        let mut one = backlogs.first_buffer();
        for _ in 0..10 {
            one = backlogs.larger_buffer(one);
        }
        assert!(one > BUFFER / 2, "{one}");
        let all: usize = (0..1000).map(|_| backlogs.first_buffer()).sum();
        assert!(one + all <= 1001 * MIN_BUFFER + MAX_EXTRA_BUFFERS, "{all}");
        backlogs.give_buffer_back(one);
        assert!(backlogs.first_buffer() > 50_000);
    }
}
