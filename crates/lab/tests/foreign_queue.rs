//! Queues below NDN that others fill, or that are none: marks by the delay of a hop do not starve those who heed them.

use super::common::run_text;
use ndnweir_lab::results::Run;

/// One flow beside other traffic over 10 Mbit/s and a round trip of 51 ms: the judge's network.
const NETWORK: &str = include_str!("../../../judge/scenarios/tcp.toml");
/// A buffer of four bandwidth-delay products.
const LARGE: &str = "link.R1-R2.queue=240 packets";
const LONGER: &str = r#"
[[event]]
at = "12s"
action = "link-delay"
link = "R1-R2"
delay = "40ms"
"#;

/// Beside that kind of traffic, of that rate where it has one.
fn run(scheme: &str, kind: &str, rate: Option<&str>, events: &str) -> Run {
    let kind = format!("cross.T1.kind={kind}");
    let rate = rate.map(|rate| format!("cross.T1.rate={rate}"));
    let set: Vec<_> = [LARGE, &kind].into_iter().chain(rate.as_deref()).collect();
    run_text(&[NETWORK, events].concat(), &set, scheme, &[1]).runs.remove(0)
}

#[test]
fn beside_tcp_that_fills_a_large_buffer_a_quarter_of_half_the_link_is_kept() {
    for scheme in ["measured", "weir"] {
        let kept = run(scheme, "tcp", None, "").consumers[0].goodput_mbps;
        assert!(kept >= 1.25, "{scheme}: {kept}");
    }
    // The published law knows no queues of others.
    let published = run("hbhcm", "tcp", None, "").consumers[0].goodput_mbps;
    assert!(published < 1.25, "hbhcm: {published}");
}

#[test]
fn adaptive_media_keep_half_of_the_rate_that_they_want() {
    for scheme in ["measured", "weir"] {
        let run = run(scheme, "nada", Some("1.5Mbps"), "");
        let wait = run.links.iter().find(|link| link.name == "R2>R1").unwrap().queue_ms;
        assert!(run.cross[0].goodput_mbps > 0.75, "{scheme}: {}", run.cross[0].goodput_mbps);
        assert!(wait < 25.0, "{scheme}: {wait}");
    }
}

#[test]
fn a_way_that_becomes_longer_is_no_queue_for_longer_than_some_seconds() {
    // Until the least delay of before was forgotten, ten seconds, next to nothing was sent.
    let measured = run("measured", "poisson", Some("10kbps"), LONGER).consumers[0].goodput_mbps;
    assert!(measured > 8.0, "{measured}");
}
