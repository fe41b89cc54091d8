//! `rib/announce`: a route by a prefix announcement instead of parameters.
//!
//! Source: NFD wiki, `RibMgmt`, "Register a route with Prefix Announcement object"; codes and the route's properties as
//! in NFD. The announcement is in ApplicationParameters, so only signed Interests of the packet specification carry it.
//!
//! Ours: an announcement out of its validity is rejected with 403. NFD answers 200, and then there is no route.

use super::announcement::Announcement;
use super::authority::{Authority, Denied, Requester};
use super::control::ManagedForwarder;
use super::manager::{MAX_PREFIX_COMPONENTS, Timestamps};
use super::parameters::{ControlParameters, ControlResponse, route_flags};
use super::rib::Rib;
use super::verbs::{self, no};
use ndnweir_wire::{DataView, InterestView, NameView};

/// Origin of a route by announcement.
const ORIGIN: u64 = 129;

/// Cost of a route by announcement.
const COST: u64 = 2048;

/// Carries out an authorised command; `name` is the command's without what the signature added.
pub fn execute(
    (interest, name): (&InterestView<'_>, NameView<'_>),
    from: Requester,
    at: Timestamps,
    authority: &Authority,
    rib: &mut Rib,
    control: &mut impl ManagedForwarder,
) -> ControlResponse {
    let data = interest.application_parameters().filter(|_| name.len() == 4).map(DataView::decode);
    let Some(Ok(data)) = data else {
        return no(400, "a prefix announcement is needed in ApplicationParameters, and nothing else");
    };
    let announcement = match Announcement::decode(&data) {
        Ok(announcement) => announcement,
        Err(error) => return no(400, format!("the announcement is {error}")),
    };
    if announcement.prefix.len() > MAX_PREFIX_COMPONENTS {
        return no(414, format!("a prefix cannot have more than {MAX_PREFIX_COMPONENTS} components"));
    }
    match authority.trusts(from, &data) {
        Ok(()) => {}
        Err(Denied::BadSignature) => return no(403, "the announcement's signature does not match"),
        Err(_) => return no(403, "the announcement's signer is not authorised here"),
    }
    let Some(lasts) = announcement.valid_for(at.unix) else { return no(403, "the announcement is not valid now") };
    let route = ControlParameters {
        face_id: Some(from.face_id),
        origin: Some(ORIGIN),
        ..ControlParameters::of_name(announcement.prefix)
    };
    let properties = ControlParameters {
        cost: Some(COST),
        flags: Some(route_flags::CHILD_INHERIT),
        expiration_period: Some(lasts),
        ..route.clone()
    };
    if !lasts.is_zero() {
        return verbs::execute(("rib", "register"), properties, from.face_id, at.now, rib, control);
    }
    // One that has ended replaces the one before, and is removed.
    let response = verbs::execute(("rib", "unregister"), route, from.face_id, at.now, rib, control);
    if response.is_ok() { ControlResponse::ok(properties) } else { response }
}
