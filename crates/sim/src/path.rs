//! The paths of Data packets, as small numbers that travel in [`ndnweir_core::packet::Packet::tag`].

use crate::observer::DirectedLinkId;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A path that extends another by one link: the node of a tree with the empty path at its root.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Step {
    before: u32,
    directed_link: u32,
    /// Whether it was reported to the observer.
    told: bool,
}

/// Numbers every path that occurs.
#[derive(Debug, ndnweir_state::Value)]
pub struct Paths {
    steps: Vec<Step>,
    numbers: HashMap<u64, u32, FixedState>,
    /// By process and handle: the number that a path got which a process had given a handle of its own.
    handles: Vec<Vec<u32>>,
}

/// Of a path's number: it is a handle, see [`handle`].
const HANDLE: u32 = 1 << 31;
/// How many bits of a handle count those of one process.
const HANDLE_BITS: u32 = 23;
/// The most processes that can give handles.
pub const MAX_PROCESSES: usize = 1 << (31 - HANDLE_BITS);
/// The most handles of one process.
pub const MAX_HANDLES: usize = 1 << HANDLE_BITS;

/// What stands for the number of a path that process `process` was the first to see there, as number `place`, until
/// all processes have met and [`Paths::resolve`] numbers it.
pub const fn handle(process: usize, place: usize) -> u32 {
    HANDLE | (process as u32) << HANDLE_BITS | place as u32
}

/// More paths than this share the last number: a random walk over a large network has too many to distinguish.
const MAX_STEPS: usize = 1 << 20;

impl Default for Paths {
    /// The empty path, number 0, alone.
    fn default() -> Paths {
        let root = Step { before: 0, directed_link: 0, told: false };
        Paths { steps: vec![root], numbers: HashMap::with_hasher(FixedState::with_seed(0)), handles: Vec::new() }
    }
}

impl Paths {
    /// The number of a path: its own, or that of a handle; of one that was not given, as the kept state of a run might have
    /// it, that of the empty path.
    #[inline]
    pub fn number(&self, path: u32) -> u32 {
        if path & HANDLE == 0 {
            return path;
        }
        let (process, place) = ((path & !HANDLE) >> HANDLE_BITS, path & (MAX_HANDLES as u32 - 1));
        self.handles.get(process as usize).and_then(|given| given.get(place as usize)).copied().unwrap_or_default()
    }

    /// How many handles a process has given.
    pub fn handles_of(&self, process: usize) -> usize {
        self.handles.get(process).map_or(0, Vec::len)
    }

    /// Numbers the next path that a process has given a handle: `before`, continued over a link. To be called for
    /// all of them in the order of one thread.
    pub fn resolve(&mut self, process: usize, before: u32, directed_link: u32) {
        let number = self.extend(before, directed_link);
        if self.handles.len() <= process {
            self.handles.resize(process + 1, Vec::new());
        }
        self.handles[process].push(number);
    }

    /// The path that continues `before` over `wire`.
    #[inline]
    pub fn extend(&mut self, before: u32, directed_link: u32) -> u32 {
        let before = self.number(before);
        let key = u64::from(before) << 32 | u64::from(directed_link);
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        if self.steps.len() >= MAX_STEPS {
            return MAX_STEPS as u32;
        }
        let number = self.steps.len() as u32;
        self.steps.push(Step { before, directed_link, told: false });
        self.numbers.insert(key, number);
        number
    }

    /// Writes the links of a path to `out` the first time it is requested; `false` every other time.
    #[inline]
    pub fn links_if_new(&mut self, path: u32, out: &mut Vec<DirectedLinkId>) -> bool {
        match self.steps.get_mut(path as usize) {
            Some(step) if !step.told => step.told = true,
            _ => return false,
        }
        out.clear();
        let mut at = path;
        while at != 0 {
            let step = self.steps[at as usize];
            out.push(DirectedLinkId(step.directed_link));
            at = step.before;
        }
        out.reverse();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_have_equal_numbers_and_are_reported_once() {
        let mut paths = Paths::default();
        let a = paths.extend(0, 7);
        let ab = paths.extend(a, 9);
        let ba = {
            let b = paths.extend(0, 9);
            paths.extend(b, 7)
        };
        assert_eq!(paths.extend(a, 9), ab);
        assert_ne!(ab, ba);
        let mut links = Vec::new();
        assert!(paths.links_if_new(ab, &mut links));
        assert_eq!(links, [DirectedLinkId(7), DirectedLinkId(9)]);
        assert!(!paths.links_if_new(ab, &mut links));
        assert!(!paths.links_if_new(u32::MAX, &mut links));
    }
}
