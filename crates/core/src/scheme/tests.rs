use super::*;
use serde_json::json;

#[test]
fn every_named_scheme_resolves() {
    for name in Scheme::names() {
        Scheme::named(name).unwrap();
    }
}

#[test]
fn wrong_compositions_are_rejected_with_what_would_do() {
    let error = |value: Value| Scheme::resolve("x", &value).unwrap_err().to_string();
    assert!(error(json!({ "consumer": "westwood" })).contains("there are: fixed"));
    assert!(error(json!({ "markr": "codel" })).contains("consumer, marker"));
    assert!(error(json!({ "consumer": { "name": "fixed", "windw": 3 } })).contains("window"));
    assert!(error(json!({ "consumer": { "name": "fixed", "window": 0.0 } })).contains("from 1"));
    assert!(error(json!({ "base": "nothing" })).contains("there are"));
    assert!(error(json!({ "base": "pocn" })).contains("did you mean \"pcon\"?"));
    assert!(error(json!({ "base": "pcon", "marker": "codle" })).contains("did you mean \"codel\"?"));
    assert!(error(json!({ "base": "x" })).contains("no scheme called \"x\""));
    assert!(error(json!({ "interest-marks": "keep" })).contains("\"own\""));
    assert!(error(json!({ "cached-marks": "own" })).contains("\"replay\""));
}

#[test]
fn an_error_says_what_it_is_about() {
    let about = |value: Value| {
        let error = Scheme::resolve("x", &value).unwrap_err();
        let prefix = error.prefix.as_deref().unwrap_or_default().to_owned();
        (error.family, error.component.unwrap_or_default(), error.parameter.unwrap_or_default(), prefix)
    };
    let of = |family, component, parameter: &str| (Some(family), component, parameter.to_owned(), String::new());
    let consumer = |value: Value| about(json!({ "consumer": value }));
    assert_eq!(consumer(json!("westwood")), of(Family::Consumer, "", ""));
    assert_eq!(consumer(json!(5)), of(Family::Consumer, "", ""));
    assert_eq!(consumer(json!({ "name": "bic", "beta": 7.0 })), of(Family::Consumer, "bic", "beta"));
    assert_eq!(consumer(json!({ "name": "bic", "beta": "7" })), of(Family::Consumer, "bic", "beta"));
    assert_eq!(consumer(json!({ "name": "bic", "beat": 0.7 })), of(Family::Consumer, "bic", "beat"));
    let timer = json!({ "name": "bic", "beta": 0.7, "timer": { "min": "1s", "max": "no" } });
    assert_eq!(consumer(timer), of(Family::Consumer, "bic", "timer.max"));
    let timer = json!({ "name": "bic", "timer": { "min": "2s", "max": "1s" } });
    assert_eq!(consumer(timer), of(Family::Consumer, "bic", "timer.max"));
    let law = json!({ "name": "hbhcm", "law": "codel", "law-params": { "target": 5 } });
    assert_eq!(about(json!({ "meter": law })), of(Family::Meter, "hbhcm", "law-params.target"));
    assert_eq!(about(json!({ "base": "nothing" })), (None, "", "base".into(), String::new()));
    assert_eq!(about(json!({ "markr": "codel" })), (None, "", "markr".into(), String::new()));
    let prefixes = json!({ "prefixes": { "/a": { "strategy": { "name": "asf", "max-timeouts": 0 } } } });
    assert_eq!(about(prefixes), (Some(Family::Strategy), "asf", "max-timeouts".into(), "/a".into()));
}

#[test]
fn a_written_scheme_reads_back_the_same_and_nothing_invalid_is_read() {
    for name in Scheme::names() {
        let scheme = Scheme::named(name).unwrap();
        let mut written = serde_json::to_value(&scheme).unwrap();
        assert_eq!(serde_json::from_value::<Scheme>(written.clone()).unwrap(), scheme);
        written["parts"][Family::Consumer as usize]["no-such"] = json!(1);
        assert!(serde_json::from_value::<Scheme>(written).unwrap_err().to_string().contains("no-such"));
    }
}

#[test]
fn a_table_without_a_name_changes_parameters_of_the_base() {
    let scheme = Scheme::resolve("x", &json!({ "base": "fixed", "consumer": { "window": 3.0 } })).unwrap();
    assert_eq!(scheme.part(Family::Consumer).name, "fixed");
    assert_eq!(scheme.part(Family::Consumer).params["window"], 3.0);
}

#[test]
fn a_scheme_of_the_product_is_changed_under_its_own_name() {
    let scheme = Scheme::resolve("pcon", &json!({ "base": "pcon", "consumer": { "beta": 0.7 } })).unwrap();
    assert_eq!(scheme.part(Family::Marker).name, "codel-pcon");
    assert_eq!(scheme.part(Family::Consumer).params["beta"], 0.7);
    assert!(scheme.summary.contains("changed"), "{}", scheme.summary);
}

#[test]
fn a_composition_is_the_base_of_another() {
    let inner = json!({ "base": "pcon", "consumer": { "name": "bic", "beta": 0.7 } });
    let scheme = Scheme::resolve("x", &json!({ "base": inner, "marker": "pie" })).unwrap();
    assert_eq!((scheme.part(Family::Marker).name, scheme.name.as_str()), ("pie", "x"));
    assert_eq!(scheme.part(Family::Consumer).params["beta"], 0.7);
    assert_eq!(scheme.part(Family::Strategy).name, "pcon");
}

#[test]
fn one_key_of_a_table_within_a_component_changes_alone() {
    let cap = json!({ "base": "packet-pair", "consumer": { "startup": { "cap": 9.0 } } });
    let scheme = Scheme::resolve("x", &cap).unwrap();
    assert_eq!(scheme.part(Family::Consumer).params["startup"], json!({ "kind": "packet-pair", "cap": 9.0 }));
}

#[test]
fn a_run_carries_only_the_fields_that_the_scheme_needs_as_it_is_set() {
    let fields = |name: &str| Scheme::named(name).unwrap().fields();
    assert_eq!(fields("pcon-ndnsim"), []);
    assert_eq!(fields("packet-pair"), [Field::PathLabel]);
    assert_eq!(fields("rp-a"), [Field::ConsumerWindow]);
    assert_eq!(fields("rp-ab"), [Field::ConsumerWindow, Field::MarksFiltered]);
    assert_eq!(fields("rp-abc"), [Field::ConsumerWindow, Field::FlowCount, Field::MarksFiltered]);
}

fn mixed(prefixes: Value) -> Result<Scheme, SchemeError> {
    Scheme::resolve("mixed", &json!({ "base": "hobhis", "prefixes": prefixes }))
}

#[test]
fn a_name_has_the_choice_of_its_longest_prefix_and_what_that_leaves_out_comes_from_the_next_shorter() {
    let scheme = mixed(json!({
        "/a/b": { "shaper": "none" },
        "/a": { "strategy": { "name": "asf", "max-timeouts": 3 } },
        "/c": "multicast",
    }))
    .unwrap();
    let of = |name| match scheme.choice_for_name(name) {
        0 => ("/", scheme.part(Family::Strategy).name, scheme.is_shaped(0)),
        n => (scheme.choices[n - 1].prefix.as_str(), scheme.choices[n - 1].strategy.name(), scheme.is_shaped(n)),
    };
    assert_eq!(of("/a/x"), ("/a", "asf", true));
    assert_eq!(of("/a/b/c"), ("/a/b", "asf", false));
    assert_eq!(of("/a/bc"), ("/a", "asf", true));
    assert_eq!(of("/c"), ("/c", "multicast", true));
    assert_eq!(of("/d"), ("/", "best-route", true));
    let inherited = &scheme.choices.iter().find(|choice| choice.prefix == "/a/b").unwrap().strategy;
    assert_eq!(inherited.params()["max-timeouts"], 3);
    let back: Scheme = serde_json::from_value(serde_json::to_value(&scheme).unwrap()).unwrap();
    assert_eq!(back, scheme);
}

#[test]
fn a_table_without_a_name_changes_parameters_of_the_strategy_above() {
    let scheme =
        Scheme::resolve("x", &json!({ "base": "pcon", "prefixes": { "/a": { "strategy": { "change": 0.5 } } } }));
    let choice = scheme.unwrap().choices.remove(0);
    assert_eq!((choice.strategy.name(), &choice.strategy.params()["change"]), ("pcon", &json!(0.5)));
}

#[test]
fn only_some_prefixes_may_be_shaped_but_those_by_one_shaper() {
    let scheme = Scheme::resolve("x", &json!({ "prefixes": { "/a": { "shaper": "his" } } })).unwrap();
    assert_eq!((scheme.face_shaper().name(), scheme.is_shaped(0), scheme.is_shaped(1)), ("his", false, true));
    let error = mixed(json!({ "/a": { "shaper": "his" } })).unwrap_err().to_string();
    assert!(error.contains("hobhis and his") && error.contains("shaper = \"none\""), "{error}");
    let other = json!({ "/a": { "shaper": { "name": "hobhis", "target": "5 packets" } } });
    assert!(mixed(other).is_err(), "the same shaper with other parameters is another one");
}

#[test]
fn wrong_choices_are_rejected_with_what_would_do() {
    let error = |prefixes: Value| mixed(prefixes).unwrap_err().to_string();
    assert!(error(json!([])).contains("\"/video\""));
    assert!(error(json!({ "/a": { "strategie": "asf" } })).contains("strategy, shaper"));
    assert!(error(json!({ "/a": {} })).contains("{ shaper = \"none\" }"));
    assert!(error(json!({ "/a": "asff" })).contains("prefixes./a: there is no strategy"));
    assert!(error(json!({ "a": "asf" })).contains("/video/live"));
    assert!(error(json!({ "/a/": "asf" })).contains("/video/live"));
    let many: serde_json::Map<String, Value> = (0..65).map(|i| (format!("/p{i}"), json!("asf"))).collect();
    assert!(error(Value::Object(many)).contains("64"));
}

#[test]
fn the_fields_of_strategies_of_single_prefixes_are_carried_too() {
    let scheme = Scheme::resolve("x", &json!({ "prefixes": { "/a": "self-learning" } })).unwrap();
    assert_eq!(scheme.fields(), [Field::Discovery]);
}
