//! The description of a scenario in results.

use super::ideal::ideals;
use super::outline::outline;
use crate::results::ScenarioInfo;
use ndnweir_scenario::Scenario;

/// The description of the scenario in results.
pub fn describe(scenario: &Scenario) -> ScenarioInfo {
    let mut info = outline(scenario);
    for (consumer, flows) in info.consumers.iter_mut().zip(ideals(scenario)) {
        consumer.flows = flows;
    }
    info
}
