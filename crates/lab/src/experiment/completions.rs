//! Ideal completion times of the finite fetches of a scenario, at max-min fair rates.

use super::ceilings::routed;
use crate::optimum::Transfer;
use crate::results::IdealCompletion;
use ndnweir_scenario::{Consumer, Scenario};
use ndnweir_sim::network::Traffic;

/// Limit on fetches times kinds of flows times links; beyond it, the computation is not tried.
const MAX_SIZE: usize = 10_000_000;

/// The ideal completion of each finite fetch, over the next hops of the FIBs. Empty if nodes cache Data, the network
/// changes, or consumers request anything other than whole objects.
pub(super) fn completions(scenario: &Scenario) -> Vec<IdealCompletion> {
    ideal(scenario).unwrap_or_default()
}

fn ideal(scenario: &Scenario) -> Option<Vec<IdealCompletion>> {
    let caches = scenario.nodes.iter().any(|node| node.kind.cache() > Some(0));
    let sizes: Option<Vec<Option<u64>>> = (scenario.consumers.iter())
        .map(|c| match &c.traffic {
            Traffic::Fetch { segments, .. } if c.stop.is_none() => Some(*segments),
            _ => None,
        })
        .collect();
    let sizes = sizes?;
    let finite = sizes.iter().flatten().count();
    if finite == 0 || caches || !scenario.events.is_empty() {
        return None;
    }
    // The same consumers with endless fetches, so that each is a flow of the problem.
    let mut endless = scenario.clone();
    for consumer in &mut endless.consumers {
        if let Traffic::Fetch { segments, .. } = &mut consumer.traffic {
            *segments = None;
        }
    }
    let problem = routed(&endless).ok()?;
    if finite.saturating_mul(problem.number_of_kinds()).saturating_mul(problem.links.len()) > MAX_SIZE {
        return None;
    }
    let delays = scenario.links.iter().flat_map(|l| [l.forward.delay.secs(), l.backward.delay.secs()]);
    let propagation_s: Vec<f64> = delays.collect();
    let latencies = problem.least_latencies(&propagation_s);
    let transfer = |((consumer, size), latency): ((&Consumer, &Option<u64>), Option<f64>)| {
        Some(Transfer {
            start_s: consumer.start.secs(),
            payload_bytes: size.map(|n| n.saturating_mul(problem.sizes.payload_bytes)),
            latency_s: latency?,
        })
    };
    let transfers: Vec<Transfer> =
        scenario.consumers.iter().zip(&sizes).zip(latencies).map(transfer).collect::<Option<_>>()?;
    let times = problem.completion_times(&transfers).ok()?;
    let named = |(consumer, time): (&Consumer, Option<f64>)| {
        Some(IdealCompletion { name: consumer.name.clone(), completion_s: crate::results::significant(time?, 6) })
    };
    Some(scenario.consumers.iter().zip(times).filter_map(named).collect())
}
