//! The UDP ports of the process: those that are listened on, and those that were opened to reach a peer.

use crate::address;
use crate::face::udp::UdpPort;
use crate::poll::Sources;
use std::io;
use std::net::SocketAddr;

/// The ports, by their keys in the poll.
pub(super) struct Ports {
    sources: Sources,
    ports: Vec<UdpPort>,
    /// How many are listened on; they come first. On others only configured peers are accepted.
    listening: usize,
    /// Ports that something was sent on since the last flush, each once.
    touched: Vec<usize>,
}

impl Ports {
    pub(super) fn new(sources: Sources) -> Ports {
        Ports { sources, ports: Vec::new(), listening: 0, touched: Vec::new() }
    }

    /// Listens on an address. To be called before any port is opened to reach a peer.
    pub(super) fn listen(&mut self, address: SocketAddr) -> io::Result<()> {
        self.open(address)?;
        self.listening = self.ports.len();
        Ok(())
    }

    fn open(&mut self, address: SocketAddr) -> io::Result<usize> {
        let port = UdpPort::open(address)?;
        tracing::info!(address = %port.local(), "listening on udp");
        self.sources.add(port.socket(), self.ports.len())?;
        self.ports.push(port);
        Ok(self.ports.len() - 1)
    }

    /// The port from which a peer is reached: one of its family that we listen on, so that the peer sees the same
    /// address.
    pub(super) fn port_for(&mut self, peer: SocketAddr) -> io::Result<usize> {
        let reaches = |local: SocketAddr| {
            local.is_ipv4() == peer.is_ipv4()
                && (local.ip().is_loopback() == peer.ip().is_loopback() || local.ip().is_unspecified())
        };
        if let Some(port) = self.addresses().position(reaches) {
            return Ok(port);
        }
        self.open(address::unspecified(peer))
    }

    /// Whether unknown peers may send to a port; only ports that are listened on are public.
    pub(super) fn is_listening(&self, index: usize) -> bool {
        index < self.listening
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.ports.iter().map(UdpPort::local)
    }

    pub(super) fn get(&self, index: usize) -> Option<&UdpPort> {
        self.ports.get(index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut UdpPort> {
        self.ports.get_mut(index)
    }

    /// Queues frames to a peer, for the next flush.
    pub(super) fn send<'a>(&mut self, index: usize, peer: SocketAddr, frames: impl Iterator<Item = &'a [u8]>) {
        let Some(port) = self.ports.get_mut(index) else { return };
        frames.for_each(|frame| port.send(peer, frame));
        self.touch(index);
    }

    /// Something was sent on a port, or its socket takes more.
    pub(super) fn touch(&mut self, index: usize) {
        if !self.touched.contains(&index) {
            self.touched.push(index);
        }
    }

    /// Hands what was sent to the kernel.
    pub(super) fn flush(&mut self) {
        while let Some(index) = self.touched.pop() {
            let Some(port) = self.ports.get_mut(index) else { continue };
            if let Some(waits) = port.flush()
                && let Err(error) = self.sources.set_readiness(port.socket(), index, true, waits)
            {
                tracing::debug!(%error, "poll");
            }
        }
    }

    /// Datagrams that could not be sent.
    pub(super) fn dropped(&self) -> u64 {
        self.ports.iter().map(UdpPort::dropped).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::Poll;

    #[test]
    fn a_peer_is_reached_from_a_port_that_is_listened_on_if_one_fits() {
        let poll = Poll::new().unwrap();
        let mut ports = Ports::new(poll.sources().clone());
        ports.listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let here = ports.port_for("127.0.0.1:6363".parse().unwrap()).unwrap();
        let outside = ports.port_for("192.0.2.1:6363".parse().unwrap()).unwrap();
        assert_eq!((here, outside), (0, 1));
        assert!(ports.is_listening(here) && !ports.is_listening(outside));
        assert_eq!(ports.port_for("192.0.2.2:6363".parse().unwrap()).unwrap(), outside, "one for all of a family");
    }
}
