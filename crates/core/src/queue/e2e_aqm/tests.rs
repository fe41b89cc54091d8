use super::*;
use crate::component::parse_params;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;
use crate::ids::FlowId;
use crate::queue::{Limit, QueueView};
use serde_json::{Value, json};

struct Bench {
    marker: E2eAqm,
    slots: (Slot, Slot),
    rng: Rng,
    trace: Trace,
}

fn bench(params: &Value, seed: u64) -> Bench {
    let mut layout = FieldLayout::new();
    let marker = E2eAqm::new(&parse_params::<E2eAqm>(params).unwrap(), &mut Env { layout: &mut layout });
    let slots = marker.slots;
    Bench { marker, slots, rng: Rng::derive(seed, &[]), trace: Trace::default() }
}

const VIEW: QueueView = QueueView { packets: 0, bytes: Bytes::ZERO, limit: Limit::Packets(100), rate: None };

impl Bench {
    /// A packet joins at `us` microseconds that carries `mark`; the mark with which it leaves.
    fn joins(&mut self, us: u64, kind: Kind, size: u32, mark: Option<LinkMark>) -> Option<LinkMark> {
        let mut packet = Packet { kind, size, ..Packet::default() };
        let (link, state) = mark.map_or((0, 0), LinkMark::to_fields);
        packet.fields.set(self.slots.0, link);
        packet.fields.set(self.slots.1, state);
        let now = Time::ZERO + Duration::from_micros(us);
        self.marker.stamp(&mut packet, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        LinkMark::of_fields(packet.fields.get(self.slots.0), packet.fields.get(self.slots.1))
    }

    fn data(&mut self, us: u64) -> LinkMark {
        self.joins(us, Kind::Data, 1250, None).unwrap()
    }

    fn leaves(&mut self, sojourn: Duration) {
        let event = DequeueEvent { kind: Kind::Data, flow: FlowId(0), size: Bytes::new(1250), sojourn, queue: VIEW };
        let mut ctx = Ctx { now: Time::ZERO, rng: &mut self.rng, trace: &mut self.trace };
        self.marker.on_dequeue(&event, &mut ctx);
    }

    fn overflows(&mut self, size: u32) {
        let packet = Packet { kind: Kind::Data, size, ..Packet::default() };
        let mut ctx = Ctx { now: Time::ZERO, rng: &mut self.rng, trace: &mut self.trace };
        self.marker.on_overflow(&EnqueueEvent { packet: &packet, queue: VIEW }, &mut ctx);
    }
}

#[test]
fn a_mark_tells_how_long_the_packet_waited_that_left_last() {
    let mut bench = bench(&json!({ "delay-share": 1.0 }), 1);
    let first = bench.data(0);
    assert_eq!((first.hops, first.reading), (1, LinkReading::Delay(Duration::ZERO)));
    bench.leaves(Duration::from_micros(7300));
    bench.leaves(Duration::from_nanos(6_500_999));
    let second = bench.data(10);
    assert_eq!((second.link, second.reading), (first.link, LinkReading::Delay(Duration::from_micros(6500))));
}

// Data of 1250 B, 100 µs apart. The mark is written before its packet counts, so that packet n finds n · 1250 B sent:
// 10,000 at n = 8, which is not more, and 11,250 at n = 9: the first measurement, which only starts the clock. From
// there 11,250 B are sent by n = 18, 900 µs later: 12,500,000 B/s = 24,414 · 2⁹ (and 64 lost).
#[test]
fn the_rate_is_measured_anew_after_more_than_ten_kilobytes_and_the_first_time_gives_none() {
    let mut bench = bench(&json!({ "delay-share": 0.0 }), 1);
    let told: Vec<_> = (0..28).map(|n| bench.data(n * 100).reading).collect();
    assert!(told[..18].iter().all(|&reading| reading == LinkReading::Rate(Rate::from_bps(0))), "{told:?}");
    let rate = LinkReading::Rate(Rate::from_bps(24_414 * 512 * 8));
    assert!(told[18..].iter().all(|&reading| reading == rate), "{told:?}");
}

// As above, but 18 · 1250 B are sent within 900 µs from n = 9, half of them overflow: 25,000,000 B/s.
#[test]
fn packets_that_find_the_queue_full_count_for_the_rate_and_so_do_interests() {
    let mut bench = bench(&json!({ "delay-share": 0.0 }), 1);
    for n in 0..10 {
        bench.data(n * 100);
    }
    for n in 10..18 {
        bench.joins(n * 100, Kind::Interest, 1250, None);
        bench.overflows(1250);
    }
    bench.overflows(1250);
    assert_eq!(bench.data(1800).reading, LinkReading::Rate(Rate::from_bps(24_414 * 1024 * 8)));
}

#[test]
fn interests_and_nacks_are_not_stamped() {
    let mut bench = bench(&json!({}), 1);
    assert_eq!(bench.joins(0, Kind::Interest, 40, None), None);
    assert_eq!(bench.joins(0, Kind::Nack, 40, None), None);
}

// The k-th hop overwrites with 1/k: of ten hops each should be left in a tenth of 20,000 Data; the standard deviation
// is √(20,000 · 0.1 · 0.9) = 42.4, and 5 of them are 212. Half of the marks are delays: 10,000 ± 354.
#[test]
fn every_hop_of_ten_is_equally_likely_to_be_told_of_and_each_counts_itself() {
    let mut hops: Vec<Bench> = (0..10).map(|seed| bench(&json!({}), seed)).collect();
    let links: Vec<u32> = hops.iter_mut().map(|hop| hop.data(0).link).collect();
    let (mut counts, mut delays) = ([0_i32; 10], 0_i32);
    for n in 0..20_000 {
        let last = hops.iter_mut().fold(None, |mark, hop| hop.joins(n * 100, Kind::Data, 1250, mark)).unwrap();
        assert_eq!(last.hops, 10);
        counts[links.iter().position(|&link| link == last.link).unwrap()] += 1;
        delays += i32::from(matches!(last.reading, LinkReading::Delay(_)));
    }
    assert!(counts.iter().all(|count| (count - 2000).abs() < 212), "{counts:?}");
    assert!((delays - 10_000).abs() < 354, "{delays}");
}

#[test]
fn the_hop_count_ends_at_255_and_a_false_one_of_zero_counts_as_none() {
    let mut bench = bench(&json!({}), 1);
    let told = LinkMark { link: 9, hops: 255, reading: LinkReading::Delay(Duration::from_millis(1)) };
    assert_eq!(bench.joins(0, Kind::Data, 1250, Some(told)).unwrap().hops, 255);
    let none = LinkMark { hops: 0, ..told };
    let after = bench.joins(0, Kind::Data, 1250, Some(none)).unwrap();
    assert!(after.hops == 1 && after.link != 9);
}
