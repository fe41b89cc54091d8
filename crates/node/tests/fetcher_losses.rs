//! Losses found before their timeout.

use crate::fetcher_link::{Link, World, at, consumer, data, ms, sent, started};
use ndnweir_core::fields::{Field, FieldLayout};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::fetcher::{Fetcher, FetcherConfig, LossDetection};
use ndnweir_node::server::ServerConfig;
use serde_json::json;

fn detecting(total: Option<u64>) -> FetcherConfig {
    FetcherConfig { total, loss: Some(LossDetection::default()), ..FetcherConfig::default() }
}

fn fixed(window: f64) -> AnyConsumer {
    consumer("fixed", json!({ "window": window }))
}

/// Interests for segments 0 to 9 are sent at 0, 10, … 90 ms; the Data of 0 and 2 come 100 ms after theirs.
fn one_overtaken(config: FetcherConfig) -> Fetcher {
    let mut fetcher = started(config, fixed(20.0), at(0));
    for step in 0..10 {
        assert!(fetcher.poll_transmit(at(10 * step)).is_some());
    }
    fetcher.handle(at(100), &data(0));
    fetcher.handle(at(120), &data(2));
    fetcher
}

fn losses(fetcher: &Fetcher) -> (u64, u64) {
    (fetcher.counters().losses, fetcher.counters().false_losses)
}

fn next(fetcher: &mut Fetcher, now: Time) -> Option<u32> {
    fetcher.poll_transmit(now).map(|packet| packet.name.segment)
}

#[test]
fn an_overtaken_segment_is_lost_a_round_trip_and_a_quarter_after_its_interest_without_further_data() {
    // Segment 1 was sent at 10 ms: 10 + 100 + 25.
    let mut fetcher = one_overtaken(detecting(None));
    assert_eq!((losses(&fetcher), fetcher.poll_timeout()), ((0, 0), at(135)));
    fetcher.handle_timeout(at(134));
    assert_eq!(losses(&fetcher), (0, 0));
    fetcher.handle_timeout(at(135));
    assert_eq!((losses(&fetcher), next(&mut fetcher, at(135))), ((1, 0), Some(1)));
    // Without detection the timeout finds it: deviations of 50 and 37.5 ms, 10 + 100 + 150 ms, at the look of 300 ms.
    let fetcher = one_overtaken(FetcherConfig::default());
    assert_eq!(fetcher.poll_timeout(), at(300));
}

// As above, but the Data of segment 2 says that other ways take 50 ms longer: 10 + 100 + 50 + 150/4.
#[test]
fn a_segment_that_may_have_gone_a_longer_way_is_given_as_much_more_time() {
    let mut layout = FieldLayout::new();
    let slot = layout.slot(Field::LongerWay).unwrap();
    let loss = Some(LossDetection { longer_way: Some(slot), ..LossDetection::default() });
    let mut fetcher = started(FetcherConfig { loss, ..FetcherConfig::default() }, fixed(20.0), at(0));
    for step in 0..10 {
        assert!(fetcher.poll_transmit(at(10 * step)).is_some());
    }
    let mut second = data(2);
    second.fields.set(slot, 50_000);
    fetcher.handle(at(100), &data(0));
    fetcher.handle(at(120), &second);
    assert_eq!(fetcher.poll_timeout(), at(197) + Duration::from_micros(500));
}

#[test]
fn a_lost_repeat_is_found_like_a_first_interest() {
    let mut fetcher = one_overtaken(detecting(None));
    fetcher.handle_timeout(at(135));
    assert_eq!(next(&mut fetcher, at(135)), Some(1));
    assert_eq!(next(&mut fetcher, at(140)), Some(10));
    for segment in 3..10 {
        fetcher.handle(at(100 + 10 * segment), &data(segment as u32));
    }
    assert_eq!(losses(&fetcher), (1, 0));
    // Segment 10 was sent after the repeat: 135 + 100 + 25.
    fetcher.handle(at(240), &data(10));
    assert_eq!(fetcher.poll_timeout(), at(260));
    fetcher.handle_timeout(at(260));
    assert_eq!((losses(&fetcher), next(&mut fetcher, at(260))), ((2, 0), Some(1)));
}

#[test]
fn the_answer_to_a_repeat_overtakes_too_unless_it_came_too_soon() {
    // A repeat of 1 at 135 ms, and 10 before it, at 134 ms: only the answer to the repeat overtakes 10.
    let run = |answered: u64| {
        let mut fetcher = one_overtaken(detecting(None));
        assert_eq!(next(&mut fetcher, at(134)), Some(10));
        fetcher.handle_timeout(at(135));
        assert_eq!(next(&mut fetcher, at(135)), Some(1));
        for segment in 3..10 {
            fetcher.handle(at(100 + 10 * segment), &data(segment as u32));
        }
        fetcher.handle(at(answered), &data(1));
        (losses(&fetcher), fetcher.poll_timeout())
    };
    // 100 ms after the repeat: 10 is lost at 134 + 100 + 25.
    assert_eq!(run(235), ((1, 0), at(259)));
    // 87 ms after it: the first Interest was answered, late. Nothing overtook 10; a probe is due after 200 ms of
    // silence.
    assert_eq!(run(222).0, (1, 1));
    assert!(run(222).1 > at(300));
}

#[test]
fn an_answer_after_its_segment_was_given_up_widens_the_window_by_a_step() {
    let mut fetcher = one_overtaken(detecting(None));
    fetcher.handle_timeout(at(135));
    fetcher.handle(at(140), &data(4));
    fetcher.handle(at(141), &data(1));
    assert_eq!(losses(&fetcher), (1, 1));
    // 3, sent at 30 ms, is lost at 30 + 100 + 50.
    assert_eq!(fetcher.poll_timeout(), at(180));
}

/// Of six segments four come 60 ms after their Interests, sent at once; `lost` more are sent at 60 ms and do not come.
fn silent(lost: u64) -> Fetcher {
    let mut fetcher = started(detecting(Some(4 + lost)), fixed(4.0), at(0));
    assert_eq!(sent(&mut fetcher, at(0)), [0, 1, 2, 3]);
    for segment in 0..4 {
        fetcher.handle(at(60), &data(segment));
    }
    assert_eq!(sent(&mut fetcher, at(60)).len() as u64, lost);
    // Two round trips of silence; the timeout is 200 ms at the least.
    assert_eq!(fetcher.poll_timeout(), at(180));
    fetcher.handle_timeout(at(180));
    fetcher
}

#[test]
fn the_last_segment_is_probed_for_after_two_silent_round_trips_and_stays_in_flight() {
    let mut fetcher = silent(1);
    assert_eq!((sent(&mut fetcher, at(180)), fetcher.flight().in_flight, losses(&fetcher)), (vec![4], 1, (0, 0)));
    // One probe; then the timer: 180 + 200 ms, at the look of 400 ms.
    assert_eq!((sent(&mut fetcher, at(180)), fetcher.poll_timeout()), (vec![], at(400)));
    // An answer after a round trip: the first was lost. After less: it was only late.
    fetcher.handle(at(240), &data(4));
    assert_eq!((losses(&fetcher), fetcher.is_complete(), fetcher.counters().retransmissions), ((1, 0), true, 1));
    let mut fetcher = silent(1);
    sent(&mut fetcher, at(180));
    fetcher.handle(at(220), &data(4));
    assert_eq!((losses(&fetcher), fetcher.is_complete()), ((0, 0), true));
}

#[test]
fn the_answer_to_a_probe_shows_the_loss_of_all_others() {
    let mut fetcher = silent(3);
    assert_eq!(sent(&mut fetcher, at(180)), [4]);
    fetcher.handle(at(240), &data(4));
    assert_eq!((losses(&fetcher), sent(&mut fetcher, at(240))), ((3, 0), vec![5, 6]));
}

#[test]
fn a_full_window_without_answers_is_probed_although_it_is_closed() {
    let mut fetcher = started(detecting(None), fixed(2.0), at(0));
    sent(&mut fetcher, at(0));
    fetcher.handle(at(60), &data(0));
    fetcher.handle(at(60), &data(1));
    assert_eq!(sent(&mut fetcher, at(60)), [2, 3]);
    fetcher.handle_timeout(at(180));
    assert_eq!((sent(&mut fetcher, at(180)), fetcher.flight().in_flight), (vec![2], 2));
}

/// A fetch over a link of 10 Mbit/s and 50 ms, as real fetches run: ndn-cxx's timer.
fn world(link: Link, loss: Option<LossDetection>, total: u64) -> World {
    let config = FetcherConfig { loss, ..detecting(Some(total)) };
    let timer = json!({ "estimator": "ndn-cxx", "scan": "1ms" });
    let mut world =
        World::new(link, ServerConfig::default(), config, consumer("fixed", json!({ "window": 80.0, "timer": timer })));
    world.start();
    world
}

#[test]
fn short_fetches_over_a_lossy_link_seldom_wait_for_a_timeout() {
    // 6 % lost. A fetch ends with one lost segment that nothing overtakes, or its lost repeat, in about one of six
    // cases; a timeout is left where the probe is lost too, in about one of a hundred.
    let run = |loss| {
        let ends = (200..300).map(|total| {
            let mut world = world(Link { lose: 60, ..Link::default() }, loss, total);
            world.run_until(at(60_000));
            assert!(world.fetcher.is_complete());
            let last = world.arrivals.last().map_or(Time::ZERO, |(time, _)| *time);
            (u64::from(world.fetcher.counters().timeouts > 0), last.since(Time::ZERO))
        });
        ends.fold((0, Duration::ZERO), |sum, end| (sum.0 + end.0, sum.1 + end.1))
    };
    let (with, without) = (run(Some(LossDetection::default())), run(None));
    assert!(with.0 <= 5, "{} of 100 fetches timed out", with.0);
    assert!(without.0 >= 99 && without.1 > with.1 + ms(100) * 100, "{with:?} {without:?}");
}

/// Segments are taken for lost wrongly at first, and none any more after two seconds.
fn check_learnt(link: Link) {
    let mut world = world(link, Some(LossDetection::default()), 6000);
    world.run_until(at(2000));
    let before = world.fetcher.counters();
    assert!(before.false_losses > 0, "{before:?}");
    world.run_until(at(60_000));
    let after = world.fetcher.counters();
    assert!(world.fetcher.is_complete());
    assert_eq!((after.losses - before.losses, after.timeouts), (0, 0));
}

#[test]
fn a_path_that_reorders_by_up_to_30_ms_is_learnt() {
    check_learnt(Link { jitter: ms(30), limit: 200, ..Link::default() });
}

#[test]
fn data_that_a_link_link_retransmissions_within_a_round_trip_of_its_own_is_not_taken_for_lost_for_long() {
    // The link of 50 ms finds and retransmits a loss in 60 ms, which is most of the path's round trip.
    check_learnt(Link { late: 60, late_by: ms(60), limit: 200, ..Link::default() });
}

/// The first answer takes 1 ms, and from then on one comes every 4 ms, to the Interest that waits longest: a path whose
/// bottleneck lets a first packet pass at once.
#[test]
fn round_trips_that_are_suddenly_much_longer_are_learnt_although_all_is_sent_again_at_first() {
    let mut fetcher = started(detecting(Some(300)), fixed(20.0), at(0));
    let mut waiting: Vec<u32> = sent(&mut fetcher, at(0));
    let mut half = losses(&fetcher).0;
    for t in 1..3000 {
        fetcher.handle_timeout(at(t));
        if t % 4 == 1 && !waiting.is_empty() {
            fetcher.handle(at(t), &data(waiting.remove(0)));
        }
        for segment in sent(&mut fetcher, at(t)) {
            // One that waits already is aggregated.
            if !waiting.contains(&segment) {
                waiting.push(segment);
            }
        }
        if t == 600 {
            half = losses(&fetcher).0;
        }
    }
    assert!(fetcher.is_complete() && half > 0);
    assert_eq!(losses(&fetcher).0, half, "none is taken for lost any more");
    assert!(half < 150, "{half}");
}
