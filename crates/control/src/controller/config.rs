//! The controller's configuration: a TOML file.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate};
use ndnweir_net::face_uri::FaceUri;
use ndnweir_wire::Name;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Routers of one controller at most.
const MAX_ROUTERS: usize = 4096;

/// A router to lead.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterConfig {
    /// For people.
    pub name: String,
    /// Host and port of its gNMI, or the URI of its management.
    pub address: String,
    /// How it is led by NFD's management protocol, if it is.
    pub managed: Option<ManagedConfig>,
    /// URIs of neighbours' faces that lead to it, in addition to those on which it listens.
    pub uris: Vec<String>,
}

/// A router that is led by NFD's management protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagedConfig {
    /// Where it takes commands of its own machine.
    pub uri: FaceUri,
    /// The key that signs commands, and its name; a digest does where there is none.
    pub key: Option<(PathBuf, Name)>,
    /// Capacities of links by the remote URI of their faces: NFD does not know them.
    pub rates: BTreeMap<String, Rate>,
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
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RouterEntry {
    name: String,
    address: Option<Spanned<String>>,
    management: Option<Spanned<String>>,
    key: Option<PathBuf>,
    key_name: Option<String>,
    #[serde(default)]
    rates: BTreeMap<Spanned<String>, Rate>,
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

impl Reader<'_> {
    /// How a router is reached by NFD's management protocol; files are in `home`.
    fn managed(
        &self,
        management: &Spanned<String>,
        entry: &RouterEntry,
        home: &Path,
    ) -> Result<ManagedConfig, ControlConfigError> {
        let (at, text) = (management.span().start, management.get_ref());
        let fail = |why: &dyn Display| self.error(at, format!("management = {text:?}: {why}"));
        let uri: FaceUri = text.parse().map_err(|why| fail(&why))?;
        match &uri {
            FaceUri::Unix(_) => {}
            FaceUri::Tcp(_, host, _) if is_loopback(host) => {}
            _ => {
                let why =
                    "NFD takes commands from its own machine: write unix:///run/nfd/nfd.sock, or tcp4://127.0.0.1:6363";
                return Err(fail(&why));
            }
        }
        let key = match (&entry.key, &entry.key_name) {
            (None, None) => None,
            (Some(file), Some(name)) => {
                let name = name.parse().map_err(|why| self.error(at, format!("key-name = {name:?}: {why}")))?;
                Some((home.join(file), name))
            }
            _ => return Err(self.error(at, "key and key-name go together: a file and the name of the key in it")),
        };
        for (uri, rate) in &entry.rates {
            let fail = |why: &dyn Display| self.error(uri.span().start, format!("rates: {}: {why}", uri.get_ref()));
            uri.get_ref().parse::<FaceUri>().map_err(|why| fail(&why))?;
            if *rate == Rate::ZERO {
                return Err(fail(&"a rate of 0 sends nothing"));
            }
        }
        let rates = entry.rates.iter().map(|(uri, rate)| (uri.get_ref().clone(), *rate)).collect();
        Ok(ManagedConfig { uri, key, rates })
    }

    /// Host and port of a router's gNMI.
    fn gnmi(&self, at: usize, entry: &RouterEntry, tls: bool) -> Result<String, ControlConfigError> {
        let Some(address) = &entry.address else {
            let message =
                "write address = \"HOST:PORT\" of the router's gNMI, or management = \"unix:///run/nfd/nfd.sock\"";
            return Err(self.error(at, message));
        };
        let (at, address) = (address.span().start, address.get_ref());
        if entry.key.is_some() || entry.key_name.is_some() || !entry.rates.is_empty() {
            return Err(self.error(at, "key, key-name and rates belong to management; gNMI reports rates itself"));
        }
        if address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).is_none() {
            return Err(self.error(at, format!("address = {address:?}: write HOST:PORT, such as 192.0.2.1:9339")));
        }
        if !tls && !is_loopback(address) {
            let message =
                format!("{address} is not on loopback: add a table [tls] with certificate, key and authority");
            return Err(self.error(at, message));
        }
        Ok(address.clone())
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
        let home = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        let mut routers: Vec<RouterConfig> = Vec::new();
        for entry in found.router {
            let at = entry.span().start;
            let entry = entry.into_inner();
            let (address, managed) = match (&entry.management, &entry.address) {
                (Some(_), Some(_)) => {
                    let message = "address and management: a router is led over gNMI or by NFD's protocol, not by both";
                    return Err(reader.error(at, message));
                }
                (Some(uri), None) => (uri.get_ref().clone(), Some(reader.managed(uri, &entry, &home)?)),
                (None, _) => (reader.gnmi(at, &entry, found.tls.is_some())?, None),
            };
            let RouterEntry { name, uris, .. } = entry;
            if routers.iter().any(|known| known.name == name || known.address == address) {
                return Err(reader.error(at, format!("the router {name} ({address}) is there twice")));
            }
            for uri in &uris {
                let fail = |why| reader.error(uri.span().start, format!("uris: {}: {why}", uri.get_ref()));
                uri.get_ref().parse::<FaceUri>().map_err(|why| fail(why.to_string()))?;
                if routers.iter().any(|known: &RouterConfig| known.uris.contains(uri.get_ref())) {
                    return Err(fail("leads to another router too".to_owned()));
                }
            }
            let uris = uris.into_iter().map(Spanned::into_inner).collect();
            routers.push(RouterConfig { name, address, managed, uris });
        }
        let listen = found.listen.as_ref().map(|text| reader.address(text)).transpose()?;
        let peer = found.peer.as_ref().map(|text| reader.address(text)).transpose()?;
        let tls = found.tls.map(|tls| TlsConfig {
            certificate: home.join(tls.certificate),
            key: home.join(tls.key),
            authority: home.join(tls.authority),
        });
        Ok(ControlConfig { scheme, listen, peer, period, dry_run: false, tls, routers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ControlConfig, String> {
        ControlConfig::read("dir/control.toml", text).map_err(|error| error.to_string())
    }

    fn router(lines: &str) -> Result<ControlConfig, String> {
        read(&format!("[[router]]\nname = \"r\"\n{lines}\n"))
    }

    #[test]
    fn a_router_is_led_over_gnmi_or_by_the_protocol_of_nfd() {
        let found = router("address = \"127.0.0.1:9339\"\nuris = [\"udp4://192.0.2.7:6363\"]").unwrap();
        assert!(found.routers[0].managed.is_none() && found.routers[0].uris == ["udp4://192.0.2.7:6363"]);
        let managed = "management = \"unix:///run/nfd.sock\"\nkey = \"k.pem\"\nkey-name = \"/me\"\n\
                       rates = { \"udp4://192.0.2.1:6363\" = \"20Mbps\" }";
        let found = router(managed).unwrap();
        let managed = found.routers[0].managed.as_ref().unwrap();
        assert_eq!(managed.rates["udp4://192.0.2.1:6363"], Rate::from_bps(20_000_000));
        assert_eq!(managed.key, Some((PathBuf::from("dir/k.pem"), "/me".parse().unwrap())));
        assert_eq!(found.routers[0].address, "unix:///run/nfd.sock");
    }

    #[test]
    fn what_cannot_be_led_is_rejected_with_file_line_and_remedy() {
        for (lines, wanted) in [
            ("", "write address = \"HOST:PORT\""),
            ("address = \"127.0.0.1\"", "write HOST:PORT"),
            ("address = \"192.0.2.1:9339\"", "add a table [tls]"),
            ("address = \"127.0.0.1:1\"\nmanagement = \"unix:///s\"", "not by both"),
            (
                "address = \"127.0.0.1:1\"\nrates = { \"udp4://192.0.2.1:6363\" = \"1Mbps\" }",
                "gNMI reports rates itself",
            ),
            ("management = \"nfd.sock\"", "management = \"nfd.sock\""),
            ("management = \"tcp4://192.0.2.1:6363\"", "from its own machine"),
            ("management = \"udp4://127.0.0.1:6363\"", "from its own machine"),
            ("management = \"unix:///s\"\nkey = \"k.pem\"", "key and key-name go together"),
            ("management = \"unix:///s\"\nrates = { east = \"1Mbps\" }", "rates: east"),
            ("management = \"unix:///s\"\nrates = { \"udp4://192.0.2.1:1\" = \"0Mbps\" }", "sends nothing"),
            ("address = \"127.0.0.1:1\"\nuris = [\"192.0.2.7\"]", "uris: 192.0.2.7"),
            ("address = \"127.0.0.1:1\"\n[[router]]\nname = \"r\"\naddress = \"127.0.0.1:2\"", "there twice"),
            (
                "address = \"127.0.0.1:1\"\nuris = [\"udp4://192.0.2.7:1\"]\n\
                 [[router]]\nname = \"s\"\naddress = \"127.0.0.1:2\"\nuris = [\"udp4://192.0.2.7:1\"]",
                "leads to another router too",
            ),
        ] {
            let error = router(lines).unwrap_err();
            assert!(error.contains(wanted) && error.starts_with("dir/control.toml:"), "{lines}: {error}");
        }
        for line in ["address = \"127.0.0.1\"", "management = \"nfd.sock\""] {
            assert!(router(line).unwrap_err().starts_with("dir/control.toml:3: "), "{line}");
        }
    }
}
