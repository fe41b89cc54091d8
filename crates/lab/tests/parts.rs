//! Parts of a network with schemes of their own.

use ndnweir_core::scheme::Scheme;
use ndnweir_lab::experiment::{Experiment, Silent, choose};
use ndnweir_lab::results::Comparison;
use ndnweir_scenario::{Members, Problems, Scenario, Source, apply_overrides};
use ndnweir_sim::parts::Placement;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const NETWORK: &str = r#"
[run]
duration = "10s"
[[node]]
names = ["C1", "C2", "P", "R1", "R2", "R3", "R4"]
[link-defaults]
rate = "10Mbps"
delay = "5ms"
queue = "100 packets"
[[link]]
ends = ["C1", "R1"]
rate = "100Mbps"
[[link]]
ends = ["C2", "R1"]
rate = "100Mbps"
[[link]]
ends = ["R1", "R2"]
[[link]]
ends = ["R2", "R3"]
[[link]]
ends = ["R3", "R4"]
[[link]]
ends = ["R4", "P"]
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

fn read(text: &str, set: &[&str]) -> Result<Scenario, Problems> {
    let mut source = Source::from_text("x.toml", &format!("{NETWORK}{text}"), Path::new(""))?;
    apply_overrides(&mut source, set)?;
    source.validate()
}

fn scenario(text: &str) -> Scenario {
    read(text, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn compare(text: &str, scheme: &str) -> Comparison {
    let scenario = scenario(text);
    let schemes = choose(&scenario, &[scheme.to_owned()]).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
    experiment.run(&Silent, &AtomicBool::new(false)).unwrap()
}

fn part(scheme: &str, whom: &str, share: &str) -> String {
    format!("[[part]]\nname = \"part\"\n{whom}\nshare = \"{share}\"\nscheme = \"{scheme}\"\n")
}

/// Hash of every arrival, and marks.
fn outcome(comparison: &Comparison) -> (String, u64) {
    (comparison.runs[0].event_hash.clone(), comparison.runs[0].marks)
}

#[test]
fn a_part_that_is_everything_is_the_scheme_itself() {
    let whole = format!(
        "{}{}",
        part("pcon", "nodes = \"*\"", "100%"),
        part("pcon", "consumers = \"*\"", "100%").replace("\"part\"", "\"other\"")
    );
    let (plain, parts) = (outcome(&compare("", "pcon")), outcome(&compare(&whole, "cubic")));
    assert_eq!(plain, parts);
    assert!(plain.1 > 0, "PCON marks");
    assert_ne!(plain.0, outcome(&compare("", "cubic")).0);
}

#[test]
fn an_empty_part_changes_nothing() {
    let nobody = part("pcon", "nodes = \"*\"", "0%");
    assert_eq!(outcome(&compare("", "cubic")), outcome(&compare(&nobody, "cubic")));
}

#[test]
fn a_consumer_may_have_the_law_of_another_scheme() {
    let mixed = NETWORK.replace("prefix = \"/p/2\"", "prefix = \"/p/2\"\nscheme = \"cubic\"");
    let own = NETWORK.replace("prefix = \"/p/2\"", "prefix = \"/p/2\"\ncomponent = \"cubic\"");
    let run = |text: &str| {
        let scenario = Source::from_text("x.toml", text, Path::new("")).unwrap().validate().unwrap();
        let schemes = choose(&scenario, &["bic".to_owned()]).unwrap();
        let experiment = Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
        outcome(&experiment.run(&Silent, &AtomicBool::new(false)).unwrap())
    };
    let same = Scheme::named("cubic").unwrap().parts.consumer.name() == "cubic";
    assert!(same, "the scheme's consumer is the component of this name");
    assert_eq!(run(&mixed), run(&own));
    assert_ne!(run(&mixed), run(NETWORK));
}

#[test]
fn nodes_that_do_not_know_a_field_drop_it() {
    // HbHCM's nodes tell each other round trips in header fields. Without them next to it, a node learns nothing.
    let alone = compare(&part("hbhcm", "nodes = \"R2\"", "100%"), "aimd");
    let all = compare(&part("hbhcm", "nodes = \"*\"", "100%"), "aimd");
    let none = compare("", "aimd");
    assert_ne!(outcome(&all).0, outcome(&none).0);
    assert_ne!(outcome(&alone).0, outcome(&all).0);
}

#[test]
fn each_seed_draws_its_share_of_the_members() {
    let scenario = scenario(&part("pcon", "nodes = \"R*\"", "50%"));
    let network = scenario.network();
    let scheme = Scheme::named("cubic").unwrap();
    let drawn = |seed| {
        let placement = Placement::new(&network, &scheme, seed);
        (0..scenario.nodes.len()).filter(|&n| placement.of_node(n) > 0).collect::<Vec<_>>()
    };
    assert_eq!(drawn(3), drawn(3));
    assert!((0..20).all(|seed| drawn(seed).len() == 2));
    assert!((0..20).any(|seed| drawn(seed) != drawn(0)));
    let router = |n: &usize| scenario.nodes[*n].name.starts_with('R');
    assert!((0..20).all(|seed| drawn(seed).iter().all(router)));
    assert!(scenario.notes.iter().any(|note| note.message.contains("50% of nodes R1, R2, R3, R4")));
}

#[test]
fn the_last_part_counts_and_a_node_of_its_own_overrules_all() {
    let text = format!(
        "{}{}",
        part("pcon", "nodes = \"R*\"", "100%"),
        part("bic", "nodes = \"R1\"", "100%").replace("\"part\"", "\"other\"")
    );
    let scenario = read(&text, &["node.R3.scheme=aimd", "part.other.nodes=R2"]).unwrap();
    let (network, run) = (scenario.network(), Scheme::named("cubic").unwrap());
    let placement = Placement::new(&network, &run, 1);
    let names: Vec<&str> = (0..scenario.nodes.len()).map(|n| placement.node_scheme(n).name.as_str()).collect();
    assert_eq!(names, ["cubic", "cubic", "cubic", "pcon", "bic", "aimd", "pcon"]);
    assert!(scenario.parts.iter().all(|part| matches!(part.members, Members::Nodes(_))));
}

#[test]
fn schemes_that_cannot_work_together_are_rejected_with_a_reason() {
    let check = |text: &str, scheme: &str| {
        let scenario = scenario(text);
        let schemes = choose(&scenario, &[scheme.to_owned()]).unwrap();
        scenario.network().check_parts(&schemes[0]).map_err(|error| error.to_string())
    };
    let half = |scheme: &str| part(scheme, "nodes = \"R*\"", "50%");
    assert_eq!(check(&half("pcon"), "cubic"), Ok(()));
    assert!(check(&half("ndnsieve"), "cubic").unwrap_err().contains("has the planner"));
    let learning = format!("{}[scheme.learning]\nbase = \"cubic\"\nstrategy = \"self-learning\"\n", half("learning"));
    assert!(check(&learning, "cubic").unwrap_err().contains("finds routes by flooding"));
    let alone = part("coopcon", "consumers = \"C1\"", "100%");
    let error = check(&alone, "cubic").unwrap_err();
    assert!(error.contains("congestion-level") && error.contains("its node drops"), "{error}");
    assert_eq!(check(&alone.replace("100%", "50%").replace("\"C1\"", "\"C*\""), "cubic"), Ok(()));
}

#[test]
fn bad_parts_are_reported_with_line_and_remedy() {
    for (text, message, help) in [
        ("[[part]]\nname = \"x\"\nscheme = \"cubic\"\n", "no nodes", "consumers"),
        ("[[part]]\nname = \"x\"\nnodes = \"R*\"\n", "no scheme", "cubic"),
        ("[[part]]\nnodes = \"R*\"\nscheme = \"cubic\"\n", "no name", "name"),
        ("[[part]]\nname = \"x\"\nnodes = \"R*\"\nconsumers = \"C*\"\nscheme = \"cubic\"\n", "of nodes or of", "each"),
        ("[[part]]\nname = \"x\"\nnodes = \"Q*\"\nscheme = \"cubic\"\n", "fit \"Q*\"", ""),
        ("[[part]]\nname = \"x\"\nnodes = \"R*\"\nscheme = \"cubid\"\n", "cubid", "cubic"),
        ("[[part]]\nname = \"x\"\nnodes = \"R*\"\nscheme = \"cubic\"\nshare = \"150%\"\n", "not a probability", "100%"),
        ("[[part]]\nname = \"x\"\nnodes = \"R*\"\nscheme = \"cubic\"\nshares = \"50%\"\n", "unknown key", "share"),
        ("[[node]]\nname = \"S\"\nkind = \"switch\"\nscheme = \"cubic\"\n", "a switch knows no NDN", "delete"),
        ("[[node]]\nname = \"S\"\nscheme = 5\n", "not a name", "cubic"),
        (
            "[[consumer]]\nname = \"X\"\nnode = \"C1\"\nprefix = \"/p/x\"\nkind = \"stream\"\nrate = \"1/s\"\nscheme = \"cubic\"\n",
            "no congestion control",
            "fetch",
        ),
        (
            "[[consumer]]\nname = \"X\"\nnode = \"C1\"\nprefix = \"/p/x\"\ncomponent = \"bic\"\nscheme = \"cubic\"\n",
            "overrules the scheme",
            "delete",
        ),
    ] {
        let problems = read(text, &[]).err().unwrap_or_else(|| panic!("{text}: accepted"));
        let [problem] = &problems.list[..] else { panic!("{text}: {problems}") };
        assert!(problem.message.contains(message) && problem.help.contains(help), "{text}: {problem}");
        assert!(problem.place.line > NETWORK.lines().count(), "{text}: {problem}");
    }
}
