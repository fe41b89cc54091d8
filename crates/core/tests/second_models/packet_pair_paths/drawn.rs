//! Networks that a seed draws for the packet pair.

use super::Way;
use crate::fetch::{Fate, Link, Request};
use crate::{MS, uneven};
use ndnweir_core::consumer::Congestion;
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::NackReason;

/// A network that a seed draws: one to three paths, rarely 20, of which some begin late or end early; what it does to
/// each packet.
pub struct Drawn {
    rng: Rng,
    ways: Vec<Way>,
    links: Vec<Link>,
    /// When each path begins and ends.
    lives: Vec<(u64, u64)>,
    /// Interests that still fail.
    failing: u64,
    /// Out of 1,000: marks, failures, Data late, Data without a label, changes of path.
    chances: [u64; 5],
    /// Arrivals at whole multiples of this, in ns.
    grain: u64,
    nacks: bool,
    current: usize,
}

impl Drawn {
    pub fn new(seed: u64, nacks: bool) -> Drawn {
        let mut rng = Rng::derive(seed, &[8]);
        let count = [1, 1, 2, 2, 2, 3, 3, 3, 3, 20][rng.below(10) as usize];
        let labelled = rng.below(3) > 0;
        let ways = (0..count)
            .map(|place| Way {
                base: (1 + rng.below(80)) * MS + rng.below(MS),
                service: MS / 8 + rng.below(2 * MS),
                label: if labelled { 31 + place as u32 } else { 0 },
            })
            .collect::<Vec<_>>();
        let life = |rng: &mut Rng| {
            let begin = if rng.below(3) == 0 { rng.below(300 * MS) } else { 0 };
            (begin, if rng.below(3) == 0 { begin + rng.below(400 * MS) } else { u64::MAX })
        };
        let mut lives: Vec<_> = (0..count).map(|_| life(&mut rng)).collect();
        lives[0] = (0, u64::MAX);
        let rare = |rng: &mut Rng, most: u64| if rng.below(2) == 0 { 0 } else { rng.below(most) };
        let without = if labelled { rare(&mut rng, 80) } else { 0 };
        let chances = [rare(&mut rng, 100), rare(&mut rng, 100), rare(&mut rng, 150), without, 50 + rng.below(950)];
        let grain = [1, 1, MS / 2][rng.below(3) as usize];
        let links = ways.iter().map(|_| Link::default()).collect();
        Drawn { rng, ways, links, lives, chances, grain, nacks, current: 0, failing: 0 }
    }

    fn happens(&mut self, which: usize) -> bool {
        self.rng.below(1000) < self.chances[which]
    }

    pub fn fate(&mut self, request: &Request) -> Fate {
        let now = request.now;
        if self.happens(4) {
            self.current = self.rng.below(self.ways.len() as u64) as usize;
        }
        let (begins, ends) = self.lives[self.current];
        if !(begins..ends).contains(&now) {
            self.current = 0;
        }
        let Way { base, service, label } = self.ways[self.current];
        let mut at = self.links[self.current].transmit(now, uneven(service, now)) + base;
        if self.happens(1) {
            self.failing = 1 + self.rng.below(4);
        }
        if self.failing > 0 {
            self.failing -= 1;
            let nack = |reason| Congestion::Nack { reason, marked: false };
            let kinds = [
                Congestion::Loss,
                Congestion::Timeout,
                nack(NackReason::NoRoute),
                nack(NackReason::Duplicate),
                nack(NackReason::Congestion),
            ];
            let kind = kinds[self.rng.below(if self.nacks { 5 } else { 2 }) as usize];
            // Timers are looked at every 50 ms.
            let at = if kind == Congestion::Timeout { (at + 200 * MS).next_multiple_of(50 * MS) } else { at + 10 * MS };
            return Fate::Fails { at, kind };
        }
        if self.happens(2) {
            at += self.rng.below(5 * MS);
        }
        let label = if self.happens(3) { 0 } else { label };
        let mark = u8::from(self.happens(0));
        Fate::Arrives { at: at.next_multiple_of(self.grain), label, level: 0, mark }
    }
}
