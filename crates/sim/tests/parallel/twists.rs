//! What random networks leave out and several threads might get wrong: crowds of events of one instant, and everything
//! that acts on more than one node.

use crate::keeping::every_component;
use crate::properties::networks::networks;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::planner::Planner as _;
use ndnweir_core::registry::{AnyDiscipline, AnyMarker};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_sim::bench::consumer;
use ndnweir_sim::flows::{Arrivals, Catalogue, FlowSizes, Flows};
use ndnweir_sim::network::*;
use ndnweir_sim::parts::{Members, Part};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

/// Every packet takes a millisecond on every link, delays and times between requests are whole milliseconds, all begins
/// at once, and changes coincide with samples. `delays` are those of links, in turn.
fn crowd(network: &mut Network, delays: &[u64], impaired: bool) {
    let size = network.producers[0].size;
    let rate = Rate::from_bps(u64::from(size) * 8 * 1000);
    for (link, delay) in network.links.iter_mut().zip(delays.iter().cycle()) {
        for direction in link.directions_mut() {
            (direction.rate, direction.trace, direction.framing) = (Some(rate), None, Bytes::ZERO);
            direction.delay = ms(*delay);
            if !impaired {
                direction.impairment = Impairment::default();
            }
        }
    }
    network.start_jitter = Duration::ZERO;
    for consumer in &mut network.consumers {
        (consumer.start, consumer.interest_size) = (Time::ZERO, size);
    }
    for (at, _) in &mut network.changes {
        *at = Time::from_nanos(at.nanos() / 100_000_000 * 100_000_000);
    }
}

fn flows() -> impl Strategy<Value = Flows> {
    let catalogue = (1u32..30, 0.0..1.5f64).prop_map(|(objects, exponent)| Catalogue { objects, exponent });
    let parts = (1u64..60, any::<bool>(), 1u32..6, prop::option::of(catalogue), 1u64..4);
    parts.prop_map(|(gap, poisson, max_active, catalogue, stream)| Flows {
        arrivals: Arrivals::Drawn { gap: ms(gap), poisson, sizes: FlowSizes::Fixed(20_000) },
        max_active,
        payload: 1024,
        catalogue,
        consumer: None,
        stream,
    })
}

fn control() -> impl Strategy<Value = Control> {
    let delay = prop_oneof![1 => Just(0u64), 8 => 1u64..30];
    (delay, prop_oneof![Just(0.0), 0.0..0.5f64], any::<bool>()).prop_map(|(delay, loss, fails)| {
        let at = |millis| fails.then(|| at(millis));
        Control { delay: ms(delay), loss, fails: at(500), stand_by: at(700), returns: at(900) }
    })
}

fn signals() -> impl Strategy<Value = SignalChange> {
    let marks = prop_oneof![Just(MarkChange::Keep), Just(MarkChange::Clear), Just(MarkChange::Set)];
    let fields = prop_oneof![
        Just(FieldChange::Keep),
        Just(FieldChange::Clear),
        Just(FieldChange::Least),
        Just(FieldChange::Largest)
    ];
    (marks, fields).prop_map(|(marks, fields)| SignalChange { marks, fields })
}

/// A queue of its own on a link, of any marker or discipline.
fn own_queue(direction: &mut Direction, which: Index, is_marker: bool) {
    let key = if is_marker { "marker" } else { "discipline" };
    let name = if is_marker { which.get(AnyMarker::ALL).name } else { which.get(AnyDiscipline::ALL).name };
    let parts = Scheme::resolve("own", &json!({ "consumer": "aimd", key: name })).unwrap().parts;
    if is_marker {
        direction.marker = Some(parts.marker);
    } else {
        direction.discipline = Some(parts.discipline);
    }
}

/// Any scheme, one in four times of those that have a planner.
fn scheme() -> impl Strategy<Value = Scheme> {
    let all = every_component();
    let has_planner = |scheme: &&Scheme| !scheme.planner(&mut FieldLayout::default()).is_none();
    let planned: Vec<Scheme> = all.iter().filter(has_planner).cloned().collect();
    prop_oneof![3 => prop::sample::select(all), 1 => prop::sample::select(planned)]
}

/// A network, mostly one that can be divided, and a scheme for it.
pub fn twisted() -> impl Strategy<Value = (Network, Scheme)> {
    let crowd_of = prop::option::of((prop::collection::vec(0u64..4, 1..4), any::<bool>()));
    let of_link = |weight| prop::option::weighted(weight, any::<Index>());
    let of_flows = prop::option::of((flows(), any::<Index>()));
    let of_part = prop::option::weighted(0.3, (scheme(), any::<bool>(), 0.2..1.0f64));
    let on_links = (of_link(0.2), of_link(0.2), (of_link(0.2), any::<Index>(), any::<bool>()), signals());
    let rest = (any::<bool>(), prop_oneof![Just(0u64), Just(1), Just(10), Just(100)], 0..8u8);
    let parts = (crowd_of, of_flows, control(), of_part, on_links, rest);
    (networks(), scheme(), parts).prop_map(|(mut network, scheme, parts)| {
        let (crowd_of, of_flows, control, of_part, on_links, (grows, sampling, divisible)) = parts;
        if divisible > 0 {
            network.media.clear();
            network.links.iter_mut().for_each(|link| link.mtu = None);
            let kind = network.nodes[0];
            network.nodes.iter_mut().for_each(|node| *node = kind);
        }
        (network.control, network.sampling) = (control, ms(sampling));
        let own_rates = network.media.is_empty();
        if let Some((delays, impaired)) = crowd_of
            && own_rates
        {
            crowd(&mut network, &delays, impaired);
        } else {
            network.growing_sizes = grows;
        }
        if let Some((flows, node)) = of_flows {
            let node = node.index(network.nodes.len());
            let traffic = Traffic::Flows(Box::new(flows));
            network.consumers.push(consumer(node, node as u32 % 2, traffic));
        }
        if let Some((of, nodes, share)) = of_part {
            network.schemes.push(of);
            let members = if nodes {
                Members::Nodes((0..network.nodes.len()).collect())
            } else {
                Members::Consumers((0..network.consumers.len()).collect())
            };
            network.parts.push(Part { scheme: 0, members, share, stream: 1 });
        }
        let (unlimited, changed, (queue, which, is_marker), signals) = on_links;
        // Not the first: what is fetched over links without a rate alone would know no bounds.
        if let Some(link) = unlimited
            && own_rates
            && network.nodes.len() > 2
        {
            let link = &mut network.links[1 + link.index(network.nodes.len() - 2)];
            link.directions_mut().into_iter().for_each(|direction| (direction.rate, direction.trace) = (None, None));
        }
        if let Some(link) = changed {
            link.get_mut(&mut network.links).forward.signals = signals;
        }
        if let Some(link) = queue {
            own_queue(&mut link.get_mut(&mut network.links).backward, which, is_marker);
        }
        (network, scheme)
    })
}
