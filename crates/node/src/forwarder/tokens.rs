//! PIT tokens of pending Interests, to be given back with the answer.
//!
//! A ring: when it is full the oldest token gives way, and its answer leaves without one.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_wire::lp::PitToken;

/// Whose token: name, generation of its flow's number, downstream.
type Key = (u64, u32, u16);

/// The tokens.
#[derive(Debug)]
pub(super) struct Tokens {
    places: HashMap<Key, u32, FixedState>,
    ring: Vec<Option<(Key, PitToken)>>,
    next: usize,
    limit: usize,
}

fn key(name: NameId, generation: u32, face: FaceId) -> Key {
    (name.key(), generation, face.0)
}

impl Tokens {
    pub(super) fn new(limit: usize) -> Tokens {
        Tokens { places: HashMap::default(), ring: Vec::new(), next: 0, limit: limit.max(1) }
    }

    /// Notes the token with which `face` asked last, or that it asked without.
    pub(super) fn note(&mut self, name: NameId, generation: u32, face: FaceId, token: Option<PitToken>) {
        let key = key(name, generation, face);
        let Some(token) = token else {
            self.take_key(key);
            return;
        };
        if let Some(&place) = self.places.get(&key) {
            self.ring[place as usize] = Some((key, token));
            return;
        }
        let place = self.next;
        self.next = (self.next + 1) % self.limit;
        if place == self.ring.len() {
            self.ring.push(None);
        }
        if let Some((oldest, _)) = self.ring[place].replace((key, token)) {
            self.places.remove(&oldest);
        }
        self.places.insert(key, place as u32);
    }

    /// Takes the token that goes back to `face`.
    pub(super) fn take(&mut self, name: NameId, generation: u32, face: FaceId) -> Option<PitToken> {
        self.take_key(key(name, generation, face))
    }

    fn take_key(&mut self, key: Key) -> Option<PitToken> {
        if self.places.is_empty() {
            return None;
        }
        let place = self.places.remove(&key)?;
        self.ring[place as usize].take().map(|(_, token)| token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::FlowId;

    fn token(byte: u8) -> Option<PitToken> {
        PitToken::new(&[byte]).ok()
    }

    #[test]
    fn a_token_goes_back_once_to_the_face_that_gave_it_last() {
        let mut tokens = Tokens::new(8);
        let name = NameId { flow: FlowId(1), segment: 2 };
        tokens.note(name, 0, FaceId(1), token(1));
        tokens.note(name, 0, FaceId(2), token(2));
        tokens.note(name, 0, FaceId(1), token(3));
        assert_eq!(tokens.take(name, 1, FaceId(1)), None, "the flow's number has another name now");
        assert_eq!(tokens.take(name, 0, FaceId(1)), token(3));
        assert_eq!(tokens.take(name, 0, FaceId(1)), None);
        tokens.note(name, 0, FaceId(2), None);
        assert_eq!(tokens.take(name, 0, FaceId(2)), None, "the last Interest had none");
    }

    #[test]
    fn the_oldest_token_gives_way_when_the_ring_is_full() {
        let mut tokens = Tokens::new(3);
        let name = |segment| NameId { flow: FlowId(1), segment };
        for i in 0..5 {
            tokens.note(name(i), 0, FaceId(0), token(i as u8));
        }
        assert_eq!(tokens.places.len(), 3);
        let left: Vec<_> = (0..5).map(|i| tokens.take(name(i), 0, FaceId(0))).collect();
        assert_eq!(left, [None, None, token(2), token(3), token(4)]);
    }
}
