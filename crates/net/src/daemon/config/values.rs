//! Values of the configuration, from the file or a flag.

use crate::face_uri::FaceUri;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Bytes;
use ndnweir_wire::Name;
use serde_json::Value;
use std::fmt::Display;
use std::net::SocketAddr;

/// A value that cannot be used: a sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(String);

impl ValueError {
    fn new(message: impl Display) -> ValueError {
        ValueError(message.to_string())
    }
}

/// Best-route without marks of our own: what forwarders do today.
fn plain() -> Scheme {
    // A composition without a key cannot be wrong.
    Scheme::resolve("plain", &serde_json::json!({})).unwrap_or_else(|_| unreachable!("the empty composition resolves"))
}

/// The default: best-route, and Data marked once 5 ms or more of queue last on their hop, wherever that queue is.
///
/// HbHCM + PAQM with 10 ms as the first interval instead of 100: chosen by measurement, see docs/default-scheme.md. The
/// least delay counts for 10 s only, as BBR has it, since a path that becomes longer would be marked for ever.
/// What is noise of the hop, such as jitter, is not taken for a queue: without that the default collapses over jitter.
pub(super) fn measured() -> Scheme {
    let meter = serde_json::json!({
        "name": "hbhcm", "interval": "10ms", "base-window": "10s", "noise-window": "10s", "plain-ends": false
    });
    // A test resolves it.
    Scheme::resolve("measured", &serde_json::json!({ "meter": meter }))
        .unwrap_or_else(|_| unreachable!("the default composition resolves"))
}

/// Reads where a face leads.
///
/// # Errors
/// A sentence with the remedy.
pub fn uri(text: &str) -> Result<FaceUri, ValueError> {
    text.parse().map_err(ValueError::new)
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
    text.parse().map_err(malformed)
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

/// The scheme that a name or composition says, for forwarders.
///
/// A neighbour that writes no wait into its Data is one that does not measure, not a producer: hops to it are not
/// measured (`plain-ends = false` of `hbhcm`), unless the composition says otherwise.
///
/// # Errors
/// A sentence with the remedy.
pub fn scheme(value: &Value) -> Result<Scheme, ValueError> {
    let mut scheme = match value {
        Value::String(name) if name == "plain" => plain(),
        Value::String(name) if name == "measured" => measured(),
        Value::String(name) => Scheme::named(name).map_err(ValueError::new)?,
        _ => Scheme::resolve("configured", value).map_err(ValueError::new)?,
    };
    let meter = &mut scheme.parts[Family::Meter as usize];
    if meter.name == "hbhcm" {
        meter.params.entry("plain-ends").or_insert(Value::Bool(false));
    }
    Ok(scheme)
}

/// Gives the names under a prefix a strategy of their own, or says by `shaper` whether they are shaped (see
/// [`Scheme::choose`]).
///
/// # Errors
/// A sentence with the remedy.
pub fn choose(scheme: &mut Scheme, prefix: &Name, choice: &Value) -> Result<(), ValueError> {
    let prefix = prefix.to_string();
    let said = format!("prefixes.{prefix}: ");
    scheme.choose(&prefix, choice).map_err(|e| ValueError::new(e.strip_prefix(&said).unwrap_or(&e)))
}
