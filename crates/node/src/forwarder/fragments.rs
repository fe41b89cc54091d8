//! The memory of incomplete packets of all faces.
//!
//! A face may hold as many bytes as are free (dynamic thresholds with α = 1: A. K. Choudhury, E. L. Hahne, IEEE/ACM
//! Transactions on Networking 6(2), 1998), so that faces that flood share the limit evenly, leave as much free as one
//! of them has, and take nothing from others: where a face is above its share, its own oldest packets are dropped.

use ndnweir_wire::lp::{Reassembler, ReassemblerConfig};

/// The shared limit and what happened to incomplete packets.
#[derive(Debug)]
pub(super) struct Fragments {
    limit: usize,
    bytes: usize,
    /// Packets dropped for newer ones of their face.
    pub(super) evicted: u64,
    /// Packets whose rest did not come in time.
    pub(super) timed_out: u64,
}

impl Fragments {
    pub(super) fn new(limit: usize) -> Fragments {
        Fragments { limit, bytes: 0, evicted: 0, timed_out: 0 }
    }

    /// Bytes that incomplete packets take now.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Lets a face's reassembler work within its share of the limit.
    pub(super) fn within<T>(&mut self, reassembler: &mut Reassembler, work: impl FnOnce(&mut Reassembler) -> T) -> T {
        let (before, held) = (reassembler.stats(), reassembler.bytes());
        // As many as are then free: half of what the other faces leave.
        let share = self.limit.saturating_sub(self.bytes - held) / 2;
        reassembler.set_max_bytes(share.min(ReassemblerConfig::default().max_bytes));
        let result = work(reassembler);
        let after = reassembler.stats();
        self.bytes = self.bytes - held + reassembler.bytes();
        self.evicted += after.evicted - before.evicted;
        self.timed_out += after.timed_out - before.timed_out;
        result
    }

    /// A face is removed, with its incomplete packets.
    pub(super) fn forget(&mut self, reassembler: Option<Box<Reassembler>>) {
        self.bytes -= reassembler.map_or(0, |reassembler| reassembler.bytes());
    }
}
