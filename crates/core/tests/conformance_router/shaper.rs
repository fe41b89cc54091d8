//! Shapers: every Interest passes, is rejected or is held and released once.

use crate::router;
use ndnweir_core::component::Info;
use ndnweir_core::conformance::{Desk, PATIENCE, RATES, SEEDS};
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::queue::{Limit, QueueView};
use ndnweir_core::registry::{AnyShaper, ShaperParams};
use ndnweir_core::shaper::{
    Admission, Answer, Downstream, FaceView, Outcome, PacketCount, ReleaseEvent, Reverse, ShapeEvent, Shaper,
};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use serde_json::Value;

/// Interests one face may hold at the very most, whatever its parameters: this project's bound on memory.
const MAX_HELD: u32 = 100_000;

struct Face {
    desk: Desk<AnyShaper>,
    view: FaceView,
    reverse: Reverse,
    held: Vec<u32>,
    /// Interests that left and are not answered.
    out: Vec<(Packet, Time)>,
}

impl Face {
    fn new(info: &Info, params: &Value, seed: u64) -> Face {
        let desk = router::desk::<ShaperParams>(info, params, seed);
        let (rate, limit) = (Some(Rate::from_mbps(10.0)), Limit::Packets(100));
        let queue = QueueView { packets: 0, bytes: Bytes::ZERO, limit, rate };
        let face = FaceId(1);
        let view =
            FaceView { face, local: false, rate, open: false, return_rate: rate, queue, sent_bits: 0, offered_bits: 0 };
        Face { desk, view, reverse: Reverse::default(), held: Vec::new(), out: Vec::new() }
    }

    fn admit(&mut self, tag: u32) {
        let packet = Packet { kind: Kind::Interest, size: 40, ..self.desk.packet(tag) };
        let local = self.desk.chance(0.3);
        let (prefix, downstream) = (PrefixId(packet.name.flow.0), self.downstream(local, packet.name.flow));
        let (out, reverse) = (self.view, self.reverse);
        let event = ShapeEvent { packet: &packet, prefix, out, downstream, reverse, base_rtt: None };
        let admission = self.desk.with(|shaper, ctx| shaper.admit(&event, ctx));
        self.desk.record.extend([
            self.desk.now.nanos(),
            match admission {
                Admission::Pass => 1,
                Admission::Hold => 2,
                Admission::Reject(reason) => 3 + reason as u64,
            },
        ]);
        match admission {
            Admission::Pass => self.leaves(packet),
            Admission::Hold => self.held.push(tag),
            Admission::Reject(_) => {}
        }
        self.check();
    }

    /// What waits downstream; of some flows nothing.
    fn downstream(&mut self, local: bool, flow: FlowId) -> Downstream {
        let backlog = self.desk.dice.below(30) as u32 * u32::from(!flow.0.is_multiple_of(3));
        let data = backlog + self.desk.dice.below(40) as u32;
        let credit = (backlog > 0).then(|| Bytes::new(self.desk.dice.below(3000)));
        let flows = self.desk.dice.below(4) as u32;
        Downstream { view: FaceView { face: FaceId(2), local, ..self.view }, data, backlog, flows, credit }
    }

    /// Traffic in the other direction of the face.
    fn pass_reverse(&mut self) {
        let (interests, data) = (self.desk.dice.below(3), self.desk.dice.below(3));
        let add = |tally: &mut PacketCount, packets: u64, bytes: u64| {
            tally.packets += packets;
            tally.bits += packets * bytes * 8;
        };
        add(&mut self.reverse.interests_in, interests, 45);
        add(&mut self.reverse.data_out, data, 1100);
    }

    fn leaves(&mut self, packet: Packet) {
        self.view.sent_bits += packet.bytes().bits();
        self.view.offered_bits += packet.bytes().bits();
        self.out.push((packet, self.desk.now));
    }

    fn check(&self) {
        assert_eq!(self.desk.component.held() as usize, self.held.len(), "held Interests are counted truly");
        assert!(self.desk.component.held() <= MAX_HELD, "held Interests are bounded");
    }

    fn release_one(&mut self) -> Option<Packet> {
        let downstream = self.desk.component.next_held().map(|(_, flow)| self.downstream(false, flow));
        let event = ReleaseEvent { out: self.view, reverse: self.reverse, downstream };
        self.desk.with(|shaper, ctx| shaper.release(&event, ctx))
    }

    /// Takes what is given up and what is released now, as a node does after every hook and wake.
    fn release(&mut self) {
        for _ in 0..PATIENCE {
            while let Some(packet) = self.desk.with(|shaper, _| shaper.discard()) {
                let place = self.held.iter().position(|&tag| tag == packet.tag);
                self.held.swap_remove(place.expect("only what is held is given up, and only once"));
                self.desk.record.extend([self.desk.now.nanos(), 11, u64::from(packet.tag)]);
                self.check();
            }
            while let Some(packet) = self.release_one() {
                let place = self.held.iter().position(|&tag| tag == packet.tag);
                self.held.swap_remove(place.expect("only what is held is released, and only once"));
                self.desk.record.extend([self.desk.now.nanos(), 10, u64::from(packet.tag)]);
                self.leaves(packet);
                self.check();
            }
            if self.desk.component.next_wake() > self.desk.now {
                return;
            }
        }
        panic!("the shaper wants to be woken at one instant forever");
    }

    /// Lets time pass up to `until` with every wake on the way.
    fn pass(&mut self, until: Time) {
        for _ in 0..PATIENCE {
            let wake = self.desk.component.next_wake();
            if wake >= until {
                break;
            }
            self.desk.now = self.desk.now.max(wake);
            self.release();
        }
        self.desk.now = until;
        self.release();
    }

    fn answer(&mut self) {
        let outcome = match self.desk.below(10) {
            0 => Outcome::Timeout,
            1 => Outcome::Nack(NackReason::Congestion),
            2 => Outcome::Nack(NackReason::NoRoute),
            _ => Outcome::Data,
        };
        self.answer_with(outcome);
    }

    fn answer_with(&mut self, outcome: Outcome) {
        if self.out.is_empty() {
            return;
        }
        let (interest, sent) = self.out.swap_remove(self.desk.below(self.out.len()));
        let mark = u8::from(self.desk.chance(0.1));
        let packet = Packet { kind: Kind::Data, size: 1250, payload: 1024, mark, ..interest };
        let (prefix, rtt) = (PrefixId(interest.name.flow.0), Some(self.desk.now.since(sent)));
        let answer = Answer { outcome, packet: &packet, prefix, sent, rtt };
        self.desk.with(|shaper, ctx| shaper.on_answer(&answer, ctx));
        self.check();
    }
}

fn run(info: &Info, params: &Value, seed: u64, operations: u32, calm: bool) -> Vec<u64> {
    let mut face = Face::new(info, params, seed);
    if calm {
        // A burst before anything is known of the path.
        (0..150).for_each(|i| face.admit(operations + i));
        face.release();
    }
    for tag in 0..operations {
        let before = face.desk.now;
        if calm {
            face.desk.now += Duration::from_micros(face.desk.dice.below(2000));
        } else {
            face.desk.wander();
        }
        let now = std::mem::replace(&mut face.desk.now, before);
        face.pass(now);
        let packets = face.desk.below(120) as u32;
        face.view.queue = QueueView { packets, bytes: Bytes::new(u64::from(packets) * 700), ..face.view.queue };
        if !calm && face.desk.chance(0.01) {
            let rates = RATES.map(|bps| Some(Rate::from_bps(bps)));
            face.view.rate = rates[face.desk.below(rates.len())].filter(|_| tag % 7 > 0);
            face.view.return_rate = rates[face.desk.below(rates.len())].filter(|_| tag % 5 > 0);
        }
        face.pass_reverse();
        if calm && tag % 1000 == 999 {
            // A burst, and congestion that lasts.
            (0..700).for_each(|i| face.admit(operations + 1000 * (tag / 1000 + 1) + i));
            (0..80).for_each(|_| face.answer_with(Outcome::Nack(NackReason::Congestion)));
        }
        if face.desk.chance(0.6) {
            face.admit(tag)
        } else {
            face.answer()
        }
        face.release();
    }
    face.desk.finish().unwrap()
}

fn workload(info: &Info, params: &Value) -> Vec<u64> {
    (0..3).flat_map(|seed| run(info, params, seed, 4000, true)).collect()
}

#[test]
fn shapers_conserve_interests_at_any_rate_and_after_any_pause() {
    for info in AnyShaper::ALL {
        for seed in SEEDS {
            run(info, &Value::Null, seed, 1500, false);
        }
    }
}

#[test]
fn shapers_stay_bounded_when_nothing_leaves() {
    for info in AnyShaper::ALL {
        let mut face = Face::new(info, &Value::Null, 0);
        for tag in 0..MAX_HELD + 10 {
            face.admit(tag);
        }
    }
}

#[test]
fn shapers_decide_the_same_in_every_run() {
    router::assert_deterministic(AnyShaper::ALL, workload);
}

#[test]
fn shapers_have_sound_parameters() {
    router::assert_parameters_are_sound(AnyShaper::ALL, AnyShaper::check);
}

#[test]
fn every_parameter_of_a_shaper_has_an_effect() {
    router::assert_parameters_have_effects(AnyShaper::ALL, AnyShaper::check, workload);
}
