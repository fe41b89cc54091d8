//! Queues below NDN that others fill, or that are none: marks by the delay of a hop do not starve those who heed them.

use super::common::run_text;
use ndnweir_lab::results::Run;

/// One flow over 10 Mbit/s and a round trip of 51 ms, with a buffer of four bandwidth-delay products below NDN.
const NETWORK: &str = r#"
[run]
duration = "40s"
warm-up = "10s"
[link-defaults]
rate = "100Mbps"
delay = "5ms"
queue = "1000 packets"
[[node]]
kind = "host"
names = ["C1", "C2", "P"]
[[node]]
names = ["R1", "R2"]
[[link]]
ends = ["R1", "R2"]
rate = "10Mbps"
delay = "15ms"
queue = "240 packets"
[[link]]
ends = ["R2", "P"]
[[link]]
ends = ["C1", "R1"]
[[link]]
ends = ["C2", "R1"]
[[producer]]
name = "P"
node = "P"
prefix = "/p"
[[consumer]]
name = "C1"
node = "C1"
prefix = "/p/1"
"#;

const TCP: &str = r#"
[[cross]]
name = "T1"
path = ["P", "R2", "R1", "C2"]
kind = "tcp"
"#;

const MEDIA: &str = r#"
[[cross]]
name = "T1"
path = ["P", "R2", "R1", "C2"]
kind = "nada"
rate = "1.5Mbps"
"#;

const LONGER: &str = r#"
[[cross]]
name = "T1"
path = ["P", "R2", "R1", "C2"]
kind = "poisson"
rate = "10kbps"
[[event]]
at = "12s"
action = "link-delay"
link = "R1-R2"
delay = "40ms"
"#;

fn run(more: &str, scheme: &str) -> Run {
    run_text(&[NETWORK, more].concat(), &[], scheme, &[1]).runs.remove(0)
}

#[test]
fn beside_tcp_that_fills_a_large_buffer_a_quarter_of_half_the_link_is_kept() {
    for scheme in ["measured", "weir"] {
        let kept = run(TCP, scheme).consumers[0].goodput_mbps;
        assert!(kept >= 1.25, "{scheme}: {kept}");
    }
    // The published law knows no queues of others.
    let published = run(TCP, "hbhcm").consumers[0].goodput_mbps;
    assert!(published < 1.25, "hbhcm: {published}");
}

#[test]
fn adaptive_media_keep_half_of_the_rate_that_they_want() {
    for scheme in ["measured", "weir"] {
        let run = run(MEDIA, scheme);
        let wait = run.links.iter().find(|link| link.name == "R2>R1").unwrap().queue_ms;
        assert!(run.cross[0].goodput_mbps > 0.75, "{scheme}: {}", run.cross[0].goodput_mbps);
        assert!(wait < 25.0, "{scheme}: {wait}");
    }
}

#[test]
fn a_way_that_becomes_longer_is_no_queue_for_longer_than_some_seconds() {
    // Until the least delay of before was forgotten, ten seconds, next to nothing was sent.
    let measured = run(LONGER, "measured").consumers[0].goodput_mbps;
    assert!(measured > 8.0, "{measured}");
}
