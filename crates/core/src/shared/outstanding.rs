//! Which Interests are in flight, each until it is answered or its lifetime ends.

use crate::ids::{FaceId, NameId};
use crate::packet::Packet;
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Interests in flight by name. One that is sent again keeps its place and gets a new deadline.
///
/// The deadline ensures that an Interest whose answer is never reported (it was no longer pending) does not count
/// forever.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct Outstanding {
    by_name: BTreeMap<u64, (FaceId, Time)>,
    deadlines: BTreeSet<(Time, u64)>,
}

impl Outstanding {
    /// `packet` left by `face`; returns the face by which it had been in flight before, if it was.
    pub fn sent(&mut self, packet: &Packet, face: FaceId, now: Time) -> Option<FaceId> {
        let lifetime = if packet.lifetime_ms == 0 { 4000 } else { packet.lifetime_ms };
        let (key, until) = (packet.name.key(), now + Duration::from_millis(lifetime.into()));
        let before = self.by_name.insert(key, (face, until));
        if let Some((_, deadline)) = before {
            self.deadlines.remove(&(deadline, key));
        }
        self.deadlines.insert((until, key));
        before.map(|(face, _)| face)
    }

    /// The face by which an Interest is in flight.
    pub fn face(&self, name: NameId) -> Option<FaceId> {
        self.by_name.get(&name.key()).map(|(face, _)| *face)
    }

    /// An Interest was answered; the face it had left by, if it was in flight.
    pub fn answered(&mut self, name: NameId) -> Option<FaceId> {
        let (face, until) = self.by_name.remove(&name.key())?;
        self.deadlines.remove(&(until, name.key()));
        Some(face)
    }

    /// Takes out one Interest whose lifetime has ended: its flow and the face it had left by.
    pub fn expired(&mut self, now: Time) -> Option<(NameId, FaceId)> {
        let (until, key) = *self.deadlines.first()?;
        if until > now {
            return None;
        }
        self.deadlines.remove(&(until, key));
        let (face, _) = self.by_name.remove(&key)?;
        let name = NameId { flow: crate::ids::FlowId((key >> 32) as u32), segment: key as u32 };
        Some((name, face))
    }

    /// When the next lifetime ends.
    pub fn next_deadline(&self) -> Time {
        self.deadlines.first().map_or(Time::NEVER, |(until, _)| *until)
    }

    /// How many are in flight.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FlowId;

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    #[test]
    fn each_name_counts_once_until_it_is_answered_or_its_lifetime_ends() {
        let mut outstanding = Outstanding::default();
        let packet = |segment, lifetime_ms| Packet {
            name: NameId { flow: FlowId(7), segment },
            lifetime_ms,
            ..Packet::default()
        };
        assert_eq!(outstanding.sent(&packet(1, 100), FaceId(1), ms(0)), None);
        assert_eq!(outstanding.sent(&packet(1, 100), FaceId(2), ms(50)), Some(FaceId(1)));
        outstanding.sent(&packet(2, 100), FaceId(1), ms(60));
        outstanding.sent(&packet(3, 0), FaceId(1), ms(60));
        assert_eq!((outstanding.len(), outstanding.next_deadline()), (3, ms(150)));
        assert_eq!(outstanding.expired(ms(149)), None);
        assert_eq!(outstanding.expired(ms(150)), Some((packet(1, 0).name, FaceId(2))));
        assert_eq!(outstanding.answered(packet(2, 0).name), Some(FaceId(1)));
        assert_eq!((outstanding.answered(packet(2, 0).name), outstanding.next_deadline()), (None, ms(4060)));
    }
}
