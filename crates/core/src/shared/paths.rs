//! State of each path by which Data come, distinguished by their path label.

use crate::consumer::{Flight, MAX_WINDOW};
use crate::units::{Duration, Time};
use std::collections::BTreeMap;

/// The most paths that are remembered; the one whose last Data is oldest makes room. Ours.
const MAX_PATHS: usize = 16;
/// A path that brought no Data for this long is forgotten, unless it is the only one. Ours.
const FORGOTTEN: Duration = Duration::from_millis(2000);
/// The most Interests whose path is stored; the oldest is forgotten beyond that. Ours.
const MAX_STORED: usize = 1 << 17;
/// One Interest in so many carries no label, so that routers may find other paths. Ours.
const DISCOVERY: u64 = 100;

/// A path.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Known<T> {
    /// Its label; 0 where routers write none, or before the first Data.
    pub label: u32,
    /// Interests in flight that carry it.
    pub in_flight: u32,
    /// What is known of it.
    pub state: T,
    used: Time,
    received: bool,
}

impl<T> Known<T> {
    /// Whether its `window` has room beside its Interests in flight and `more`.
    pub fn has_room(&self, window: f64, more: u32) -> bool {
        f64::from(self.in_flight.saturating_add(more)) < window
    }
}

/// All paths of a flow, and which Interest took which.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Paths<T> {
    known: Vec<Known<T>>,
    sent: BTreeMap<u64, u32>,
    requests: u64,
    discovers: bool,
}

impl<T> Paths<T> {
    /// One path without a label, until Data say otherwise.
    pub fn new(first: T) -> Paths<T> {
        let first = Known { label: 0, in_flight: 0, state: first, used: Time::ZERO, received: false };
        Paths { known: vec![first], sent: BTreeMap::new(), requests: 0, discovers: true }
    }

    /// The same where consumers do not choose paths, so that every Interest belongs to one.
    pub fn without_discovery(self) -> Paths<T> {
        Paths { discovers: false, ..self }
    }

    /// All of them, in the order they were found; never empty.
    pub fn iter(&self) -> impl Iterator<Item = &Known<T>> {
        self.known.iter()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Known<T>> {
        self.known.iter_mut()
    }

    /// The label that the next Interest carries: that of the path `choose` returns the place of, or none for discovery
    /// where paths have labels.
    pub fn assign(&mut self, segment: u64, choose: impl FnOnce(&mut [Known<T>]) -> usize) -> u32 {
        self.requests += 1;
        let place = choose(&mut self.known).min(self.known.len() - 1);
        let discovers = self.discovers && self.requests.is_multiple_of(DISCOVERY);
        let label = if discovers { 0 } else { self.known[place].label };
        self.release(segment);
        if let Some(path) = self.find(label) {
            path.in_flight += 1;
        }
        self.sent.insert(segment, label);
        if self.sent.len() > MAX_STORED
            && let Some((_, label)) = self.sent.pop_first()
            && let Some(path) = self.find(label)
        {
            path.in_flight = path.in_flight.saturating_sub(1);
        }
        label
    }

    /// The same on the path whose `window` exceeds its Interests in flight most.
    pub fn assign_roomiest(&mut self, segment: u64, window: impl Fn(&T) -> f64) -> u32 {
        let room = |path: &Known<T>| window(&path.state) - f64::from(path.in_flight);
        self.assign(segment, |paths| {
            (0..paths.len())
                .reduce(|best, place| if room(&paths[place]) > room(&paths[best]) { place } else { best })
                .unwrap_or(0)
        })
    }

    /// The sum of all windows, up to the largest a consumer has.
    pub fn window(&self, window: impl Fn(&T) -> f64) -> f64 {
        self.known.iter().map(|path| window(&path.state)).sum::<f64>().min(MAX_WINDOW)
    }

    /// Whether an Interest may leave where each path is limited by its own `window`, so that one that was just cut does
    /// not stop the others. Interests that were NACKed and wait to be sent again count as in flight on none, but here
    /// on each: others in their place would be NACKed as well.
    pub fn may_send(&self, flight: &Flight, window: impl Fn(&T) -> f64) -> bool {
        let held = flight.in_flight.saturating_sub(u32::try_from(self.sent.len()).unwrap_or(u32::MAX));
        flight.in_flight == 0 || self.known.iter().any(|path| path.has_room(window(&path.state), held))
    }

    /// The first segment of those in flight on a path.
    pub fn first_in_flight(&self, label: u32) -> Option<u64> {
        self.sent.iter().find(|&(_, sent)| *sent == label).map(|(&segment, _)| segment)
    }

    /// The path `label`, if it is known.
    pub fn find(&mut self, label: u32) -> Option<&mut Known<T>> {
        self.known.iter_mut().find(|path| path.label == label)
    }

    /// The path that the Interest in flight for a segment was sent on, if that is still known.
    pub fn of(&mut self, segment: u64) -> Option<&mut Known<T>> {
        let label = *self.sent.get(&segment)?;
        self.find(label)
    }

    /// The Interest of a segment is in flight no longer; the path that it was sent on, if that is still known.
    pub fn release(&mut self, segment: u64) -> Option<&mut Known<T>> {
        let label = self.sent.remove(&segment)?;
        let path = self.find(label)?;
        path.in_flight = path.in_flight.saturating_sub(1);
        Some(path)
    }

    /// A Data came by the path `label`; its state, which `first` makes if it is new.
    pub fn on_data(&mut self, label: u32, now: Time, first: impl FnOnce() -> T) -> &mut T {
        let only = self.known.len() == 1;
        self.known.retain(|path| only || path.label == label || now.since(path.used) < FORGOTTEN);
        // What was sent before the first Data took the path by which that came.
        if let [path] = &mut self.known[..]
            && !path.received
        {
            path.label = label;
            self.sent.values_mut().for_each(|sent| *sent = label);
        }
        let place = self.known.iter().position(|path| path.label == label).unwrap_or_else(|| {
            if self.known.len() >= MAX_PATHS
                && let Some(oldest) = (0..self.known.len()).min_by_key(|&place| self.known[place].used)
            {
                self.known.remove(oldest);
            }
            // A path that was forgotten may have Interests in flight still.
            let in_flight = self.sent.values().filter(|sent| **sent == label).count() as u32;
            self.known.push(Known { label, in_flight, state: first(), used: now, received: false });
            self.known.len() - 1
        });
        let path = &mut self.known[place];
        (path.used, path.received) = (now, true);
        &mut path.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    #[test]
    fn interests_sent_before_the_first_data_belong_to_its_path() {
        let mut paths = Paths::new(1);
        assert_eq!((0..3).map(|segment| paths.assign(segment, |_| 0)).collect::<Vec<_>>(), [0, 0, 0]);
        assert_eq!(*paths.on_data(7, ms(10), || 2), 1);
        assert_eq!(paths.release(0).map(|path| (path.label, path.in_flight)), Some((7, 2)));
        assert!(paths.release(0).is_none());
        assert_eq!(*paths.on_data(8, ms(11), || 2), 2);
        assert_eq!(paths.iter().map(|path| path.label).collect::<Vec<_>>(), [7, 8]);
    }

    #[test]
    fn every_hundredth_interest_carries_no_label() {
        let mut paths = Paths::new(());
        paths.on_data(7, ms(0), || ());
        let unlabelled: Vec<u64> = (1..=300).filter(|&segment| paths.assign(segment, |_| 0) == 0).collect();
        assert_eq!(unlabelled, [100, 200, 300]);
        assert_eq!(paths.iter().next().unwrap().in_flight, 297);
    }

    #[test]
    fn a_path_without_data_for_two_seconds_is_forgotten_and_there_are_sixteen_at_most() {
        let mut paths = Paths::new(());
        (1..=16).for_each(|label| *paths.on_data(label, ms(label.into()), || ()));
        paths.on_data(17, ms(20), || ());
        let labels = |paths: &Paths<()>| paths.iter().map(|path| path.label).collect::<Vec<_>>();
        assert_eq!(labels(&paths), (2..=17).collect::<Vec<_>>());
        paths.on_data(17, ms(2010), || ());
        assert_eq!(labels(&paths), (11..=17).collect::<Vec<_>>());
        paths.on_data(18, ms(60_000), || ());
        assert_eq!(labels(&paths), [18]);
        paths.on_data(18, ms(120_000), || ());
        assert_eq!(labels(&paths), [18], "the only one stays");
    }
}
