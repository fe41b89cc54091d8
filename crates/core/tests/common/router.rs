//! What the conformance tests of the router-side families share: components of the registry, parameters to perturb.

use ndnweir_core::component::{Env, FamilyParams, Info};
use ndnweir_core::conformance::Desk;
use ndnweir_core::error::SchemeError;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::units::{Bytes, Duration, Rate};
use serde_json::{Value, json};

/// Builds the component in a run that carries every header field it declares, and sees to it that alone it takes only
/// those it says it needs.
pub fn desk<P: FamilyParams>(info: &Info, params: &Value, seed: u64) -> Desk<P::Instance> {
    let read = P::read(info.name, params).unwrap_or_else(|e| panic!("{} with {params}: {e}", info.name));
    let mut layout = FieldLayout::new();
    read.build(&mut Env { layout: &mut layout });
    let needs = read.needs();
    for (field, _) in layout.iter() {
        assert!(needs.contains(&field), "{} with {params} uses {field:?} without needing it", info.name);
    }
    for field in needs {
        assert!(info.fields.contains(&field), "{} needs {field:?} without declaring it", info.name);
    }
    for &field in info.fields {
        layout.slot(field);
    }
    let component = read.build(&mut Env { layout: &mut layout });
    assert_eq!(layout.iter().count(), info.fields.len(), "{} uses what it does not declare", info.name);
    Desk::new(component, layout, seed)
}

/// One run of a component's standard workload: what it decided.
pub type Run = fn(&Info, &Value) -> Vec<u64>;

/// The same workload twice gives the same decisions, and so do the defaults written out.
pub fn assert_deterministic(infos: &[Info], run: Run) {
    for info in infos {
        let first = run(info, &json!({}));
        assert_eq!(first, run(info, &json!({})), "{} decides differently in a second run", info.name);
        assert_eq!(first, run(info, &(info.defaults)()), "{}: written-out defaults differ", info.name);
    }
}

/// Parameters that need paces which belong to the link's traffic, more Interests on their way than the workload has, or a
/// planner; the component's own tests show their effect.
const SHOWN_BY_OWN_TESTS: [&str; 11] = [
    "overflow: growth",
    "overflow: most",
    "overflow: patience",
    "overflow: start",
    "rfa: idle-mean",
    "weir: catch-up",
    "weir: growth",
    "weir: least",
    "weir: reports",
    "weir: smoothing",
    "weir: tolerance",
];

/// Every parameter changes some decision of the workload: with the other defaults, or with one other choice switched.
pub fn assert_parameters_have_effects(infos: &[Info], check: fn(&str, &Value) -> Result<(), SchemeError>, run: Run) {
    let mut without = Vec::new();
    for info in infos {
        let (defaults, schema) = ((info.defaults)(), (info.schema)());
        let leaves = leaves(&schema, &schema, &defaults, &mut Vec::new());
        let mut bases = vec![defaults.clone()];
        for (path, candidates) in &leaves {
            let choices = candidates.iter().filter(|c| c.is_boolean() || is_choice(c));
            bases.extend(choices.map(|choice| replaced(&defaults, path, choice)));
        }
        bases.retain(|base| check(info.name, base).is_ok());
        for (path, candidates) in &leaves {
            let differs = bases.iter().any(|base| {
                let before = run(info, base);
                let mut changed = candidates.iter().map(|value| replaced(base, path, value));
                changed.any(|params| check(info.name, &params).is_ok() && run(info, &params) != before)
            });
            let name = format!("{}: {}", info.name, path.join("."));
            if !differs && !SHOWN_BY_OWN_TESTS.contains(&name.as_str()) {
                without.push(name);
            }
        }
    }
    assert!(without.is_empty(), "parameters without an effect: {without:?}");
}

/// Defaults pass the check; unknown keys and wrong types are rejected with their name; every parameter is documented.
pub fn assert_parameters_are_sound(infos: &[Info], check: fn(&str, &Value) -> Result<(), SchemeError>) {
    for info in infos {
        let (defaults, schema) = ((info.defaults)(), (info.schema)());
        for params in [Value::Null, json!({}), defaults.clone()] {
            check(info.name, &params).unwrap_or_else(|e| panic!("{} rejects its defaults: {e}", info.name));
        }
        assert!(!info.summary.is_empty() && !info.source.is_empty(), "{} says what it is and whose", info.name);
        let mut tables = vec![vec![]];
        for (path, _) in leaves(&schema, &schema, &defaults, &mut Vec::new()) {
            for wrong in [json!([{}]), json!("no such thing"), json!(-1.0)] {
                let params = replaced(&defaults, &path, &wrong);
                let rejection = check(info.name, &params).err();
                let free_text = wrong.is_string() && property(&schema, &path).get("format").is_none();
                let fitting_list = wrong.is_array() && property(&schema, &path)["type"] == "array";
                assert!(rejection.is_some() || free_text || fitting_list, "{} accepts {params}", info.name);
            }
            let described = property(&schema, &path)["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{}: parameter {} has no documentation", info.name, path.join("."));
            tables.push(path[..path.len() - 1].to_vec());
        }
        for mut path in tables {
            path.push("no_such_parameter".into());
            let error = check(info.name, &replaced(&defaults, &path, &json!(1))).unwrap_err().to_string();
            assert!(error.contains("no_such_parameter"), "{}: {error}", info.name);
        }
    }
}

/// Whether a candidate is the name of an alternative rather than a quantity.
fn is_choice(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// `base` with the value at `path` replaced.
fn replaced(base: &Value, path: &[String], value: &Value) -> Value {
    let mut params = if base.is_object() { base.clone() } else { json!({}) };
    let (last, tables) = path.split_last().unwrap();
    let mut table = &mut params;
    for key in tables {
        table = &mut table[key];
    }
    table[last] = value.clone();
    params
}

/// Follows references of a JSON schema.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => resolved(root, &root["$defs"][reference.rsplit('/').next().unwrap()]),
        None => schema,
    }
}

/// The schema of one parameter, references followed only on the way to it.
fn property<'a>(root: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(root, |schema, key| &resolved(root, schema)["properties"][key])
}

/// Every parameter that is not a table, with other values to try.
fn leaves(root: &Value, schema: &Value, default: &Value, path: &mut Vec<String>) -> Vec<(Vec<String>, Vec<Value>)> {
    let schema = resolved(root, schema);
    match default {
        Value::Object(table) => {
            let known = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
            assert!(known.keys().all(|key| table.contains_key(key)), "defaults of {path:?} leave something out");
            let mut found = Vec::new();
            for (key, value) in table {
                path.push(key.clone());
                found.extend(leaves(root, &known[key], value, path));
                path.pop();
            }
            found
        }
        _ => vec![(path.clone(), candidates(root, schema, default))],
    }
}

/// Other values for one parameter.
fn candidates(root: &Value, schema: &Value, default: &Value) -> Vec<Value> {
    let mut found = alternatives(root, schema);
    match default {
        Value::Bool(on) => found.push(json!(!on)),
        Value::Number(n) if n.is_u64() => {
            let n = n.as_u64().unwrap();
            found.extend([n * 2, n / 2, n / 16, n + 1, n.saturating_sub(1)].map(|n| json!(n)));
        }
        Value::Number(n) => {
            let n = n.as_f64().unwrap();
            found.extend([n * 2.0, n / 2.0, n + 0.1, n + 1.0, 1.0 - n].map(|n| json!(n)));
        }
        Value::String(text) => found.extend(scaled(text)),
        Value::Array(list) => {
            found.push(json!([list.clone(), vec![json!(3.0), json!(1.0)]].concat()));
            found.extend([json!([1]), json!([0, 1])]);
        }
        _ => found
            .extend(["20ms", "2s", "3Mbps", "3000B"].map(|text| json!(text)).into_iter().chain([json!(3), json!(0.5)])),
    }
    found.retain(|value| value != default);
    found
}

/// The names a choice can have.
fn alternatives(root: &Value, schema: &Value) -> Vec<Value> {
    let schema = resolved(root, schema);
    let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let mut found: Vec<Value> = list("enum").cloned().collect();
    found.extend(schema.get("const").cloned());
    for inner in list("oneOf").chain(list("anyOf")) {
        found.extend(alternatives(root, inner));
    }
    found
}

/// A quantity twice and half as large.
fn scaled(text: &str) -> Vec<Value> {
    let pair = |n: u64, make: fn(u64) -> String| [n.saturating_mul(2), n / 2].map(|n| Value::String(make(n))).to_vec();
    if let Ok(duration) = text.parse::<Duration>() {
        return pair(duration.nanos(), |n| Duration::from_nanos(n).to_string());
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return pair(rate.bps(), |n| Rate::from_bps(n).to_string());
    }
    text.parse::<Bytes>().map_or(Vec::new(), |bytes| pair(bytes.get(), |n| Bytes::new(n).to_string()))
}
