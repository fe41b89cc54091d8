//! What has arrived and is to be acknowledged.

use super::{ARRIVED, ARRIVED_FIELD, FIELD, Frames, GROWTH, IDLE_HEAD};
use ndnweir_core::shared::learned_rate::Arrival;
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::LpHeader;
use ndnweir_wire::lp::types::FRAGMENT;
use ndnweir_wire::tlv;
use std::collections::VecDeque;

/// Sequences whose arrival is recorded.
const WINDOW: u64 = 8192;
/// Frames after one that had come before in which every ack is sent twice.
const REPEATS_FOR: u32 = 4096;
/// The most acks that wait; the oldest are replaced. The neighbour sends again what was not acknowledged.
const MAX_ACKS: usize = 8192;

/// What a frame is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// It came before.
    pub duplicate: bool,
    /// It was sent again, so that it comes later than it might.
    pub link_retransmitted: bool,
}

/// The frame of the greatest Sequence so far.
#[derive(Clone, Copy, Debug)]
struct Greatest {
    sequence: u64,
    number: u64,
    /// Frames since that were sent again.
    again: i64,
}

#[derive(Debug, Default)]
pub(super) struct Received {
    acks: VecDeque<u64>,
    /// Whether the neighbour is told of arrivals; that of the newest ack.
    tells: bool,
    arrival: Arrival,
    /// Acks that have left once and may leave again with a frame that has room.
    repeats: VecDeque<u64>,
    /// For this many frames acks are sent twice: some were lost, so that the neighbour has retransmitted frames
    /// needlessly.
    repeating: u32,
    /// When the oldest of `acks` must leave.
    due: Option<Time>,
    greatest: Option<Greatest>,
    /// One bit for each of the Sequences up to the greatest.
    seen: Box<[u64]>,
    duplicates: u64,
}

/// What a neighbour says of an arrival.
pub(super) fn arrival(value: &[u8]) -> Option<Arrival> {
    let told = u64::from_be_bytes(value.try_into().ok()?);
    Some(Arrival { time: (told >> 32) as u32, count: told as u32 })
}

/// By how much `number` is ahead of `of`; numbers wrap.
fn ahead(number: u64, of: u64) -> i64 {
    number.wrapping_sub(of) as i64
}

impl Received {
    /// `tells`: whether the neighbour is told when frames arrive.
    pub(super) fn new(tells: bool) -> Received {
        Received { tells, ..Received::default() }
    }

    pub(super) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    pub(super) fn has_acks(&self) -> bool {
        !self.acks.is_empty()
    }

    /// A frame with a TxSequence has arrived.
    pub(super) fn arrive(
        &mut self,
        now: Time,
        sequence: Option<u64>,
        number: u64,
        idle_ack: Duration,
    ) -> ReceivedFrame {
        if self.acks.len() == MAX_ACKS {
            self.acks.pop_front();
        }
        self.acks.push_back(number);
        self.arrival = Arrival { time: (now.nanos() / 1000) as u32, count: self.arrival.count.wrapping_add(1) };
        self.due.get_or_insert(now + idle_ack);
        // Without a Sequence a repetition cannot be detected; such frames are not sent again.
        let Some(sequence) = sequence else { return ReceivedFrame::default() };
        let duplicate = self.record(sequence);
        self.duplicates += u64::from(duplicate);
        self.repeating = if duplicate { REPEATS_FOR } else { self.repeating.saturating_sub(1) };
        let (mut link_retransmitted, mut newest) = (false, true);
        if let Some(greatest) = &mut self.greatest {
            let (frames, transmissions) = (ahead(sequence, greatest.sequence), ahead(number, greatest.number));
            newest = frames > 0;
            if frames.unsigned_abs() >= WINDOW {
                // The neighbour has begun again.
                newest = true;
            } else if transmissions > frames + greatest.again {
                // A frame that is sent for the first time is as far ahead in both numbers, but for those sent again in
                // between, which are ahead in TxSequence only.
                link_retransmitted = true;
                greatest.again += 1;
            }
        }
        if newest {
            self.greatest = Some(Greatest { sequence, number, again: 0 });
        }
        ReceivedFrame { duplicate, link_retransmitted }
    }

    /// Records the arrival of a Sequence; whether it had arrived before. To be called before `greatest` changes.
    fn record(&mut self, sequence: u64) -> bool {
        if self.seen.is_empty() {
            self.seen = vec![0; (WINDOW / 64) as usize].into_boxed_slice();
        }
        if let Some(Greatest { sequence: greatest, .. }) = self.greatest {
            let frames = ahead(sequence, greatest);
            if frames.unsigned_abs() >= WINDOW {
                self.seen.fill(0);
            } else {
                self.forget(greatest.wrapping_add(1), frames);
            }
        }
        let (word, bit) = Received::place(sequence);
        let known = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        known
    }

    /// Forgets so many Sequences, whole words at a time: a neighbour may skip thousands with every frame.
    fn forget(&mut self, mut first: u64, count: i64) {
        let mut left = u64::try_from(count).unwrap_or(0);
        while left > 0 {
            let (word, _) = Received::place(first);
            let bits = left.min(64 - first % 64);
            self.seen[word] &= !((u64::MAX >> (64 - bits)) << (first % 64));
            first = first.wrapping_add(bits);
            left -= bits;
        }
    }

    fn place(sequence: u64) -> (usize, u64) {
        let at = sequence % WINDOW;
        ((at / 64) as usize, 1 << (at % 64))
    }

    /// Bytes that a frame with acks needs to tell of an arrival.
    fn told_bytes(&self) -> usize {
        if self.tells { ARRIVED_FIELD } else { 0 }
    }

    /// When acks must leave without a packet: immediately if they fill a frame.
    pub(super) fn due(&self, mtu: usize) -> Time {
        let fit = mtu.saturating_sub(IDLE_HEAD + self.told_bytes()) / FIELD;
        match self.due {
            Some(_) if fit == 0 => Time::NEVER,
            Some(_) if self.acks.len() >= fit => Time::ZERO,
            due => due.unwrap_or(Time::NEVER),
        }
    }

    /// Appends a frame, with as many acks as it has room for; one without a part is idle.
    pub(super) fn encode(&mut self, mut header: LpHeader, part: Option<&[u8]>, mtu: usize, frames: &mut Frames) {
        if !self.acks.is_empty() {
            let length = match part {
                Some(part) => header.encode(None).len() + GROWTH + tlv::element_len(FRAGMENT, part.len()),
                None => IDLE_HEAD,
            };
            let room = mtu.saturating_sub(length + self.told_bytes()) / FIELD;
            let fit = room.min(self.acks.len());
            // Late ones come first, since acks of later frames would make the neighbour treat theirs as lost.
            let again = (room - fit).min(self.repeats.len());
            header.acks.extend(self.repeats.drain(..again));
            header.acks.extend(self.acks.drain(..fit));
            if self.tells && fit > 0 && self.acks.is_empty() {
                // The type is one that may be set.
                let Arrival { time, count } = self.arrival;
                let told = u64::from(time) << 32 | u64::from(count);
                let _ = header.set_extra(ARRIVED, &told.to_be_bytes());
            }
            if self.repeating > 0 {
                self.repeats.extend(&header.acks[again..]);
                self.repeats.drain(..self.repeats.len().saturating_sub(MAX_ACKS));
            }
            if self.acks.is_empty() {
                self.due = None;
            }
        }
        frames.push_packet(&header, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn sequences_that_a_neighbour_skips_are_forgotten_however_many_they_are() {
        let (mut received, mut model) = (Received::new(false), BTreeSet::new());
        let mut greatest = u64::MAX - 20_000;
        for step in [1, 1, 2, 63, 64, 65, 128, 1, 4000, 8190, 8191, 1, 100, 7, 8191, 3] {
            greatest = greatest.wrapping_add(step);
            for back in [0, 1, 63, 64, 200, 8000] {
                let sequence = greatest.wrapping_sub(back);
                let known = !model.insert(sequence);
                let found = received.arrive(Time::ZERO, Some(sequence), 0, Duration::ZERO).duplicate;
                assert_eq!(found, known, "{back} behind after {step}");
            }
        }
    }
}
