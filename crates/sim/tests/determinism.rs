//! The same seed gives the same bytes, on every machine; other seeds and other components change only what they should.

use crate::common::Digest;
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::units::{Duration, Rate};
use ndnweir_sim::bench::{dumbbell, grid};
use ndnweir_sim::network::{Impairment, Network};
use ndnweir_sim::observer::NoObserver;
use ndnweir_sim::pcap::{Encoder, NameTable, PcapWriter};
use ndnweir_sim::pcapng::Capture;
use ndnweir_sim::{Outcome, RunOptions, run};
use serde_json::json;

fn small_dumbbell() -> Network {
    Network {
        start_jitter: Duration::from_millis(100),
        sampling: Duration::from_millis(500),
        ..dumbbell(Rate::from_mbps(10.0), Duration::from_millis(10), 100, Duration::from_millis(5000))
    }
}

fn simulate(network: &Network, scheme: &str, seed: u64) -> (Outcome, u64) {
    let mut digest = Digest::default();
    let outcome = run(network, &Scheme::named(scheme).unwrap(), seed, &mut digest, RunOptions::full()).unwrap();
    outcome.check().unwrap();
    (outcome, digest.get())
}

// These change when the engine, a node or a scheme changes what happens. Find out why before committing new ones.
#[test]
fn event_hashes_are_those_that_were_committed() {
    let hash = |network: &Network, scheme| format!("{:016x}", simulate(network, scheme, 1).0.hash);
    let dumbbell = small_dumbbell();
    let found = [
        hash(&dumbbell, "fixed"),
        hash(&dumbbell, "aimd"),
        hash(&dumbbell, "cubic"),
        hash(&dumbbell, "pcon"),
        hash(&grid(4, Duration::from_millis(5), Duration::from_millis(1000)), "fixed"),
    ];
    assert_eq!(found, PINNED);
}

const PINNED: [&str; 5] =
    ["dd4e3a4e36d34ff7", "964c1f8d2ce94524", "0f01f4dffb28dda4", "0614565113267dd4", "018426fb8e13f7da"];

#[test]
fn seeds_give_different_runs() {
    let network = small_dumbbell();
    let [a, b] = [1, 2].map(|seed| simulate(&network, "aimd", seed));
    assert_ne!(a.0.hash, b.0.hash);
    assert_ne!(a.1, b.1);
}

#[test]
fn one_seed_gives_the_same_observations_in_another_thread() {
    let network = small_dumbbell();
    let here = simulate(&network, "cubic", 3);
    let there = std::thread::scope(|scope| {
        let thread = scope.spawn(|| simulate(&network, "cubic", 3));
        thread.join().unwrap()
    });
    assert_eq!(here, there);
}

#[test]
fn another_marker_leaves_the_losses_alone() {
    let lost = |marker: &str| {
        let mut network = small_dumbbell();
        let bottleneck = &mut network.links[2].backward;
        bottleneck.impairment = Impairment { loss: 0.05, ..Impairment::default() };
        bottleneck.marker = Some(ComponentChoice::plain(marker).unwrap());
        // A fixed window does not react to marks, so that the packets are the same.
        let scheme = json!({ "consumer": { "name": "fixed", "window": 60.0 } });
        let scheme = Scheme::resolve("fixed-window", &scheme).unwrap();
        let outcome = run(&network, &scheme, 1, &mut NoObserver, RunOptions::full()).unwrap();
        let marks: u64 = outcome.links.iter().map(|link| link.data_marks).sum();
        (outcome.propagations[5], outcome.consumers.iter().map(|c| c.segments).collect::<Vec<_>>(), marks)
    };
    let (plain, marked) = (lost("droptail"), lost("codel-pcon"));
    assert!(plain.0.lost > 50, "{:?}", plain.0);
    assert_eq!((plain.0, plain.1), (marked.0, marked.1));
    assert!(plain.2 == 0 && marked.2 > 0);
}

#[test]
fn a_run_can_be_stopped_and_tells_its_progress() {
    let network = small_dumbbell();
    let scheme = Scheme::named("fixed").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut fractions = Vec::new();
    let mut progress = |fraction: f64| {
        fractions.push(fraction);
        stop.store(fraction > 0.5, std::sync::atomic::Ordering::Relaxed);
    };
    let options = RunOptions { stop: Some(&stop), progress: Some(&mut progress), ..RunOptions::full() };
    let outcome = run(&network, &scheme, 1, &mut NoObserver, options).unwrap();
    assert!(!outcome.finished && outcome.check().is_ok());
    assert!((0.5..0.7).contains(&(outcome.ended.secs() / 5.0)), "{}", outcome.ended.secs());
    assert!(fractions.len() > 400 && fractions.is_sorted());
}

#[test]
fn a_trace_has_every_packet_put_on_a_link_in_order_of_time() {
    let network = Network { duration: Duration::from_millis(500), ..small_dumbbell() };
    let scheme = Scheme::named("pcon").unwrap();
    let encoder = Encoder::new(NameTable::default(), &scheme.layout());
    let mut writer = PcapWriter::new(Vec::new(), encoder, &Capture::default()).unwrap();
    let options = RunOptions { tap: Some(&mut writer), ..RunOptions::full() };
    let outcome = run(&network, &scheme, 1, &mut NoObserver, options).unwrap();
    let file = writer.finish().unwrap();
    let word = |at: usize| u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]);
    let (mut at, mut records, mut last) = (0, 0, 0);
    while at < file.len() {
        // Enhanced packet blocks.
        if word(at) == 6 {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            assert!(time >= last);
            last = time;
            records += 1;
        }
        at += word(at + 4) as usize;
    }
    assert_eq!(at, file.len());
    assert_eq!(records, outcome.propagations.iter().map(|propagation| propagation.sent).sum::<u64>());
}
