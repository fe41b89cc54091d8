//! Results of cross traffic in one run.

use ndnweir_core::units::Time;
use ndnweir_scenario::{CrossKind, CrossTraffic, Scenario};
use ndnweir_sim::outcome::CrossCounters;
use ndnweir_sim::tcp::Algorithm;
use serde::{Deserialize, Serialize};

/// IPv4 and TCP headers with the timestamp option, which a segment has in addition to its payload.
const TCP_HEADERS: u64 = 52;
/// IPv4 and UDP headers; of QUIC a short header with a connection ID of 8 B and a packet number of 2 B, the tag of its
/// encryption, and a STREAM frame's type, identifier, offset and length (RFC 9000 §17.3, §19.8; RFC 9001 §5.3).
const QUIC_HEADERS: u64 = 28 + 11 + 16 + 8;

/// Totals of one cross-traffic flow over the whole run, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct CrossRun {
    /// Its name.
    pub name: String,
    /// Datagrams or segments sent, retransmissions included.
    pub sent: u64,
    /// Datagrams or segments that reached the other end, each segment counted once.
    pub delivered: u64,
    /// Bits delivered over the time in which the flow was active, in 10⁶ bit/s: payload for TCP and
    /// QUIC, whole datagrams otherwise.
    pub goodput_mbps: f64,
    /// For TCP and QUIC: segments retransmitted.
    pub retransmissions: u64,
    /// For them: recoveries that losses detected from acknowledgements began.
    pub recoveries: u64,
    /// For them: expirations of the retransmission timer, or of the probe timeout.
    pub timeouts: u64,
    /// When all segments of a finite transfer were acknowledged, since the start of the run.
    pub completed_s: Option<f64>,
}

impl CrossRun {
    /// The results of all cross traffic of a scenario.
    pub fn all(scenario: &Scenario, counters: &[CrossCounters]) -> Vec<CrossRun> {
        let run = |(traffic, counters): (&CrossTraffic, &CrossCounters)| {
            let end = traffic.stop.unwrap_or(scenario.run.duration).min(scenario.run.duration);
            let completed = counters.completed.map(|at| at.since(Time::ZERO));
            let on = (completed.unwrap_or(end).secs() - traffic.start.secs()).max(1e-9);
            let headers = match traffic.kind {
                CrossKind::Tcp { algorithm: Algorithm::QuicReno, .. } => QUIC_HEADERS,
                CrossKind::Tcp { .. } => TCP_HEADERS,
                CrossKind::Poisson { .. } | CrossKind::OnOff { .. } | CrossKind::Nada { .. } => 0,
            };
            let bits = counters.delivered * 8 * traffic.size.get().saturating_sub(headers);
            CrossRun {
                name: traffic.name.clone(),
                sent: counters.sent,
                delivered: counters.delivered,
                goodput_mbps: bits as f64 / 1e6 / on,
                retransmissions: counters.sender.retransmissions,
                recoveries: counters.sender.recoveries,
                timeouts: counters.sender.timeouts,
                completed_s: completed.map(|duration| duration.secs()),
            }
        };
        scenario.cross.iter().zip(counters).map(run).collect()
    }

    /// Results in which every value is defined, to list the names of the values.
    pub(crate) fn all_defined(name: &str) -> CrossRun {
        CrossRun { name: name.to_owned(), completed_s: Some(1.0), ..CrossRun::default() }
    }

    /// Every counter with its name.
    pub fn counts(&self) -> [(&'static str, u64); 5] {
        [
            ("sent", self.sent),
            ("delivered", self.delivered),
            ("retransmissions", self.retransmissions),
            ("recoveries", self.recoveries),
            ("timeouts", self.timeouts),
        ]
    }
}
