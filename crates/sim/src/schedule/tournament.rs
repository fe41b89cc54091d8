//! A tournament tree: every match keeps its winner, and one changed source replays the matches above it.
//!
//! Four play each match: their entries fill one cache line, and a tree over 500 sources is five levels deep.

use super::{Due, Schedule};

/// How many play a match.
const PLAYERS: usize = 4;

/// A match, on a cache line of its own. A player is the earliest event below it and the source that belongs to.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
#[repr(align(64))]
struct Match {
    due: [Due; PLAYERS],
    source: [u32; PLAYERS],
}

impl Match {
    const EMPTY: Match = Match { due: [Due::NEVER; PLAYERS], source: [0; PLAYERS] };

    /// The winner: the earliest, of equals the leftmost, which has the lowest number.
    #[inline]
    fn winner(&self) -> (Due, u32) {
        let due = &self.due;
        let left = usize::from(due[1] < due[0]);
        let right = 2 + usize::from(due[3] < due[2]);
        let best = if due[right] < due[left] { right } else { left };
        (due[best], self.source[best])
    }
}

/// A complete tree of matches, from the final down, level by level: the winners of matches `4 m + 1` to `4 m + 4` meet
/// in match `m`, and all sources play in the lowest level.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Tournament {
    matches: Vec<Match>,
    /// The seat of source 0, counted over all matches.
    lowest: usize,
    champion: (Due, u32),
}

impl Tournament {
    /// Sets the next event of the source that [`Schedule::next`] names: every match of it changes.
    #[inline]
    pub fn postpone(&mut self, due: Due) {
        let mut player = (due, self.champion.1);
        let mut seat = self.lowest + player.1 as usize;
        while seat >= PLAYERS {
            player = self.replay(seat, player);
            seat = seat / PLAYERS - 1;
        }
        self.champion = self.replay(seat, player);
    }

    /// Seats a player and gives the winner of its match.
    #[inline(always)]
    fn replay(&mut self, seat: usize, player: (Due, u32)) -> (Due, u32) {
        let played = &mut self.matches[seat / PLAYERS];
        played.due[seat % PLAYERS] = player.0;
        played.source[seat % PLAYERS] = player.1;
        played.winner()
    }
}

impl Schedule for Tournament {
    fn new(sources: usize) -> Tournament {
        let (mut above, mut level) = (0, 1);
        while level * PLAYERS < sources {
            above += level;
            level *= PLAYERS;
        }
        let lowest = above * PLAYERS;
        let total = above + sources.div_ceil(PLAYERS).max(1);
        let mut matches = vec![Match::EMPTY; total];
        for source in 0..sources {
            let seat = lowest + source;
            matches[seat / PLAYERS].source[seat % PLAYERS] = source as u32;
        }
        Tournament { matches, lowest, champion: (Due::NEVER, 0) }
    }

    #[inline]
    fn set(&mut self, source: u32, due: Due) {
        let mut seat = self.lowest + source as usize;
        let mut player = (due, source);
        loop {
            let played = &self.matches[seat / PLAYERS];
            let chair = seat % PLAYERS;
            // Both at once: this branch is taken once per change, at whichever level.
            let moved = played.due[chair].0 ^ player.0.0;
            if moved | u64::from(played.source[chair] ^ player.1) == 0 {
                return;
            }
            player = self.replay(seat, player);
            if seat < PLAYERS {
                break;
            }
            seat = seat / PLAYERS - 1;
        }
        self.champion = player;
    }

    fn get(&self, source: u32) -> Due {
        let seat = self.lowest + source as usize;
        self.matches[seat / PLAYERS].due[seat % PLAYERS]
    }

    fn next(&self) -> (Due, u32) {
        self.champion
    }
}
