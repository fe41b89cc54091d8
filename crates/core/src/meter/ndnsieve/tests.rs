use super::*;
use crate::component::parse_params;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;
use crate::packet::{Kind, Packet};
use crate::queue::{Limit, QueueView};
use crate::units::Bytes;
use serde_json::{Value, json};

/// One router with interfaces of 10 Mbit/s and queues of 500 packets.
struct Bench {
    meter: NdnSieve,
    now: Time,
    offered: Vec<u64>,
}

impl Bench {
    /// A router that has taken its first evaluation, at 0.
    fn new(params: &Value, interfaces: usize) -> Bench {
        let params = parse_params::<NdnSieve>(params).unwrap();
        let meter = NdnSieve::new(&params, &mut Env { layout: &mut FieldLayout::new() });
        let mut bench = Bench { meter, now: Time::ZERO, offered: vec![0; interfaces] };
        assert!(bench.evaluate(&vec![0; interfaces]).is_empty());
        bench
    }

    fn evaluate(&mut self, packets: &[u32]) -> Vec<Report> {
        let rate = Some(Rate::from_mbps(10.0));
        let view = |(face, (&offered_bits, &packets)): (usize, (&u64, &u32))| {
            let queue = QueueView { packets, bytes: Bytes::ZERO, limit: Limit::Packets(500), rate };
            let face = FaceId(face as u16);
            FaceView { face, local: false, rate, open: false, return_rate: rate, queue, sent_bits: 0, offered_bits }
        };
        let views: Vec<FaceView> = self.offered.iter().zip(packets).enumerate().map(view).collect();
        let (mut reports, mut rng, mut trace) = (Vec::new(), Rng::derive(1, &[]), Trace::default());
        let mut ctx = Ctx { now: self.now, rng: &mut rng, trace: &mut trace };
        self.meter.on_period(&views, &mut reports, &mut ctx);
        reports
    }

    /// One detection period in which each interface was offered so many bits while its queue came to so many packets.
    fn period(&mut self, bits: &[u64], packets: &[u32]) -> Vec<Report> {
        self.now = self.meter.next_wake();
        self.offered.iter_mut().zip(bits).for_each(|(sum, bits)| *sum += bits);
        self.evaluate(packets)
    }

    /// In which periods of these loads (bits) the one interface signalled.
    fn signals(&mut self, loads: &[u64]) -> Vec<usize> {
        let is_signal = |reports: &[Report]| reports.iter().any(|r| matches!(r, Report::Signal { .. }));
        (0..loads.len()).filter(|&i| is_signal(&self.period(&[loads[i]], &[0]))).collect()
    }

    fn data(&mut self, prefix: u32, face: u16, size: u32) {
        let (mut rng, mut trace) = (Rng::derive(1, &[]), Trace::default());
        let mut ctx = Ctx { now: self.now, rng: &mut rng, trace: &mut trace };
        let mut packet = Packet { kind: Kind::Data, size, ..Packet::default() };
        let (prefix, face, rtt) = (PrefixId(prefix), FaceId(face), Duration::ZERO);
        let mut event = DataIn { packet: &mut packet, prefix, face, rtt, retransmitted: false, local: face.0 == 9 };
        self.meter.on_data_in(&mut event, &mut ctx);
    }
}

// 10 Mbit/s · 0.1 s = 1,000,000 bits: 850,000 are β = 0.85, which is not above th1; 1,200,000 are β = 1.2.
#[test]
fn a_signal_is_sent_in_every_detection_period_with_more_than_85_percent_of_arrivals() {
    let mut bench = Bench::new(&Value::Null, 1);
    assert_eq!(bench.signals(&[850_000, 850_001, 1_200_000, 0, 900_000]), [1, 2, 4]);
}

#[test]
fn all_interfaces_are_reported_every_half_second_with_what_the_last_detection_found() {
    let mut bench = Bench::new(&Value::Null, 2);
    let mut reported = Vec::new();
    for i in 1..=10u32 {
        for report in bench.period(&[600_000, 1_200_000], &[50, 5 * i]) {
            if let Report::Interface { face, utilization, occupancy } = report {
                reported.push((bench.now.secs(), face.0, utilization, occupancy));
            }
        }
    }
    // 50/500 = 0.1; at 0.5 s 25/500 = 0.05, at 1 s 50/500 = 0.1.
    assert_eq!(reported, [(0.5, 0, 0.6, 0.1), (0.5, 1, 1.2, 0.05), (1.0, 0, 0.6, 0.1), (1.0, 1, 1.2, 0.1)]);
}

#[test]
fn reports_precede_the_signals_of_their_instant() {
    let mut bench = Bench::new(&json!({ "report": "100ms" }), 2);
    let reports = bench.period(&[1_000_000, 1_000_000], &[0, 0]);
    let kinds: Vec<bool> = reports.iter().map(|report| matches!(report, Report::Signal { .. })).collect();
    assert_eq!(kinds, [false, false, true, true]);
}

#[test]
fn a_gap_thins_signals_and_hysteresis_prolongs_them() {
    let full = [1_000_000; 10];
    assert_eq!(Bench::new(&json!({ "signal-gap": "500ms" }), 1).signals(&full), [0, 5]);
    // Left below 0.85 − 0.05 = 0.8.
    let loads = [860_000, 820_000, 800_000, 790_000, 820_000];
    assert_eq!(Bench::new(&json!({ "hysteresis": 0.05 }), 1).signals(&loads), [0, 1, 2]);
    assert_eq!(Bench::new(&json!({}), 1).signals(&loads), [0]);
}

// Table 2; what it leaves open at equality counts as the lower state.
#[test]
fn states_are_those_of_table_2() {
    let state = |beta, epsilon| State::of(beta, epsilon, 0.85, 0.9);
    assert_eq!((state(0.85, 0.9), state(0.86, 0.9)), (State::Free, State::Mild));
    assert_eq!((state(0.86, 0.91), state(0.1, 0.91)), (State::Severe, State::Severe));
}

// 5 Data of 1000 B in 0.5 s: 40,000 bits / 0.5 s = 80 kbit/s.
#[test]
fn data_rates_per_prefix_and_interface_are_reported_and_their_end_once() {
    let mut bench = Bench::new(&Value::Null, 1);
    (0..5).for_each(|_| bench.data(3, 1, 1000));
    bench.data(3, 9, 1000);
    let rates: Vec<Vec<Report>> = (0..15).map(|_| bench.period(&[0], &[0])).collect();
    let rates: Vec<Report> =
        rates.into_iter().flatten().filter(|report| matches!(report, Report::PrefixRate { .. })).collect();
    let rate = |bps| Report::PrefixRate { prefix: PrefixId(3), face: FaceId(1), rate: Rate::from_bps(bps) };
    assert_eq!(rates, [rate(80_000), rate(0)]);
}

#[test]
fn detection_takes_at_most_four_operations_per_interface_and_period() {
    let mut bench = Bench::new(&Value::Null, 7);
    bench.period(&[0; 7], &[0; 7]);
    assert_eq!(bench.meter.operations(), 3 * 7);
    bench.period(&[1_000_000; 7], &[0; 7]);
    assert_eq!(bench.meter.operations(), 3 * 7 + 4 * 7);
}
