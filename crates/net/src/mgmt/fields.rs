//! The required and optional fields of commands.
//!
//! Source: NFD wiki, the "ControlParameters" tables of `FaceMgmt`, `FibMgmt`, `RibMgmt`, `StrategyChoice`, `CsMgmt`.

use super::parameters::ControlParameters;

/// Fields as bits.
pub const NAME: u32 = 1;
pub const FACE_ID: u32 = 1 << 1;
pub const URI: u32 = 1 << 2;
pub const LOCAL_URI: u32 = 1 << 3;
pub const ORIGIN: u32 = 1 << 4;
pub const COST: u32 = 1 << 5;
pub const CAPACITY: u32 = 1 << 6;
pub const COUNT: u32 = 1 << 7;
pub const FLAGS: u32 = 1 << 8;
pub const MASK: u32 = 1 << 9;
pub const STRATEGY: u32 = 1 << 10;
pub const EXPIRATION_PERIOD: u32 = 1 << 11;
pub const FACE_PERSISTENCY: u32 = 1 << 12;
pub const BASE_CONGESTION_MARKING_INTERVAL: u32 = 1 << 13;
pub const DEFAULT_CONGESTION_THRESHOLD: u32 = 1 << 14;
pub const MTU: u32 = 1 << 15;

/// What can be set on a face.
pub const SETTINGS: u32 =
    FLAGS | MASK | FACE_PERSISTENCY | BASE_CONGESTION_MARKING_INTERVAL | DEFAULT_CONGESTION_THRESHOLD | MTU;

/// In the order of the bits.
const NAMES: [&str; 16] = [
    "Name",
    "FaceId",
    "Uri",
    "LocalUri",
    "Origin",
    "Cost",
    "Capacity",
    "Count",
    "Flags",
    "Mask",
    "Strategy",
    "ExpirationPeriod",
    "FacePersistency",
    "BaseCongestionMarkingInterval",
    "DefaultCongestionThreshold",
    "Mtu",
];

fn present(p: &ControlParameters) -> u32 {
    [
        p.name.is_some(),
        p.face_id.is_some(),
        p.uri.is_some(),
        p.local_uri.is_some(),
        p.origin.is_some(),
        p.cost.is_some(),
        p.capacity.is_some(),
        p.count.is_some(),
        p.flags.is_some(),
        p.mask.is_some(),
        p.strategy.is_some(),
        p.expiration_period.is_some(),
        p.face_persistency.is_some(),
        p.base_congestion_marking_interval.is_some(),
        p.default_congestion_threshold.is_some(),
        p.mtu.is_some(),
    ]
    .iter()
    .enumerate()
    .fold(0, |bits, (bit, &is)| bits | u32::from(is) << bit)
}

/// Why the parameters of a command cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// One that the command needs.
    #[error("{0} is required but missing")]
    Missing(&'static str),
    /// One that the command does not have.
    #[error("{0} is not allowed here")]
    Forbidden(&'static str),
    /// Flags without Mask, or the other way round.
    #[error("Flags and Mask go together")]
    Alone,
}

/// Checks that the parameters have all required fields and no other than these and the optional ones.
pub fn check(p: &ControlParameters, required: u32, optional: u32) -> Result<(), FieldError> {
    let present = present(p);
    let name = |bits: u32| NAMES.get(bits.trailing_zeros() as usize).copied().unwrap_or_default();
    if required & !present != 0 {
        return Err(FieldError::Missing(name(required & !present)));
    }
    let forbidden = present & !(required | optional);
    if forbidden != 0 {
        return Err(FieldError::Forbidden(name(forbidden)));
    }
    let both = FLAGS | MASK;
    if optional & both == both && present & both != 0 && present & both != both {
        return Err(FieldError::Alone);
    }
    Ok(())
}
