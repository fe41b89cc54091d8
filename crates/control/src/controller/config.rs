//! The controller's configuration: a TOML file.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Duration;
use ndnweir_net::face_uri::FaceUri;
use serde::Deserialize;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Routers of one controller at most.
const MAX_ROUTERS: usize = 4096;

/// A router to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterConfig {
    /// For people.
    pub name: String,
    /// Host and port of its gNMI.
    pub address: String,
    /// URIs of neighbours' faces that lead to it, in addition to those on which it listens.
    pub uris: Vec<String>,
}

/// Files in PEM.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The controller's certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authority that signs the certificates of routers.
    pub authority: PathBuf,
}

/// A controller.
#[derive(Clone, Debug)]
pub struct ControlConfig {
    /// The scheme whose planner decides.
    pub scheme: Scheme,
    /// Where its state and metrics are served.
    pub listen: Option<SocketAddr>,
    /// Where the state of another controller is served that leads as long as it is there.
    pub peer: Option<SocketAddr>,
    /// T_p: how often routers report.
    pub period: Duration,
    /// Whether decisions are reported and not carried out.
    pub dry_run: bool,
    /// How both sides prove who they are; none only with routers on loopback.
    pub tls: Option<TlsConfig>,
    /// Whom it leads.
    pub routers: Vec<RouterConfig>,
}

/// What is wrong with a configuration, with file, line and remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ControlConfigError(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    scheme: Option<Spanned<toml::Value>>,
    listen: Option<Spanned<String>>,
    peer: Option<Spanned<String>>,
    period: Option<Spanned<Duration>>,
    tls: Option<TlsConfig>,
    #[serde(default)]
    router: Vec<Spanned<RouterEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouterEntry {
    name: String,
    address: String,
    #[serde(default)]
    uris: Vec<Spanned<String>>,
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, at: usize, message: impl Display) -> ControlConfigError {
        let line = 1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count();
        ControlConfigError(format!("{}:{line}: {message}", self.file))
    }

    fn address(&self, text: &Spanned<String>) -> Result<SocketAddr, ControlConfigError> {
        let remedy = "write an address and a port, such as 127.0.0.1:9180";
        text.get_ref().parse().map_err(|_| self.error(text.span().start, format!("{}: {remedy}", text.get_ref())))
    }
}

/// Whether a host is this machine.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

impl ControlConfig {
    /// Reads a file; errors call it `file`, and certificates are beside it.
    ///
    /// # Errors
    /// What is wrong, with file, line and remedy.
    pub fn read(file: &str, text: &str) -> Result<ControlConfig, ControlConfigError> {
        let reader = Reader { file, text };
        let found: File = toml::from_str(text)
            .map_err(|error| reader.error(error.span().map_or(0, |span| span.start), error.message().trim_end()))?;
        let scheme = match &found.scheme {
            None => Scheme::named("ndnsieve").map_err(|error| reader.error(0, error))?,
            Some(value) => {
                let at = value.span().start;
                let value = serde_json::to_value(value.get_ref()).map_err(|error| reader.error(at, error))?;
                let scheme = ndnweir_net::daemon::config::scheme(&value).map_err(|error| reader.error(at, error))?;
                let mut layout = scheme.layout();
                if ndnweir_core::planner::Planner::is_none(&scheme.planner(&mut layout)) {
                    return Err(reader.error(at, "this scheme has no planner: take ndnsieve, or ndnsieve-settled"));
                }
                scheme
            }
        };
        let period = found.period.as_ref().map_or(Duration::from_millis(500), |period| *period.get_ref());
        if period < Duration::from_millis(100) || period > Duration::from_millis(60_000) {
            let at = found.period.map_or(0, |period| period.span().start);
            return Err(reader.error(at, format!("period = {period}: write a time from 100ms to 60s")));
        }
        if found.router.is_empty() {
            return Err(reader.error(text.len(), "no router to lead: add a table [[router]] with name and address"));
        }
        if let Some(extra) = found.router.get(MAX_ROUTERS) {
            return Err(reader.error(extra.span().start, format!("a controller leads {MAX_ROUTERS} routers at most")));
        }
        let mut routers: Vec<RouterConfig> = Vec::new();
        for entry in found.router {
            let at = entry.span().start;
            let RouterEntry { name, address, uris } = entry.into_inner();
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            if port.is_none() {
                return Err(reader.error(at, format!("address = {address:?}: write HOST:PORT, such as 192.0.2.1:9339")));
            }
            if routers.iter().any(|known| known.name == name || known.address == address) {
                return Err(reader.error(at, format!("the router {name} ({address}) is there twice")));
            }
            if found.tls.is_none() && !is_loopback(&address) {
                let message =
                    format!("{address} is not on loopback: add a table [tls] with certificate, key and authority");
                return Err(reader.error(at, message));
            }
            for uri in &uris {
                let fail = |why| reader.error(uri.span().start, format!("uris: {}: {why}", uri.get_ref()));
                uri.get_ref().parse::<FaceUri>().map_err(|why| fail(why.to_string()))?;
                if routers.iter().any(|known: &RouterConfig| known.uris.contains(uri.get_ref())) {
                    return Err(fail("leads to another router too".to_owned()));
                }
            }
            let uris = uris.into_iter().map(Spanned::into_inner).collect();
            routers.push(RouterConfig { name, address, uris });
        }
        let listen = found.listen.as_ref().map(|text| reader.address(text)).transpose()?;
        let peer = found.peer.as_ref().map(|text| reader.address(text)).transpose()?;
        let home = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        let tls = found.tls.map(|tls| TlsConfig {
            certificate: home.join(tls.certificate),
            key: home.join(tls.key),
            authority: home.join(tls.authority),
        });
        Ok(ControlConfig { scheme, listen, peer, period, dry_run: false, tls, routers })
    }
}
