//! Meters: what they report is a measurement, whatever passes.

use crate::router;
use ndnweir_core::component::Info;
use ndnweir_core::conformance::{Desk, PATIENCE, RATES, SEEDS};
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::{DataIn, DataOut, InterestOut, Meter, Report};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{Limit, QueueView};
use ndnweir_core::registry::{AnyMeter, MeterParams};
use ndnweir_core::shaper::FaceView;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use serde_json::Value;

fn faces(desk: &mut Desk<AnyMeter>, calm: bool) -> Vec<FaceView> {
    let sent_bits = desk.now.nanos() / 200;
    let mut views = Vec::new();
    for face in 0..3 {
        let packets = desk.below(101) as u32;
        let rate = match calm {
            true => Some(Rate::from_mbps(10.0)),
            false => [None, Some(Rate::from_bps(RATES[desk.below(RATES.len())]))][desk.below(2)],
        };
        let (limit, bytes) = (Limit::Packets(100), Bytes::new(u64::from(packets) * 1250));
        let queue = QueueView { packets, bytes, limit, rate };
        let offered_bits = offered(desk.now);
        let (face, local) = (FaceId(face), face == 0);
        views.push(FaceView { face, local, rate, open: false, return_rate: rate, queue, sent_bits, offered_bits });
    }
    views
}

/// Bits offered to a face: 9 and 8.2 Mbit/s in turn, 400 ms each.
fn offered(now: Time) -> u64 {
    let (turn, rounds) = (400_000_000, now.nanos() / 800_000_000);
    let busy = rounds * turn + (now.nanos() % (2 * turn)).min(turn);
    (now.nanos() / 10_000 * 82) + busy / 10_000 * 8
}

/// Lets time pass up to `until` with every period on the way.
fn pass(desk: &mut Desk<AnyMeter>, until: Time, calm: bool) {
    for _ in 0..PATIENCE {
        let wake = desk.component.next_wake();
        if wake > until {
            break;
        }
        desk.now = desk.now.max(wake);
        let (views, mut reports) = (faces(desk, calm), Vec::new());
        desk.with(|meter, ctx| meter.on_period(&views, &mut reports, ctx));
        assert!(desk.component.next_wake() > desk.now, "the next period lies ahead");
        for report in reports {
            let face = match report {
                Report::Interface { face, utilization, occupancy } => {
                    assert!(utilization.is_finite() && utilization >= 0.0, "{report:?}");
                    assert!((0.0..=1.0).contains(&occupancy), "{report:?}");
                    desk.record.extend([utilization.to_bits(), occupancy.to_bits()]);
                    face
                }
                Report::Signal { face } => face,
                Report::PrefixRate { prefix, face, rate } => {
                    desk.record.extend([u64::from(prefix.0), rate.bps()]);
                    face
                }
            };
            assert!(views.iter().any(|view| view.face == face), "{report:?}");
            desk.record.push(u64::from(face.0));
        }
    }
    desk.now = until;
}

fn run(info: &Info, params: &Value, seed: u64, operations: u32, calm: bool) -> Vec<u64> {
    let mut desk = router::desk::<MeterParams>(info, params, seed);
    for tag in 0..operations {
        let before = desk.now;
        if calm {
            desk.now += Duration::from_micros(desk.dice.below(2000));
        } else {
            desk.wander();
        }
        let now = std::mem::replace(&mut desk.now, before);
        pass(&mut desk, now, calm);
        let mut packet = desk.packet(tag);
        let (prefix, face) = (PrefixId(packet.name.flow.0), FaceId(desk.dice.below(3) as u16));
        let retransmitted = desk.chance(0.05);
        match desk.below(3) {
            0 => {
                packet.kind = Kind::Interest;
                let mut event = InterestOut { packet: &mut packet, prefix, face };
                desk.with(|meter, ctx| meter.on_interest_out(&mut event, ctx));
            }
            1 => {
                packet.kind = Kind::Data;
                let (rtt, local) = (Duration::from_micros(desk.dice.below(200_000)), face.0 == 0);
                let mut event = DataIn { packet: &mut packet, prefix, face, rtt, retransmitted, local };
                desk.with(|meter, ctx| meter.on_data_in(&mut event, ctx));
            }
            _ => {
                packet.kind = Kind::Data;
                let interest_arrival = desk.now - Duration::from_micros(desk.dice.below(200_000));
                let (interest_fields, from_cache, flows) = (packet.fields, desk.chance(0.1), desk.dice.below(4) as u32);
                let packet = &mut packet;
                let mut event = DataOut {
                    packet,
                    prefix,
                    face,
                    interest_arrival,
                    retransmitted,
                    interest_fields: &interest_fields,
                    from_cache,
                    flows,
                };
                desk.with(|meter, ctx| meter.on_data_out(&mut event, ctx));
            }
        }
        let Packet { mark, fields, .. } = packet;
        let text = format!("{mark} {fields:?}");
        desk.record.extend(text.bytes().map(u64::from));
    }
    desk.finish().unwrap()
}

fn workload(info: &Info, params: &Value) -> Vec<u64> {
    (0..3).flat_map(|seed| run(info, params, seed, 4000, true)).collect()
}

#[test]
fn meters_measure_at_any_rate_and_after_any_pause() {
    for info in AnyMeter::ALL {
        for seed in SEEDS {
            run(info, &Value::Null, seed, 1500, false);
        }
    }
}

#[test]
fn meters_decide_the_same_in_every_run() {
    router::assert_deterministic(AnyMeter::ALL, workload);
}

#[test]
fn meters_have_sound_parameters() {
    router::assert_parameters_are_sound(AnyMeter::ALL, AnyMeter::check);
}

#[test]
fn every_parameter_of_a_meter_has_an_effect() {
    router::assert_parameters_have_effects(AnyMeter::ALL, AnyMeter::check, workload);
}
