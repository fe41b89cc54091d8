//! The settled and the eventful egress give one identical trace: packets, times, marks, drops and counters.

use crate::common::*;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::packet::{NackReason, Packet};
use ndnweir_core::queue::{DequeueEvent, EnqueueEvent, Limit, Marker, Verdict};
use ndnweir_core::registry::{AnyDiscipline, AnyMarker};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_node::{Custom, FaceConfig, FaceCounters, Node, NodeCounters, Transmit};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A predictable marker that uses everything it may: every hook changes what it does to the next packet that joins.
#[derive(Default)]
struct Moody {
    state: u64,
    last: Time,
}

impl Moody {
    fn mix(&mut self, now: Time, what: u64) {
        assert!(now >= self.last, "time does not go back");
        self.last = now;
        self.state = (self.state ^ what ^ now.nanos()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

impl Marker for Moody {
    fn predictable(&self) -> bool {
        true
    }
    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict {
        self.mix(
            ctx.now,
            u64::from(event.queue.packets) << 32 | event.queue.bytes.get() ^ u64::from(event.packet.size),
        );
        match self.state % 16 {
            0 => Verdict::Drop,
            1..5 => Verdict::Mark((ctx.rng.below(3) + 1) as u8),
            _ => Verdict::Pass,
        }
    }
    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        self.mix(ctx.now, event.size.get() << 8 | event.kind as u64 ^ event.sojourn.nanos());
        Verdict::Pass
    }
    fn on_idle(&mut self, ctx: &mut Ctx<'_>) {
        self.mix(ctx.now, 1);
    }
    fn on_overflow(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) {
        self.mix(ctx.now, u64::from(event.queue.packets) << 32 | u64::from(event.packet.size));
    }
}

#[derive(Clone, Debug)]
enum Op {
    Interest { size: u32, mark: u8 },
    Data { which: usize, size: u32 },
    Nack { which: usize },
    Rate { face: u16, kbps: Option<u64> },
    Up { face: u16, up: bool },
    Read { face: u16 },
    Crash,
}

fn ops() -> impl Strategy<Value = Vec<(u64, Op)>> {
    // Sizes of whole microseconds at 10 Mbit/s, so that arrivals often fall on the end of a transmission.
    let size = prop_oneof![Just(125u32), Just(250), Just(1250), 20u32..9000];
    let op = prop_oneof![
        12 => (size.clone(), 0u8..2).prop_map(|(size, mark)| Op::Interest { size, mark }),
        12 => (any::<usize>(), size).prop_map(|(which, size)| Op::Data { which, size }),
        2 => any::<usize>().prop_map(|which| Op::Nack { which }),
        2 => (0u16..2, prop_oneof![
            Just(None), Just(Some(0)), Just(Some(10_000)), (1u64..100_000).prop_map(Some)
        ]).prop_map(|(face, kbps)| Op::Rate { face, kbps }),
        1 => (0u16..2, any::<bool>()).prop_map(|(face, up)| Op::Up { face, up }),
        2 => (0u16..2).prop_map(|face| Op::Read { face }),
        1 => Just(Op::Crash),
    ];
    let step = prop_oneof![4 => Just(0u64), 4 => (1u64..6).prop_map(|n| n * 100_000), 2 => 1u64..3_000_000];
    prop::collection::vec((step, op), 0..120)
}

/// What a driver would have seen on the links.
#[derive(Default, PartialEq, Debug)]
struct Record {
    lines: [Vec<Transmit>; 2],
    reads: Vec<FaceCounters>,
    node: NodeCounters,
}

impl Record {
    fn collect(&mut self, out: Vec<Transmit>) {
        for transmit in out {
            self.lines[transmit.face.index()].push(transmit);
        }
    }
    fn change_rate(&mut self, node: &mut Node, now: Time, face: u16, rate: Option<Rate>) {
        let mut departures = Vec::new();
        node.set_rate(now, FaceId(face), rate, &mut departures);
        let line = &mut self.lines[usize::from(face)];
        let from = line.len() - departures.len();
        for (transmit, (start, end)) in line[from..].iter_mut().zip(departures) {
            (transmit.start, transmit.end) = (start, end);
        }
        self.collect(drain(node));
    }
    fn lose(&mut self, face: usize, n: usize) {
        let line = &mut self.lines[face];
        line.truncate(line.len() - n);
    }
}

fn play(mut node: Node, ops: &[(u64, Op)]) -> Record {
    let (mut now, mut record, mut pending) = (ms(0), Record::default(), Vec::new());
    for (i, (step, op)) in ops.iter().enumerate() {
        now += Duration::from_nanos(*step);
        record.collect(wake(&mut node, now));
        let i = i as u32;
        match *op {
            Op::Interest { size, mark } => {
                pending.push(i);
                node.handle(now, FaceId(0), Packet { size, mark, lifetime_ms: 5 + i % 50, ..interest(i, i) });
            }
            Op::Data { which, size } if !pending.is_empty() => {
                let i = pending.swap_remove(which % pending.len());
                node.handle(now, FaceId(1), Packet { size, ..data(i) });
            }
            Op::Nack { which } if !pending.is_empty() => {
                let i = pending.swap_remove(which % pending.len());
                node.handle(now, FaceId(1), nack(i, i, NackReason::Congestion));
            }
            Op::Rate { face, kbps } => {
                record.change_rate(&mut node, now, face, kbps.map(|k| Rate::from_bps(k * 1000)));
            }
            Op::Up { face, up } => {
                let lost = node.set_up(now, FaceId(face), up);
                record.lose(usize::from(face), lost);
            }
            Op::Read { face } => record.reads.push(node.face_counters(now, FaceId(face))),
            Op::Crash => {
                for (face, lost) in node.crash(now).into_iter().enumerate() {
                    record.lose(face, lost);
                }
            }
            Op::Data { .. } | Op::Nack { .. } => {}
        }
        record.collect(drain(&mut node));
        assert_eq!(node.counters().check(), Ok(()));
    }
    for face in 0..2 {
        record.change_rate(&mut node, now, face, None);
    }
    let end = now + Duration::from_millis(1000);
    record.collect(wake(&mut node, end));
    for face in [FaceId(0), FaceId(1)] {
        let counters = node.face_counters(end, face);
        assert_eq!(counters.check(), Ok(()));
        record.reads.push(counters);
    }
    record.node = node.counters();
    assert_eq!(record.node.check(), Ok(()));
    assert_eq!(record.node.pending, 0, "everything ends");
    record
}

fn both(scheme: &Value, moody: bool, limit: Limit, ops: &[(u64, Op)]) -> (Record, Record) {
    let run = |force_events| {
        let setup = Setup { scheme: scheme.clone(), force_events, ..Setup::default() };
        let face = FaceConfig { framing: Bytes::new(2), limit, ..link(0) };
        let mut node = setup.node(&[face.clone(), face]);
        node.set_route(ms(0), PrefixId(0), &[hop(1, 1)]);
        if moody {
            for face in [FaceId(0), FaceId(1)] {
                let marker = AnyMarker::Custom(Box::new(Moody::default()));
                node.install(ms(0), Custom::Queue(face, Some(marker), None));
            }
        }
        play(node, ops)
    };
    (run(false), run(true))
}

proptest! {
    // A failure prints its smallest case, which then becomes a test of its own.
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_registered_marker_gives_one_trace_with_both_drivers(
        ops in ops(),
        limit in prop_oneof![(1u32..8).prop_map(Limit::Packets), (1300u64..20_000).prop_map(|b| Limit::Bytes(Bytes::new(b)))],
    ) {
        // Queues are too short for the threshold of NFD: it marks, and is at rest again.
        let busy = ["2kB", "0B"].map(|threshold| json!({ "name": "nfd", "threshold": threshold, "interval": "2ms" }));
        for marker in AnyMarker::ALL.iter().map(|info| json!(info.name)).chain(busy) {
            let (settled, eventful) = both(&json!({ "marker": marker }), false, limit, &ops);
            prop_assert_eq!(settled, eventful, "{}", marker);
        }
    }

    #[test]
    fn markers_that_drop_give_one_trace_with_both_drivers(ops in ops(), limit in (1u32..30).prop_map(Limit::Packets)) {
        for marker in [
            json!({ "name": "codel", "action": "drop", "target": "1ms", "interval": "2ms" }),
            json!({ "name": "cobalt", "action": "drop", "target": "1ms", "interval": "2ms", "increment": 0.5 }),
            json!({ "name": "pie", "target": "1ms", "burst": "0ms", "update": "1ms", "beta": 1e3 }),
        ] {
            let (settled, eventful) = both(&json!({ "marker": marker }), false, limit, &ops);
            prop_assert_eq!(settled, eventful, "{}", marker);
        }
    }

    #[test]
    fn disciplines_keep_every_account_whatever_they_drop_and_whichever_the_driver(
        ops in ops(),
        limit in prop_oneof![(1u32..30).prop_map(Limit::Packets), (1300u64..20_000).prop_map(|b| Limit::Bytes(Bytes::new(b)))],
    ) {
        let dropping = json!({ "name": "fq-codel", "action": "drop", "target": "1ms", "interval": "2ms", "mtu": "0B" });
        let few = json!({ "name": "fq-codel", "first-part": 0.5, "flows": 3 });
        for discipline in AnyDiscipline::ALL.iter().map(|info| json!(info.name)).chain([dropping, few]) {
            let (settled, eventful) = both(&json!({ "discipline": discipline }), false, limit, &ops);
            prop_assert_eq!(settled, eventful, "{}", discipline);
        }
    }

    #[test]
    fn a_predictable_marker_that_uses_every_hook_gives_one_trace_with_both_drivers(
        ops in ops(),
        limit in (1u32..8).prop_map(Limit::Packets),
    ) {
        let (settled, eventful) = both(&json!({}), true, limit, &ops);
        prop_assert_eq!(settled, eventful);
    }
}
