//! What can be emulated, and what a simulation must be given to be set beside it.

use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration};
use ndnweir_net::emulator::UDP_FRAMING;
use ndnweir_scenario::{Change, NodeKind, Routes, Scenario, Traffic};
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, InterestBuilder, Name};

/// Whether a scenario can be emulated.
///
/// # Errors
/// A sentence that says what cannot be, and what to do.
pub fn check(scenario: &Scenario) -> Result<(), String> {
    for (i, consumer) in scenario.consumers.iter().enumerate() {
        let other = scenario.consumers[..i]
            .iter()
            .find(|other| other.prefix == consumer.prefix && !agree(&other.traffic, &consumer.traffic));
        if let Some(other) = other {
            return Err(format!(
                "consumers {} and {} ask for {} as objects of different lengths or kinds: one producer publishes one \
                 object; give one of them another prefix",
                other.name, consumer.name, consumer.prefix
            ));
        }
    }
    let is_switch = |node: usize| scenario.nodes[node].kind == NodeKind::Switch;
    let between_switches = |change: &Change| match *change {
        Change::LinkDown { link } => Some(&scenario.links[link]).filter(|link| is_switch(link.a) && is_switch(link.b)),
        _ => None,
    };
    if let Some(link) = scenario.events.iter().find_map(|event| between_switches(&event.change)) {
        let name = &link.name;
        return Err(format!("link {name} between switches fails: emulated switches know one way only; simulate this"));
    }
    if scenario.routing.routes == Routes::None {
        return Err("routing.mode is \"none\": forwarders get routes when they start; choose another mode".into());
    }
    Ok(())
}

/// Whether consumers of one prefix can be served by one object.
fn agree(one: &Traffic, other: &Traffic) -> bool {
    let length = |traffic: &Traffic| match *traffic {
        Traffic::Fetch { segments, .. } => Some(segments),
        // Streams take what there is.
        Traffic::Stream { .. } | Traffic::Zipf { .. } => None,
    };
    let is_catalogue = |traffic: &Traffic| matches!(traffic, Traffic::Zipf { .. });
    let lengths = length(one).zip(length(other));
    is_catalogue(one) == is_catalogue(other) && lengths.is_none_or(|(one, other)| one == other)
}

/// Whether a scheme can be emulated.
///
/// # Errors
/// A sentence that says why not.
pub fn check_scheme(scheme: &Scheme) -> Result<(), String> {
    let planner = &scheme.parts[Family::Planner as usize];
    match planner.name == Family::Planner.default_component() {
        true => Ok(()),
        false => Err(format!(
            "scheme {}: emulated nodes have no channel to its planner {}; simulate it",
            scheme.name, planner.name
        )),
    }
}

/// The scenario with the sizes that real packets have, and without rerouting, which emulated nodes do not do: what a
/// simulation must be given to be compared.
pub fn comparable(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    let object = scenario.consumers.first().map_or("/object", |consumer| consumer.prefix.as_str());
    let segment = |object: &str| -> Option<Name> {
        let name: Name = object.parse().ok()?;
        Some(name.with(Component::version(1)).with(Component::segment(1000)))
    };
    let payload = scenario.producers.first().map_or(1024, |producer| producer.payload.get() as usize);
    let sizes = segment(object).and_then(|name| {
        let last = Component::segment(u64::from(u32::MAX) - 2);
        let data = DataBuilder::new(name.as_view())
            .freshness_period(std::time::Duration::from_secs(1))
            .final_block_id(last.as_view())
            .content(&vec![0; payload])
            .sign(&DigestSha256)
            .ok()?;
        let lifetime = std::time::Duration::from_secs(2);
        let interest = InterestBuilder::new(name.as_view()).nonce([0; 4]).lifetime(lifetime).encode().ok()?;
        Some((data.len() - payload, interest.len()))
    });
    if let Some((overhead, interest)) = sizes {
        scenario.run.data_overhead = Bytes::new(overhead as u64);
        scenario.run.interest_size = Bytes::new(interest as u64);
    }
    scenario.set_framing(UDP_FRAMING);
    scenario.run.growing_sizes = true;
    scenario.routing.reaction = None;
    scenario
}

/// The scenario with packets that arrive up to `noise` late, at random, on links without jitter of their own: real
/// processes are never exact, and a simulation that is may lock flows in step, with few outcomes over many seeds.
pub fn noisy(scenario: &Scenario, noise: Duration) -> Scenario {
    let mut scenario = scenario.clone();
    for direction in scenario.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.backward]) {
        if direction.impairment.jitter == Duration::ZERO {
            direction.impairment.jitter = noise;
        }
    }
    scenario
}
