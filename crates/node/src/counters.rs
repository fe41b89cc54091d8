//! What a node counts.

use ndnweir_core::packet::Kind;
use ndnweir_core::units::{Bytes, Duration};
use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Index, IndexMut};

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropCause {
    /// The egress queue was full.
    Overflow,
    /// The marker or queue discipline chose to.
    Marker,
    /// The link lost it (its loss model); counted by the driver, never by a node.
    Loss,
    /// The face, its link or the node was down.
    Down,
    /// A loop, an exhausted hop limit, an unsolicited Data or NACK.
    Protocol,
    /// A table was full (PIT, hold queue).
    Bound,
    /// A shaper rejected it and no NACK could be sent.
    Shaper,
}

impl DropCause {
    /// Every cause.
    pub const ALL: [DropCause; 7] = [
        DropCause::Overflow,
        DropCause::Marker,
        DropCause::Loss,
        DropCause::Down,
        DropCause::Protocol,
        DropCause::Bound,
        DropCause::Shaper,
    ];

    /// Its name in results and statistics: that of its field in [`Drops`].
    pub const fn name(self) -> &'static str {
        match self {
            DropCause::Overflow => "overflow",
            DropCause::Marker => "marker",
            DropCause::Loss => "loss",
            DropCause::Down => "down",
            DropCause::Protocol => "protocol",
            DropCause::Bound => "bound",
            DropCause::Shaper => "shaper",
        }
    }
}

/// Packets dropped, by [`DropCause`], which indexes them too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ndnweir_state::Value)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the names are those of the causes")]
pub struct Drops {
    pub overflow: u64,
    pub marker: u64,
    pub loss: u64,
    pub down: u64,
    pub protocol: u64,
    pub bound: u64,
    pub shaper: u64,
}

impl Drops {
    /// All causes together.
    pub fn total(&self) -> u64 {
        DropCause::ALL.into_iter().map(|cause| self[cause]).sum()
    }

    /// What was dropped since `earlier`.
    pub fn since(&self, earlier: &Drops) -> Drops {
        let mut drops = *self;
        DropCause::ALL.into_iter().for_each(|cause| drops[cause] = drops[cause].saturating_sub(earlier[cause]));
        drops
    }
}

impl Index<DropCause> for Drops {
    type Output = u64;

    fn index(&self, cause: DropCause) -> &u64 {
        match cause {
            DropCause::Overflow => &self.overflow,
            DropCause::Marker => &self.marker,
            DropCause::Loss => &self.loss,
            DropCause::Down => &self.down,
            DropCause::Protocol => &self.protocol,
            DropCause::Bound => &self.bound,
            DropCause::Shaper => &self.shaper,
        }
    }
}

impl IndexMut<DropCause> for Drops {
    fn index_mut(&mut self, cause: DropCause) -> &mut u64 {
        match cause {
            DropCause::Overflow => &mut self.overflow,
            DropCause::Marker => &mut self.marker,
            DropCause::Loss => &mut self.loss,
            DropCause::Down => &mut self.down,
            DropCause::Protocol => &mut self.protocol,
            DropCause::Bound => &mut self.bound,
            DropCause::Shaper => &mut self.shaper,
        }
    }
}

impl AddAssign<Drops> for Drops {
    fn add_assign(&mut self, other: Drops) {
        DropCause::ALL.into_iter().for_each(|cause| self[cause] += other[cause]);
    }
}

/// Running totals of one face's egress since the start, and the state of its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
#[repr(C)]
pub struct FaceCounters {
    /// Bits of Data whose transmission has started, framing included.
    pub data_bits: u64,
    /// Bits of Interests whose transmission has started.
    pub interest_bits: u64,
    /// Bits of NACKs whose transmission has started.
    pub nack_bits: u64,
    /// Data packets whose transmission has started.
    pub data_packets: u64,
    /// Interests whose transmission has started.
    pub interest_packets: u64,
    /// NACKs whose transmission has started.
    pub nack_packets: u64,
    /// Bits of datagrams that are not NDN whose transmission has started.
    #[serde(default)]
    pub other_bits: u64,
    /// Those datagrams.
    #[serde(default)]
    pub other_packets: u64,
    /// Packets dropped.
    pub drops: Drops,
    /// Bits of Data lost to a full queue.
    pub overflow_data_bits: u64,
    /// Marks set here on Data.
    pub data_marks: u64,
    /// Marks set here on Interests.
    pub interest_marks: u64,
    /// Sum over departed packets of the time between joining the queue and the start of transmission, in ns.
    pub sojourn_sum: u128,
    /// Packets behind [`FaceCounters::sojourn_sum`].
    pub sojourn_count: u64,
    /// Longest such time since these counters were last read.
    pub sojourn_max: Duration,
    /// Packets waiting now (the one on the wire excluded).
    pub queue_packets: u32,
    /// Bytes waiting now, framing included.
    pub queue_bytes: Bytes,
    /// Packets offered to the face, dropped ones included.
    pub offered_packets: u64,
    /// Bits offered to the face, framing included.
    pub offered_bits: u64,
    /// Of the drops for [`DropCause::Down`], packets cut off in mid-transmission, which also count as started.
    pub cut: u64,
}

impl FaceCounters {
    /// Counts a mark that is set here.
    pub fn count_mark(&mut self, kind: Kind) {
        match kind {
            Kind::Data => self.data_marks += 1,
            Kind::Interest => self.interest_marks += 1,
            Kind::Nack => {}
        }
    }

    /// Counts a packet whose transmission has started.
    #[inline]
    pub fn count_started(&mut self, kind: Kind, bits: u64) {
        match kind {
            Kind::Data => {
                self.data_bits += bits;
                self.data_packets += 1;
            }
            Kind::Interest => {
                self.interest_bits += bits;
                self.interest_packets += 1;
            }
            Kind::Nack => {
                self.nack_bits += bits;
                self.nack_packets += 1;
            }
        }
    }

    /// Bits whose transmission has started.
    pub fn sent_bits(&self) -> u64 {
        self.data_bits + self.interest_bits + self.nack_bits + self.other_bits
    }

    /// Counts a datagram that is not NDN whose transmission has started.
    pub fn count_other(&mut self, bits: u64) {
        self.other_bits += bits;
        self.other_packets += 1;
    }

    /// The sum with the counters of the face after it was replaced; the state of the queue is the later one's.
    pub fn plus(self, later: FaceCounters) -> FaceCounters {
        let mut drops = later.drops;
        drops += self.drops;
        FaceCounters {
            data_bits: self.data_bits + later.data_bits,
            interest_bits: self.interest_bits + later.interest_bits,
            nack_bits: self.nack_bits + later.nack_bits,
            data_packets: self.data_packets + later.data_packets,
            interest_packets: self.interest_packets + later.interest_packets,
            nack_packets: self.nack_packets + later.nack_packets,
            other_bits: self.other_bits + later.other_bits,
            other_packets: self.other_packets + later.other_packets,
            drops,
            overflow_data_bits: self.overflow_data_bits + later.overflow_data_bits,
            data_marks: self.data_marks + later.data_marks,
            interest_marks: self.interest_marks + later.interest_marks,
            sojourn_sum: self.sojourn_sum + later.sojourn_sum,
            sojourn_count: self.sojourn_count + later.sojourn_count,
            offered_packets: self.offered_packets + later.offered_packets,
            offered_bits: self.offered_bits + later.offered_bits,
            cut: self.cut + later.cut,
            ..later
        }
    }

    /// Whether every packet offered was started, dropped or waits.
    ///
    /// # Errors
    /// The sum that does not hold.
    pub fn check(&self) -> Result<(), CounterError> {
        let started = self.data_packets + self.interest_packets + self.nack_packets + self.other_packets;
        let dropped = self.drops.total();
        if self.offered_packets + self.cut == started + dropped + u64::from(self.queue_packets) {
            return Ok(());
        }
        Err(CounterError::Packets {
            offered: self.offered_packets,
            cut: self.cut,
            started,
            dropped,
            waiting: self.queue_packets,
        })
    }
}

/// Running totals of one node and the sizes of its tables. Those that usual packets change come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
#[repr(C, align(32))]
pub struct NodeCounters {
    /// Interests that arrived.
    pub interests: u64,
    /// Data that arrived.
    pub data: u64,
    /// Pending Interests (one per name and downstream face) answered with Data.
    pub answered: u64,
    /// Pending Interests now.
    pub pending: u64,
    /// NACKs that arrived.
    pub nacks: u64,
    /// Interests that arrived on a face that was down.
    pub down: u64,
    /// Interests dropped for an exhausted hop limit on arrival.
    pub hop_limit: u64,
    /// Interests answered from the content store.
    pub hits: u64,
    /// Interests not found in the content store (only counted when there is one).
    pub misses: u64,
    /// Interests whose nonce had been seen: answered with a Duplicate NACK.
    pub loops: u64,
    /// The same Interest twice from one face (a duplicating link): dropped.
    pub duplicates: u64,
    /// Interests rejected because the PIT, or their face's share of it, was full: answered with a Congestion NACK.
    pub pit_full: u64,
    /// Of those, the ones rejected for the bytes that pending Interests hold, not for their number.
    pub pit_memory: u64,
    /// Interests for which there is no prefix: answered with a NoRoute NACK.
    pub no_prefix: u64,
    /// Interests that retransmitted what the same face was waiting for already.
    pub retransmitted: u64,
    /// Interests that joined what another face was waiting for.
    pub aggregated: u64,
    /// Pending Interests answered with a NACK.
    pub rejected: u64,
    /// Pending Interests whose lifetime ended.
    pub expired: u64,
    /// Pending Interests lost in a crash.
    pub lost: u64,
    /// PIT entries (names) now.
    pub pit: u64,
    /// Most PIT entries so far.
    pub pit_peak: u64,
    /// PIT entries whose lifetime ended without Data.
    pub pit_expired: u64,
    /// Packets in the content store now.
    pub cache: u64,
    /// Unsolicited Data.
    pub unsolicited: u64,
    /// NACKs that matched no Interest sent.
    pub unmatched_nacks: u64,
    /// NACKs sent, by [`ndnweir_core::packet::NackReason`].
    pub nacks_sent: [u64; 3],
    /// Interests now held by shapers.
    pub held: u64,
    /// Held Interests that were discarded because they were no longer pending.
    pub held_stale: u64,
    /// Interests not offered to a shaper because it held as many as the PIT may have entries.
    pub held_full: u64,
    /// Packets dropped outside the egress queues.
    pub drops: Drops,
}

impl NodeCounters {
    /// Whether every Interest that arrived was answered, rejected, dropped and counted, or is pending.
    ///
    /// # Errors
    /// The sum that does not hold.
    pub fn check(&self) -> Result<(), CounterError> {
        let unpended =
            self.down + self.hop_limit + self.hits + self.loops + self.duplicates + self.pit_full + self.no_prefix;
        let ended = self.answered + self.rejected + self.expired + self.lost;
        if self.interests == unpended + self.retransmitted + ended + self.pending {
            return Ok(());
        }
        Err(CounterError::Interests { unpended, ended, counters: Box::new(*self) })
    }
}

/// Counters that do not add up: an Interest or packet was lost without being counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CounterError {
    /// Interests that arrived at a node.
    #[error(
        "{} Interests are not {unpended} settled at once + {} retransmitted + {ended} ended + {} pending: {counters:?}",
        counters.interests, counters.retransmitted, counters.pending
    )]
    Interests {
        /// Those that were answered or dropped on arrival.
        unpended: u64,
        /// Those that were pending and were answered, rejected, lost, or expired.
        ended: u64,
        /// All counters.
        counters: Box<NodeCounters>,
    },
    /// Packets offered to a face.
    #[error("offered {offered} + cut {cut} is not started {started} + dropped {dropped} + waiting {waiting}")]
    Packets {
        /// Packets offered to the face.
        offered: u64,
        /// Packets cut off in mid-transmission, which were started and dropped.
        cut: u64,
        /// Packets whose transmission has started.
        started: u64,
        /// Packets dropped.
        dropped: u64,
        /// Packets in the queue.
        waiting: u32,
    },
}
