//! The producer side: an application on a local face that answers every Interest with a segment.

use ndnweir_core::fields::Fields;
use ndnweir_core::packet::{Fragment, Kind, NackReason, Packet, flags};
use ndnweir_core::units::{Duration, Time};

/// What a [`Server`] serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerConfig {
    /// Bytes of content in each segment.
    pub payload: u32,
    /// Bytes of each Data on the wire, link framing excluded (ndnSIM 2.8: 1064 for a payload of 1024).
    pub data_size: u32,
    /// Whether that grows with the segment number (see [`grown`]).
    pub grows: bool,
    /// Freshness period of each Data; whole milliseconds count.
    pub freshness: Duration,
    /// The last segment of the object; none is an object without end.
    pub last_segment: Option<u32>,
}

impl Default for ServerConfig {
    /// ndnSIM 2.8's Producer with its usual payload.
    fn default() -> ServerConfig {
        ServerConfig { payload: 1024, data_size: 1064, grows: false, freshness: Duration::ZERO, last_segment: None }
    }
}

/// Running totals of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct ServerCounters {
    /// Interests answered with Data.
    pub answered: u64,
    /// Interests beyond the last segment, answered with a NACK.
    pub rejected: u64,
}

/// Serves the segments of one object, without delay and without state but its counters.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Server {
    #[state(skip)]
    config: ServerConfig,
    #[state(skip)]
    freshness_ms: u32,
    counters: ServerCounters,
}

impl Server {
    /// A server of one object.
    pub fn new(config: ServerConfig) -> Server {
        Server { config, freshness_ms: millis(config.freshness), counters: ServerCounters::default() }
    }

    /// The Data for an Interest; beyond the last segment a NACK with reason NoRoute, as nothing exists there.
    ///
    /// The Data carries no mark and no header fields: what an Interest collected on its path stays with the nodes.
    #[inline]
    pub fn answer(&mut self, _now: Time, interest: &Packet) -> Packet {
        let segment = interest.name.segment;
        if self.config.last_segment.is_some_and(|last| segment > last) {
            self.counters.rejected += 1;
            return interest.nack(NackReason::NoRoute);
        }
        self.counters.answered += 1;
        let last = self.config.last_segment == Some(segment);
        Packet {
            name: interest.name,
            nonce: 0,
            size: grown(self.config.data_size, segment, self.config.grows),
            payload: self.config.payload,
            lifetime_ms: self.freshness_ms,
            tag: 0,
            kind: Kind::Data,
            reason: NackReason::default(),
            mark: 0,
            hop_limit: 0,
            flags: if last { flags::FINAL } else { 0 },
            fragment: Fragment::NONE,
            fields: Fields::default(),
        }
    }

    /// Totals so far.
    pub fn counters(&self) -> ServerCounters {
        self.counters
    }
}

/// The size of a packet of a segment: `size` holds for numbers from 256 to 65 535, whose name component takes two bytes;
/// if it `grows`, lower ones take a byte less and higher ones two more.
///
/// A segment number is a NonNegativeInteger of 1, 2, 4 or 8 bytes (NDN packet format v0.3, "Non-Negative Integer").
#[inline]
pub fn grown(size: u32, segment: u32, grows: bool) -> u32 {
    match segment {
        _ if !grows => size,
        0..=0xff => size.saturating_sub(1).max(1),
        0x100..=0xffff => size,
        _ => size.saturating_add(2),
    }
}

/// Whole milliseconds, as packets carry them.
pub(crate) fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.nanos() / 1_000_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::{FlowId, NameId};

    fn interest(segment: u32) -> Packet {
        let name = NameId { flow: FlowId(3), segment };
        Packet { name, nonce: 7, size: 30, mark: 1, hop_limit: 9, tag: 5, ..Packet::default() }
    }

    #[test]
    fn data_has_the_name_of_the_interest_and_nothing_else_of_it() {
        let config = ServerConfig { freshness: Duration::from_millis(1500), ..ServerConfig::default() };
        let data = Server::new(config).answer(Time::ZERO, &interest(4));
        assert_eq!((data.kind, data.name), (Kind::Data, interest(4).name));
        assert_eq!((data.size, data.payload, data.lifetime_ms), (1064, 1024, 1500));
        assert_eq!((data.mark, data.nonce, data.tag, data.flags), (0, 0, 0, 0));
    }

    #[test]
    fn data_grow_with_their_segment_numbers_where_that_is_wanted() {
        let sizes = |grows| {
            let mut server = Server::new(ServerConfig { grows, ..ServerConfig::default() });
            [0, 255, 256, 65_535, 65_536, u32::MAX].map(|segment| server.answer(Time::ZERO, &interest(segment)).size)
        };
        assert_eq!(sizes(false), [1064; 6]);
        assert_eq!(sizes(true), [1063, 1063, 1064, 1064, 1066, 1066]);
        assert_eq!(grown(1, 0, true), 1);
    }

    #[test]
    fn the_last_segment_says_so_and_nothing_exists_beyond_it() {
        let mut server = Server::new(ServerConfig { last_segment: Some(4), ..ServerConfig::default() });
        assert!(!server.answer(Time::ZERO, &interest(3)).has(flags::FINAL));
        assert!(server.answer(Time::ZERO, &interest(4)).has(flags::FINAL));
        let rejected = server.answer(Time::ZERO, &interest(5));
        assert_eq!((rejected.kind, rejected.reason, rejected.nonce), (Kind::Nack, NackReason::NoRoute, 7));
        assert_eq!(server.counters(), ServerCounters { answered: 2, rejected: 1 });
    }
}
