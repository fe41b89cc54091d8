//! What sockets are told and asked beyond reading and writing.

use rustix::fd::AsFd;
use rustix::net::sockopt;

/// Bytes asked of the kernel for a socket's receive and send buffers: 10 ms at 3 Gbit/s. The usual default of 208 KiB
/// holds twenty-odd full packets with the kernel's bookkeeping, fewer than one window.
pub const BUFFER: usize = 4 << 20;

/// Sizes the buffers of a socket. The kernel's limit holds unless the process may exceed it (CAP_NET_ADMIN). Gives the
/// receive buffer there is, in bytes, the kernel's bookkeeping included.
pub fn size_buffers(socket: impl AsFd) -> usize {
    let socket = socket.as_fd();
    // Each falls back to what the limit allows; whatever comes of it is asked below.
    if sockopt::set_socket_recv_buffer_size_force(socket, BUFFER).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, BUFFER);
    }
    if sockopt::set_socket_send_buffer_size_force(socket, BUFFER).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, BUFFER);
    }
    sockopt::socket_recv_buffer_size(socket).unwrap_or(0)
}

/// Sizes the send buffer of a socket, as far as the kernel lets it. The kernel takes twice as much, for its
/// bookkeeping.
pub fn size_send_buffer(socket: impl AsFd, bytes: usize) {
    let socket = socket.as_fd();
    if sockopt::set_socket_send_buffer_size_force(socket, bytes).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, bytes);
    }
}

/// Who the kernel says opened the other end of a Unix socket: the number of the user.
pub fn peer_user(socket: impl AsFd) -> Option<u32> {
    sockopt::socket_peercred(socket).ok().map(|peer| peer.uid.as_raw())
}

/// Whether the process at the other end of a Unix socket runs as root or as the user that this one runs as.
pub fn peer_is_owner(socket: impl AsFd) -> bool {
    let owner = rustix::process::geteuid();
    sockopt::socket_peercred(socket).is_ok_and(|peer| peer.uid.is_root() || peer.uid == owner)
}

/// Raises the number of descriptors that this process may have to `wanted`, or as far as the system lets it. Whether it
/// may have so many.
pub fn allow_descriptors(wanted: usize) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = wanted as u64;
    let limit = getrlimit(Resource::Nofile);
    // Without a number there is no limit.
    if limit.current.is_none_or(|current| current >= wanted) {
        return true;
    }
    let allowed = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum: limit.maximum });
    raised.is_ok() && allowed >= wanted
}

/// Bytes that wait in the kernel to leave by a socket (SIOCOUTQ): what NFD's marking rule looks at. For UDP they
/// include the kernel's bookkeeping.
#[expect(unsafe_code, reason = "SIOCOUTQ has no safe wrapper")]
pub fn waiting(socket: impl AsFd) -> u64 {
    /// `linux/sockios.h`; the same number as TIOCOUTQ.
    const SIOCOUTQ: rustix::ioctl::Opcode = 0x5411;
    // SAFETY: this request writes one int.
    let request = unsafe { rustix::ioctl::Getter::<SIOCOUTQ, std::ffi::c_int>::new() };
    // SAFETY: the request only reads the state of a socket, which `socket` keeps open.
    let answer = unsafe { rustix::ioctl::ioctl(socket, request) };
    answer.ok().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_nobody_has_read_waits() {
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
        let before = sockopt::socket_recv_buffer_size(&socket).unwrap();
        assert!(size_buffers(&socket) >= before);
    }
}
