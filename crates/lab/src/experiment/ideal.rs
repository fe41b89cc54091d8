//! Ideal completion times of flows that come and go.

use super::ceilings::routed;
use crate::optimum::Optimum;
use crate::results::{FlowsInfo, VideoInfo, significant};
use ndnweir_scenario::{Scenario, Traffic};
use ndnweir_sim::flows::Arrivals;

/// By consumer: the reference values for slowdowns, if its flows come and go.
///
/// The path is the one with the lowest latency over the next hops that the FIBs have at the start.
pub(super) fn ideals(scenario: &Scenario) -> Vec<Option<FlowsInfo>> {
    let is_flows = |traffic: &Traffic| matches!(traffic, Traffic::Flows(_));
    if !scenario.consumers.iter().any(|c| is_flows(&c.traffic)) {
        return vec![None; scenario.consumers.len()];
    }
    // The same consumers with one endless fetch each, so that each is a flow of the problem.
    let mut endless = scenario.clone();
    for consumer in &mut endless.consumers {
        consumer.traffic = Traffic::Fetch { segments: None, consumer: None };
    }
    let delays = scenario.links.iter().flat_map(|l| [l.forward.delay.secs(), l.backward.delay.secs()]);
    let propagation_s: Vec<f64> = delays.collect();
    let problem = routed(&endless).ok();
    let solo = problem.as_ref().map(|problem| problem.solo(&propagation_s)).unwrap_or_default();
    let player = |traffic: &Traffic| match traffic {
        Traffic::Flows(flows) => match &flows.arrivals {
            Arrivals::Player(player) => Some(player.ladder.iter().map(|rate| rate.bps() as f64 / 1e6).collect()),
            _ => None,
        },
        _ => None,
    };
    // A linear program, which nothing else here needs.
    let fair = if scenario.consumers.iter().any(|c| player(&c.traffic).is_some()) {
        problem.map(|problem| problem.solve()).unwrap_or_default()
    } else {
        Optimum::default()
    };
    let video = |consumer: &ndnweir_scenario::Consumer| {
        let rate = fair.goodput(&consumer.name).map(|rate| significant(rate, 9));
        Some(VideoInfo::new(player(&consumer.traffic)?, rate))
    };
    let info = |(i, consumer): (usize, &ndnweir_scenario::Consumer)| match &consumer.traffic {
        Traffic::Flows(flows) => {
            let alone = solo.get(i).copied().flatten();
            Some(FlowsInfo {
                latency_s: alone.map(|alone| significant(alone.0, 9)),
                data_s: alone.map(|alone| significant(alone.1, 9)),
                payload_bytes: flows.payload.into(),
                classes_bytes: consumer.size_classes.iter().map(|bytes| bytes.get()).collect(),
                video: video(consumer),
            })
        }
        _ => None,
    };
    scenario.consumers.iter().enumerate().map(info).collect()
}
