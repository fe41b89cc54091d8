//! How players choose bitrates.

use super::Player;
use ndnweir_core::units::{Duration, Time};
use serde::Serialize;
use std::collections::VecDeque;

/// FESTIVE: chunks whose rates are averaged.
const SAMPLES: usize = 20;
/// FESTIVE: part of the mean rate that a bitrate may take.
const DROP: f64 = 0.85;
/// FESTIVE: weight of the efficiency against the stability.
const ALPHA: f64 = 12.0;
/// FESTIVE: how long switches are remembered.
const SWITCHES: Duration = Duration::from_millis(20_000);
/// BBA-0: the reservoir and the top of the cushion, of the buffer: 90 and 216 of 240 s.
const RESERVOIR: f64 = 90.0 / 240.0;
const CUSHION_TOP: f64 = 216.0 / 240.0;

/// How a player chooses the bitrate of the next chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BitrateRule {
    /// By the rates at which chunks came: FESTIVE (Jiang, Sekar, Zhang, CoNEXT 2012, sections 4.2 to 4.4) without its
    /// random times of requests. The harmonic mean of 20 chunks gives a reference; up by one level after as many chunks
    /// at a level as its number, down by one at once; and only if the gain outweighs the switch.
    Festive,
    /// By the buffer alone: BBA-0 (Huang et al., SIGCOMM 2014, algorithm 1), whose reservoir and cushion are of the
    /// paper's parts of the buffer.
    #[serde(rename = "bba-0")]
    Bba0,
}

/// What rules remember.
#[derive(Debug, Default, ndnweir_state::Value)]
pub(super) struct Memory {
    /// Rates of the last chunks in bit/s, from request to last Data.
    rates: VecDeque<f64>,
    /// Chunks in a row at the present bitrate.
    at_level: u64,
    switches: VecDeque<Time>,
}

impl Memory {
    /// What is left of it for another video: the rates.
    pub(super) fn of_next_video(self) -> Memory {
        Memory { rates: self.rates, ..Memory::default() }
    }

    /// A chunk of so many bits took so long.
    pub(super) fn learn(&mut self, bits: u64, took: Duration) {
        if self.rates.len() == SAMPLES {
            self.rates.pop_front();
        }
        self.rates.push_back(bits as f64 / took.secs().max(1e-9));
    }

    /// The place of the next bitrate in the ladder; `last` is that of the chunk before, if there is one.
    pub(super) fn choose(
        &mut self,
        rule: &BitrateRule,
        player: &Player,
        now: Time,
        last: Option<usize>,
        buffered: Duration,
    ) -> usize {
        let ladder: Vec<f64> = player.ladder.iter().map(|rate| rate.bps() as f64).collect();
        let next = match (rule, last) {
            (_, None) => 0,
            (BitrateRule::Festive, Some(last)) => self.festive(&ladder, now, last),
            (BitrateRule::Bba0, Some(last)) => bba(&ladder, last, buffered.secs() / player.buffer.secs()),
        };
        if last == Some(next) {
            self.at_level += 1;
        } else {
            self.at_level = 1;
            if last.is_some() {
                self.switches.push_back(now);
            }
        }
        next
    }

    fn festive(&mut self, ladder: &[f64], now: Time, last: usize) -> usize {
        while self.switches.front().is_some_and(|&at| now.since(at) > SWITCHES) {
            self.switches.pop_front();
        }
        let inverse: f64 = self.rates.iter().map(|rate| 1.0 / rate).sum();
        if inverse <= 0.0 {
            return last;
        }
        let mean = self.rates.len() as f64 / inverse;
        let affordable = ladder.iter().rposition(|bitrate| *bitrate <= DROP * mean).unwrap_or(0);
        let reference = match affordable.cmp(&last) {
            // Levels have the numbers 1, 2, … in the paper.
            std::cmp::Ordering::Greater if self.at_level > last as u64 => last + 1,
            std::cmp::Ordering::Less => last - 1,
            _ => return last,
        };
        let wanted = mean.min(ladder[reference]);
        let score =
            |level: usize, switches: usize| libm::exp2(switches as f64) + ALPHA * (ladder[level] / wanted - 1.0).abs();
        let switches = self.switches.len();
        if score(reference, switches + 1) < score(last, switches) { reference } else { last }
    }
}

/// Algorithm 1 of BBA-0; `filled` is the buffer over its size.
fn bba(ladder: &[f64], last: usize, filled: f64) -> usize {
    let highest = ladder.len() - 1;
    if filled <= RESERVOIR {
        return 0;
    }
    if filled >= CUSHION_TOP {
        return highest;
    }
    let part = (filled - RESERVOIR) / (CUSHION_TOP - RESERVOIR);
    let map = ladder[0] + part * (ladder[highest] - ladder[0]);
    let (above, below) = ((last + 1).min(highest), last.saturating_sub(1));
    if map >= ladder[above] {
        ladder.iter().rposition(|bitrate| *bitrate < map).unwrap_or(0)
    } else if map <= ladder[below] {
        ladder.iter().position(|bitrate| *bitrate > map).unwrap_or(highest)
    } else {
        last
    }
}
