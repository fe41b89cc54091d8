//! How fast the simulator is on this machine.

use crate::metrics::{Collector, ConsumerSetup, LinkSetup, Setup, Waits};
use ndnweir_core::units::{Rate, Time};
use ndnweir_sim::bench::{Case, INTEREST_SIZE, Work, cases};
use ndnweir_sim::{NetworkError, RunOptions};
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

/// Left out of quick measurements: setting it up takes longer than the run.
const SLOW: &str = "random-10000";

/// The cases whose name contains `filter`; `quick` shortens them tenfold and leaves out the largest.
pub fn chosen(filter: Option<&str>, quick: bool) -> Vec<Case> {
    let scale = if quick { 0.1 } else { 1.0 };
    let is_chosen = |case: &Case| filter.is_none_or(|part| case.name.contains(part)) && !(quick && case.name == SLOW);
    cases(scale).into_iter().filter(is_chosen).collect()
}

/// Runs a case with everything recorded that a result folder has, up to the metrics and series in memory.
fn recorded(case: &Case) -> Result<Work, NetworkError> {
    let setup = setup(case);
    let mut waits = Waits::new(setup.from..setup.to, setup.links.len(), None);
    let mut collector = Collector::new(setup);
    let options = RunOptions { tap: Some(&mut waits), ..RunOptions::full() };
    let outcome = ndnweir_sim::run(&case.network, &case.scheme, 1, &mut collector, options)?;
    let mut run = collector.finish(&case.scheme.name, 1);
    waits.finish(&mut run);
    std::hint::black_box(&run);
    Ok(Work::of(&outcome))
}

/// What the collector is told about a case: nodes and consumers are called by their numbers.
fn setup(case: &Case) -> Setup {
    let network = &case.network;
    let link = |from: usize, to: usize, rate: Option<Rate>| LinkSetup {
        name: format!("N{from}>N{to}"),
        from: from as u32,
        to: to as u32,
        rate: rate.unwrap_or(Rate::ZERO),
    };
    Setup {
        nodes: (0..network.nodes.len()).map(|node| format!("N{node}")).collect(),
        links: (network.links.iter())
            .flat_map(|l| [link(l.a, l.b, l.forward.rate), link(l.b, l.a, l.backward.rate)])
            .collect(),
        consumers: (network.consumers.iter().enumerate())
            .map(|(i, consumer)| ConsumerSetup {
                name: format!("C{i}"),
                start: consumer.start,
                stop: consumer.stop,
                long_lived: true,
                deadline: None,
                flows: None,
            })
            .collect(),
        prefixes: (0..network.prefixes).map(|prefix| format!("/p{prefix}")).collect(),
        from: Time::ZERO,
        to: Time::ZERO + network.duration,
        bin: network.sampling,
        changes: Vec::new(),
        interest_bytes: INTEREST_SIZE.into(),
        events: Vec::new(),
    }
}

/// Runs one case.
///
/// # Errors
/// If the case cannot be simulated.
pub fn measure(case: &Case) -> Result<Measurement, NetworkError> {
    let threads = if case.parallel { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let before = memory::reset_peak();
    let start = Instant::now();
    let work = if case.recorded { recorded(case) } else { case.run(threads) }?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_dumbbell_is_the_dumbbell_and_large_networks_are_measured_with_recording() {
        let cases = chosen(None, false);
        let case = |name: &str| cases.iter().find(|case| case.name == name).unwrap();
        let (plain, all) = (case("dumbbell"), case("recorded-dumbbell"));
        assert_eq!(all.network.links, plain.network.links);
        assert_eq!((all.network.duration, all.recorded, plain.recorded), (plain.network.duration, true, false));
        let sizes = |case: &Case| {
            let network = &case.network;
            (network.nodes.len(), network.links.len(), network.consumers.len(), network.prefixes)
        };
        assert_eq!(sizes(case("random-1000")), (1000, 2000, 1000, 50));
        assert_eq!(sizes(case("random-10000")), (10_000, 20_000, 5000, 250));
        assert!(case("random-1000").recorded && case("random-10000").recorded);
        assert!(chosen(None, true).iter().all(|case| case.name != "random-10000"));
    }

    #[test]
    fn recording_does_not_change_the_run() {
        let short = |name: &str| {
            let case = chosen(Some(name), true).into_iter().find(|case| case.name == name).unwrap();
            let duration = ndnweir_core::units::Duration::from_millis(2000);
            Case { network: ndnweir_sim::network::Network { duration, ..case.network }, ..case }
        };
        let (plain, all) = (short("dumbbell").run(1).unwrap(), recorded(&short("recorded-dumbbell")).unwrap());
        assert!(plain.segments > 1000, "{plain:?}");
        assert_eq!((plain.packet_hops, plain.segments), (all.packet_hops, all.segments));
    }
}
