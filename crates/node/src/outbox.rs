//! Packets waiting for the driver to collect them.

use crate::config::Transmit;
use crate::uses::{NO_PAYLOAD, Use};
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;
use ndnweir_state::{Damaged, Reader, Value as _, Writer, save_each};

/// A queue that is filled by one call into the node and emptied before the next, so it never wraps.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Outbox {
    /// Those from `taken` to `filled` wait. The others are left from before, so that a packet is written in its place.
    queue: Vec<Transmit>,
    filled: u32,
    taken: u32,
    /// See [`crate::uses`]; none while that is off.
    uses: Option<Box<UseLog>>,
}

/// What became of payloads.
#[derive(Debug, Default)]
struct UseLog {
    entries: Vec<Use>,
}

/// What waits; a log of uses is of drivers whose nodes are not kept.
impl ndnweir_state::State for Outbox {
    fn save(&self, to: &mut Writer) {
        save_each(self.queue.iter().take(self.filled as usize).skip(self.taken as usize), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.queue = Vec::read(from)?;
        (self.filled, self.taken) = (self.queue.len() as u32, 0);
        Ok(())
    }
}

/// Separate, so that the pipelines of a simulator stay small.
#[cold]
#[inline(never)]
fn write(uses: &mut UseLog, entry: Use) {
    uses.entries.push(entry);
}

impl Outbox {
    /// Starts the log of uses.
    pub(crate) fn log_uses(&mut self) {
        self.uses = Some(Box::default());
    }

    /// Records a use, if the driver wants them.
    #[inline(always)]
    pub(crate) fn log(&mut self, entry: impl FnOnce() -> Use) {
        if let Some(uses) = &mut self.uses {
            write(uses, entry());
        }
    }

    /// The tag of an Interest that the node makes itself, in place of an earlier one that had `tag`.
    pub(crate) fn tag_of_rebuilt(&self, tag: u32) -> u32 {
        if self.uses.is_some() { NO_PAYLOAD } else { tag }
    }

    /// One more place holds the payload of this tag.
    #[inline(always)]
    pub(crate) fn held(&mut self, tag: u32) {
        self.log(|| Use::Held(tag));
    }

    /// One place fewer holds it.
    #[inline(always)]
    pub(crate) fn released(&mut self, tag: u32) {
        self.log(|| Use::Released(tag));
    }

    /// A PIT entry begins.
    #[inline(always)]
    pub(crate) fn pending(&mut self, name: NameId) {
        self.log(|| Use::Pending(name));
    }

    /// A PIT entry ends, perhaps with its lifetime.
    #[inline(always)]
    pub(crate) fn settled(&mut self, name: NameId, expired: bool) {
        self.log(|| if expired { Use::Expired(name) } else { Use::Settled(name) });
    }

    /// What was recorded since the last call.
    pub(crate) fn drain_uses(&mut self) -> impl Iterator<Item = Use> + '_ {
        self.uses.iter_mut().flat_map(|uses| uses.entries.drain(..))
    }

    #[inline]
    pub(crate) fn push(&mut self, transmit: Transmit) {
        *self.slot() = transmit;
    }

    /// The next place to fill.
    #[inline(always)]
    fn slot(&mut self) -> &mut Transmit {
        let at = self.filled as usize;
        self.filled += 1;
        if at >= self.queue.len() {
            self.grow();
        }
        &mut self.queue[at]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let (face, packet) = (FaceId::NONE, Packet::default());
        let blank = Transmit { face, packet, joined: Time::ZERO, start: Time::ZERO, end: Time::ZERO };
        self.queue.push(blank);
    }

    /// Puts a packet in its place before it is known whether and when it leaves: packets are moved once.
    #[inline(always)]
    pub(crate) fn stage(&mut self, face: FaceId, packet: &Packet, now: Time) -> &mut Transmit {
        let staged = self.slot();
        staged.packet = *packet;
        (staged.face, staged.joined, staged.start, staged.end) = (face, now, now, now);
        staged
    }

    /// A packet leaves: `times` are when it was offered, starts and has left.
    #[inline(always)]
    pub(crate) fn put(&mut self, face: FaceId, packet: &Packet, times: [Time; 3]) {
        let slot = self.slot();
        slot.packet = *packet;
        slot.face = face;
        [slot.joined, slot.start, slot.end] = times;
    }

    /// Whether nothing waits.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.taken >= self.filled
    }

    /// The next one, in its place until something is pushed.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<&mut Transmit> {
        let at = self.taken;
        if at < self.filled {
            self.taken = at + 1;
            return self.queue.get_mut(at as usize);
        }
        (self.filled, self.taken) = (0, 0);
        None
    }
}
