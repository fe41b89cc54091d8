//! What a fetch tells of itself.

use ndnweir_core::units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

/// A segment that arrived at an application for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// Its number within the object, or its object's in a catalogue.
    pub segment: u64,
    /// Content bytes.
    pub payload: Bytes,
    /// From the first Interest for it to this Data.
    pub delay: Duration,
    /// The same; none when the segment was requested more than once.
    pub rtt: Option<Duration>,
    /// CongestionMark; 0 is none.
    pub mark: u8,
    /// Interests sent for it beyond the first.
    pub retransmissions: u32,
    /// Whether every earlier segment had arrived before; always in a catalogue.
    pub in_order: bool,
    /// Whether the object is complete with it; never a catalogue.
    pub completed: bool,
}

/// Running totals and state of one fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct FetcherCounters {
    /// Interests sent, retransmissions included.
    pub interests: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Segments received for the first time.
    pub segments: u64,
    /// Content bits of these.
    pub payload_bits: u64,
    /// Data that arrived again.
    pub duplicates: u64,
    /// Packets that answer nothing this fetch requested, or came while it was stopped.
    pub unexpected: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Losses found before their timeout, see [`super::LossDetection`].
    pub losses: u64,
    /// Of these, those that a late answer disproved.
    pub false_losses: u64,
    /// Interests sent for a segment that was outstanding still, to find out whether it was lost.
    pub probes: u64,
    /// NACKs received.
    pub nacks: u64,
    /// Marked Data received.
    pub marks: u64,
    /// Times the window was cut.
    pub decreases: u64,
    /// Times the window was smaller after a packet or a timeout than before it, cuts included.
    pub falls: u64,
    /// Times an Interest had to wait since [`super::FetcherConfig::max_window`] was reached.
    pub table_full: u64,
    /// The congestion window now, in segments.
    pub window: f64,
    /// Interests outstanding now.
    pub in_flight: u32,
    /// Smoothed round-trip time now; zero before the first sample.
    pub srtt: Duration,
    /// Interests per second that the consumer paces to now; none if it does not pace.
    pub rate: Option<f64>,
}
