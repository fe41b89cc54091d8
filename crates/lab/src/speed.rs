//! How fast the simulator is on this machine.

use ndnweir_sim::NetworkError;
use ndnweir_sim::bench::{Case, cases};
use serde::Serialize;
use std::time::Instant;

/// What a case did, how long it took and what memory it needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The case.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// Interests, Data and NACKs that crossed one link.
    pub packet_hops: u64,
    /// Wall time.
    pub wall_s: f64,
    /// Packet-hops per second of wall time.
    pub packet_hops_per_s: f64,
    /// Nanoseconds per packet-hop.
    pub ns_per_hop: f64,
    /// Most packets in flight at once.
    pub peak_in_flight: u64,
    /// Most PIT entries, added up over all nodes.
    pub peak_pending: u64,
    /// Peak resident memory of the process during the case, in MiB; none where the system does not report it.
    pub peak_rss_mib: Option<f64>,
    /// Memory the case added, per PIT entry at the peak: tables, queues and packets in flight together.
    pub bytes_per_pending_interest: Option<f64>,
}

/// The cases whose name contains `filter`; `quick` shortens them tenfold.
pub fn chosen(filter: Option<&str>, quick: bool) -> Vec<Case> {
    let scale = if quick { 0.1 } else { 1.0 };
    cases(scale).into_iter().filter(|case| filter.is_none_or(|part| case.name.contains(part))).collect()
}

/// Runs one case.
///
/// # Errors
/// If the case cannot be simulated.
pub fn measure(case: &Case) -> Result<Measurement, NetworkError> {
    let before = memory::reset_peak();
    let start = Instant::now();
    let work = case.run()?;
    let wall_s = start.elapsed().as_secs_f64();
    let peak = memory::peak();
    let hops = work.packet_hops.max(1) as f64;
    let added = before.zip(peak).map(|(before, peak)| peak.saturating_sub(before) as f64);
    Ok(Measurement {
        name: case.name.into(),
        summary: case.summary.into(),
        packet_hops: work.packet_hops,
        wall_s,
        packet_hops_per_s: hops / wall_s,
        ns_per_hop: wall_s * 1e9 / hops,
        peak_in_flight: work.peak_in_flight,
        peak_pending: work.peak_pending,
        peak_rss_mib: peak.map(|bytes| bytes as f64 / f64::from(1 << 20)),
        bytes_per_pending_interest: added.filter(|_| work.peak_pending > 0).map(|b| b / work.peak_pending as f64),
    })
}

/// Resident memory of this process, from Linux's `/proc`.
mod memory {
    use std::fs;

    /// A line of `/proc/self/status` in bytes.
    fn status(key: &str) -> Option<u64> {
        let text = fs::read_to_string("/proc/self/status").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    }

    /// Starts a new peak; gives the memory in use now.
    pub fn reset_peak() -> Option<u64> {
        fs::write("/proc/self/clear_refs", "5").ok()?;
        status("VmRSS")
    }

    /// The peak since [`reset_peak`].
    pub fn peak() -> Option<u64> {
        status("VmHWM")
    }
}
