//! The configuration of a forwarder: a TOML file, flags, or both.

mod gnmi;
mod listen;
mod restart;
mod specs;
mod values;

pub use super::users::Allowed;
pub use gnmi::{Gnmi, GnmiIdentity};
pub use listen::Limits;
pub use specs::{FaceSpec, Place, RouteSpec};
pub use values::{ValueError, address, choose, name, queue, scheme, uri};

use crate::face_uri::FaceUri;
use crate::keys;
use crate::mgmt::{self, TrustAnchor};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::suggest;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_wire::Name;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use toml::Spanned;

/// The largest frame on UDP by default: fits an Ethernet path with a tunnel on it.
pub const DEFAULT_MTU: usize = 1400;

/// How long Interests may be pending at most: without any time none would be answered.
const LIFETIMES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(86_400_000));

/// The smallest frame on UDP: room for the link header and some of the packet.
const MIN_MTU: usize = 256;

/// All of it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The scheme in force.
    pub scheme: Scheme,
    /// The Unix socket for applications.
    pub unix: Option<PathBuf>,
    /// UDP addresses to listen on.
    pub udp: Vec<SocketAddr>,
    /// TCP addresses to listen on.
    pub tcp: Vec<SocketAddr>,
    /// The content store's size in packets.
    pub cache: usize,
    /// Pending Interests at most.
    pub pit: usize,
    /// Bytes of packets held at most.
    pub memory: Bytes,
    /// Bytes of packets of which fragments are missing at most, those of all faces together.
    pub fragments: Bytes,
    /// Prefixes with routes at most.
    pub prefixes: usize,
    /// The longest an Interest may be pending.
    pub max_lifetime: Duration,
    /// The same for Interests of on-demand peers.
    pub max_lifetime_on_demand: Duration,
    /// Where this node is: an Interest with a ForwardingHint to one of these has reached its producer's region.
    pub regions: Vec<Name>,
    /// The largest frame to on-demand peers.
    pub mtu: usize,
    /// Whether losses to and from on-demand UDP peers are link-retransmitted if they request it.
    pub reliability: bool,
    /// The most on-demand faces.
    pub max_peers: usize,
    /// After how long without a packet such a face is removed.
    pub idle: Duration,
    /// Limits of peers that are not configured.
    pub limits: Limits,
    /// Users of this machine who may register prefixes over the Unix socket, besides the owner.
    pub allow_local: Vec<Allowed>,
    /// Where metrics are served.
    pub metrics: Option<SocketAddr>,
    /// Where and to whom gNMI is served.
    pub gnmi: Option<Gnmi>,
    /// Whether applications may manage the forwarder (NFD's management protocol).
    pub management: bool,
    /// Whose commands are accepted on any face, and whether neighbours may register prefixes.
    pub authority: mgmt::ManagementConfig,
    /// Faces.
    pub faces: Vec<FaceSpec>,
    /// Routes.
    pub routes: Vec<RouteSpec>,
    /// The first user or group of `allow_local` that this machine does not know.
    pub unknown_user: Option<ConfigError>,
    /// Warnings: settings that are dangerous, but valid.
    pub warnings: Vec<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            scheme: default_scheme(),
            unix: None,
            udp: Vec::new(),
            tcp: Vec::new(),
            cache: 65_536,
            pit: 65_536,
            memory: Bytes::new(512 << 20),
            fragments: Bytes::new(32 << 20),
            prefixes: 4096,
            max_lifetime: Duration::from_millis(60_000),
            max_lifetime_on_demand: Duration::from_millis(4000),
            regions: Vec::new(),
            mtu: DEFAULT_MTU,
            reliability: true,
            max_peers: 1024,
            idle: Duration::from_millis(600_000),
            limits: Limits::default(),
            allow_local: Vec::new(),
            metrics: None,
            gnmi: None,
            management: true,
            authority: mgmt::ManagementConfig::default(),
            faces: Vec::new(),
            routes: Vec::new(),
            unknown_user: None,
            warnings: Vec::new(),
        }
    }
}

/// A message of the parser without terms of the programming language.
fn plain_message(message: &str) -> String {
    let (wrong, help) = suggest::with_suggestion(message);
    let meant = if help.is_empty() { wrong } else { format!("{wrong}; {help}") };
    ["usize", "u64", "u32", "u16"]
        .iter()
        .fold(meant.replace("expected struct ", "expected a table for "), |text, kind| {
            text.replace(&format!("expected {kind}"), "expected a whole number")
        })
}

/// The default scheme of a forwarder: as in NFD, a route that costs more waits until no cheaper one answers.
fn default_scheme() -> Scheme {
    let composition = json!({ "base": "weir", "strategy": { "dearer": false } });
    Scheme::resolve("weir", &composition).unwrap_or_else(|_| unreachable!("a test makes the default configuration"))
}

/// The warning about a scheme that treats neighbours as producers.
const PLAIN_ENDS: &str = "the meter hbhcm takes a neighbour that writes no header field of its own for a producer, and \
                          its whole way for one hop; say plain-ends = false where not every neighbour measures, or \
                          plain-ends = true if that is meant";

/// The warning about a registration that nobody can sign.
const NOBODY_REGISTERS: &str = "localhop = true lets neighbours register prefixes with commands that a trust anchor \
                                signed, and there is none: nobody can; add a [[trust-anchor]]";

/// The warning about certificates that are all the same to gNMI.
const NOBODY_LEADS: &str = "[gnmi] has no accept: whoever has a certificate of the authority may read this forwarder, and \
                            nobody may lead it; write accept = [\"SHA-256 of the controller's certificate\"], as \
                            `ndnweir key certificates` prints it";

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// An error outside a file.
    pub fn new(message: impl Display) -> ConfigError {
        ConfigError(message.to_string())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ConfigFile {
    scheme: Option<Spanned<toml::Value>>,
    cache: Option<usize>,
    pit: Option<Spanned<usize>>,
    memory: Option<Spanned<Bytes>>,
    fragments: Option<Spanned<Bytes>>,
    prefixes: Option<Spanned<usize>>,
    max_lifetime: Option<Spanned<Duration>>,
    #[serde(default)]
    region: Vec<Spanned<String>>,
    metrics: Option<Spanned<String>>,
    gnmi: Option<gnmi::GnmiEntry>,
    management: Option<bool>,
    #[serde(default)]
    localhop: bool,
    #[serde(default)]
    trust_anchor: Vec<AnchorEntry>,
    answer_key: Option<Spanned<PathBuf>>,
    #[serde(default)]
    listen: listen::Listen,
    #[serde(default)]
    face: Vec<FaceEntry>,
    #[serde(default)]
    route: Vec<RouteEntry>,
    #[serde(default)]
    strategy: Vec<Spanned<StrategyEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FaceEntry {
    uri: Spanned<String>,
    rate: Option<Spanned<Rate>>,
    learn_rate: Option<bool>,
    return_rate: Option<Rate>,
    queue: Option<Spanned<String>>,
    trust: Option<bool>,
    mtu: Option<Spanned<usize>>,
    reliability: Option<bool>,
    mark_losses: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RouteEntry {
    prefix: Spanned<String>,
    to: Spanned<String>,
    cost: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StrategyEntry {
    prefix: Spanned<String>,
    strategy: Option<toml::Value>,
    shaper: Option<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnchorEntry {
    key: Spanned<PathBuf>,
    name: Option<Spanned<String>>,
}

/// Finds the place of a value in the file.
struct ConfigReader<'a> {
    file: &'a str,
    text: &'a str,
}

impl ConfigReader<'_> {
    /// A public key in a file of its own.
    fn anchor(&self, anchor: &AnchorEntry) -> Result<TrustAnchor, ConfigError> {
        let (at, path) = (anchor.key.span().start, anchor.key.get_ref());
        let fail = |why: String| self.error(at, format!("{}: {why}", path.display()));
        let pem = ndnweir_files::read_text(path, ndnweir_files::SETTINGS).map_err(|e| fail(e.to_string()))?;
        let name = anchor.name.as_ref().map(|text| self.parse(text, name)).transpose()?;
        TrustAnchor::from_pem(&pem, name).map_err(|e| fail(format!("{e}; give a public key in PEM")))
    }

    fn place(&self, at: usize) -> Place {
        let line = 1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&b| b == b'\n').count();
        Place::new(format!("{}:{line}", self.file))
    }

    fn error(&self, at: usize, message: impl Display) -> ConfigError {
        self.place(at).error(message)
    }

    fn parse<T, E: Display>(
        &self,
        text: &Spanned<String>,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, ConfigError> {
        read(text.get_ref()).map_err(|error| self.error(text.span().start, error))
    }

    fn within<T: PartialOrd + Display + Copy>(
        &self,
        value: Option<Spanned<T>>,
        what: &str,
        (least, most): (T, T),
        default: T,
    ) -> Result<T, ConfigError> {
        let Some(value) = value else { return Ok(default) };
        let (at, value) = (value.span().start, value.into_inner());
        match least <= value && value <= most {
            true => Ok(value),
            false => Err(self.error(at, format!("{what} = {value}: write a value from {least} to {most}"))),
        }
    }
}

impl Config {
    /// Reads a configuration file; errors call it `file`.
    ///
    /// # Errors
    /// What is wrong, with file, line and remedy.
    pub fn read(file: &str, text: &str) -> Result<Config, ConfigError> {
        let reader = ConfigReader { file, text };
        let found: ConfigFile = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            reader.error(at, plain_message(e.message().trim_end()))
        })?;
        let mut config = Config::default();
        if let Some(value) = found.scheme {
            let at = value.span().start;
            let value = serde_json::to_value(value.into_inner()).map_err(|e| reader.error(at, e))?;
            config.scheme = scheme(&value).map_err(|e| reader.error(at, e))?;
        }
        config.cache = found.cache.unwrap_or(config.cache);
        config.pit = reader.within(found.pit, "pit", (1, 1 << 24), config.pit)?;
        let memory = (Bytes::new(1 << 20), Bytes::new(1 << 40));
        config.memory = reader.within(found.memory, "memory", memory, config.memory)?;
        config.fragments = reader.within(found.fragments, "fragments", memory, config.fragments)?;
        config.prefixes = reader.within(found.prefixes, "prefixes", (1, 1 << 20), config.prefixes)?;
        // Each prefix needs at least one route.
        config.authority.max_routes = config.authority.max_routes.max(config.prefixes);
        config.max_lifetime = reader.within(found.max_lifetime, "max-lifetime", LIFETIMES, config.max_lifetime)?;
        config.regions = found.region.iter().map(|text| reader.parse(text, name)).collect::<Result<_, _>>()?;
        config.management = found.management.unwrap_or(config.management);
        config.authority.localhop = found.localhop;
        for anchor in &found.trust_anchor {
            config.authority.trust_anchors.push(reader.anchor(anchor)?);
        }
        if let Some(file) = &found.answer_key {
            let locator = name(mgmt::LOCALHOST).map_err(ConfigError::new)?;
            let signer = keys::private(file.get_ref(), locator).map_err(|e| reader.error(file.span().start, e))?;
            config.authority.signer = mgmt::AnswerSigner(signer.into());
            config.warnings.extend(keys::exposed(file.get_ref()));
        }
        config.metrics = found.metrics.map(|text| reader.parse(&text, address)).transpose()?;
        config.gnmi = found.gnmi.map(|entry| entry.read(&reader)).transpose()?;
        found.listen.read(&reader, &mut config)?;
        for face in found.face {
            let uri = reader.parse(&face.uri, uri)?;
            if config.faces.iter().any(|known| known.uri == uri) {
                return Err(reader.error(face.uri.span().start, format!("the face {uri} is there twice")));
            }
            let mut spec = FaceSpec { at: reader.place(face.uri.span().start), ..FaceSpec::new(uri) };
            if let Some(rate) = face.rate {
                if *rate.get_ref() == Rate::ZERO {
                    return Err(reader.error(rate.span().start, "rate = 0 sends nothing: leave it out for no limit"));
                }
                spec.rate = Some(rate.into_inner());
            }
            spec.learn_rate = face.learn_rate;
            spec.return_rate = face.return_rate;
            spec.queue = face.queue.map_or(Ok(spec.queue), |text| reader.parse(&text, queue))?;
            spec.trust = face.trust.unwrap_or(true);
            spec.mtu = reader.within(face.mtu, "mtu", (MIN_MTU, 65_507), spec.mtu)?;
            spec.mark_losses = reader.within(face.mark_losses, "mark-losses", (0.0, 1.0), spec.mark_losses)?;
            spec.reliability = face.reliability.unwrap_or(spec.reliability);
            config.faces.push(spec);
        }
        for route in found.route {
            let (prefix, to) = (reader.parse(&route.prefix, name)?, reader.parse(&route.to, uri)?);
            let at = reader.place(route.prefix.span().start);
            config.routes.push(RouteSpec { prefix, to, cost: route.cost.unwrap_or(0), at });
        }
        config.read_choices(&reader, found.strategy)?;
        Ok(config)
    }

    /// Shorter prefixes come first: longer ones inherit from them what they leave out.
    fn read_choices(
        &mut self,
        reader: &ConfigReader<'_>,
        choices: Vec<Spanned<StrategyEntry>>,
    ) -> Result<(), ConfigError> {
        let mut read: Vec<(Name, usize, Value)> = Vec::new();
        for choice in choices {
            let at = choice.span().start;
            let StrategyEntry { prefix, strategy, shaper } = choice.into_inner();
            let prefix = reader.parse(&prefix, name)?;
            if read.iter().any(|(known, ..)| *known == prefix) {
                return Err(reader.error(at, format!("{prefix} has two strategies: delete one of the two tables")));
            }
            let params = [("strategy", strategy), ("shaper", shaper)];
            let params = params.into_iter().filter_map(|(key, value)| Some((key, value?)));
            let params: BTreeMap<_, _> = params.collect();
            read.push((prefix, at, serde_json::to_value(params).map_err(|e| reader.error(at, e))?));
        }
        read.sort_by_key(|(prefix, ..)| prefix.len());
        for (prefix, at, choice) in read {
            choose(&mut self.scheme, &prefix, &choice).map_err(|e| reader.error(at, format!("{prefix}: {e}")))?;
        }
        Ok(())
    }

    /// The face to a URI, made if it does not exist yet.
    pub fn face(&mut self, uri: FaceUri) -> &mut FaceSpec {
        let at = self.faces.iter().position(|face| face.uri == uri).unwrap_or_else(|| {
            self.faces.push(FaceSpec::new(uri));
            self.faces.len() - 1
        });
        &mut self.faces[at]
    }

    /// Checks combinations of values, and adds the faces that only routes name.
    ///
    /// # Errors
    /// A sentence with the remedy.
    pub fn complete(&mut self) -> Result<(), ConfigError> {
        if self.unix.is_none() && self.udp.is_empty() && self.tcp.is_empty() {
            let remedy = "give --unix PATH, --udp ADDR or --tcp ADDR, or a [listen] table";
            return Err(ConfigError::new(format!("the forwarder would listen nowhere: {remedy}")));
        }
        let meter = &self.scheme.parts.meter;
        if meter.name() == "hbhcm" && !meter.params().contains_key("plain-ends") {
            self.warnings.push(PLAIN_ENDS.into());
        }
        if self.authority.localhop && self.authority.trust_anchors.is_empty() {
            self.warnings.push(NOBODY_REGISTERS.into());
        }
        if self.gnmi.as_ref().and_then(|gnmi| gnmi.identity.as_ref()).is_some_and(|files| files.accept.is_empty()) {
            self.warnings.push(NOBODY_LEADS.into());
        }
        let mut costs: BTreeMap<&Name, Vec<&RouteSpec>> = BTreeMap::new();
        for route in &self.routes {
            let known = costs.entry(&route.prefix).or_default();
            if let Some(other) = known.iter().find(|other| other.to == route.to && other.cost != route.cost) {
                let (RouteSpec { prefix, to, cost, .. }, other) = (route, other.cost);
                let text =
                    format!("the route {prefix} to {to} is there twice, with costs {other} and {cost}: delete one");
                return Err(route.at.error(text));
            }
            known.push(route);
        }
        for face in &self.faces {
            if let Some(why) = face.cannot_learn() {
                return Err(face.at.error(format!("face {}: learn-rate = true: {why}", face.uri)));
            }
        }
        // A flag may give a rate to a face of the file. What a program says is not for people to mend.
        let name = self.scheme.parts.meter.name();
        let has_queue = |face: &&FaceSpec| face.rate.is_some() || face.learns_rate(name);
        let idle = |face: &&FaceSpec| face.at.is_known() && !has_queue(face) && face.queue != specs::DEFAULT_QUEUE;
        if let Some(face) = self.faces.iter().find(idle) {
            let text = "nothing waits in its queue without a rate: give it one, or delete `queue`";
            return Err(face.at.error(format!("face {}: {text}", face.uri)));
        }
        for route in self.routes.clone() {
            let face = self.face(route.to);
            if !face.at.is_known() {
                face.at = route.at;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
