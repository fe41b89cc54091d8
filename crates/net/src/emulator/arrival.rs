//! Datagrams with the time at which the kernel received them.

use crate::clock::Clock;
use ndnweir_core::units::{Duration, Time};
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{SystemTime, UNIX_EPOCH};

/// Enables the kernel's time stamps on a socket.
pub fn enable(socket: &UdpSocket) -> io::Result<()> {
    setsockopt(socket, ReceiveTimestampns, &true)?;
    Ok(())
}

/// A datagram that was read.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedDatagram {
    /// Its length.
    pub len: usize,
    /// Who sent it.
    pub from: Option<SocketAddr>,
    /// When the kernel received it: not after now.
    pub at: Time,
}

/// Reads one datagram without waiting; none when nothing is there.
///
/// # Errors
/// The system's.
pub fn receive(socket: &UdpSocket, clock: &Clock, buffer: &mut [u8]) -> io::Result<Option<ReceivedDatagram>> {
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(buffer)];
    let message =
        match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::MSG_DONTWAIT) {
            Ok(message) => message,
            Err(nix::Error::EAGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(time) => Some(std::time::Duration::from(time)),
        _ => None,
    });
    let now = clock.now();
    // Both clocks are read together, so a step of the wall clock disturbs one datagram at most.
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = stamp.map_or(std::time::Duration::ZERO, |stamp| wall.saturating_sub(stamp));
    let at =
        if age > std::time::Duration::from_secs(1) { now } else { now - Duration::from_nanos(age.as_nanos() as u64) };
    let from = message.address.as_ref().and_then(address);
    Ok(Some(ReceivedDatagram { len: message.bytes, from, at }))
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    match (storage.as_sockaddr_in(), storage.as_sockaddr_in6()) {
        (Some(v4), _) => Some(SocketAddrV4::from(*v4).into()),
        (_, Some(v6)) => Some(SocketAddrV6::from(*v6).into()),
        _ => None,
    }
}
