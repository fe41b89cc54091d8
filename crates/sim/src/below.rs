//! What shares links below NDN: media of several links, and cross traffic.

use crate::network::{Change, Network, NetworkError};
use crate::tcp::Algorithm;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use serde::Serialize;

/// Links that share one half-duplex medium: of all their directions, one sends at a time, at the medium's rate, and
/// those with packets to send take turns (see [`ndnweir_link::Medium`]). Their queues lie below NDN.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedMedium {
    /// The rate of the medium, which is also that of each direction of its links.
    pub rate: Rate,
    /// Idle time before each frame.
    pub gap: Duration,
    /// Indices into [`Network::links`].
    pub links: Vec<usize>,
}

/// Cross traffic: datagrams that queue on the same links. The queues of links on its path lie below NDN.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossFlow {
    /// The directed links of its path, in order, by [`crate::observer::DirectedLinkId`].
    pub path: Vec<u32>,
    /// The kind of traffic.
    pub kind: CrossKind,
    /// Bytes of a datagram, link framing excluded.
    pub size: u32,
    /// When it starts.
    pub start: Time,
    /// When it stops; `None` means the end of the run.
    pub stop: Option<Time>,
}

/// The kinds of cross traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrossKind {
    /// Datagrams with exponential gaps.
    Poisson {
        /// The mean rate.
        rate: Rate,
    },
    /// Datagrams at equal gaps during on periods.
    OnOff {
        /// The rate during on periods.
        rate: Rate,
        /// Mean length of on periods, exponentially distributed.
        on: Duration,
        /// Mean length of off periods, exponentially distributed.
        off: Duration,
    },
    /// Adaptive real-time media, controlled by NADA (RFC 8698).
    Nada {
        /// The highest rate.
        rate: Rate,
    },
    /// A transfer with TCP or QUIC ([`crate::tcp`]), whose acknowledgements use the return path.
    Tcp {
        /// What controls it.
        algorithm: Algorithm,
        /// Number of segments; `None` sends until it is stopped.
        segments: Option<u32>,
        /// Bytes of an acknowledgement, link framing excluded.
        ack: u32,
    },
}

impl CrossFlow {
    /// The mean gap between its datagrams while it sends; `None` where a law decides.
    pub(crate) fn gap(&self) -> Option<Duration> {
        match self.kind {
            CrossKind::Poisson { rate } | CrossKind::OnOff { rate, .. } => {
                Some(rate.transmission_time(Bytes::new(self.size.into())))
            }
            CrossKind::Nada { .. } | CrossKind::Tcp { .. } => None,
        }
    }
}

/// The longest idle time before a frame.
const LONGEST_GAP: Duration = Duration::from_millis(1000);

/// The largest datagram.
const LARGEST: u32 = 65_535;

/// Checks whether media and cross traffic can be simulated.
pub(crate) fn check(network: &Network) -> Result<(), NetworkError> {
    check_media(network)?;
    network.cross.iter().enumerate().try_for_each(|(i, flow)| {
        check_cross(network, flow).map_err(|problem| NetworkError(format!("other traffic {i} {problem}")))
    })
}

fn check_cross(network: &Network, flow: &CrossFlow) -> Result<(), String> {
    if flow.path.is_empty() {
        return Err("crosses no link".into());
    }
    // The nodes at which a directed link begins and ends.
    let ends = |directed_link: u32| {
        let link = network.links.get(directed_link as usize / 2)?;
        Some(if directed_link.is_multiple_of(2) { [link.a, link.b] } else { [link.b, link.a] })
    };
    for (k, &directed_link) in flow.path.iter().enumerate() {
        if ends(directed_link).is_none() {
            return Err(format!("crosses link {}, which does not exist", directed_link / 2));
        }
        if flow.path[..k].iter().any(|before| before / 2 == directed_link / 2) {
            return Err(format!("crosses link {} twice", directed_link / 2));
        }
        let link = &network.links[directed_link as usize / 2];
        if link.directions().iter().any(|direction| direction.rate.is_none() || direction.has_own_queue()) {
            return Err(format!("crosses link {}, which has no rate, or a marker or discipline", directed_link / 2));
        }
    }
    let joins = |pair: &[u32]| ends(pair[0]).map(|[_, to]| to) == ends(pair[1]).map(|[from, _]| from);
    if !flow.path.windows(2).all(joins) {
        return Err("crosses links that do not follow each other".into());
    }
    let size =
        |size: u32| if (1..=LARGEST).contains(&size) { Ok(()) } else { Err(format!("has datagrams of {size} B")) };
    size(flow.size)?;
    match flow.kind {
        CrossKind::Poisson { rate } | CrossKind::Nada { rate } if rate == Rate::ZERO => Err("has rate zero".into()),
        CrossKind::OnOff { rate, on, off } if rate == Rate::ZERO || on == Duration::ZERO || off == Duration::ZERO => {
            Err("has rate zero, or is never on or never off".into())
        }
        CrossKind::Tcp { segments: Some(0), .. } => Err("has nothing to send".into()),
        CrossKind::Tcp { ack, .. } => size(ack),
        _ => Ok(()),
    }?;
    if flow.gap() == Some(Duration::ZERO) { Err("sends without any gap".into()) } else { Ok(()) }
}

fn check_media(network: &Network) -> Result<(), NetworkError> {
    let mut taken = vec![false; network.links.len()];
    for (i, medium) in network.media.iter().enumerate() {
        let fail = |problem: String| Err(NetworkError(format!("medium {i} {problem}")));
        if medium.rate == Rate::ZERO || medium.gap > LONGEST_GAP {
            return fail(format!("has rate {} and {} before each frame", medium.rate, medium.gap));
        }
        for &link in &medium.links {
            let Some(known) = network.links.get(link) else {
                return fail(format!("has link {link}, which does not exist"));
            };
            if std::mem::replace(&mut taken[link], true) {
                return fail(format!("has link {link}, which a medium has already"));
            }
            let directions = known.directions();
            if directions.iter().any(|d| d.rate != Some(medium.rate) || d.trace.is_some() || d.has_own_queue()) {
                return fail(format!("has link {link}, which has another rate, a trace, a marker or a discipline"));
            }
        }
    }
    let changes = network.changes.iter();
    let changed = changes.filter_map(|(_, change)| match *change {
        Change::Rate { link, .. } => Some(link),
        _ => None,
    });
    match changed.into_iter().find(|&link| taken.get(link) == Some(&true)) {
        Some(link) => Err(NetworkError(format!("link {link} shares a medium, whose rate does not change"))),
        None => Ok(()),
    }
}
