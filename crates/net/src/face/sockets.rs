//! Socket options and requests.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::sockopt::{PeerCredentials, RcvBuf, RcvBufForce, SndBuf, SndBufForce};
use nix::sys::socket::{getsockopt, setsockopt};
use nix::unistd::{Uid, geteuid};
use std::os::fd::{AsFd, AsRawFd};

/// Bytes requested from the kernel for a socket's receive and send buffers: 10 ms at 3 Gbit/s. The usual default of 208
/// KiB holds twenty-odd full packets with the kernel's overhead, fewer than one window.
pub const BUFFER: usize = 4 << 20;

/// Sizes the buffers of a socket. The kernel's limit holds unless the process may exceed it (CAP_NET_ADMIN). Returns
/// the size of the receive buffer, in bytes, the kernel's overhead included.
pub fn size_buffers(socket: impl AsFd) -> usize {
    // Each falls back to what the limit allows; the result is read below.
    if setsockopt(&socket, RcvBufForce, &BUFFER).is_err() {
        let _ = setsockopt(&socket, RcvBuf, &BUFFER);
    }
    size_send_buffer(&socket, BUFFER);
    getsockopt(&socket, RcvBuf).unwrap_or(0)
}

/// Sizes the send buffer of a socket, as far as the kernel allows. The kernel takes twice as much, for its overhead.
pub fn size_send_buffer(socket: impl AsFd, bytes: usize) {
    if setsockopt(&socket, SndBufForce, &bytes).is_err() {
        let _ = setsockopt(&socket, SndBuf, &bytes);
    }
}

/// The user who opened the other end of a Unix socket, according to the kernel.
pub fn peer_user(socket: impl AsFd) -> Option<u32> {
    getsockopt(&socket, PeerCredentials).ok().map(|peer| peer.uid())
}

/// Whether the process at the other end of a Unix socket runs as root or as the user that this one runs as.
pub fn peer_is_owner(socket: impl AsFd) -> bool {
    peer_user(socket).map(Uid::from_raw).is_some_and(|peer| peer.is_root() || peer == geteuid())
}

/// Raises the number of descriptors that this process may have to `wanted`, or as far as the system lets it. Whether it
/// may have so many.
pub fn allow_descriptors(wanted: usize) -> bool {
    let wanted = wanted as u64;
    // No limit is the largest number.
    let Ok((current, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return true };
    if current >= wanted {
        return true;
    }
    let allowed = most.min(wanted);
    setrlimit(Resource::RLIMIT_NOFILE, allowed, most).is_ok() && allowed >= wanted
}

/// Bytes that wait in the kernel to leave by a socket (SIOCOUTQ): what NFD's marking rule looks at. For UDP they
/// include the kernel's overhead.
#[expect(unsafe_code, reason = "SIOCOUTQ has no safe wrapper")]
pub fn waiting(socket: impl AsFd) -> u64 {
    // `linux/sockios.h`; the same number as TIOCOUTQ.
    nix::ioctl_read_bad!(outq, 0x5411, std::ffi::c_int);
    let socket = socket.as_fd();
    let mut bytes = 0;
    // SAFETY: the request writes one int, and `socket` is open while it lasts.
    let answer = unsafe { outq(socket.as_raw_fd(), &raw mut bytes) };
    answer.ok().and_then(|_| u64::try_from(bytes).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn unread_bytes_are_counted_as_waiting() {
        let (mut near, far) = UnixStream::pair().unwrap();
        assert_eq!(waiting(&near), 0);
        near.write_all(&[7; 1000]).unwrap();
        assert!(waiting(&near) >= 1000);
        drop(far);
    }

    #[test]
    fn no_process_may_have_a_descriptor_for_every_number() {
        assert!(allow_descriptors(16));
        assert!(!allow_descriptors(usize::MAX));
        assert!(allow_descriptors(16), "the limit is no lower than before");
    }

    #[test]
    fn buffers_grow_at_least_to_what_the_kernel_allows_everybody() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let before = getsockopt(&socket, RcvBuf).unwrap();
        assert!(size_buffers(&socket) >= before);
    }
}
