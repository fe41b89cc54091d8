//! Faces and routes as a configuration names them.

use super::{ConfigError, DEFAULT_MTU};
use crate::face_uri::FaceUri;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::MarkerParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::{Bytes, Rate};
use ndnweir_node::forwarder::reliability::Params;
use ndnweir_wire::Name;
use std::fmt::{self, Display};

/// Where something was written, such as `fwd.toml:7` or a flag; empty for what a program made. What is written
/// elsewhere is the same setting, so all places are equal.
#[derive(Clone, Debug, Default)]
pub struct Place(String);

impl Place {
    /// A place.
    pub fn new(text: impl Into<String>) -> Place {
        Place(text.into())
    }

    /// Whether a person wrote it.
    pub fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// An error at this place.
    pub fn error(&self, message: impl Display) -> ConfigError {
        ConfigError(format!("{self}{message}"))
    }
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

/// As the beginning of a message.
impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_known() { write!(f, "{}: ", self.0) } else { Ok(()) }
    }
}

/// A face that exists as long as the forwarder.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceSpec {
    /// Where it leads.
    pub uri: FaceUri,
    /// The rate at which it is sent on; none as fast as the kernel takes, or as is learned.
    pub rate: Option<Rate>,
    /// Whether the rate is learned by link reliability on UDP where none is stated; without a word if the scheme's meter
    /// works with rates (`weir`).
    pub learn_rate: Option<bool>,
    /// The rate at which the neighbour sends back, for shapers and meters; the rate by default.
    pub return_rate: Option<Rate>,
    /// What may wait where there is a rate.
    pub queue: Limit,
    /// Whether the neighbour's congestion fields count.
    pub trust: bool,
    /// The largest frame on UDP.
    pub mtu: usize,
    /// Whether lost frames on UDP are sent again if the neighbour takes part (NDNLPv2 link reliability).
    pub reliability: bool,
    /// Share of frames lost on UDP above which link-retransmitted Data are marked; 1 marks none.
    pub mark_losses: f64,
    /// A marker in place of the scheme's where there is a rate.
    pub marker: Option<ComponentChoice<MarkerParams>>,
    /// Where it was written.
    pub at: Place,
}

/// The meter that works with rates of links.
const WITH_RATES: &str = "weir";
/// What may wait on a face if nothing is said.
pub(super) const DEFAULT_QUEUE: Limit = Limit::Bytes(Bytes::new(1 << 20));

impl FaceSpec {
    /// A face with default settings.
    pub fn new(uri: FaceUri) -> FaceSpec {
        FaceSpec {
            uri,
            rate: None,
            learn_rate: None,
            return_rate: None,
            queue: DEFAULT_QUEUE,
            trust: true,
            mtu: DEFAULT_MTU,
            reliability: true,
            mark_losses: Params::default().mark_above,
            marker: None,
            at: Place::default(),
        }
    }
}

impl FaceSpec {
    /// Whether its rate is learned under a scheme with this meter: on UDP, from what link reliability hears.
    pub fn learns_rate(&self, meter: &str) -> bool {
        let may = self.rate.is_none() && self.reliability && matches!(self.uri, FaceUri::Udp(..));
        may && self.learn_rate.unwrap_or(meter == WITH_RATES)
    }

    /// Why it cannot learn its rate as it is told to.
    pub(super) fn cannot_learn(&self) -> Option<&'static str> {
        match self {
            _ if self.learn_rate != Some(true) => None,
            FaceSpec { rate: Some(_), .. } => Some("it has a `rate`, which is not learned: delete it, or `learn-rate`"),
            FaceSpec { reliability: false, .. } => Some("link reliability tells it: delete `reliability = false`"),
            FaceSpec { uri: FaceUri::Udp(..), .. } => None,
            _ => Some("only on UDP can a rate be learned: delete `learn-rate`"),
        }
    }
}

/// The face at its place, as the beginning of a message.
impl Display for FaceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}face {}", self.at, self.uri)
    }
}

/// A route that exists as long as the forwarder.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteSpec {
    /// The prefix.
    pub prefix: Name,
    /// The face it leads to.
    pub to: FaceUri,
    /// Its cost.
    pub cost: u32,
    /// Where it was written.
    pub at: Place,
}

impl RouteSpec {
    /// A route that a program makes.
    pub fn new(prefix: Name, to: FaceUri, cost: u32) -> RouteSpec {
        RouteSpec { prefix, to, cost, at: Place::default() }
    }
}
