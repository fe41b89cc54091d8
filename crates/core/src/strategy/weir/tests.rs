use super::super::OutRecord;
use super::super::harness::Bench;
use super::*;
use crate::fields::Fields;
use crate::packet::{Kind, Packet};
use crate::shared::explicit::ending_to_field;
use crate::shared::weir::OPEN;
use serde_json::json;

mod neighbours;

fn bench() -> Bench<Weir> {
    Bench::new(
        &json!({ "first-share": 0.01, "least": 0.01, "gain": 0.5, "breadth": 0.5, "reaction": "100ms" }),
        &[(1, 1), (2, 2)],
    )
}

/// A Data from `face` whose path has this level and soft level, in kbit/s.
fn data(bench: &mut Bench<Weir>, ms: u64, face: u16, level: u32, soft: u32) {
    let mut packet = Packet { kind: Kind::Data, ..Packet::default() };
    packet.fields.set(bench.strategy.slots.rate, level);
    packet.fields.set(bench.strategy.slots.soft, soft);
    bench.data_with(ms, FaceId(face), &packet, false, &Fields::default());
}

/// Shares moved last at 0 ms, and no first level has moved them.
fn rested(bench: &mut Bench<Weir>) {
    let entry = &mut bench.strategy.prefixes[0];
    (entry.begun, entry.changed) = (None, Time::ZERO);
}

fn near(shares: &[f64], wanted: [f64; 2]) -> bool {
    shares.iter().zip(wanted).all(|(share, wanted)| (share - wanted).abs() < 1e-9)
}

// Shares 1/1.01 and 0.01/1.01: one of 101 Interests takes the second next hop.
#[test]
fn next_hops_take_turns_by_their_shares() {
    let mut bench = bench();
    assert!(near(&bench.shares(), [1.0 / 1.01, 0.01 / 1.01]));
    let sent: Vec<u16> = (0..1010).map(|_| bench.interest(0, 0, Arrival::New, &[])[0]).collect();
    assert_eq!(sent.iter().filter(|&&face| face == 2).count(), 10);
    let at: Vec<usize> = (0..1010).filter(|&i| sent[i] == 2).collect();
    assert!(at.windows(2).all(|pair| (100..=102).contains(&(pair[1] - pair[0]))), "evenly apart: {at:?}");
    assert_eq!(bench.interest(0, 1, Arrival::New, &[]), [2], "not back to where it came from");
}

// Levels 1000 and 3000, no narrow link beside. The first level of the second makes shares of 1 and 0.01 to 1 and 0.03: s =
// 0.03/1.03. Mean of what counts, each at most twice min(mean, 2 · lowest): the mean is 1000 · (1 − s) + 3000 · s =
// 1058.252, so that 3000 counts as 2116.505: middle = 1000 · (1 − s) + 2116.505 · s = 1032.520. 50 ms of a reaction of 100
// ms: the first moves by 0.5 · 0.5 · (1000/1032.520 − 1) = -0.007874, the second by 0.25 · 1 (its ratio is cut), each of
// itself as often as there are moments in between. Then the sum is 1 again.
#[test]
fn shares_move_towards_the_higher_level() {
    let mut bench = bench();
    data(&mut bench, 10, 1, 1000, 1000);
    assert!(near(&bench.shares(), [1.0 / 1.01, 0.01 / 1.01]), "the second has not told its level");
    data(&mut bench, 50, 2, 3000, 3000);
    rested(&mut bench);
    data(&mut bench, 50, 2, 3000, 3000);
    let (first, second) = (libm::exp(-0.0078738), 0.03 * libm::exp(0.25));
    let shares = bench.shares();
    assert!((shares[0] - first / (first + second)).abs() < 1e-6, "{shares:?}");
    for ms in 6..400 {
        data(&mut bench, 10 * ms, 1, 1000, 1000);
        data(&mut bench, 10 * ms, 2, 3000, 3000);
    }
    // At the end all but the least, which is 0.01 times the level over the mean, 1000/2993.
    assert!((bench.shares()[0] - 0.00333).abs() < 0.00002, "{:?}", bench.shares());
}

// As above, but with a round trip of 50 ms over the second: 50 ms of 100 + 2 · 50 are a quarter, in place of a half.
#[test]
fn shares_move_as_slowly_as_the_longest_way_answers() {
    let mut bench = bench();
    data(&mut bench, 10, 1, 1000, 1000);
    data(&mut bench, 50, 2, 3000, 3000);
    rested(&mut bench);
    let hop = &mut bench.strategy.prefixes[0].hops[1];
    (hop.asked, hop.srtt) = (Some(Time::ZERO), Some(Duration::from_millis(50)));
    data(&mut bench, 50, 2, 3000, 3000);
    let (first, second) = (libm::exp(-0.0039369), 0.03 * libm::exp(0.125));
    let shares = bench.shares();
    assert!((shares[0] - first / (first + second)).abs() < 1e-6, "{shares:?}");
}

// Mean round trip 10 ms, shares 1/1.01 and 0.01/1.01. Of the first nothing came after 20 ms, until 30 ms.
#[test]
fn a_next_hop_that_falls_silent_gives_its_share_away_and_one_that_answers_others_does_not() {
    use super::super::harness::sent;
    let share = |retransmitted_at: u64, answered_at: u64| {
        let mut bench = bench();
        assert_eq!(bench.interest(0, 0, Arrival::New, &[]), [1]);
        bench.data_at(10, 1, &[sent(1, 0)]);
        bench.strategy.prefixes[0].hops[0].seen = Time::from_nanos(answered_at * 1_000_000);
        bench.interest(retransmitted_at, 0, Arrival::Retransmission, &[sent(1, 20)]);
        bench.shares()[0]
    };
    let before = 1.0 / 1.01;
    let halved = before / 2.0 / (before / 2.0 + 0.01 / 1.01);
    for (at, answered, wanted) in [(41, 10, halved), (40, 10, before), (41, 20, before)] {
        assert!((share(at, answered) - wanted).abs() < 1e-9, "{at} {answered}: {}", share(at, answered));
    }
}

#[test]
fn next_hops_of_least_cost_begin_with_equal_shares_and_others_with_a_part_of_these() {
    let bench: Bench<Weir> = Bench::new(&json!({ "first-share": 0.5 }), &[(1, 1), (2, 2), (3, 1)]);
    let shares = bench.shares();
    let wanted = [1.0 / 2.5, 0.5 / 2.5, 1.0 / 2.5];
    assert!(shares.iter().zip(wanted).all(|(share, wanted)| (share - wanted).abs() < 1e-9), "{shares:?}");
}

// Equal least levels of 1000; the second path has another narrow link: soft 600. With breadth 0.5 its level counts as
// 1000 − 0.5 · 400 = 800, and the first's, whose soft level is 990, as 995.
#[test]
fn of_equal_levels_the_path_without_a_second_narrow_link_gets_more() {
    let mut bench = bench();
    data(&mut bench, 1, 1, 1000, 990);
    data(&mut bench, 1, 2, 1000, 600);
    let levels: Vec<f64> = bench.strategy.prefixes[0].hops.iter().map(|hop| hop.level).collect();
    assert_eq!(levels, [995e3, 800e3]);
}

// A flow that nothing on its paths bounds is told 1000 kbit/s over each, all that it can reach at once. Soft levels of
// 1600 and 2560 count as the fourth roots of 1.6 and 2.56, and those of 4000 and more as that of 4.
#[test]
fn of_paths_that_do_not_bound_a_flow_the_freer_counts_more() {
    let mut bench = bench();
    data(&mut bench, 1, 1, 1000, 1600);
    data(&mut bench, 1, 2, 1000, 2560);
    let levels: Vec<f64> = bench.strategy.prefixes[0].hops.iter().map(|hop| hop.level).collect();
    let wanted = [libm::pow(1.6, 0.25) * 1e6, libm::pow(2.56, 0.25) * 1e6];
    assert!(levels.iter().zip(wanted).all(|(level, wanted)| (level / wanted - 1.0).abs() < 1e-9), "{levels:?}");
    let mut bench = self::bench();
    data(&mut bench, 1, 1, 1000, 4000);
    data(&mut bench, 1, 2, 1000, 90_000);
    let levels: Vec<f64> = bench.strategy.prefixes[0].hops.iter().map(|hop| hop.level).collect();
    let most = 2_f64.sqrt() * 1e6;
    assert!(levels.iter().all(|level| (level / most - 1.0).abs() < 1e-9), "{levels:?}");
}

// Levels of 1 kbit/s, 5 and 10 Mbit/s with shares of 0.01, 0.49 and 0.5. The mean is 7.45, so that none is cut by it; by
// four times the lowest all above would count alike, and their shares would stay as they are.
#[test]
fn a_next_hop_that_tells_next_to_nothing_hides_no_difference_between_the_others() {
    let mut bench: Bench<Weir> = Bench::new(&json!({ "least": 0.001 }), &[(1, 1), (2, 1), (3, 1)]);
    let entry = &mut bench.strategy.prefixes[0];
    for (hop, (share, level)) in entry.hops.iter_mut().zip([(0.01, 1e3), (0.49, 5e6), (0.5, 10e6)]) {
        (hop.share, hop.level) = (share, level);
    }
    assert_eq!(entry.low(), 5e6);
    entry.shift(&Params { gain: 1.0, ..Params::default() }, 0.1);
    let middle = 0.01 * 1e3 + 0.49 * 5e6 + 0.5 * 10e6;
    let ratio = 0.5 / 0.49 * libm::exp(0.1 * (10e6 - 5e6) / middle);
    let shares = bench.shares();
    assert!((shares[2] / shares[1] - ratio).abs() < 1e-9, "{shares:?}");
}

// Equal shares at first, then levels of 60 and 20 Mbit/s: 3 to 1 at once, whichever is told first. Half a millisecond later
// no share has moved by itself.
#[test]
fn the_first_levels_set_shares_at_once() {
    for order in [[(1, 60_000), (2, 20_000)], [(2, 20_000), (1, 60_000)]] {
        let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
        bench.strategy.prefixes[0].changed = Time::from_nanos(10_000_000);
        order.iter().for_each(|&(face, level)| data(&mut bench, 10, face, level, level));
        assert!(near(&bench.shares(), [0.75, 0.25]), "{:?}", bench.shares());
    }
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    bench.strategy.prefixes[0].changed = Time::from_nanos(10_000_000);
    data(&mut bench, 10, 1, 100, 100);
    data(&mut bench, 10, 2, 100_000, 100_000);
    assert!(near(&bench.shares(), [1.0 / 17.0, 16.0 / 17.0]), "no more than sixteenfold: {:?}", bench.shares());
}

/// The pace that an Interest to the next hop in turn would state, if not its own.
fn stated(bench: &mut Bench<Weir>) -> (u16, Option<u32>) {
    let choice = bench.choice(0, 0, Arrival::New, &[]);
    let rate = bench.strategy.slots.rate;
    let mut packet = Packet { kind: Kind::Interest, ..Packet::default() };
    packet.fields.set(rate, 60_000);
    (choice.copies()[0].face.0, choice.stamped(&packet).map(|packet| packet.fields.get(rate)))
}

// Shares 1/1.5 and 0.5/1.5: the second next hop has its turn second.
#[test]
fn the_first_interest_to_a_next_hop_states_no_pace_and_others_keep_theirs() {
    let mut bench: Bench<Weir> = Bench::new(&json!({ "first-share": 0.5 }), &[(1, 1), (2, 2)]);
    let said: Vec<_> = (0..4).map(|_| stated(&mut bench)).collect();
    assert_eq!(said, [(1, Some(1)), (2, Some(1)), (1, None), (1, None)]);
}

// Ten flows begin at once: the first next hop tells the first of them 60 Mbit/s and, 40 ms later, 6 each. The second tells
// the first of them 20, which is a third of what the first told, and not three times as much as now. Two seconds later it
// is what is told at that time that counts.
#[test]
fn of_next_hops_that_begin_together_the_first_levels_are_compared() {
    for (at, wanted) in [(60, 0.75), (2000, 0.23)] {
        let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
        data(&mut bench, 10, 1, 60_000, 60_000);
        for ms in (11..at).step_by(1) {
            data(&mut bench, ms, 1, 6000, 6000);
        }
        data(&mut bench, at, 2, 20_000, 20_000);
        assert!((bench.shares()[0] - wanted).abs() < 0.005, "{at}: {:?}", bench.shares());
    }
}

// The reaction is 100 ms, without round trips. After first levels of 3 and 1 the second still tells less than the first.
#[test]
fn after_a_first_level_shares_rest_for_a_reaction() {
    let mut bench: Bench<Weir> = Bench::new(&json!({ "reaction": "100ms" }), &[(1, 1), (2, 1)]);
    data(&mut bench, 10, 1, 3000, 3000);
    let shares = [20, 60, 119, 130, 180].map(|ms| {
        data(&mut bench, ms, 2, 1000, 1000);
        bench.shares()[0]
    });
    assert_eq!(shares[..3], [0.75; 3]);
    assert!(shares[3] > 0.75 && shares[4] > shares[3], "{shares:?}");
}

// The second next hop was asked at 0 ms. Until it answers it takes at least twice as long as that is ago, so that nothing
// that went there is taken for lost; after 300 ms it is not waited for.
#[test]
fn a_next_hop_that_has_not_answered_yet_counts_as_twice_as_long_as_it_has_taken() {
    use super::super::harness::sent;
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    assert_eq!((bench.interest(0, 0, Arrival::New, &[]), bench.interest(0, 0, Arrival::New, &[])), (vec![1], vec![2]));
    let longer = [(10, 10), (40, 70), (299, 588), (300, 0)].map(|(ms, wanted)| {
        bench.data_at(ms, 1, &[sent(1, ms - 10)]);
        (bench.strategy.prefixes[0].longer.nanos() / 1_000_000, wanted)
    });
    assert!(longer.iter().all(|(longer, wanted)| longer == wanted), "{longer:?}");
}

// What was sent to the long way at 0 ms was sent to the other meanwhile, which answered.
#[test]
fn a_late_data_tells_the_first_level_of_a_way_that_was_asked_and_how_long_it_takes() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    let mut late = Packet { kind: Kind::Data, ..Packet::default() };
    late.fields.set(bench.strategy.slots.rate, 20_000);
    data(&mut bench, 10, 1, 60_000, 60_000);
    bench.late(60, 2, &late);
    assert_eq!(bench.shares(), [0.5, 0.5], "nothing was asked there");
    bench.interest(0, 0, Arrival::New, &[]);
    bench.interest(0, 0, Arrival::New, &[]);
    bench.late(63, 2, &late);
    assert!(near(&bench.shares(), [0.75, 0.25]), "{:?}", bench.shares());
    assert_eq!(bench.strategy.prefixes[0].hops[1].srtt, Some(Duration::from_millis(63)));
}

// Two seconds between two Data are 20 reactions of 100 ms; four of these count. Equal shares, levels 1000 and 3000, cut at
// 4000: the mean is 2000, e is −½ and ½, and with a gain of 0.5 the ratio of shares becomes e² = exp(0.5 · 4 · 1).
#[test]
fn where_data_are_far_apart_shares_move_by_several_reactions_at_once() {
    let mut bench = bench();
    for (hop, level) in bench.strategy.prefixes[0].hops.iter_mut().zip([1e6, 3e6]) {
        (hop.share, hop.level) = (0.5, level);
    }
    data(&mut bench, 2000, 2, 3000, 3000);
    let shares = bench.shares();
    assert!((shares[1] / shares[0] - libm::exp(2.0)).abs() < 1e-6, "{shares:?}");
}

#[test]
fn a_next_hop_that_does_not_answer_loses_its_level() {
    let mut bench = bench();
    data(&mut bench, 1, 1, 1000, 1000);
    let sent = [super::super::harness::sent(1, 10)];
    assert_eq!(bench.interest(900, 0, Arrival::Retransmission, &sent), [2]);
    assert!((bench.strategy.prefixes[0].hops[0].level - 900e3).abs() < 1e-6);
    bench.timeout(&sent);
    assert!((bench.strategy.prefixes[0].hops[0].level - 450e3).abs() < 1e-6);
}

// Round trips of 10 ms, and over the second 30 ms at least, as the first answered after them; then 70 ms: 30 + 40/8.
#[test]
fn data_say_by_how_much_the_longest_way_that_is_asked_is_longer() {
    use super::super::harness::sent;
    let mut bench = bench();
    let slot = bench.strategy.longer_way;
    let mut packet = Packet { kind: Kind::Data, ..Packet::default() };
    packet.fields.set(slot, 7000);
    let longer = |bench: &mut Bench<Weir>, ms, face, sent: &[OutRecord]| {
        bench.data_for(ms, face, &packet, sent, &Fields::default()).get(slot)
    };
    assert_eq!(bench.interest(0, 0, Arrival::New, &[]), [1]);
    bench.data_at(10, 1, &[sent(1, 0)]);
    assert_eq!(longer(&mut bench, 10, 1, &[]), 7000, "the other's round trip is not known");
    bench.strategy.prefixes[0].hops[1].asked = Some(Time::from_nanos(10_000_000));
    assert_eq!(longer(&mut bench, 40, 1, &[sent(2, 10), sent(1, 30)]), 27_000);
    bench.data_at(80, 2, &[sent(2, 10)]);
    assert_eq!(longer(&mut bench, 80, 1, &[]), 67_000, "the last, 70 ms, is longer than the mean");
    bench.data_at(90, 2, &[sent(2, 60)]);
    // 35 · 7/8 + 30/8 = 34.375.
    assert_eq!(longer(&mut bench, 90, 1, &[]), 31_375);
    assert_eq!(longer(&mut bench, 90, 2, &[]), 7000);
    // Nothing was sent there for four seconds.
    assert_eq!(bench.interest(4010, 0, Arrival::New, &[]), [1]);
    bench.strategy.prefixes[0].hops[1].asked = Some(Time::from_nanos(10_000_000));
    assert_eq!(longer(&mut bench, 4010, 1, &[]), 7000);
}

#[test]
fn next_hops_that_stay_keep_their_shares_and_any_level_leaves_them_sound() {
    let mut bench = bench();
    for (i, level) in [1, u32::MAX, 7, u32::MAX - 1, 1].into_iter().cycle().take(4000).enumerate() {
        data(&mut bench, 5 * i as u64, 1 + (i % 2) as u16, level, u32::MAX - level);
    }
    let before = bench.shares();
    assert!((before.iter().sum::<f64>() - 1.0).abs() < 1e-9 && before.iter().all(|share| *share > 0.0));
    bench.route(&[(1, 1), (2, 2), (3, 3)]);
    let after = bench.shares();
    assert!((after[0] / after[1] - before[0] / before[1]).abs() < 1e-9, "{before:?} {after:?}");
}

// A round trip of 40 ms; suppression alone, 10 ms at first, would let another's Interest pass after 11.
#[test]
fn an_interest_of_another_waits_for_the_round_trip_of_what_was_sent_and_a_retransmission_does_not() {
    use super::super::harness::sent;
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1)]);
    assert_eq!(bench.interest(0, 0, Arrival::New, &[]), [1]);
    bench.data_at(40, 1, &[sent(1, 0)]);
    let mut at = |ms, arrival| bench.interest(ms, 7, arrival, &[sent(1, 100)]);
    assert!(at(139, Arrival::Joining).is_empty());
    assert_eq!(at(140, Arrival::Joining), [1]);
    assert_eq!(at(125, Arrival::Retransmission), [1]);
}

// The first has a level of 1000, the second has shown no bound and counts as 2000. Half of the Interests each: the mean is
// 1500, so that in 50 ms of a reaction of 100 ms the first moves by 0.25 · (1000/1500 − 1), the second by 0.25 ·
// (2000/1500 − 1).
#[test]
fn a_way_that_has_shown_no_bound_gets_more() {
    let mut bench = Bench::new(
        &json!({ "first-share": 1.0, "least": 0.01, "gain": 0.5, "breadth": 0.5, "reaction": "100ms" }),
        &[(1, 1), (2, 2)],
    );
    data(&mut bench, 0, 2, OPEN, 0);
    assert!(near(&bench.shares(), [0.5, 0.5]), "there is nothing to compare it to");
    data(&mut bench, 10, 1, 1000, 1000);
    rested(&mut bench);
    data(&mut bench, 50, 2, OPEN, 0);
    let (first, second) = (libm::exp(-0.25 / 3.0), libm::exp(0.25 / 3.0));
    let shares = bench.shares();
    assert!((shares[0] - first / (first + second)).abs() < 1e-9, "{shares:?}");
}

/// How many of `count` Interests at this time go to the second of two next hops of equal shares, of which the first answers
/// within 10 ms and the second within 60 ms.
fn to_the_second(bench: &mut Bench<Weir>, ms: u64, count: usize) -> usize {
    let faces = (0..count).flat_map(|_| bench.interest(ms, 0, Arrival::New, &[]));
    faces.filter(|face| *face == 2).count()
}

// The second way is open: ten Interests in its first round trip of 60 ms, then twice the Data of the round before. What it
// has no room for goes to the first, while that answers.
#[test]
fn an_open_way_fills_by_its_own_round_trips_and_the_rest_goes_to_one_that_answers() {
    use super::super::harness::sent;
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    data(&mut bench, 0, 2, OPEN, 0);
    data(&mut bench, 0, 1, 1000, 1000);
    bench.data_at(100, 2, &[sent(2, 40)]);
    bench.data_at(100, 1, &[sent(1, 90)]);
    assert_eq!(to_the_second(&mut bench, 101, 60), 10);
    for ms in 110..118 {
        bench.data_at(ms, 2, &[sent(2, ms - 60)]);
    }
    bench.data_at(160, 1, &[sent(1, 150)]);
    assert_eq!(to_the_second(&mut bench, 161, 60), 16, "twice the eight that came");
    let of_equal = to_the_second(&mut bench, 181, 60);
    assert!((28..=32).contains(&of_equal), "the first is silent: {of_equal}");
}

// As above, but the next hop that had answered within 10 ms is gone: others answer what went there after 300 ms.
#[test]
fn what_others_answer_does_not_make_a_way_longer_that_had_answered_where_ways_were_open() {
    use super::super::harness::sent;
    for (level, took) in [(OPEN, 10), (1000, 300)] {
        let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
        data(&mut bench, 0, 1, level, 0);
        bench.data_at(100, 1, &[sent(1, 90)]);
        bench.data_at(400, 2, &[sent(1, 100), sent(2, 340)]);
        assert_eq!(bench.strategy.prefixes[0].hops[0].srtt, Some(Duration::from_millis(took)));
    }
}

/// A Data from `face` at `ms` for what was sent there `rtt` ms ago, with this level and mark; the mark that goes on.
fn answer(bench: &mut Bench<Weir>, ms: u64, face: u16, rtt: u64, level: u32, mark: u8) -> u8 {
    let slots = bench.strategy.slots;
    bench.packet = Packet { mark, ..Packet::default() };
    [slots.rate, slots.soft].into_iter().for_each(|slot| bench.packet.fields.set(slot, level));
    bench.data_at(ms, face, &[super::super::harness::sent(face, ms - rtt)])
}

/// Interests to two open ways of 10 ms, of which the first answers each ms from 10 ms on and the second each fourth ms.
fn open_ways(bench: &mut Bench<Weir>, until: u64, mark: u8) -> Vec<u8> {
    let mut marks = Vec::new();
    for ms in 0..until {
        (0..4).for_each(|_| drop(bench.interest(ms, 0, Arrival::New, &[])));
        if ms >= 10 {
            answer(bench, ms, 1, 10, OPEN, 0);
        }
        if ms >= 10 && ms % 4 == 0 {
            marks.push(answer(bench, ms, 2, 10, OPEN, mark));
        }
    }
    marks
}

// In 10 ms ten Data of the first and three of the second at most, whatever levels say.
#[test]
fn the_first_level_of_an_open_way_shares_by_the_most_data_that_came_from_each() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    open_ways(&mut bench, 100, 0);
    answer(&mut bench, 100, 1, 10, 9000, 0);
    let part = bench.shares();
    assert!(part[1] > 0.3 && part[0] > 0.3, "no other is known: {part:?}");
    answer(&mut bench, 100, 2, 10, 9000, 0);
    assert!(near(&bench.shares(), [10.0 / 13.0, 3.0 / 13.0]), "{:?}", bench.shares());
    let first = bench.strategy.prefixes[0].begun;
    assert_eq!(first, Some(Time::from_nanos(100_000_000)), "shares rest until counts have followed");
}

#[test]
fn a_mark_of_an_open_way_stays_here_while_another_takes_more() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    assert!(open_ways(&mut bench, 100, 1).iter().all(|mark| *mark == 0));
    answer(&mut bench, 101, 1, 10, OPEN, 1);
    assert_eq!(answer(&mut bench, 102, 2, 10, OPEN, 1), 1, "both are full");
    answer(&mut bench, 103, 1, 10, 9000, 0);
    assert_eq!(answer(&mut bench, 104, 2, 10, OPEN, 1), 0, "the level of the first bounds what is sent");
    assert_eq!(answer(&mut bench, 105, 1, 10, 9000, 1), 1, "a way with a level is none of these");
    let mut unknown: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    answer(&mut unknown, 20, 1, 10, 9000, 0);
    assert_eq!(answer(&mut unknown, 20, 2, 10, 0, 1), 1, "no way was open");
}

// Ten in the first round trip of 60 ms, of which eight come, one marked: 0.8 of them, then one more than came.
#[test]
fn an_open_way_that_was_marked_gets_a_fifth_less_and_then_one_more_each_round_trip() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    answer(&mut bench, 100, 2, 60, OPEN, 0);
    answer(&mut bench, 100, 1, 10, 9000, 0);
    assert_eq!(to_the_second(&mut bench, 101, 60), 10);
    for ms in 110..118 {
        answer(&mut bench, ms, 2, 60, OPEN, u8::from(ms == 112));
    }
    answer(&mut bench, 160, 1, 10, 9000, 0);
    assert_eq!(to_the_second(&mut bench, 161, 60), 6);
    for ms in 170..176 {
        answer(&mut bench, ms, 2, 60, OPEN, 0);
    }
    answer(&mut bench, 220, 1, 10, 9000, 0);
    assert_eq!(to_the_second(&mut bench, 222, 60), 7);
}

// Ways of 10 and 60 ms. What goes the longer one 48 ms before the last Interest is answered later than what goes the
// shorter one with the last: 60 > 10 + 10/4 + 47.
#[test]
fn a_flow_that_ends_does_not_wait_for_a_longer_way() {
    for (left, to_the_longer) in [(None, 10), (Some(48), 10), (Some(47), 0), (Some(0), 0)] {
        let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
        answer(&mut bench, 100, 1, 10, 1000, 0);
        answer(&mut bench, 100, 2, 60, 1000, 0);
        let slot = bench.strategy.slots.round_trip;
        let rtt = Duration::from_millis(40);
        let said = left.map_or(0, |left: u32| ending_to_field(rtt, (f64::from(left) + 0.1) / 40.0));
        bench.packet.fields.set(slot, said);
        let longer = to_the_second(&mut bench, 101, 20);
        assert!(longer.abs_diff(to_the_longer) <= 1, "{left:?}: {longer}");
    }
}

/// How far the share of the first of two links swings at last that each carry 1 and tell 1/share 0.6 s later, of which
/// shares assume 0.25.
fn swing_of_late_levels(damping: f64) -> f64 {
    let params = Params { damping, ..Params::default() };
    let mut entry = Entry::default();
    entry.hops.extend([0.3, 0.7].map(|share| Hop::new(NextHop { face: FaceId(0), cost: 1 }, share, Time::ZERO)));
    let mut shares = Vec::new();
    for step in 0..12_000_usize {
        let told: &[f64; 2] = shares.get(step.saturating_sub(60)).unwrap_or(&[0.3, 0.7]);
        for (hop, share) in entry.hops.iter_mut().zip(told) {
            hop.level = 1.0 / share;
        }
        entry.shift(&params, 0.01 / 0.25);
        shares.push([entry.hops[0].share, entry.hops[1].share]);
    }
    let last = shares[11_000..].iter().map(|share| share[0]);
    last.clone().fold(0.0, f64::max) - last.fold(1.0, f64::min)
}

#[test]
fn where_levels_come_later_than_assumed_shares_swing_for_good_at_full_speed_and_hardly_once_that_is_seen() {
    let (free, damped) = (swing_of_late_levels(1.0), swing_of_late_levels(Params::default().damping));
    assert!(free > 0.8, "{free}");
    assert!(damped < 0.15, "{damped}");
}

// What docs/measurements/weir.md says that a prefix takes.
#[test]
fn the_state_of_a_prefix_is_bounded_by_its_next_hops() {
    let sizes = [size_of::<Entry>(), size_of::<Hop>()];
    assert!(sizes[0] <= 120 && sizes[1] <= 192, "{sizes:?}");
}
