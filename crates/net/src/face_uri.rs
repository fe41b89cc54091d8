//! The other end of a face: `udp4://192.0.2.1:6363`, `tcp6://[2001:db8::1]:6363`, `unix:///run/nfd/nfd.sock`.
//!
//! NFD's FaceUri forms; `udp://` and `tcp://` take the family of the address. Host names are resolved when connecting,
//! so they are kept as text.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// The port of NDN over UDP and TCP (IANA).
pub const NDN_PORT: u16 = 6363;

/// The conventional socket of a forwarder on this machine.
pub const DEFAULT_SOCKET: &str = "/run/nfd/nfd.sock";

/// Which family of addresses a name may resolve to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpFamily {
    /// Either.
    Any,
    /// `udp4`, `tcp4`.
    V4,
    /// `udp6`, `tcp6`.
    V6,
}

/// A place a face can lead to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FaceUri {
    /// UDP.
    Udp(IpFamily, String, u16),
    /// TCP.
    Tcp(IpFamily, String, u16),
    /// A Unix stream socket.
    Unix(PathBuf),
}

impl IpFamily {
    fn of(address: SocketAddr) -> IpFamily {
        if address.is_ipv4() { IpFamily::V4 } else { IpFamily::V6 }
    }
}

impl FaceUri {
    /// A UDP port at an address.
    pub fn udp(address: SocketAddr) -> FaceUri {
        FaceUri::Udp(IpFamily::of(address), address.ip().to_string(), address.port())
    }

    /// A TCP port at an address.
    pub fn tcp(address: SocketAddr) -> FaceUri {
        FaceUri::Tcp(IpFamily::of(address), address.ip().to_string(), address.port())
    }

    /// Checks that a face may lead there: to a port of one neighbour.
    ///
    /// # Errors
    /// Why it may not, with the remedy.
    pub fn check_neighbour(&self) -> Result<(), FaceUriError> {
        let (FaceUri::Udp(_, host, port) | FaceUri::Tcp(_, host, port)) = self else { return Ok(()) };
        let problem = match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
            _ if *port == 0 => "nobody has port 0",
            Ok(address) if address.is_unspecified() => "its address is that of no neighbour",
            Ok(address) if address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST) => {
                "its address is that of many, and a face leads to one neighbour"
            }
            _ => return Ok(()),
        };
        Err(FaceUriError { text: self.to_string(), problem })
    }
}

/// A text that is not a face URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a face URI: {problem}; write udp4://HOST:PORT, tcp4://HOST:PORT or unix:///PATH")]
pub struct FaceUriError {
    text: String,
    problem: &'static str,
}

impl FromStr for FaceUri {
    type Err = FaceUriError;

    fn from_str(text: &str) -> Result<FaceUri, FaceUriError> {
        let error = |problem| FaceUriError { text: text.to_owned(), problem };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| error("it has no scheme"))?;
        let family = match scheme {
            "udp" | "tcp" => IpFamily::Any,
            "udp4" | "tcp4" => IpFamily::V4,
            "udp6" | "tcp6" => IpFamily::V6,
            "unix" if rest.starts_with('/') => return Ok(FaceUri::Unix(PathBuf::from(rest))),
            "unix" => return Err(error("the path of a Unix socket starts with `/`")),
            _ => return Err(error("its scheme is not known")),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(|| error("`]` is missing"))?;
                match after.strip_prefix(':') {
                    Some(port) => (host, Some(port)),
                    None if after.is_empty() => (host, None),
                    None => return Err(error("only `:PORT` may follow `]`")),
                }
            }
            None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() || host.contains(['/', ' ', '@']) {
            return Err(error("its host is missing or malformed"));
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| error("its port is not a number from 0 to 65535"))?,
            None => NDN_PORT,
        };
        let host = host.to_owned();
        Ok(if scheme.starts_with("udp") { FaceUri::Udp(family, host, port) } else { FaceUri::Tcp(family, host, port) })
    }
}

impl fmt::Display for FaceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, family, host, port) = match self {
            FaceUri::Unix(path) => return write!(f, "unix://{}", path.display()),
            FaceUri::Udp(family, host, port) => ("udp", family, host, port),
            FaceUri::Tcp(family, host, port) => ("tcp", family, host, port),
        };
        let digit = match family {
            IpFamily::Any => "",
            IpFamily::V4 => "4",
            IpFamily::V6 => "6",
        };
        let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}{digit}://{open}{host}{close}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_come_back_as_they_were_written() {
        for text in [
            "udp4://192.0.2.1:6363",
            "udp6://[2001:db8::1]:56363",
            "tcp://router.example.net:6363",
            "unix:///run/nfd/nfd.sock",
        ] {
            assert_eq!(text.parse::<FaceUri>().unwrap().to_string(), text);
        }
        assert_eq!("tcp4://a".parse::<FaceUri>().unwrap().to_string(), "tcp4://a:6363");
    }

    #[test]
    fn a_face_leads_to_a_port_of_one_neighbour() {
        for text in [
            "udp4://127.0.0.1:0",
            "tcp://router.example.net:0",
            "udp4://0.0.0.0:6363",
            "tcp4://0.0.0.0",
            "udp6://[::]:6363",
            "udp6://[::ffff:0.0.0.0]:6363",
            "udp4://255.255.255.255:6363",
            "udp4://224.0.23.170:56363",
            "udp6://[ff02::1234]:56363",
        ] {
            let error = text.parse::<FaceUri>().unwrap().check_neighbour().unwrap_err().to_string();
            assert!(error.contains("write udp4://HOST:PORT"), "{error}");
        }
        for text in ["udp4://127.0.0.1:1", "udp6://[::1]:6363", "tcp4://router.example.net", "unix:///run/0.0.0.0:0"] {
            assert_eq!(text.parse::<FaceUri>().unwrap().check_neighbour(), Ok(()));
        }
    }

    #[test]
    fn an_invalid_face_uri_is_rejected_with_a_remedy() {
        for text in ["", "udp4", "udp4://", "udp4://:1", "udp4://h:99999", "ether://[01]", "unix://x", "tcp6://[::1"] {
            let error = text.parse::<FaceUri>().unwrap_err().to_string();
            assert!(error.contains("write udp4://HOST:PORT"), "{error}");
        }
    }
}
