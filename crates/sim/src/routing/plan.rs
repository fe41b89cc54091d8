//! Which links each prefix should use, planned for the consumers of the network.

use super::Availability;
use crate::network::Network;
use crate::shortest::{Edge, ShortestPaths};
use crate::topology::Topology;
use std::collections::BTreeMap;

/// By prefix: what is planned over each channel in the direction of Interests, ascending by channel.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    by_prefix: Vec<Vec<(u32, u64)>>,
}

fn env(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

impl Plan {
    pub fn of(&self, prefix: u32) -> impl Fn(u32) -> u64 + '_ {
        let flows: &[(u32, u64)] = self.by_prefix.get(prefix as usize).map_or(&[], Vec::as_slice);
        move |channel| flows.binary_search_by_key(&channel, |f| f.0).map_or(0, |at| flows[at].1)
    }

    pub fn new(network: &Network, topology: &Topology, up: &Availability, uniform: bool) -> Plan {
        let prefixes = network.prefixes as usize;
        let mut producers: Vec<Vec<u32>> = vec![Vec::new(); prefixes];
        for p in &network.producers {
            producers[p.prefix as usize].push(p.node as u32);
        }
        let mut demand: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); prefixes];
        if uniform {
            for d in &mut demand {
                for n in 0..topology.faces.len() as u32 {
                    if !topology.faces[n as usize].is_empty() {
                        d.insert(n, 1.0);
                    }
                }
            }
        } else {
            for c in &network.consumers {
                *demand[c.prefix as usize].entry(c.node as u32).or_default() += 1.0;
            }
        }
        let (beta, alpha, rounds) = (env("BETA", 8.0), env("ALPHA", 4.0), env("ROUNDS", 100.0) as usize);
        let r = 32.0 / 1066.0;
        let rates: Vec<f64> = (0..topology.directed_links.len())
            .map(|l| network.links[l / 2].directions()[l % 2].rate.map_or(f64::INFINITY, |r| r.mbps()))
            .collect();
        let finite: Vec<f64> = rates.iter().copied().filter(|r| r.is_finite()).collect();
        let mean = finite.iter().sum::<f64>() / finite.len() as f64;
        let capacity: Vec<f64> = rates.iter().map(|r| r / mean).collect();
        let wires: Vec<Vec<u32>> = (0..topology.channels.len()).map(|c| topology.route(c as u32)).collect();
        let mut loads = vec![0.0f64; rates.len()];
        let mut flows: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); prefixes];
        let mut weight = 0.0;
        for round in 1..=rounds {
            let price: Vec<f64> = (0..rates.len())
                .map(|l| {
                    let u = if weight > 0.0 { loads[l] / weight / capacity[l] } else { 1.0 };
                    if capacity[l].is_finite() { libm::pow(u, beta) / capacity[l] } else { 0.0 }
                })
                .collect();
            // By channel in the direction of Interests.
            let of_channel: Vec<f64> = (0..topology.channels.len())
                .map(|c| {
                    wires[c ^ 1].iter().map(|w| price[*w as usize]).sum::<f64>()
                        + r * wires[c].iter().map(|w| price[*w as usize]).sum::<f64>()
                })
                .collect();
            let most = of_channel.iter().copied().fold(0.0, f64::max);
            let cost: Vec<u64> = of_channel.iter().map(|p| (p / most * (1u64 << 40) as f64) as u64 + 1).collect();
            let w = round as f64;
            weight += w;
            for prefix in 0..prefixes {
                let roots = producers[prefix].iter().filter(|p| up.nodes[**p as usize]).map(|p| *p as usize);
                let paths = ShortestPaths::new(topology.faces.len(), roots, 0u64, |node, distance| {
                    let passes = distance == 0 || !topology.is_host(node as u32);
                    let out: &[u32] = if passes { &topology.faces[node] } else { &[] };
                    let cost = &cost;
                    out.iter().filter_map(move |&out| {
                        let id = out as usize ^ 1;
                        let from = topology.channels[id].from as usize;
                        (up.channels[id] && up.nodes[from]).then_some(Edge { from, cost: distance + cost[id], id })
                    })
                });
                for (&node, &many) in &demand[prefix] {
                    let mut path = Vec::new();
                    let mut at = node as usize;
                    while let Some(c) = paths.first_edge(at) {
                        path.push(c);
                        at = topology.channels[c].to as usize;
                    }
                    let p: f64 = path.iter().map(|c| of_channel[*c]).sum();
                    if path.is_empty() || p <= 0.0 {
                        continue;
                    }
                    let x = w * many * libm::pow(p, -1.0 / alpha);
                    for c in path {
                        *flows[prefix].entry(c as u32).or_default() += x;
                        wires[c ^ 1].iter().for_each(|l| loads[*l as usize] += x);
                        wires[c].iter().for_each(|l| loads[*l as usize] += r * x);
                    }
                }
            }
        }
        let by_prefix = flows.iter().map(|flows| {
            let net = |(&c, &x): (&u32, &f64)| {
                let back = flows.get(&(c ^ 1)).copied().unwrap_or_default();
                let net = ((x - back) / weight * 1e6) as u64;
                (net > 0).then_some((c, net))
            };
            flows.iter().filter_map(net).collect()
        });
        Plan { by_prefix: by_prefix.collect() }
    }
}
