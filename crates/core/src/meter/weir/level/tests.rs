use super::*;
use counting::weight;

const C: f64 = 10e6;

fn said(pace: Option<f64>, rtt: f64) -> Said {
    Said { pace, rtt, left: None }
}

/// A link that has had flows for long.
fn settled() -> Level {
    Level { age: 60.0, ..Level::new(C, 0) }
}

/// A slot of 10 ms with flows of (pace, bits), after which `offered` bits were offered since the start.
fn slot(level: &mut Level, flows: &[(f64, f64)], offered: &mut u64, waiting: f64) {
    for (flow, &(pace, bits)) in (100..).zip(flows) {
        level.count(FlowId(flow), bits, &said(Some(pace), 0.02), 0.1);
        *offered += bits as u64;
    }
    level.update(0.01, C, *offered, waiting, 0, &Params::default());
}

// C = 10 Mbit/s, target 9.9. Two flows of 4.95 Mbit/s fill 10 ms with 49 500 bit each. Gain 0.01/0.1 = 0.1. Flows 0.1 ·
// 2; bound: each counts 4.95/10 < 0.8 as that, 0.1 · 0.99; wanted = 9.9/0.099 = 100 Mbit/s: the level, 10 at first,
// rises by its most, 0.1 · 1. The highest pace, 4.95, could reach
// its part, 9.9/0.2, up to the target.
#[test]
fn one_slot_is_as_computed_by_hand() {
    let (mut level, mut offered) = (settled(), 0);
    slot(&mut level, &[(4.95e6, 49_500.0); 2], &mut offered, 0.0);
    assert!((level.flows - 0.2).abs() < 1e-12 && (level.bound - 0.099).abs() < 1e-12);
    assert!((level.level - 11e6).abs() < 1e-3 && (level.most - 9.9e6).abs() < 1e-3, "{level:?}");
    assert!((level.rtt - (0.1 + 0.1 * (0.02 - 0.1))).abs() < 1e-12);
}

// A newcomer of 10 Mbit/s of which a quarter passes here: it counts as one at first, and then as it sends. Counts follow
// with a time constant of 0.1 s on a link that has had flows, and of 40 ms, as 400 kbit take, on one that has not: after
// six slots of 10 ms (1 − 10/100)⁶ and (1 − 10/40)⁶ of the other three quarters are left. Round trips are of 20 ms.
#[test]
fn a_newcomer_counts_as_what_it_sends_sooner_on_a_link_that_had_no_flows() {
    let parts = [settled(), Level::new(C, 0)].map(|mut level| {
        (level.rtt, level.is_timed) = (0.02, true);
        level.grant(FlowId(100), NO_PACE, 0.02, C, &Params::default());
        let mut offered = 0;
        for _ in 0..6 {
            slot(&mut level, &[(10e6, 25_000.0)], &mut offered, 0.0);
        }
        level.flows
    });
    let wanted = [0.1, 0.25].map(|gain: f64| 0.25 + 0.75 * (1.0 - gain).powi(6));
    assert!(parts.iter().zip(wanted).all(|(part, wanted)| (part - wanted).abs() < 0.01), "{parts:?} {wanted:?}");
}

#[test]
fn flows_that_are_held_here_share_the_link_and_those_held_elsewhere_leave_the_rest() {
    for (others, each) in [(&[][..], 4.95e6), (&[(1e6, 1e4)][..], 4.45e6)] {
        let (mut level, mut offered) = (settled(), 0);
        let mut pace = 1e6;
        for _ in 0..3000 {
            let mut flows = vec![(pace, pace * 0.01); 2];
            flows.extend_from_slice(others);
            slot(&mut level, &flows, &mut offered, 0.0);
            // A flow that follows within two round trips.
            pace += 0.25 * (level.grant(FlowId(0), pace, 0.02, C, &Params::default()) - pace);
        }
        assert!((pace / each - 1.0).abs() < 0.02, "{pace} for {each}");
    }
}

// 9.9 Mbit/s for the first that asks, half for the second, a third for the third.
#[test]
fn newcomers_share_with_each_other_before_they_are_counted() {
    let mut level = settled();
    let told = [1, 2, 3].map(|flow| level.grant(FlowId(flow), NO_PACE, 0.0, C, &Params::default()) / 1e6);
    assert!(told.iter().zip([9.9, 4.95, 3.3]).all(|(told, wanted)| (told - wanted).abs() < 1e-9), "{told:?}");
    let again = [1, 2, 3].map(|flow| level.grant(FlowId(flow), NO_PACE, 0.0, C, &Params::default()) / 1e6);
    assert_eq!(again, [told[2]; 3], "each counts once");
}

// A flow of 20 Mbit/s of which a hundredth passes here could have 9.9/0.01 = 990 Mbit/s if it stayed a hundredth. It is told
// a step: f = 8, as the load is 0.2 of 9.9, 20 · (1 + 0.5 · 0.02/0.12 · 8) = 33.3. Beside it one of 1 Mbit/s: the target.
#[test]
fn a_flow_of_which_little_passes_is_told_a_step_and_not_what_its_part_could_fill() {
    let (mut level, mut offered) = (settled(), 0);
    for _ in 0..2000 {
        slot(&mut level, &[(20e6, 0.2e4)], &mut offered, 0.0);
    }
    let reach = [20e6, 1e6].map(|pace| level.reach(pace, 0.02, C, &Params::default()) / 1e6);
    assert!((reach[0] - 33.333).abs() < 0.01 && (reach[1] - 9.9).abs() < 1e-9, "{reach:?}");
}

// 0.99 Mbit/s of a flow of 1 pass, the level of the free link is 990: a flow of 20 Mbit/s and a round trip of 0.4 s that
// seldom comes may take a step, 20 · (1 + 0.5 · 0.4/0.5 · 8) = 84, though the fastest of late reaches 9.9 alone.
#[test]
fn a_flow_that_comes_seldom_is_not_held_to_what_those_that_are_here_can_reach() {
    let (mut level, mut offered) = (settled(), 0);
    for _ in 0..2000 {
        slot(&mut level, &[(1e6, 0.99e4)], &mut offered, 0.0);
    }
    assert!((level.told() / 9.9e6 - 1.0).abs() < 1e-6, "{level:?}");
    let grant = level.grant(FlowId(7), 20e6, 0.4, C, &Params::default()) / 1e6;
    assert!((grant - 84.0).abs() < 0.1, "{grant}");
}

// A hundredth of a flow of 5 Mbit/s passes, and the level is that of a free link, nearly 990. Then one of 9 sends 15 for two
// slots: the load of the last slots is 0.5 · (0.5 · 15.05 + 15.05) = 11.3, above the target of 9.9, that of the last 0.1 s
// is 2.9. If no more than chance waits, the level is still that of before; with 40 kbit it is what the fastest can reach.
#[test]
fn the_level_of_a_link_that_was_free_holds_once_it_is_overloaded() {
    let overloaded = |waiting| {
        let (mut level, mut offered) = (settled(), 0);
        for _ in 0..2000 {
            slot(&mut level, &[(5e6, 500.0)], &mut offered, 0.0);
        }
        for waiting in [0.0, waiting] {
            slot(&mut level, &[(5e6, 500.0), (9e6, 150e3)], &mut offered, waiting);
        }
        assert!((level.load - 2.9e6).abs() < 0.1e6 && (level.recent - 11.3e6).abs() < 0.1e6, "{level:?}");
        (level.level, level.most)
    };
    let ((free, most), (held, reached)) = (overloaded(20e3), overloaded(40e3));
    assert!(free > 10.0 * most && held == reached, "{free} {most} {held} {reached}");
}

// 20 flows of 0.495 Mbit/s fill the target. One of 0.9, above its twentieth, keeps that while nothing is free; one of 0.4 is
// told its twentieth.
#[test]
fn on_a_full_link_flows_grow_up_to_their_equal_part_alone() {
    let (mut level, mut offered) = (settled(), 0);
    for _ in 0..2000 {
        slot(&mut level, &[(0.495e6, 4950.0); 20], &mut offered, 0.0);
    }
    let reach = [0.9e6, 0.4e6].map(|pace| level.reach(pace, 0.02, C, &Params::default()) / 1e6);
    assert!((reach[0] - 0.9).abs() < 1e-3 && (reach[1] - 0.495).abs() < 1e-3, "{reach:?}");
}

// 50 kB wait: 0.25 · 400 000 bit / 0.1 s = 1 Mbit/s less for the flow.
#[test]
fn a_queue_is_given_back_within_round_trips() {
    let settled = |waiting| {
        let (mut level, mut offered, mut pace) = (settled(), 0, 9.9e6);
        for _ in 0..2000 {
            slot(&mut level, &[(pace, pace * 0.01)], &mut offered, waiting);
            pace = level.grant(FlowId(0), pace, 0.02, C, &Params::default());
        }
        pace / 1e6
    };
    let (empty, full) = (settled(0.0), settled(400_000.0));
    assert!((empty - 9.9).abs() < 0.1 && (full - 8.9).abs() < 0.1, "{empty} {full}");
}

// Two others take whatever is left of the link, and state no pace: each counts as one flow, 9.9/3 Mbit/s.
#[test]
fn flows_without_a_pace_get_no_more_than_a_level_each() {
    let (mut level, mut offered, mut pace) = (settled(), 0, 9.9e6);
    for _ in 0..3000 {
        let rest = ((C - pace) * 0.01).max(0.0);
        for flow in [7, 8] {
            level.count(FlowId(flow), rest / 2.0, &said(None, 0.0), 0.1);
        }
        offered += rest as u64;
        slot(&mut level, &[(pace, pace * 0.01)], &mut offered, 0.0);
        pace += 0.25 * (level.grant(FlowId(0), pace, 0.02, C, &Params::default()) - pace);
    }
    assert!((pace / 3.3e6 - 1.0).abs() < 0.05, "{pace} {level:?}");
}

// At 0.9 of the level and above a flow counts in full, below 0.8 by its pace, in between on a line: 0.85 as 0.9.
#[test]
fn flows_near_the_level_count_in_full() {
    let weights = [2.0, 1.0, 0.9, 0.85, 0.8, 0.5, 0.0].map(|ratio| weight(ratio, 0.1));
    assert!(weights.iter().zip([1.0, 1.0, 1.0, 0.9, 0.8, 0.5, 0.0]).all(|(is, wanted)| (is - wanted).abs() < 1e-9));
}

// Ten flows of 0.1 Mbit/s, load 1 of a target of 9.9: free 8, rtt 0.02, τ 0.1. Each may have its tenth, 0.99, or x · (1 + g ·
// 0.02/0.12 · 8): for x = 0.9 and g = 0.5 that is 1.5. On a full link, load 9.9 of it, f = `catch-up`: 0.99 · (1 + 0.5 · 0.02/0.12
// · 0.5) = 1.03125. With 10 Gbit waiting flows get `least` · C, shared by ten.
#[test]
fn growth_catch_up_and_least_set_what_flows_may_have() {
    let settled = |each: f64, waiting: f64, params: &Params| {
        let (mut level, mut offered) = (settled(), 0);
        for _ in 0..2000 {
            for flow in 0..10 {
                level.count(FlowId(flow), each * 0.01, &said(Some(each), 0.02), 0.1);
            }
            offered += (each * 0.1) as u64;
            level.update(0.01, C, offered, waiting, 0, params);
        }
        level
    };
    let with = |change: fn(&mut Params)| {
        let mut params = Params::default();
        change(&mut params);
        params
    };
    for (params, wanted) in [(Params::default(), 1.5e6), (with(|p| p.growth = 1.0), 2.1e6)] {
        let reach = settled(0.1e6, 0.0, &params).reach(0.9e6, 0.02, C, &params);
        assert!((reach / wanted - 1.0).abs() < 1e-6, "{reach} {wanted}");
    }
    for (params, wanted) in [(Params::default(), 1.03125e6), (with(|p| p.catch_up = 1.0), 1.0725e6)] {
        let reach = settled(0.99e6, 0.0, &params).reach(0.99e6, 0.02, C, &params);
        assert!((reach / wanted - 1.0).abs() < 1e-3, "{reach} {wanted}");
    }
    for (params, wanted) in [(Params::default(), 0.05e6), (with(|p| p.least = 0.1), 0.1e6)] {
        let level = settled(0.99e6, 1e10, &params).level;
        assert!((level / wanted - 1.0).abs() < 1e-3, "{level} {wanted}");
    }
}

// Two honest flows and one that sends 1 Mbit/s and states 2 kbit/s, as if it were 500 flows: it counts as what it sends,
// (9.9 − 1)/2, since its pace is below the level; of all flows at most 1.1 times as many count as there are.
#[test]
fn who_states_too_little_counts_as_what_it_sends() {
    let (mut level, mut offered, mut pace) = (settled(), 0, 1e6);
    for _ in 0..3000 {
        level.count(FlowId(2), 1e4, &said(Some(2e3), 0.02), 0.1);
        offered += 10_000;
        slot(&mut level, &[(pace, pace * 0.01); 2], &mut offered, 0.0);
        pace += 0.25 * (level.grant(FlowId(1), pace, 0.02, C, &Params::default()) - pace);
    }
    assert!((pace / 4.45e6 - 1.0).abs() < 0.02, "{pace}");
    assert!(level.flows <= 3.3 + 1e-9, "{}", level.flows);
}

#[test]
fn what_a_liar_states_leaves_the_level_finite_and_bounded() {
    let (mut level, mut offered) = (settled(), 0);
    for i in 0..2000 {
        let pace = [1e3, 4.3e15, 0.0, 5e6][i % 4];
        slot(&mut level, &[(pace, 9e4), (5e6, 5e4)], &mut offered, [0.0, 1e12][i % 2]);
        let told = level.grant(FlowId(0), pace, 0.02, C, &Params::default());
        assert!(told.is_finite() && told > 0.0 && level.level <= MOST * C, "{level:?}");
    }
}

// One flow of 9.9 Mbit/s fills the link and is held there: a level of 9.9, m = 1. The newcomer makes it 9.9/2 at once,
// not at the end of the slot; with its first packet by that pace it is one of two flows, and no newcomer any more.
#[test]
fn a_newcomer_lowers_the_level_at_once_and_counts_once() {
    let (mut level, mut offered) = (settled(), 0);
    for _ in 0..2000 {
        slot(&mut level, &[(9.9e6, 99_000.0)], &mut offered, 0.0);
    }
    (level.level, level.bound) = (9.9e6, 1.0);
    level.grant(FlowId(7), NO_PACE, 0.0, C, &Params::default());
    assert!((level.level / 4.95e6 - 1.0).abs() < 1e-3 && level.new == 1.0, "{level:?}");
    for _ in 0..2 {
        level.count(FlowId(7), 8528.0, &said(Some(4.95e6), 0.02), 0.1);
        assert!((level.flows - 2.0).abs() < 1e-3 && (level.bound - 2.0).abs() < 1e-3 && level.new == 0.0);
    }
}

// Two round trips of 20 ms are four slots, and a little, so five; 50 kbit at 4.95 Mbit/s are one: who is silent for five
// to ten slots is forgotten with the next change. What is counted alone would have 1.31 flows then, 0.9¹¹ of the one that
// has gone.
#[test]
fn who_is_silent_for_some_round_trips_is_forgotten_whole() {
    let (mut level, mut offered) = (settled(), 0);
    for _ in 0..2000 {
        slot(&mut level, &[(4.95e6, 49_500.0); 2], &mut offered, 0.0);
    }
    assert!((level.flows - 2.0).abs() < 1e-3, "{level:?}");
    for _ in 0..11 {
        slot(&mut level, &[(4.95e6, 49_500.0)], &mut offered, 0.0);
    }
    assert!(level.flows <= 1.0 && level.bound <= 1.0, "{level:?}");
}

// A hundred flows share 1 Mbit/s: 9.9 kbit/s for each, a Data of 8.5 kbit every 0.86 s. They began together and come in the
// first 0.4 s of these. Of 0.4 s alone the count would swing between 49 and 154 % of its mean; of 20 kbit/λ = 2 s it swings
// between 89 and 111; a hundred is the most, from which it falls to 79.
#[test]
fn flows_that_send_less_than_a_data_in_a_second_are_counted_over_more_than_one() {
    let (c, params) = (1e6, Params::default());
    let mut level = Level::new(c, 0);
    let (mut offered, mut least, mut most) = (0, f64::INFINITY, 0.0f64);
    for number in 0..86 * 60 {
        if number % 86 < 40 {
            for flow in 0..100 {
                level.count(FlowId(flow), 8514.0 / 40.0, &said(Some(9.9e3), 0.05), params.tolerance);
                offered += 213;
            }
        }
        level.update(0.01, c, offered, 0.0, 0, &params);
        if number >= 86 * 59 {
            (least, most) = (least.min(level.flows), most.max(level.flows));
        }
    }
    assert!((level.time(c, &params) / (20.0 / 9.9) - 1.0).abs() < 0.2, "{}", level.time(c, &params));
    assert!(least > 77.0 && most <= 100.0, "{least} {most}");
    level.level = 1e3;
    assert_eq!(level.time(c, &params), 4.0);
}

// Packets of 8000 bit: 400 kbit over 20 kbit/s are 20 s. Interests of 256 bit alone: 50 · 256/20 000 = 0.64 s. 100 Interests
// and 10 Data, of 25.6 and 80 kbit: a bit is in a packet of (100 · 256² + 10 · 8000²)/105 600 = 6122.7 bit, 15.307 s.
#[test]
fn counts_are_means_of_fifty_packets_of_the_size_that_most_bits_have() {
    let time = |interests: usize, data: usize| {
        let mut level = Level::new(20e3, 0);
        level.level = 1e6;
        for bits in std::iter::repeat_n(256.0, interests).chain(std::iter::repeat_n(8000.0, data)) {
            level.count(FlowId(1), bits, &said(Some(1e5), 0.02), 0.1);
        }
        level.update(0.01, 20e3, 0, 0.0, 0, &Params::default());
        level.level = 1e6;
        level.time(20e3, &Params::default())
    };
    for (interests, data, wanted) in [(0, 9, 20.0), (9, 0, 0.64), (100, 10, 15.306_8)] {
        let found = time(interests, data);
        assert!((found - wanted).abs() < 1e-3, "{interests} Interests and {data} Data: {found} s");
    }
}

// 49.5 kbit/s for Interests of 256 bit, each for a Data of 8608 bit: 1.66 Mbit/s. Fields say whole kbit/s, so steps of less
// than one are lost.
#[test]
fn a_flow_of_which_interests_alone_pass_grows_until_they_fill_the_link() {
    let capacity = 50e3;
    let (mut level, mut offered, mut pace, mut due) = (Level::new(capacity, 0), 0, 47e3, 0.0);
    for _ in 0..2000 {
        due += pace * 0.01 / 8608.0;
        while due >= 1.0 {
            due -= 1.0;
            level.count(FlowId(1), 256.0, &said(Some(pace), 0.02), 0.1);
            offered += 256;
        }
        level.update(0.01, capacity, offered, 0.0, 0, &Params::default());
        pace += 0.25 * ((level.told() / 1e3).floor() * 1e3 - pace);
    }
    assert!((1.5e6..1.7e6).contains(&pace), "{pace}");
}

/// Two flows, 100 and 101, that fill the link and are held by it.
fn two_held() -> (Level, u64) {
    let (mut level, mut offered) = (settled(), 0);
    (level.level, level.load, level.flows, level.bound) = (4.95e6, 9.9e6, 2.0, 2.0);
    for _ in 0..2000 {
        slot(&mut level, &[(4.95e6, 49_500.0); 2], &mut offered, 0.0);
    }
    assert!((level.flows - 2.0).abs() < 1e-3 && (level.bound - 2.0).abs() < 1e-3, "{level:?}");
    assert!((level.level / 4.95e6 - 1.0).abs() < 1e-3 && (level.rtt - 0.02).abs() < 1e-6);
    (level, offered)
}

/// A Data of a flow of 4.95 Mbit/s that sends its last Interest in so many s.
fn ending(level: &mut Level, flow: u32, left: f64) {
    level.count(FlowId(flow), 8528.0, &Said { left: Some(left), ..said(Some(4.95e6), 0.02) }, 0.1);
}

// Of two flows one says that it ends in 20 ms, the mean round trip: the other is one, and its level the target. The parts
// in the table lag by less than a slot, a tenth.
#[test]
fn a_flow_that_ends_within_a_round_trip_leaves_its_part_to_others_at_once() {
    let (mut level, _) = two_held();
    ending(&mut level, 101, 0.021);
    assert!((level.flows - 2.0).abs() < 1e-3, "not yet");
    for left in [0.02, 0.01, 0.0] {
        ending(&mut level, 101, left);
        assert!((level.flows - 1.0).abs() < 0.1 && (level.bound - 1.0).abs() < 0.1, "{level:?}");
        assert!((level.level / 9.9e6 - 1.0).abs() < 0.1 && level.stated.count() == 1.0, "{level:?}");
    }
}

// Others' queues make the mean round trip 20 ms, where its own takes 5: 15 ms are three of these.
#[test]
fn a_flow_that_says_that_it_ends_counts_until_its_own_last_round_trip() {
    let (mut level, _) = two_held();
    let ends_in = |left| Said { left: Some(left), ..said(Some(4.95e6), 0.005) };
    level.count(FlowId(101), 8528.0, &ends_in(0.015), 0.1);
    assert!((level.flows - 2.0).abs() < 1e-3, "{level:?}");
    level.count(FlowId(101), 8528.0, &ends_in(0.005), 0.1);
    assert!((level.flows - 1.0).abs() < 0.1, "{level:?}");
}

// 100 slots of 10 ms in which both send and one always says that it ends: it is not counted for one to two times the 40 ms
// of silence, and then counts again until it has gone on without saying so.
#[test]
fn who_says_all_the_time_that_it_ends_takes_nothing_of_others_parts() {
    let (mut level, mut offered) = two_held();
    let mut most = 0.0f64;
    for _ in 0..100 {
        (0..6).for_each(|_| ending(&mut level, 101, 0.0));
        offered += 6 * 8528;
        slot(&mut level, &[(4.95e6, 49_500.0)], &mut offered, 0.0);
        assert!(level.flows > 0.95, "{}", level.flows);
        most = most.max(level.flows);
    }
    assert!(most <= 1.0 + 1e-9, "{most}: no more than those who do not say so");
}

// It ends and goes on in turn, or there are two of its name: each time it is back with what it had, and never more.
#[test]
fn a_flow_that_goes_on_after_its_end_counts_again_at_once() {
    let (mut level, _) = two_held();
    for _ in 0..50 {
        ending(&mut level, 101, 0.0);
        assert!((0.9..1.1).contains(&level.flows), "{level:?}");
        level.count(FlowId(101), 8528.0, &said(Some(4.95e6), 0.02), 0.1);
        assert!((1.9..2.1).contains(&level.flows) && (1.9..2.1).contains(&level.bound), "{level:?}");
    }
}

// The end is lost on the way: it counts until it is silent, as before.
#[test]
fn a_flow_whose_end_was_lost_is_forgotten_once_it_is_silent() {
    let (mut level, mut offered) = two_held();
    slot(&mut level, &[(4.95e6, 49_500.0)], &mut offered, 0.0);
    assert!(level.flows > 1.8, "{}", level.flows);
    (0..11).for_each(|_| slot(&mut level, &[(4.95e6, 49_500.0)], &mut offered, 0.0));
    assert!(level.flows <= 1.0, "{}", level.flows);
    // The Interest again, a second later.
    (0..100).for_each(|_| slot(&mut level, &[(4.95e6, 49_500.0)], &mut offered, 0.0));
    let before = level.level;
    ending(&mut level, 101, 0.0);
    assert!((level.flows - 1.0).abs() < 0.01 && level.level == before, "{}", level.flows);
}

// Who is new and sends no longer than a round trip is a newcomer until its first Data by a pace, and then none: λ is back at
// twice 4.95 Mbit/s.
#[test]
fn a_newcomer_that_ends_within_a_round_trip_lowers_the_level_for_one() {
    let (mut level, mut offered) = (settled(), 0);
    (level.level, level.flows, level.bound) = (9.9e6, 1.0, 1.0);
    for _ in 0..2000 {
        slot(&mut level, &[(9.9e6, 99_000.0)], &mut offered, 0.0);
    }
    level.grant(FlowId(7), NO_PACE, 0.0, C, &Params::default());
    assert!((level.level / 4.95e6 - 1.0).abs() < 1e-2, "{level:?}");
    ending(&mut level, 7, 0.01);
    assert!((level.level / 9.9e6 - 1.0).abs() < 1e-2 && level.new == 0.0, "{level:?}");
    assert!((level.flows - 1.0).abs() < 1e-2 && (level.bound - 1.0).abs() < 1e-2, "{level:?}");
}

// Target 9.9 of 10 Mbit/s, an equal part of 4.95 for two flows that fill it. Then slots bring 12 Mbit/s, and half of each
// slot moves what came of late: 10.95 and 11.475. A packet of 8000 bits is dropped in each.
#[test]
fn paces_are_cut_by_the_overload_while_packets_are_dropped_and_by_a_fifth_at_most() {
    let (mut level, mut offered) = (settled(), 0);
    for _ in 0..1000 {
        slot(&mut level, &[(4.95e6, 49_500.0); 2], &mut offered, 0.0);
    }
    let slot_of = |level: &mut Level, offered: &mut u64, bits: u64, dropped: u64| {
        for flow in [100, 101] {
            level.count(FlowId(flow), bits as f64 / 2.0, &said(Some(4.95e6), 0.02), 0.1);
        }
        *offered += bits;
        level.update(0.01, C, *offered, 0.0, dropped, &Params::default());
        level.squeeze
    };
    assert_eq!(slot_of(&mut level, &mut offered, 120_000, 0), 1.0, "nothing was dropped");
    let recent = level.recent;
    let cut = slot_of(&mut level, &mut offered, 120_000, 8000);
    assert!((cut - 9.9e6 / (0.5 * recent + 6e6)).abs() < 1e-9, "{cut}");
    assert!((level.reach(6e6, 0.02, C, &Params::default()) / 6e6 - cut).abs() < 1e-9, "whoever is above its part");
    for _ in 1..DROPPING {
        assert!(slot_of(&mut level, &mut offered, 120_000, 8000) < 0.9, "dropped not long ago");
    }
    assert_eq!(slot_of(&mut level, &mut offered, 120_000, 8000), 1.0);
    assert!((slot_of(&mut level, &mut offered, 900_000, 16_000) - LEAST_SQUEEZE).abs() < 1e-9);
    slot_of(&mut level, &mut offered, 900_000, 8000);
    assert_eq!((level.dropped, level.dropping), (16_000, DROPPING - 1), "a packet under way is not dropped");
}

// Beside two flows of a third of the link each, one without a pace that sends three times the link, and loses most.
#[test]
fn paces_are_not_cut_where_others_drop_what_is_theirs() {
    let (mut level, mut offered, mut dropped) = (settled(), 0, 0);
    for i in 0..2000 {
        for flow in [100, 101] {
            level.count(FlowId(flow), 33_000.0, &said(Some(3.3e6), 0.02), 0.1);
        }
        level.count(FlowId(7), 300_000.0, &said(None, 0.0), 0.1);
        (offered, dropped) = (offered + 366_000, dropped + 266_000);
        level.update(0.01, C, offered, 80e3, dropped, &Params::default());
        assert!(i < 500 || level.squeeze == 1.0, "{}", level.squeeze);
    }
}

// One flow of 10.5 Mbit/s for 5 s: the load is 10.5, and paces are cut to 9.9/10.5 once more than 32 kbit wait.
#[test]
fn paces_are_cut_where_more_comes_for_some_time_and_waits() {
    for (waiting, wanted) in [(30e3, 1.0), (40e3, 9.9 / 10.5)] {
        let (mut level, mut offered) = (settled(), 0);
        for _ in 0..500 {
            slot(&mut level, &[(10.5e6, 105_000.0)], &mut offered, waiting);
        }
        assert!((level.squeeze - wanted).abs() < 1e-6, "{} for {waiting}", level.squeeze);
    }
}

// Two flows of 4.5 Mbit/s, as another link has no more for them: more than 0.9 of 4.95, so that they count in full, and the
// load is 9 of 9.9. What flows take to follow is 0.1 s, so ten times that 1 s: in a slot of 10 ms the level is raised by 0.01
// · 0.9/9.9. Once it is 4.5/0.8, a quarter above, they count by what they send, and a third could have what is left.
#[test]
fn a_level_rises_away_from_flows_close_to_it_that_another_link_holds() {
    let (mut level, mut offered) = (settled(), 0);
    (level.load, level.flows, level.bound, level.level) = (9e6, 2.0, 2.0, 4.95e6);
    slot(&mut level, &[(4.5e6, 45_000.0); 2], &mut offered, 0.0);
    assert!((level.lift - (1.0 + 0.01 * 0.9 / 9.9)).abs() < 1e-12, "{}", level.lift);
    for _ in 0..1000 {
        slot(&mut level, &[(4.5e6, 45_000.0); 2], &mut offered, 0.0);
    }
    assert!((level.lift - 1.1).abs() < 1e-12 && level.level > 5.6e6, "{} {}", level.lift, level.level);
}

// A load of 1.1 of the target: the level falls back by 0.1 in each second, and not below an equal part.
#[test]
fn an_overload_ends_what_a_level_was_raised_by() {
    let (mut level, mut offered) = (settled(), 0);
    (level.load, level.lift) = (1.1 * 9.9e6, 1.05);
    for slots in [25, 75] {
        for _ in 0..slots {
            slot(&mut level, &[(5.445e6, 54_450.0); 2], &mut offered, 0.0);
        }
        assert!((level.lift - if slots == 25 { 1.025 } else { 1.0 }).abs() < 1e-9, "{}", level.lift);
    }
}

#[test]
fn a_packet_that_is_dropped_ends_all_that_a_level_was_raised_by() {
    let mut level = Level { lift: 1.08, load: 5e6, ..settled() };
    for (dropped, lifted) in [(0, true), (1, true), (1, false)] {
        level.count(FlowId(1), 100.0, &said(Some(1e6), 0.02), 0.1);
        level.update(0.01, C, 0, 0.0, dropped, &Params::default());
        assert_eq!(level.lift > 1.0, lifted, "{}", level.lift);
    }
}

// 20 kbit take 2 s at 10 kbit/s, twenty times as long as counts are smoothed: 0.1/20 at most.
#[test]
fn the_level_of_slow_flows_is_raised_by_next_to_nothing() {
    let capacity = 1e6;
    let mut level = Level::new(capacity, 0);
    for _ in 0..10_000 {
        (level.level, level.age) = (10e3, 60.0);
        level.count(FlowId(1), 100.0, &said(Some(10e3), 0.02), 0.1);
        level.update(0.01, capacity, 0, 0.0, 0, &Params::default());
        assert!(level.lift <= 1.005 + 1e-12, "{}", level.lift);
    }
    assert!(level.lift > 1.004, "{}", level.lift);
}
