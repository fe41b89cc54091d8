//! The largest packets that links carry in one frame.

use crate::groups::Groups;
use crate::network::{Link, Network, NetworkError, NodeKind};
use crate::topology::{Channel, Topology};
use ndnweir_core::units::Bytes;
use ndnweir_node::fragments::{Cut, MAX_FRAGMENTS};

/// Maximum number of bytes by which a packet of a growing scenario exceeds its given size
/// ([`ndnweir_node::server::grown`]).
const GROWTH: u32 = 2;

impl Link {
    /// The largest LpPacket that the link carries; `None` if every packet fits.
    fn largest(&self) -> Option<Bytes> {
        let framing = self.forward.framing.max(self.backward.framing);
        self.mtu.map(|mtu| Bytes::new(mtu.get().saturating_sub(framing.get())))
    }
}

/// By link: the largest LpPacket that a node may send on it. A switch does not fragment frames, so that all links of a
/// switched network have the smallest of their limits.
pub fn largest_frames(network: &Network) -> Vec<Option<Bytes>> {
    let mut largest: Vec<Option<Bytes>> = network.links.iter().map(Link::largest).collect();
    if largest.iter().all(Option::is_none) {
        return largest;
    }
    let is_switch = |node: usize| network.nodes[node] == NodeKind::Switch;
    // The switched network that a switch belongs to, by its first switch.
    let mut domains = Groups::new(network.nodes.len());
    for link in network.links.iter().filter(|link| is_switch(link.a) && is_switch(link.b)) {
        domains.join(link.a, link.b);
    }
    let domain = |link: &Link| [link.a, link.b].into_iter().find(|&end| is_switch(end)).map(|end| domains.of(end));
    let mut smallest = vec![None; network.nodes.len()];
    for (link, own) in network.links.iter().zip(&largest) {
        if let (Some(domain), Some(own)) = (domain(link), *own) {
            smallest[domain] = Some(smallest[domain].map_or(own, |least: Bytes| least.min(own)));
        }
    }
    for (link, own) in network.links.iter().zip(&mut largest) {
        if let Some(domain) = domain(link) {
            *own = smallest[domain];
        }
    }
    largest
}

/// The largest LpPacket on a channel; `None` if every packet fits.
pub(crate) fn of_channel(largest: &[Option<Bytes>], topology: &Topology, channel: u32) -> Option<Bytes> {
    let Channel { directed_link, .. } = topology.channels[channel as usize];
    largest[directed_link as usize / 2]
}

/// The number of frames of at most `frame` bytes, link framing excluded, that carry a packet of `size` bytes; `None` if
/// the packet cannot be fragmented accordingly.
pub fn frames_of(size: u32, frame: Bytes) -> Option<u32> {
    if u64::from(size) <= frame.get() {
        return Some(1);
    }
    Cut::new(frame).map(|cut| cut.count(size)).filter(|&count| count <= MAX_FRAGMENTS)
}

/// Checks that every packet can be fragmented for every link.
pub(crate) fn check(network: &Network) -> Result<(), NetworkError> {
    let sizes = network.producers.iter().map(|p| p.size).chain(network.consumers.iter().map(|c| c.interest_size));
    let most = sizes.max().unwrap_or(0).saturating_add(GROWTH);
    for (i, link) in network.links.iter().enumerate() {
        let Some(largest) = link.largest() else { continue };
        if frames_of(most, largest).is_none() {
            return Err(NetworkError(format!(
                "link {i}: an MTU of {} cannot carry {most} B in {MAX_FRAGMENTS} fragments: give a larger one",
                link.mtu.unwrap_or_default()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Direction;
    use ndnweir_core::queue::Limit;
    use ndnweir_core::units::{Duration, Rate};

    fn network(nodes: &[NodeKind], links: &[(usize, usize, Option<u64>)]) -> Network {
        let mut direction = Direction::new(Rate::from_mbps(10.0), Duration::from_millis(1), Limit::Packets(10));
        direction.framing = Bytes::new(2);
        let link = |&(a, b, mtu): &(usize, usize, Option<u64>)| Link {
            mtu: mtu.map(Bytes::new),
            ..Link::symmetric(a, b, direction.clone())
        };
        Network { nodes: nodes.to_vec(), links: links.iter().map(link).collect(), ..Network::default() }
    }

    #[test]
    fn links_that_switches_join_go_by_the_smallest_of_them() {
        let (n, s) = (NodeKind::Ndn { cache: 0 }, NodeKind::Switch);
        // n0 - s1 - s2 - n3, n3 - n4, n4 - s5 - n6: two switched networks and a link between nodes.
        let links =
            [(0, 1, Some(1500)), (1, 2, Some(802)), (2, 3, None), (3, 4, Some(9000)), (4, 5, None), (5, 6, Some(602))];
        let found = largest_frames(&network(&[n, s, s, n, n, s, n], &links));
        assert_eq!(found, [800, 800, 800, 8998, 600, 600].map(|n| Some(Bytes::new(n))));
        assert_eq!(largest_frames(&network(&[n, n], &[(0, 1, None)])), [None]);
    }

    #[test]
    fn an_mtu_that_cuts_into_too_many_parts_is_rejected() {
        let n = NodeKind::Ndn { cache: 0 };
        let mut network = network(&[n, n], &[(0, 1, Some(64))]);
        network.producers = vec![crate::bench::producer(1, 0)];
        check(&network).unwrap();
        network.producers[0].size = 20_000;
        assert!(check(&network).unwrap_err().0.contains("give a larger one"));
        network.links[0].mtu = Some(Bytes::new(20));
        assert!(check(&network).is_err(), "no room at all");
    }
}
