//! Several strategies in one node: which Interests each gets, and what happens to them when it changes.

use crate::common::*;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, FlowId, NameId, PrefixId};
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::registry::AnyShaper;
use ndnweir_core::registry::StrategyParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::shaper::{Admission, ShapeEvent, Shaper};
use ndnweir_node::{Custom, Node, StrategyChoiceId, StrategyError};
use serde_json::{Value, json};

const I: Kind = Kind::Interest;
const D: Kind = Kind::Data;
const N: Kind = Kind::Nack;

fn part(value: Value) -> ComponentChoice<StrategyParams> {
    serde_json::from_value(value).unwrap()
}

fn plain(name: &str) -> ComponentChoice<StrategyParams> {
    ComponentChoice::plain(name).unwrap()
}

/// The packet under another name.
fn of(flow: u32, packet: Packet) -> Packet {
    Packet { name: NameId { flow: FlowId(flow), ..packet.name }, ..packet }
}

/// Flows 0 to 3 go to face 1, else to face 2, by best-route.
fn node() -> Node {
    let mut node = router(&Setup::default());
    for flow in 1..4 {
        node.bind_flow(FlowId(flow), Some(PrefixId(0)));
    }
    node
}

fn chosen(node: &mut Node, flow: u32, strategy: Value) -> StrategyChoiceId {
    let choice = node.choose(ms(0), &part(strategy), true).unwrap();
    node.assign_strategy(FlowId(flow), choice);
    choice
}

#[test]
fn each_name_has_its_own_strategy_and_the_others_the_first() {
    let mut node = node();
    chosen(&mut node, 1, json!({ "name": "multicast" }));
    assert_eq!(summary(&give(&mut node, ms(1), 0, interest(1, 1))), [(1, I)]);
    assert_eq!(summary(&give(&mut node, ms(1), 0, of(1, interest(1, 2)))), [(1, I), (2, I)]);
    assert_eq!(summary(&give(&mut node, ms(1), 0, of(2, interest(1, 3)))), [(1, I)]);
    // Loops are rejected, but not by multicast.
    assert_eq!(summary(&give(&mut node, ms(2), 3, interest(1, 1))), [(3, N)]);
    assert_eq!(summary(&give(&mut node, ms(2), 3, of(1, interest(1, 2)))), []);
}

#[test]
fn a_removed_strategy_leaves_its_names_to_the_first_and_its_number_to_the_next() {
    let mut node = node();
    let choice = chosen(&mut node, 1, json!({ "name": "multicast" }));
    node.remove_strategy(choice);
    assert_eq!(summary(&give(&mut node, ms(1), 0, of(1, interest(1, 2)))), [(1, I)]);
    assert_eq!(node.choose(ms(2), &plain("asf"), true), Ok(choice));
    node.remove_strategy(StrategyChoiceId::ROOT);
    assert_eq!(summary(&give(&mut node, ms(3), 0, interest(9, 2))), [(1, I)], "the first stays");
}

#[test]
fn what_is_pending_is_transferred_to_the_new_strategy_when_it_is_requested_again() {
    let mut node = node();
    node.replace_strategy(ms(0), StrategyChoiceId::ROOT, &plain("multicast"), true).unwrap();
    assert_eq!(summary(&give(&mut node, ms(1), 0, interest(1, 1))), [(1, I), (2, I)]);
    node.replace_strategy(ms(2), StrategyChoiceId::ROOT, &plain("best-route"), true).unwrap();
    assert_eq!(summary(&give(&mut node, ms(3), 0, interest(2, 2))), [(1, I)], "new Interests at once");
    // Multicast suppresses what comes 2 ms after the first, and would send to both later; best-route sends to the one
    // used earliest.
    assert_eq!(summary(&give(&mut node, ms(500), 0, interest(1, 3))), [(1, I)]);
    let out = give(&mut node, ms(501), 2, data(1));
    assert_eq!(summary(&out), [(0, D)]);
    assert_eq!(node.counters().pending, 1);
}

/// One Interest in flight per next hop, the others wait.
fn one_at_a_time() -> Value {
    json!({ "name": "b-icp", "initial-window": 1.0 })
}

#[test]
fn what_a_strategy_holds_is_released_after_it_was_replaced() {
    let mut node = node();
    node.replace_strategy(ms(0), StrategyChoiceId::ROOT, &part(one_at_a_time()), true).unwrap();
    let sent: Vec<_> = (0..4).flat_map(|n| summary(&give(&mut node, ms(1), 0, interest(n, n + 1)))).collect();
    assert_eq!(sent, [(1, I), (2, I)], "two are held");
    node.replace_strategy(ms(2), StrategyChoiceId::ROOT, &plain("best-route"), true).unwrap();
    assert_eq!(summary(&give(&mut node, ms(3), 0, interest(7, 7))), [(1, I)], "the new one holds nothing");
    let mut out = summary(&give(&mut node, ms(10), 1, data(0)));
    out.sort_unstable_by_key(|&(face, _)| face);
    // 1 + 1/1 with nothing in flight: both that were held.
    assert_eq!(out, [(0, D), (1, I), (1, I)], "an answer opens the window of the former one");
    give(&mut node, ms(12), 2, data(1));
    let counters = node.counters();
    assert_eq!((counters.held_stale, counters.pending), (0, 3));
    for n in [2, 3, 7] {
        give(&mut node, ms(20), 1, data(n));
    }
    assert_eq!((node.counters().answered, node.counters().pending), (5, 0));
}

#[test]
fn a_held_interest_that_is_requested_again_leaves_once_by_the_new_strategy() {
    let mut node = node();
    node.replace_strategy(ms(0), StrategyChoiceId::ROOT, &part(one_at_a_time()), true).unwrap();
    (0..3).for_each(|n| drop(give(&mut node, ms(1), 0, interest(n, n + 1))));
    node.replace_strategy(ms(2), StrategyChoiceId::ROOT, &plain("best-route"), true).unwrap();
    assert_eq!(summary(&give(&mut node, ms(300), 0, interest(2, 9))), [(1, I)]);
    let out = give(&mut node, ms(310), 1, data(0));
    assert_eq!(summary(&out), [(0, D)], "what the former one releases now has already left");
    assert_eq!(node.counters().held_stale, 1);
}

#[test]
fn a_strategy_that_was_replaced_goes_with_its_last_interest_and_there_is_a_bound_until_then() {
    let mut node = node();
    for n in 0..127 {
        give(&mut node, ms(1), 0, interest(n, n + 1));
        let other = if n % 2 == 0 { "multicast" } else { "best-route" };
        node.replace_strategy(ms(1), StrategyChoiceId::ROOT, &plain(other), true).unwrap();
    }
    give(&mut node, ms(1), 0, interest(500, 500));
    let error = node.replace_strategy(ms(1), StrategyChoiceId::ROOT, &plain("asf"), true).unwrap_err();
    assert_eq!(error, StrategyError::TooMany);
    assert!(node.choose(ms(1), &plain("asf"), true).is_err());
    give(&mut node, ms(2), 1, data(77));
    node.replace_strategy(ms(3), StrategyChoiceId::ROOT, &plain("asf"), true).unwrap();
    assert!(node.choose(ms(3), &plain("asf"), true).is_err());
    wake(&mut node, ms(2000));
    assert_eq!(node.counters().pending, 0);
    node.choose(ms(2000), &plain("asf"), true).unwrap();
}

#[test]
fn choices_survive_a_crash_and_interests_of_before_do_not() {
    let mut node = node();
    let choice = chosen(&mut node, 1, json!({ "name": "multicast" }));
    give(&mut node, ms(1), 0, of(1, interest(1, 1)));
    node.replace_strategy(ms(2), choice, &plain("multicast"), false).unwrap();
    node.crash(ms(3));
    drain(&mut node);
    assert_eq!(summary(&give(&mut node, ms(4), 0, of(1, interest(1, 2)))), [(1, I), (2, I)]);
    assert_eq!(summary(&give(&mut node, ms(4), 0, interest(1, 3))), [(1, I)]);
}

/// Lets nothing pass.
struct Closed;

impl Shaper for Closed {
    fn admit(&mut self, _: &ShapeEvent<'_>, _: &mut Ctx<'_>) -> Admission {
        Admission::Reject(NackReason::Congestion)
    }
}

#[test]
fn interests_of_an_exempt_prefix_pass_a_shaper_that_lets_nothing_pass() {
    let mut node = node();
    for face in [1, 2] {
        node.install(ms(0), Custom::Shaper(FaceId(face), AnyShaper::Custom(Box::new(Closed))));
    }
    let choice = node.choose(ms(0), &plain("best-route"), false).unwrap();
    node.assign_strategy(FlowId(1), choice);
    assert_eq!(summary(&give(&mut node, ms(1), 0, interest(1, 1))), [(0, N)]);
    assert_eq!(summary(&give(&mut node, ms(1), 0, of(1, interest(1, 2)))), [(1, I)]);
    node.replace_strategy(ms(2), choice, &plain("best-route"), true).unwrap();
    assert_eq!(summary(&give(&mut node, ms(3), 0, of(1, interest(2, 3)))), [(0, N)]);
}

#[test]
fn a_strategy_that_needs_a_field_gets_it_while_traffic_flows() {
    let mut node = node();
    assert_eq!(node.layout().iter().count(), 0);
    give(&mut node, ms(1), 0, interest(1, 1));
    chosen(&mut node, 1, json!({ "name": "self-learning" }));
    assert_eq!(node.layout().iter().count(), 1);
    give(&mut node, ms(2), 0, of(1, interest(1, 2)));
    give(&mut node, ms(2), 3, interest(1, 4));
    assert_eq!(summary(&give(&mut node, ms(9), 1, data(1))), [(0, D), (3, D)]);
}

#[test]
fn the_choices_of_a_scheme_are_there_from_the_start() {
    let setup = Setup { scheme: json!({ "prefixes": { "/a": "multicast" } }), ..Setup::default() };
    let mut node = router(&setup);
    node.assign_strategy(FlowId(0), StrategyChoiceId::of_scheme(1));
    assert_eq!(summary(&give(&mut node, ms(1), 0, interest(1, 1))), [(1, I), (2, I)]);
}
