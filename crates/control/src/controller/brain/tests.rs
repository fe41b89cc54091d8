use super::*;
use crate::controller::mirror::tests::{notification, text_value};
use crate::proto::gnmi::{ScalarArray, TypedValue, typed_value::Value as V};

const PERIOD: u64 = 500;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Four routers: 0 reaches a producer at 3 by 1 or by 2. Each listens on a port of its number; the faces of a router have
/// the numbers of its neighbours, an application has 9.
struct Net {
    brain: Brain,
    scheme: Scheme,
}

const LINKS: [(usize, &[u64]); 4] = [(0, &[1, 2]), (1, &[0, 3]), (2, &[0, 3]), (3, &[1, 2])];

fn mirror(router: usize, prefix: &str) -> Mirror {
    let mut mirror = Mirror::default();
    let element = vec![TypedValue { value: Some(text_value(&format!("udp4://h:{router}"))) }];
    mirror.take(&notification("/ndn/router/state", &[("listen", V::LeaflistVal(ScalarArray { element }))]));
    for face in LINKS[router].1 {
        let uri = text_value(&format!("udp4://h:{face}"));
        let leaves = [("remote-uri", uri), ("oper-status", text_value("UP")), ("rate", V::UintVal(10_000_000))];
        mirror.take(&notification(&format!("/ndn/faces/face[{face}]/state"), &leaves));
    }
    let prefix = prefix.replace('/', "|");
    let hops: &[(u64, u64)] = match router {
        0 => &[(1, 0), (2, 5)],
        3 => &[(9, 0)],
        _ => &[(3, 0)],
    };
    for (face, cost) in hops {
        let place = format!("/ndn/fib/entry[{prefix}]/next-hop[{face}]/state");
        mirror.take(&notification(&place, &[("cost", V::UintVal(*cost)), ("route-cost", V::UintVal(*cost))]));
    }
    mirror
}

impl Net {
    /// All routers report; the producer's own prefix is `produced`.
    fn new(produced: &str) -> Net {
        let scheme = Scheme::named("ndnsieve").unwrap();
        let brain = Brain::new(&scheme, 4, Duration::from_millis(3 * PERIOD), 1);
        let mut net = Net { brain, scheme };
        net.brain.elect(&net.scheme, 7);
        for router in 0..4 {
            let prefix = if router == 3 { produced } else { "/t" };
            assert_eq!(net.brain.connected(at(0), router, Some(mirror(router, prefix))), []);
        }
        assert_eq!(net.brain.tick(at(100)), [], "links that came at once are announced together");
        net
    }

    /// All interfaces report; that of `busy` is nearly full.
    fn report(&mut self, ms: u64, busy: (usize, u64)) -> Vec<Costs> {
        let mut orders = Vec::new();
        for (router, faces) in LINKS {
            for face in faces {
                let used = if (router, *face) == busy { 0.95 } else { 0.1 };
                let leaves = [("utilization", V::DoubleVal(used)), ("occupancy", V::DoubleVal(0.2))];
                let reported = notification(&format!("/ndn/faces/face[{face}]/state"), &leaves);
                orders.extend(self.brain.notified(at(ms), router, &reported));
            }
        }
        orders
    }

    fn signal(&mut self, ms: u64, (router, face): (usize, u64), count: u64) -> Vec<Costs> {
        let reported = notification(&format!("/ndn/faces/face[{face}]/state"), &[("signals", V::UintVal(count))]);
        self.brain.notified(at(ms), router, &reported)
    }

    fn costs(orders: &[Costs]) -> Vec<(usize, String, Vec<u64>)> {
        let ranked = |costs: &Costs| {
            let mut faces: Vec<u64> = costs.costs.keys().copied().collect();
            faces.sort_by_key(|face| costs.costs[face]);
            (costs.router, costs.prefix.to_string(), faces)
        };
        orders.iter().map(ranked).collect()
    }
}

#[test]
fn a_signal_of_a_mildly_congested_link_leads_the_prefix_around_it() {
    let mut net = Net::new("/t");
    assert_eq!(net.brain.links(at(0)).len(), 8);
    net.report(1500, (3, 1));
    let orders = net.signal(1600, (3, 1), 1);
    assert_eq!(Net::costs(&orders), [(0, "/t".into(), vec![2, 1])]);
    assert_eq!(net.brain.accepted(at(1610), &orders[0], 0), []);
    let decision = net.brain.decisions().next_back().unwrap();
    assert!(decision.reason.contains("0.950") && decision.costs.len() == 2, "{decision:?}");
    assert_eq!(net.brain.tally().switches, 1);
}

#[test]
fn a_producer_of_a_longer_prefix_is_one_of_the_shorter() {
    let mut net = Net::new("/t/x/y");
    net.report(1500, (3, 1));
    let orders = net.signal(1600, (3, 1), 1);
    assert_eq!(Net::costs(&orders), [(0, "/t".into(), vec![2, 1])]);
    assert_eq!(net.brain.prefixes(), 1, "for /t/x/y there is nothing to choose");
}

#[test]
fn a_router_that_is_silent_for_three_periods_is_left_out_until_it_is_reporting() {
    let mut net = Net::new("/t");
    net.report(1500, (3, 1));
    for router in [0, 1, 3] {
        // Router 2 says nothing any more.
        for ms in [2000, 2500, 3000, 3500] {
            net.brain.notified(at(ms), router, &notification("/ndn/faces/face[9]/state", &[]));
        }
    }
    net.brain.tick(at(3500));
    assert!(!net.brain.is_reporting(at(3500), 2) && net.brain.is_reporting(at(3500), 1));
    let up = net.brain.links(at(3500)).iter().filter(|link| link.up).count();
    assert_eq!(up, 4, "those between 0, 1 and 3");
    assert_eq!(net.signal(3600, (3, 1), 1), [], "the only way around is unknown");
    net.report(3700, (3, 1));
    assert_eq!(net.brain.links(at(3700)).iter().filter(|link| link.up).count(), 8);
    net.report(4700, (3, 1));
    let orders = net.signal(4800, (3, 1), 2);
    assert_eq!(Net::costs(&orders), [(0, "/t".into(), vec![2, 1])], "a second after the topology changed");
}

#[test]
fn after_an_election_nothing_is_rewritten_that_is_in_force_already() {
    let mut net = Net::new("/t");
    net.brain.elect(&net.scheme.clone(), 8);
    assert_eq!(net.brain.announce_all(at(5000)), []);
    assert_eq!(net.brain.connected(at(5100), 0, None), []);
    assert_eq!(net.brain.connected(at(5200), 0, Some(mirror(0, "/t"))), []);
}

#[test]
fn a_refused_order_is_given_again_after_a_period() {
    let mut net = Net::new("/t");
    net.report(1500, (3, 1));
    let orders = net.signal(1600, (3, 1), 1);
    assert_eq!(orders.len(), 1);
    net.brain.rejected(at(1610), &orders[0]);
    assert_eq!(Net::costs(&net.brain.tick(at(2200))), [(0, "/t".into(), vec![2, 1])], "it is given once more");
}

#[test]
fn names_of_one_node_are_no_prefixes_of_a_network() {
    let mut net = Net::new("/t");
    for name in ["|localhost|nfd", "|localhop|x"] {
        let place = format!("/ndn/fib/entry[{name}]");
        let hops = [("next-hop[1]/state/cost", V::UintVal(1)), ("next-hop[2]/state/cost", V::UintVal(2))];
        net.brain.notified(at(10), 0, &notification(&place, &hops));
    }
    assert_eq!(net.brain.prefixes(), 1);
}

/// What a router reports of its next hops of /t, read at `read`.
fn in_force(read: i64, costs: [u64; 2]) -> Notification {
    let leaves = [("next-hop[1]/state/cost", V::UintVal(costs[0])), ("next-hop[2]/state/cost", V::UintVal(costs[1]))];
    Notification { timestamp: read, ..notification("/ndn/fib/entry[|t]", &leaves) }
}

#[test]
fn costs_that_were_read_before_an_order_was_carried_out_are_not_taken_for_those_in_force() {
    let mut net = Net::new("/t");
    net.report(1500, (3, 1));
    let order = net.signal(1600, (3, 1), 1).remove(0);
    net.brain.accepted(at(1610), &order, 1000);
    net.brain.notified(at(1620), 0, &in_force(999, [0, 5]));
    let hops = |net: &Net| net.brain.routers[0].in_force[&PrefixId(0)].clone();
    let by_cost = |net: &Net| hops(net).iter().map(|hop| net.brain.routers[0].face(hop.face)).collect::<Vec<_>>();
    assert_eq!(by_cost(&net), [Some(2), Some(1)], "as ordered");
    net.brain.notified(at(1630), 0, &in_force(1001, [0, 5]));
    assert_eq!(by_cost(&net), [Some(1), Some(2)], "somebody else has set them since");
}
