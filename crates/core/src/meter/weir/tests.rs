use super::*;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;
use crate::ids::FaceId;
use crate::ids::PrefixId;
use crate::packet::{Kind, Packet};
use crate::queue::{Limit, QueueView};
use crate::units::{Bytes, Rate};

pub(super) const LINK: FaceId = FaceId(0);
const UNKNOWN_LINK: FaceId = FaceId(1);

struct Bench {
    meter: Weir,
    rng: Rng,
    trace: Trace,
    /// What each Data says that its sender waited, in 100 ns.
    wait: Slot,
}

/// A face without a queue, by which so many bits were offered and left.
pub(super) fn view(face: FaceId, rate: Option<Rate>, bits: u64) -> FaceView {
    let queue = QueueView { packets: 0, bytes: Bytes::ZERO, limit: Limit::Packets(100), rate };
    FaceView { face, local: false, rate, open: false, return_rate: rate, queue, sent_bits: bits, offered_bits: bits }
}

impl Bench {
    /// A node with a link of 10 Mbit/s and one of unknown rate.
    fn new(params: &Params) -> Bench {
        let mut layout = FieldLayout::new();
        let mut env = Env { layout: &mut layout };
        let meter = Weir::new(params, &mut env);
        let mut bench =
            Bench { meter, rng: Rng::derive(0, &[]), trace: Trace::default(), wait: env.slot(Field::HopRtt) };
        bench.period(0, 0);
        bench
    }

    /// A slot ends at `ms` ms after the start, by when so many bits were offered to the link and left; what is reported.
    fn period(&mut self, ms: u64, bits: u64) -> Vec<Report> {
        let views =
            [(LINK, Some(Rate::from_mbps(10.0))), (UNKNOWN_LINK, None)].map(|(face, rate)| view(face, rate, bits));
        let now = Time::ZERO + Duration::from_millis(ms);
        let Bench { meter, rng, trace, .. } = self;
        let mut reports = Vec::new();
        meter.on_period(&views, &mut reports, &mut Ctx { now, rng, trace });
        reports
    }

    /// A Data that came `ms` ms after its Interest had left, and after the start, with a level of `kbps`, 0 if it has none.
    fn data(&mut self, face: FaceId, at: u64, ms: u64, kbps: u32) -> Packet {
        self.repeated(face, at, ms, kbps, false)
    }

    /// The same, perhaps for an Interest that was sent again.
    fn repeated(&mut self, face: FaceId, at: u64, ms: u64, kbps: u32, retransmitted: bool) -> Packet {
        let mut packet = Packet { kind: Kind::Data, size: 1000, ..Packet::default() };
        packet.fields.set(self.meter.slots.rate, kbps);
        packet.fields.set(self.wait, 1);
        let (prefix, rtt) = (PrefixId(0), Duration::from_millis(ms));
        let mut event = DataIn { packet: &mut packet, prefix, face, rtt, retransmitted, local: false };
        let now = Time::ZERO + Duration::from_millis(at);
        self.meter.on_data_in(&mut event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        packet
    }
}

#[test]
fn a_link_of_unknown_rate_or_a_neighbour_without_levels_leaves_the_path_without_one() {
    let mut bench = Bench::new(&Params::default());
    let soft = bench.meter.slots.soft;
    let said = [(LINK, 5000), (LINK, 0), (UNKNOWN_LINK, 5000)].map(|(face, kbps)| {
        let fields = bench.data(face, 10, 10, kbps).fields;
        fields.get(soft) == UNKNOWN
    });
    assert_eq!(said, [false, true, true]);
}

// The round trip is 10 ms for half a second, then 40: 30 ms of queue, for longer than 10 ms. On a link whose rate is known
// the level falls with the queue, and nothing is marked.
#[test]
fn a_queue_below_a_link_of_unknown_rate_is_marked_by_its_delay() {
    let marks = [UNKNOWN_LINK, LINK].map(|face| {
        let mut bench = Bench::new(&Params::default());
        let mut marked =
            |from: u64, to: u64, ms| (from..to).filter(|at| bench.data(face, *at, ms, 5000).mark > 0).count();
        (marked(100, 600, 10), marked(600, 700, 40) > 0)
    });
    assert_eq!(marks, [(0, true), (0, false)]);
}

// A flow of 8 Mbit/s, alone on 10: with a tolerance of 0.4 it is held by this link from 0.6 of the level on, which stays at
// 9.9, and a tenth more as the link is not full; with 0.1 another link holds it, and the level rises until it would fill the
// link, 9.9/(8/λ) > λ: without end.
#[test]
fn a_flow_below_the_level_by_more_than_the_tolerance_leaves_the_rest_to_others() {
    let [near, far] = [0.4, 0.1].map(|tolerance| {
        let mut bench = Bench::new(&Params { tolerance, ..Params::default() });
        for slot in 1..=1000 {
            let mut packet = Packet { kind: Kind::Interest, size: 10_000, ..Packet::default() };
            packet.fields.set(bench.meter.slots.rate, 8000);
            let mut event = InterestOut { packet: &mut packet, prefix: PrefixId(0), face: LINK };
            let Bench { meter, rng, trace, .. } = &mut bench;
            meter.on_interest_out(&mut event, &mut Ctx { now: Time::ZERO, rng, trace });
            bench.period(10 * slot, 80_000 * slot);
        }
        bench.meter.links[LINK.index()].known().map(|link| link.level.level / 1e6).unwrap_or_default()
    });
    assert!((near - 10.89).abs() < 0.1 && far > 100.0, "{near} {far}");
}

// 0.9 Mbit in 100 ms of a link of 10 Mbit/s are 0.9 of it, above 0.85; reports of all interfaces come after 500 ms.
#[test]
fn a_planner_hears_of_a_busy_link_if_it_is_to_and_slots_end_as_before() {
    let mut told = Bench::new(&Params { reports: Some(ndnsieve::Params::default()), ..Params::default() });
    let mut alone = Bench::new(&Params::default());
    for slot in 1..10 {
        let bits = slot * 90_000;
        assert_eq!((told.period(10 * slot, bits), alone.period(10 * slot, bits)), (vec![], vec![]));
        assert_eq!(told.meter.next_wake(), alone.meter.next_wake());
    }
    assert_eq!(told.period(100, 900_000), [Report::Signal { face: LINK }]);
    assert_eq!(alone.period(100, 900_000), []);
    let levels = [told, alone].map(|mut bench| bench.meter.links[LINK.index()].known().map(|link| link.level.level));
    assert!(levels[0].is_some() && levels[0] == levels[1], "{levels:?}");
}

/// Slots of 10 ms from `from` to `to`, in which the link carries this part of what it states, with 1 Mbit waiting; then a
/// Data leaves by it, of a flow of 5 Mbit/s that Data reached with a level of 20. How many were marked, and what the last
/// one says: its level in kbit/s, and whether the path has a link of unknown rate.
fn leaves(bench: &mut Bench, from: u64, to: u64, sent: &mut u64, part: f64, waiting: u64) -> (usize, u32, bool) {
    let mut said = (0, 0, false);
    for slot in from..to {
        *sent += (part * 100_000.0) as u64;
        let mut view = view(LINK, Some(Rate::from_mbps(10.0)), *sent);
        view.queue.bytes = Bytes::new(waiting / 8);
        let now = Time::ZERO + Duration::from_millis(10 * slot);
        let Bench { meter, rng, trace, .. } = bench;
        let mut ctx = Ctx { now, rng, trace };
        meter.on_period(&[view], &mut Vec::new(), &mut ctx);
        let (rate, soft) = (meter.slots.rate, meter.slots.soft);
        let (mut packet, mut told) = (Packet { kind: Kind::Data, size: 1000, ..Packet::default() }, Fields::default());
        packet.fields.set(rate, 20_000);
        told.set(rate, 5000);
        let mut event = DataOut {
            packet: &mut packet,
            prefix: PrefixId(0),
            face: LINK,
            interest_arrival: now,
            retransmitted: false,
            interest_fields: &told,
            from_cache: false,
            flows: 1,
        };
        meter.on_data_out(&mut event, &mut ctx);
        said = (said.0 + usize::from(packet.mark > 0), packet.fields.get(rate), packet.fields.get(soft) == UNKNOWN);
    }
    said
}

// It states 10 Mbit/s and carries 5. For 0.2 s that may be jitter; then it owes 0.1 s of what it states, and for 10 s
// its own level is not told any more (what came with the Data stays), and what waits is marked. 1 Mbit waits 0.1 s and
// more. Once nothing waits, nothing is marked, and after 10 s levels are told again.
#[test]
fn a_link_slower_than_stated_counts_as_one_of_unknown_rate_for_ten_seconds_and_marks_what_waits() {
    let (mut bench, mut sent) = (Bench::new(&Params::default()), 0);
    let (marks, level, is_unknown) = leaves(&mut bench, 1, 20, &mut sent, 0.5, 1_000_000);
    assert!(marks == 0 && level < 20_000 && !is_unknown, "{marks} {level} {is_unknown}");
    let (marks, level, is_unknown) = leaves(&mut bench, 20, 100, &mut sent, 0.5, 1_000_000);
    assert!(marks > 10 && level == 20_000 && is_unknown, "{marks} {level} {is_unknown}");
    assert_eq!(leaves(&mut bench, 100, 1090, &mut sent, 0.0, 0), (0, 20_000, true));
    let (marks, _, is_unknown) = leaves(&mut bench, 1090, 1200, &mut sent, 0.0, 0);
    assert_eq!((marks, is_unknown), (0, false));
}

// A Data each millisecond for 3 s, by a link of known rate: for half a second after 10 ms, then after 10 or 40. Of these
// none or every fifth is for an Interest that was sent again, more than a tenth. Neither the delay alone nor losses alone
// say that a queue stands where nobody sees it.
#[test]
fn a_link_counts_as_one_of_unknown_rate_where_data_are_lost_and_late_and_for_ten_seconds_more() {
    let mut said = Vec::new();
    for (ms, every) in [(40, u64::MAX), (10, 5), (40, 5)] {
        let mut bench = Bench::new(&Params::default());
        let soft = bench.meter.slots.soft;
        let mut marked = 0;
        for at in 100..3100 {
            let (delay, retransmitted) = if at < 600 { (10, false) } else { (ms, at % every == 0) };
            marked += usize::from(bench.repeated(LINK, at, delay, 5000, retransmitted).mark > 0);
        }
        let mut is_unknown = |at| bench.data(LINK, at, 10, 5000).fields.get(soft) == UNKNOWN;
        said.push((marked > 10, is_unknown(3100)));
    }
    assert_eq!(said, [(false, false), (false, false), (true, true)]);
}

// Of a neighbour that tells no level it is not known what waits for its own link: nothing is concluded.
#[test]
fn losses_and_delay_beyond_a_neighbour_without_levels_leave_the_link_as_it_is() {
    let mut bench = Bench::new(&Params::default());
    for at in 100..3100 {
        bench.repeated(LINK, at, if at < 600 { 10 } else { 40 }, 0, at % 5 == 0);
    }
    assert!(bench.meter.links[LINK.index()].known().is_some_and(|link| link.is_trusted()));
}

// Two flows of 4 Mbit/s on a link that is open: what they may have is not told, but they are counted. Once the link is known
// to carry 8 Mbit/s each may have half of 0.99 of it, and Data tell no wait: a queue below would change the rate.
#[test]
fn flows_of_a_link_whose_rate_is_learned_are_counted_before_it_is_known() {
    let params = Params::default();
    let mut bench = Bench::new(&params);
    let mut slot = |at: u64, rate: Option<Rate>| {
        let face = FaceView { open: rate.is_none(), ..view(LINK, rate, 80_000 * at) };
        let now = Time::ZERO + Duration::from_millis(10 * at);
        let Bench { meter, rng, trace, wait } = &mut bench;
        meter.on_period(&[face], &mut Vec::new(), &mut Ctx { now, rng, trace });
        let mut told = [(0, false); 2];
        for flow in [0, 1] {
            let mut packet = Packet { kind: Kind::Data, size: 5_000, ..Packet::default() };
            packet.name.flow = FlowId(flow);
            let mut interest_fields = Fields::default();
            interest_fields.set(meter.slots.rate, 4000);
            interest_fields.set(meter.slots.round_trip, 20_000);
            let mut event = DataOut {
                packet: &mut packet,
                prefix: PrefixId(0),
                face: LINK,
                interest_fields: &interest_fields,
                from_cache: false,
                interest_arrival: now,
                retransmitted: false,
                flows: 2,
            };
            meter.on_data_out(&mut event, &mut Ctx { now, rng, trace });
            told[flow as usize] = (packet.fields.get(meter.slots.rate), packet.fields.get(*wait) == u32::MAX);
        }
        told
    };
    let open: Vec<[(u32, bool); 2]> = (1..=100).map(|at| slot(at, None)).collect();
    assert!(open.iter().all(|told| *told == [(OPEN, false); 2]));
    let [(first, silent), (second, _)] = slot(101, Some(Rate::from_mbps(8.0)));
    assert!(first.abs_diff(3960) < 80 && second.abs_diff(3960) < 80, "{first} {second}");
    assert!(silent);
}
