//! Path labels as two simulators have them (yyhtbs/ndnSIM-2.7-SLIM, `codel-mp-route-strategy.cpp`: label · 64 + face;
//! qsccp: label · 10 + face), and routers that follow them; a second model of the numbers, and the components beside
//! it.

use ndnweir_core::component::Env;
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::{Field, FieldLayout};
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::{DataIn, Meter};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::registry::{AnyMeter, AnyStrategy};
use ndnweir_core::strategy::{Arrival, ForwardingDecision, InterestArrival, NextHop, Strategy};
use ndnweir_core::units::{Duration, Time};
use serde_json::json;

/// A Data comes from the producer over nodes by these faces; an Interest with its label follows it back. Which of the
/// faces it takes, and whether every node had a choice of eight.
fn follow(form: &str, faces: &[u16], rng: &mut Rng) -> (u32, Vec<u16>) {
    let mut layout = FieldLayout::new();
    let slot = layout.slot(Field::PathLabel).unwrap();
    let params = json!({ "form": form });
    let (mut packet, mut trace) = (Packet { kind: Kind::Data, size: 1250, ..Packet::default() }, Trace::default());
    let mut ctx = Ctx { now: Time::from_nanos(1), rng, trace: &mut trace };
    for &face in faces {
        let mut meter = AnyMeter::build("path-label", &params, &mut Env { layout: &mut layout }).unwrap();
        let (prefix, rtt) = (PrefixId(0), Duration::from_millis(10));
        let (retransmitted, local) = (false, false);
        let mut event = DataIn { packet: &mut packet, prefix, face: FaceId(face), rtt, retransmitted, local };
        meter.on_data_in(&mut event, &mut ctx);
    }
    let label = packet.fields.get(slot);
    let mut interest = Packet { kind: Kind::Interest, fields: packet.fields, ..Packet::default() };
    let mut taken = Vec::new();
    for _ in faces {
        let mut strategy = AnyStrategy::build("ptp", &params, &mut Env { layout: &mut layout }).unwrap();
        let hops: Vec<NextHop> = (0..8).map(|face| NextHop { face: FaceId(face), cost: 1 }).collect();
        let (in_face, prefix, arrival) = (FaceId(99), PrefixId(0), Arrival::New);
        let (mut note, mut choice) = (0, ForwardingDecision::default());
        let mut event = InterestArrival {
            packet: &interest,
            in_face,
            prefix,
            hops: &hops,
            arrival,
            sent: &[],
            reach: Duration::ZERO,
            note: &mut note,
        };
        strategy.on_interest(&mut event, &mut choice, &mut ctx);
        taken.push(choice.copies()[0].face.0);
        interest = choice.stamped(&interest).unwrap_or(interest);
    }
    (label, taken)
}

#[test]
fn labels_agree_with_both_simulators_and_interests_follow_them_back() {
    let mut dice = Rng::derive(11, &[]);
    let mut rng = Rng::derive(12, &[]);
    for length in 1..=5 {
        for _ in 0..20 {
            let faces: Vec<u16> = (0..length).map(|_| dice.below(8) as u16).collect();
            let back: Vec<u16> = faces.iter().rev().copied().collect();
            for (form, base) in [("shifted", 64), ("decimal", 10)] {
                let (label, taken) = follow(form, &faces, &mut rng);
                // Faces count from 1, so that none is no digit.
                let expected = faces.iter().fold(0_u32, |label, &face| label * base + u32::from(face) + 1);
                assert_eq!((label, &taken), (expected, &back), "{form} {faces:?}");
            }
        }
    }
    // Of six hops the digit of the farthest is lost: the others are followed, and there the node draws.
    let drawn: std::collections::BTreeSet<u16> =
        (0..100).map(|_| follow("shifted", &[3, 1, 2, 3, 4, 5], &mut rng).1[5]).collect();
    assert!(drawn.len() == 8, "{drawn:?}");
}
