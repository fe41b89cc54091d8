//! Losses that a consumer finds before their timeout, if its timer says so.

use super::common::run_text;
use ndnweir_lab::results::{ConsumerRun, Run};

/// One consumer over 10 Mbit/s and a round trip of 20 ms, of which 2 % of packets are lost.
const NETWORK: &str = r#"
[run]
duration = "10s"
[[node]]
names = ["C", "P"]
[[link]]
ends = ["C", "P"]
rate = "10Mbps"
delay = "10ms"
queue = "100 packets"
loss = 0.02
[[producer]]
name = "P"
node = "P"
prefix = "/p"
[[consumer]]
name = "C"
node = "C"
prefix = "/p"
"#;

fn run(scheme: &str, set: &[&str], seed: u64) -> Run {
    run_text(NETWORK, set, scheme, &[seed]).runs.remove(0)
}

fn consumer(scheme: &str, set: &[&str]) -> ConsumerRun {
    run(scheme, set, 1).consumers.remove(0)
}

/// From the first Interest for a segment to its Data, in ms.
fn slowest(run: &ConsumerRun) -> f64 {
    run.delay_ms.as_ref().unwrap().max
}

// A round trip, a quarter of it as the reordering window, and another round trip are below 60 ms with what waits; a
// segment may be lost twice or three times. A timer of 200 ms at least is above.
#[test]
fn a_consumer_that_detects_losses_asks_again_after_a_round_trip_and_another_one_after_its_timeout() {
    let found = consumer("weir", &[]);
    assert!(found.losses > 50 && found.timeouts == 0, "{} losses, {} timeouts", found.losses, found.timeouts);
    assert!(slowest(&found) < 190.0, "{} ms", slowest(&found));
    let waits = consumer("weir", &["scheme.weir.consumer.timer.loss-detection=false"]);
    assert!(waits.losses == 0 && waits.timeouts > 50, "{} losses, {} timeouts", waits.losses, waits.timeouts);
    assert!(slowest(&waits) > 200.0, "{} ms", slowest(&waits));
}

#[test]
fn published_consumers_wait_for_their_timer_unless_told_otherwise() {
    let published = consumer("bic", &[]);
    assert!(published.losses == 0 && published.timeouts > 10, "{} {}", published.losses, published.timeouts);
    let told = consumer("bic", &["scheme.bic.consumer.timer.loss-detection=true"]);
    assert!(told.losses > told.timeouts, "{} {}", told.losses, told.timeouts);
    assert!(told.goodput_mbps > published.goodput_mbps, "{} {}", told.goodput_mbps, published.goodput_mbps);
}

// A run whose Interests are not all accounted for is an error: of those that probe for a lost end too.
#[test]
fn every_interest_is_accounted_for_where_the_end_of_an_object_is_lost() {
    let mut sent_again = 0;
    for seed in 1..=8 {
        let run = run(
            "weir",
            &["link.C-P.loss=0.3", "consumer.C.kind=object", "consumer.C.packets=40", "run.duration=20s"],
            seed,
        );
        assert!(run.consumers[0].completion_s.is_some(), "seed {seed}");
        sent_again += run.consumers[0].retransmissions;
    }
    assert!(sent_again > 100, "{sent_again}");
}

#[test]
fn flows_that_arrive_detect_losses_as_a_single_fetch_does() {
    let flows = ["consumer.C.kind=flows", "consumer.C.rate=5/s", "consumer.C.sizes=100kB"];
    let run = run("weir", &flows, 1);
    assert!(run.consumers[0].losses > 20, "{}", run.consumers[0].losses);
}

// A flow of 50 Data that says, from four round trips before its end on, that it ends is one flow until the last of them.
#[test]
fn thirty_two_objects_that_one_host_asks_for_at_once_come_without_a_loss_under_weir() {
    let network = include_str!("../../../judge/scenarios/incast-32.toml");
    let run = run_text(network, &[], "weir", &[1]).runs.remove(0);
    assert_eq!(run.loss_mbps, 0.0);
    for consumer in &run.consumers {
        assert!(consumer.completion_s.is_some_and(|time| time < 0.02), "{:?}", consumer.completion_s);
    }
}
