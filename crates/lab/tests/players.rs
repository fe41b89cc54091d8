//! Video players, from the scenario file to the metrics.

use super::common::run_text;
use ndnweir_lab::results::{Comparison, VideoRun};

const NETWORK: &str = r#"
[run]
duration = "40s"
start-jitter = "0ms"
[[node]]
names = ["A", "B", "P"]
[[node]]
name = "R"
cache = 100000
[link-defaults]
rate = "100Mbps"
delay = "2ms"
queue = "2000 packets"
[[link]]
ends = ["A", "R"]
[[link]]
ends = ["B", "R"]
[[link]]
ends = ["R", "P"]
rate = "6Mbps"
delay = "10ms"
[[producer]]
name = "P"
node = "P"
prefix = "/p"
"#;

fn viewer(name: &str, rule: &str, more: &str) -> String {
    let ladder = r#"["500kbps", "1Mbps", "2Mbps", "4Mbps", "8Mbps"]"#;
    let who = format!("[[consumer]]\nname = \"{name}\"\nnode = \"{name}\"\nprefix = \"/p/v\"\nkind = \"flows\"\n");
    format!("{who}arrivals = \"player\"\nladder = {ladder}\nrule = \"{rule}\"\n{more}\n")
}

fn run(text: &str, set: &[&str]) -> Comparison {
    run_text(&format!("{NETWORK}{text}"), set, "cubic", &[1])
}

fn video(comparison: &Comparison, consumer: usize) -> VideoRun {
    comparison.runs[0].consumers[consumer].flows.clone().unwrap().video.unwrap()
}

#[test]
fn players_alone_take_the_bitrate_that_the_link_permits_and_never_stall() {
    for rule in ["festive", "bba-0"] {
        let found = run(&viewer("A", rule, ""), &[]);
        let info = found.scenario.consumers[0].flows.clone().unwrap().video.unwrap();
        assert_eq!((info.permitted_mbps, info.ladder_mbps.len()), (Some(4.0), 5));
        let video = video(&found, 0);
        assert_eq!((video.videos, video.played, video.stalls, video.stalled_s), (1, 1, 0, 0.0), "{rule}");
        // Two chunks of 125 kB at 6 Mbit/s take 0.3 s, and two round trips.
        assert!((0.3..1.0).contains(&video.startup_s.unwrap()), "{rule}: {video:?}");
        // BBA-0 may spend a full buffer on chunks that take longer than they play.
        assert!((0.6..1.2).contains(&video.bitrate_share.unwrap()), "{rule}: {video:?}");
        // 40 s are shown, less the start; at most 20 s are there beside.
        assert!((20..=31).contains(&video.chunks), "{rule}: {video:?}");
        let again = run(&viewer("A", rule, ""), &[]);
        assert_eq!(found.runs[0].event_hash, again.runs[0].event_hash);
    }
}

#[test]
fn a_link_slower_than_the_lowest_bitrate_stalls_for_what_is_missing() {
    let found = run(&viewer("A", "festive", ""), &["link.R-P.rate=400kbps"]);
    let video = video(&found, 0);
    assert!(video.stalls >= 3 && video.switches == 0 && video.bitrate_share == Some(1.0), "{video:?}");
    // 0.4 of 0.5 Mbit/s, less headers and the time between chunks: a quarter of the time nothing is shown.
    assert!((6.0..16.0).contains(&video.stalled_s), "{video:?}");
}

#[test]
fn live_viewers_share_chunks_in_a_cache_and_wait_for_those_to_come() {
    let live = "live = true\nchunk = \"1s\"\nstart = \"10s\"";
    let both = viewer("A", "bba-0", live) + &viewer("B", "bba-0", live);
    let found = run(&both, &[]);
    for consumer in [0, 1] {
        let video = video(&found, consumer);
        // From the seventh second on, one in each, and none before it has been made.
        assert!(video.stalls == 0 && (30..=33).contains(&video.chunks), "{video:?}");
    }
    let router = found.runs[0].nodes.iter().find(|node| node.name == "R").unwrap();
    assert!(router.cs_hits + router.pit_aggregated > router.interests / 3, "{router:?}");
}

#[test]
fn videos_of_a_catalogue_follow_each_other() {
    let found = run(&viewer("A", "festive", "catalogue = 2\nlength = \"8s\""), &[]);
    let video = video(&found, 0);
    // Each takes 8 s and its start.
    assert!((4..=5).contains(&video.videos) && video.played >= 4 && video.stalls == 0, "{video:?}");
    let router = found.runs[0].nodes.iter().find(|node| node.name == "R").unwrap();
    assert!(router.cs_hits > 100, "what has been shown is shown again: {router:?}");
}
