use super::*;

fn mbps(rates: &[u64]) -> Vec<Rate> {
    rates.iter().map(|rate| Rate::from_mbps(*rate as f64)).collect()
}

fn player(rule: BitrateRule, buffer_s: u64, video: Video) -> Player {
    let s = |s: u64| Duration::from_millis(1000 * s);
    Player { chunk: s(2), ladder: mbps(&[1, 2, 4]), rule, buffer: s(buffer_s), play_at: s(2), video }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

const ENDLESS: Video = Video::OnDemand { chunks: None };

#[test]
fn festive_chooses_as_computed_by_hand() {
    // Time that each chunk takes, in ms, and the level of the next. Chunks of level 0, 1, 2 have 2, 4, 8 Mbit; w is the
    // harmonic mean of their rates in Mbit/s.
    let trace = [
        // w 4: 2 is below 3.4. At 1 costs 1 + 12 · ½, at 2 2¹ + 0.
        (500, 1),
        // w 2 / (¼ + ⅛) = 5.3: 4 is below 4.5, but level 2 wants two chunks first.
        (500, 1),
        // w 3 / (¼ + ⅛ + ⅛) = 6: at 2 costs 2¹ + 12 · ½, at 4 2² + 0.
        (500, 2),
        // 1 Mbit/s; w 4 / 1½ = 2.7, of which 0.85 is 2.3: at 4 costs 2² + 12 · 1, at 2 2³ + 0.
        (8000, 1),
        // 1 Mbit/s; w 5 / 2½ = 2: 1 is below 1.7: at 2 costs 2³ + 12 · 1, at 1 2⁴ + 0.
        (4000, 0),
        // 40 Mbit/s; w 6 / 2.525 = 2.4: 2 is below 2.02, but at 1 costs 2⁴ + 12 · ½ and at 2 2⁵ + 0: too many switches.
        (50, 0),
    ];
    let player = player(BitrateRule::Festive, 240, ENDLESS);
    let mut playback = Playback::new();
    playback.open(&player, ms(0), None);
    let mut now = 0;
    let mut level = 0;
    assert_eq!(playback.ask(&player, ms(now)), Some(player.bytes(0)));
    for (took, next) in trace {
        now += took;
        playback.arrived(&player, ms(now));
        assert_eq!(playback.ask(&player, ms(now)), Some(player.bytes(next)), "after {took} ms at level {level}");
        level = next;
    }
}

#[test]
fn bba_0_chooses_as_computed_by_hand() {
    let player = player(BitrateRule::Bba0, 24, ENDLESS);
    // Of 24 s the reservoir is 9, the cushion ends at 21.6: f = 1 + 3 · (B - 9) / 12.6 Mbit/s.
    for (last, buffered_ms, next) in [
        (0, 5_000, 0),
        // f = 1.7, not yet 2.
        (0, 12_000, 0),
        // f = 2.2.
        (0, 14_000, 1),
        // f = 1.7 is above level 0.
        (1, 12_000, 1),
        (1, 22_000, 2),
        // f = 2.2 is above level 1, 1.7 is not: the least bitrate above 1.7 is 2.
        (2, 14_000, 2),
        (2, 12_000, 1),
        (2, 9_000, 0),
    ] {
        let buffered = Duration::from_millis(buffered_ms);
        let chosen = Memory::default().choose(&player.rule, &player, ms(0), Some(last), buffered);
        assert_eq!(chosen, next, "level {last}, {buffered_ms} ms");
    }
    assert_eq!(Memory::default().choose(&player.rule, &player, ms(0), None, Duration::ZERO), 0);
}

#[test]
fn a_video_plays_stalls_resumes_and_ends_when_its_buffer_says_so() {
    let player = player(BitrateRule::Bba0, 4, Video::OnDemand { chunks: Some(3) });
    let mut playback = Playback::new();
    playback.open(&player, ms(0), None);
    assert!(playback.ask(&player, ms(0)).is_some() && playback.due() == Time::NEVER);
    playback.arrived(&player, ms(500));
    // Two seconds are there, and there is room for two more.
    assert_eq!(playback.due(), ms(500));
    assert!(playback.ask(&player, ms(500)).is_some());
    playback.arrived(&player, ms(1500));
    // Three are, so that there is room one second later.
    assert_eq!(playback.due(), ms(2500));
    assert!(playback.ask(&player, ms(2499)).is_none() && playback.ask(&player, ms(2500)).is_some());
    assert_eq!(playback.due(), ms(4500));
    assert!(!playback.advance(&player, ms(4500)));
    assert_eq!(playback.due(), Time::NEVER);
    playback.arrived(&player, ms(5500));
    // The last chunk: nothing more is asked for.
    assert_eq!(playback.due(), ms(7500));
    assert!(playback.advance(&player, ms(7500)));
    let lowest = FlowEvent::Chose { bps: 1_000_000, switched: false };
    // Each time half of the buffer is filled: f = 1.7 Mbit/s.
    let wanted = [
        FlowEvent::Opened,
        lowest,
        FlowEvent::Plays,
        lowest,
        lowest,
        FlowEvent::Stalled,
        FlowEvent::Plays,
        FlowEvent::Closed,
    ];
    assert_eq!(playback.take_said(), wanted);
}

#[test]
fn live_video_begins_behind_the_newest_chunk_and_waits_for_what_has_not_been_made() {
    let player = Player { play_at: Duration::from_millis(4000), ..player(BitrateRule::Bba0, 8, Video::Live) };
    let mut playback = Playback::new();
    // At 7 s chunks 0, 1 and 2 exist; two are enough to play.
    playback.open(&player, ms(7000), None);
    for chunk in [1, 2] {
        assert_eq!(playback.due(), ms(7000));
        assert!(playback.ask(&player, ms(7000)).is_some());
        assert_eq!(playback.object(&player), Some(chunk << 8));
        playback.arrived(&player, ms(7000));
    }
    assert_eq!(playback.due(), ms(8000), "when chunk 3 has been made");
    playback.close();
    assert_eq!((playback.due(), playback.take_said().last()), (Time::NEVER, Some(&FlowEvent::Closed)));
}

#[test]
fn a_player_of_a_catalogue_names_chunks_by_video_place_and_level() {
    let player = player(BitrateRule::Festive, 8, ENDLESS);
    let mut playback = Playback::new();
    playback.open(&player, ms(0), Some(3));
    playback.ask(&player, ms(0));
    assert_eq!(playback.object(&player), Some(3 << 32));
    playback.arrived(&player, ms(10));
    playback.ask(&player, ms(10));
    assert_eq!(playback.object(&player), Some(3 << 32 | 1 << 8 | 1));
    playback.open(&player, ms(20), None);
    playback.ask(&player, ms(20));
    assert_eq!(playback.object(&player), None, "without a catalogue every chunk is new");
}

#[test]
fn what_is_no_player_is_said() {
    let sound = player(BitrateRule::Festive, 8, ENDLESS);
    assert_eq!(sound.fault(), None);
    for broken in [
        Player { chunk: Duration::ZERO, ..sound.clone() },
        Player { ladder: Vec::new(), ..sound.clone() },
        Player { ladder: mbps(&[2, 1]), ..sound.clone() },
        Player { buffer: Duration::from_millis(1999), ..sound.clone() },
        Player { play_at: Duration::from_millis(9000), ..sound.clone() },
        Player { video: Video::OnDemand { chunks: Some(0) }, ..sound.clone() },
    ] {
        assert!(broken.fault().is_some(), "{broken:?}");
    }
}
