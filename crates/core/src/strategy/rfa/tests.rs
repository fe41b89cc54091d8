use super::*;
use crate::component::parse_params;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;
use crate::ids::NameId;
use crate::packet::Packet;
use crate::units::{Duration, Time};
use proptest::prelude::{any, prop, prop_assert, proptest};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const HOPS: [NextHop; 2] = [NextHop { face: FaceId(1), cost: 1 }, NextHop { face: FaceId(2), cost: 1 }];
const PREFIX: PrefixId = PrefixId(3);

/// The strategy of one node, with the calls a node makes.
struct Node {
    rfa: Rfa,
    rng: Rng,
    trace: Trace,
    now: Time,
}

fn node(params: Value) -> Node {
    let params = parse_params::<Rfa>(&params).unwrap();
    let rfa = Rfa::new(&params, &mut Env { layout: &mut FieldLayout::new() });
    Node { rfa, rng: Rng::derive(1, &[]), trace: Trace::default(), now: Time::ZERO }
}

fn greedy() -> Node {
    node(json!({ "mode": "greedy" }))
}

impl Node {
    fn record(&self, face: u16, nacked: Option<NackReason>) -> OutRecord {
        OutRecord { sent: self.now, nonce: 1, face: FaceId(face), nacked, sends: 1 }
    }

    fn interest(&mut self, arrival: Arrival, sent: &[OutRecord]) -> ForwardingDecision {
        self.interest_from(0, arrival, sent)
    }

    fn interest_from(&mut self, in_face: u16, arrival: Arrival, sent: &[OutRecord]) -> ForwardingDecision {
        let packet = Packet { lifetime_ms: 2000, ..Packet::default() };
        let (in_face, mut choice) = (FaceId(in_face), ForwardingDecision::default());
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        let note = &mut 0;
        let event = &mut InterestArrival {
            packet: &packet,
            in_face,
            prefix: PREFIX,
            hops: &HOPS,
            arrival,
            sent,
            reach: packet.lifetime(),
            note,
        };
        self.rfa.on_interest(event, &mut choice, &mut ctx);
        choice
    }

    /// Sends a new Interest and returns the face.
    fn send(&mut self) -> u16 {
        self.interest(Arrival::New, &[]).copies()[0].face.0
    }

    fn data(&mut self, sent: &[OutRecord]) {
        let packet = Packet::default();
        let face = sent[0].face;
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        let (hops, interest_fields) = (&HOPS, &packet.fields);
        let event =
            DataReturn { packet: &packet, face, prefix: PREFIX, hops, local: false, rtt: None, sent, interest_fields };
        self.rfa.on_data(&event, &mut ctx);
    }

    fn nack(&mut self, sent: &[OutRecord]) -> ForwardingDecision {
        let (packet, mut choice) = (Packet::default(), ForwardingDecision::default());
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        let (face, prefix, hops, note) = (sent[0].face, PREFIX, &HOPS, &mut 0);
        let event = &mut NackReturn { packet: &packet, face, prefix, hops, sent, downstreams: &[], note };
        self.rfa.on_nack(event, &mut choice, &mut ctx);
        choice
    }

    fn timeout(&mut self, sent: &[OutRecord]) {
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        self.rfa.on_timeout(&TimeoutEvent { name: NameId::default(), prefix: PREFIX, hops: &HOPS, sent }, &mut ctx);
    }

    fn pending(&self) -> Vec<u32> {
        self.rfa.loads.get(&PREFIX).map_or(Vec::new(), |loads| loads.iter().map(|load| load.pending).collect())
    }

    fn shares(&self) -> Vec<f64> {
        let mut out = Vec::new();
        self.rfa.shares(PREFIX, &HOPS, &mut out);
        out
    }
}

// Scores: both unused 0.5 → 1; PI 1,-: 0.5 = 0.5 → 1; PI 2,-: 1/3 < 0.5 → 2; PI 2,1: 1/3 < 1/2 → 2; 2,2 → 1; 3,2 → 2.
#[test]
fn greedy_takes_the_face_with_fewest_pending_and_the_first_among_equals() {
    let mut node = greedy();
    let faces: Vec<u16> = (0..6).map(|_| node.send()).collect();
    assert_eq!(faces, [1, 1, 2, 2, 1, 2]);
    assert_eq!(node.pending(), [3, 3]);
    assert!(node.shares().is_empty(), "greedy does not split by shares");
}

// By hand: mean = 0.9·0 + 0.1·1 = 0.1 after one, 0.9·0.1 + 0.1·2 = 0.29 after two, so weights 1/0.29 and 1:
// share of face 1 is (1/0.29)/(1/0.29 + 1) = 1/1.29 = 0.775194. After the two answers: 0.361, 0.3249.
#[test]
fn the_mean_moves_by_a_tenth_per_event_and_shares_are_its_inverse() {
    let mut node = greedy();
    node.rfa.params.mode = Mode::Greedy;
    node.send();
    node.send();
    node.rfa.params.mode = Mode::Probabilistic;
    assert!((node.shares()[0] - 0.775_194).abs() < 1e-6);
    let record = node.record(1, None);
    node.data(&[record]);
    node.data(&[record]);
    assert!((node.rfa.loads[&PREFIX][0].mean - 0.3249).abs() < 1e-12);
    assert_eq!(node.pending(), [0, 0]);
}

#[test]
fn pending_interests_end_once_with_data_nack_or_timeout() {
    let mut node = greedy();
    (0..6).for_each(|_| _ = node.send());
    let (one, two) = (node.record(1, None), node.record(2, None));
    node.data(&[one, two]);
    assert_eq!(node.pending(), [2, 2], "the Data answers both records of its entry");
    let rejected = node.record(1, Some(NackReason::Congestion));
    assert_eq!(node.nack(&[rejected]).rejection(), Some(NackReason::Congestion));
    assert_eq!(node.nack(&[rejected, two]).rejection(), None, "the other upstream may still answer");
    assert_eq!(node.pending(), [0, 2]);
    node.timeout(&[rejected, two]);
    node.timeout(&[two]);
    node.timeout(&[two]);
    assert_eq!(node.pending(), [0, 0]);
}

#[test]
fn a_retransmission_is_held_while_one_is_pending_unless_configured_to_forward() {
    let mut node = greedy();
    node.send();
    let record = node.record(1, None);
    for arrival in [Arrival::Retransmission, Arrival::Joining] {
        assert!(node.interest(arrival, &[record]).copies().is_empty());
    }
    node.now += Duration::from_millis(2001);
    assert_eq!(node.interest(Arrival::Retransmission, &[record]).copies().len(), 1, "its lifetime is over");

    let mut eager = node_forwarding();
    eager.send();
    let record = eager.record(1, None);
    assert_eq!(eager.interest(Arrival::Retransmission, &[record]).copies()[0].face, FaceId(1));
    assert_eq!(eager.pending(), [1, 0], "the Interest is still sent once to the same face");
    assert!(eager.interest(Arrival::Joining, &[record]).copies().is_empty());
}

fn node_forwarding() -> Node {
    node(json!({ "mode": "greedy", "retransmissions": "forward" }))
}

#[test]
fn the_face_an_interest_came_from_is_not_a_next_hop_and_no_next_hop_is_a_nack() {
    let mut node = node(json!({}));
    (0..50).for_each(|_| assert_eq!(node.interest_from(1, Arrival::New, &[]).copies()[0].face, FaceId(2)));
    let packet = Packet::default();
    let (mut choice, hops, note) = (ForwardingDecision::default(), &HOPS[..1], &mut 0);
    let mut ctx = Ctx { now: node.now, rng: &mut node.rng, trace: &mut node.trace };
    let (in_face, prefix, arrival) = (FaceId(1), PREFIX, Arrival::New);
    let event = &mut InterestArrival {
        packet: &packet,
        in_face,
        prefix,
        hops,
        arrival,
        sent: &[],
        reach: Duration::ZERO,
        note,
    };
    node.rfa.on_interest(event, &mut choice, &mut ctx);
    assert_eq!(choice.rejection(), Some(NackReason::NoRoute));
}

#[test]
fn a_change_of_the_fib_keeps_the_state_of_the_hops_that_stay() {
    let mut node = greedy();
    (0..4).for_each(|_| _ = node.send());
    let mut ctx = Ctx { now: node.now, rng: &mut node.rng, trace: &mut node.trace };
    let hops = [HOPS[1], NextHop { face: FaceId(7), cost: 1 }];
    node.rfa.on_next_hops(PREFIX, &hops, &mut ctx);
    assert_eq!(node.pending(), [2]);
    node.rfa.on_next_hops(PREFIX, &[], &mut Ctx { now: node.now, rng: &mut node.rng, trace: &mut node.trace });
    assert!(node.rfa.loads.is_empty());
}

/// Two paths with `rtts` in ms, each taking `services_us` per Data (0: no bottleneck). With `window` the next Interest
/// follows each Data, otherwise one is sent each ms. Interests per path in the second half, and the mean PI at the end.
fn split(rtts: [u64; 2], services_us: [u64; 2], window: Option<usize>) -> ([f64; 2], [f64; 2]) {
    let mut node = node(json!({}));
    let mut answers = BinaryHeap::new();
    let mut free = [Time::ZERO; 2];
    let mut counts = [0.0; 2];
    let total = 60_000;
    let mut send = |node: &mut Node, answers: &mut BinaryHeap<_>| {
        let path = usize::from(node.send()) - 1;
        let at =
            (node.now + Duration::from_millis(rtts[path])).max(free[path] + Duration::from_micros(services_us[path]));
        free[path] = at;
        answers.push(Reverse((at, path)));
        path
    };
    for _ in 0..window.unwrap_or(0) {
        send(&mut node, &mut answers);
    }
    for sent in 0..total {
        let until = if window.is_none() { Time::ZERO + Duration::from_millis(sent) } else { Time::NEVER };
        while let Some(&Reverse((at, path))) = answers.peek().filter(|answer| answer.0.0 <= until) {
            answers.pop();
            node.now = node.now.max(at);
            let record = node.record(path as u16 + 1, None);
            node.data(&[record]);
            if window.is_some() {
                break;
            }
        }
        if window.is_none() {
            node.now = until;
        }
        counts[send(&mut node, &mut answers)] += f64::from(u8::from(sent > total / 2));
    }
    (counts, [1, 2].map(|face| node.rfa.loads[&PREFIX].iter().find(|load| load.face == FaceId(face)).unwrap().mean))
}

// PI = rate · RTT and rate ∝ 1/PI give rate ∝ RTT^(−1/2): 10 and 40 ms split 2:1, 90 and 40 ms 2:3.
#[test]
fn below_saturation_rates_split_by_the_inverse_root_of_the_rtt() {
    for (rtts, expected) in [([10, 40], 2.0), ([90, 40], 2.0 / 3.0), ([30, 30], 1.0)] {
        let ([one, two], _) = split(rtts, [0, 0], None);
        assert!((one / two / expected - 1.0).abs() < 0.1, "{rtts:?}: {}", one / two);
    }
}

// 10 and 5 Mbit/s with 1250 B per Data: 1 and 2 ms each; a window of 120 over 20 ms paths keeps both busy. The rates
// are then 2:1 and, as they are in proportion to 1/PI, the Interests pending 1:2 (40 and 80).
#[test]
fn saturated_paths_of_10_and_5_mbps_split_2_to_1_with_interests_pending_1_to_2() {
    let ([one, two], means) = split([20, 20], [1000, 2000], Some(120));
    assert!((one / two / 2.0 - 1.0).abs() < 0.05, "{}", one / two);
    assert!((means[0] - 40.0).abs() < 12.0 && (means[1] - 80.0).abs() < 12.0, "{means:?}");
}

#[test]
fn the_share_of_a_silent_path_only_falls() {
    let mut node = node(json!({}));
    let mut last = 1.0;
    for _ in 0..2000 {
        let face = node.send();
        if face == 2 {
            // Only Interests into the silence move its mean; the other path's answers move the other's.
            let weight = node.rfa.loads[&PREFIX][1].weight;
            assert!(node.pending()[1] <= 1 || weight < last);
            last = weight;
        } else {
            let record = node.record(1, None);
            node.data(&[record]);
        }
    }
    assert!(node.shares()[1] < 0.1);
}

#[test]
fn every_parameter_has_an_effect() {
    let outcome = |params: Value| {
        let mut node = node(params);
        let mut seen = Vec::new();
        let mut records = Vec::new();
        for i in 0..400 {
            let face = node.send();
            records.push(node.record(face, None));
            if i % 40 > 20 {
                records.drain(..).for_each(|record| node.data(&[record]));
            }
            let again = node.interest(Arrival::Retransmission, &[node.record(1, None)]);
            seen.push((face, again.copies().len(), node.shares()));
        }
        for _ in 0..200 {
            let record = node.record(1, None);
            node.data(&[record]);
        }
        (seen, node.shares())
    };
    let plain = outcome(json!({}));
    for params in [
        json!({ "mode": "greedy" }),
        json!({ "retransmissions": "forward" }),
        json!({ "smoothing": 0.5 }),
        json!({ "idle-below": 0.2 }),
        json!({ "idle-mean": 1.0 }),
    ] {
        assert!(outcome(params.clone()) != plain, "{params}");
    }
}

proptest! {
    #[test]
    fn nothing_that_happens_makes_the_strategy_panic_or_grow(
        steps in prop::collection::vec(any::<(u8, u8, u8, u64)>(), 1..300), is_greedy in any::<bool>(),
    ) {
        let mut node = if is_greedy { greedy() } else { node(json!({})) };
        for (what, one, two, wait) in steps {
            node.now += Duration::from_nanos(wait >> 14);
            let nacked = (one > 128).then_some(NackReason::Congestion);
            let sent = [node.record(u16::from(one % 5), nacked), node.record(u16::from(two % 5), None)];
            match what % 6 {
                0 => node.data(&sent),
                1 => _ = node.nack(&sent),
                2 => node.timeout(&sent),
                3 => _ = node.interest(Arrival::Retransmission, &sent),
                _ => _ = node.interest_from(u16::from(two % 3), Arrival::New, &[]),
            }
            prop_assert!(node.rfa.loads.values().all(|loads| loads.len() <= 2));
            let shares = node.shares();
            prop_assert!(shares.is_empty() || (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        node.now += Duration::from_millis(864_000_000);
        prop_assert!(node.interest(Arrival::New, &[]).copies().len() == 1);
    }
}
