//! Metrics of a run small enough to compute by hand.

use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_lab::metrics::{Collector, ConsumerSetup, LinkSetup, Setup};
use ndnweir_lab::results::{Run, SeriesKind};
use ndnweir_sim::observer::{
    Arrival, ConsumerCounters, ConsumerId, Delivery, DirectedLinkId, LinkCounters, NodeId, Observer, PathId, Share,
    Snapshot,
};

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn setup() -> Setup {
    let consumer = |name: &str, start, stop| ConsumerSetup {
        name: name.into(),
        start,
        stop,
        long_lived: true,
        deadline: None,
        flows: None,
    };
    Setup {
        nodes: vec!["C".into(), "R".into(), "P".into()],
        links: [("C>R", 0, 1), ("R>C", 1, 0), ("R>P", 1, 2), ("P>R", 2, 1)]
            .map(|(n, from, to)| LinkSetup { name: n.into(), from, to, rate: Rate::from_mbps(1.0) })
            .into(),
        consumers: vec![consumer("a", at(0), None), consumer("b", at(2000), Some(at(3000)))],
        prefixes: vec!["/p".into()],
        from: at(1000),
        to: at(4000),
        bin: Duration::from_millis(1000),
        changes: Vec::new(),
        interest_bytes: 30,
        events: vec!["kept".into()],
    }
}

fn delivery(ms: u64, consumer: u32, delay: u64) -> Delivery {
    Delivery {
        at: at(ms),
        consumer: ConsumerId(consumer),
        path: PathId(0),
        arrival: Arrival {
            segment: 0,
            payload: Bytes::new(12_500),
            delay: Duration::from_millis(delay),
            rtt: (delay < 100).then(|| Duration::from_millis(delay)),
            mark: 0,
            retransmissions: 0,
            in_order: delay < 100,
            completed: false,
        },
    }
}

/// 100 kbit for each delivery; a: 0.5 s, 1.5, 2.5, 3.5 and 3.9 s; b: twice in its second.
fn run(until: u64) -> Run {
    let mut c = Collector::new(setup());
    c.path(PathId(0), &[DirectedLinkId(3), DirectedLinkId(1)]);
    let mut link = LinkCounters::default();
    let mut consumer = ConsumerCounters { window: 4.0, ..ConsumerCounters::default() };
    let deliveries =
        [(500, 0, 900), (1500, 0, 10), (2500, 0, 20), (2600, 1, 30), (2700, 1, 200), (3500, 0, 30), (3900, 0, 40)];
    for second in 0..until / 1000 {
        let from = second * 1000;
        for (ms, who, delay) in deliveries.iter().filter(|d| (from..from + 1000).contains(&d.0)) {
            c.delivered(&delivery(*ms, *who, *delay));
        }
        link.data_bits += 500_000;
        link.interest_bits += 100_000;
        link.overflow_data_bits += 30_000;
        link.drops.overflow += 3;
        link.sojourn_count += 10;
        link.sojourn_sum += 10 * 2_000_000 * u128::from(second);
        link.sojourn_max = Duration::from_millis(5 * second);
        link.queue_packets = second as u32;
        consumer.retransmissions += 2;
        consumer.nacks += second;
        let links = [LinkCounters::default(), link, LinkCounters::default(), LinkCounters::default()];
        let share = Share { node: NodeId(1), prefix: 0, link: DirectedLinkId(2), share: 0.25 * second as f64 };
        c.scheme_event(at(from), NodeId(1), "kept", 1, 2.0);
        c.scheme_event(at(from), NodeId(1), "other", 1, 2.0);
        c.sample(&Snapshot {
            at: at(from + 1000),
            links: &links,
            consumers: &[consumer, ConsumerCounters::default()],
            nodes: &[],
            shares: &[share],
        });
    }
    c.finish("x", 3)
}

#[test]
fn goodput_counts_payload_in_the_window_over_the_active_time() {
    let run = run(4000);
    assert!(!run.partial && (run.scheme.as_str(), run.seed) == ("x", 3));
    assert_eq!(run.consumers[0].payload_bits, 400_000);
    assert!((run.consumers[0].goodput_mbps - 0.4 / 3.0).abs() < 1e-12);
    assert!((run.consumers[1].goodput_mbps - 0.2).abs() < 1e-12 && run.consumers[1].active_s == 1.0);
    assert!((run.goodput_mbps - 0.2).abs() < 1e-12);
    let (x, y) = (0.4f64 / 3.0, 0.2f64);
    assert!((run.jain.unwrap() - (x + y) * (x + y) / (2.0 * (x * x + y * y))).abs() < 1e-12);
    let per_bin = run.series.get(SeriesKind::Consumers, &["a"], "goodput_mbps").unwrap();
    assert_eq!(per_bin, [0.1, 0.1, 0.1, 0.2]);
    let jain = run.series.get(SeriesKind::Network, &[], "jain").unwrap();
    assert_eq!((jain[1], jain[2], jain[3]), (1.0, 0.9, 1.0));
}

#[test]
fn delay_and_rtt_leave_out_the_warm_up_and_ambiguous_segments() {
    let run = run(4000);
    let (delay, rtt) = (run.consumers[1].delay_ms.unwrap(), run.consumers[1].rtt_ms.unwrap());
    assert_eq!((delay.n, delay.max, rtt.n, rtt.max), (2, 200.0, 1, 30.0));
    assert!((run.consumers[0].delay_ms.unwrap().mean - 25.0).abs() < 1e-9);
    assert_eq!((run.consumers[1].in_order, run.consumers[1].out_of_order), (1, 1));
    assert_eq!(run.delay_ms.unwrap().n, 6);
}

#[test]
fn link_metrics_are_differences_over_the_window() {
    let run = run(4000);
    let link = &run.links[1];
    assert!((link.utilization - 0.6).abs() < 1e-12 && (link.utilization_data - 0.5).abs() < 1e-12);
    assert!((link.utilization_interests - 0.1).abs() < 1e-12);
    // Sojourn 0 in the first second, then 2, 4 and 6 ms.
    assert!((link.queue_ms - 4.0).abs() < 1e-9 && link.queue_max_ms == 15.0);
    assert!((link.queue_packets - 2.0).abs() < 1e-12 && link.queue_max_packets == 3);
    assert!((link.loss_mbps - 0.03).abs() < 1e-12 && link.drops.overflow == 9 && run.drops.total() == 9);
    assert_eq!(run.bottleneck.as_deref(), Some("R>C"));
    assert_eq!(run.series.get(SeriesKind::Links, &["R>C"], "queue_ms").unwrap(), [0.0, 2.0, 4.0, 6.0]);
    assert_eq!((run.retransmissions, run.nacks), (6, 6));
    assert_eq!(run.series.get(SeriesKind::Consumers, &["a"], "nacks").unwrap(), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn events_shares_and_names_are_kept_as_requested() {
    let run = run(4000);
    assert_eq!((run.events.len(), run.events_dropped), (4, 0));
    assert_eq!((run.shares[0].node.as_str(), run.shares[0].link.as_str()), ("R", "R>P"));
    assert!((run.shares[0].share - 0.75).abs() < 1e-12);
    assert!(run.consumers[0].paths.is_empty());
    let names: Vec<String> = run.scalars().into_iter().map(|s| s.0).collect();
    for name in ["goodput_mbps", "delay_ms.p99", "consumers.a.goodput_mbps", "links.R>C.queue_ms", "shares.R./p.R>P"] {
        assert!(names.iter().any(|n| n == name), "{name}");
    }
}

#[test]
fn an_interrupted_run_is_partial_and_measured_as_far_as_it_went() {
    let run = run(3000);
    assert!(run.partial && run.measured_s == 2.0);
    assert!((run.goodput_mbps - 0.2).abs() < 1e-12 && (run.links[1].utilization - 0.6).abs() < 1e-12);
    assert_eq!(run.series.len(), 3);
}

#[test]
fn absurd_setups_give_results_and_no_panic() {
    for (from, to, bin) in [(0, 0, 0), (5000, 1000, 1), (0, u64::MAX / 2_000_000, 1)] {
        let mut c = Collector::new(Setup { from: at(from), to: at(to), bin: Duration::from_nanos(bin), ..setup() });
        c.delivered(&delivery(1, 0, 1));
        c.delivered(&delivery(2, 99, 1));
        c.sample(&Snapshot { at: at(2), links: &[], consumers: &[], nodes: &[], shares: &[] });
        let run = c.finish("x", 0);
        assert!(run.series.len() <= 20_000 && run.scalars().iter().all(|s| s.1.is_finite()));
    }
}
