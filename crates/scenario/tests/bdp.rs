//! Queues in bandwidth-delay products.

use ndnweir_core::units::Bytes;
use ndnweir_scenario::{Problems, QueueLimit, Scenario, Source, apply_overrides};
use std::path::Path;

const NETWORK: &str = r#"[[node]]
names = ["C", "D", "R", "S", "P", "X"]
[link-defaults]
rate = "8Mbps"
delay = "5ms"
[[link]]
ends = ["C", "R"]
[[link]]
ends = ["D", "R"]
delay = "25ms"
[[link]]
ends = ["R", "P"]
queue = "QUEUE"
backward = { rate = "80Mbps" }
[[link]]
ends = ["R", "X"]
[[producer]]
name = "P"
node = "P"
prefix = "/p"
[[consumer]]
name = "C"
node = "C"
prefix = "/p/c"
"#;

const FAR: &str = "[[consumer]]\nname = \"D\"\nnode = \"D\"\nprefix = \"/p/d\"\n";

fn read(text: &str, set: &[&str]) -> Result<Scenario, Problems> {
    let mut source = Source::from_text("x.toml", text, Path::new(""))?;
    apply_overrides(&mut source, set)?;
    source.validate()
}

/// The queues of a link in bytes, forward and backward.
fn queues(text: &str, set: &[&str], link: &str) -> [u64; 2] {
    let scenario = read(text, set).unwrap_or_else(|problems| panic!("{problems}"));
    let link = &scenario.links[scenario.link(link).unwrap()];
    [&link.forward, &link.backward].map(|direction| match direction.limit {
        QueueLimit::Bytes(bytes) => bytes.get(),
        QueueLimit::Packets(n) => panic!("{n} packets"),
    })
}

#[test]
fn a_stated_round_trip_goes_with_the_rate_of_each_direction() {
    // Links have their ends in the order of names: this one leads from P to R.
    let text = NETWORK.replace("QUEUE", "0.5 BDP of 40ms");
    assert_eq!(queues(&text, &[], "R-P"), [200_000, 20_000]);
}

#[test]
fn without_one_the_longest_round_trip_of_the_flows_over_the_link_counts() {
    let text = NETWORK.replace("QUEUE", "2 BDP");
    // C is 20 ms away, D 60 ms.
    assert_eq!(queues(&text, &[], "R-P"), [400_000, 40_000]);
    assert_eq!(queues(&format!("{text}{FAR}"), &[], "R-P"), [1_200_000, 120_000]);
    assert_eq!(queues(&format!("{text}{FAR}"), &["link.C-R.queue=1 BDP"], "C-R"), [20_000, 20_000]);
}

#[test]
fn a_queue_has_room_for_one_data_at_least() {
    let text = NETWORK.replace("QUEUE", "0.001 BDP");
    assert_eq!(queues(&text, &[], "R-P"), [1066, 1066]);
}

#[test]
fn defaults_and_directions_may_be_in_products_too() {
    let text = NETWORK.replace("queue = \"QUEUE\"\n", "").replace("rate = \"80Mbps\"", "queue = \"7 packets\"");
    let text = text.replace("delay = \"5ms\"\n[[link]]", "delay = \"5ms\"\nqueue = \"1 BDP of 100ms\"\n[[link]]");
    assert_eq!(queues(&text, &[], "C-R"), [100_000, 100_000]);
    let scenario = read(&text, &[]).unwrap();
    let link = &scenario.links[scenario.link("R-P").unwrap()];
    assert!([&link.backward, &link.forward].map(|d| d.limit).contains(&QueueLimit::Packets(7)));
    assert!([&link.backward, &link.forward].map(|d| d.limit).contains(&QueueLimit::Bytes(Bytes::new(100_000))));
}

#[test]
fn an_invalid_queue_is_reported_with_line_and_remedy() {
    for (queue, message) in [
        ("0 BDP", "no number of BDP"),
        ("many BDP", "no number of BDP"),
        ("1 BDP of ten", "no round trip"),
        ("1 BDP 40ms", "no round trip"),
    ] {
        let problems = read(&NETWORK.replace("QUEUE", queue), &[]).unwrap_err();
        let [problem] = &problems.list[..] else { panic!("{problems}") };
        assert!(problem.message.contains(message) && problem.help.contains("BDP"), "{problem}");
        assert_eq!(problem.place.line, 13);
    }
    let text =
        NETWORK.replace("QUEUE", "1 BDP").replace("ends = [\"R\", \"X\"]", "ends = [\"R\", \"X\"]\nqueue = \"1 BDP\"");
    let problems = read(&text, &[]).unwrap_err();
    let [problem] = &problems.list[..] else { panic!("{problems}") };
    assert!(problem.message.contains("no flow crosses link R-X") && problem.help.contains("of 40ms"), "{problem}");
    assert_eq!(problem.place.line, 17);
}
