//! Addresses of hosts.

use crate::face_uri::{FaceUri, IpFamily};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// The addresses of a host in a family, as the system's resolver orders them.
fn resolve(family: IpFamily, host: &str, port: u16) -> io::Result<impl Iterator<Item = SocketAddr>> {
    let fits = move |address: &SocketAddr| match family {
        IpFamily::Any => true,
        IpFamily::V4 => address.is_ipv4(),
        IpFamily::V6 => address.is_ipv6(),
    };
    Ok((host, port).to_socket_addrs()?.filter(fits))
}

/// The first address of a host in a family.
///
/// # Errors
/// If it has none, or the resolver fails.
pub fn first(family: IpFamily, host: &str, port: u16) -> io::Result<SocketAddr> {
    connect_first(family, host, port, Ok)
}

/// The first address to which a face leads; none to a Unix socket.
///
/// # Errors
/// As [`first`].
pub fn of(uri: &FaceUri) -> io::Result<Option<SocketAddr>> {
    match uri {
        FaceUri::Udp(family, host, port) | FaceUri::Tcp(family, host, port) => first(*family, host, *port).map(Some),
        FaceUri::Unix(_) => Ok(None),
    }
}

/// The result of `connect` for the first address of a host that works; else the last error.
///
/// # Errors
/// If the host has no address of the family, the resolver fails, or no address works.
pub fn connect_first<T>(
    family: IpFamily,
    host: &str,
    port: u16,
    mut connect: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address of this family"));
    for address in resolve(family, host, port)? {
        match connect(address) {
            Ok(connected) => return Ok(connected),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Where to bind a socket that is to reach `peer`: any address of its family, any port.
pub fn unspecified(peer: SocketAddr) -> SocketAddr {
    let any: IpAddr = if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(any, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_family_are_taken_and_the_first_that_works() {
        assert_eq!(first(IpFamily::V4, "127.0.0.1", 7).unwrap(), "127.0.0.1:7".parse().unwrap());
        assert_eq!(first(IpFamily::Any, "::1", 7).unwrap(), "[::1]:7".parse().unwrap());
        let missing = first(IpFamily::V6, "127.0.0.1", 7).unwrap_err();
        assert!(missing.to_string().contains("127.0.0.1 has no address of this family"), "{missing}");
        let failed = connect_first::<()>(IpFamily::V4, "127.0.0.1", 7, |_| Err(io::Error::other("closed")));
        assert_eq!(failed.unwrap_err().to_string(), "closed");
    }
}
