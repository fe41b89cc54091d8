//! Neighbourhood: the NDN faces and layer-2 forwarding that follow from nodes, links and the overlay.

use crate::network::{Network, NetworkError, NodeKind};
use crate::shortest::{Edge, ShortestPaths};
use ndnweir_link::MAX_CHANNELS;

/// No link, node or channel.
pub const NONE: u32 = u32::MAX;

/// One direction of a link, as the topology sees it.
#[derive(Clone, Copy, Debug)]
pub struct DirectedLink {
    /// Where it starts.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// How many channels start on it.
    pub channels: u32,
    /// Its only channel, if `channels` is 1.
    pub channel: u32,
}

/// One direction of NDN neighbourhood: what one node sends to one face, and another receives from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Who sends.
    pub from: u32,
    /// Who receives.
    pub to: u32,
    /// The sender's face.
    pub out_face: u16,
    /// The receiver's face.
    pub in_face: u16,
    /// The first wire.
    pub directed_link: u32,
    /// Whether that wire is the whole channel (no switch between).
    pub direct: bool,
    /// What it costs routing.
    pub cost: u32,
}

/// Places, wires and channels. Wire `2·i` is link `i` from its first to its second end, `2·i + 1` the return path.
/// Of its state only the ports of switches change.
#[derive(Clone, Debug, Default, ndnweir_state::State)]
pub struct Topology {
    /// Directed links.
    #[state(skip)]
    pub directed_links: Vec<DirectedLink>,
    /// Directed neighbourhoods; those of one node are in the order of its faces.
    #[state(skip)]
    pub channels: Vec<Channel>,
    /// Each node's channels, in the order of its faces; empty for switches.
    #[state(skip)]
    pub faces: Vec<Vec<u32>>,
    /// By place: whether it is a host, which carries no transit.
    #[state(skip)]
    hosts: Vec<bool>,
    /// By place: the position among switches, or [`NONE`].
    #[state(skip)]
    switches: Vec<u32>,
    /// `ports[switch · places + destination]`: the wire by which a switch sends to a place.
    ports: Vec<u32>,
    /// What each link costs.
    #[state(skip)]
    costs: Vec<u32>,
    /// By link: whether its queues lie below NDN in any case.
    #[state(skip)]
    below: Vec<bool>,
}

impl Topology {
    /// Derives it.
    ///
    /// # Errors
    /// If an overlay pair is not joined through switches, or there are too many wires or faces to number.
    pub fn new(network: &Network) -> Result<Topology, NetworkError> {
        let directed_link =
            |from: usize, to: usize| DirectedLink { from: from as u32, to: to as u32, channels: 0, channel: NONE };
        let directed_links =
            network.links.iter().flat_map(|l| [directed_link(l.a, l.b), directed_link(l.b, l.a)]).collect();
        let mut switches = vec![NONE; network.nodes.len()];
        let mut count = 0;
        for (place, kind) in network.nodes.iter().enumerate() {
            if *kind == NodeKind::Switch {
                switches[place] = count;
                count += 1;
            }
        }
        let costs = network.links.iter().map(|link| link.cost).collect();
        let faces = vec![Vec::new(); network.nodes.len()];
        let hosts = network.nodes.iter().map(|kind| kind.is_host()).collect();
        let mut below = vec![false; network.links.len()];
        network.media.iter().flat_map(|medium| &medium.links).for_each(|&link| below[link] = true);
        network.cross.iter().flat_map(|flow| &flow.path).for_each(|wire| below[*wire as usize / 2] = true);
        let mut topology =
            Topology { directed_links, channels: Vec::new(), faces, hosts, switches, ports: Vec::new(), costs, below };
        topology.bridge(&vec![true; network.links.len()]);
        topology.add_direct();
        topology.add_overlay(network)?;
        if topology.channels.len() >= MAX_CHANNELS as usize {
            return Err(NetworkError(format!("{} neighbourhoods: too many to number", topology.channels.len())));
        }
        topology.number_faces()?;
        Ok(topology)
    }

    /// Whether a place is a switch.
    pub fn is_switch(&self, place: u32) -> bool {
        self.switches[place as usize] != NONE
    }

    /// Whether a place is a host, which is only where traffic starts and ends.
    pub fn is_host(&self, place: u32) -> bool {
        self.hosts[place as usize]
    }

    /// Whether the interface at which a wire starts has a queue of its own below NDN: a switch owns it, several faces
    /// share it, its link shares a medium, or other traffic crosses that.
    pub fn is_below_ndn(&self, directed_link: u32) -> bool {
        let DirectedLink { from, channels, .. } = self.directed_links[directed_link as usize];
        self.is_switch(from) || channels > 1 || self.below[directed_link as usize / 2]
    }

    /// The wires that a channel crosses, in order.
    pub fn route(&self, channel: u32) -> Vec<u32> {
        let Channel { to, directed_link, .. } = self.channels[channel as usize];
        let mut route = vec![directed_link];
        let mut at = self.directed_links[directed_link as usize].to;
        // At most as many hops as there are places, in case switches ever form a loop.
        while at != to && route.len() <= self.faces.len() {
            let next = self.port(at, to);
            let Some(directed_link) = self.directed_links.get(next as usize) else { break };
            route.push(next);
            at = directed_link.to;
        }
        route
    }

    /// Where a switch sends a frame for `destination`; [`NONE`] if it cannot reach it.
    #[inline]
    pub fn port(&self, switch: u32, destination: u32) -> u32 {
        let row = self.switches[switch as usize] as usize * self.switches.len();
        self.ports[row + destination as usize]
    }

    /// Computes the switches' ports (see [`Topology::port`]) over the links that are up.
    pub fn bridge(&mut self, up: &[bool]) {
        let places = self.switches.len();
        let switches = self.switches.iter().filter(|&&s| s != NONE).count();
        let mut ports = vec![NONE; places * switches];
        for destination in (0..places as u32).filter(|&p| switches > 0 && !self.is_switch(p)) {
            let distances = self.through_switches(destination, up);
            for (directed_link, w) in self.directed_links.iter().enumerate() {
                if !up[directed_link / 2] || !self.is_switch(w.from) {
                    continue;
                }
                let beyond = if w.to == destination { Some(0) } else { self.switch_distance(&distances, w.to) };
                let Some(beyond) = beyond else { continue };
                let through = beyond + u64::from(self.costs[directed_link / 2]);
                let row = self.switches[w.from as usize] as usize * places;
                let port = &mut ports[row + destination as usize];
                if Some(through) == self.switch_distance(&distances, w.from) && *port == NONE {
                    *port = directed_link as u32;
                }
            }
        }
        self.ports = ports;
    }

    fn switch_distance(&self, distances: &[u64], place: u32) -> Option<u64> {
        (self.is_switch(place) && distances[place as usize] < u64::MAX).then(|| distances[place as usize])
    }

    /// The cost from every switch to `destination` with only switches in between.
    fn through_switches(&self, destination: u32, up: &[bool]) -> Vec<u64> {
        let into = |place: usize, distance: u64| {
            let directed_links = self.directed_links.iter().enumerate().filter(move |(_, w)| w.to as usize == place);
            directed_links.filter(|(id, w)| up[id / 2] && self.is_switch(w.from)).map(move |(id, w)| Edge {
                from: w.from as usize,
                cost: distance + u64::from(self.costs[id / 2]),
                id,
            })
        };
        let paths = ShortestPaths::new(self.switches.len(), [destination as usize], 0, into);
        (0..self.switches.len()).map(|place| paths.cost(place).unwrap_or(u64::MAX)).collect()
    }

    /// The first wire from an NDN node towards another through switches, and the cost.
    fn overlay_route(&self, from: u32, to: u32, distances: &[u64]) -> Option<(u32, u32)> {
        debug_assert_ne!(from, to);
        let directed_links = self.directed_links.iter().enumerate().filter(|(_, w)| w.from == from);
        let routes = directed_links.filter_map(|(i, w)| {
            let beyond = self.switch_distance(distances, w.to)?;
            Some((beyond + u64::from(self.costs[i / 2]), i as u32))
        });
        routes.min().map(|(cost, directed_link)| (directed_link, u32::try_from(cost).unwrap_or(u32::MAX)))
    }

    fn add_direct(&mut self) {
        for i in 0..self.directed_links.len() {
            let DirectedLink { from, to, .. } = self.directed_links[i];
            if !self.is_switch(from) && !self.is_switch(to) {
                let cost = self.costs[i / 2];
                self.add(Channel { from, to, out_face: 0, in_face: 0, directed_link: i as u32, direct: true, cost });
            }
        }
    }

    fn add_overlay(&mut self, network: &Network) -> Result<(), NetworkError> {
        let all_up = vec![true; network.links.len()];
        let ndn: Vec<u32> = (0..self.switches.len() as u32).filter(|&p| !self.is_switch(p)).collect();
        if ndn.len() == self.switches.len() {
            return match network.overlay.iter().flatten().next() {
                Some((a, b)) => Err(NetworkError(format!("overlay pair {a}, {b}: there are no switches to join them"))),
                None => Ok(()),
            };
        }
        let towards: Vec<Vec<u64>> = ndn.iter().map(|&to| self.through_switches(to, &all_up)).collect();
        let index = |place: u32| ndn.binary_search(&place).unwrap_or(0);
        let mut pairs = Vec::new();
        match &network.overlay {
            Some(given) => {
                for &(a, b) in given {
                    let pair = (a.min(b) as u32, a.max(b) as u32);
                    if self.overlay_route(pair.0, pair.1, &towards[index(pair.1)]).is_none() {
                        return Err(NetworkError(format!("overlay pair {a}, {b} is not joined through switches")));
                    }
                    pairs.push(pair);
                }
                pairs.sort_unstable();
                pairs.dedup();
            }
            None => {
                for (i, &a) in ndn.iter().enumerate() {
                    for &b in &ndn[i + 1..] {
                        if self.overlay_route(a, b, &towards[index(b)]).is_some() {
                            pairs.push((a, b));
                        }
                    }
                }
            }
        }
        for (a, b) in pairs {
            let forth = self.overlay_route(a, b, &towards[index(b)]);
            let back = self.overlay_route(b, a, &towards[index(a)]);
            let (Some((forth, cost)), Some((back, _))) = (forth, back) else { continue };
            let channel =
                Channel { from: a, to: b, out_face: 0, in_face: 0, directed_link: forth, direct: false, cost };
            self.add(channel);
            self.add(Channel { from: b, to: a, directed_link: back, ..channel });
        }
        Ok(())
    }

    fn add(&mut self, channel: Channel) {
        let number = self.channels.len() as u32;
        let directed_link = &mut self.directed_links[channel.directed_link as usize];
        directed_link.channels += 1;
        directed_link.channel = if directed_link.channels == 1 { number } else { NONE };
        self.faces[channel.from as usize].push(number);
        self.channels.push(channel);
    }

    /// Channels come in pairs `2·i`, `2·i + 1`, one per direction; a node's faces are its outgoing channels in order.
    fn number_faces(&mut self) -> Result<(), NetworkError> {
        for (node, faces) in self.faces.iter().enumerate() {
            if faces.len() > usize::from(u16::MAX) / 2 {
                return Err(NetworkError(format!("node {node} has {} neighbours: too many to number", faces.len())));
            }
            for (face, &channel) in faces.iter().enumerate() {
                self.channels[channel as usize].out_face = face as u16;
                self.channels[channel as usize ^ 1].in_face = face as u16;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Direction, Link};
    use ndnweir_core::queue::Limit;
    use ndnweir_core::units::{Duration, Rate};

    const NDN: NodeKind = NodeKind::Ndn { cache: 0 };

    fn network(nodes: &[NodeKind], links: &[(usize, usize)]) -> Network {
        let direction = Direction::new(Rate::from_mbps(10.0), Duration::from_millis(1), Limit::Packets(10));
        let links = links.iter().map(|&(a, b)| Link::symmetric(a, b, direction.clone())).collect();
        Network { nodes: nodes.to_vec(), links, ..Network::default() }
    }

    #[test]
    fn nodes_on_one_switch_are_neighbours_of_each_other_and_share_their_ports() {
        let network = network(&[NDN, NDN, NDN, NodeKind::Switch], &[(0, 3), (1, 3), (2, 3)]);
        let topology = Topology::new(&network).unwrap();
        assert_eq!(topology.channels.len(), 6);
        assert!(topology.faces[..3].iter().all(|faces| faces.len() == 2));
        assert_eq!(topology.directed_links[0].channels, 2);
        assert_eq!(topology.port(3, 2), 5);
        assert!(topology.is_below_ndn(0), "two faces share it");
        for (i, channel) in topology.channels.iter().enumerate() {
            let back = topology.channels[i ^ 1];
            assert_eq!((channel.from, channel.out_face), (back.to, back.in_face));
            assert_eq!(topology.faces[channel.from as usize][channel.out_face as usize], i as u32);
        }
    }

    #[test]
    fn an_overlay_restricts_neighbourhood_to_its_pairs() {
        let mut network = network(&[NDN, NDN, NDN, NodeKind::Switch], &[(0, 3), (1, 3), (2, 3)]);
        network.overlay = Some(vec![(2, 0)]);
        let topology = Topology::new(&network).unwrap();
        assert_eq!(topology.channels.len(), 2);
        assert_eq!(topology.directed_links[0].channels, 1);
        assert_eq!((topology.directed_links[2].channels, topology.faces[1].len()), (0, 0));
    }

    #[test]
    fn switches_forward_along_the_cheapest_chain_and_around_a_broken_link() {
        let s = NodeKind::Switch;
        let mut network = network(&[NDN, s, s, s, NDN], &[(0, 1), (1, 2), (2, 4), (1, 3), (3, 2)]);
        network.links[1].cost = 5;
        let mut topology = Topology::new(&network).unwrap();
        assert_eq!(topology.channels[0].cost, 4);
        assert_eq!(topology.port(1, 4), 6, "by way of 3");
        assert_eq!((topology.route(0), topology.route(1)), (vec![0, 6, 8, 4], vec![5, 9, 7, 1]));
        assert_eq!([0, 2, 3, 4].map(|directed_link| topology.is_below_ndn(directed_link)), [false, true, true, true]);
        topology.bridge(&[true, true, true, false, true]);
        assert_eq!(topology.port(1, 4), 2, "straight to 2");
    }

    #[test]
    fn an_overlay_pair_that_no_switch_joins_is_rejected() {
        let mut network = network(&[NDN, NDN, NodeKind::Switch], &[(0, 1), (0, 2)]);
        network.overlay = Some(vec![(0, 1)]);
        assert!(Topology::new(&network).unwrap_err().0.contains("not joined"));
    }
}
