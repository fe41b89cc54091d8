//! What every registered consumer must satisfy.

#[path = "common/perturb.rs"]
mod perturb;

use ndnweir_core::component::Info;
use ndnweir_core::conformance::{Bench, Op, random_ops, standard_workload};
use ndnweir_core::consumer::Consumer;
use ndnweir_core::fields::{FIELDS, Field, Fields};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::Duration;
use perturb::{knobs, with};
use serde_json::{Value, json};
use std::path::Path;

fn every() -> impl Iterator<Item = &'static Info> {
    AnyConsumer::ALL.iter()
}

fn fresh(name: &str, params: &Value) -> Bench {
    Bench::new(name, params).unwrap_or_else(|e| panic!("{name} {params}: {e}"))
}

/// Whether every declared header field is in the field table (a guard against typing errors in `FIELDS`).
fn fields_exist(fields: &[Field]) -> bool {
    fields.iter().all(|&field| FIELDS.iter().any(|row| row.field == field))
}

#[test]
fn random_operations_keep_the_window_sane_and_repeat_exactly() {
    for info in every() {
        let defaults = (info.defaults)();
        // Defaults, and every single change the component accepts.
        let mut settings = vec![defaults.clone()];
        for knob in knobs(&defaults, &(info.schema)()) {
            let changed = knob.alternatives.iter().map(|value| with(&defaults, &knob.path, value));
            settings.extend(changed.filter(|params| AnyConsumer::check(info.name, params).is_ok()));
        }
        for (number, params) in settings.iter().enumerate() {
            let seeds = if number == 0 { 0..60 } else { 0..1 };
            for seed in seeds {
                let ops = random_ops(seed, if number == 0 { 1500 } else { 500 });
                let mut bench = fresh(info.name, params);
                let mut seen = Vec::with_capacity(ops.len());
                for (step, &op) in ops.iter().enumerate() {
                    bench.apply(op);
                    let checked = bench.check();
                    checked.unwrap_or_else(|e| panic!("{} {params} seed {seed} step {step} {op:?}: {e}", info.name));
                    seen.push(bench.seen());
                }
                assert!(seen == fresh(info.name, params).run(&ops), "{} seed {seed}: not repeatable", info.name);
            }
        }
    }
}

#[test]
fn a_window_that_was_cut_to_pieces_grows_again() {
    for info in every().filter(|info| info.name != "fixed") {
        // Data beyond what was requested before, over round trips that say nothing or show no queue: a law that counts
        // Data grows by the former, one that measures by the latter.
        let grows = [None, Some(Duration::from_millis(1))].into_iter().any(|rtt| {
            let mut bench = fresh(info.name, &Value::Null);
            bench.run(&random_ops(1, 2000));
            let before = bench.consumer.window();
            for _ in 0..100 {
                let fresh = Op::Data { mark: 0, rtt, skip: 1000 };
                bench.run(&[Op::Wait(Duration::from_millis(20)), fresh]);
            }
            bench.consumer.window() > before || before >= 1e6
        });
        assert!(grows, "{} stays", info.name);
    }
}

#[test]
fn default_parameters_are_valid_and_read_back_the_same() {
    for info in every() {
        let defaults = (info.defaults)();
        AnyConsumer::check(info.name, &defaults).unwrap();
        AnyConsumer::check(info.name, &Value::Null).unwrap();
        AnyConsumer::check(info.name, &json!({})).unwrap();
        let ops = standard_workload();
        let given = fresh(info.name, &defaults).run(&ops);
        assert!(given == fresh(info.name, &Value::Null).run(&ops), "{}: defaults change when written", info.name);
    }
}

#[test]
fn unknown_parameters_and_wrong_types_are_rejected_by_name() {
    for info in every() {
        let defaults = (info.defaults)();
        let error = AnyConsumer::check(info.name, &json!({ "no_such_parameter": 1 })).unwrap_err().to_string();
        assert!(error.contains("no_such_parameter") && error.starts_with(info.name), "{error}");
        for knob in knobs(&defaults, &(info.schema)()) {
            let wrong = with(&defaults, &knob.path, &json!({ "not": "a value" }));
            assert!(AnyConsumer::check(info.name, &wrong).is_err(), "{} {}", info.name, knob.path);
        }
    }
}

#[test]
fn invalid_numbers_are_rejected() {
    for info in every() {
        let defaults = (info.defaults)();
        for knob in knobs(&defaults, &(info.schema)()) {
            if defaults.pointer(&knob.path).is_some_and(Value::is_f64) {
                for nonsense in [json!(-1.0), json!(1e300), json!(null)] {
                    let params = with(&defaults, &knob.path, &nonsense);
                    assert!(AnyConsumer::check(info.name, &params).is_err(), "{} {} {nonsense}", info.name, knob.path);
                }
            }
        }
    }
}

/// Parameters whose effect shows in networks only: MIRCC's classes leave in turns, at one pace here, where 64 Interests
/// leave at once. The search of weir's window shows where no Data tells a level for long.
const SEEN_IN_NETWORKS: [&str; 2] = ["mircc/dual", "weir/equal"];

#[test]
fn every_parameter_has_an_effect() {
    let ops = standard_workload();
    let mut without = Vec::new();
    for info in every() {
        let (defaults, schema) = ((info.defaults)(), (info.schema)());
        let knobs = knobs(&defaults, &schema);
        // A parameter may be felt only under another setting of a switch.
        let mut bases = vec![defaults.clone()];
        for knob in knobs.iter().filter(|knob| knob.switch) {
            bases.extend(knob.alternatives.iter().map(|value| with(&defaults, &knob.path, value)));
        }
        bases.retain(|base| AnyConsumer::check(info.name, base).is_ok());
        let observe = |params: &Value| {
            let mut bench = fresh(info.name, params);
            let (timer, seen, mut stamped) = (bench.consumer.timer(), bench.run(&ops), Fields::default());
            bench.consumer.stamp(0, &mut stamped);
            (timer, seen, stamped)
        };
        let before: Vec<_> = bases.iter().map(observe).collect();
        for knob in &knobs {
            let felt_within = |most| {
                bases.iter().zip(&before).any(|(base, seen)| {
                    let tried = knob.alternatives.iter().map(|value| with(base, &knob.path, value));
                    let valid = tried.filter(|params| AnyConsumer::check(info.name, params).is_ok());
                    valid.take(most).any(|params| observe(&params) != *seen)
                })
            };
            let name = format!("{}{}", info.name, knob.path);
            // Mostly the right switch is what matters, and two values show it.
            if !felt_within(2) && !felt_within(usize::MAX) && !SEEN_IN_NETWORKS.contains(&name.as_str()) {
                without.push(name);
            }
        }
    }
    assert!(without.is_empty(), "no value of these changes anything: {without:?}");
}

#[test]
fn every_parameter_and_component_is_documented() {
    for info in every() {
        let (defaults, schema) = ((info.defaults)(), (info.schema)());
        assert!(!info.summary.is_empty() && !info.source.is_empty());
        assert!(fields_exist(info.fields));
        for key in defaults.as_object().unwrap().keys() {
            let text = schema.pointer(&format!("/properties/{key}/description")).and_then(Value::as_str);
            assert!(text.is_some_and(|t| !t.is_empty()), "{}: {key} has no documentation", info.name);
        }
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schemes/{}.md", info.name));
        let page = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        for knob in knobs(&defaults, &schema) {
            let name = knob.path.rsplit('/').next().unwrap_or_default();
            assert!(page.contains(&format!("`{name}`")), "the page of {} does not explain {name}", info.name);
        }
    }
}
