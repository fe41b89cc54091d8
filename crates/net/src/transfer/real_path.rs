//! Schemes of the simulator as consumers on real paths.

use ndnweir_core::error::SchemeError;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use serde_json::{Map, Value, json};

/// The timer of window laws on real paths, unless `--set` changes it: ndn-cxx's estimator, which backs off once per
/// loss and not once per segment. That no timeout exceeds 4 s is ours.
fn timer() -> Value {
    json!({ "estimator": "ndn-cxx", "max": "4s", "scan": "1ms", "backoff-cap": 65536 })
}

/// Segments requested before anything arrived, where a law starts with fewer: as many as TCP sends (RFC 6928), though
/// segments of 8000 B make 80 kB of them. With a single one its loss is detected only after a second.
const INITIAL_WINDOW: f64 = 10.0;

/// How close, in segments, a binary search comes to the window of the last cut, where the law leaves it as ndnSIM has it:
/// the least step of Xu, Harfoush, Rhee (INFOCOM 2004). With ndnSIM's 10⁻⁵ a small window searches for 20 round trips.
const EQUAL: f64 = 0.01;

/// For how much of a window, beyond the one that is in flight, a cut of the window ignores further marks and losses,
/// where the law has ndnSIM's half: over a path with jitter, marks of the same queue come for another round trip. Ours;
/// fitted to 20 ms of jitter.
const RECOVERY: f64 = 1.5;

/// Largest share of lost segments that a window law takes for noise unless it is told otherwise. Ours.
pub const NOISE: f64 = 0.1;

/// Why there is no such consumer.
#[derive(Debug, thiserror::Error)]
pub enum RealPathError {
    /// The scheme, or its parameters.
    #[error("{0}")]
    Scheme(#[from] SchemeError),
    /// A change of another form.
    #[error("--set {0}: write consumer.KEY=VALUE, such as consumer.timer.min=100ms")]
    Form(String),
}

/// The scheme called `name` as its consumer works on real paths: with ndn-cxx's timer, at least ten segments at first,
/// and losses of up to a share `noise` taken for noise while round trips show no queue, unless it says otherwise itself.
/// `changes` are tables of the consumer's parameters, each over those before it; with a key `name` they choose another
/// consumer. [`consumer_changes`] reads them from texts.
///
/// # Errors
/// [`RealPathError`].
pub fn real_path_scheme(
    name: &str,
    noise: f64,
    changes: impl IntoIterator<Item = Value>,
) -> Result<Scheme, RealPathError> {
    let base = Scheme::named(name)?;
    let part = base.part(Family::Consumer);
    let mut set = json!({});
    for table in changes {
        merge(&mut set, table);
    }
    let chosen = set["name"].as_str().filter(|other| *other != part.name);
    let empty = Map::new();
    let (component, params) = chosen.map_or((part.name, part.params), |other| (other, &empty));
    let info = Family::Consumer.components().iter().find(|info| info.name == component);
    let defaults = info.map_or(Value::Null, |info| (info.defaults)());
    let mut consumer = json!({});
    if defaults.get("timer").is_some() {
        consumer["timer"] = timer();
    }
    let given = params.get("initial-window");
    if given.is_none() && defaults["initial-window"].as_f64().is_some_and(|window| window < INITIAL_WINDOW) {
        consumer["initial-window"] = json!(INITIAL_WINDOW);
    }
    if params.get("equal").is_none() && defaults.get("equal").is_some() {
        consumer["equal"] = json!(EQUAL);
    }
    if let Some(reaction) = defaults.get("reaction") {
        // A table that is given in part takes the rest from ndnSIM's law, not from this one's.
        consumer["reaction"] = params.get("reaction").unwrap_or(reaction).clone();
        consumer["reaction"]["noise"] = json!(noise);
        if params.get("reaction").is_none() {
            consumer["reaction"]["recovery"] = json!(RECOVERY);
        }
    }
    merge(&mut consumer, set);
    let label = format!("{name} as set for this fetch");
    let scheme = Scheme::resolve(&label, &json!({ "base": name, "consumer": consumer }))?;
    Ok(Scheme { name: name.into(), ..scheme })
}

/// The table of a consumer's parameters that texts as `consumer.timer.min=100ms` make.
///
/// # Errors
/// [`RealPathError::Form`].
pub fn consumer_changes(overrides: &[String]) -> Result<Value, RealPathError> {
    let mut set = json!({});
    for text in overrides {
        let form = || RealPathError::Form(text.clone());
        let (key, value) = text.split_once('=').ok_or_else(form)?;
        let path = key.trim().strip_prefix("consumer.").ok_or_else(form)?;
        let mut place = &mut set;
        for part in path.split('.') {
            if part.is_empty() || !(place.is_object() || place.is_null()) {
                return Err(form());
            }
            place = &mut place[part];
        }
        *place = serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::from(value.trim()));
    }
    Ok(set)
}

/// Overrides `base`, within tables key by key.
fn merge(base: &mut Value, changes: Value) {
    match (base, changes) {
        (Value::Object(base), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, changes) => *base = changes,
    }
}
