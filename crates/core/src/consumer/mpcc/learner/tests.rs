//! Utilities computed with Python from the formula of the authors' code, apart from this one.

use super::*;
use crate::ctx::Trace;

fn at(t: u64) -> Time {
    Time::ZERO + Duration::from_millis(t)
}

fn learner(rate: f64, others: f64) -> Learner {
    let mut learner = Learner::new(&Params::default(), others);
    (learner.rate, learner.mode) = (rate, Mode::Moving);
    learner
}

fn seen(rate: f64, utility: f64) -> Seen {
    Seen { rate, utility }
}

/// Utilities of probes whose gradients are `gradients`.
fn probes(gradients: [f64; 2]) -> [Seen; 4] {
    let of = |gradient: f64| [seen(10.5, gradient * BYTES_PER_MBIT), seen(9.5, 0.0)];
    let [a, b] = gradients.map(of);
    [a[0], a[1], b[1], b[0]]
}

fn rng() -> Rng {
    Rng::derive(1, &[])
}

// 1.25·10⁶ bytes per second: to the power 0.9 307,057.0065; a slope of 0.05 costs 62,500, a tenth of losses 1,375,000.
#[test]
fn the_utility_is_that_of_all_paths_less_slope_and_loss_of_this_one() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-3, "{a} instead of {b}");
    let utility = |rate, others, gradient, loss, latency| {
        learner(rate, others).utility(rate, &Measured { mbps: rate, gradient, loss }, latency)
    };
    close(utility(10.0, 0.0, 0.0, 0.0, true), 307_057.006_529);
    close(utility(2.0, 8.0, 0.0, 0.0, true), 307_057.006_529);
    close(utility(2.0, 8.0, 0.05, 0.0, true), 244_557.006_529);
    close(utility(2.0, 8.0, 0.05, 0.0, false), 307_057.006_529);
    close(utility(2.0, 8.0, 0.029, 0.0, true), 307_057.006_529);
    close(utility(2.0, 8.0, -0.05, 0.0, true), 369_557.006_529);
    close(utility(2.0, 8.0, 0.0, 0.1, true), -1_067_942.993_471);
    // While it doubles, few losses and queues that drain count as none.
    let mut starting = learner(2.0, 8.0);
    starting.mode = Mode::Starting(2);
    close(starting.utility(2.0, &Measured { mbps: 2.0, gradient: -0.05, loss: 0.1 }, true), 307_057.006_529);
}

#[test]
fn probes_lie_a_twentieth_of_the_total_rate_away() {
    assert_eq!(learner(10.0, 30.0).probes(), (12.0, 8.0));
    // 0.05 · 40 = 2 is more than the rate: half of the higher probe instead of less than nothing.
    assert_eq!(learner(1.0, 39.0).probes(), (3.0, 1.5));
}

// A path of 10 of 20 Mbit/s: bounds of 1, 2, 3 Mbit/s. Upwards is the direction at first, so nothing turned; gradient
// 0.8 times amplifiers 1, 3, 5, 7 is 0.8, 2.4 bounded by 1, 4 bounded by 2, 5.6 bounded by 3.
#[test]
fn changes_in_one_direction_grow_up_to_a_bound_that_grows_too() {
    let mut learner = learner(10.0, 10.0);
    let changes = [0.8; 4].map(|gradient| learner.change(gradient));
    assert!(changes.iter().zip([0.8, 1.0, 2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-9), "{changes:?}");
    // A turn: 1 at most, and two more changes before the amplifier grows. 0.1 is raised to 0.5.
    assert_eq!(learner.change(-7.0), -1.0);
    learner.direction = Direction::Down;
    let changes = [-0.6, -0.6, -0.6, -0.1].map(|gradient| learner.change(gradient));
    assert_eq!(changes, [-0.6, -0.6, -1.0, -0.5]);
}

#[test]
fn no_change_takes_more_than_half_of_the_path() {
    assert_eq!(learner(1.0, 100.0).change(-50.0), -0.5);
    assert_eq!(learner(0.6, 0.0).change(0.001), 0.3);
}

// Gradients 0.9 and 0.7: 0.7 counts, above the least of 0.5 and below the bound of 2. The worse probe of the first pair
// is (9.5, 0).
#[test]
fn of_two_pairs_that_agree_the_smaller_gradient_counts() {
    let mut learner = learner(10.0, 30.0);
    learner.decide_probes(&probes([0.9, 0.7]), 0, 30.0, &mut rng());
    assert!((learner.rate - 10.7).abs() < 1e-9 && learner.mode == Mode::Moving, "{}", learner.rate);
    assert_eq!((learner.advertised, learner.last), (learner.rate, seen(9.5, 0.0)));
}

#[test]
fn pairs_that_disagree_leave_the_rate_and_read_the_others_again() {
    let mut learner = learner(10.0, 30.0);
    learner.decide_probes(&probes([0.9, -0.7]), 0, 12.0, &mut rng());
    assert!(matches!(learner.mode, Mode::Probing(_)));
    assert_eq!((learner.rate, learner.others, learner.advertised), (10.0, 12.0, 10.0));
}

#[test]
fn three_probes_with_a_third_lost_halve_the_rate() {
    let mut learner = learner(10.0, 0.0);
    learner.decide_probes(&probes([0.9, 0.7]), 3, 0.0, &mut rng());
    assert_eq!(learner.rate, 5.0);
}

// From 10 to 10.8 Mbit/s the utility rose by 0.8 · 0.9 per byte per second: 0.9 more. Then it falls: the rate stays and
// is probed.
#[test]
fn it_moves_on_in_one_direction_and_probes_where_it_would_turn() {
    let mut learner = learner(10.8, 30.0);
    learner.last = seen(10.0, 0.0);
    learner.decide_move(seen(10.8, 0.72 * BYTES_PER_MBIT), 0, 30.0, &mut rng());
    assert!((learner.rate - 11.7).abs() < 1e-9, "{}", learner.rate);
    learner.decide_move(seen(11.7, 0.0), 0, 25.0, &mut rng());
    assert!((learner.rate - 11.7).abs() < 1e-9 && learner.others == 25.0);
    assert!(matches!(learner.mode, Mode::Probing(_)));
}

#[test]
fn it_doubles_while_the_utility_rises_and_returns_after_three_that_did_not() {
    let mut learner = learner(4.0, 0.0);
    (learner.mode, learner.last) = (Mode::Starting(2), seen(4.0, f64::NEG_INFINITY));
    let (mut rng, mut trace) = (rng(), Trace::default());
    let mut ctx = Ctx { now: at(0), rng: &mut rng, trace: &mut trace };
    let mut decide = |learner: &mut Learner, utility, sent_at| {
        let Mode::Starting(attempts) = learner.mode else { panic!("{:?}", learner.mode) };
        learner.decide_start(attempts, seen(learner.rate, utility), sent_at, 0.0, &mut ctx);
        learner.rate
    };
    assert_eq!(decide(&mut learner, 1.0, 4.0), 8.0);
    assert_eq!(decide(&mut learner, 2.0, 8.0), 16.0);
    assert_eq!(decide(&mut learner, 3.0, 14.0), 16.0, "sent at less than nine tenths");
    assert_eq!(decide(&mut learner, 1.0, 16.0), 16.0);
    assert_eq!(decide(&mut learner, 1.0, 16.0), 8.0);
    assert!(matches!(learner.mode, Mode::Probing(_)));
}

#[test]
fn a_path_silent_for_a_whole_timeout_halves_its_rate_once_per_timeout() {
    let mut learner = learner(4.0, 0.0);
    let (mut rng, mut trace) = (rng(), Trace::default());
    let mut timeout = |learner: &mut Learner, sent, now| {
        learner.on_timeout(at(sent), &mut Ctx { now: at(now), rng: &mut rng, trace: &mut trace });
        learner.rate
    };
    learner.on_data(None, at(100));
    assert_eq!(timeout(&mut learner, 90, 300), 4.0, "a Data came after it left");
    assert_eq!(timeout(&mut learner, 110, 310), 2.0);
    assert_eq!(timeout(&mut learner, 300, 500), 2.0, "it left before the rate was halved");
    assert_eq!(timeout(&mut learner, 311, 511), 1.0);
}

// From 4 Mbit/s two timeouts go to 1, which the next Interests leave at, not at 0.95 or 1.05.
#[test]
fn in_silence_from_the_first_interest_on_it_sends_at_its_rate_and_probes_nothing() {
    let mut learner = Learner::new(&Params::default(), 0.0);
    let (mut rng, mut trace) = (rng(), Trace::default());
    for (sent, now, rate) in [(0, 200, 2.0), (201, 400, 1.0)] {
        learner.on_sent(1, at(sent));
        assert!(learner.on_timeout(at(sent), &mut Ctx { now: at(now), rng: &mut rng, trace: &mut trace }));
        learner.on_sent(1, at(now + 1));
        assert_eq!(learner.sends_at(), rate);
    }
}

// 10 Mbit/s at 50 ms are 62,500 bytes, twice that 100 segments of 1250.
#[test]
fn the_window_is_twice_what_the_rate_keeps_in_flight() {
    let mut learner = learner(10.0, 0.0);
    assert_eq!(learner.window(1250.0), 4.0, "before the first round-trip time");
    learner.on_data(Some(Duration::from_millis(50)), at(1));
    assert_eq!(learner.window(1250.0), 100.0);
}
