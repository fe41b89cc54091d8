//! What the link below sends beside the packets of the queue, and around them.

use super::{Egress, Left, transmission_time, work_of};
use ndnweir_core::units::{Bytes, Time};

impl Egress {
    /// The link below sends a frame of its own before the queue; [`Egress::advance`] must have been called for now.
    /// Returns when that transmission ends. Only for the eventful driver: packets that were handed out keep their
    /// times.
    pub(crate) fn occupy(&mut self, now: Time, bytes: Bytes) -> Time {
        self.extend(now, u32::try_from(bytes.get()).unwrap_or(u32::MAX).saturating_add(self.framing))
    }

    /// The packet that has just left, counted as `size`, took `bytes` in `frames` frames: header fields and
    /// acknowledgements come to it then. What is more takes its time before the next. For the driver of
    /// [`Egress::occupy`].
    pub(crate) fn took(&mut self, now: Time, size: u32, frames: u32, bytes: u32) {
        let framing = self.framing.saturating_mul(frames.saturating_sub(1));
        let more = bytes.saturating_add(framing).saturating_sub(size);
        if more > 0 {
            self.extend(now, more);
        }
    }

    /// The transmission in flight takes so many bytes more, or one begins. When these have gone.
    fn extend(&mut self, now: Time, size: u32) -> Time {
        if self.rate.is_none() || self.local || self.settled {
            return now;
        }
        let transmission = transmission_time(self.rate, size);
        if self.idle {
            self.idle = false;
            self.busy_until = now + transmission;
            self.note_transmission(now, size);
        } else {
            self.busy_until += transmission;
            let Left { since, work } = self.left();
            let work = work.saturating_add(work_of(size));
            (self.left, self.sent_changed) = (Left { since, work }, true);
        }
        now + transmission
    }
}
