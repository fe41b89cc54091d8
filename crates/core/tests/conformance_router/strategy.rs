//! Strategies, at a small node with a PIT.

use crate::router;
use ndnweir_core::component::Info;
use ndnweir_core::conformance::SEEDS;
use ndnweir_core::conformance::strategy::{self, Pace};
use ndnweir_core::registry::{AnyStrategy, StrategyParams};
use serde_json::Value;

fn run(info: &Info, params: &Value, seed: u64, operations: usize, pace: Pace) -> Vec<u64> {
    let decided = strategy::run(router::desk::<StrategyParams>(info, params, seed), operations, pace);
    decided.unwrap_or_else(|e| panic!("{} with {params}, seed {seed}: {e}", info.name))
}

fn workload(info: &Info, params: &Value) -> Vec<u64> {
    let calm = (0..2).flat_map(|seed| run(info, params, seed, 12_000, Pace::Calm));
    calm.chain(run(info, params, 2, 3000, Pace::Interrupted)).collect()
}

#[test]
fn strategies_choose_only_eligible_next_hops_and_keep_their_shares_whole() {
    for info in AnyStrategy::ALL {
        for seed in SEEDS {
            run(info, &Value::Null, seed, 1500, Pace::Wild);
        }
    }
}

#[test]
fn a_prefix_that_routing_never_set_does_not_fail() {
    for info in AnyStrategy::ALL {
        let desk = router::desk::<StrategyParams>(info, &Value::Null, 0);
        strategy::unknown_prefix(desk).unwrap_or_else(|e| panic!("{}: {e}", info.name));
    }
}

#[test]
fn strategies_decide_the_same_in_every_run() {
    router::assert_deterministic(AnyStrategy::ALL, workload);
}

#[test]
fn strategies_have_sound_parameters() {
    router::assert_parameters_are_sound(AnyStrategy::ALL, AnyStrategy::check);
}

#[test]
fn every_parameter_of_a_strategy_has_an_effect() {
    router::assert_parameters_have_effects(AnyStrategy::ALL, AnyStrategy::check, workload);
}
