//! What the conformance tests of the router-side families share: chance, a record to compare, parameters to perturb.

use ndnweir_core::component::{Env, FamilyParams, Info};
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::error::SchemeError;
use ndnweir_core::fields::{Field, FieldLayout, Fields};
use ndnweir_core::ids::{FlowId, NameId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use serde_json::{Value, json};

/// A component under test with what its hooks are given, its clock, and a record of everything it decided.
pub struct Desk<C> {
    pub component: C,
    pub now: Time,
    /// The test's own chance, apart from the component's.
    pub dice: Rng,
    pub record: Vec<u64>,
    rng: Rng,
    trace: Trace,
    layout: FieldLayout,
}

impl<C> Desk<C> {
    /// Builds the component in a run that carries every header field it declares, and sees to it that alone it takes
    /// only those it says it needs.
    pub fn new<P: FamilyParams<Instance = C>>(info: &Info, params: &Value, seed: u64) -> Desk<C> {
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
        let (dice, rng) = (Rng::derive(seed, &[1]), Rng::derive(seed, &[2]));
        Desk { component, now: Time::ZERO, dice, record: Vec::new(), rng, trace: Trace::new(true), layout }
    }

    /// Whether the component declares a field.
    pub fn carries(&self, field: Field) -> bool {
        self.layout.find(field).is_some()
    }

    /// Header fields with `value` in every one that the component declares.
    pub fn fields(&self, value: u32) -> Fields {
        let mut fields = Fields::default();
        for (_, slot) in self.layout.iter() {
            fields.set(slot, value);
        }
        fields
    }

    /// Header fields with anything in them, chosen by `salt` and not by the dice.
    pub fn any_fields(&self, salt: u32) -> Fields {
        self.fields([0, 3, 256 * (salt % 64), u32::MAX, 1, u32::MAX / 64 * (salt % 64)][salt as usize % 6])
    }

    /// Adds the values of the fields that the component declares to the record.
    pub fn record_fields(&mut self, fields: &Fields) {
        self.record.extend(self.layout.iter().map(|(_, slot)| u64::from(fields.get(slot))));
    }

    /// Calls a hook.
    pub fn with<R>(&mut self, hook: impl FnOnce(&mut C, &mut Ctx<'_>) -> R) -> R {
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        hook(&mut self.component, &mut ctx)
    }

    /// Lets time pass: mostly little, sometimes ten days.
    pub fn wander(&mut self) {
        let most = [1, 1_000, 1_000_000, 20_000_000, 1_000_000_000][self.below(5)];
        self.now += Duration::from_nanos(self.dice.below(most));
        if self.chance(0.001) {
            self.now += Duration::from_millis(10 * 86_400_000);
        }
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.dice.below(n as u64) as usize
    }

    /// Whether an event of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.dice.unit() < probability
    }

    /// A packet with a tag of its own, of any kind.
    pub fn packet(&mut self, tag: u32) -> Packet {
        let kind = [Kind::Interest, Kind::Data, Kind::Data, Kind::Nack][self.below(4)];
        let size = match kind {
            Kind::Data => [64, 1250, 8800][self.below(3)],
            _ => 40,
        };
        let name = NameId { flow: FlowId(self.dice.below(5) as u32), segment: tag };
        let mark = u8::from(self.chance(0.1));
        let fields = self.any_fields(tag);
        Packet { fields, name, kind, size, tag, mark, nonce: tag, lifetime_ms: 2000, ..Packet::default() }
    }

    /// Adds what the component recorded itself, and returns everything.
    pub fn finish(mut self) -> Vec<u64> {
        for event in self.trace.drain() {
            self.record.extend([event.at.nanos(), event.id, event.value.to_bits()]);
        }
        self.record
    }
}

/// Seeds every fuzzing test walks.
pub const SEEDS: std::ops::Range<u64> = 0..24;

/// Rates no scheme may trip over.
pub const RATES: [u64; 6] = [0, 1, 1_000_000, 10_000_000, 100_000_000_000, u64::MAX];

/// How often a driver may ask at one instant before it calls that endless.
pub const PATIENCE: usize = 10_000;

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
            if !differs {
                without.push(format!("{}: {}", info.name, path.join(".")));
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
