//! A tournament tree: every match keeps its winner, and one changed source replays the matches above it.
//!
//! Four play each match: their entries fill one cache line, and a tree over 500 sources is five levels deep.

use super::Schedule;
use ndnweir_core::units::Time;

/// How many play a match.
const PLAYERS: usize = 4;

/// A player: the earliest instant below it and the source that belongs to.
#[derive(Clone, Copy, Debug)]
struct Player {
    at: Time,
    source: u32,
}

/// A match, on a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Match([Player; PLAYERS]);

impl Match {
    /// The winner: the earliest, of equals the leftmost, which has the lowest number.
    #[inline]
    fn winner(&self) -> Player {
        let [a, b, c, d] = self.0;
        let left = if b.at < a.at { b } else { a };
        let right = if d.at < c.at { d } else { c };
        if right.at < left.at { right } else { left }
    }
}

/// A complete tree of matches. The matches of a level follow each other, the levels from the sources up to the final.
#[derive(Clone, Debug)]
pub struct Tournament {
    matches: Vec<Match>,
    /// The first match of each level but the lowest, then that of the winner, which is past the end.
    levels: Vec<usize>,
    champion: Player,
}

const NOBODY: Player = Player { at: Time::NEVER, source: 0 };

impl Schedule for Tournament {
    fn new(sources: usize) -> Tournament {
        let mut levels = Vec::new();
        let (mut total, mut players) = (0, sources.max(1));
        loop {
            let matches = players.div_ceil(PLAYERS);
            total += matches;
            levels.push(total);
            if matches == 1 {
                break;
            }
            players = matches;
        }
        let mut tournament = Tournament { matches: vec![Match([NOBODY; PLAYERS]); total], levels, champion: NOBODY };
        for source in 0..sources {
            tournament.matches[source / PLAYERS].0[source % PLAYERS].source = source as u32;
        }
        tournament
    }

    #[inline]
    fn set(&mut self, source: u32, at: Time) {
        let (mut place, mut first) = (source as usize, 0);
        let mut player = Player { at, source };
        for &next in &self.levels {
            let played = &mut self.matches[first + place / PLAYERS];
            let seat = &mut played.0[place % PLAYERS];
            if seat.at == player.at && seat.source == player.source {
                return;
            }
            *seat = player;
            player = played.winner();
            place /= PLAYERS;
            first = next;
        }
        self.champion = player;
    }

    fn get(&self, source: u32) -> Time {
        self.matches[source as usize / PLAYERS].0[source as usize % PLAYERS].at
    }

    fn next(&self) -> (Time, u32) {
        (self.champion.at, self.champion.source)
    }
}
