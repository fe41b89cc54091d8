//! Faces: their status, the filter of `faces/query`, and the notifications of `faces/events`.

use super::Item;
use crate::mgmt::codec::{
    CodecError, CodecResult, each, millis, nanos, only, put, put_millis, put_nanos, put_numbers, required, set,
    set_with, wrap,
};
use crate::mgmt::types;
use ndnweir_wire::tlv::{self, Element};
use std::time::Duration;

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident, $typ:expr, $($(#[$each:meta])* $variant:ident = $number:literal $text:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$each])* $variant),+ }

        impl $name {
            /// Its number on the wire.
            #[must_use]
            pub const fn number(self) -> u64 {
                match self { $($name::$variant => $number),+ }
            }

            /// The value with this number on the wire.
            #[must_use]
            pub const fn from_number(number: u64) -> Option<$name> {
                match number { $($number => Some($name::$variant),)+ _ => None }
            }

            /// Its name for people.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            fn read(element: &Element<'_>) -> CodecResult<$name> {
                let value = element.nni()?;
                $name::from_number(value).ok_or(CodecError::OutOfRange { typ: element.typ, value })
            }

            fn write(self, out: &mut Vec<u8>) {
                tlv::write_nni_element(out, $typ, self.number());
            }
        }
    };
}

numbered! {
    /// Whether a face stays on this machine.
    Scope, types::FACE_SCOPE,
    /// It leads to other machines.
    NonLocal = 0 "non-local",
    /// It stays on this machine.
    Local = 1 "local",
}

numbered! {
    /// How long a face lives.
    Persistency, types::FACE_PERSISTENCY,
    /// Until it is destroyed or its link fails.
    Persistent = 0 "persistent",
    /// Until it has been idle for long.
    OnDemand = 1 "on-demand",
    /// Until it is destroyed.
    Permanent = 2 "permanent",
}

numbered! {
    /// How many peers are at the other end.
    LinkType, types::LINK_TYPE,
    /// One.
    PointToPoint = 0 "point-to-point",
    /// Any number, which receive each other's packets.
    MultiAccess = 1 "multi-access",
    /// Any number, which may not receive each other's packets.
    AdHoc = 2 "ad-hoc",
}

numbered! {
    /// What happened to a face.
    FaceEventKind, types::FACE_EVENT_KIND,
    /// It is new.
    Created = 1 "created",
    /// It was removed.
    Destroyed = 2 "destroyed",
    /// It works again.
    Up = 3 "up",
    /// It does not work for now.
    Down = 4 "down",
}

/// Packets and bytes of a face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub struct FaceCounters {
    pub in_interests: u64,
    pub in_data: u64,
    pub in_nacks: u64,
    pub out_interests: u64,
    pub out_data: u64,
    pub out_nacks: u64,
    pub in_bytes: u64,
    pub out_bytes: u64,
    /// Ours, of link reliability: frames that the neighbour acknowledged.
    pub acknowledged_frames: u64,
    /// Ours: frames sent again.
    pub retransmitted_frames: u64,
    /// Ours: packets that were lost in spite of retransmissions.
    pub given_up_packets: u64,
}

/// A face, as `faces/list` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceStatus {
    /// FaceId, never 0.
    pub face_id: u64,
    /// Uri of the other end.
    pub remote_uri: String,
    /// Uri of this end.
    pub local_uri: String,
    /// When an on-demand face ends unless it is used.
    pub expiration_period: Option<Duration>,
    /// FaceScope.
    pub scope: Scope,
    /// FacePersistency.
    pub persistency: Persistency,
    /// LinkType.
    pub link_type: LinkType,
    /// BaseCongestionMarkingInterval.
    pub base_congestion_marking_interval: Option<Duration>,
    /// DefaultCongestionThreshold, in bytes.
    pub default_congestion_threshold: Option<u64>,
    /// Mtu, in bytes.
    pub mtu: Option<u64>,
    /// Packets and bytes so far.
    pub counters: FaceCounters,
    /// Bits of [`crate::mgmt::face_flags`].
    pub flags: u64,
}

impl Item for FaceStatus {
    fn write(&self, out: &mut Vec<u8>) {
        wrap(out, types::FACE_STATUS, |out| {
            tlv::write_nni_element(out, types::FACE_ID, self.face_id);
            tlv::write_element(out, types::URI, self.remote_uri.as_bytes());
            tlv::write_element(out, types::LOCAL_URI, self.local_uri.as_bytes());
            put_millis(out, types::EXPIRATION_PERIOD, self.expiration_period);
            self.scope.write(out);
            self.persistency.write(out);
            self.link_type.write(out);
            put_nanos(out, types::BASE_CONGESTION_MARKING_INTERVAL, self.base_congestion_marking_interval);
            put(out, types::DEFAULT_CONGESTION_THRESHOLD, &self.default_congestion_threshold);
            put(out, types::MTU, &self.mtu);
            let c = &self.counters;
            let counters = [
                (types::N_IN_INTERESTS, c.in_interests),
                (types::N_IN_DATA, c.in_data),
                (types::N_IN_NACKS, c.in_nacks),
                (types::N_OUT_INTERESTS, c.out_interests),
                (types::N_OUT_DATA, c.out_data),
                (types::N_OUT_NACKS, c.out_nacks),
                (types::N_IN_BYTES, c.in_bytes),
                (types::N_OUT_BYTES, c.out_bytes),
                (types::FLAGS, self.flags),
            ];
            put_numbers(out, counters);
            let link_retransmissions = [
                (types::N_ACKNOWLEDGED_FRAMES, c.acknowledged_frames),
                (types::N_RETRANSMITTED_FRAMES, c.retransmitted_frames),
                (types::N_GIVEN_UP_PACKETS, c.given_up_packets),
            ];
            for (typ, count) in link_retransmissions.into_iter().filter(|(_, count)| *count > 0) {
                tlv::write_nni_element(out, typ, count);
            }
        });
    }

    fn read(element: &Element<'_>) -> CodecResult<FaceStatus> {
        expect_type(element, types::FACE_STATUS)?;
        let (mut face_id, mut remote_uri, mut local_uri, mut expiration) = (None, None, None, None);
        let (mut scope, mut persistency, mut link_type) = (None, None, None);
        let (mut interval, mut threshold, mut mtu, mut flags) = (None, None, None, None);
        let mut counters = FaceCounters::default();
        each(element, |e| {
            let counter = match e.typ {
                types::FACE_ID => return set(&mut face_id, e),
                types::URI => return set(&mut remote_uri, e),
                types::LOCAL_URI => return set(&mut local_uri, e),
                types::EXPIRATION_PERIOD => return set_with(&mut expiration, e, millis),
                types::FACE_SCOPE => return set_with(&mut scope, e, Scope::read),
                types::FACE_PERSISTENCY => return set_with(&mut persistency, e, Persistency::read),
                types::LINK_TYPE => return set_with(&mut link_type, e, LinkType::read),
                types::BASE_CONGESTION_MARKING_INTERVAL => return set_with(&mut interval, e, nanos),
                types::DEFAULT_CONGESTION_THRESHOLD => return set(&mut threshold, e),
                types::MTU => return set(&mut mtu, e),
                types::FLAGS => return set(&mut flags, e),
                types::N_IN_INTERESTS => &mut counters.in_interests,
                types::N_IN_DATA => &mut counters.in_data,
                types::N_IN_NACKS => &mut counters.in_nacks,
                types::N_OUT_INTERESTS => &mut counters.out_interests,
                types::N_OUT_DATA => &mut counters.out_data,
                types::N_OUT_NACKS => &mut counters.out_nacks,
                types::N_IN_BYTES => &mut counters.in_bytes,
                types::N_OUT_BYTES => &mut counters.out_bytes,
                types::N_ACKNOWLEDGED_FRAMES => &mut counters.acknowledged_frames,
                types::N_RETRANSMITTED_FRAMES => &mut counters.retransmitted_frames,
                types::N_GIVEN_UP_PACKETS => &mut counters.given_up_packets,
                _ => return Ok(()),
            };
            *counter = e.nni()?;
            Ok(())
        })?;
        Ok(FaceStatus {
            face_id: required(face_id, types::FACE_ID)?,
            remote_uri: required(remote_uri, types::URI)?,
            local_uri: required(local_uri, types::LOCAL_URI)?,
            expiration_period: expiration,
            scope: required(scope, types::FACE_SCOPE)?,
            persistency: required(persistency, types::FACE_PERSISTENCY)?,
            link_type: required(link_type, types::LINK_TYPE)?,
            base_congestion_marking_interval: interval,
            default_congestion_threshold: threshold,
            mtu,
            counters,
            flags: flags.unwrap_or_default(),
        })
    }
}

/// A socket on which peers may open faces, as `faces/channels` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelStatus {
    /// LocalUri.
    pub local_uri: String,
}

impl Item for ChannelStatus {
    fn write(&self, out: &mut Vec<u8>) {
        wrap(out, types::CHANNEL_STATUS, |out| tlv::write_element(out, types::LOCAL_URI, self.local_uri.as_bytes()));
    }

    fn read(element: &Element<'_>) -> CodecResult<ChannelStatus> {
        expect_type(element, types::CHANNEL_STATUS)?;
        let mut local_uri = None;
        each(element, |e| match e.typ {
            types::LOCAL_URI => set(&mut local_uri, e),
            _ => Ok(()),
        })?;
        Ok(ChannelStatus { local_uri: required(local_uri, types::LOCAL_URI)? })
    }
}

/// Which faces `faces/query` requests; an absent field requests any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaceQuery {
    /// FaceId.
    pub face_id: Option<u64>,
    /// The scheme of either Uri, such as `udp4`.
    pub uri_scheme: Option<String>,
    /// Uri of the other end.
    pub remote_uri: Option<String>,
    /// Uri of this end.
    pub local_uri: Option<String>,
    /// FaceScope.
    pub scope: Option<Scope>,
    /// FacePersistency.
    pub persistency: Option<Persistency>,
    /// LinkType.
    pub link_type: Option<LinkType>,
}

impl FaceQuery {
    /// The whole element, FaceQueryFilter.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        wrap(&mut out, types::FACE_QUERY_FILTER, |out| {
            put(out, types::FACE_ID, &self.face_id);
            put(out, types::URI_SCHEME, &self.uri_scheme);
            put(out, types::URI, &self.remote_uri);
            put(out, types::LOCAL_URI, &self.local_uri);
            if let Some(scope) = self.scope {
                scope.write(out);
            }
            if let Some(persistency) = self.persistency {
                persistency.write(out);
            }
            if let Some(link_type) = self.link_type {
                link_type.write(out);
            }
        });
        out
    }

    /// Reads a buffer that holds this element and nothing else.
    ///
    /// # Errors
    /// [`CodecError`] when it is malformed.
    pub fn decode(bytes: &[u8]) -> CodecResult<FaceQuery> {
        let mut q = FaceQuery::default();
        each(&only(bytes, types::FACE_QUERY_FILTER)?, |e| match e.typ {
            types::FACE_ID => set(&mut q.face_id, e),
            types::URI_SCHEME => set(&mut q.uri_scheme, e),
            types::URI => set(&mut q.remote_uri, e),
            types::LOCAL_URI => set(&mut q.local_uri, e),
            types::FACE_SCOPE => set_with(&mut q.scope, e, Scope::read),
            types::FACE_PERSISTENCY => set_with(&mut q.persistency, e, Persistency::read),
            types::LINK_TYPE => set_with(&mut q.link_type, e, LinkType::read),
            _ => Ok(()),
        })?;
        Ok(q)
    }

    /// Whether this face is requested.
    #[must_use]
    pub fn matches(&self, face: &FaceStatus) -> bool {
        fn matches_or_any<T: PartialEq>(wanted: &Option<T>, has: &T) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted == has)
        }
        let scheme_of = |uri: &str| uri.split_once("://").map(|(scheme, _)| scheme.to_owned());
        matches_or_any(&self.face_id, &face.face_id)
            && (self.uri_scheme.is_none()
                || self.uri_scheme == scheme_of(&face.remote_uri)
                || self.uri_scheme == scheme_of(&face.local_uri))
            && matches_or_any(&self.remote_uri, &face.remote_uri)
            && matches_or_any(&self.local_uri, &face.local_uri)
            && matches_or_any(&self.scope, &face.scope)
            && matches_or_any(&self.persistency, &face.persistency)
            && matches_or_any(&self.link_type, &face.link_type)
    }
}

/// A notification of `faces/events`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceEvent {
    /// What happened.
    pub kind: FaceEventKind,
    /// FaceId.
    pub face_id: u64,
    /// Uri of the other end.
    pub remote_uri: String,
    /// Uri of this end.
    pub local_uri: String,
    /// FaceScope.
    pub scope: Scope,
    /// FacePersistency.
    pub persistency: Persistency,
    /// LinkType.
    pub link_type: LinkType,
    /// Bits of [`crate::mgmt::face_flags`].
    pub flags: u64,
}

impl FaceEvent {
    /// What happened to this face.
    #[must_use]
    pub fn of(kind: FaceEventKind, face: &FaceStatus) -> FaceEvent {
        FaceEvent {
            kind,
            face_id: face.face_id,
            remote_uri: face.remote_uri.clone(),
            local_uri: face.local_uri.clone(),
            scope: face.scope,
            persistency: face.persistency,
            link_type: face.link_type,
            flags: face.flags,
        }
    }
}

impl Item for FaceEvent {
    fn write(&self, out: &mut Vec<u8>) {
        wrap(out, types::FACE_EVENT_NOTIFICATION, |out| {
            self.kind.write(out);
            tlv::write_nni_element(out, types::FACE_ID, self.face_id);
            tlv::write_element(out, types::URI, self.remote_uri.as_bytes());
            tlv::write_element(out, types::LOCAL_URI, self.local_uri.as_bytes());
            self.scope.write(out);
            self.persistency.write(out);
            self.link_type.write(out);
            tlv::write_nni_element(out, types::FLAGS, self.flags);
        });
    }

    fn read(element: &Element<'_>) -> CodecResult<FaceEvent> {
        expect_type(element, types::FACE_EVENT_NOTIFICATION)?;
        let (mut kind, mut face_id, mut remote_uri, mut local_uri) = (None, None, None, None);
        let (mut scope, mut persistency, mut link_type, mut flags) = (None, None, None, None);
        each(element, |e| match e.typ {
            types::FACE_EVENT_KIND => set_with(&mut kind, e, FaceEventKind::read),
            types::FACE_ID => set(&mut face_id, e),
            types::URI => set(&mut remote_uri, e),
            types::LOCAL_URI => set(&mut local_uri, e),
            types::FACE_SCOPE => set_with(&mut scope, e, Scope::read),
            types::FACE_PERSISTENCY => set_with(&mut persistency, e, Persistency::read),
            types::LINK_TYPE => set_with(&mut link_type, e, LinkType::read),
            types::FLAGS => set(&mut flags, e),
            _ => Ok(()),
        })?;
        Ok(FaceEvent {
            kind: required(kind, types::FACE_EVENT_KIND)?,
            face_id: required(face_id, types::FACE_ID)?,
            remote_uri: required(remote_uri, types::URI)?,
            local_uri: required(local_uri, types::LOCAL_URI)?,
            scope: required(scope, types::FACE_SCOPE)?,
            persistency: required(persistency, types::FACE_PERSISTENCY)?,
            link_type: required(link_type, types::LINK_TYPE)?,
            flags: required(flags, types::FLAGS)?,
        })
    }
}

pub(super) fn expect_type(element: &Element<'_>, typ: u32) -> CodecResult<()> {
    if element.typ == typ { Ok(()) } else { Err(CodecError::Missing(typ)) }
}
