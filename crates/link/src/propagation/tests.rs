//! Impairments, faults and changes of a directed link.

use super::*;
use crate::arq::Arq;
use crate::burst::BurstLoss;

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

fn propagation(impairment: Impairment) -> Propagation {
    Propagation::new(Duration::from_millis(10), impairment, 1, 0)
}

fn numbered(n: u32) -> Packet {
    Packet { nonce: n, ..Packet::default() }
}

fn drain(propagation: &mut Propagation) -> Vec<(Time, u32)> {
    let mut out = Vec::new();
    while propagation.next_arrival() < Time::NEVER {
        let at = propagation.next_arrival();
        out.extend(propagation.arrive().map(|entry| (at, entry.packet.nonce)));
        propagation.clear_first();
    }
    out
}

#[test]
fn an_entry_is_as_large_as_designed() {
    assert!(size_of::<InFlight>() <= 88, "{}", size_of::<InFlight>());
}

#[test]
fn the_age_of_the_next_packet_is_the_time_since_it_joined_wherever_it_was_moved_to() {
    let mut propagation = propagation(Impairment::default());
    for i in 0..4 {
        propagation.send(&numbered(i), 0, ms(1), ms(2 + u64::from(i)));
    }
    let mut ages = Vec::new();
    let mut next = |propagation: &mut Propagation| {
        ages.push(propagation.next_age());
        propagation.clear_first();
    };
    next(&mut propagation);
    next(&mut propagation);
    propagation.reschedule(&[(ms(4), ms(8)), (ms(8), ms(12))]);
    next(&mut propagation);
    next(&mut propagation);
    assert_eq!(ages, [11_000_000, 12_000_000, 17_000_000, 21_000_000]);
}

#[test]
fn a_perfect_link_delivers_everything_after_its_delay() {
    let mut propagation = propagation(Impairment::default());
    for i in 0..3 {
        propagation.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
    }
    assert_eq!(drain(&mut propagation), [(ms(10), 0), (ms(11), 1), (ms(12), 2)]);
    assert!(propagation.is_accounted_for());
}

#[test]
fn losses_do_not_depend_on_the_other_impairments() {
    let lossy = Impairment { loss: 0.3, ..Impairment::default() };
    let worse = Impairment { jitter: Duration::from_millis(5), duplicate: 0.2, ..lossy };
    let survivors = |impairment| {
        let mut propagation = propagation(impairment);
        for i in 0..100 {
            propagation.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
        }
        let mut got: Vec<_> = drain(&mut propagation).into_iter().map(|(_, n)| n).collect();
        assert!(propagation.is_accounted_for());
        got.dedup();
        got
    };
    let plain = survivors(lossy);
    assert_eq!(plain, survivors(worse));
    assert!((50..90).contains(&plain.len()), "{}", plain.len());
}

#[test]
fn jitter_keeps_the_order_unless_configured_otherwise() {
    let jitter = Impairment { jitter: Duration::from_millis(30), ..Impairment::default() };
    let order = |impairment| {
        let mut propagation = propagation(impairment);
        for i in 0..50 {
            propagation.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
        }
        let got = drain(&mut propagation);
        assert!(got.is_sorted_by_key(|&(at, _)| at));
        got.into_iter().map(|(_, n)| n).collect::<Vec<_>>()
    };
    assert!(order(jitter).is_sorted());
    assert!(!order(Impairment { jitter_reorders: true, ..jitter }).is_sorted());
}

/// Which of `n` packets, one a millisecond, arrive, and when in ms.
fn crossed(propagation: &mut Propagation, n: u32) -> Vec<(u64, u32)> {
    for i in 0..n {
        propagation.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
    }
    let arrived = drain(propagation).into_iter().map(|(at, n)| (at.nanos() / 1_000_000, n)).collect();
    assert!(propagation.is_accounted_for());
    arrived
}

#[test]
fn burst_losses_come_together_and_are_the_same_for_packets_that_are_sent_again() {
    let burst = BurstLoss { to_bad: 0.02, to_good: 0.25, loss_bad: 1.0, loss_good: 0.0 };
    let bursty = Impairment { burst: Some(burst), ..Impairment::default() };
    let all = crossed(&mut propagation(bursty), 20_000);
    let lost = 1.0 - all.len() as f64 / 20_000.0;
    assert!((lost - burst.mean()).abs() < 0.01, "{lost}");
    let gaps = all.windows(2).filter(|pair| pair[1].1 > pair[0].1 + 1).count() as f64;
    assert!((20_000.0 * lost / gaps - 4.0).abs() < 0.5, "bursts of {}", 20_000.0 * lost / gaps);
    // 300 packets, of which the last 200 are taken back and sent again.
    let mut again = propagation(bursty);
    for i in 0..300 {
        again.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
    }
    again.revoke(200);
    for i in 100..1000 {
        again.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
    }
    let arrived: Vec<u32> = drain(&mut again).into_iter().map(|(_, n)| n).collect();
    assert_eq!(arrived, all.iter().map(|(_, n)| *n).filter(|n| *n < 1000).collect::<Vec<_>>());
}

#[test]
fn other_impairments_leave_burst_losses_alone() {
    let burst = BurstLoss { to_bad: 0.1, to_good: 0.3, loss_bad: 0.8, loss_good: 0.01 };
    let bursty = Impairment { burst: Some(burst), ..Impairment::default() };
    let jittery = Impairment { jitter: Duration::from_millis(3), ..bursty };
    let numbers = |impairment| crossed(&mut propagation(impairment), 500).into_iter().map(|(_, n)| n);
    assert!(numbers(bursty).eq(numbers(jittery)));
}

#[test]
fn retransmissions_of_the_link_layer_delay_by_whole_slots_and_hold_up_those_behind() {
    let arq = Arq { attempts: 4, slot: Duration::from_millis(8), loss: 0.3, in_order: true };
    let all = crossed(&mut propagation(Impairment { arq: Some(arq), ..Impairment::default() }), 2000);
    assert!(all.is_sorted_by_key(|(_, n)| *n), "in order");
    let lost = 1.0 - all.len() as f64 / 2000.0;
    assert!((lost - 0.0081).abs() < 0.006, "{lost} of 0.3⁴");
    let loose = Arq { in_order: false, ..arq };
    let free = crossed(&mut propagation(Impairment { arq: Some(loose), ..Impairment::default() }), 2000);
    assert!(!free.is_sorted_by_key(|(_, n)| *n));
    assert!(free.iter().all(|(at, n)| [10, 18, 26, 34].contains(&(at - u64::from(*n)))));
    // The same attempts, whether those behind wait or not.
    let mut waited: Vec<u32> = free.iter().map(|(_, n)| *n).collect();
    waited.sort_unstable();
    assert_eq!(waited, all.iter().map(|(_, n)| *n).collect::<Vec<_>>());
}

#[test]
fn a_failed_link_loses_what_is_in_flight_and_returns_what_never_left() {
    let mut propagation = propagation(Impairment::default());
    for i in 0..5 {
        propagation.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
    }
    propagation.cut(2);
    assert_eq!((propagation.totals().revoked, propagation.totals().down, propagation.in_flight()), (2, 3, 0));
    assert!(propagation.is_accounted_for());
}

#[test]
fn new_departures_move_only_the_packets_they_name() {
    let mut propagation = propagation(Impairment::default());
    for i in 0..4 {
        propagation.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
    }
    propagation.reschedule(&[(ms(2), ms(5)), (ms(5), ms(8))]);
    assert_eq!(drain(&mut propagation).iter().map(|&(at, _)| at).collect::<Vec<_>>(), [ms(10), ms(11), ms(15), ms(18)]);
}

#[test]
fn a_new_delay_holds_for_packets_that_have_not_left() {
    let mut propagation = propagation(Impairment::default());
    for i in 0..4 {
        propagation.send(&numbered(i), 0, ms(i.into()), ms(i.into()));
    }
    propagation.set_delay(ms(1), Duration::from_millis(2));
    let at: Vec<_> = drain(&mut propagation).iter().map(|&(at, _)| at).collect();
    assert_eq!(at, [ms(10), ms(11), ms(11), ms(11)], "a link does not reorder");
}
