//! PIT tokens of pending Interests, to be returned with the answer.
//!
//! A token stays as long as its Interest is pending, and then until the answer has left. Answers that never leave, as a
//! queue had no room for them, keep theirs until there are too many; then the oldest is removed.

use crate::keyed::{HashKey, NumberHash};
use hashbrown::HashMap;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_wire::lp::PitToken;
use std::collections::BTreeMap;

/// The name of the tokens, and the generation of its flow's number.
type Key = (u64, u32);

/// The tokens of one name.
#[derive(Debug, Default)]
struct Of {
    tokens: Vec<(FaceId, PitToken)>,
    /// Its place among names whose answers are leaving; none while the Interest is pending.
    leaving: Option<u64>,
}

/// The tokens.
#[derive(Debug)]
pub(super) struct Tokens {
    names: HashMap<Key, Of, NumberHash>,
    /// Names whose Interests are no longer pending, in the order in which they ended.
    leaving: BTreeMap<u64, Key>,
    next: u64,
    /// The most names in `leaving`. Pending ones are bounded by the PIT.
    limit: usize,
}

impl Tokens {
    pub(super) fn new(limit: usize, key: HashKey) -> Tokens {
        let names = HashMap::with_hasher(key.numbers(17));
        Tokens { names, leaving: BTreeMap::new(), next: 0, limit }
    }

    /// Records the token of the latest Interest from `face`, or that it had none.
    pub(super) fn record(&mut self, name: NameId, generation: u32, face: FaceId, token: Option<PitToken>) {
        let Some(token) = token else {
            self.take(name, generation, face);
            return;
        };
        let entry = self.names.entry((name.key(), generation)).or_default();
        if let Some(place) = entry.leaving.take() {
            self.leaving.remove(&place);
        }
        match entry.tokens.iter_mut().find(|(known, _)| *known == face) {
            Some(known) => known.1 = token,
            None => entry.tokens.push((face, token)),
        }
    }

    /// Takes the token that is returned to `face`.
    pub(super) fn take(&mut self, name: NameId, generation: u32, face: FaceId) -> Option<PitToken> {
        if self.names.is_empty() {
            return None;
        }
        let key = (name.key(), generation);
        let entry = self.names.get_mut(&key)?;
        let at = entry.tokens.iter().position(|(known, _)| *known == face)?;
        let (_, token) = entry.tokens.swap_remove(at);
        if entry.tokens.is_empty() {
            self.forget(name, generation);
        }
        Some(token)
    }

    /// A name is no longer pending; its answers may still have to leave.
    pub(super) fn settle(&mut self, name: NameId, generation: u32) {
        let key = (name.key(), generation);
        if self.names.is_empty() {
            return;
        }
        let Some(of) = self.names.get_mut(&key).filter(|of| of.leaving.is_none()) else { return };
        of.leaving = Some(self.next);
        self.leaving.insert(self.next, key);
        self.next += 1;
        if self.leaving.len() > self.limit
            && let Some((_, oldest)) = self.leaving.pop_first()
        {
            self.names.remove(&oldest);
        }
    }

    /// A name is no longer pending, and there is no answer.
    pub(super) fn forget(&mut self, name: NameId, generation: u32) {
        if self.names.is_empty() {
            return;
        }
        if let Some(Of { leaving: Some(place), .. }) = self.names.remove(&(name.key(), generation)) {
            self.leaving.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::FlowId;

    fn token(byte: u8) -> Option<PitToken> {
        PitToken::new(&[byte]).ok()
    }

    fn name(segment: u32) -> NameId {
        NameId { flow: FlowId(1), segment }
    }

    #[test]
    fn a_token_goes_back_once_to_the_face_that_gave_it_last() {
        let mut tokens = Tokens::new(8, HashKey::FIXED);
        let name = name(2);
        tokens.record(name, 0, FaceId(1), token(1));
        tokens.record(name, 0, FaceId(2), token(2));
        tokens.record(name, 0, FaceId(1), token(3));
        assert_eq!(tokens.take(name, 1, FaceId(1)), None, "the flow's number has another name now");
        assert_eq!(tokens.take(name, 0, FaceId(1)), token(3));
        assert_eq!(tokens.take(name, 0, FaceId(1)), None);
        tokens.record(name, 0, FaceId(2), None);
        assert_eq!(tokens.take(name, 0, FaceId(2)), None, "the last Interest had none");
        assert!(tokens.names.is_empty());
    }

    #[test]
    fn tokens_of_pending_interests_stay_however_many_of_others_are_answered() {
        let mut tokens = Tokens::new(3, HashKey::FIXED);
        tokens.record(name(0), 0, FaceId(0), token(9));
        for i in 1..100 {
            tokens.record(name(i), 0, FaceId(1), token(1));
            tokens.settle(name(i), 0);
            assert_eq!(tokens.take(name(i), 0, FaceId(1)), token(1));
        }
        assert_eq!((tokens.names.len(), tokens.leaving.len()), (1, 0));
        assert_eq!(tokens.take(name(0), 0, FaceId(0)), token(9));
    }

    #[test]
    fn of_answers_that_never_leave_the_oldest_give_way_and_those_that_expire_leave_nothing() {
        let mut tokens = Tokens::new(3, HashKey::FIXED);
        for i in 0..5 {
            tokens.record(name(i), 0, FaceId(0), token(i as u8));
            tokens.settle(name(i), 0);
            tokens.settle(name(i), 0);
        }
        let left: Vec<_> = (0..5).map(|i| tokens.take(name(i), 0, FaceId(0))).collect();
        assert_eq!(left, [None, None, token(2), token(3), token(4)]);
        tokens.record(name(7), 0, FaceId(0), token(7));
        tokens.forget(name(7), 0);
        tokens.settle(name(8), 0);
        assert!(tokens.names.is_empty() && tokens.leaving.is_empty());
    }

    #[test]
    fn a_name_that_is_requested_again_while_its_answer_leaves_is_pending_again() {
        let mut tokens = Tokens::new(1, HashKey::FIXED);
        tokens.record(name(0), 0, FaceId(0), token(1));
        tokens.settle(name(0), 0);
        tokens.record(name(0), 0, FaceId(0), token(2));
        for i in 1..4 {
            tokens.record(name(i), 0, FaceId(0), token(3));
            tokens.settle(name(i), 0);
        }
        assert_eq!(tokens.take(name(0), 0, FaceId(0)), token(2));
    }
}
