//! A tournament tree: every match keeps its winner, and one changed source replays the matches above it.
//!
//! Four play each match: their entries fill one cache line, and a tree over 500 sources is five levels deep.

use super::{Due, Schedule};
use ndnweir_prefetch::prefetch;

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

/// A tree of matches: the winners of matches `4 m + 1` to `4 m + 4` meet in match `m`, and sources have the seats that are
/// left. Where these are of two levels, sources of high numbers have those of the upper, and one match less to be played.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Tournament {
    matches: Vec<Match>,
    /// The seat of source 0, counted over all matches: the first of the lower level.
    lowest: usize,
    /// What the number of a source of the upper level is added to for its seat; perhaps below zero.
    upper: usize,
    /// How many sources sit in the lower level.
    low: u32,
    champion: (Due, u32),
}

impl Tournament {
    /// Sets the next event of the source that [`Schedule::next`] names: every match of it changes.
    #[inline(always)]
    pub fn postpone(&mut self, due: Due) {
        let mut player = (due, self.champion.1);
        let mut seat = self.seat(player.1);
        while seat >= PLAYERS {
            player = self.replay(seat, player);
            seat = seat / PLAYERS - 1;
        }
        self.champion = self.replay(seat, player);
    }

    /// Asks for the lower matches that [`Tournament::postpone`] plays again.
    #[inline(always)]
    pub fn expect_next(&self) {
        let mut seat = self.seat(self.champion.1);
        for _ in 0..3 {
            self.matches.get(seat / PLAYERS).into_iter().for_each(prefetch);
            seat = (seat / PLAYERS).wrapping_sub(1);
        }
    }

    /// Sources from the left of the tree to its right, so that of equals the lowest number wins.
    #[inline(always)]
    fn seat(&self, source: u32) -> usize {
        let first = if source < self.low { self.lowest } else { self.upper };
        first.wrapping_add(source as usize)
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
        // Every match but the final takes a seat.
        let count = sources.saturating_sub(1).div_ceil(PLAYERS - 1).max(1);
        let (mut lowest, mut level) = (0, PLAYERS);
        while lowest + level < count * PLAYERS {
            lowest += level;
            level *= PLAYERS;
        }
        let low = sources.min(count * PLAYERS - lowest);
        let mut tournament = Tournament {
            matches: vec![Match::EMPTY; count],
            lowest,
            upper: (count - 1).wrapping_sub(low),
            low: low as u32,
            champion: (Due::NEVER, 0),
        };
        for source in 0..sources as u32 {
            let seat = tournament.seat(source);
            tournament.matches[seat / PLAYERS].source[seat % PLAYERS] = source;
        }
        tournament
    }

    #[inline]
    fn set(&mut self, source: u32, due: Due) {
        let mut seat = self.seat(source);
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
        let seat = self.seat(source);
        self.matches[seat / PLAYERS].due[seat % PLAYERS]
    }

    fn next(&self) -> (Due, u32) {
        self.champion
    }
}
