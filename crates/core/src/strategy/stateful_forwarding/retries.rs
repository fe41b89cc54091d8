//! Interests that go to another face when the one they went to stays silent.

use super::super::InterestArrival;
use crate::ids::{FaceId, NameId, PrefixId};
use crate::packet::Packet;
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Interests with a timer; further ones have none.
const MAX_TIMERS: usize = 1 << 16;

#[derive(Clone, Debug, ndnweir_state::Value)]
struct Pending {
    packet: Packet,
    prefix: PrefixId,
    in_face: FaceId,
    /// Where it is now, as far as this table knows.
    at: Option<FaceId>,
    /// Since when it is there.
    since: Time,
    deadline: Time,
    /// When the Interest's own lifetime ends: nothing is remembered longer.
    ends: Time,
    /// Whether all that could be tried has been.
    exhausted: bool,
    /// Whether the node tries `next`, in this order, if the shaper of `at` rejects.
    chained: bool,
    next: Vec<FaceId>,
    /// Faces it went to.
    tried: Vec<FaceId>,
    /// Faces that stayed silent for their timeout.
    in_vain: Vec<FaceId>,
}

/// An Interest whose timer has ended.
pub(super) struct Due {
    pub(super) name: NameId,
    pub(super) prefix: PrefixId,
    /// The face that stayed silent, and since when, if there was one.
    pub(super) silent: Option<(FaceId, Time)>,
}

/// The table.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Retries {
    pending: BTreeMap<NameId, Pending>,
    deadlines: BTreeSet<(Time, NameId)>,
}

impl Retries {
    /// An Interest (or a retransmission of it) goes to `face`, or else to the first of `next` that admits it.
    pub(super) fn start(
        &mut self,
        event: &InterestArrival<'_>,
        face: FaceId,
        next: &[FaceId],
        now: Time,
        timeout: Duration,
    ) {
        let (packet, prefix, in_face) = (event.packet, event.prefix, event.in_face);
        let name = packet.name;
        self.end(name);
        if self.pending.len() >= MAX_TIMERS {
            return;
        }
        let entry = Pending {
            packet: *packet,
            prefix,
            in_face,
            at: Some(face),
            since: now,
            deadline: now + timeout,
            ends: now + Duration::from_millis(u64::from(packet.lifetime_ms)),
            exhausted: false,
            chained: true,
            next: next.to_vec(),
            tried: vec![face],
            in_vain: Vec::new(),
        };
        self.deadlines.insert((entry.deadline, name));
        self.pending.insert(name, entry);
    }

    /// After a NACK it goes to `face`, or else to one of `next`.
    pub(super) fn retry_after_nack(
        &mut self,
        name: NameId,
        face: FaceId,
        next: &[FaceId],
        now: Time,
        timeout: Duration,
    ) {
        if let Some(entry) = self.pending.get_mut(&name) {
            (entry.next, entry.chained) = (next.to_vec(), true);
            self.set(name, face, now, timeout);
        }
    }

    /// It is at `face` now.
    pub(super) fn set(&mut self, name: NameId, face: FaceId, now: Time, timeout: Duration) {
        let Some(entry) = self.pending.get_mut(&name) else { return };
        self.deadlines.remove(&(entry.deadline, name));
        (entry.at, entry.since, entry.deadline, entry.exhausted) = (Some(face), now, now + timeout, false);
        if !entry.tried.contains(&face) {
            entry.tried.push(face);
        }
        self.deadlines.insert((entry.deadline, name));
    }

    /// It is answered or gone.
    pub(super) fn end(&mut self, name: NameId) {
        if let Some(entry) = self.pending.remove(&name) {
            self.deadlines.remove(&(entry.deadline, name));
        }
    }

    /// The shaper of `face` rejected it. Which face the node tries instead, if it tries one; if all rejected, it is
    /// gone or waits for what was sent before. A retry that is rejected tries the next face at the next wake.
    pub(super) fn rejected(&mut self, name: NameId, face: FaceId, now: Time) -> Option<FaceId> {
        let entry = self.pending.get_mut(&name).filter(|entry| entry.at == Some(face))?;
        if entry.chained {
            if entry.next.is_empty() {
                self.end(name);
                return None;
            }
            entry.tried.retain(|tried| *tried != face);
            return Some(entry.next.remove(0));
        }
        entry.at = None;
        self.deadlines.remove(&(entry.deadline, name));
        entry.deadline = now;
        self.deadlines.insert((now, name));
        None
    }

    /// `face` answered with a NACK: it is not silent.
    pub(super) fn nacked(&mut self, name: NameId, face: FaceId) {
        if let Some(entry) = self.pending.get_mut(&name).filter(|entry| entry.at == Some(face)) {
            entry.at = None;
        }
    }

    /// Whether `face` stayed silent for its timeout.
    pub(super) fn has_timed_out(&self, name: NameId, face: FaceId) -> bool {
        self.pending.get(&name).is_some_and(|entry| entry.in_vain.contains(&face))
    }

    /// Whether a retry may go to `face`.
    pub(super) fn may_try(&self, name: NameId, face: FaceId) -> bool {
        self.pending.get(&name).is_some_and(|entry| entry.in_face != face && !entry.tried.contains(&face))
    }

    /// The next Interest whose timer has ended.
    pub(super) fn due(&mut self, now: Time) -> Option<Due> {
        while let Some(&(deadline, name)) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now) {
            self.deadlines.remove(&(deadline, name));
            let Some(entry) = self.pending.get_mut(&name) else { continue };
            if entry.exhausted {
                self.pending.remove(&name);
                continue;
            }
            let silent = entry.at.take();
            entry.in_vain.extend(silent);
            entry.next.clear();
            return Some(Due { name, prefix: entry.prefix, silent: silent.map(|face| (face, entry.since)) });
        }
        None
    }

    /// It is sent again, to `face`.
    pub(super) fn again(&mut self, name: NameId, face: FaceId, now: Time, timeout: Duration) -> Option<Packet> {
        self.set(name, face, now, timeout);
        let entry = self.pending.get_mut(&name)?;
        entry.chained = false;
        Some(entry.packet)
    }

    /// No face is left to try: it waits for its lifetime.
    pub(super) fn exhaust(&mut self, name: NameId) {
        if let Some(entry) = self.pending.get_mut(&name) {
            (entry.exhausted, entry.deadline) = (true, entry.ends);
            self.deadlines.insert((entry.ends, name));
        }
    }

    pub(super) fn next_due(&self) -> Time {
        self.deadlines.first().map_or(Time::NEVER, |(deadline, _)| *deadline)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }
}
