//! Schemes that a scenario composes or changes: bases, circles, and what is said about slips.

use ndnweir_core::registry::Family;
use ndnweir_core::scheme::{CachedMarks, InterestMarks};
use ndnweir_lab::experiment::choose;
use ndnweir_scenario::{Scenario, Source, apply_overrides};
use std::path::Path;

const NETWORK: &str = r#"
    [[node]]
    names = ["A", "B"]
    [[link]]
    ends = ["A", "B"]
    rate = "10Mbps"
    delay = "10ms"
    [[producer]]
    name = "P"
    node = "B"
    prefix = "/p"
    [[consumer]]
    name = "C"
    node = "A"
    prefix = "/p/x"
"#;

fn read(schemes: &str, set: &[&str]) -> Result<Scenario, String> {
    let mut source = Source::from_text("x.toml", &format!("{NETWORK}\n{schemes}"), Path::new("")).unwrap();
    apply_overrides(&mut source, set).unwrap();
    source.validate().map_err(|problems| problems.to_string())
}

/// The findings about a scenario that is wrong: their first lines.
fn findings(schemes: &str, set: &[&str]) -> Vec<String> {
    let text = read(schemes, set).unwrap_err();
    text.lines().filter(|line| !line.starts_with("  help: ")).map(str::to_owned).collect()
}

#[test]
fn a_parameter_of_a_scheme_of_the_product_is_changed_with_one_override() {
    let scenario = read("", &["scheme.pcon.consumer.beta=0.7"]).unwrap_or_else(|e| panic!("{e}"));
    // Without a named scheme the one that was changed is run.
    let schemes = choose(&scenario, &[]).unwrap();
    assert_eq!(schemes.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["pcon"]);
    let changed = &schemes[0];
    assert_eq!(changed.part(Family::Consumer).params["beta"], 0.7);
    assert_eq!(changed.part(Family::Marker).name, "codel-pcon");
    assert_eq!(choose(&scenario, &["pcon".into()]).unwrap(), schemes);
    let all = choose(&scenario, &["all".into()]).unwrap();
    assert_eq!(all.iter().filter(|s| s.name == "pcon").count(), 1);
    assert!(all.contains(changed));
}

#[test]
fn a_scheme_of_the_file_is_the_base_of_another() {
    let text = "[scheme.a]\nbase = \"pcon\"\nmarker = \"pie\"\n[scheme.b]\nbase = \"a\"\nconsumer = { beta = 0.6 }";
    let scenario = read(text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let b = choose(&scenario, &["b".into()]).unwrap().remove(0);
    assert_eq!((b.name.as_str(), b.part(Family::Marker).name), ("b", "pie"));
    assert_eq!(b.part(Family::Consumer).params["beta"], 0.6);
    assert_eq!(b.part(Family::Strategy).name, "pcon");
}

#[test]
fn a_scheme_of_the_product_is_not_replaced_by_another_of_its_name() {
    let text = read("[scheme.aimd]\nmarker = \"droptail\"", &[]).unwrap_err();
    assert!(text.starts_with("x.toml:17:"), "{text}");
    assert!(text.contains("scheme aimd comes with the product") && text.contains("add base = \"aimd\""), "{text}");
    let scenario = read("[scheme.aimd]\nbase = \"aimd\"\nmarker = \"droptail\"", &[]).unwrap();
    let aimd = choose(&scenario, &["aimd".into()]).unwrap().remove(0);
    assert_eq!((aimd.part(Family::Consumer).name, aimd.part(Family::Marker).name), ("aimd", "droptail"));
}

#[test]
fn cyclic_bases_are_reported_with_their_place() {
    let circle =
        "[scheme.a]\nbase = \"b\"\n[scheme.b]\nbase = \"a\"\n[scheme.c]\nbase = \"c\"\n[scheme.d]\nbase = \"a\"";
    let found = findings(circle, &[]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("a is based on b is based on a"), "{found:?}");
    assert!(found[1].contains("b is based on a is based on b"), "{found:?}");
    assert!(found[2].contains("c is based on c"), "{found:?}");
    let long: String = (0..40).map(|i| format!("[scheme.s{i}]\nbase = \"s{}\"\n", i + 1)).collect();
    assert!(findings(&format!("{long}[scheme.s40]\nbase = \"bic\""), &[])[0].contains("more than 16"));
}

#[test]
fn an_error_of_a_base_is_reported_once() {
    let text = "[scheme.b]\nbase = \"a\"\n[scheme.a]\nbase = \"pcon\"\nmarker = \"codle\"\n[scheme.c]\nbase = \"b\"";
    let found = findings(text, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("did you mean \"codel\"?"), "{found:?}");
    let twice = findings("", &["run.schemes=[\"nope\", \"nope\"]"]);
    assert_eq!(twice.len(), 2, "unknown, and named twice: {twice:?}");
}

#[test]
fn slips_in_the_names_of_schemes_components_and_parameters_are_answered_with_what_was_meant() {
    for (set, meant) in [
        ("scheme.pcno.consumer.beta=0.7", "did you mean scheme \"pcon\"?"),
        ("scheme.pcon.consumer.beat=0.7", "did you mean `beta`?"),
        ("scheme.pcon.consumer.max_increment=3", "`max_increment` is written `max-increment`"),
        ("scheme.pcon.marker=codle", "did you mean \"codel\"?"),
        ("scheme.mine.base=cubik", "did you mean \"cubic\"?"),
        ("run.schemes=[\"cubik\"]", "did you mean \"cubic\"?"),
        ("link.A-B.marker=codle", "did you mean \"codel\"?"),
        ("consumer.C.component=bci", "did you mean \"bic\"?"),
    ] {
        let text = read("", &[set]).unwrap_err();
        assert!(text.contains(meant), "{set}: {text}");
        assert!(!text.contains("scheme : "), "{set}: {text}");
    }
    let nested = findings("[scheme.mine]\nbase = \"pcon\"\nconsumer = { timer = { backoff_cap = 3 } }", &[]);
    assert!(
        nested[0].starts_with("x.toml:") && nested[0].contains("`backoff_cap` is written `backoff-cap`"),
        "{nested:?}"
    );
    let scenario = read("", &[]).unwrap();
    assert!(choose(&scenario, &["cubik".into()]).unwrap_err().to_string().contains("did you mean \"cubic\"?"));
    assert!(choose(&scenario, &[String::new()]).unwrap_err().to_string().contains("empty name"));
}

#[test]
fn times_are_written_in_hours_and_limits_are_named() {
    assert_eq!(read("", &["run.duration=2h"]).unwrap().run.duration, "7200s".parse().unwrap());
    let text = read("", &["run.duration=25h"]).unwrap_err();
    assert!(text.contains("to \"24h\"") && !text.contains("-like"), "{text}");
}

#[test]
fn many_names_in_one_list_take_time_in_proportion() {
    let time = |count: usize| {
        let names: String = (0..count).map(|i| format!("\"N{i}\",")).collect();
        let more = format!("[[node]]\nnames = [{names}]");
        let once = || {
            let start = std::time::Instant::now();
            let nodes = read(&more, &[]).unwrap().nodes.len();
            assert_eq!(nodes, count + 2);
            start.elapsed().as_secs_f64()
        };
        (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
    };
    let (few, many) = (time(1_500), time(15_000));
    assert!(many < 40.0 * few, "ten times as many names took {:.0} times as long", many / few);
}

#[test]
fn the_run_overrides_what_a_scheme_does_with_marks() {
    let marks = |run: &str| {
        let mine = "[scheme.mine]\nmarker = \"pie\"\ninterest-marks = \"own\"\ncached-marks = \"replay\"";
        let scenario = read(&format!("{mine}\n{run}"), &[]).unwrap_or_else(|e| panic!("{e}"));
        let scheme = choose(&scenario, &["mine".into()]).unwrap().remove(0);
        (scheme.interest_marks, scheme.cached_marks)
    };
    assert_eq!(marks(""), (InterestMarks::Own, CachedMarks::Replay));
    let run = "[run]\ninterest-marks = \"ignore\"\ncached-marks = \"strip\"";
    assert_eq!(marks(run), (InterestMarks::Ignore, CachedMarks::Strip));
}

#[test]
fn the_list_of_a_scenario_may_name_shipped_schemes() {
    let read = |list: &str| read(&format!("[run]\nschemes = [\"{list}\"]"), &[]);
    assert_eq!(read("cubic").unwrap().schemes[0].name, "cubic");
    assert!(read("cubid").unwrap_err().contains("cubid"));
}
