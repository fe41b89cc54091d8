//! Events that any number of readers follow, each from where it wants: lines of JSON, bounded in bytes.

use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// What happens when a feed is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Further events are left out: readers must not miss the first ones.
    Omit,
    /// The oldest events make room.
    Evict,
}

/// Events in order.
pub struct Feed {
    events: Mutex<Events>,
    /// How many events there have been; changes with each.
    length: watch::Sender<u64>,
    most: usize,
    full: Full,
}

#[derive(Default)]
struct Events {
    /// The number of the first one that is kept.
    first: u64,
    kept: VecDeque<Arc<str>>,
    bytes: usize,
    closed: bool,
    omitted: bool,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub enum NextEvent {
    /// An event and its number.
    Event(u64, Arc<str>),
    /// Nothing yet.
    Wait,
    /// There will be no more.
    End,
}

impl Feed {
    /// A feed of at most so many bytes of events.
    pub fn new(most: usize, full: Full) -> Feed {
        Feed { events: Mutex::default(), length: watch::Sender::new(0), most, full }
    }

    /// Adds an event; whether there was room.
    pub fn push(&self, event: &Value) -> bool {
        let line: Arc<str> = event.to_string().into();
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if self.full == Full::Omit && events.bytes + line.len() > self.most {
            events.omitted = true;
        }
        if events.closed || events.omitted {
            return false;
        }
        self.add(&mut events, line);
        true
    }

    /// Adds a last event, for which there always is room.
    pub fn close(&self, event: &Value) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if !events.closed {
            self.add(&mut events, event.to_string().into());
            events.closed = true;
        }
    }

    fn add(&self, events: &mut Events, line: Arc<str>) {
        events.bytes += line.len();
        events.kept.push_back(line);
        while self.full == Full::Evict && events.bytes > self.most && events.kept.len() > 1 {
            events.bytes -= events.kept.pop_front().map_or(0, |gone| gone.len());
            events.first += 1;
        }
        self.length.send_replace(events.first + events.kept.len() as u64);
    }

    /// The event of this number, or the first one that is kept after it.
    pub fn get(&self, number: u64) -> NextEvent {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let number = number.max(events.first);
        match events.kept.get((number - events.first) as usize) {
            Some(line) => NextEvent::Event(number, Arc::clone(line)),
            None if events.closed => NextEvent::End,
            None => NextEvent::Wait,
        }
    }

    /// Whether there was no room for some.
    pub fn has_omitted(&self) -> bool {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).omitted
    }

    /// Changes with every event.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.length.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_full_feed_omits_what_is_new_or_evicts_what_is_old_and_ends_with_its_last_event() {
        // Each event is two bytes, `10` to `19`.
        let omit = Feed::new(6, Full::Omit);
        let taken: Vec<bool> = (10..15).map(|n| omit.push(&json!(n))).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert!(omit.has_omitted());
        assert_eq!((omit.get(2), omit.get(3)), (NextEvent::Event(2, "12".into()), NextEvent::Wait));
        omit.close(&json!(19));
        assert_eq!((omit.get(3), omit.get(4)), (NextEvent::Event(3, "19".into()), NextEvent::End));
        assert!(!omit.push(&json!(1)), "closed");

        let evict = Feed::new(6, Full::Evict);
        assert!((10..15).all(|n| evict.push(&json!(n))));
        assert_eq!((evict.get(0), evict.get(4)), (NextEvent::Event(2, "12".into()), NextEvent::Event(4, "14".into())));
        assert_eq!(*evict.changes().borrow(), 5);
        // One that is larger than all there is room for still is the newest.
        assert!(evict.push(&json!("longer than six")));
        assert_eq!(evict.get(0), NextEvent::Event(5, "\"longer than six\"".into()));
    }
}
