//! `--set` changes what it names, and says what exists when it names nothing.

use ndnweir_core::registry::Family;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_scenario::{QueueLimit, Scenario, Source, Traffic, apply_overrides, find, load};
use serde_json::json;
use std::path::Path;

fn with(name: &str, set: &[&str]) -> Scenario {
    load(name, set).unwrap_or_else(|problems| panic!("{problems}"))
}

fn error(name: &str, set: &str) -> String {
    load(name, &[set]).unwrap_err().to_string()
}

#[test]
fn links_nodes_runs_and_consumers_can_be_changed() {
    let set = [
        "link.R1-R2.rate=5Mbps",
        "run.duration=20s",
        "consumer.C1.start=2s",
        "node.R1.cache=1000 packets",
        "link.*.queue=200 packets",
    ];
    let s = with("dumbbell", &set);
    let link = &s.links[s.link("R1-R2").unwrap()];
    assert_eq!((link.forward.rate, link.backward.rate), (Some(Rate::from_mbps(5.0)), Some(Rate::from_mbps(5.0))));
    assert_eq!(s.run.duration, Duration::from_millis(20_000));
    assert_eq!(s.consumers[0].start, Duration::from_millis(2_000));
    assert_eq!(s.nodes[s.node("R1").unwrap()].kind.cache(), Some(1000));
    assert!(s.links.iter().all(|l| l.backward.limit == QueueLimit::Packets(200)));
}

#[test]
fn one_direction_can_be_changed_from_either_end() {
    let s = with("dumbbell", &["link.R1-R2.forward.rate=1Mbps"]);
    let t = with("dumbbell", &["link.R2-R1.backward.rate=1Mbps"]);
    assert_eq!(s.links, t.links);
    let link = &s.links[s.link("R1-R2").unwrap()];
    assert_eq!((link.forward.rate, link.backward.rate), (Some(Rate::from_mbps(1.0)), Some(Rate::from_mbps(10.0))));
    let both = with("dumbbell", &["link.R1-R2.forward.rate=1Mbps", "link.R1-R2.rate=2Mbps"]);
    assert_eq!(both.links[both.link("R1-R2").unwrap()].forward.rate, Some(Rate::from_mbps(2.0)));
}

#[test]
fn links_of_a_topology_file_and_consumers_of_the_demand_can_be_changed() {
    let s = with("geant", &["link.UK-NL.rate=3Mbps", "consumer.C7.start=3s", "topology.rate-scale=0.01"]);
    assert_eq!(s.links[s.link("NL-UK").unwrap()].forward.rate, Some(Rate::from_mbps(3.0)));
    assert_eq!(s.links[s.link("DK-IS").unwrap()].forward.rate, Some(Rate::from_mbps(100.0)));
    assert_eq!(s.consumers[6].start, Duration::from_millis(3_000));
}

#[test]
fn an_override_that_names_nothing_lists_what_exists() {
    let text = error("dumbbell", "link.R1-R3.rate=5Mbps");
    assert!(text.starts_with("--set link.R1-R3.rate=5Mbps: no link is called \"R1-R3\""), "{text}");
    assert!(text.contains("help: did you mean"), "{text}");
    let text = error("dumbbell", "node.Berlin.cache=5 packets");
    assert!(text.contains("nodes: C1, C2, R1, R2, P1, P2"), "{text}");
    let text = error("dumbbell", "rum.duration=5s");
    assert!(text.contains("did you mean \"run\"?"), "{text}");
}

#[test]
fn the_strategy_of_a_prefix_can_be_chosen_and_changed() {
    let set = ["scheme.mine.base=pcon", "scheme.mine.prefixes./prefix=asf", "scheme.mine.prefixes./prefix.shaper=none"];
    let scheme = &with("two-paths", &set).compositions[0].scheme;
    let choice = &scheme.choices[0];
    assert_eq!((choice.prefix.as_str(), choice.strategy.name(), choice.shaper.name()), ("/prefix", "asf", "none"));
    let text = error("two-paths", "scheme.mine.prefixes./video=asf");
    assert!(text.contains("no consumer requests names under /video"), "{text}");
}

#[test]
fn parameters_of_components_and_within_their_tables_can_be_changed() {
    let set =
        ["scheme.mine.base=bic", "scheme.mine.consumer.timer.min=300ms", "scheme.mine.consumer.timer.backoff-cap=8"];
    let scheme = &with("dumbbell", &set).compositions[0].scheme;
    let written = json!({ "name": "bic", "timer": { "min": "300ms", "backoff-cap": 8 } });
    assert_eq!(json!(scheme.part(Family::Consumer)), written);
    let set = [
        "consumer.C1.component=bic",
        "consumer.C*.component.name=cubic",
        "consumer.C1.component.timer.min=250ms",
        "consumer.C2.component.beta=0.5",
        "link.R1-R2.marker=codel",
        "link.R2-R1.backward.marker.name=pie",
        "link.R1-R2.marker.target=7ms",
    ];
    let s = with("dumbbell", &set);
    let own = |i: usize| match &s.consumers[i].traffic {
        Traffic::Fetch { consumer, .. } => json!(consumer),
        other => panic!("{other:?}"),
    };
    assert_eq!(own(0), json!({ "name": "cubic", "timer": { "min": "250ms" } }));
    assert_eq!(own(1), json!({ "name": "cubic", "beta": 0.5 }));
    let link = &s.links[s.link("R1-R2").unwrap()];
    assert_eq!(json!(link.forward.marker), json!({ "name": "pie", "target": "7ms" }));
    assert_eq!(json!(link.backward.marker), json!({ "name": "codel", "target": "7ms" }));
    let text = error("dumbbell", "consumer.C1.component.beta=0.5");
    assert!(text.contains("it has no name"), "{text}");
    let text = error("dumbbell", "scheme.mine.marker.target.min=1ms");
    assert!(!text.contains("panic"), "{text}");
}

#[test]
fn a_parameter_of_a_component_that_is_not_named_is_answered_with_where_to_name_it() {
    for (set, named) in [
        ("consumer.C1.component.beta=0.5", "--set consumer.C1.component.name=bic"),
        ("consumer.C1.component.timer.min=300ms", "--set consumer.C1.component.name=bic"),
        ("link.R1-R2.marker.target=7ms", "--set link.R1-R2.marker.name=codel"),
    ] {
        let said = error("dumbbell", set);
        assert!(said.contains(named) && said.contains("--set scheme.NAME."), "{said}");
        // The remedy is one.
        with("dumbbell", &[named.trim_start_matches("--set "), set]);
    }
}

#[test]
fn a_start_jitter_of_its_own_and_growing_sizes_can_be_set() {
    let s = with("parking-lot", &["run.sizes=growing", "consumer.*.start-jitter=1ms", "run.start-jitter=9ms"]);
    let network = s.network();
    assert!(network.growing_sizes && network.start_jitter == Duration::from_millis(9));
    assert!(network.consumers.iter().all(|c| c.start_jitter == Some(Duration::from_millis(1))));
    assert!(error("parking-lot", "run.sizes=small").contains("choices: constant, growing"));
}

#[test]
fn packets_larger_than_ethernet_carries_are_noted_where_no_mtu_cuts_them() {
    let notes = |set: &[&str]| with("dumbbell", set).notes.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(notes(&[]), [""; 0]);
    let found = notes(&["run.payload=4000B", "link.C*.mtu=9000B"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("4042B exceed the 1500B") && found[0].contains("and 2 more"), "{found:?}");
    assert_eq!(notes(&["run.payload=4000B", "link.*.mtu=1500B"]), [""; 0]);
    assert!(error("dumbbell", "link.R1-R2.mtu=10B").contains("10B is not an MTU"));
}

#[test]
fn an_mtu_reaches_the_simulator_and_must_carry_the_packets() {
    let s = with("dumbbell", &["link.R1-R2.mtu=600B"]);
    let mtus: Vec<_> = s.network().links.iter().map(|link| link.mtu).collect();
    assert_eq!(mtus.iter().flatten().collect::<Vec<_>>(), [&Bytes::new(600)]);
    let mut source = find("dumbbell").unwrap();
    apply_overrides(&mut source, &["run.payload=8000B", "run.framing=28B", "link.R1-R2.mtu=64B"]).unwrap();
    let text = source.validate().unwrap_err().to_string();
    assert!(text.contains("mtu: 64B cannot carry") && text.contains("help: write a larger mtu"), "{text}");
}

#[test]
fn an_override_with_a_wrong_key_or_value_is_named_in_the_error() {
    let text = error("dumbbell", "link.R1-R2.dealy=5ms");
    assert!(text.starts_with("--set link.R1-R2.dealy=5ms: unknown key \"dealy\""), "{text}");
    assert!(text.contains("did you mean \"delay\"?"), "{text}");
    let text = error("dumbbell", "run.duration=20");
    assert!(text.starts_with("--set run.duration=20: duration: a number without a unit"), "{text}");
    let text = error("dumbbell", "link.R1-R2.rate=0Mbps");
    assert!(text.contains("rate zero"), "{text}");
}

/// The scenario two-paths with these events beside its own.
fn with_events(events: &str, set: &[&str]) -> Result<Scenario, String> {
    let text = include_str!("../../../scenarios/two-paths.toml");
    let mut source = Source::from_text("two-paths.toml", &format!("{text}{events}"), Path::new("."))
        .map_err(|problems| problems.to_string())?;
    apply_overrides(&mut source, set).map_err(|problems| problems.to_string())?;
    source.validate().map_err(|problems| problems.to_string())
}

#[test]
fn an_event_with_a_name_can_be_changed() {
    let event = |name: &str, at: &str, loss: &str| {
        let action = format!("at = \"{at}\"\naction = \"link-loss\"\nlink = \"R1-R2\"\nloss = \"{loss}\"\n");
        format!("\n[[event]]\n{name}{action}")
    };
    let (first, second) = ("name = \"begins\"\n", "name = \"ends\"\n");
    let named = event(first, "2s", "5%") + &event(second, "4s", "0%");
    let changed = with_events(&named, &["event.begins.loss=30%", "event.*s.direction=forward", "event.ends.at=3s"]);
    let forward = "direction = \"forward\"\n";
    let written = event("", "2s", "30%") + forward + &event("", "3s", "0%") + forward;
    assert_eq!(changed.unwrap().events, with_events(&written, &[]).unwrap().events);

    let error = with_events(&named, &["event.begin.loss=1%"]).unwrap_err();
    assert!(error.contains("no event is called \"begin\"") && error.contains("did you mean \"begins\"?"), "{error}");
    let error = with_events(&event("", "2s", "5%"), &["event.begins.loss=1%"]).unwrap_err();
    assert!(error.contains("give the event a name: name = \"begins\""), "{error}");
    let error = with_events(&named, &["event.begins.rate=1Mbps"]).unwrap_err();
    assert!(error.starts_with("--set event.begins.rate=1Mbps: "), "{error}");
    let error = with_events(&(event(first, "2s", "5%") + &event(first, "4s", "0%")), &[]).unwrap_err();
    assert!(error.contains("two events are called \"begins\""), "{error}");
}
