//! An order of the places of a table.

/// No place.
const END: u32 = u32::MAX;
/// Before a place that is not in the order.
const AWAY: u32 = u32::MAX - 1;

/// Places of a table in an order, each once at most. A place comes in behind all others or goes from anywhere in constant
/// time, and nothing is allocated but eight bytes for each place up to the highest that ever came. That must be below
/// 2³² − 2.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct IndexList {
    links: Vec<Link>,
    first: u32,
    last: u32,
}

/// The neighbours of a place.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Link {
    before: u32,
    after: u32,
}

impl Default for IndexList {
    fn default() -> IndexList {
        IndexList { links: Vec::new(), first: END, last: END }
    }
}

impl IndexList {
    /// The place that has been in the order for longest.
    pub fn first(&self) -> Option<u32> {
        (self.first != END).then_some(self.first)
    }

    /// The place that came last.
    pub fn last(&self) -> Option<u32> {
        (self.last != END).then_some(self.last)
    }

    /// The places from the last to the first.
    pub fn from_last(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.last(), |&at| {
            self.links.get(at as usize).map(|link| link.before).filter(|before| *before < AWAY)
        })
    }

    /// Puts a place behind all others, also if it is in the order already.
    pub fn push(&mut self, at: u32) {
        if self.last == at {
            return;
        }
        self.remove(at);
        if self.links.len() <= at as usize {
            self.links.resize(at as usize + 1, Link { before: AWAY, after: END });
        }
        let before = std::mem::replace(&mut self.last, at);
        match self.links.get_mut(before as usize) {
            Some(link) => link.after = at,
            None => self.first = at,
        }
        self.links[at as usize] = Link { before, after: END };
    }

    /// Takes a place out, if it is in the order.
    pub fn remove(&mut self, at: u32) {
        let Some(link) = self.links.get_mut(at as usize) else { return };
        if link.before == AWAY {
            return;
        }
        let Link { before, after } = std::mem::replace(link, Link { before: AWAY, after: END });
        match self.links.get_mut(before as usize) {
            Some(link) => link.after = after,
            None => self.first = after,
        }
        match self.links.get_mut(after as usize) {
            Some(link) => link.before = before,
            None => self.last = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    /// From the first to the last.
    fn places(list: &IndexList) -> Vec<u32> {
        let mut places: Vec<u32> = list.from_last().collect();
        places.reverse();
        places
    }

    #[test]
    fn places_come_in_behind_and_go_from_anywhere() {
        let mut list = IndexList::default();
        [4, 0, 2, 7].into_iter().for_each(|at| list.push(at));
        assert_eq!((places(&list), list.first(), list.last()), (vec![4, 0, 2, 7], Some(4), Some(7)));
        list.push(0);
        list.push(0);
        assert_eq!(places(&list), [4, 2, 7, 0]);
        [4, 7, 4, 3, 99].into_iter().for_each(|at| list.remove(at));
        assert_eq!((places(&list), list.first(), list.last()), (vec![2, 0], Some(2), Some(0)));
        [0, 2].into_iter().for_each(|at| list.remove(at));
        assert_eq!((places(&list), list.first(), list.last()), (vec![], None, None));
        list.push(7);
        assert_eq!(places(&list), [7]);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_vector(steps in prop::collection::vec((0u32..12, 0u32..3), 0..300)) {
            let (mut list, mut plain) = (IndexList::default(), Vec::new());
            for (at, step) in steps {
                plain.retain(|known| *known != at);
                if step == 0 {
                    list.remove(at);
                } else {
                    list.push(at);
                    plain.push(at);
                }
                prop_assert_eq!(places(&list), plain.clone());
                prop_assert_eq!((list.first(), list.last()), (plain.first().copied(), plain.last().copied()));
            }
        }

        // What is read of a checkpoint may be anything.
        #[test]
        fn links_that_do_not_fit_are_no_panic(
            links in prop::collection::vec((0u32..9, 0u32..9), 0..6), ends in (0u32..9, 0u32..9),
            steps in prop::collection::vec((0u32..9, 0u32..2), 0..30),
        ) {
            let far = |at: u32| if at > 6 { END - (8 - at) } else { at };
            let links = links.into_iter().map(|(before, after)| Link { before: far(before), after: far(after) });
            let mut list = IndexList { links: links.collect(), first: far(ends.0), last: far(ends.1) };
            for (at, step) in steps {
                if step == 0 { list.remove(at) } else { list.push(at) }
            }
        }
    }
}
