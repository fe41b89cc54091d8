//! ControlParameters and ControlResponse.

use super::codec::{self, CodecError, CodecResult, each, only, put, required, set, set_with};
use super::types;
use ndnweir_wire::tlv::{self, Element};
use ndnweir_wire::{Component, Name};
use std::time::Duration;

/// Bits of [`ControlParameters::flags`] and [`ControlParameters::mask`] for a face (FaceMgmt).
pub mod face_flags {
    /// Whether IncomingFaceId, NextHopFaceId and CachePolicy may be used on the face.
    pub const LOCAL_FIELDS: u64 = 1;
    /// Whether lost link packets are sent again.
    pub const LP_RELIABILITY: u64 = 2;
    /// Whether congestion is detected and marked.
    pub const CONGESTION_MARKING: u64 = 4;
}

/// Bits of the flags of a route (RibMgmt).
pub mod route_flags {
    /// Longer prefixes inherit this route.
    pub const CHILD_INHERIT: u64 = 1;
    /// This prefix and longer ones inherit nothing from shorter ones.
    pub const CAPTURE: u64 = 2;
}

/// Bits of the flags of the content store (CsMgmt).
pub mod cs_flags {
    /// Data are admitted.
    pub const ADMIT: u64 = 1;
    /// Interests are served.
    pub const SERVE: u64 = 2;
}

/// The parameters of a command, and those of its answer. All fields are optional here; each command has its own list of
/// required and forbidden ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlParameters {
    /// Name.
    pub name: Option<Name>,
    /// FaceId; 0 or absent means the face on which the command came.
    pub face_id: Option<u64>,
    /// Uri of the other end of a face.
    pub uri: Option<String>,
    /// LocalUri of this end of a face.
    pub local_uri: Option<String>,
    /// Origin of a route.
    pub origin: Option<u64>,
    /// Cost of a route.
    pub cost: Option<u64>,
    /// Capacity of the content store, in packets.
    pub capacity: Option<u64>,
    /// Count of packets.
    pub count: Option<u64>,
    /// Flags.
    pub flags: Option<u64>,
    /// Mask: which bits of `flags` are valid.
    pub mask: Option<u64>,
    /// Strategy: name of a strategy.
    pub strategy: Option<Name>,
    /// ExpirationPeriod of a route, in whole milliseconds on the wire.
    pub expiration_period: Option<Duration>,
    /// FacePersistency.
    pub face_persistency: Option<u64>,
    /// BaseCongestionMarkingInterval, in nanoseconds on the wire.
    pub base_congestion_marking_interval: Option<Duration>,
    /// DefaultCongestionThreshold, in bytes.
    pub default_congestion_threshold: Option<u64>,
    /// Mtu, in bytes.
    pub mtu: Option<u64>,
}

impl ControlParameters {
    /// Parameters with only a name.
    #[must_use]
    pub fn of_name(name: Name) -> ControlParameters {
        ControlParameters { name: Some(name), ..ControlParameters::default() }
    }

    /// Parameters with only a face.
    #[must_use]
    pub fn of_face(face_id: u64) -> ControlParameters {
        ControlParameters { face_id: Some(face_id), ..ControlParameters::default() }
    }

    /// The whole element.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        codec::wrap(&mut out, types::CONTROL_PARAMETERS, |out| self.write_fields(out));
        out
    }

    /// The element as a name component, where commands carry it.
    #[must_use]
    pub fn to_component(&self) -> Component {
        Component::generic(self.encode())
    }

    fn write_fields(&self, out: &mut Vec<u8>) {
        put(out, tlv::types::NAME, &self.name);
        put(out, types::FACE_ID, &self.face_id);
        put(out, types::URI, &self.uri);
        put(out, types::LOCAL_URI, &self.local_uri);
        put(out, types::ORIGIN, &self.origin);
        put(out, types::COST, &self.cost);
        put(out, types::CAPACITY, &self.capacity);
        put(out, types::COUNT, &self.count);
        put(out, types::FLAGS, &self.flags);
        put(out, types::MASK, &self.mask);
        if let Some(strategy) = &self.strategy {
            codec::put_nested_name(out, types::STRATEGY, strategy);
        }
        codec::put_millis(out, types::EXPIRATION_PERIOD, self.expiration_period);
        put(out, types::FACE_PERSISTENCY, &self.face_persistency);
        codec::put_nanos(out, types::BASE_CONGESTION_MARKING_INTERVAL, self.base_congestion_marking_interval);
        put(out, types::DEFAULT_CONGESTION_THRESHOLD, &self.default_congestion_threshold);
        put(out, types::MTU, &self.mtu);
    }

    /// Reads a buffer that holds this element and nothing else. Fields may come in any order; unknown ones are ignored.
    ///
    /// # Errors
    /// [`CodecError`] when it is malformed or a field is repeated.
    pub fn decode(bytes: &[u8]) -> CodecResult<ControlParameters> {
        ControlParameters::from_element(&only(bytes, types::CONTROL_PARAMETERS)?)
    }

    fn from_element(element: &Element<'_>) -> CodecResult<ControlParameters> {
        let mut p = ControlParameters::default();
        each(element, |e| match e.typ {
            tlv::types::NAME => set(&mut p.name, e),
            types::FACE_ID => set(&mut p.face_id, e),
            types::URI => set(&mut p.uri, e),
            types::LOCAL_URI => set(&mut p.local_uri, e),
            types::ORIGIN => set(&mut p.origin, e),
            types::COST => set(&mut p.cost, e),
            types::CAPACITY => set(&mut p.capacity, e),
            types::COUNT => set(&mut p.count, e),
            types::FLAGS => set(&mut p.flags, e),
            types::MASK => set(&mut p.mask, e),
            types::STRATEGY => set_with(&mut p.strategy, e, codec::nested_name),
            types::EXPIRATION_PERIOD => set_with(&mut p.expiration_period, e, codec::millis),
            types::FACE_PERSISTENCY => set(&mut p.face_persistency, e),
            types::BASE_CONGESTION_MARKING_INTERVAL => {
                set_with(&mut p.base_congestion_marking_interval, e, codec::nanos)
            }
            types::DEFAULT_CONGESTION_THRESHOLD => set(&mut p.default_congestion_threshold, e),
            types::MTU => set(&mut p.mtu, e),
            _ => Ok(()),
        })?;
        Ok(p)
    }

    /// One bit of `flags`, when it is set in `mask`.
    #[must_use]
    pub fn flag(&self, bit: u64) -> Option<bool> {
        match (self.flags, self.mask) {
            (Some(flags), Some(mask)) if mask & bit != 0 => Some(flags & bit != 0),
            _ => None,
        }
    }
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlResponse {
    /// StatusCode: 200 when it was done.
    pub code: u32,
    /// StatusText, for people.
    pub text: String,
    /// What was done.
    pub body: Option<Box<ControlParameters>>,
}

impl ControlResponse {
    /// An answer without body.
    #[must_use]
    pub fn new(code: u32, text: impl Into<String>) -> ControlResponse {
        ControlResponse { code, text: text.into(), body: None }
    }

    /// Done.
    #[must_use]
    pub fn ok(body: ControlParameters) -> ControlResponse {
        ControlResponse { code: 200, text: "OK".to_owned(), body: Some(Box::new(body)) }
    }

    /// Whether it was done.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.code == 200
    }

    /// The whole element.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        codec::wrap(&mut out, types::CONTROL_RESPONSE, |out| {
            tlv::write_nni_element(out, types::STATUS_CODE, u64::from(self.code));
            tlv::write_element(out, types::STATUS_TEXT, self.text.as_bytes());
            if let Some(body) = &self.body {
                out.extend_from_slice(&body.encode());
            }
        });
        out
    }

    /// Reads a buffer that holds this element and nothing else.
    ///
    /// # Errors
    /// [`CodecError`] when it is malformed, or code or text are missing.
    pub fn decode(bytes: &[u8]) -> CodecResult<ControlResponse> {
        let (mut code, mut text, mut body) = (None, None, None);
        each(&only(bytes, types::CONTROL_RESPONSE)?, |e| match e.typ {
            types::STATUS_CODE => set(&mut code, e),
            types::STATUS_TEXT => set(&mut text, e),
            types::CONTROL_PARAMETERS => set_with(&mut body, e, ControlParameters::from_element),
            _ => Ok(()),
        })?;
        let code: u64 = required(code, types::STATUS_CODE)?;
        Ok(ControlResponse {
            code: u32::try_from(code).map_err(|_| CodecError::OutOfRange { typ: types::STATUS_CODE, value: code })?,
            text: required(text, types::STATUS_TEXT)?,
            body: body.map(Box::new),
        })
    }
}
