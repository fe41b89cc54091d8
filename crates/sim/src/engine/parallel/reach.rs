//! How far each process may go while others are behind it.
//!
//! Whatever will come to a process begins with an event that is pending now, in some process, and goes from there over
//! links between processes. So nothing comes before the earliest sum of when a process has its next event and of the
//! shortest delay from it to here (Ayani, *A parallel simulation scheme based on distances between objects*, 1989). A burst
//! that goes along a chain is worked on at several nodes at once, each as far ahead of the one before as the link between
//! them is long.

use super::division::Division;
use crate::engine::Engine;
use ndnweir_core::units::{Duration, Time};

/// Delays between processes.
#[derive(Debug, Default)]
pub(super) struct Reach {
    processes: usize,
    /// By sender and receiver: the shortest delay of a link between them.
    direct: Vec<Duration>,
    /// The same over any number of links, one at least: a process reaches itself by way of others.
    least: Vec<Duration>,
}

/// Where nothing goes.
const NO_WAY: Duration = Duration::MAX;

impl Reach {
    /// Takes the delays of links as they are now: packets have left completely before the delay begins. They change in
    /// events that concern all.
    pub(super) fn update(&mut self, division: &Division, engine: &Engine<'_, '_>) {
        let processes = division.members.len();
        let mut direct = vec![NO_WAY; processes * processes];
        for &link in &division.cut {
            let [from, to] = [link ^ 1, link].map(|link| division.ends[link as usize] as usize);
            let delay = engine.process.net.links[link as usize].propagation.delay();
            let known = &mut direct[from * processes + to];
            *known = delay.min(*known);
        }
        if direct != self.direct {
            *self = Reach::new(processes, direct);
        }
    }

    /// Floyd's and Warshall's shortest ways.
    fn new(processes: usize, direct: Vec<Duration>) -> Reach {
        let mut least = direct.clone();
        for by in 0..processes {
            for from in 0..processes {
                let first = least[from * processes + by];
                if first == NO_WAY {
                    continue;
                }
                for to in 0..processes {
                    let whole = first.nanos().saturating_add(least[by * processes + to].nanos());
                    let known = &mut least[from * processes + to];
                    *known = (*known).min(Duration::from_nanos(whole));
                }
            }
        }
        Reach { processes, direct, least }
    }

    /// The shortest delay of a link from one process to another.
    pub(super) fn direct(&self, from: usize, to: usize) -> Duration {
        self.direct[from * self.processes + to]
    }

    /// When a packet may come to a process at the earliest that has not been sent yet, if these are the instants of all
    /// processes' next events.
    pub(super) fn earliest(&self, to: usize, next: &[Time]) -> Time {
        let come =
            |(from, next): (usize, &Time)| next.nanos().saturating_add(self.least[from * self.processes + to].nanos());
        Time::from_nanos(next.iter().enumerate().map(come).min().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_go_as_far_as_nothing_can_come_from_any_other_or_come_back() {
        let ms = Duration::from_millis;
        let at = |of: u64| Time::ZERO + ms(of);
        // 0 – 1 – 2 and, from 2 to 0 only, a long link.
        let mut direct = vec![NO_WAY; 9];
        for (from, to, delay) in [(0, 1, 3), (1, 0, 5), (1, 2, 4), (2, 1, 4), (2, 0, 50)] {
            direct[from * 3 + to] = ms(delay);
        }
        let reach = Reach::new(3, direct);
        assert_eq!((reach.direct(0, 1), reach.direct(0, 2)), (ms(3), NO_WAY));
        let earliest = |next: [Time; 3]| [0, 1, 2].map(|to| reach.earliest(to, &next));
        assert_eq!(earliest([at(10), Time::NEVER, Time::NEVER]), [at(18), at(13), at(17)]);
        assert_eq!(earliest([at(10), at(12), at(11)]), [at(17), at(13), at(16)]);
        assert_eq!(earliest([Time::NEVER; 3]), [Time::from_nanos(u64::MAX); 3]);
    }
}
