//! Packets that arrive in fragments: reassembled at the next node, within the bounds of a forwarder.

use crate::outcome::FragmentCounters;
use crate::topology::Channel;
use ndnweir_core::ids::NameId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::fragments::body;
use ndnweir_wire::lp::ReassemblerConfig;
use std::collections::{BTreeMap, VecDeque};

/// What identifies the fragments of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
struct Key {
    name: NameId,
    nonce: u32,
    kind: Kind,
    count: u8,
    sequence: u8,
}

/// A packet of which some fragments have arrived.
#[derive(Debug, ndnweir_state::Value)]
struct Partial {
    key: Key,
    deadline: Time,
    /// Bitmap of the fragments that have arrived.
    there: [u64; 4],
    /// Number of fragments that have arrived.
    arrived: u8,
    /// Bytes of the packet in these fragments.
    bytes: u32,
    mark: u8,
    flags: u8,
}

impl Partial {
    fn new(key: Key, deadline: Time) -> Partial {
        Partial { key, deadline, there: [0; 4], arrived: 0, bytes: 0, mark: 0, flags: 0 }
    }

    /// Adds a fragment; returns whether it is new.
    fn take(&mut self, packet: &Packet) -> bool {
        let (word, bit) = (usize::from(packet.fragment.index >> 6), 1 << (packet.fragment.index & 63));
        if self.there[word] & bit != 0 {
            return false;
        }
        self.there[word] |= bit;
        self.arrived += 1;
        self.bytes += body(packet.size);
        self.mark = self.mark.max(packet.mark);
        self.flags |= packet.flags;
        true
    }
}

/// The incomplete packets of all nodes.
#[derive(Debug, ndnweir_state::Value)]
pub(super) struct Fragments {
    /// By channel, in the order of their first fragments.
    partials: BTreeMap<u32, VecDeque<Partial>>,
    timeout: Duration,
    most: usize,
    /// By place in the engine.
    counters: Vec<FragmentCounters>,
}

impl Fragments {
    pub(super) fn new(places: usize) -> Fragments {
        let ReassemblerConfig { timeout, max_partials, .. } = ReassemblerConfig::default();
        Fragments {
            partials: BTreeMap::new(),
            timeout: Duration::from_nanos(timeout.as_nanos() as u64),
            most: max_partials,
            counters: vec![FragmentCounters::default(); places],
        }
    }

    /// Handles a fragment that arrives by a channel. Returns whether its packet is complete; `packet` is then replaced
    /// by the reassembled packet, with the highest mark of all fragments.
    #[cold]
    #[inline(never)]
    pub(super) fn complete(&mut self, now: Time, channel: u32, place: u32, packet: &mut Packet) -> bool {
        let counters = &mut self.counters[place as usize];
        let partials = self.partials.entry(channel).or_default();
        counters.arrived += 1;
        while partials.front().is_some_and(|first| first.deadline <= now) {
            give_up(partials, counters);
        }
        let count = packet.fragment.count;
        let key = Key {
            name: packet.name,
            nonce: packet.nonce,
            kind: packet.kind,
            count,
            sequence: packet.fragment.sequence,
        };
        // Most fragments belong to the packet that arrived last.
        let known = partials.iter().rposition(|partial| partial.key == key);
        let at = known.unwrap_or_else(|| {
            if partials.len() == self.most {
                give_up(partials, counters);
            }
            partials.push_back(Partial::new(key, now + self.timeout));
            partials.len() - 1
        });
        if !partials[at].take(packet) {
            counters.duplicates += 1;
            return false;
        }
        if partials[at].arrived < count {
            return false;
        }
        let Some(whole) = partials.remove(at) else { return false };
        counters.packets += 1;
        counters.used += u64::from(whole.arrived);
        (packet.size, packet.mark, packet.flags) = (whole.bytes, whole.mark, whole.flags);
        packet.fragment = Default::default();
        true
    }

    /// A node loses its state, including the incomplete packets of its channels.
    pub(super) fn crash(&mut self, place: u32, channels: &[Channel]) {
        for (&channel, partials) in &mut self.partials {
            while channels[channel as usize].to == place && !partials.is_empty() {
                give_up(partials, &mut self.counters[place as usize]);
            }
        }
    }

    /// The counters of fragments, by place.
    pub(super) fn counters(&self, channels: &[Channel]) -> Vec<FragmentCounters> {
        let mut counters = self.counters.clone();
        for (&channel, partials) in &self.partials {
            let place = channels[channel as usize].to as usize;
            counters[place].pending += partials.iter().map(|partial| u64::from(partial.arrived)).sum::<u64>();
        }
        counters
    }
}

/// Drops the oldest incomplete packet.
fn give_up(partials: &mut VecDeque<Partial>, counters: &mut FragmentCounters) {
    if let Some(oldest) = partials.pop_front() {
        counters.incomplete += 1;
        counters.given_up += u64::from(oldest.arrived);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::packet::Fragment;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    /// A fragment of 1000 B, one of three of a Data.
    fn part(sequence: u8, index: u8, mark: u8) -> Packet {
        Packet {
            kind: Kind::Data,
            size: 1024,
            mark,
            fragment: Fragment { index, count: 3, sequence },
            ..Packet::default()
        }
    }

    #[test]
    fn a_packet_is_there_with_its_last_fragment_and_has_the_highest_mark() {
        let mut fragments = Fragments::new(1);
        let mut arrive = |at: u64, mut packet: Packet| fragments.complete(ms(at), 0, 0, &mut packet).then_some(packet);
        assert_eq!(arrive(0, part(1, 2, 0)), None);
        assert_eq!(arrive(1, part(1, 0, 1)), None);
        assert_eq!(arrive(1, part(1, 0, 1)), None, "the same again");
        let whole = arrive(2, part(1, 1, 0)).unwrap();
        assert_eq!((whole.size, whole.mark, whole.fragment), (3000, 1, Fragment::NONE));
        let counters = fragments.counters[0];
        assert_eq!((counters.arrived, counters.used, counters.duplicates, counters.packets), (4, 3, 1, 1));
    }

    #[test]
    fn parts_of_two_copies_of_a_data_are_not_put_together() {
        let mut fragments = Fragments::new(1);
        for (sequence, index) in [(1, 0), (1, 1), (2, 2)] {
            assert!(!fragments.complete(ms(0), 0, 0, &mut part(sequence, index, 0)));
        }
        assert_eq!(fragments.counters[0].packets, 0);
    }

    #[test]
    fn what_is_not_complete_after_half_a_second_is_given_up_and_so_is_the_oldest_of_too_many() {
        let mut fragments = Fragments::new(1);
        fragments.complete(ms(0), 0, 0, &mut part(1, 0, 0));
        fragments.complete(ms(499), 0, 0, &mut part(1, 1, 0));
        assert!(!fragments.complete(ms(500), 0, 0, &mut part(1, 2, 0)), "it begins anew");
        assert_eq!((fragments.counters[0].incomplete, fragments.counters[0].given_up), (1, 2));
        for sequence in 0..=255 {
            fragments.complete(ms(501), 0, 0, &mut part(sequence, 0, 0));
        }
        assert_eq!(fragments.counters[0].incomplete, 1, "one of them joined the one that was there");
        fragments.complete(ms(502), 1, 0, &mut part(9, 0, 0));
        let mut other = part(9, 0, 0);
        other.nonce = 1;
        fragments.complete(ms(502), 0, 0, &mut other);
        assert_eq!((fragments.counters[0].incomplete, fragments.counters[0].given_up), (2, 4));
    }
}
