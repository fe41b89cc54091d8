//! After warm-up a packet-hop allocates nothing.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate};
use ndnweir_sim::bench::{dumbbell, grid};
use ndnweir_sim::network::Network;
use ndnweir_sim::observer::{Observer, Snapshot};
use ndnweir_sim::{RunOptions, run};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Counts allocations between the first sample and the last.
struct Count {
    region: Region<'static, System>,
    warm: bool,
    hops: u64,
    allocations: usize,
}

impl Observer for Count {
    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        if snapshot.at.secs() >= 5.0 && !self.warm {
            self.warm = true;
            self.region.reset();
        }
        let stats = self.region.change();
        self.allocations = stats.allocations + stats.reallocations;
        self.hops = snapshot.links.iter().map(|link| link.data_packets + link.interest_packets).sum();
    }
}

fn count(network: Network, scheme: &str) -> Count {
    let network = Network { duration: Duration::from_millis(10_000), sampling: Duration::from_millis(1000), ..network };
    let mut count = Count { region: Region::new(ALLOCATOR), warm: false, hops: 0, allocations: 0 };
    run(&network, &Scheme::named(scheme).unwrap(), 1, &mut count, RunOptions::full()).unwrap();
    count
}

// One test, as the counters belong to the whole process.
#[test]
fn nothing_is_allocated_per_packet_hop_after_warm_up() {
    let networks = [
        ("fixed", dumbbell(Rate::from_mbps(10.0), Duration::from_millis(10), 100, Duration::ZERO)),
        ("pcon", dumbbell(Rate::from_mbps(10.0), Duration::from_millis(10), 100, Duration::ZERO)),
        ("fixed", grid(5, Duration::from_millis(1), Duration::ZERO)),
    ];
    for (scheme, network) in networks {
        // A run repeats exactly. What is not in every repetition is the test harness's own thread, on a busy machine.
        let runs = (0..3).map(|_| count(network.clone(), scheme));
        let Some(Count { hops, allocations, .. }) = runs.min_by_key(|count| count.allocations) else { continue };
        assert!(hops > 30_000, "{hops}");
        // Under a window that grows, queues still reach new heights; that is rarer than any rate per packet.
        let most = if scheme == "fixed" { 0 } else { hops as usize / 5000 };
        assert!(allocations <= most, "{scheme}: {allocations} allocations, {hops} hops");
    }
}
