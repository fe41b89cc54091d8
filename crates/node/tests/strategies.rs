//! What the node does for its strategy: new next hops, loops, shapers that reject, copies that come late.

use crate::common::*;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::registry::{AnyShaper, AnyStrategy};
use ndnweir_core::shaper::{Admission, ShapeEvent, Shaper};
use ndnweir_core::strategy::{ForwardingDecision, InterestArrival, Strategy};
use ndnweir_core::units::Time;
use ndnweir_node::{Custom, Node};
use serde_json::json;
use std::sync::{Arc, Mutex};

const I: Kind = Kind::Interest;
const N: Kind = Kind::Nack;

fn with(strategy: &str) -> Node {
    router(&Setup { scheme: json!({ "strategy": strategy }), ..Setup::default() })
}

/// Lets nothing pass.
struct Closed;

impl Shaper for Closed {
    fn admit(&mut self, _: &ShapeEvent<'_>, _: &mut Ctx<'_>) -> Admission {
        Admission::Reject(NackReason::Congestion)
    }
}

fn close(node: &mut Node, face: u16) {
    node.install(ms(0), Custom::Shaper(FaceId(face), AnyShaper::Custom(Box::new(Closed))));
}

#[test]
fn a_new_next_hop_gets_what_is_pending_from_multicast_with_its_nonce_and_lifetime() {
    let mut node = with("multicast");
    give(&mut node, ms(0), 0, interest(1, 11));
    give(&mut node, ms(1), 3, interest(2, 12));
    node.set_route(ms(5), PrefixId(0), &[hop(1, 1), hop(3, 1)]);
    let out = drain(&mut node);
    // What face 3 itself requests does not go back there.
    assert_eq!(summary(&out), [(3, I)]);
    let sent = out[0].packet;
    assert_eq!((sent.name, sent.nonce, sent.size, sent.lifetime_ms), (name(1), 11, 50, 1000));
    node.set_route(ms(6), PrefixId(0), &[hop(1, 2), hop(3, 1)]);
    assert!(drain(&mut node).is_empty(), "3 is not new any more");
    check(&mut node, ms(6));
}

#[test]
fn other_strategies_keep_what_is_pending_where_it_is() {
    let mut node = with("best-route");
    give(&mut node, ms(0), 0, interest(1, 11));
    node.set_route(ms(5), PrefixId(0), &[hop(3, 1)]);
    assert!(drain(&mut node).is_empty());
}

#[test]
fn a_looping_interest_gets_a_duplicate_nack_but_not_from_multicast() {
    for (strategy, answers) in [("best-route", vec![(2, N)]), ("multicast", vec![])] {
        let mut node = with(strategy);
        give(&mut node, ms(0), 0, interest(1, 11));
        assert_eq!(summary(&give(&mut node, ms(1), 2, interest(1, 11))), answers, "{strategy}");
    }
}

/// Sends to face 1, or else to those listed; probes face 3; records its notifications.
struct Listed(&'static [u16], bool, Arc<Mutex<Vec<String>>>);

impl Strategy for Listed {
    fn on_interest(&mut self, _: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, _: &mut Ctx<'_>) {
        choice.send(FaceId(1));
        self.0.iter().for_each(|face| choice.fallback(FaceId(*face)));
        if self.1 {
            choice.probe(FaceId(3));
        }
    }
    fn on_rejection(&mut self, _: &Packet, _: PrefixId, face: FaceId, _: &mut Ctx<'_>) {
        self.2.lock().unwrap().push(format!("rejected by {}", face.0));
    }
    fn on_late(&mut self, packet: &Packet, face: FaceId, _: PrefixId, _: &mut Ctx<'_>) {
        self.2.lock().unwrap().push(format!("late {:?} from {}", packet.kind, face.0));
    }
    fn on_face(&mut self, face: FaceId, local: bool, up: bool) {
        self.2.lock().unwrap().push(format!("face {} local {local} up {up}", face.0));
    }
}

fn listed(others: &'static [u16], probe: bool) -> (Node, Arc<Mutex<Vec<String>>>) {
    let (mut node, log) = (router(&Setup::default()), Arc::default());
    let strategy = Listed(others, probe, Arc::clone(&log));
    node.install(ms(0), Custom::Strategy(AnyStrategy::Custom(Box::new(strategy))));
    (node, log)
}

#[test]
fn when_the_chosen_shaper_rejects_the_faces_named_are_tried_in_their_order() {
    let (mut node, log) = listed(&[3, 2], false);
    log.lock().unwrap().clear();
    close(&mut node, 1);
    assert_eq!(summary(&give(&mut node, ms(0), 0, interest(1, 1))), [(3, I)]);
    close(&mut node, 3);
    assert_eq!(summary(&give(&mut node, ms(1), 0, interest(2, 2))), [(2, I)]);
    close(&mut node, 2);
    let out = give(&mut node, ms(2), 0, interest(3, 3));
    assert_eq!((summary(&out), out[0].packet.reason), (vec![(0, N)], NackReason::Congestion));
    let told = ["rejected by 1", "rejected by 1", "rejected by 3", "rejected by 1", "rejected by 3", "rejected by 2"];
    assert_eq!(*log.lock().unwrap(), told);
}

#[test]
fn an_interest_that_was_rejected_takes_the_face_that_its_probe_would_have_taken() {
    let (mut node, _) = listed(&[3, 2], true);
    close(&mut node, 1);
    let out = give(&mut node, ms(0), 0, interest(1, 1));
    assert_eq!((summary(&out), out[0].packet.nonce), (vec![(3, I)], 1));
}

#[test]
fn a_probe_that_is_rejected_causes_no_nack() {
    let (mut node, _) = listed(&[], true);
    close(&mut node, 3);
    assert_eq!(summary(&give(&mut node, ms(0), 0, interest(1, 1))), [(1, I)]);
}

#[test]
fn the_strategy_is_notified_of_faces_and_of_answers_to_what_is_no_longer_pending() {
    let (mut node, log) = listed(&[], true);
    let faces: Vec<String> = (0..4).map(|face| format!("face {face} local false up true")).collect();
    assert_eq!(std::mem::take(&mut *log.lock().unwrap()), faces);
    give(&mut node, ms(0), 0, interest(1, 1));
    give(&mut node, ms(10), 1, data(1));
    give(&mut node, ms(15), 3, data(1));
    give(&mut node, ms(16), 3, nack(1, 9, NackReason::NoRoute));
    node.set_up(ms(20), FaceId(2), false);
    let told = ["late Data from 3", "late Nack from 3", "face 2 local false up false"];
    assert_eq!(*log.lock().unwrap(), told);
}

#[test]
fn an_interest_that_is_retried_after_a_nack_has_its_lifetime_although_nacks_carry_none() {
    let scheme = json!({ "strategy": { "name": "stateful-forwarding", "probing": 0.0 } });
    let mut node = router(&Setup { scheme, ..Setup::default() });
    give(&mut node, ms(0), 0, interest(1, 11));
    let rejected = Packet { lifetime_ms: 0, ..nack(1, 11, NackReason::Congestion) };
    let out = give(&mut node, ms(10), 1, rejected);
    assert_eq!((summary(&out), out[0].packet.lifetime_ms), (vec![(2, I)], 1000));
}

#[test]
fn stateful_forwarding_sends_again_what_a_silent_face_does_not_answer() {
    let scheme = json!({ "strategy": { "name": "stateful-forwarding", "probing": 0.0 } });
    let mut node = router(&Setup { scheme, ..Setup::default() });
    let first = Packet { lifetime_ms: 4000, ..interest(1, 11) };
    assert_eq!(summary(&give(&mut node, ms(0), 0, first)), [(1, I)]);
    assert!(wake(&mut node, ms(999)).is_empty());
    let out = wake(&mut node, ms(1000));
    assert_eq!((summary(&out), out[0].packet.nonce), (vec![(2, I)], 11));
    assert_eq!(summary(&give(&mut node, ms(1040), 2, data(1))), [(0, Kind::Data)]);
    assert!(wake(&mut node, Time::ZERO + ndnweir_core::units::Duration::from_millis(9000)).is_empty());
}
