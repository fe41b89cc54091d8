//! Links that remove or set congestion marks and write false header fields, and a discipline at one link.

use super::common::run_text;
use ndnweir_lab::results::Run;

/// Two flows over 2 Mbit/s.
const NETWORK: &str = r#"
[run]
duration = "10s"
[[node]]
names = ["C1", "C2", "R1", "R2", "P"]
[link-defaults]
rate = "100Mbps"
delay = "5ms"
queue = "100 packets"
[[link]]
ends = ["C1", "R1"]
[[link]]
ends = ["C2", "R1"]
[[link]]
ends = ["R1", "R2"]
rate = "2Mbps"
[[link]]
ends = ["R2", "P"]
[[producer]]
name = "P"
node = "P"
prefix = "/p"
[[consumer]]
name = "C1"
node = "C1"
prefix = "/p/1"
[[consumer]]
name = "C2"
node = "C2"
prefix = "/p/2"
"#;

fn run(scheme: &str, set: &[&str]) -> Run {
    run_text(NETWORK, set, scheme, &[1]).runs.remove(0)
}

#[test]
fn marks_that_a_link_removes_never_arrive_and_the_queue_grows_as_without_them() {
    let kept = run("pcon", &[]);
    let cleared = run("pcon", &["link.R1-R2.marks=clear"]);
    let bottleneck = |run: &Run| run.links.iter().find(|l| l.name == "R2>R1").unwrap().clone();
    assert!(kept.marks > 10, "{}", kept.marks);
    assert_eq!(cleared.marks, 0);
    assert!(bottleneck(&cleared).marks > 10, "the queue marks all the same");
    assert!(bottleneck(&cleared).queue_ms > 2.0 * bottleneck(&kept).queue_ms);
}

#[test]
fn marks_that_a_link_sets_arrive_with_every_data_of_its_flow_alone() {
    let run = run("pcon", &["link.C2-R1.marks=set"]);
    let [one, two] = &run.consumers[..] else { panic!("two consumers") };
    assert_eq!(two.marks, two.segments + two.duplicates);
    assert!(one.marks * 10 < one.segments, "{} of {}", one.marks, one.segments);
    assert!(two.goodput_mbps < 0.3 * one.goodput_mbps, "{} {}", two.goodput_mbps, one.goodput_mbps);
}

#[test]
fn false_fields_change_what_reads_them_and_nothing_else() {
    let goodput = |set: &[&str]| run("hobhis-2014", set).goodput_mbps;
    // Rates in a field: the least one that can be written stops the consumer.
    let (honest, least) = (goodput(&[]), goodput(&["link.R1-R2.fields=least"]));
    assert!(honest > 1.0 && least < 0.2 * honest, "{honest} {least}");
    // No field, no change.
    assert_eq!(run("cubic", &["link.R1-R2.fields=largest"]).event_hash, run("cubic", &[]).event_hash);
}

#[test]
fn a_discipline_at_one_link_keeps_its_flows_apart() {
    let set = ["consumer.C2.component={ name = \"fixed\", window = 200 }", "link.*.marker=droptail"];
    let worst = |own: &[&str]| run("bic", &[&set[..], own].concat()).worst_share.unwrap();
    let (fifo, drr) = (worst(&[]), worst(&["link.R1-R2.discipline=drr"]));
    assert!(fifo < 0.5 && drr > 0.8, "{fifo} {drr}");
}
