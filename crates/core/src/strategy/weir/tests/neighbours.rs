//! Next hops that tell no level, that cost more, or that do not answer.

use super::super::super::harness::sent;
use super::*;
use crate::packet::NackReason;

/// A Data without a level from `face` for an Interest that stated a pace.
fn untold(bench: &mut Bench<Weir>, ms: u64, face: u16) {
    let mut asked = Fields::default();
    asked.set(bench.strategy.slots.rate, 1000);
    let data = Packet { kind: Kind::Data, ..Packet::default() };
    bench.data_for(ms, face, &data, &[sent(face, ms - 10)], &asked);
}

/// Data of both next hops by turns, as fast from each: the first tells a level, the second does if `both`.
fn by_turns(bench: &mut Bench<Weir>, ms: std::ops::Range<u64>, both: bool) {
    for now in ms {
        answer(bench, now, 1, 10, 9000, 0);
        if both {
            answer(bench, now, 2, 10, 3000, 0);
        } else {
            untold(bench, now, 2);
        }
    }
}

// The windows of `overflow` begin with 8 each; a mark with a queue leaves 0.8 of the second one: 8/14.4 and 6.4/14.4.
#[test]
fn where_a_next_hop_tells_no_level_windows_share_the_interests_until_it_does() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    by_turns(&mut bench, 100..115, false);
    assert!(!bench.strategy.falls_back(PrefixId(0)), "15 Data are not enough");
    by_turns(&mut bench, 115..116, false);
    assert!(bench.strategy.falls_back(PrefixId(0)));
    assert!(near(&bench.shares(), [0.5, 0.5]));
    answer(&mut bench, 116, 2, 10, 0, 0);
    answer(&mut bench, 117, 2, 40, 0, 1);
    assert!(near(&bench.shares(), [8.0 / 14.4, 6.4 / 14.4]), "{:?}", bench.shares());
    by_turns(&mut bench, 120..134, true);
    answer(&mut bench, 134, 2, 10, 3000, 0);
    assert!(bench.strategy.falls_back(PrefixId(0)), "15 Data with a level after 16 without");
    let windows = bench.shares();
    answer(&mut bench, 135, 2, 10, 3000, 0);
    assert!(!bench.strategy.falls_back(PrefixId(0)));
    assert!(near(&bench.shares(), [windows[0], windows[1]]), "levels go on from the parts that windows had");
    bench.route(&[(1, 1)]);
    by_turns(&mut bench, 140..160, false);
    assert!(!bench.strategy.falls_back(PrefixId(0)), "with one next hop there is nothing to share");
}

#[test]
fn a_prefix_falls_back_no_longer_once_the_next_hop_that_tells_no_level_is_gone() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1), (3, 1)]);
    by_turns(&mut bench, 100..120, false);
    assert!(bench.strategy.falls_back(PrefixId(0)));
    bench.route(&[(1, 1), (3, 1)]);
    assert!(!bench.strategy.falls_back(PrefixId(0)));
    assert!((bench.shares().iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn data_of_consumers_that_ask_for_no_level_leave_shares_to_those_that_do() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    for ms in 100..1000 {
        let level = if ms % 100 == 0 { 9000 } else { 0 };
        answer(&mut bench, ms, 1, 10, level, 0);
        answer(&mut bench, ms, 2, 10, level, 0);
        assert!(!bench.strategy.falls_back(PrefixId(0)), "{ms}");
    }
    (1001..1029).for_each(|ms| _ = answer(&mut bench, ms, 1, 10, 0, 0));
    assert!(!bench.strategy.falls_back(PrefixId(0)));
    answer(&mut bench, 1029, 1, 10, 0, 0);
    assert!(bench.strategy.falls_back(PrefixId(0)), "of 128 in a row none asked for one");
}

#[test]
fn next_hops_that_cost_more_do_not_make_a_prefix_fall_back() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 2)]);
    (100..200).for_each(|ms| untold(&mut bench, ms, 2));
    (100..200).for_each(|ms| untold(&mut bench, ms, 1));
    assert!(!bench.strategy.falls_back(PrefixId(0)), "windows would leave the second out");
    bench.route(&[(1, 1), (2, 1)]);
    assert!(bench.strategy.falls_back(PrefixId(0)));
}

// Gone since 0, it answers a copy of 5000 ms after another did, 40 ms later.
#[test]
fn a_next_hop_that_comes_back_is_as_long_as_its_copy_took() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    hundred(&mut bench, 0);
    answer(&mut bench, 4990, 1, 10, 9000, 0);
    assert_eq!(bench.interest(5000, 0, Arrival::New, &[]), [1, 2]);
    bench.late(5040, 2, &Packet { kind: Kind::Data, ..Packet::default() });
    assert_eq!(bench.strategy.prefixes[0].hops[1].srtt, Some(Duration::from_millis(40)));
}

/// A Data has come from each.
fn both_answered(bench: &mut Bench<Weir>) {
    [1, 2].iter().for_each(|&face| _ = answer(bench, 0, face, 0, 9000, 0));
}

/// Where 100 new Interests go.
fn hundred(bench: &mut Bench<Weir>, ms: u64) -> [usize; 2] {
    let sent: Vec<u16> = (0..100).map(|_| bench.interest(ms, 0, Arrival::New, &[])[0]).collect();
    [1, 2].map(|face| sent.iter().filter(|&&to| to == face).count())
}

#[test]
fn without_dearer_ways_the_cheapest_gets_all_until_nothing_comes_from_it() {
    let mut bench: Bench<Weir> = Bench::new(&json!({ "dearer": false }), &[(1, 1), (2, 2)]);
    answer(&mut bench, 100, 1, 10, 9000, 0);
    assert_eq!(hundred(&mut bench, 101), [100, 0]);
    assert_eq!(hundred(&mut bench, 1100), [100, 0], "it was asked less than a second ago");
    assert_eq!(hundred(&mut bench, 1101), [0, 100]);
    answer(&mut bench, 2000, 1, 10, 9000, 0);
    assert_eq!(hundred(&mut bench, 2001), [100, 0], "it answers again");
    assert_eq!(bench.interest(2002, 1, Arrival::New, &[]), [2], "from where the cheapest leads there is no other way");
}

// Of the first hundred Interests 16 and 16 go before anything has come.
#[test]
fn a_next_hop_that_never_answered_gets_32_interests_while_another_answers() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    (0..32).for_each(|_| drop(bench.interest(0, 0, Arrival::New, &[])));
    answer(&mut bench, 10, 1, 10, 9000, 0);
    assert_eq!(hundred(&mut bench, 10), [84, 16]);
    assert_eq!(bench.interest(20, 0, Arrival::Retransmission, &[sent(1, 10)]), [1], "not to what may be dead");
    answer(&mut bench, 60, 2, 60, 9000, 0);
    assert_eq!(hundred(&mut bench, 60), [50, 50]);
}

#[test]
fn where_nothing_came_from_any_next_hop_none_has_to_wait() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    assert_eq!(hundred(&mut bench, 0), [50, 50]);
    assert_eq!(hundred(&mut bench, 10), [50, 50]);
    answer(&mut bench, 20, 1, 20, 9000, 0);
    assert_eq!(hundred(&mut bench, 20), [100, 0]);
    assert_eq!(hundred(&mut bench, 1100)[0], 50, "nothing has come from the first for long, either");
}

// Asked first at 0, and again at 990 so that no copy is due before 1990.
#[test]
fn a_next_hop_from_which_nothing_comes_for_a_second_gets_copies_alone_until_it_answers() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    both_answered(&mut bench);
    assert_eq!(hundred(&mut bench, 0), [50, 50]);
    answer(&mut bench, 10, 1, 10, 9000, 0);
    assert_eq!(hundred(&mut bench, 990), [50, 50]);
    answer(&mut bench, 995, 1, 10, 9000, 0);
    assert_eq!(hundred(&mut bench, 1000), [100, 0]);
    answer(&mut bench, 1980, 1, 10, 9000, 0);
    assert_eq!(bench.interest(1990, 0, Arrival::New, &[]), [1, 2], "a copy");
    assert_eq!(hundred(&mut bench, 1991), [100, 0], "one each second");
    let data = Packet { kind: Kind::Data, ..Packet::default() };
    bench.late(2000, 2, &data.nack(NackReason::NoRoute));
    assert_eq!(hundred(&mut bench, 2000), [100, 0]);
    bench.late(2000, 2, &data);
    assert!(hundred(&mut bench, 2001)[1] > 0, "its copy was answered after that of the first");
}

#[test]
fn what_is_asked_for_again_goes_to_one_that_is_gone_only_if_all_are() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    both_answered(&mut bench);
    hundred(&mut bench, 0);
    let again = |bench: &mut Bench<Weir>, ms| bench.interest(ms, 0, Arrival::Retransmission, &[sent(1, ms - 30)]);
    answer(&mut bench, 500, 1, 10, 9000, 0);
    assert_eq!(again(&mut bench, 510), [2]);
    answer(&mut bench, 1500, 1, 10, 9000, 0);
    bench.note = 0;
    assert_eq!(again(&mut bench, 1510), [1]);
    bench.note = 0;
    let twice = OutRecord { sends: 2, ..sent(1, 1490) };
    let third = bench.interest(1520, 0, Arrival::Retransmission, &[twice]);
    assert_eq!(third, [2], "the other may be the only one that has it");
    hundred(&mut bench, 1520);
    bench.note = 0;
    assert_eq!(again(&mut bench, 4000), [2]);
}

#[test]
fn where_no_next_hop_answers_all_are_asked() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    hundred(&mut bench, 0);
    assert_eq!(hundred(&mut bench, 5000), [50, 50], "none ever did");
    answer(&mut bench, 5010, 1, 10, 9000, 0);
    assert_eq!(hundred(&mut bench, 5020), [100, 0]);
    assert_eq!(hundred(&mut bench, 9000).iter().sum::<usize>(), 100, "now the first has not, either");
    assert!(hundred(&mut bench, 9001)[1] > 0);
}

#[test]
fn a_next_hop_that_has_no_route_gets_copies_alone_until_it_answers() {
    let mut bench: Bench<Weir> = Bench::new(&json!({}), &[(1, 1), (2, 1)]);
    both_answered(&mut bench);
    assert_eq!(hundred(&mut bench, 2000), [50, 50]);
    answer(&mut bench, 2010, 1, 10, 9000, 0);
    bench.nack_for(2010, 2, NackReason::Duplicate, &[sent(2, 2000)]);
    assert_eq!(hundred(&mut bench, 2010), [50, 50], "that it had the Interest already says nothing");
    let refused = |bench: &mut Bench<Weir>, ms, times| {
        (0..times).for_each(|_| drop(bench.nack_for(ms, 2, NackReason::NoRoute, &[sent(2, ms - 10)])));
    };
    refused(&mut bench, 2020, 2);
    assert_eq!(hundred(&mut bench, 2020), [50, 50], "a name or two may have none");
    answer(&mut bench, 2021, 2, 10, 9000, 0);
    refused(&mut bench, 2022, 9);
    assert_eq!(hundred(&mut bench, 2022), [50, 50], "it has answered since");
    refused(&mut bench, 2040, 3);
    assert_eq!(hundred(&mut bench, 2040), [100, 0]);
    answer(&mut bench, 2050, 1, 10, 9000, 0);
    answer(&mut bench, 2050, 2, 10, 9000, 0);
    assert_eq!(hundred(&mut bench, 2060), [50, 50]);
}
