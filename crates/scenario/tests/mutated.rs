//! Whatever is done to a scenario, topology file or override, the answer is a scenario or a list of problems, never a
//! panic.

use std::path::Path;

use ndnweir_scenario::{Source, apply_overrides, shipped};
use proptest::prelude::*;

const GRAPHML: &str = include_str!("../../../scenarios/topologies/abilene.graphml");
const NDNSIM: &str = include_str!("../../../scenarios/topologies/example-ndnsim.txt");
const CCH: &str =
    "1 @San+Jose,+CA bb (2) &1 -> <2> <3> {-1} =a.b.c r0\n2 @X + (2) -> <1> <3> =x r0\n3 @Y (2) -> <1> <2> =y! r1\n";

/// A scenario that uses every part of the format, so that mutations reach all of the reader.
const FULL: &str = include_str!("full.toml");

/// One edit: where (as a fraction of the text), how much goes, what comes.
#[derive(Clone, Debug)]
struct Edit {
    at: f64,
    drop: usize,
    insert: String,
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let pieces = prop::sample::select(vec![
        "",
        "-",
        "0",
        "9999999999999999999",
        "nan",
        "inf",
        "\"",
        "[",
        "]",
        "{",
        "}",
        "=",
        ".",
        "\n",
        "[[link]]\n",
        "µ",
        "\u{0}",
        "1e400",
        "A",
        "<",
        ">",
        "&",
        "/>",
        "link\n",
        "router\n",
        "packets",
        "%",
        "Mbps",
        "/s",
        "true",
        "[run]\n",
        "'''",
        "\\u00e9",
    ]);
    let edit = (0.0..1.0f64, prop_oneof![Just(0usize), 1usize..4, 1usize..200], pieces)
        .prop_map(|(at, drop, insert)| Edit { at, drop, insert: insert.to_string() });
    prop::collection::vec(edit, 1..6)
}

fn mutate(text: &str, edits: &[Edit]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for edit in edits {
        let start = ((chars.len() as f64 * edit.at) as usize).min(chars.len());
        let end = (start + edit.drop).min(chars.len());
        chars.splice(start..end, edit.insert.chars());
    }
    chars.into_iter().collect()
}

/// Reads and validates; every problem must name a place within the text.
fn check(name: &str, text: &str, source: Result<Source, ndnweir_scenario::Problems>) {
    if let Err(problems) = source.and_then(|s| s.validate()) {
        assert!(!problems.list.is_empty());
        let lines = text.split('\n').count();
        for problem in &problems.list {
            assert!(!problem.message.is_empty());
            if &*problem.place.source == name {
                assert!(problem.place.line <= lines, "{problem}");
            }
        }
        let _ = problems.to_string();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn mutated_scenarios_never_panic(edits in edits(), which in 0..=shipped().len()) {
        let original = shipped().get(which).map_or(FULL, |s| s.text);
        let text = mutate(original, &edits);
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
        check("x.toml", &text, Source::from_text("x.toml", &text, folder));
    }

    #[test]
    fn mutated_full_scenarios_never_panic(edits in edits()) {
        let text = mutate(FULL, &edits);
        check("x.toml", &text, Source::from_text("x.toml", &text, Path::new("")));
    }

    #[test]
    fn mutated_topologies_never_panic(edits in edits()) {
        for (name, original) in [("t.graphml", GRAPHML), ("t.txt", NDNSIM), ("t.cch", CCH)] {
            let text = mutate(original, &edits);
            check(name, &text, Ok(Source::from_topology(name, text.clone())));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        for name in ["t.graphml", "t.txt", "t.cch"] {
            check(name, &text, Ok(Source::from_topology(name, text.clone())));
        }
        check("x.toml", &text, Source::from_text("x.toml", &text, Path::new("")));
    }

    #[test]
    fn arbitrary_overrides_never_panic(
        section in prop::sample::select(vec!["link", "node", "run", "scheme", "consumer", "topology", "demand", "x", ""]),
        path in "[A-Za-z0-9.*-]{0,12}",
        value in "\\PC{0,20}",
    ) {
        let mut source = Source::from_text("x.toml", FULL, Path::new("")).unwrap();
        if apply_overrides(&mut source, &[format!("{section}.{path}={value}")]).is_ok() {
            check("x.toml", FULL, Ok(source));
        }
    }
}

#[test]
fn the_full_scenario_is_valid() {
    let scenario = Source::from_text("full.toml", FULL, Path::new("")).unwrap().validate();
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    assert!(scenario.events.len() >= 7 && scenario.compositions.len() == 1);
}

#[test]
fn the_examples_of_the_documentation_are_valid() {
    let docs = include_str!("../../../docs/scenario-format.md");
    let examples: Vec<&str> =
        docs.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    let [smallest, file, parts, cases, full] = examples[..] else { panic!("{} examples", examples.len()) };
    assert_eq!(full, FULL);
    let folder = tempfile::tempdir().unwrap();
    let policy = include_str!("../../../python/examples/policy.toml");
    std::fs::write(folder.path().join("agent.toml"), policy).unwrap();
    // What is no whole scenario stands in the shipped one that its names are from.
    let dumbbell = include_str!("../../../scenarios/dumbbell.toml");
    let within = [file, parts, cases].map(|example| format!("{dumbbell}\n{example}"));
    for example in [smallest, full].into_iter().chain(within.iter().map(String::as_str)) {
        let scenario = Source::from_text("docs.toml", example, folder.path()).unwrap().validate();
        scenario.unwrap_or_else(|problems| panic!("{problems}\n{example}"));
    }
}

#[test]
fn deep_nesting_and_huge_lists_are_rejected_or_read_but_never_overflow() {
    for text in [
        format!("x = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("x = {}", "{a=".repeat(100_000)),
        "[".repeat(100_000),
        "a.".repeat(100_000) + "b = 1",
        format!("[{}b]", "a.".repeat(50_000)),
        "[[node]]\n".repeat(100_000),
    ] {
        check("x.toml", &text, Source::from_text("x.toml", &text, Path::new("")));
    }
    let xml = format!("<graphml>{}", "<graph>".repeat(200_000));
    check("t.graphml", &xml, Ok(Source::from_topology("t.graphml", xml.clone())));
    let closed = format!("<graphml>{}{}</graphml>", "<graph>".repeat(100_000), "</graph>".repeat(100_000));
    check("t.graphml", &closed, Ok(Source::from_topology("t.graphml", closed.clone())));
}

#[test]
fn a_network_of_ten_thousand_nodes_is_read_in_a_blink() {
    let mut text = String::from("router\n");
    for i in 0..10_000 {
        text += &format!("n{i} NA {} {}\n", i / 100 + 1, i % 100 + 1);
    }
    text += "link\n";
    for i in 0..9_999 {
        text += &format!("n{i} n{} 10Mbps 1 1ms 100\n", i + 1);
    }
    let scenario = Source::from_topology("t.txt", text).validate().unwrap();
    assert_eq!((scenario.nodes.len(), scenario.consumers.len()), (10_000, 10));
}
