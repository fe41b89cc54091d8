//! What each command does.
//!
//! Source: NFD wiki, `FaceMgmt`, `FibMgmt`, `RibMgmt`, `StrategyChoice`, `CsMgmt`; codes as NFD answers.

use super::control::{CommandFailure, FaceCreated, FaceRequest, FaceSettings, ManagedForwarder};
use super::dataset::{FaceStatus, Persistency, Scope};
use super::fields::{self as f, check};
use super::manager::{MAX_PREFIX_COMPONENTS, apply};
use super::parameters::{ControlParameters, ControlResponse, cs_flags, face_flags, route_flags};
use super::rib::{Rib, RibRoute};
use crate::face_uri::{FaceUri, IpFamily};
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::{Name, NameView};
use std::net::IpAddr;

/// How many packets one command erases from the content store (as in NFD).
const ERASE_LIMIT: u64 = 256;

impl From<CommandFailure> for ControlResponse {
    fn from(failure: CommandFailure) -> ControlResponse {
        ControlResponse::new(failure.code, failure.text)
    }
}

type Outcome = Result<ControlParameters, ControlResponse>;

pub(super) fn no(code: u32, text: impl Into<String>) -> ControlResponse {
    ControlResponse::new(code, text)
}

/// Carries out an authorised command. `from` is the face on which it came.
pub fn execute(
    (module, verb): (&str, &str),
    p: ControlParameters,
    from: u64,
    now: Time,
    rib: &mut Rib,
    control: &mut impl ManagedForwarder,
) -> ControlResponse {
    let (required, optional) = match (module, verb) {
        ("faces", "create") => (f::URI, f::LOCAL_URI | f::SETTINGS),
        ("faces", "update") => (0, f::FACE_ID | f::SETTINGS),
        ("faces", "destroy") => (f::FACE_ID, 0),
        ("fib", "add-nexthop") => (f::NAME, f::FACE_ID | f::COST),
        ("fib", "remove-nexthop") => (f::NAME, f::FACE_ID),
        ("rib", "register") => (f::NAME, f::FACE_ID | f::ORIGIN | f::COST | f::FLAGS | f::EXPIRATION_PERIOD),
        ("rib", "unregister") => (f::NAME, f::FACE_ID | f::ORIGIN),
        ("strategy-choice", "set") => (f::NAME | f::STRATEGY, 0),
        ("strategy-choice", "unset") => (f::NAME, 0),
        ("cs", "config") => (0, f::CAPACITY | f::FLAGS | f::MASK),
        ("cs", "erase") => (f::NAME, f::COUNT),
        _ => return no(501, format!("there is no command {module}/{verb}")),
    };
    if let Err(problem) = check(&p, required, optional) {
        return no(400, problem.to_string());
    }
    if p.name.as_ref().is_some_and(|name| name.len() > MAX_PREFIX_COMPONENTS) {
        return no(414, format!("a prefix cannot have more than {MAX_PREFIX_COMPONENTS} components"));
    }
    let done = match (module, verb) {
        ("faces", "create") => create_face(&p, control),
        ("faces", "update") => update_face(&p, from, control),
        ("faces", "destroy") => destroy_face(p, rib, control),
        ("fib", "add-nexthop") => add_next_hop(p, from, control),
        ("fib", "remove-nexthop") => {
            let p = ControlParameters { face_id: Some(face_or(&p, from)), ..p };
            control.remove_next_hop(name(&p), face_or(&p, from));
            Ok(p)
        }
        ("rib", "register") => register(p, from, now, rib, control),
        ("rib", "unregister") => {
            let (face_id, origin) = (face_or(&p, from), p.origin.unwrap_or(0));
            apply(rib.unregister(name(&p), face_id, origin), control);
            Ok(ControlParameters { face_id: Some(face_id), origin: Some(origin), ..p })
        }
        ("strategy-choice", "set") => set_strategy(p, control),
        ("strategy-choice", "unset") if name(&p).is_empty() => {
            Err(no(400, "the strategy of / can be changed, not unset"))
        }
        ("strategy-choice", "unset") => {
            control.unset_strategy(name(&p));
            Ok(p)
        }
        ("cs", "config") => configure_cs(&p, control),
        _ => erase_cs(p, control),
    };
    match done {
        Ok(body) => ControlResponse::ok(body),
        Err(response) => response,
    }
}

fn name(p: &ControlParameters) -> NameView<'_> {
    p.name.as_ref().map(Name::as_view).unwrap_or_default()
}

/// The face meant: absent or 0 is that on which the command came.
fn face_or(p: &ControlParameters, from: u64) -> u64 {
    p.face_id.filter(|&face_id| face_id != 0).unwrap_or(from)
}

fn settings(p: &ControlParameters) -> Result<FaceSettings, ControlResponse> {
    let persistency = match p.face_persistency {
        Some(number) => Some(Persistency::from_number(number).ok_or_else(|| no(400, "FacePersistency is unknown"))?),
        None => None,
    };
    Ok(FaceSettings {
        persistency,
        mtu: p.mtu,
        base_congestion_marking_interval: p.base_congestion_marking_interval,
        default_congestion_threshold: p.default_congestion_threshold,
        local_fields: p.flag(face_flags::LOCAL_FIELDS),
        reliability: p.flag(face_flags::LP_RELIABILITY),
        congestion_marking: p.flag(face_flags::CONGESTION_MARKING),
    })
}

/// A face's properties as the answers to create and update show them.
fn body_of(face: FaceStatus) -> ControlParameters {
    ControlParameters {
        face_id: Some(face.face_id),
        uri: Some(face.remote_uri),
        local_uri: Some(face.local_uri),
        flags: Some(face.flags),
        face_persistency: Some(face.persistency.number()),
        base_congestion_marking_interval: face.base_congestion_marking_interval,
        default_congestion_threshold: face.default_congestion_threshold,
        mtu: face.mtu,
        ..ControlParameters::default()
    }
}

/// Reads a face URI that has an address, not a name, for its host; `udp` and `tcp` get the family of the address.
fn canonical(uri: &str) -> Result<FaceUri, ControlResponse> {
    const SCHEMES: [&str; 7] = ["udp", "udp4", "udp6", "tcp", "tcp4", "tcp6", "unix"];
    if let Some((scheme, _)) = uri.split_once("://")
        && !SCHEMES.contains(&scheme)
    {
        return Err(no(406, format!("faces of scheme {scheme} are not supported")));
    }
    let parsed = uri.parse::<FaceUri>().map_err(|error| no(400, error.to_string()))?;
    let family_of = |family, host: &str| match (family, host.parse::<IpAddr>()) {
        (IpFamily::Any | IpFamily::V4, Ok(IpAddr::V4(_))) => Ok(IpFamily::V4),
        (IpFamily::Any | IpFamily::V6, Ok(IpAddr::V6(_))) => Ok(IpFamily::V6),
        _ => Err(no(400, format!("{uri} is not canonical: its host must be an address of its family"))),
    };
    Ok(match parsed {
        FaceUri::Udp(family, host, port) => FaceUri::Udp(family_of(family, &host)?, host, port),
        FaceUri::Tcp(family, host, port) => FaceUri::Tcp(family_of(family, &host)?, host, port),
        unix => unix,
    })
}

fn create_face(p: &ControlParameters, control: &mut impl ManagedForwarder) -> Outcome {
    let remote = canonical(p.uri.as_deref().unwrap_or_default())?;
    remote.check_neighbour().map_err(|error| no(400, error.to_string()))?;
    if p.local_uri.is_some() {
        return Err(no(406, "faces over UDP and TCP choose this end themselves: leave LocalUri out"));
    }
    let mut settings = settings(p)?;
    match settings.persistency {
        Some(Persistency::OnDemand) => return Err(no(406, "on-demand faces cannot be requested")),
        persistency => settings.persistency = Some(persistency.unwrap_or(Persistency::Persistent)),
    }
    if settings.local_fields == Some(true) && !matches!(remote, FaceUri::Unix(_)) {
        return Err(no(406, "local fields can only be enabled on local faces"));
    }
    let created = control.create_face(&FaceRequest { remote, settings })?;
    let (FaceCreated::New(face_id) | FaceCreated::Existing(face_id)) = created;
    let body = control.face(face_id).map(body_of).ok_or_else(|| no(500, "the face ended as it was made"))?;
    match created {
        FaceCreated::New(_) => Ok(body),
        FaceCreated::Existing(_) => {
            Err(ControlResponse { body: Some(Box::new(body)), ..no(409, "there is a face to this place already") })
        }
    }
}

fn update_face(p: &ControlParameters, from: u64, control: &mut impl ManagedForwarder) -> Outcome {
    let face_id = face_or(p, from);
    let face = control.face(face_id).ok_or_else(|| no(404, "there is no such face"))?;
    let settings = settings(p)?;
    if settings.local_fields == Some(true) && face.scope != Scope::Local {
        return Err(no(409, "local fields can only be enabled on local faces"));
    }
    control.update_face(face_id, &settings)?;
    let face = control.face(face_id).ok_or_else(|| no(500, "the face ended as it was changed"))?;
    Ok(ControlParameters { uri: None, local_uri: None, ..body_of(face) })
}

fn destroy_face(p: ControlParameters, rib: &mut Rib, control: &mut impl ManagedForwarder) -> Outcome {
    let face_id = p.face_id.filter(|&face_id| face_id != 0).ok_or_else(|| no(400, "FaceId cannot be 0"))?;
    control.destroy_face(face_id)?;
    apply(rib.remove_face(face_id), control);
    Ok(p)
}

fn add_next_hop(p: ControlParameters, from: u64, control: &mut impl ManagedForwarder) -> Outcome {
    let (face_id, cost) = (face_or(&p, from), p.cost.unwrap_or(0));
    control.face(face_id).ok_or_else(|| no(410, "there is no such face"))?;
    control.set_next_hop(name(&p), face_id, cost)?;
    Ok(ControlParameters { face_id: Some(face_id), cost: Some(cost), ..p })
}

fn register(p: ControlParameters, from: u64, now: Time, rib: &mut Rib, control: &mut impl ManagedForwarder) -> Outcome {
    let face_id = face_or(&p, from);
    control.face(face_id).ok_or_else(|| no(410, "there is no such face"))?;
    let route = RibRoute {
        face_id,
        origin: p.origin.unwrap_or(0),
        cost: p.cost.unwrap_or(0),
        flags: p.flags.unwrap_or(route_flags::CHILD_INHERIT),
        expires: p.expiration_period.map_or(Time::NEVER, |period| end(now, period)),
    };
    let before = rib.route(name(&p), face_id, route.origin);
    let changes = rib.register(name(&p), route).map_err(|full| no(500, full.to_string()))?;
    if let Some(failure) = apply(changes, control) {
        // The FIB may have accepted a part, so the previous state is restored.
        let undo = match before {
            Some(before) => rib.register(name(&p), before).unwrap_or_default(),
            None => rib.unregister(name(&p), face_id, route.origin),
        };
        apply(undo, control);
        return Err(failure.into());
    }
    Ok(ControlParameters {
        face_id: Some(face_id),
        origin: Some(route.origin),
        cost: Some(route.cost),
        flags: Some(route.flags),
        ..p
    })
}

fn end(now: Time, period: std::time::Duration) -> Time {
    match u64::try_from(period.as_nanos()) {
        Ok(nanos) => now + Duration::from_nanos(nanos),
        Err(_) => Time::NEVER,
    }
}

fn set_strategy(p: ControlParameters, control: &mut impl ManagedForwarder) -> Outcome {
    let requested = p.strategy.as_ref().map(Name::as_view).unwrap_or_default();
    let strategy = control.set_strategy(name(&p), requested)?;
    Ok(ControlParameters { strategy: Some(strategy), ..p })
}

fn configure_cs(p: &ControlParameters, control: &mut impl ManagedForwarder) -> Outcome {
    control.configure_cs(p.capacity, p.flag(cs_flags::ADMIT), p.flag(cs_flags::SERVE))?;
    let cs = control.cs();
    Ok(ControlParameters { capacity: Some(cs.capacity), flags: Some(cs.flags), ..ControlParameters::default() })
}

fn erase_cs(p: ControlParameters, control: &mut impl ManagedForwarder) -> Outcome {
    if p.count == Some(0) {
        return Err(no(400, "Count cannot be 0"));
    }
    let requested = p.count.unwrap_or(u64::MAX);
    let erased = control.erase_cs(name(&p), requested.min(ERASE_LIMIT));
    // Capacity is the most that one command erases, when repeating it would erase more.
    let more = erased.more && requested > ERASE_LIMIT;
    Ok(ControlParameters { count: Some(erased.count), capacity: more.then_some(ERASE_LIMIT), ..p })
}
