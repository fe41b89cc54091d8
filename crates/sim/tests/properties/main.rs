//! Properties of every network: packet accounting holds, and the same seed gives the same run.

pub mod networks;

use crate::common::Digest;
use ndnweir_sim::network::Network;
use ndnweir_sim::{Outcome, RunOptions, run};
use networks::{networks, schemes};
use proptest::prelude::*;

fn simulate(network: &Network, scheme: usize, seed: u64, force_events: bool) -> (Outcome, u64) {
    let schemes = schemes();
    let scheme = &schemes[scheme % schemes.len()];
    let mut digest = Digest::default();
    let options = RunOptions { force_events, ..RunOptions::full() };
    let outcome = run(network, scheme, seed, &mut digest, options).unwrap();
    (outcome, digest.get())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_interest_and_every_packet_is_accounted_for(network in networks(), scheme in any::<usize>(), seed in 0u64..4) {
        let (outcome, _) = simulate(&network, scheme, seed, false);
        prop_assert!(outcome.finished);
        let check = outcome.check();
        prop_assert!(check.is_ok(), "{}", check.unwrap_err());
        prop_assert_eq!(outcome.in_flight, outcome.in_flight_by_link.iter().sum::<u64>());
    }

    #[test]
    fn one_seed_gives_one_run(network in networks(), scheme in any::<usize>()) {
        let first = simulate(&network, scheme, 7, false);
        prop_assert_eq!(first, simulate(&network, scheme, 7, false));
    }

    #[test]
    fn settling_departures_late_changes_nothing_that_arrives(network in networks(), scheme in any::<usize>()) {
        let (lazy, _) = simulate(&network, scheme, 7, false);
        let (forced, _) = simulate(&network, scheme, 7, true);
        prop_assert_eq!(lazy.hash, forced.hash);
        prop_assert_eq!(lazy.consumers, forced.consumers);
    }
}
