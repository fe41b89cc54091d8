//! What `put`, `get` and `bench get` share.

use crate::failure::Failure;
use crate::interrupt;
use crate::transfer_args::{ClientArgs, FetchArgs};
use ndnweir_core::units::Duration;
use ndnweir_net::client::{Session, Waiter, transport};
use ndnweir_net::clock::seed;
use ndnweir_net::object::Trust;
use ndnweir_net::transfer::{DownloadConfig, consumer_changes, real_path_scheme};
use ndnweir_node::FetcherConfig;
use ndnweir_node::forwarder::MAX_DELEGATIONS;
use ndnweir_scenario::component_file;
use ndnweir_wire::Name;
use serde_json::Value;

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

/// InterestLifetime as the user wrote it: packets have it in whole milliseconds, and with 0 nobody waits for an answer.
fn lifetime(text: &str) -> Result<Duration, Failure> {
    let lifetime = duration("--lifetime", text)?;
    match lifetime < Duration::from_millis(1) {
        true => Err(Failure::Input(format!("--lifetime {text}: give 1ms or more"))),
        false => Ok(lifetime),
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
        lifetime: lifetime(&args.lifetime)?,
        loss: (!args.no_loss_detection).then(Default::default),
        pace: (args.pace > 0.0).then_some(args.pace),
        ..FetcherConfig::default()
    };
    Ok(DownloadConfig {
        name,
        hint: args.hint.clone(),
        scheme: real_path_scheme(&args.scheme, args.noise, changes(&args.overrides)?).map_err(Failure::input)?,
        trust: Trust::read(&args.trust).map_err(|e| Failure::Input(format!("--trust: {e}")))?,
        patience: duration("--timeout", &args.timeout)?,
        fetcher,
        link: None,
    })
}

/// What `--set` says of the consumer, over the parameters of the file that `consumer.file` names.
fn changes(overrides: &[String]) -> Result<Vec<Value>, Failure> {
    let mut set = consumer_changes(overrides).map_err(Failure::input)?;
    match set.as_object_mut().and_then(|table| table.remove("file")) {
        None => Ok(vec![set]),
        Some(Value::String(path)) => Ok(vec![component_file(&path).map_err(Failure::input)?, set]),
        Some(file) => Err(Failure::Input(format!("--set consumer.file={file}: give the path of a file of parameters"))),
    }
}
