//! Many lists of next hops in little memory.

use ndnweir_core::ids::FaceId;
use ndnweir_core::strategy::NextHop;
use ndnweir_prefetch::prefetch;
use std::ops::Range;

/// What stands for a list without next hops.
const NOTHING: NextHop = NextHop { face: FaceId::NONE, cost: u32::MAX };

/// Lists of next hops, by number. Large networks have millions of these, most with one hop: they take 8 bytes, and more
/// only with several.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct HopLists {
    /// The only next hop of a list or, with the face [`FaceId::NONE`], where it is in `several`.
    lists: Vec<NextHop>,
    /// One after the other: how many hops a list has, in place of a cost, then these.
    several: Vec<NextHop>,
    /// How much of `several` belongs to no list any longer.
    unused: usize,
}

const _: () = assert!(size_of::<NextHop>() == 8);

impl HopLists {
    /// So many lists without next hops.
    pub fn new(count: usize) -> HopLists {
        HopLists { lists: vec![NOTHING; count], several: Vec::new(), unused: 0 }
    }

    /// These lists.
    pub fn of(lists: &[Vec<NextHop>]) -> HopLists {
        let mut all = HopLists::new(lists.len());
        let several = lists.iter().filter(|hops| hops.len() > 1);
        all.several.reserve_exact(several.map(|hops| 1 + hops.len()).sum());
        lists.iter().enumerate().for_each(|(number, hops)| all.set(number, hops));
        all
    }

    /// How many lists there are, those without next hops included.
    pub fn count(&self) -> usize {
        self.lists.len()
    }

    /// Where in `several` the hops of a list are that begins at `at`.
    #[inline]
    fn range(&self, at: u32) -> Range<usize> {
        let first = at as usize + 1;
        first..self.several.get(at as usize).map_or(first, |head| first + head.cost as usize)
    }

    /// A list; without next hops if there is none of this number.
    #[inline]
    pub fn get(&self, number: usize) -> &[NextHop] {
        match self.lists.get(number) {
            Some(only) if only.face != FaceId::NONE => std::slice::from_ref(only),
            Some(several) => self.several.get(self.range(several.cost)).unwrap_or_default(),
            None => &[],
        }
    }

    /// The same, to be changed in place.
    pub(crate) fn get_mut(&mut self, number: usize) -> &mut [NextHop] {
        let several = self.lists.get(number).map(|several| self.range(several.cost)).unwrap_or_default();
        match self.lists.get_mut(number) {
            Some(only) if only.face != FaceId::NONE => std::slice::from_mut(only),
            Some(_) => self.several.get_mut(several).unwrap_or_default(),
            None => &mut [],
        }
    }

    /// The lists with several next hops, and their numbers.
    pub fn several(&self) -> impl Iterator<Item = (usize, &[NextHop])> {
        // Of a large network there are millions to look at, mostly for nothing.
        let count = if self.several.len() > self.unused { self.lists.len() } else { 0 };
        (0..count).map(|number| (number, self.get(number))).filter(|(_, hops)| hops.len() > 1)
    }

    /// The first next hop of a list.
    #[inline(always)]
    pub(crate) fn first(&self, number: usize) -> Option<FaceId> {
        let list = self.lists.get(number)?;
        if list.face != FaceId::NONE { Some(list.face) } else { self.get(number).first().map(|hop| hop.face) }
    }

    /// Asks for a list.
    #[inline(always)]
    pub(crate) fn expect(&self, number: usize) {
        self.lists.get(number).into_iter().for_each(prefetch);
    }

    /// Replaces a list, if there is one of this number. One next hop takes no allocation.
    pub fn set(&mut self, number: usize, hops: &[NextHop]) {
        let Some(&before) = self.lists.get(number) else { return };
        if before.face == FaceId::NONE && before.cost != NOTHING.cost {
            // What was kept may say anything.
            self.unused = self.unused.saturating_add(1 + self.range(before.cost).len());
        }
        self.lists[number] = match hops {
            [] => NOTHING,
            [only] if only.face != FaceId::NONE => *only,
            several => {
                let at = self.several.len() as u32;
                self.several.push(NextHop { face: FaceId::NONE, cost: several.len() as u32 });
                self.several.extend_from_slice(several);
                NextHop { face: FaceId::NONE, cost: at }
            }
        };
        if self.unused > 32 && self.unused > self.several.len() / 2 {
            *self = HopLists::of(&(0..self.count()).map(|number| self.get(number).to_vec()).collect::<Vec<_>>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(face: u16, cost: u32) -> NextHop {
        NextHop { face: FaceId(face), cost }
    }

    #[test]
    fn every_list_is_what_it_was_set_to_and_memory_is_used_again() {
        let mut lists = HopLists::of(&[vec![hop(1, 1), hop(2, 1)], vec![], vec![hop(0, 7)]]);
        assert_eq!((lists.get(0), lists.get(1)), (&[hop(1, 1), hop(2, 1)][..], &[][..]));
        assert_eq!((lists.get(2), lists.get(3), lists.count()), (&[hop(0, 7)][..], &[][..], 3));
        assert_eq!([0, 1, 2, 3].map(|number| lists.first(number)), [Some(FaceId(1)), None, Some(FaceId(0)), None]);
        assert_eq!(lists.several().map(|(number, _)| number).collect::<Vec<_>>(), [0]);
        for round in 0..100 {
            lists.set(0, &[hop(3, round)]);
            assert_eq!((lists.get(0), lists.several().count()), (&[hop(3, round)][..], 0));
            lists.set(1, &[hop(4, round), hop(5, 0), hop(6, 0)]);
            assert_eq!(lists.get(1), [hop(4, round), hop(5, 0), hop(6, 0)]);
            lists.set(1, &[]);
            lists.set(0, &[hop(7, 1), hop(8, round)]);
            lists.set(0, &[hop(8, 1), hop(7, round)]);
            assert_eq!((lists.get(0), lists.get(1)), (&[hop(8, 1), hop(7, round)][..], &[][..]));
            lists.set(9, &[hop(1, 1)]);
        }
        assert!(lists.several.len() < 100 && lists.unused < 60, "{} of {}", lists.unused, lists.several.len());
    }

    #[test]
    fn lists_of_one_or_several_are_changed_in_place_and_no_face_is_told_from_none() {
        let mut lists = HopLists::of(&[vec![hop(1, 1)], vec![hop(1, 1), hop(2, 2)], vec![]]);
        (0..4).for_each(|number| lists.get_mut(number).iter_mut().for_each(|hop| hop.cost += 5));
        assert_eq!((lists.get(0), lists.get(1)), (&[hop(1, 6)][..], &[hop(1, 6), hop(2, 7)][..]));
        let none = NextHop { face: FaceId::NONE, cost: 0 };
        lists.set(2, &[none]);
        assert_eq!((lists.get(2), lists.first(2)), (&[none][..], Some(FaceId::NONE)));
    }
}
