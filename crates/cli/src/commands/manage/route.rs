//! `ndnweir route`.

use super::origins::{origin_of, origin_text};
use super::table::table;
use super::{FaceWord, connect, create_face};
#[cfg(feature = "gnmi")]
use crate::commands::{inputs::load, manage::route_plan::Plan};
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::manage_args::{RouteAction, RouteArgs};
use ndnweir_net::mgmt::dataset::{FaceStatus, RibEntry, RouteRecord};
use ndnweir_net::mgmt::{ControlParameters, route_flags};
use ndnweir_net::remote::Remote;
use ndnweir_wire::Name;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

pub fn run(args: &RouteArgs) -> Result<(), Failure> {
    match &args.action {
        RouteAction::List => list(&mut connect(&args.remote)?, args.remote.json),
        RouteAction::Add { prefix, face, cost, origin, no_inherit, capture, expires } => {
            let inherit = if *no_inherit { 0 } else { route_flags::CHILD_INHERIT };
            let parameters = ControlParameters {
                origin: Some(origin_of(origin)?),
                cost: Some(*cost),
                flags: Some(inherit | if *capture { route_flags::CAPTURE } else { 0 }),
                expiration_period: expires.map(Duration::from_secs),
                ..ControlParameters::of_name(prefix.clone())
            };
            let word = FaceWord::parse(face)?;
            let mut forwarder = connect(&args.remote)?;
            let face_id = face_for(&word, &mut forwarder)?;
            let parameters = ControlParameters { face_id: Some(face_id), ..parameters };
            let done = forwarder.command("rib", "register", &parameters)?;
            print_route(&done, "Added", args.remote.json)
        }
        RouteAction::Remove { prefix, face, origin } => {
            let origin = origin_of(origin)?;
            let word = FaceWord::parse(face)?;
            let mut forwarder = connect(&args.remote)?;
            remove(&mut forwarder, prefix, &word, origin, args.remote.json)
        }
        #[cfg(feature = "gnmi")]
        RouteAction::Plan { scenario, overrides, down, install, dry_run } => {
            let plan = Plan::new(&load(scenario, overrides)?, down)?;
            match install {
                None => plan.show(args.remote.json),
                Some(config) => plan.install(config, *dry_run, args.remote.json),
            }
        }
    }
}

fn remove(forwarder: &mut Remote, prefix: &Name, word: &FaceWord, origin: u64, as_json: bool) -> Result<(), Failure> {
    let face_id = match word {
        FaceWord::Id(id) => *id,
        FaceWord::Uri(_) | FaceWord::Listed(_) => word.get(forwarder)?.face_id,
    };
    // Forwarders answer OK to the removal of a missing route; a mistyped one is reported.
    let entries: Vec<RibEntry> = forwarder.list("rib", "list")?;
    let is_it = |route: &RouteRecord| route.face_id == face_id && route.origin == origin;
    if !entries.iter().any(|entry| entry.name == *prefix && entry.routes.iter().any(is_it)) {
        let origin = origin_text(origin);
        return Err(Failure::work(format!(
            "there is no {origin} route to {prefix} over face {face_id}; `ndnweir route list` shows them"
        )));
    }
    let parameters = ControlParameters {
        face_id: Some(face_id),
        origin: Some(origin),
        ..ControlParameters::of_name(prefix.clone())
    };
    let done = forwarder.command("rib", "unregister", &parameters)?;
    print_route(&done, "Removed", as_json)
}

/// The face that is meant, which is created when it is named by a place to which there is none.
fn face_for(word: &FaceWord, forwarder: &mut Remote) -> Result<u64, Failure> {
    let FaceWord::Uri(uri) = word else { return Ok(word.get(forwarder)?.face_id) };
    match word.find(forwarder)? {
        Some(face) => Ok(face.face_id),
        None => {
            let parameters = ControlParameters { uri: Some(uri.to_string()), ..ControlParameters::default() };
            let (_, face) = create_face(forwarder, &parameters)?;
            face.face_id.ok_or_else(|| Failure::work("the forwarder does not say which face it created"))
        }
    }
}

fn print_route(done: &ControlParameters, what: &str, as_json: bool) -> Result<(), Failure> {
    let prefix = done.name.clone().unwrap_or_default();
    let (face, origin) = (done.face_id.unwrap_or_default(), done.origin.unwrap_or_default());
    if as_json {
        return print_json(&json!({
            "prefix": prefix.to_string(), "face": face, "origin": origin, "cost": done.cost, "flags": done.flags,
            "expires_seconds": done.expiration_period.map(|period| period.as_secs_f64()),
        }));
    }
    print(&format!("{what} the {} route to {prefix} over face {face}.\n", origin_text(origin)))
}

fn list(forwarder: &mut Remote, as_json: bool) -> Result<(), Failure> {
    let mut entries: Vec<RibEntry> = forwarder.list("rib", "list")?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let faces: Vec<FaceStatus> = forwarder.list("faces", "list")?;
    let places: BTreeMap<u64, String> = faces.into_iter().map(|face| (face.face_id, face.remote_uri)).collect();
    let place = |face_id: u64| places.get(&face_id).cloned().unwrap_or_default();
    let routes = || entries.iter().flat_map(|entry| entry.routes.iter().map(move |route| (&entry.name, route)));
    if as_json {
        let row = |(name, route): (&Name, &RouteRecord)| {
            json!({
                "prefix": name.to_string(), "face": route.face_id, "remote_uri": place(route.face_id),
                "origin": origin_text(route.origin), "cost": route.cost,
                "child_inherit": route.flags & route_flags::CHILD_INHERIT != 0,
                "capture": route.flags & route_flags::CAPTURE != 0,
                "expires_seconds": route.expiration_period.map(|period| period.as_secs_f64()),
            })
        };
        return print_json(&Value::from_iter(routes().map(row)));
    }
    let row = |(name, route): (&Name, &RouteRecord)| {
        let flag = |bit, text| if route.flags & bit != 0 { text } else { "-" };
        [
            name.to_string(),
            route.face_id.to_string(),
            place(route.face_id),
            origin_text(route.origin),
            route.cost.to_string(),
            format!("{}{}", flag(route_flags::CHILD_INHERIT, "i"), flag(route_flags::CAPTURE, "c")),
            route.expiration_period.map_or("never".to_owned(), |period| format!("{} s", period.as_secs())),
        ]
    };
    let rows: Vec<_> = routes().map(row).collect();
    let heading = ["PREFIX", "FACE", "TO", "ORIGIN", "COST", "FLAGS", "EXPIRES"];
    print(&table(heading, &[1, 4], &rows))
}
