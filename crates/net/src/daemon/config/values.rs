//! Values of the configuration, from the file or a flag.

use crate::face_uri::FaceUri;
use ndnweir_core::error::SchemeError;
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Bytes;
use ndnweir_wire::Name;
use serde_json::Value;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A value that cannot be used: a sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(String);

impl ValueError {
    fn new(message: impl Display) -> ValueError {
        ValueError(message.to_string())
    }
}

/// Reads the URI of a face.
///
/// # Errors
/// A sentence with the remedy.
pub fn uri(text: &str) -> Result<FaceUri, ValueError> {
    let uri: FaceUri = text.parse().map_err(ValueError::new)?;
    uri.check_neighbour().map_err(ValueError::new)?;
    Ok(uri)
}

/// Reads a name.
///
/// # Errors
/// A sentence with the remedy.
pub fn name(text: &str) -> Result<Name, ValueError> {
    let malformed = |e| ValueError(format!("`{text}` is not a name: {e}; write it as /example/video"));
    text.parse().map_err(malformed)
}

/// Reads an address to listen on.
///
/// # Errors
/// A sentence with the remedy.
pub fn address(text: &str) -> Result<SocketAddr, ValueError> {
    let malformed = |_| ValueError(format!("`{text}` is not an address: write one such as 0.0.0.0:6363 or [::]:6363"));
    let address: SocketAddr = text.parse().map_err(malformed)?;
    let ip = address.ip().to_canonical();
    if ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST) {
        let text = format!("`{text}` is the address of many machines: write one of this machine, or 0.0.0.0 for all");
        return Err(ValueError(text));
    }
    Ok(address)
}

/// Reads what may wait: `"1000 packets"` or an amount such as `"1MiB"`.
///
/// # Errors
/// A sentence with the remedy.
pub fn queue(text: &str) -> Result<Limit, ValueError> {
    if let Some(packets) = text.trim().strip_suffix("packets") {
        let packets = packets.trim().parse().ok().filter(|n| (1..=1_000_000).contains(n));
        let range = "write a number of packets from 1 to 1000000, such as \"1000 packets\"";
        return packets.map(Limit::Packets).ok_or_else(|| ValueError(format!("`{text}`: {range}")));
    }
    match text.parse::<Bytes>() {
        Ok(bytes) if bytes.get() >= 10_000 => Ok(Limit::Bytes(bytes)),
        Ok(_) => Err(ValueError(format!("`{text}`: a queue below 10kB does not hold one packet of full size"))),
        Err(e) => Err(ValueError(format!("{e}; or write \"1000 packets\""))),
    }
}

/// The scheme of a name or composition.
///
/// # Errors
/// What is wrong with it, and what would do.
pub fn scheme(value: &Value) -> Result<Scheme, SchemeError> {
    match value {
        Value::String(name) => Scheme::named(name),
        _ => Scheme::resolve("configured", value),
    }
}

/// Gives the names under a prefix a strategy of their own, or sets with `shaper` whether they are shaped (see
/// [`Scheme::choose`]).
///
/// # Errors
/// What is wrong with it, and what would do.
pub fn choose(scheme: &mut Scheme, prefix: &Name, choice: &Value) -> Result<(), SchemeError> {
    // Who calls names the prefix.
    scheme.choose(&prefix.to_string(), choice).map_err(|e| SchemeError { prefix: None, ..e })
}
