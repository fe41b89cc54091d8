//! Whole runs agree to the packet with a model written apart from this code, from the sources of the two simulators.
//!
//! The model: an event queue, drop-tail links, PIT, the windows, timers and marks of ndnSIM 2.8 (ConsumerPcon over NFD's
//! link service) and of the PCON authors' simulator of 2016. With their sizes, which grow with the segment number, it
//! gives their published runs (see the page on reference runs). Here sizes are fixed, and every link has its own rate
//! and delay, so that no two packets meet at one instant and no order among simultaneous events matters.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Rate, Span, Time};
use ndnweir_sim::bench::{dumbbell, link};
use ndnweir_sim::network::Network;
use ndnweir_sim::observer::{DropCause, NoObserver};
use ndnweir_sim::{RunOptions, run};

/// The dumbbell of the reference runs, 60 s, without ties: a 10 Mbit/s link between faster ones.
fn untied(queue: u32) -> Network {
    let rate = Rate::from_mbps(10.0);
    let mut network = dumbbell(rate, Span::from_millis(10), queue, Span::from_millis(60_000));
    let link = |a, b, mbps, tenth_us: u64| link(a, b, Rate::from_mbps(mbps), Span::from_nanos(tenth_us * 100), queue);
    network.links = vec![
        link(0, 2, 11.3, 100_137),
        link(1, 2, 12.7, 100_271),
        link(2, 3, 10.0, 100_000),
        link(3, 4, 11.9, 100_061),
        link(3, 5, 13.1, 100_093),
    ];
    network.consumers[1].start = Time::ZERO + Span::from_micros(313);
    network
}

/// Segments of each flow, timeouts, drops, marks that entered a queue.
fn totals(network: &Network, scheme: &str) -> ([u64; 2], u64, u64, u64) {
    let scheme = Scheme::named(scheme).unwrap();
    let outcome = run(network, &scheme, 1, &mut NoObserver, RunOptions::default()).unwrap();
    let [a, b] = [0, 1].map(|i| outcome.consumers[i].segments);
    let timeouts = outcome.consumers.iter().map(|consumer| consumer.timeouts).sum();
    let marks = outcome.links.iter().map(|link| link.data_marks + link.interest_marks).sum();
    ([a, b], timeouts, outcome.drops()[DropCause::Overflow as usize], marks)
}

#[test]
fn window_laws_over_nfd_marks_agree_with_ndnsim_to_the_packet() {
    assert_eq!(totals(&untied(100), "aimd"), ([35_051, 34_902], 330, 330, 48));
    assert_eq!(totals(&untied(100), "bic"), ([36_692, 33_263], 19, 19, 109));
    // Two more marks fell due on packets that found the queue full.
    assert_eq!(totals(&untied(100), "cubic"), ([36_329, 33_642], 750, 750, 95));
    assert_eq!(totals(&untied(500), "aimd"), ([35_562, 34_399], 0, 0, 110));
    assert_eq!(totals(&untied(500), "bic"), ([32_957, 36_998], 0, 0, 149));
    assert_eq!(totals(&untied(500), "cubic"), ([35_672, 34_298], 1, 0, 454));
}

#[test]
fn pcon_agrees_with_its_authors_simulator_to_the_packet() {
    let mut network = untied(100);
    for producer in &mut network.producers {
        producer.size = 1056;
    }
    for consumer in &mut network.consumers {
        consumer.interest_size = 24;
    }
    assert_eq!(totals(&network, "pcon"), ([33_544, 30_682], 0, 0, 161));
}
