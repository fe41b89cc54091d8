//! How controllers reach the forwarder: the table `[gnmi]`.

use super::{ConfigError, ConfigReader, address};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use toml::Spanned;

/// Where gNMI is served, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gnmi {
    /// Where it is served.
    pub listen: SocketAddr,
    /// How both sides prove who they are; none on loopback where that was asked for.
    pub identity: Option<GnmiIdentity>,
}

/// Files in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GnmiIdentity {
    /// The forwarder's certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authority of controllers' certificates.
    pub clients: PathBuf,
    /// SHA-256 of the certificates that are accepted, in hexadecimal; if there are none, all of the authority's may read
    /// and none may change anything.
    pub accept: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct GnmiEntry {
    listen: Spanned<String>,
    #[serde(default)]
    insecure: bool,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    clients: Option<PathBuf>,
    #[serde(default)]
    accept: Vec<Spanned<String>>,
}

impl GnmiEntry {
    pub(super) fn read(self, reader: &ConfigReader<'_>) -> Result<Gnmi, ConfigError> {
        let listen = reader.parse(&self.listen, address)?;
        let at = self.listen.span().start;
        for text in &self.accept {
            let digits = text.get_ref().chars().filter(char::is_ascii_hexdigit).count();
            if digits != 64 || text.get_ref().chars().any(|c| !c.is_ascii_hexdigit() && c != ':') {
                let message = "a fingerprint is SHA-256 of a certificate: 64 hexadecimal digits";
                return Err(reader.error(text.span().start, message));
            }
        }
        let accept: Vec<String> = self.accept.into_iter().map(Spanned::into_inner).collect();
        let identity = match (self.certificate, self.key, self.clients) {
            (Some(certificate), Some(key), Some(clients)) => Some(GnmiIdentity { certificate, key, clients, accept }),
            (None, None, None) if self.insecure && listen.ip().is_loopback() => None,
            (None, None, None) if self.insecure => {
                return Err(reader.error(at, format!("insecure = true is for loopback alone, not for {listen}")));
            }
            _ => {
                let message = "[gnmi] needs certificate, key and clients (the authority of controllers), as \
                               `ndnweir key certificates` makes them; or insecure = true on loopback";
                return Err(reader.error(at, message));
            }
        };
        Ok(Gnmi { listen, identity })
    }
}
