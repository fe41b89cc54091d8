//! What an egress counts, and where: what every packet changes lies on one cache line.

use super::Egress;
use crate::counters::FaceCounters;
use ndnweir_core::packet::Kind;
use ndnweir_core::shaper::PacketCount;
use ndnweir_core::units::{Duration, Time};

/// What is counted for every packet.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
#[repr(C)]
pub(super) struct Usual {
    /// Bits and packets whose transmission has started, by kind.
    pub(super) bits: [u64; 3],
    pub(super) packets: [u64; 3],
    /// See [`FaceCounters::offered_packets`].
    pub(super) offered_packets: u64,
    pub(super) offered_bits: u64,
}

impl Egress {
    /// The totals, and the state of the queue.
    pub(crate) fn counters(&self) -> FaceCounters {
        let (view, usual) = (self.view(), &self.usual);
        let [interest_bits, data_bits, nack_bits] = usual.bits;
        let [interest_packets, data_packets, nack_packets] = usual.packets;
        FaceCounters {
            interest_bits,
            data_bits,
            nack_bits,
            interest_packets,
            data_packets,
            nack_packets,
            offered_packets: usual.offered_packets,
            offered_bits: usual.offered_bits,
            // Those that passed through were counted here.
            sojourn_count: usual.packets.iter().sum::<u64>() - self.counters.sojourn_count,
            queue_packets: view.packets,
            queue_bytes: view.bytes,
            ..self.counters
        }
    }

    /// Bits whose transmission has started.
    pub(crate) fn sent_bits(&self) -> u64 {
        self.usual.bits.iter().sum()
    }

    /// Bits that were offered.
    pub(crate) fn offered_bits(&self) -> u64 {
        self.usual.offered_bits
    }

    /// Data whose transmission has started.
    pub(crate) fn data_sent(&self) -> PacketCount {
        let data = Kind::Data as usize;
        PacketCount { packets: self.usual.packets[data], bits: self.usual.bits[data] }
    }

    /// [`Egress::counters`]; starts a new longest sojourn.
    pub(crate) fn snapshot(&mut self) -> FaceCounters {
        let counters = self.counters();
        self.counters.sojourn_max = Duration::ZERO;
        counters
    }

    #[inline(always)]
    pub(super) fn count_started(&mut self, kind: Kind, size: u32) {
        self.usual.bits[kind as usize] += u64::from(size) * 8;
        self.usual.packets[kind as usize] += 1;
    }

    /// A packet passes through without a transmission.
    #[inline(always)]
    pub(super) fn count_through(&mut self, kind: Kind, size: u32) {
        self.count_started(kind, size);
        self.counters.sojourn_count += 1;
    }

    #[inline(always)]
    pub(super) fn count_offered(&mut self, size: u32) {
        self.usual.offered_packets += 1;
        self.usual.offered_bits += u64::from(size) * 8;
    }

    /// A transmission starts.
    #[inline(always)]
    pub(super) fn note_transmission(&mut self, start: Time, size: u32) {
        (self.sent_start, self.sent_size, self.sent_changed) = (start, size, false);
    }

    #[inline(always)]
    pub(super) fn count_departure(&mut self, kind: Kind, size: u32, joined: Time, start: Time) {
        self.note_transmission(start, size);
        self.count_started(kind, size);
        let sojourn = start.since(joined);
        if sojourn > Duration::ZERO {
            let counters = &mut self.counters;
            counters.sojourn_sum += u128::from(sojourn.nanos());
            counters.sojourn_max = counters.sojourn_max.max(sojourn);
        }
    }
}
