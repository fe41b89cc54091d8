//! Room for the queues of on-demand peers whose links have learned their rates.
//!
//! A peer that says that its link is slow has packets wait for it here, and what waits is taken from the memory of all.

use ndnweir_core::queue::Limit;
use ndnweir_core::units::Bytes;
use ndnweir_wire::packet::MAX_PACKET_SIZE;

/// The queues of all on-demand peers may hold this part of the forwarder's memory.
const QUEUE_SHARE: usize = 8;
/// One of them may hold this part of what is left of that: the dynamic threshold of Choudhury and Hahne (1998). The factor
/// is ours.
const QUEUE_THRESHOLD: usize = 64;
/// The least queue that is worth having; with less, packets are sent as if no rate had been learned.
const LEAST_QUEUE: usize = 16 << 10;

/// What is left for such queues.
#[derive(Debug)]
pub(super) struct Queues {
    left: usize,
}

impl Queues {
    pub(super) fn new(memory: usize) -> Queues {
        Queues { left: memory / QUEUE_SHARE }
    }

    /// Takes the bytes of a queue that would have this limit; none if there is no room.
    pub(super) fn take(&mut self, wanted: Limit) -> Option<usize> {
        let wanted = match wanted {
            Limit::Bytes(bytes) => usize::try_from(bytes.get()).unwrap_or(usize::MAX),
            Limit::Packets(packets) => (packets as usize).saturating_mul(MAX_PACKET_SIZE),
        };
        let granted = wanted.min(self.left / QUEUE_THRESHOLD);
        // A queue that is short because its owner says so is no reason to have none.
        if granted < LEAST_QUEUE.min(wanted) {
            return None;
        }
        self.left -= granted;
        Some(granted)
    }

    /// Gives them back.
    pub(super) fn give_back(&mut self, granted: usize) {
        self.left += granted;
    }
}

/// The limit of a queue that has so many bytes.
pub(super) fn limit(wanted: Limit, granted: usize) -> Limit {
    let bytes = Bytes::new(granted as u64);
    match wanted {
        Limit::Bytes(wanted) => Limit::Bytes(wanted.min(bytes)),
        Limit::Packets(packets) if (packets as usize).saturating_mul(MAX_PACKET_SIZE) <= granted => wanted,
        Limit::Packets(_) => Limit::Bytes(bytes),
    }
}
