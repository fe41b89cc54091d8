//! What traffic that is not NDN did in one run.

use ndnweir_core::units::Time;
use ndnweir_scenario::{CrossKind, CrossTraffic, Scenario};
use ndnweir_sim::outcome::CrossCounters;
use serde::{Deserialize, Serialize};

/// IPv4 and TCP headers with the timestamp option, which a segment has beside its payload.
const HEADERS: u64 = 52;

/// Totals of one piece of other traffic over the whole run, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CrossRun {
    /// Its name.
    pub name: String,
    /// Datagrams or segments sent, segments sent again included.
    pub sent: u64,
    /// Those that reached the other end, each segment once.
    pub delivered: u64,
    /// Bits delivered over the time it was on, in 10⁶ bit/s: of TCP payload, else of datagrams.
    pub goodput_mbps: f64,
    /// Of TCP: segments sent again.
    pub retransmissions: u64,
    /// Of TCP: cuts for losses found by acknowledgements.
    pub recoveries: u64,
    /// Of TCP: times that the timer ran out.
    pub timeouts: u64,
    /// When a finite transfer had been acknowledged, since the start of the run.
    pub completed_s: Option<f64>,
}

impl CrossRun {
    /// What a scenario's other traffic did.
    pub fn all(scenario: &Scenario, counters: &[CrossCounters]) -> Vec<CrossRun> {
        let run = |(traffic, counters): (&CrossTraffic, &CrossCounters)| {
            let end = traffic.stop.unwrap_or(scenario.run.duration).min(scenario.run.duration);
            let completed = counters.completed.map(|at| at.since(Time::ZERO));
            let on = (completed.unwrap_or(end).secs() - traffic.start.secs()).max(1e-9);
            let headers = if matches!(traffic.kind, CrossKind::Tcp { .. }) { HEADERS } else { 0 };
            let bits = counters.delivered * 8 * traffic.size.get().saturating_sub(headers);
            CrossRun {
                name: traffic.name.clone(),
                sent: counters.sent,
                delivered: counters.delivered,
                goodput_mbps: bits as f64 / 1e6 / on,
                retransmissions: counters.sender.retransmissions,
                recoveries: counters.sender.recoveries,
                timeouts: counters.sender.timeouts,
                completed_s: completed.map(|span| span.secs()),
            }
        };
        scenario.cross.iter().zip(counters).map(run).collect()
    }

    /// Every count under its name.
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
