//! Changes one parameter of a component at a time, for "a parameter without an effect is a failing test".

use serde_json::{Value, json};

/// One parameter with values that differ from its default.
#[derive(Clone, Debug)]
pub struct Knob {
    /// Where it is, as a JSON pointer.
    pub path: String,
    /// Other values, some of which the component may reject.
    pub alternatives: Vec<Value>,
    /// Whether it switches something: an enum or a flag. Others may only be felt under another setting of these.
    pub switch: bool,
}

/// Every parameter of a component, from its default values and its JSON schema.
pub fn knobs(defaults: &Value, schema: &Value) -> Vec<Knob> {
    let mut found = Vec::new();
    walk(defaults, schema, schema, String::new(), &mut found);
    found
}

/// `base` with the value at `path` replaced.
pub fn with(base: &Value, path: &str, value: &Value) -> Value {
    let mut changed = base.clone();
    if let Some(place) = changed.pointer_mut(path) {
        *place = value.clone();
    }
    changed
}

fn walk(value: &Value, schema: &Value, root: &Value, path: String, found: &mut Vec<Knob>) {
    let schema = resolve(schema, root);
    let knob = |alternatives: Vec<Value>, switch| Knob { path: path.clone(), alternatives, switch };
    match value {
        Value::Object(table) => {
            for (key, inner) in table {
                let inner_schema = schema.pointer(&format!("/properties/{key}")).unwrap_or(&Value::Null);
                walk(inner, inner_schema, root, format!("{path}/{key}"), found);
            }
        }
        Value::Bool(on) => found.push(knob(vec![json!(!on)], true)),
        Value::Number(n) => {
            let n = n.as_f64().unwrap_or_default();
            let whole = value.is_u64() || value.is_i64();
            let candidates =
                [n * 0.5, n * 0.9, n * 1.1, n * 2.0, n + 1.0, n + 0.3, 0.3, 0.95, 1.0, 2.0, 3.0, 6.0, 50.0];
            let candidates = candidates.into_iter().filter(|c| *c != n);
            let values = if whole {
                candidates.map(|c| json!(c.round() as u64)).filter(|c| c != value).collect()
            } else {
                candidates.map(|c| json!(c)).collect()
            };
            found.push(knob(values, false));
        }
        Value::String(text) => match schema.get("format").and_then(Value::as_str) {
            Some("time") => found.push(knob(others(text, &["0", "1ms", "7ms", "150ms", "3s", "300s"]), false)),
            Some("rate") => found.push(knob(others(text, &["1kbps", "1Mbps", "77Mbps"]), false)),
            Some("size") => found.push(knob(others(text, &["1B", "5000B", "1MB"]), false)),
            _ => {
                let names = names(schema, root);
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                found.push(knob(others(text, &names), true));
            }
        },
        Value::Null => found.push(knob(vec![json!(0.5), json!(2), json!(true), json!("1ms"), json!("1Mbps")], false)),
        Value::Array(items) => {
            let mut longer = items.clone();
            longer.push(items.last().cloned().unwrap_or(json!(1)));
            let shorter = items[..items.len().saturating_sub(1)].to_vec();
            // Lists whose length is given by others: the same with other numbers.
            let halved = Value::Array(items.iter().map(halved).collect());
            found.push(knob(vec![json!(longer), json!(shorter), halved], false));
        }
    }
}

/// The same with each number half as large.
fn halved(value: &Value) -> Value {
    match value {
        Value::Number(n) => json!(n.as_f64().unwrap_or_default() / 2.0),
        Value::Array(items) => items.iter().map(halved).collect(),
        Value::Object(table) => Value::Object(table.iter().map(|(key, value)| (key.clone(), halved(value))).collect()),
        _ => value.clone(),
    }
}

fn others(text: &str, candidates: &[&str]) -> Vec<Value> {
    candidates.iter().filter(|c| **c != text).map(|c| json!(c)).collect()
}

fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#'));
    let inner = schema.pointer("/allOf/0/$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#'));
    target.or(inner).and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// The names an enum may have.
fn names(schema: &Value, root: &Value) -> Vec<String> {
    let mut names = Vec::new();
    let strings = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(String::from).collect()
    };
    names.extend(schema.get("enum").map(strings).unwrap_or_default());
    names.extend(schema.get("const").and_then(Value::as_str).map(String::from));
    for key in ["oneOf", "anyOf"] {
        for alternative in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            names.extend(self::names(resolve(alternative, root), root));
        }
    }
    names
}
