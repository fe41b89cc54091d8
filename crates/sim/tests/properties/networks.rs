//! Random small networks.

use ndnweir_core::queue::Limit;
use ndnweir_core::registry::{AnyDiscipline, AnyMarker, AnyStrategy};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_sim::bench::{consumer, producer};
use ndnweir_sim::network::*;
use proptest::prelude::*;
use serde_json::{Value, json};

pub fn schemes() -> Vec<Scheme> {
    let composed = |key: &str, component: Value| {
        let composition =
            json!({ "consumer": "aimd", key: component, "interest-marks": "own", "cached-marks": "replay" });
        Scheme::resolve("composed", &composition).unwrap()
    };
    let named = Scheme::names().map(|name| Scheme::named(name).unwrap());
    let markers = AnyMarker::ALL.iter().map(|info| composed("marker", json!(info.name)));
    let disciplines = AnyDiscipline::ALL.iter().map(|info| composed("discipline", json!(info.name)));
    let dropping = [("marker", "codel"), ("marker", "cobalt"), ("marker", "pie"), ("discipline", "fq-codel")];
    let dropping =
        dropping.map(|(key, name)| composed(key, json!({ "name": name, "action": "drop", "target": "1ms" })));
    // One object by this strategy and shaped, the other by that of all names and not.
    let mixed = AnyStrategy::ALL.iter().map(|info| {
        let prefixes = json!({ "/x/0": info.name, "/x/1": { "shaper": "none" } });
        Scheme::resolve("mixed", &json!({ "base": "hobhis", "prefixes": prefixes })).unwrap()
    });
    named.chain(markers).chain(disciplines).chain(dropping).chain(mixed).collect()
}

fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(0.0), 1 => 0.0..0.3f64]
}

fn burst() -> impl Strategy<Value = BurstLoss> {
    let part = || 0.0..1.0f64;
    (part(), part(), part(), probability()).prop_map(|(to_bad, to_good, loss_bad, loss_good)| BurstLoss {
        to_bad,
        to_good,
        loss_bad,
        loss_good,
    })
}

fn arq() -> impl Strategy<Value = Arq> {
    (1u32..6, 0..20u64, 0.0..0.5f64, any::<bool>()).prop_map(|(attempts, slot, loss, in_order)| Arq {
        attempts,
        slot: Duration::from_millis(slot),
        loss,
        in_order,
    })
}

fn impairment() -> impl Strategy<Value = Impairment> {
    let ms = |ms: u64| Duration::from_millis(ms);
    let jitter = (prop_oneof![Just(0u64), 1..20u64], any::<bool>());
    let models = (prop::option::weighted(0.2, burst()), prop::option::weighted(0.2, arq()));
    (probability(), probability(), jitter, probability(), 0..20u64, models).prop_map(
        move |(loss, duplicate, (jitter, jitter_reorders), reorder, delay, (burst, arq))| Impairment {
            loss,
            duplicate,
            jitter: ms(jitter),
            jitter_reorders,
            reorder,
            reorder_delay: ms(delay),
            burst,
            arq,
        },
    )
}

fn trace() -> impl Strategy<Value = RateTrace> {
    prop::collection::vec(0u32..20, 1..40).prop_map(|gaps| {
        let mut at = 0;
        let lines = gaps.iter().map(|gap| {
            at += gap;
            format!("{at}\n")
        });
        let lines: String = lines.collect();
        RateTrace::parse(&format!("{lines}{}\n", at + 1)).unwrap()
    })
}

fn a_link(nodes: usize) -> impl Strategy<Value = Link> {
    let limit = prop_oneof![
        (1u32..40).prop_map(Limit::Packets),
        (2000u64..40_000).prop_map(|bytes| Limit::Bytes(Bytes::new(bytes)))
    ];
    let mtu = prop::option::weighted(0.3, (64u64..1200).prop_map(Bytes::new));
    let trace = prop::option::weighted(0.1, trace());
    let parts = (1u64..40, 0u64..20, limit, impairment(), 1u32..4, any::<bool>());
    (0..nodes, 0..nodes, parts, mtu, trace).prop_map(
        move |(a, b, (rate, delay, limit, impairment, cost, impaired), mtu, trace)| {
            let mut direction = Direction::new(Rate::from_bps(rate * 500_000), Duration::from_millis(delay), limit);
            if impaired {
                direction.impairment = impairment;
            }
            direction.framing = Bytes::new(2);
            if let Some(trace) = trace {
                // Without a delay a frame that shares a delivery would arrive at the instant at which it leaves.
                direction.delay = direction.delay + Duration::from_millis(1);
                direction = Direction { rate: Some(trace.mean()), trace: Some(trace), ..direction };
            }
            let b = if a == b { (a + 1) % nodes } else { b };
            Link { cost, mtu, ..Link::symmetric(a, b, direction) }
        },
    )
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let gap = (1u64..30).prop_map(Duration::from_millis);
    let retry = prop_oneof![Just(Retry::Never), (1u32..4).prop_map(Retry::Lifetime)];
    prop_oneof![
        prop_oneof![Just(None), (1u64..300).prop_map(Some)]
            .prop_map(|segments| Traffic::Fetch { segments, consumer: None }),
        (gap.clone(), prop_oneof![Just(None), (1u64..300).prop_map(Some)], retry.clone())
            .prop_map(|(gap, segments, retry)| Traffic::Stream { gap, segments, retry }),
        (gap, any::<bool>(), 1u32..50, 0.0..2.0f64, retry).prop_map(|(gap, poisson, objects, exponent, retry)| {
            Traffic::Zipf { gap, poisson, objects, exponent, retry }
        }),
    ]
}

fn which() -> impl Strategy<Value = LinkDirection> {
    prop_oneof![Just(LinkDirection::Forward), Just(LinkDirection::Backward), Just(LinkDirection::Both)]
}

fn change(links: usize, nodes: usize) -> impl Strategy<Value = (Time, Change)> {
    let at = (0u64..3000).prop_map(|ms| Time::ZERO + Duration::from_millis(ms));
    let kind = prop_oneof![
        (0..links).prop_map(|link| Change::LinkDown { link }),
        (0..links).prop_map(|link| Change::LinkUp { link }),
        (0..links, which(), 1u64..40).prop_map(|(link, direction, rate)| Change::Rate {
            link,
            direction,
            rate: Rate::from_bps(rate * 500_000)
        }),
        (0..links, which(), 0u64..30).prop_map(|(link, direction, ms)| Change::Delay {
            link,
            direction,
            delay: Duration::from_millis(ms)
        }),
        (0..links, which(), 0.0..0.5f64).prop_map(|(link, direction, loss)| Change::Loss { link, direction, loss }),
        (0..nodes).prop_map(|node| Change::Crash { node }),
        (0..nodes).prop_map(|node| Change::Restart { node }),
    ];
    (at, kind)
}

/// Networks of a few nodes, perhaps with a switch in the middle, that run for 3 s under any traffic and faults.
pub fn networks() -> impl Strategy<Value = Network> {
    (2usize..6, any::<bool>()).prop_flat_map(|(ndn, with_switch)| {
        let nodes = ndn + usize::from(with_switch);
        let spine = prop::collection::vec(a_link(nodes), nodes - 1);
        let extra = prop::collection::vec(a_link(nodes), 0..4);
        let consumers = prop::collection::vec((0..ndn, 0u32..2, 0u32..2, traffic(), 0u64..500), 1..5);
        let producers = prop::collection::vec(1..ndn, 0..2);
        let changes = prop::collection::vec(change(nodes - 1, ndn), 0..6);
        let routes = prop_oneof![
            Just(Routes::Shortest),
            Just(Routes::KShortest(2)),
            Just(Routes::LoopFree),
            Just(Routes::Planned(PlanFor::Consumers)),
        ];
        let medium = prop::option::weighted(0.2, (1u64..40, 0u64..500));
        let rest = (producers, changes, routes, prop_oneof![Just(1usize << 16), Just(5)], 0usize..20, medium);
        (spine, extra, consumers, rest).prop_map(move |(spine, extra, consumers, rest)| {
            let (producers, mut changes, routes, pit_limit, cache, medium) = rest;
            let mut kinds = vec![NodeKind::Ndn { cache }; ndn];
            if with_switch {
                kinds.push(NodeKind::Switch);
            }
            // A chain joins everything; with a switch at its end, another link joins it to the first node.
            let mut links: Vec<_> = spine.into_iter().enumerate().map(|(i, l)| Link { a: i, b: i + 1, ..l }).collect();
            links.extend(extra);
            if links.iter().any(|link| link.forward.trace.is_some()) {
                // Deliveries fall on whole milliseconds as changes do. Of one instant, the drivers order them differently.
                changes.clear();
            }
            // The first two links share a medium.
            let media = medium.map(|(rate, gap)| {
                let rate = Rate::from_bps(rate * 500_000);
                let shared: Vec<usize> = (0..links.len().min(2)).collect();
                for direction in links.iter_mut().take(2).flat_map(Link::directions_mut) {
                    (direction.rate, direction.trace) = (Some(rate), None);
                }
                changes.retain(|(_, change)| !matches!(change, Change::Rate { link, .. } if shared.contains(link)));
                SharedMedium { rate, gap: Duration::from_micros(gap), links: shared }
            });
            let mut served = vec![producer(ndn - 1, 0), producer(ndn - 1, 1)];
            served.extend(producers.into_iter().map(|node| producer(node, 0)));
            let consumers = consumers.into_iter().map(|(node, prefix, object, traffic, start)| Consumer {
                // A fetch from the node itself would take no time.
                node: if matches!(traffic, Traffic::Fetch { .. }) { 0 } else { node },
                object,
                start: Time::ZERO + Duration::from_millis(start),
                stop: (start % 3 == 0).then(|| Time::ZERO + Duration::from_millis(start + 1500)),
                lifetime: Duration::from_millis(400),
                ..consumer(0, prefix, traffic)
            });
            Network {
                nodes: kinds,
                links,
                media: media.into_iter().collect(),
                prefixes: 2,
                names: Names { prefixes: Vec::new(), objects: vec!["/x/0".into(), "/x/1".into()] },
                producers: served,
                consumers: consumers.collect(),
                routing: Routing { routes, ..Routing::default() },
                changes,
                pit_limit,
                start_jitter: Duration::from_millis(10),
                duration: Duration::from_millis(3000),
                ..Network::default()
            }
        })
    })
}
