//! Media that several links share: when a frame ends, the next sender takes its turn.

use super::process::Net;
use super::sink::Sink;
use crate::network::Network;
use crate::observer::LinkCounters;
use crate::schedule::{Due, EventRank, Schedule};
use crate::topology::Topology;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;
use ndnweir_link::{Medium, MediumFrame};

/// A medium and the source of its events.
#[derive(Debug, ndnweir_state::Value)]
struct Place {
    medium: Medium,
    /// The directed links, by position in the medium.
    directed_links: Vec<u32>,
    source: u32,
}

/// All media.
#[derive(Debug, Default, ndnweir_state::Value)]
pub(super) struct Media {
    places: Vec<Place>,
    /// By directed link: its medium and its position there; empty without media.
    of: Vec<Option<(usize, usize)>>,
}

impl Media {
    pub(super) fn new(network: &Network, topology: &Topology) -> Media {
        let mut media = Media::default();
        if network.media.is_empty() {
            return media;
        }
        media.of = vec![None; topology.directed_links.len()];
        for (number, shared) in network.media.iter().enumerate() {
            let mut medium = Medium::new(shared.rate, shared.gap);
            let mut directed_links: Vec<u32> =
                shared.links.iter().flat_map(|&link| [2 * link as u32, 2 * link as u32 + 1]).collect();
            directed_links.sort_unstable_by_key(|&w| (topology.directed_links[w as usize].from, w));
            for &directed_link in &directed_links {
                let direction = super::build::direction(network, directed_link);
                let from = topology.directed_links[directed_link as usize].from;
                let place = medium.add(from, direction.limit, direction.framing);
                media.of[directed_link as usize] = Some((number, place));
            }
            media.places.push(Place { medium, directed_links, source: 0 });
        }
        media
    }

    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    pub(super) fn set_source(&mut self, number: usize, source: u32) {
        self.places[number].source = source;
    }

    /// The medium of a directed link, and the link's position there.
    pub(super) fn of(&self, directed_link: u32) -> Option<(usize, usize)> {
        self.of.get(directed_link as usize).copied().flatten()
    }

    pub(super) fn counters(&mut self, directed_link: u32) -> Option<LinkCounters> {
        let (number, place) = self.of(directed_link)?;
        Some(self.places[number].medium.counters(place))
    }
}

impl<S: Sink> Net<S> {
    /// Gives a packet to the medium of its link, if it has one.
    pub(super) fn offer_to_medium(&mut self, now: Time, directed_link: u32, channel: u32, packet: &Packet) {
        let Some((number, place)) = self.media.of(directed_link) else { return };
        let frame = self.media.places[number].medium.offer(now, place, channel, packet);
        self.follow_medium(now, number, frame);
    }

    /// A frame of a medium has ended.
    pub(super) fn medium_due(&mut self, now: Time, number: usize) {
        let frame = self.media.places[number].medium.advance(now);
        self.follow_medium(now, number, frame);
    }

    /// Takes a link down or up in its medium; returns the number of packets whose transmission was not complete.
    pub(super) fn set_medium_link(&mut self, now: Time, directed_link: u32, up: bool) -> usize {
        let Some((number, place)) = self.media.of(directed_link) else { return 0 };
        let unsent = self.media.places[number].medium.set_up(now, place, up);
        self.follow_medium(now, number, None);
        unsent
    }

    fn follow_medium(&mut self, now: Time, number: usize, frame: Option<MediumFrame>) {
        let Place { medium, directed_links, source } = &self.media.places[number];
        let due = medium.due().max(now);
        let directed_link = frame.as_ref().map(|frame| directed_links[frame.link]);
        self.schedule.set(*source, Due::new(due, EventRank::CHANGE));
        if let (Some(mut frame), Some(directed_link)) = (frame, directed_link) {
            self.put(now, directed_link, frame.channel, &mut frame.packet, frame.times);
        }
    }
}
