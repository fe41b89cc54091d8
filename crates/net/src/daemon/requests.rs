//! Requests that wait for the management. Checking a signature takes a thousand times as long as forwarding a packet,
//! on the same thread, so requests that are not the owner's share a tenth of its time, in round-robin order of faces.

use super::bucket::Bucket;
use ndnweir_core::units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// The most queued requests of the owner, and of all others.
const MAX_REQUESTS: usize = 1024;
/// Requests of one face that is not the owner's.
const MAX_PER_FACE: usize = 32;
/// The share of time for requests of others, and its burst.
const SHARE: f64 = 0.1;
const SAVED: Duration = Duration::from_millis(20);

/// The requests.
#[derive(Debug)]
pub(super) struct Requests {
    owner: VecDeque<Vec<u8>>,
    /// By the number of the face.
    others: BTreeMap<u64, VecDeque<Vec<u8>>>,
    others_len: usize,
    /// Whose turn was last.
    last: u64,
    /// Nanoseconds.
    time: Bucket,
}

impl Requests {
    pub(super) fn new(now: Time) -> Requests {
        let time = Bucket::new(now, SAVED.nanos() as f64, 1e9 * SHARE);
        Requests { owner: VecDeque::new(), others: BTreeMap::new(), others_len: 0, last: 0, time }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.owner.len() + self.others_len
    }

    /// A request has come over a face. False if there is no room for it.
    pub(super) fn push(&mut self, face: u64, owner: bool, frame: &[u8]) -> bool {
        if owner {
            let room = self.owner.len() < MAX_REQUESTS;
            if room {
                self.owner.push_back(frame.to_vec());
            }
            return room;
        }
        if self.others_len >= MAX_REQUESTS {
            return false;
        }
        let queue = self.others.entry(face).or_default();
        if queue.len() >= MAX_PER_FACE {
            return false;
        }
        queue.push_back(frame.to_vec());
        self.others_len += 1;
        true
    }

    /// The next request, and whether the time that it takes is to be charged.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Vec<u8>, bool)> {
        if let Some(frame) = self.owner.pop_front() {
            return Some((frame, false));
        }
        if self.others.is_empty() || self.time.level(now) <= 0.0 {
            return None;
        }
        let next = self.others.range(self.last.saturating_add(1)..).next().or_else(|| self.others.iter().next());
        let face = *next?.0;
        self.last = face;
        let queue = self.others.get_mut(&face)?;
        let frame = queue.pop_front();
        if queue.is_empty() {
            self.others.remove(&face);
        }
        self.others_len -= usize::from(frame.is_some());
        frame.map(|frame| (frame, true))
    }

    /// The request just popped has taken this long.
    pub(super) fn charge(&mut self, now: Time, took: Duration) {
        self.time.owe(now, took.nanos() as f64);
    }

    /// When [`Requests::pop`] has something; [`Time::NEVER`] if nothing waits.
    pub(super) fn due(&mut self, now: Time) -> Time {
        if !self.owner.is_empty() {
            return now;
        }
        if self.others.is_empty() { Time::NEVER } else { now + self.time.until_some(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn on_demand_peers_get_a_tenth_of_the_time_each_face_in_turn_and_the_owner_never_waits() {
        let mut requests = Requests::new(at(0));
        let (mut now, mut done, mut spent) = (0, BTreeMap::new(), 0);
        // One face floods, another sends occasionally, for 2 s; each request takes 300 µs.
        while now < 2_000_000 {
            let _ = (0..10).filter(|_| requests.push(300, false, b"flood")).count();
            if requests.len() < 40 {
                requests.push(301, false, b"honest");
            }
            if now % 10_000 == 0 {
                assert!(requests.push(256, true, b"owner"));
                assert_eq!(requests.pop(at(now)), Some((b"owner".to_vec(), false)));
            }
            if let Some((frame, true)) = requests.pop(at(now)) {
                *done.entry(frame).or_insert(0) += 1;
                requests.charge(at(now), Duration::from_micros(300));
                (now, spent) = (now + 300, spent + 300);
            } else {
                now += 100;
            }
        }
        assert!((180_000..=225_000).contains(&spent), "{spent} µs");
        let (flood, honest) = (done[&b"flood".to_vec()], done[&b"honest".to_vec()]);
        assert!(honest * 10 >= flood * 9, "{honest} beside {flood}");
    }

    #[test]
    fn what_waits_is_bounded_for_each_face_and_for_all() {
        let mut requests = Requests::new(at(0));
        let mut pushed = |face, owner| (0..5000).filter(|_| requests.push(face, owner, b"x")).count();
        assert_eq!((pushed(300, false), pushed(301, false)), (32, 32));
        let more: usize = (302..400).map(|face| pushed(face, false)).sum();
        assert_eq!(more, 1024 - 64);
        assert_eq!(pushed(256, true), 1024, "on-demand peers take nothing from the owner");
        assert_eq!(requests.due(at(5)), at(5));
        let popped = (0..5000).filter(|_| requests.pop(at(0)).is_some()).count();
        assert_eq!((popped, requests.due(at(0))), (2048, Time::NEVER));
    }
}
