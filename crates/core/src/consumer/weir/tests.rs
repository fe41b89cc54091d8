use super::*;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;

/// A Data of 1000 B comes after the smoothed round trip, and so many ms after the start, with a level, 0 if it has none.
fn told(consumer: &mut Weir, flight: Flight, ms: u64, kbps: u32) {
    let (mut rng, mut trace, mut fields) = (Rng::derive(0, &[]), Trace::default(), Fields::default());
    fields.set(consumer.slots.rate, kbps);
    let now = Time::ZERO + Duration::from_millis(ms);
    let (sent, size, rtt) = (Time::ZERO, Bytes::new(1000), Some(flight.srtt));
    let event = DataEvent { segment: 0, sent, rtt, mark: 0, size, fields: &fields, flight };
    consumer.on_data(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
}

// RTT 40 ms. The first level, 8 Mbit/s, is the pace, and 4 Mbit/s within three round trips after it at once. 10 ms later
// 100 Mbit/s count as 8, gain 10/50: 4 + 0.2 · 4 = 4.8. 110 ms later 2 Mbit/s: gain 110/150, 4.8 − 2.8 · 11/15 = 2.7467.
// Of 1000 B: 2.7467 Mbit/s · 40 ms = 13.733 packets, times 3, plus 1.
#[test]
fn the_pace_is_the_mean_of_the_levels_and_bounds_what_is_outstanding() {
    let mut layout = FieldLayout::new();
    let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
    let flight = Flight { in_flight: 1, srtt: Duration::from_millis(40), ..Flight::default() };
    assert_eq!((consumer.window(), consumer.pacing(&flight)), (1.0, None));
    let mut told = |ms: u64, kbps: u32| {
        told(&mut consumer, flight, ms, kbps);
        let mut stamped = Fields::default();
        consumer.stamp(1, &mut stamped);
        (stamped.get(consumer.slots.rate), consumer.window())
    };
    let paces = [(40, 8000), (50, 4000), (60, 100_000), (170, 2000)].map(|(ms, kbps)| told(ms, kbps).0);
    assert_eq!(paces, [8000, 4000, 4800, 2746]);
    let (pace, window) = told(170, 0);
    assert_eq!(pace, 2746, "a Data without a level changes nothing");
    assert!((window - 42.2).abs() < 1e-6, "{window}");
    assert_eq!(consumer.decreases(), 2);
}

// RTT 1 ms, 8 Mbit/s: 3 · 1 + 1 packets of 1000 B within the first 0.1 s. From then on headroom is for 10 ms at least, 3 · 10 + 1,
// so that a queue that overflows does not take all that is outstanding.
#[test]
fn on_a_short_way_a_slot_of_headroom_is_outstanding_once_routers_have_counted_the_flow() {
    let mut layout = FieldLayout::new();
    let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
    let flight = Flight { in_flight: 1, srtt: Duration::from_millis(1), ..Flight::default() };
    let windows = [1, 100, 102].map(|ms| {
        told(&mut consumer, flight, ms, 8000);
        consumer.window()
    });
    assert_eq!(windows, [4.0, 4.0, 31.0]);
}

// Levels allow 8 Mbit/s · 40 ms = 40 packets of 1000 B, times 3, plus 1. A Data each ms: 40 in a round trip. A mark with 50
// in flight: 0.8 · 40 = 32 packets, 6.4 Mbit/s, and Data let the window grow until it has 121 again.
#[test]
fn a_mark_cuts_to_a_part_of_what_was_delivered_until_the_window_has_grown_to_what_levels_allow() {
    let mut layout = FieldLayout::new();
    let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
    let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
    let mut told = |segment: u64, mark: u8| {
        let mut fields = Fields::default();
        fields.set(consumer.slots.rate, 8000);
        let flight = Flight {
            in_flight: 50,
            next_segment: segment + 50,
            highest_received: Some(segment),
            srtt: Duration::from_millis(40),
        };
        let now = Time::ZERO + Duration::from_millis(40 + segment);
        // The first waits for nothing, the others 10 ms.
        let rtt = Some(Duration::from_millis(if segment == 0 { 30 } else { 40 }));
        let (sent, size) = (Time::ZERO, Bytes::new(1000));
        let event = DataEvent { segment, sent, rtt, mark, size, fields: &fields, flight };
        consumer.on_data(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
        let mut stamped = Fields::default();
        consumer.stamp(1, &mut stamped);
        (consumer.window(), stamped.get(consumer.slots.rate), consumer.is_cut)
    };
    let before = (0..100).map(|segment| told(segment, 0)).last();
    assert!(before.is_some_and(|(window, ..)| (window - 121.0).abs() < 1e-6));
    assert_eq!(told(100, 1), (32.0, 6400, true));
    let grown = (101..20_000).map(|segment| told(segment, 0)).take_while(|(_, _, is_cut)| *is_cut).count();
    assert!((500..10_000).contains(&grown), "{grown}");
    let (window, rate, _) = told(102 + grown as u64, 0);
    assert!((window - 121.0).abs() < 1e-6 && rate == 8000, "{window} {rate}");
}

#[test]
fn without_levels_it_is_bic_and_levels_that_stop_leave_what_was_delivered() {
    let mut layout = FieldLayout::new();
    let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
    let mut bic = <bic::Bic as Component>::new(&bic::Params::default(), &mut Env { layout: &mut layout });
    let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
    let mut at = |segment: u64, ms: u64, kbps: u32| {
        let mut fields = Fields::default();
        fields.set(consumer.slots.rate, kbps);
        let flight = Flight {
            in_flight: 30,
            next_segment: segment + 30,
            highest_received: Some(segment),
            srtt: Duration::from_millis(40),
        };
        let now = Time::ZERO + Duration::from_millis(ms);
        let (sent, size, rtt) = (Time::ZERO, Bytes::new(1000), Some(Duration::from_millis(40)));
        let event = DataEvent { segment, sent, rtt, mark: 0, size, fields: &fields, flight };
        let mut ctx = Ctx { now, rng: &mut rng, trace: &mut trace };
        bic.on_data(&event, &mut ctx);
        consumer.on_data(&event, &mut ctx);
        (consumer.window(), bic.window(), consumer.pacing(&flight))
    };
    for segment in 0..200 {
        let (window, of_bic, pace) = at(segment, segment, 0);
        assert_eq!((window, pace), (of_bic, None));
    }
    let (window, _, pace) = at(200, 200, 8000);
    assert!((window - 121.0).abs() < 1e-6 && pace.is_some());
    assert!(at(201, 1100, 0).2.is_some(), "not yet for a second");
    let (window, _, pace) = at(202, 1201, 0);
    assert!((1.0..4.0).contains(&window) && pace.is_none(), "{window}");
}

/// A consumer whose Data, 1000 B after 40 ms, bring these kbit/s, marks and soft levels from 40 ms on, one each 10 ms. What
/// each leaves: the window, and from one Interest to the next in µs.
fn after(data: &[(u32, u8, u32)]) -> Vec<(f64, Option<u64>)> {
    let mut layout = FieldLayout::new();
    let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
    let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
    let each = |(segment, &(kbps, mark, soft)): (u64, &(u32, u8, u32))| {
        let mut fields = Fields::default();
        fields.set(consumer.slots.rate, kbps);
        fields.set(consumer.slots.soft, soft);
        let (next_segment, highest_received) = (segment + 10, Some(segment));
        let flight = Flight { in_flight: 10, next_segment, highest_received, srtt: Duration::from_millis(40) };
        let now = Time::ZERO + Duration::from_millis(40 + 10 * segment);
        let (sent, size, rtt) = (Time::ZERO, Bytes::new(1000), Some(Duration::from_millis(40)));
        let event = DataEvent { segment, sent, rtt, mark, size, fields: &fields, flight };
        consumer.on_data(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
        (consumer.window(), consumer.pacing(&flight).map(|gap| gap.nanos() / 1000))
    };
    (0..).zip(data).map(each).collect()
}

// 8 Mbit/s are a Data of 1000 B each ms; within 40 ms of the first level half of that.
#[test]
fn a_newcomer_sends_half_of_its_pace_for_a_round_trip() {
    let gaps: Vec<_> = after(&[(8000, 0, 8000); 5]).iter().map(|(_, gap)| *gap).collect();
    assert_eq!(gaps, [Some(2000), Some(2000), Some(2000), Some(2000), Some(1000)]);
}

// 80 Data of 1000 B take 80 ms at 8 Mbit/s, two round trips.
#[test]
fn a_newcomer_that_is_done_within_two_round_trips_sends_at_all_of_its_pace() {
    let gaps = [Some(79), Some(80), None].map(|rest| {
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut FieldLayout::new() });
        let flight = Flight { in_flight: 1, srtt: Duration::from_millis(40), ..Flight::default() };
        consumer.on_rest(rest);
        told(&mut consumer, flight, 40, 8000);
        consumer.pacing(&flight).map(|gap| gap.nanos() / 1000)
    });
    assert_eq!(gaps, [Some(1000), Some(2000), Some(2000)]);
}

// Levels allow 3 · 40 + 1 Data. Round trips are the least one all the time.
#[test]
fn a_mark_says_nothing_while_levels_are_told_and_no_queue_shows() {
    let windows = [8000, UNKNOWN].map(|soft| {
        let mut data = [(8000, 0, soft); 20];
        data[10].1 = 1;
        after(&data).iter().map(|(window, _)| *window).collect::<Vec<_>>()
    });
    assert!(windows[0].iter().all(|window| (window - 121.0).abs() < 1e-6), "{windows:?}");
    assert!(windows[1][10] < windows[1][9], "{windows:?}");
}

// Levels allow 3 · 40 + 1 packets. Eighty that were sent before a silence of 300 ms time out: the window is one, and each Data
// lets it grow by one until levels limit again. Eighty sent afterwards count as lost.
#[test]
fn what_was_sent_before_a_silence_is_no_congestion_on_the_way_after_it() {
    let mut layout = FieldLayout::new();
    let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
    let flight = Flight { in_flight: 80, srtt: Duration::from_millis(40), ..Flight::default() };
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let time_out = |consumer: &mut Weir, sent: u64, now: u64| {
        let (mut rng, mut trace, fields) = (Rng::derive(0, &[]), Trace::default(), Fields::default());
        let (kind, segment) = (Congestion::Timeout, 0);
        let event = CongestionEvent { kind, segment, sent: at(sent), fields: &fields, flight };
        consumer.on_congestion(&event, &mut Ctx { now: at(now), rng: &mut rng, trace: &mut trace });
    };
    (1..=200).for_each(|ms| told(&mut consumer, flight, 40 + ms, 8000));
    assert!((consumer.window() - 121.0).abs() < 1e-6);
    // The first were sent before the last Data came, and are more than noise.
    (0..40).for_each(|number| time_out(&mut consumer, 200 + number, 500 + number));
    assert!(consumer.lost.share() > consumer.params.reaction.noise, "{:?}", consumer.lost);
    (0..40).for_each(|number| time_out(&mut consumer, 241 + number, 541 + number));
    assert_eq!(consumer.window(), 1.0);
    let windows: Vec<f64> = (0..150)
        .map(|ms| {
            told(&mut consumer, flight, 600 + ms, 8000);
            consumer.window()
        })
        .collect();
    assert_eq!((windows[0], windows[52], windows[118]), (2.0, 54.0, 120.0));
    assert!((windows[149] - 121.0).abs() < 1e-6, "{windows:?}");
    (0..80).for_each(|number| time_out(&mut consumer, 610 + number, 1100 + number));
    assert!(consumer.lost.share() > consumer.params.reaction.noise, "{:?}", consumer.lost);
}

// 8000 bit in 4 s are 2 kbit/s.
#[test]
fn a_level_of_less_than_a_data_in_four_seconds_is_none() {
    let told = |kbps| after(&[(kbps, 0, kbps)])[0].1;
    assert_eq!([0, 1, 2].map(|kbps| told(kbps).is_some()), [false, false, true]);
    let gaps: Vec<_> = after(&[(8000, 0, 8000), (1, 0, 1), (1, 0, 1)]).iter().map(|(_, gap)| *gap).collect();
    assert_eq!(gaps[0], Some(2000));
    assert!(gaps[1].is_some_and(|gap| gap < 100_000), "the window paces: {gaps:?}");
}

// RTT 40 ms, 8 Mbit/s: a Data of 1000 B each ms, within the first round trip each 2 ms. With 80 Interests to come after this
// one 160 ms are left, four round trips: 255. With 40 half: 1 + 127. With 81, or if that is unknown, nothing is said.
#[test]
fn the_interests_of_the_last_four_round_trips_say_what_is_left_of_them() {
    let mut layout = FieldLayout::new();
    let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
    let flight = Flight { in_flight: 1, srtt: Duration::from_millis(40), ..Flight::default() };
    let says = |consumer: &mut Weir, rest| {
        let mut stamped = Fields::default();
        consumer.on_rest(rest);
        consumer.stamp(1, &mut stamped);
        let field = stamped.get(consumer.slots.round_trip);
        (field & 0xff_ffff, field >> 24)
    };
    assert_eq!(says(&mut consumer, Some(0)), (0, 0), "without a pace");
    consumer.on_rest(None);
    told(&mut consumer, flight, 40, 8000);
    let said = [Some(81), Some(80), Some(40), Some(0), None].map(|rest| says(&mut consumer, rest));
    assert_eq!(said, [0, 255, 128, 1, 0].map(|left| (40_000, left)));
}

// Gaps of 1 ms and a round trip of 40 ms: what lasts as long as the timer at least, 200 ms, is a silence, after which the
// window begins again. From 100 ms on losses say nothing. A probe ends it, and loss detection then finds all that was sent
// before.
#[test]
fn a_silence_that_a_probe_ends_is_one_and_after_half_of_it_losses_count_no_more() {
    for (pause, window) in [(99, 121.0), (100, 121.0), (199, 121.0), (200, 2.0)] {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        let flight = Flight { in_flight: 80, srtt: Duration::from_millis(40), ..Flight::default() };
        (1..=200).for_each(|ms| told(&mut consumer, flight, 40 + ms, 8000));
        told(&mut consumer, flight, 240 + pause, 8000);
        assert!((consumer.window() - window).abs() < 1e-6, "{pause} ms: {}", consumer.window());
        let (mut rng, mut trace, fields) = (Rng::derive(0, &[]), Trace::default(), Fields::default());
        let now = Time::ZERO + Duration::from_millis(240 + pause);
        for number in 0..80 {
            let sent = Time::ZERO + Duration::from_millis(241) + Duration::from_micros(number);
            let event = CongestionEvent { kind: Congestion::Loss, segment: number, sent, fields: &fields, flight };
            consumer.on_congestion(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
        }
        assert_eq!(
            consumer.lost.share() > consumer.params.reaction.noise,
            pause < 100,
            "what was lost counts unless the way was away"
        );
    }
}

// A Data each ms. The last comes at 240 ms; up to 199 ms later the gap is the pace's. Then it is as long as the silence, 4 s
// at most, and the next Data ends it.
#[test]
fn gaps_double_in_a_silence_up_to_four_seconds_and_end_with_it() {
    let mut layout = FieldLayout::new();
    let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
    let flight = Flight { in_flight: 1, srtt: Duration::from_millis(40), ..Flight::default() };
    (1..=200).for_each(|ms| told(&mut consumer, flight, 40 + ms, 8000));
    let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
    let mut gap = |consumer: &mut Weir, ms| {
        let now = Time::ZERO + Duration::from_millis(ms);
        let event = SentEvent { segment: 300, retransmission: true, flight };
        consumer.on_sent(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
        consumer.pacing(&flight).map(|gap| gap.millis())
    };
    let gaps = [439, 440, 640, 1040, 9999].map(|ms| gap(&mut consumer, ms));
    assert!(gaps[0].is_some_and(|gap| gap < 2.0), "{gaps:?}");
    assert_eq!(gaps[1..], [Some(200.0), Some(400.0), Some(800.0), Some(4000.0)]);
    told(&mut consumer, flight, 10_000, 8000);
    assert!(consumer.ends_gap());
    assert!(consumer.pacing(&flight).is_some_and(|gap| gap < Duration::from_millis(100)));
}

// 1000 B, RTT 40 ms: a window of w packets is w · 0.2 Mbit/s. A level of 8 Mbit/s is a packet each ms; a newcomer sends at
// half of it for a round trip, as routers have yet to count it.
#[test]
fn a_flow_whose_way_has_shown_no_bound_states_what_arrives_and_takes_the_first_level_whole() {
    let flight = Flight { in_flight: 1, srtt: Duration::from_millis(40), ..Flight::default() };
    let gaps = [OPEN, 0].map(|before| {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        for ms in 0..20 {
            // Another way of the flow may say nothing.
            told(&mut consumer, flight, 40 + ms, if ms % 4 == 3 { 0 } else { before });
        }
        let mut stamped = Fields::default();
        consumer.stamp(1, &mut stamped);
        let stated = if before == OPEN { 4000 } else { 1 };
        assert_eq!(stamped.get(consumer.slots.rate), stated);
        assert_eq!(consumer.pacing(&flight), None, "no level is followed");
        told(&mut consumer, flight, 61, 8000);
        consumer.pacing(&flight)
    });
    assert_eq!(gaps, [Some(Duration::from_millis(1)), Some(Duration::from_millis(2))]);
}

// RTT 40 ms, levels every 5 ms until 300 ms. Data that say that all links of their way are open end the level after two round
// trips, 80 ms; Data that say nothing after a second.
#[test]
fn where_all_ways_are_open_again_the_window_holds_after_two_round_trips() {
    let flight = Flight { in_flight: 40, srtt: Duration::from_millis(40), ..Flight::default() };
    let followed = |said: u32, until: u64| {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        (8..=60).for_each(|slot| told(&mut consumer, flight, 5 * slot, 8000));
        (61..=until / 5).for_each(|slot| told(&mut consumer, flight, 5 * slot, said));
        consumer.pacing(&flight).is_some()
    };
    assert_eq!([followed(OPEN, 375), followed(OPEN, 385)], [true, false]);
    assert_eq!([followed(0, 1295), followed(0, 1305)], [true, false]);
}

// What docs/measurements/weir.md says that a fetch takes for its consumer.
#[test]
fn the_state_of_a_consumer_is_constant() {
    assert!(size_of::<Weir>() <= 784, "{}", size_of::<Weir>());
}
