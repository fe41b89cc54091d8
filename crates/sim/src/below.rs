//! What shares links below NDN: media of several links.

use crate::network::{Change, Network, NetworkError};
use ndnweir_core::units::{Duration, Rate};
use serde::Serialize;

/// Links that share one half-duplex medium: of all their directions one sends at a time, at the medium's rate, and who has
/// something to send takes turns (see [`ndnweir_link::Medium`]). Their queues lie below NDN.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedMedium {
    /// Its rate, which is also that of each direction of its links.
    pub rate: Rate,
    /// Passes before each frame.
    pub gap: Duration,
    /// Indices into [`Network::links`].
    pub links: Vec<usize>,
}

/// The longest time before a frame.
const LONGEST_GAP: Duration = Duration::from_millis(1000);

/// Whether media can be simulated.
pub(crate) fn check(network: &Network) -> Result<(), NetworkError> {
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
            if directions.iter().any(|d| d.rate != Some(medium.rate) || d.trace.is_some() || d.marker.is_some()) {
                return fail(format!("has link {link}, which has another rate, a trace or a marker"));
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
