//! Queues in bandwidth-delay products: `"1 BDP"` and `"1 BDP of 40ms"`.
//!
//! The rate of a link, and the flows that cross it, are known only after everything else has been read. Until then,
//! these queues are kept as [`PendingQueue`]s.

use super::diag::{Findings, Location};
use super::model::{QueueLimit, Scenario};
use super::tree::{Item, Quantity, Table, Value};
use ndnweir_core::units::{Bytes, Duration};
use ndnweir_sim::network::Routes;
use ndnweir_sim::routing::{Availability, Fibs};
use ndnweir_sim::topology::Topology;

const HELP: &str = "write \"1 BDP\", for the longest round trip of the flows over the link, or \"1 BDP of 40ms\"";
/// Maximum number of bandwidth-delay products of one queue.
const MAX_BDPS: f64 = 10_000.0;

/// A queue size in bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Products {
    factor: f64,
    /// The round-trip time that the file gives; `None` uses that of the flows that cross the link.
    round_trip: Option<Duration>,
}

/// A queue whose size is not yet computed.
pub(super) struct PendingQueue {
    /// Position of its link in the file.
    link: usize,
    backward: bool,
    products: Products,
    at: Location,
}

/// Reads a queue size if it is in bandwidth-delay products; the error is a message.
fn parse(text: &str) -> Option<Result<Products, String>> {
    let (factor, rest) = text.split_once("BDP")?;
    let read = || {
        let factor = factor.trim().parse::<f64>().ok().filter(|x| *x > 0.0 && *x <= MAX_BDPS);
        let factor = factor.ok_or_else(|| format!("\"{text}\" is no number of BDP above 0 and up to {MAX_BDPS}"))?;
        let round_trip = match rest.trim() {
            "" => None,
            rest => {
                let time = rest.strip_prefix("of ").map(|time| time.trim().parse::<Duration>());
                let time = time.and_then(Result::ok).filter(|time| *time > Duration::ZERO);
                Some(time.ok_or_else(|| format!("\"{text}\" has no round trip after BDP"))?)
            }
        };
        Ok(Products { factor, round_trip })
    };
    Some(read())
}

/// Takes queue sizes in bandwidth-delay products out of the links, separately for each direction, and replaces them by
/// a queue of one packet.
pub(super) fn take(root: &mut Table, found: &Findings) -> Vec<PendingQueue> {
    let read = |item: &Item| {
        let products = parse(item.as_text()?)?;
        let error = |message: &String| found.error(&item.at, format!("queue: {message}"), HELP);
        let products = products.inspect_err(error).unwrap_or(Products { factor: 1.0, round_trip: None });
        Some((products, item.at.clone()))
    };
    let placeholder = |at: &Location| Item::quantity(at, Quantity::Queue(QueueLimit::Packets(1)));
    let mut usual = None;
    if let Some(defaults) = root.get_mut("link-defaults").and_then(Item::as_table_mut)
        && let Some(products) = defaults.get("queue").and_then(&read)
    {
        defaults.set("queue", placeholder(&products.1));
        usual = Some(products);
    }
    let mut pending = Vec::new();
    let Some(Item { value: Value::List(links), .. }) = root.get_mut("link") else { return pending };
    for (link, item) in links.iter_mut().enumerate() {
        let Some(table) = item.as_table_mut() else { continue };
        let own = match table.get("queue") {
            Some(item) => read(item),
            None => usual.clone(),
        };
        if let Some((_, at)) = own.as_ref().filter(|_| table.get("queue").is_some()) {
            table.set("queue", placeholder(at));
        }
        for (backward, key) in [(false, "forward"), (true, "backward")] {
            let direction = table.get_mut(key).and_then(Item::as_table_mut);
            let direction = direction.filter(|direction| direction.get("queue").is_some());
            let products = match direction {
                None => own.clone(),
                Some(direction) => {
                    let products = direction.get("queue").and_then(&read);
                    if let Some((_, at)) = &products {
                        direction.set("queue", placeholder(at));
                    }
                    products
                }
            };
            pending.extend(products.map(|(products, at)| PendingQueue { link, backward, products, at }));
        }
    }
    pending
}

/// Sets the size of each pending queue in bytes, at least the size of one Data. The links of `scenario` are in the
/// order of the file.
pub(super) fn settle(scenario: &mut Scenario, pending: &[PendingQueue], found: &Findings) {
    if pending.is_empty() {
        return;
    }
    let by_flows = pending.iter().any(|queue| queue.products.round_trip.is_none());
    let round_trips = if by_flows { round_trips(scenario) } else { Vec::new() };
    let largest = scenario.producers.iter().map(|p| p.payload).max().unwrap_or(Bytes::ZERO);
    let least = scenario.run.data_on_wire(largest).get();
    for PendingQueue { link, backward, products, at } in pending {
        let Some(on) = scenario.links.get_mut(*link) else { continue };
        let Some(round_trip) = products.round_trip.or_else(|| round_trips.get(*link).copied().flatten()) else {
            let message = format!("queue: no flow crosses link {}, so that it has no round trip", on.name);
            found.error(at, message, "write \"1 BDP of 40ms\", or a number of packets");
            continue;
        };
        let direction = if *backward { &mut on.backward } else { &mut on.forward };
        let Some(rate) = direction.rate else { continue };
        let bytes = (products.factor * rate.bps() as f64 * round_trip.secs() / 8.0).round() as u64;
        if bytes > 1 << 40 {
            found.error(at, format!("queue: {bytes} bytes are more than memory holds"), "write fewer BDP");
        }
        direction.limit = QueueLimit::Bytes(Bytes::new(bytes.max(least)));
    }
}

/// By link: the longest round-trip time, without queueing and transmission, of the flows that cross it along the
/// cheapest next hops.
fn round_trips(scenario: &Scenario) -> Vec<Option<Duration>> {
    let mut longest = vec![None; scenario.links.len()];
    let mut network = scenario.network();
    network.routing.routes = Routes::Shortest;
    let Ok(topology) = Topology::new(&network) else { return longest };
    let up = Availability::all(&topology);
    let fibs = Fibs::new(&network, &topology, &up);
    let delay = |wire: u32| network.links[wire as usize / 2].directions()[wire as usize % 2].delay;
    let mut hops_of = std::collections::BTreeMap::new();
    for consumer in &network.consumers {
        let serving = network.producers.iter().filter(|p| p.prefix == consumer.prefix).map(|p| p.node as u32);
        let serving: Vec<u32> = serving.collect();
        let hops = hops_of.entry(consumer.prefix).or_insert_with(|| fibs.next_hops(consumer.prefix));
        let (mut at, mut round_trip, mut crossed) = (consumer.node, Duration::ZERO, Vec::new());
        while !serving.contains(&(at as u32)) && crossed.len() <= 2 * scenario.links.len() {
            let Some(hop) = hops[at].first() else { break };
            let leads = |out: &&u32| topology.channels[**out as usize].out_face == hop.face.0;
            let Some(&out) = topology.faces[at].iter().find(leads) else { break };
            for wire in topology.route(out).into_iter().chain(topology.route(out ^ 1)) {
                round_trip = round_trip + delay(wire);
                crossed.push(wire as usize / 2);
            }
            at = topology.channels[out as usize].to as usize;
        }
        for link in crossed {
            longest[link] = longest[link].max(Some(round_trip));
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_read_with_and_without_a_round_trip() {
        let read = |text: &str| parse(text).and_then(Result::ok);
        assert_eq!(read("0.5 BDP"), Some(Products { factor: 0.5, round_trip: None }));
        let stated = Products { factor: 4.0, round_trip: Some(Duration::from_millis(40)) };
        assert_eq!(read("4BDP of 40ms"), Some(stated));
        assert!(parse("100 packets").is_none());
        for wrong in ["BDP", "0 BDP", "-1 BDP", "1 BDP of", "1 BDP of 0ms", "1 BDP 40ms", "1e9 BDP"] {
            assert!(matches!(parse(wrong), Some(Err(_))), "{wrong}");
        }
    }
}
