//! What `put`, `get` and `bench get` share.

use crate::failure::Failure;
use crate::interrupt;
use crate::transfer_args::{ClientArgs, FetchArgs};
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Duration;
use ndnweir_net::client::{Session, Waiter, transport};
use ndnweir_net::clock::seed;
use ndnweir_net::object::Trust;
use ndnweir_net::transfer::DownloadConfig;
use ndnweir_node::FetcherConfig;
use ndnweir_node::forwarder::MAX_DELEGATIONS;
use ndnweir_scenario::component_file;
use ndnweir_wire::Name;
use serde_json::{Map, Value, json};

/// A name as the user wrote it.
pub fn name(text: &str) -> Result<Name, Failure> {
    let name: Name = text.parse().map_err(|e| Failure::Input(format!("{text:?} is not a name: {e}")))?;
    if name.is_empty() {
        return Err(Failure::Input(format!("{text:?} is not a name of an object: write /like/this")));
    }
    Ok(name)
}

/// A length of time as the user wrote it, longer than none.
pub fn duration(option: &str, text: &str) -> Result<Duration, Failure> {
    let duration: Duration = text.parse().map_err(|e| Failure::Input(format!("{option} {text}: {e}")))?;
    match duration == Duration::ZERO {
        true => Err(Failure::Input(format!("{option} {text}: must be longer than no time"))),
        false => Ok(duration),
    }
}

/// A waiter that Ctrl-C ends; a second Ctrl-C ends the program at once.
pub fn waiter() -> Result<Waiter, Failure> {
    let waiter = Waiter::new().map_err(Failure::work)?;
    let stop = waiter.stop_handle();
    interrupt::call(move || stop.stop())?;
    Ok(waiter)
}

/// A connection to the forwarder.
pub fn connect(args: &ClientArgs, waiter: &Waiter, key: usize) -> Result<Session, Failure> {
    let uri = transport(args.transport.as_deref()).map_err(Failure::input)?;
    Session::connect(uri, waiter, key, seed()).map_err(Failure::work)
}

/// How to download `name`.
pub fn download(args: &FetchArgs, name: Name) -> Result<DownloadConfig, Failure> {
    if !(args.pace == 0.0 || (0.1..=100.0).contains(&args.pace)) {
        return Err(Failure::Input(format!("--pace {}: give a factor from 0.1 to 100, or 0 for no pacing", args.pace)));
    }
    if !(0.0..=1.0).contains(&args.noise) {
        return Err(Failure::Input(format!("--noise {}: give a share from 0 to 1", args.noise)));
    }
    if args.hint.len() > MAX_DELEGATIONS {
        return Err(Failure::Input(format!("--hint: forwarders look at {MAX_DELEGATIONS} names at most")));
    }
    let fetcher = FetcherConfig {
        seed: seed(),
        lifetime: duration("--lifetime", &args.lifetime)?,
        loss: (!args.no_loss_detection).then(Default::default),
        pace: (args.pace > 0.0).then_some(args.pace),
        ..FetcherConfig::default()
    };
    Ok(DownloadConfig {
        name,
        hint: args.hint.clone(),
        scheme: scheme(&args.scheme, args.noise, &args.overrides)?,
        trust: Trust::read(&args.trust).map_err(|e| Failure::Input(format!("--trust: {e}")))?,
        patience: duration("--timeout", &args.timeout)?,
        fetcher,
        link: None,
    })
}

/// The timer of window laws on real paths, unless `--set` changes it: ndn-cxx's estimator, which backs off once per
/// loss and not once per segment. That no timeout exceeds 4 s is ours.
fn timer() -> Value {
    json!({ "estimator": "ndn-cxx", "max": "4s", "scan": "1ms", "backoff-cap": 65536 })
}

/// Segments requested before anything arrived, where a law starts with fewer: 32 kB in segments of 8000 B, between the
/// 15 kB of TCP (RFC 6928) and the 46 kB of a common QUIC stack. With a single one its loss is detected only after a
/// second. Ours.
const INITIAL_WINDOW: f64 = 4.0;

/// The scheme called `name`, with another consumer or parameters of its own changed.
fn scheme(name: &str, noise: f64, overrides: &[String]) -> Result<Scheme, Failure> {
    let base = Scheme::named(name).map_err(Failure::input)?;
    let part = base.part(Family::Consumer);
    let set = changes(overrides)?;
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
    if let Some(reaction) = defaults.get("reaction") {
        // A table that is given in part takes the rest from ndnSIM's law, not from this one's.
        consumer["reaction"] = params.get("reaction").unwrap_or(reaction).clone();
        consumer["reaction"]["noise"] = json!(noise);
    }
    merge(&mut consumer, set);
    let label = format!("{name} as set for this fetch");
    let scheme = Scheme::resolve(&label, &json!({ "base": name, "consumer": consumer })).map_err(Failure::input)?;
    Ok(Scheme { name: name.into(), ..scheme })
}

/// What `--set` says of the consumer, with the parameters of the file that `consumer.file` names below the others.
fn changes(overrides: &[String]) -> Result<Value, Failure> {
    let mut set = json!({});
    for text in overrides {
        let form =
            || Failure::Input(format!("--set {text}: write consumer.KEY=VALUE, such as consumer.timer.min=100ms"));
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
    let Some(file) = set.as_object_mut().and_then(|table| table.remove("file")) else { return Ok(set) };
    let Value::String(path) = file else {
        return Err(Failure::Input(format!("--set consumer.file={file}: give the path of a file of parameters")));
    };
    let mut whole = component_file(&path).map_err(Failure::input)?;
    merge(&mut whole, set);
    Ok(whole)
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
