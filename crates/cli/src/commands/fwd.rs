//! `ndnweir fwd`.

use super::inputs::settings;
use crate::failure::Failure;
use crate::network_args::FwdArgs;
use crate::terminal::say;
use ndnweir_core::units::Rate;
use ndnweir_net::daemon::config::{self, Config, Place, RouteSpec};
use ndnweir_net::daemon::{Daemon, DaemonRequest, RunError};
use std::fmt::Display;
#[cfg(feature = "gnmi")]
use std::net::SocketAddr;

pub fn run(args: &FwdArgs) -> Result<(), Failure> {
    ndnweir_net::log::start();
    let config = configuration(args)?;
    let gnmi = config.gnmi.clone();
    let mut daemon = Daemon::new(config).map_err(failure)?;
    if let Some(gnmi) = gnmi {
        start_agent(&mut daemon, gnmi)?;
    }
    loop {
        match daemon.run().map_err(failure)? {
            DaemonRequest::Stop => return Ok(()),
            DaemonRequest::Reload => {
                let read = configuration(args).map_err(|f| format!("{f}; the configuration stays as it was"));
                match read.and_then(|config| daemon.reload(config).map_err(|e| e.to_string())) {
                    Err(message) => say(format_args!("error: {message}")),
                    Ok(kept) if kept.is_empty() => {}
                    Ok(kept) => {
                        let kept = kept.join(", ");
                        say(format_args!("warning: changed, and only used from the next start on: {kept}"));
                    }
                }
            }
        }
    }
}

/// Serves gNMI beside the forwarder.
#[cfg(feature = "gnmi")]
fn start_agent(daemon: &mut Daemon, gnmi: config::Gnmi) -> Result<(), Failure> {
    use ndnweir_control::agent::{Identity, Settings, start};
    let identity = gnmi.identity.map(|files| Identity {
        certificate: files.certificate,
        key: files.key,
        clients: files.clients,
        fingerprints: files.accept,
    });
    let handle = daemon.handle().map_err(Failure::work)?;
    start(handle, &Settings { listen: gnmi.listen, identity }).map(drop).map_err(Failure::work)
}

/// Serves gNMI beside an emulated forwarder, to every process of this machine; where it does.
#[cfg(feature = "gnmi")]
pub fn serve_gnmi(daemon: &mut Daemon, listen: SocketAddr) -> Result<SocketAddr, String> {
    use ndnweir_control::agent::{Settings, start};
    let handle = daemon.handle().map_err(|error| error.to_string())?;
    start(handle, &Settings { listen, identity: None }).map_err(|error| error.to_string())
}

#[cfg(not(feature = "gnmi"))]
fn start_agent(_: &mut Daemon, _: config::Gnmi) -> Result<(), Failure> {
    Err(Failure::Input("[gnmi]: this command was built without the feature gnmi; build it with --features gnmi".into()))
}

fn failure(error: RunError) -> Failure {
    match error {
        RunError::Config(error) => Failure::input(error),
        RunError::Socket { .. } | RunError::Io(_) => Failure::work(error),
    }
}

/// The file, and what the flags add to it.
fn configuration(args: &FwdArgs) -> Result<Config, Failure> {
    let mut found = match &args.config {
        Some(path) => {
            let name = path.display().to_string();
            let text = settings(path)?;
            Config::read(&name, &text).map_err(Failure::input)?
        }
        None => Config::default(),
    };
    let address = |flag: &str, text: &str| config::address(text).map_err(|e| Failure::Input(format!("{flag}: {e}")));
    found.unix = args.unix.clone().or(found.unix);
    for text in &args.udp {
        found.udp.push(address("--udp", text)?);
    }
    for text in &args.tcp {
        found.tcp.push(address("--tcp", text)?);
    }
    if let Some(text) = &args.metrics {
        found.metrics = Some(address("--metrics", text)?);
    }
    if let Some(name) = &args.scheme {
        let value = serde_json::Value::String(name.clone());
        found.scheme = config::scheme(&value).map_err(|e| Failure::Input(format!("--scheme: {e}")))?;
    }
    for text in &args.strategy {
        let fail = |why: &dyn Display| Failure::Input(format!("--strategy {text}: {why}"));
        // Names may hold `=`, strategies may not.
        let (prefix, strategy) = text.rsplit_once('=').ok_or_else(|| fail(&"write PREFIX=NAME, such as /video=asf"))?;
        let prefix = config::name(prefix).map_err(|e| fail(&e))?;
        config::choose(&mut found.scheme, &prefix, &strategy.into()).map_err(|e| fail(&e))?;
    }
    found.cache = args.cs.unwrap_or(found.cache);
    for text in &args.region {
        found.regions.push(config::name(text).map_err(|e| Failure::Input(format!("--region: {e}")))?);
    }
    for text in &args.rate {
        let fail = |why: &dyn Display| Failure::Input(format!("--rate {text}: {why}"));
        let (uri, rate) = text.rsplit_once('=').ok_or_else(|| fail(&"write FACEURI=RATE"))?;
        let rate: Rate = rate.parse().map_err(|e| fail(&e))?;
        if rate == Rate::ZERO {
            return Err(fail(&"a rate of 0 sends nothing"));
        }
        found.face(config::uri(uri).map_err(|e| fail(&e))?).rate = Some(rate);
    }
    for text in &args.route {
        let fail = |why: &dyn Display| Failure::Input(format!("--route {text}: {why}"));
        // Names may hold `=`, as in /video/v=1; a face URI follows the last one before its scheme.
        let at = text.find("://").and_then(|scheme| text[..scheme].rfind('='));
        let at = at.ok_or_else(|| fail(&"write PREFIX=FACEURI, such as /example=udp4://192.0.2.1:6363"))?;
        let prefix = config::name(&text[..at]).map_err(|e| fail(&e))?;
        let to = config::uri(&text[at + 1..]).map_err(|e| fail(&e))?;
        found.routes.push(RouteSpec { at: Place::new(format!("--route {text}")), ..RouteSpec::new(prefix, to, 0) });
    }
    found.complete().map_err(Failure::input)?;
    for warning in found.warnings.drain(..) {
        say(format_args!("warning: {warning}"));
    }
    Ok(found)
}
