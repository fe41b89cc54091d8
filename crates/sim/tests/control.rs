//! The control channel under ndnSieve: delay, loss, a controller that fails, its stand-by, and links that fail.

use crate::common;
use crate::common::Recorder;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::bench::{consumer, link, producer};
use ndnweir_sim::network::{Change, Control, Network, NodeKind, Routes, Traffic};
use ndnweir_sim::{Outcome, RunOptions};

/// Switches within [from, to) seconds.
fn switches(recorder: &Recorder, from: f64, to: f64) -> usize {
    recorder.switches.iter().filter(|(at, _)| (from..to).contains(&at.secs())).count()
}

/// Data per second within [from, to) seconds, and by how many paths they came.
fn data(recorder: &Recorder, from: f64, to: f64) -> (f64, usize) {
    let all: Vec<_> = recorder.deliveries.iter().filter(|d| (from..to).contains(&d.at.secs())).collect();
    let mut paths: Vec<u32> = all.iter().map(|d| d.path.0).collect();
    paths.sort_unstable();
    paths.dedup();
    (all.len() as f64 / (to - from), paths.len())
}

fn s(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// Consumer 0 – router 1 – {2, 3} – producers {4, 5} of one prefix: two equal paths, all 10 Mbit/s, 10 ms.
fn two_paths(control: Control) -> Network {
    let ends = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 5)];
    let mut network = Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 6],
        links: ends.iter().map(|&(a, b)| link(a, b, Rate::from_mbps(10.0), Duration::from_millis(10), 500)).collect(),
        prefixes: 1,
        producers: vec![producer(4, 0), producer(5, 0)],
        consumers: vec![consumer(0, 0, Traffic::Fetch { segments: None, consumer: None })],
        duration: Duration::from_millis(12_000),
        control,
        ..Network::default()
    };
    network.routing.routes = Routes::LoopFree;
    network
}

fn simulate(network: &Network) -> (Outcome, Recorder) {
    let options = RunOptions { trace: true, ..RunOptions::full() };
    let (outcome, recorder) = common::simulate(network, &Scheme::named("ndnsieve-calibrated").unwrap(), options);
    assert_eq!(outcome.nodes.iter().map(|node| node.loops).sum::<u64>(), 0, "no Interest went in a circle");
    (outcome, recorder)
}

#[test]
fn traffic_moves_between_two_paths_by_the_controllers_costs() {
    let (outcome, recorder) = simulate(&two_paths(Control::default()));
    let control = outcome.control.unwrap();
    assert!(recorder.switches.iter().all(|&(_, router)| router == 1), "router 1 alone has a choice");
    assert!(switches(&recorder, 0.0, 12.0) >= 2 && data(&recorder, 0.0, 12.0).1 == 2, "{control:?}");
    let tally = control.tally;
    let judged = tally.sieved + tally.unknown + tally.without_shunt + tally.not_better + tally.held + tally.acted;
    assert_eq!((control.messages_lost, control.orders_lost, control.orders_rejected), (0, 0, 0));
    assert_eq!(tally.signals, judged, "every signal that arrived is accounted for");
    assert!(control.signals - tally.signals <= 6, "those of the last 10 ms are still in transit");
}

/// 10 Mbit/s are 1250 Data of 1000 B per second; the benchmark's producers send Data of about that size.
#[test]
fn while_the_controller_is_down_forwarding_continues_with_the_last_costs() {
    let gone = Control { fails: Some(s(4.2)), ..Control::default() };
    let (_, recorder) = simulate(&two_paths(gone));
    let (before, _) = data(&recorder, 2.0, 4.0);
    assert!(switches(&recorder, 0.0, 4.2) >= 2 && switches(&recorder, 4.2, 12.0) == 0);
    // What was requested before the last order took effect is there within half a second.
    let (after, paths) = data(&recorder, 5.0, 12.0);
    assert!(after > 0.95 * before && paths == 1, "{before} Data/s before, {after} after, over {paths} paths");
}

#[test]
fn a_stand_by_takes_over_without_a_restart_and_the_old_controller_is_not_obeyed_when_it_returns() {
    let control = Control { fails: Some(s(3.2)), stand_by: Some(s(6.0)), returns: Some(s(8.0)), ..Control::default() };
    let (outcome, recorder) = simulate(&two_paths(control));
    assert!(switches(&recorder, 0.0, 3.2) >= 2 && switches(&recorder, 3.2, 6.0) == 0);
    assert!(switches(&recorder, 6.0, 8.0) >= 1, "the stand-by leads traffic again");
    assert_eq!(outcome.control.unwrap().orders_rejected, 0, "it learns of the election before it orders anything");
    // Without a stand-by, the same controller is obeyed when it returns.
    let control = Control { fails: Some(s(3.2)), returns: Some(s(8.0)), ..Control::default() };
    let (outcome, recorder) = simulate(&two_paths(control));
    assert!(switches(&recorder, 3.2, 8.0) == 0 && switches(&recorder, 8.0, 12.0) >= 1);
    assert_eq!(outcome.control.unwrap().orders_rejected, 0);
}

/// Nothing has been switched when both take their seats, so that the old one learns of no election before its first
/// order.
#[test]
fn routers_reject_the_orders_of_a_controller_that_was_voted_out() {
    let at = Some(s(1.0));
    let control = Control { fails: Some(s(0.1)), stand_by: at, returns: at, ..Control::default() };
    let (outcome, recorder) = simulate(&two_paths(control));
    let counters = outcome.control.unwrap();
    assert!((1..=2).contains(&counters.orders_rejected), "{counters:?}");
    assert!(switches(&recorder, 2.0, 12.0) >= 2);
}

#[test]
fn lost_messages_delay_decisions_but_break_nothing() {
    let (outcome, recorder) = simulate(&two_paths(Control { loss: 0.4, ..Control::default() }));
    let control = outcome.control.unwrap();
    let share = control.messages_lost as f64 / control.messages as f64;
    assert!((share - 0.4).abs() < 0.06 && control.orders_lost > 0, "{control:?}");
    assert!(switches(&recorder, 0.0, 12.0) >= 2);
    let (outcome, recorder) = simulate(&two_paths(Control { loss: 1.0, ..Control::default() }));
    assert_eq!((outcome.control.unwrap().tally.signals, switches(&recorder, 0.0, 12.0)), (0, 0));
}

#[test]
fn messages_take_the_channels_delay_both_ways() {
    let first = |delay| simulate(&two_paths(Control { delay, ..Control::default() })).1.switches[0].0;
    let (none, slow) = (first(Duration::ZERO), first(Duration::from_millis(30)));
    assert_eq!(slow.since(none), Duration::from_millis(30), "a signal arrives this much later");
}

#[test]
fn a_link_that_fails_and_returns_is_followed_without_loops() {
    let mut network = two_paths(Control::default());
    network.changes = vec![(s(4.0), Change::LinkDown { link: 1 }), (s(7.0), Change::LinkUp { link: 1 })];
    let (_, recorder) = simulate(&network);
    assert_eq!(data(&recorder, 5.0, 7.0).1, 1, "over the other path only");
    assert_eq!(switches(&recorder, 4.0, 7.0), 0, "with one path left there is nothing to switch");
    assert!(switches(&recorder, 8.0, 12.0) >= 1 && data(&recorder, 8.0, 12.0).1 == 2, "and both again when it is back");
}

#[test]
fn a_run_with_losses_and_failures_repeats_exactly() {
    let control = Control { loss: 0.2, fails: Some(s(3.2)), stand_by: Some(s(5.0)), ..Control::default() };
    let network = two_paths(control);
    assert_eq!(simulate(&network).0, simulate(&network).0);
}

#[test]
fn impossible_channels_are_rejected() {
    for control in [
        Control { loss: 1.5, ..Control::default() },
        Control { loss: f64::NAN, ..Control::default() },
        Control { stand_by: Some(s(1.0)), ..Control::default() },
        Control { fails: Some(s(2.0)), returns: Some(s(2.0)), ..Control::default() },
    ] {
        assert!(two_paths(control).check().is_err(), "{control:?}");
    }
}
