//! What shapers, strategies and meters see and may do.

use crate::common::*;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, FlowId, NameId, PrefixId};
use ndnweir_core::meter::{DataIn, DataOut, InterestOut, Meter, Report};
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::planner::{Order, RouterId};
use ndnweir_core::registry::{AnyMeter, AnyShaper, AnyStrategy};
use ndnweir_core::shaper::{Admission, Answer, FaceView, Outcome, ReleaseEvent, ShapeEvent, Shaper};
use ndnweir_core::strategy::{ForwardingDecision, InterestArrival, Released, Strategy, TimeoutEvent};
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::{Custom, Node};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

const I: Kind = Kind::Interest;
const D: Kind = Kind::Data;
const N: Kind = Kind::Nack;

type Log = Arc<Mutex<Vec<String>>>;

fn take(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

/// One Interest outstanding; `room` more are held, the rest rejected. Held ones leave on an answer or after 100 ms.
struct OneAtATime {
    outstanding: u32,
    room: usize,
    held: VecDeque<Packet>,
    wake: Time,
    log: Log,
}

impl Shaper for OneAtATime {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        assert_eq!(event.out.queue.packets + event.downstream.backlog, event.out.queue.packets);
        if self.outstanding == 0 {
            self.outstanding = 1;
            Admission::Pass
        } else if self.held.len() < self.room {
            self.held.push_back(*event.packet);
            self.wake = ctx.now + Duration::from_millis(100);
            Admission::Hold
        } else {
            Admission::Reject(NackReason::Congestion)
        }
    }
    fn release(&mut self, _: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if self.outstanding > 0 && ctx.now < self.wake {
            return None;
        }
        let packet = self.held.pop_front();
        if packet.is_some() {
            self.outstanding += 1;
            self.wake = ctx.now + Duration::from_millis(100);
        } else {
            self.wake = Time::NEVER;
        }
        packet
    }
    fn on_answer(&mut self, answer: &Answer<'_>, _: &mut Ctx<'_>) {
        self.outstanding -= 1;
        self.log.lock().unwrap().push(format!(
            "{:?} {:?}",
            answer.outcome,
            answer.rtt.map(|rtt| rtt.nanos() / 1_000_000)
        ));
    }
    fn next_wake(&self) -> Time {
        self.wake
    }
    fn held(&self) -> u32 {
        self.held.len() as u32
    }
}

fn shaped(room: usize) -> (Node, Log) {
    let (mut node, log) = (router(&Setup::default()), Log::default());
    let shaper = OneAtATime { outstanding: 0, room, held: VecDeque::new(), wake: Time::NEVER, log: log.clone() };
    node.install(ms(0), Custom::Shaper(FaceId(1), AnyShaper::Custom(Box::new(shaper))));
    (node, log)
}

#[test]
fn a_held_interest_leaves_when_the_shaper_lets_it_go_and_its_round_trip_starts_then() {
    let (mut node, log) = shaped(2);
    assert_eq!(summary(&give(&mut node, ms(0), 0, interest(1, 1))), [(1, I)]);
    assert!(give(&mut node, ms(1), 0, interest(2, 2)).is_empty());
    assert_eq!((node.counters().held, node.counters().pit), (1, 2));
    let out = give(&mut node, ms(10), 1, data(1));
    assert_eq!(summary(&out), [(0, D), (1, I)]);
    give(&mut node, ms(15), 1, data(2));
    assert_eq!(take(&log), ["Data Some(10)", "Data Some(5)"]);
    assert_eq!(node.counters().held, 0);
}

#[test]
fn a_held_interest_leaves_at_the_time_requested_by_the_shaper() {
    let (mut node, _) = shaped(2);
    give(&mut node, ms(0), 0, interest(1, 1));
    give(&mut node, ms(1), 0, interest(2, 2));
    assert!(node.poll_timeout() <= ms(101));
    let out = wake(&mut node, ms(101));
    assert_eq!(summary(&out), [(1, I)]);
    assert_eq!(out[0].start, ms(101));
}

/// Holds the last Interest that came, and gives up the one before.
#[derive(Default)]
struct LastOnly {
    held: Option<Packet>,
    given_up: Option<Packet>,
}

impl Shaper for LastOnly {
    fn admit(&mut self, event: &ShapeEvent<'_>, _: &mut Ctx<'_>) -> Admission {
        self.given_up = self.held.replace(*event.packet);
        Admission::Hold
    }
    fn discard(&mut self) -> Option<Packet> {
        self.given_up.take()
    }
    fn held(&self) -> u32 {
        u32::from(self.held.is_some()) + u32::from(self.given_up.is_some())
    }
}

#[test]
fn an_interest_that_the_shaper_gives_up_is_rejected_and_forgotten() {
    let mut node = router(&Setup::default());
    node.set_route(ms(0), PrefixId(0), &[hop(1, 1)]);
    node.install(ms(0), Custom::Shaper(FaceId(1), AnyShaper::Custom(Box::new(LastOnly::default()))));
    assert!(give(&mut node, ms(0), 0, interest(1, 1)).is_empty());
    let out = give(&mut node, ms(1), 0, interest(2, 2));
    assert_eq!((summary(&out), out[0].packet.reason), (vec![(0, N)], NackReason::Congestion));
    assert_eq!(out[0].packet.name, interest(1, 1).name);
    assert_eq!((node.counters().pit, node.counters().held, node.counters().rejected), (1, 1, 1));
    node.counters().check().unwrap();
}

#[test]
fn a_rejected_interest_tries_the_other_hop_and_is_rejected_when_there_is_none() {
    let (mut node, _) = shaped(0);
    give(&mut node, ms(0), 0, interest(1, 1));
    assert_eq!(summary(&give(&mut node, ms(1), 0, interest(2, 2))), [(2, I)]);
    node.set_route(ms(1), PrefixId(0), &[hop(1, 1)]);
    let out = give(&mut node, ms(2), 0, interest(3, 3));
    assert_eq!((summary(&out), out[0].packet.reason), (vec![(0, N)], NackReason::Congestion));
    assert_eq!((node.counters().rejected, node.counters().pit), (1, 2));
}

#[test]
fn a_held_interest_that_is_no_longer_pending_is_dropped_and_counted() {
    let (mut node, _) = shaped(2);
    give(&mut node, ms(0), 0, interest(1, 1));
    give(&mut node, ms(1), 0, Packet { lifetime_ms: 10, ..interest(2, 2) });
    assert!(give(&mut node, ms(50), 1, data(1)).iter().all(|t| t.packet.kind == D));
    assert_eq!((node.counters().held_stale, node.counters().expired), (1, 1));
}

#[test]
fn every_interest_that_left_is_answered_to_its_shaper_once_whatever_happens() {
    let (mut node, log) = shaped(9);
    give(&mut node, ms(0), 0, Packet { lifetime_ms: 10, ..interest(1, 1) });
    wake(&mut node, ms(10));
    give(&mut node, ms(20), 0, interest(2, 2));
    give(&mut node, ms(23), 1, nack(2, 2, NackReason::Congestion));
    give(&mut node, ms(30), 0, interest(3, 3));
    give(&mut node, ms(50), 0, interest(3, 4));
    assert_eq!(summary(&give(&mut node, ms(60), 2, data(3))), [(0, D)], "the second hop answers first");
    assert_eq!(take(&log), ["Timeout Some(10)", "Nack(Congestion) Some(3)", "Superseded Some(30)"]);
    let _: Outcome = Outcome::Superseded;
}

/// Holds every Interest for 7 ms, then sends it to face 2.
struct Late(VecDeque<(Time, Packet)>, Log);

impl Strategy for Late {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        self.0.push_back((ctx.now + Duration::from_millis(7), *event.packet));
        choice.hold();
    }
    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, ctx: &mut Ctx<'_>) {
        self.1.lock().unwrap().push(format!("{:?} {}", ctx.now, event.sent.len()));
    }
    fn release(&mut self, ctx: &mut Ctx<'_>) -> Option<Released> {
        let due = self.0.front()?.0 <= ctx.now;
        let (_, packet) = if due { self.0.pop_front()? } else { return None };
        Some(Released { packet, face: FaceId(2), held: true })
    }
    fn next_wake(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |held| held.0)
    }
}

#[test]
fn a_strategy_may_hold_interests_and_is_notified_of_their_timeouts() {
    let (mut node, log) = (router(&Setup::default()), Log::default());
    node.install(ms(0), Custom::Strategy(AnyStrategy::Custom(Box::new(Late(VecDeque::new(), log.clone())))));
    assert!(give(&mut node, ms(0), 0, interest(1, 1)).is_empty());
    assert!(give(&mut node, ms(3), 0, Packet { lifetime_ms: 5, ..interest(2, 2) }).is_empty());
    let out = wake(&mut node, ms(20));
    assert_eq!(out.iter().map(|t| (t.face.0, t.start)).collect::<Vec<_>>(), [(2, ms(7))]);
    assert_eq!(node.counters().held_stale, 1);
    wake(&mut node, ms(2000));
    assert_eq!(take(&log), ["t=0.008000000s 0", "t=1.000000000s 1"]);
}

/// Requests the same instant repeatedly.
struct Stuck;

impl Strategy for Stuck {
    fn on_interest(&mut self, _: &mut InterestArrival<'_>, _: &mut ForwardingDecision, _: &mut Ctx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::ZERO
    }
}

#[test]
fn a_component_that_always_wants_to_be_woken_does_not_stop_the_clock() {
    let mut node = router(&Setup::default());
    node.install(ms(0), Custom::Strategy(AnyStrategy::Custom(Box::new(Stuck))));
    for _ in 0..3 {
        let at = node.poll_timeout();
        node.handle_timeout(at);
        assert!(node.poll_timeout() > at);
    }
}

struct Watch(Log, Time);

impl Meter for Watch {
    fn on_interest_out(&mut self, event: &mut InterestOut<'_>, _: &mut Ctx<'_>) {
        self.0.lock().unwrap().push(format!("interest out {}", event.face.0));
    }
    fn on_data_in(&mut self, event: &mut DataIn<'_>, _: &mut Ctx<'_>) {
        let rtt = event.rtt.nanos() / 1_000_000;
        self.0.lock().unwrap().push(format!("data in {} rtt {rtt} again {}", event.face.0, event.retransmitted));
        event.packet.mark = 3;
    }
    fn on_data_out(&mut self, event: &mut DataOut<'_>, ctx: &mut Ctx<'_>) {
        let since = ctx.now.since(event.interest_arrival).nanos() / 1_000_000;
        let line = format!("data out {} after {since} flows {}", event.face.0, event.flows);
        self.0.lock().unwrap().push(line);
        assert_eq!(event.packet.mark, 3, "what the meter marked passes the strategy");
    }
    fn next_wake(&self) -> Time {
        self.1
    }
    fn on_period(&mut self, faces: &[FaceView], reports: &mut Vec<Report>, _: &mut Ctx<'_>) {
        self.1 = Time::NEVER;
        let utilization = faces[0].sent_bits as f64;
        reports.push(Report::Interface { face: faces[0].face, utilization, occupancy: 0.0 });
    }
}

#[test]
fn a_meter_sees_every_hook_and_how_many_flows_wait_behind_a_face() {
    let (mut node, log) = (router(&Setup::default()), Log::default());
    node.bind_flow(FlowId(1), Some(PrefixId(0)));
    node.install(ms(0), Custom::Meter(AnyMeter::Custom(Box::new(Watch(log.clone(), ms(40))))));
    give(&mut node, ms(0), 0, interest(1, 1));
    give(&mut node, ms(1), 0, interest(2, 2));
    let other = NameId { flow: FlowId(1), segment: 0 };
    give(&mut node, ms(2), 0, Packet { name: other, ..interest(0, 3) });
    take(&log);
    give(&mut node, ms(20), 0, interest(1, 4));
    give(&mut node, ms(25), 2, data(1));
    give(&mut node, ms(31), 1, data(2));
    let expected = [
        "interest out 2",
        "data in 2 rtt 5 again false",
        "data out 0 after 5 flows 2",
        "data in 1 rtt 30 again false",
        "data out 0 after 30 flows 2",
    ];
    assert_eq!(take(&log), expected);
    wake(&mut node, ms(40));
    let expected = Report::Interface { face: FaceId(0), utilization: 20_000.0, occupancy: 0.0 };
    assert_eq!(node.drain_reports().collect::<Vec<_>>(), [expected]);
}

#[test]
fn an_order_of_the_planner_changes_the_costs_for_the_next_new_interest() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 1));
    let order = Order { router: RouterId(0), prefix: PrefixId(0), hops: vec![hop(1, 9), hop(2, 2)], election: 1 };
    assert!(node.apply_order(ms(1), &order));
    assert_eq!((node.next_hops(PrefixId(0)), node.fib_entries()), (&[hop(2, 2), hop(1, 9)][..], 1));
    assert_eq!(summary(&give(&mut node, ms(2), 0, interest(2, 2))), [(2, I)]);
}
