//! The arrivals that come next in a process, known some events before, so that their memory is there when they do.
//!
//! What a packet needs stands in several places of far memory, each of which says where the next one is: the link, the
//! packet on it, the node, the bucket of its index, the PIT entry, the face, the link on which it goes on. An arrival is
//! taken out of the schedule [`DEPTH`] events before it is due, and with each event until then the next of these places is
//! asked for. Nothing else is changed before its time: the packet stays on its link, and if what is sent there meanwhile
//! comes before it, the schedule has it again.

use super::log::Log;
use super::{Part, Rank};
use crate::engine::Source;
use crate::engine::process::{Local, due};
use crate::observer::DirectedLinkId;
use crate::schedule::{Due, Schedule};
use ndnweir_core::ids::FaceId;
use ndnweir_node::Expected;
use ndnweir_prefetch::{prefetch, prefetch_first};

/// Smaller processes do not look ahead: with few links the next arrival is often of one from which one was taken already,
/// and what they need is read one after the other (ours; a chain of nine nodes took 1.2 of the time).
pub(super) const FEWEST_SOURCES: usize = 32;

/// How many arrivals are known: one for each step. (With 12, two events for each step, a run of 1,000 nodes took 1.2 of the
/// time: first-level caches are small.)
const DEPTH: usize = 8;
/// A power of two that is no less.
const PLACES: usize = 8;
/// How many others come before an arrival when it is asked for what it needs of the node, what says where its entry is,
/// the entry, the face, what is behind that, and where it is put there.
const NODE: usize = 6;
const PACKET: usize = 5;
const ENTRY: usize = 4;
const FACE: usize = 3;
const WAY: usize = 2;
const LAST: usize = 1;

/// Where a packet goes.
#[derive(Clone, Copy)]
enum Way {
    /// Not known yet, or to where nothing needs to be asked for.
    Unknown,
    /// By a directed link.
    Link(u32),
    /// To a consumer.
    App(u32),
}

/// An arrival that was taken out of the schedule.
#[derive(Clone, Copy)]
pub(super) struct Coming {
    pub(super) rank: Rank,
    /// The process's own number of the link's source.
    pub(super) source: u32,
    pub(super) link: u32,
    /// The link's next arrival, as the schedule has it.
    pub(super) next: Due,
    /// Where the link ends.
    to: u32,
    /// By which face the packet will leave; [`FaceId::NONE`] if that is not known.
    face: FaceId,
    /// What is behind that.
    way: Way,
    expected: Expected,
}

/// The arrivals, the earliest first.
pub(super) struct Ahead {
    coming: [Coming; PLACES],
    first: usize,
    len: usize,
}

impl Default for Ahead {
    fn default() -> Ahead {
        let none = Coming {
            rank: (Due::NEVER, 0),
            source: 0,
            link: 0,
            next: Due::NEVER,
            to: 0,
            face: FaceId::NONE,
            way: Way::Unknown,
            expected: Expected::NONE,
        };
        Ahead { coming: [none; PLACES], first: 0, len: 0 }
    }
}

impl Ahead {
    /// Takes the first, if it comes before what is next in the schedule.
    #[inline(always)]
    pub(super) fn take(&mut self, scheduled: (Due, u32)) -> Option<Coming> {
        let first = self.coming[self.first % PLACES];
        if self.len == 0 || (first.rank.0, first.source) > scheduled {
            return None;
        }
        self.first += 1;
        self.len -= 1;
        Some(first)
    }

    /// What comes after the last.
    pub(super) fn end(&self) -> Option<Rank> {
        let (due, source) = self.coming[(self.first + self.len).checked_sub(1)? % PLACES].rank;
        (self.len > 0).then_some((due, source + 1))
    }

    /// Whether none comes later: what was sent in a window may arrive before what is here already.
    #[inline(always)]
    fn may_end_with(&self, rank: Rank) -> bool {
        self.len == 0 || self.coming[(self.first + self.len - 1) % PLACES].rank < rank
    }

    #[inline(always)]
    fn push(&mut self, coming: Coming) {
        self.coming[(self.first + self.len) % PLACES] = coming;
        self.len += 1;
    }

    /// The one with this number, from the first on.
    #[inline(always)]
    fn get_mut(&mut self, number: usize) -> Option<&mut Coming> {
        (number < self.len).then(|| &mut self.coming[(self.first + number) % PLACES])
    }

    /// Leaves an arrival to the schedule again, which has it as it is now.
    pub(super) fn forget(&mut self, source: u32) {
        let mut kept = 0;
        for number in 0..self.len {
            let coming = self.coming[(self.first + number) % PLACES];
            if coming.source != source {
                self.coming[(self.first + kept) % PLACES] = coming;
                kept += 1;
            }
        }
        self.len = kept;
    }
}

impl Part {
    /// Takes arrivals before a bound out of the schedule, and asks for what those need that are out of it.
    #[inline(always)]
    pub(super) fn look_ahead(&mut self, bound: Rank) {
        for _ in 0..2 {
            if self.net.sink.ahead.len >= DEPTH || !self.take_one(bound) {
                break;
            }
        }
        let (_, next) = self.net.schedule.next();
        self.sources.get(next as usize).into_iter().for_each(prefetch);
        self.net.schedule.expect_next();
        self.expect();
        if let Some(&Source::DirectedLink(link)) = self.sources.get(next as usize) {
            prefetch_first(&self.net.links[link as usize], 64);
        }
    }

    /// Whether the next event is an arrival, which then was taken out of the schedule.
    #[inline(always)]
    fn take_one(&mut self, bound: Rank) -> bool {
        let net = &mut self.net;
        let (at, source) = net.schedule.next();
        let Some(&Source::DirectedLink(link)) = self.sources.get(source as usize) else { return false };
        let rank = (at, net.sink.source(source));
        let here = &mut net.links[link as usize];
        let next = due(here.propagation.next_after_first());
        // The second packet may arrive at the same instant and have joined its queue before the first, whose turn it is
        // nevertheless: the schedule would have it before what was taken.
        if rank >= bound || here.is_ahead || next < at || !net.sink.ahead.may_end_with(rank) {
            return false;
        }
        here.is_ahead = true;
        here.propagation.prefetch_first();
        let to = here.to;
        self.places.get(to as usize).into_iter().for_each(prefetch);
        net.schedule.postpone(next);
        net.sink.ahead.push(Coming {
            rank,
            source,
            link,
            next,
            to,
            face: FaceId::NONE,
            way: Way::Unknown,
            expected: Expected::NONE,
        });
        true
    }

    /// Asks for what those need that are out of the schedule, each a step further.
    #[inline(always)]
    fn expect(&mut self) {
        let Self { net, places, apps, servers, .. } = self;
        let links = &net.links;
        let Log { ahead, tap, handles, .. } = &mut net.sink;
        if let Some(coming) = ahead.get_mut(NODE)
            && let Some(node) = &places[coming.to as usize].node
        {
            node.expect();
        }
        if let Some(coming) = ahead.get_mut(PACKET)
            && let Some(node) = &places[coming.to as usize].node
            && let Some(first) = links[coming.link as usize].propagation.first()
        {
            coming.expected = node.expect_packet(&first.packet, coming.rank.0.at());
        }
        if let Some(coming) = ahead.get_mut(ENTRY)
            && let Some(node) = &places[coming.to as usize].node
        {
            node.expect_entry(&mut coming.expected, coming.rank.0.at());
        }
        if let Some(coming) = ahead.get_mut(FACE)
            && let place = &places[coming.to as usize]
            && let Some(node) = &place.node
        {
            let face = node.expect_face(&coming.expected);
            coming.face = face;
            if face != FaceId::NONE {
                let index = face.index();
                match place.egress_links.get(index) {
                    Some(by) => prefetch(by),
                    None => place.locals.get(index - place.egress_links.len()).into_iter().for_each(prefetch),
                }
            }
        }
        if let Some(coming) = ahead.get_mut(WAY)
            && let face = coming.face
            && face != FaceId::NONE
            && let place = &places[coming.to as usize]
            && let Some(node) = &place.node
        {
            node.expect_queue(&coming.expected, face);
            coming.way = match place.egress_links.get(face.index()) {
                Some(by) => {
                    let out = by.directed_link();
                    tap.iter().for_each(|tap| tap.expect(DirectedLinkId(out)));
                    if let Some(path) = coming.expected.path() {
                        handles.expect(path, out);
                    }
                    prefetch_first(&links[out as usize], 128);
                    Way::Link(out)
                }
                None => match place.locals.get(face.index() - place.egress_links.len()) {
                    Some(&Local::App(app)) => {
                        apps.get(app as usize).into_iter().for_each(prefetch);
                        Way::App(app)
                    }
                    Some(&Local::Server(server)) => {
                        servers.get(server as usize).into_iter().for_each(prefetch);
                        Way::Unknown
                    }
                    None => Way::Unknown,
                },
            };
        }
        if let Some(coming) = ahead.get_mut(LAST) {
            match coming.way {
                Way::Link(out) => links[out as usize].propagation.prefetch_next(),
                Way::App(app) => apps[app as usize].expect(),
                Way::Unknown => {}
            }
        }
        if let Some(coming) = ahead.get_mut(0)
            && let Way::App(app) = coming.way
            && let Some((name, nonce)) = apps[app as usize].expect_segment(coming.expected.segment())
            && let Some(node) = &places[coming.to as usize].node
        {
            node.expect_name(name, nonce);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::EventRank;
    use ndnweir_core::units::Time;

    fn due(nanos: u64) -> Due {
        Due::new(Time::from_nanos(nanos), EventRank::arrival(0))
    }

    /// Of links that have the number of their arrival's instant.
    fn ahead(arrivals: &[u32]) -> Ahead {
        let mut ahead = Ahead::default();
        for &at in arrivals {
            let coming = Coming { rank: (due(at.into()), at), source: at, link: at, ..ahead.coming[0] };
            ahead.push(coming);
        }
        ahead
    }

    fn taken(ahead: &mut Ahead, scheduled: Due) -> Vec<u32> {
        std::iter::from_fn(|| ahead.take((scheduled, 0))).map(|coming| coming.link).collect()
    }

    #[test]
    fn arrivals_are_taken_in_order_and_not_before_what_is_scheduled() {
        let mut ahead = ahead(&[3, 5, 6]);
        assert_eq!((taken(&mut ahead, due(5)), ahead.len), (vec![3], 2), "of one instant the lower source comes first");
        assert_eq!(taken(&mut ahead, Due::NEVER), [5, 6]);
        assert!(ahead.take((Due::NEVER, 0)).is_none());
    }

    #[test]
    fn none_is_put_before_another() {
        let ahead = ahead(&[3, 5]);
        assert!(ahead.may_end_with((due(6), 0)) && ahead.may_end_with((due(5), 9)) && !ahead.may_end_with((due(4), 0)));
    }

    #[test]
    fn what_is_given_back_to_the_schedule_is_not_taken() {
        for first in 0..20 {
            let mut ahead = ahead(&[1; 1]);
            (0..first).for_each(|_| {
                ahead.take((Due::NEVER, 0));
                ahead.push(Coming { rank: (due(1), 1), source: 1, link: 1, ..ahead.coming[0] });
            });
            ahead.take((Due::NEVER, 0));
            for at in [3, 5, 6] {
                ahead.push(Coming { rank: (due(at.into()), at), source: at, link: at, ..ahead.coming[0] });
            }
            ahead.forget(5);
            ahead.forget(4);
            assert_eq!(taken(&mut ahead, Due::NEVER), [3, 6]);
        }
    }
}
