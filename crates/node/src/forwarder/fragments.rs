//! The memory of incomplete packets of all faces.
//!
//! A face may hold as many bytes as are free (dynamic thresholds with α = 1: A. K. Choudhury, E. L. Hahne, IEEE/ACM
//! Transactions on Networking 6(2), 1998), so that faces that flood share the limit evenly, leave as much free as one
//! of them has, and take nothing from others: where a face is above its share, its own oldest packets are dropped.
//! On-demand peers have three quarters at most, all together, as in [`crate::shares`]: of hundreds each would otherwise
//! leave others too little for the packets that wait for a lost fragment.

use crate::shares::FaceClass;
use ndnweir_wire::lp::{Reassembler, ReassemblerConfig};

/// One part of so many is left to others than on-demand peers.
const LEFT_TO_OTHERS: usize = 4;

/// The shared limit and what happened to incomplete packets.
#[derive(Debug)]
pub(super) struct Fragments {
    limit: usize,
    bytes: usize,
    /// Of these, those of on-demand peers.
    on_demand: usize,
    /// Packets dropped for newer ones of their face.
    pub(super) evicted: u64,
    /// Packets whose rest did not come in time.
    pub(super) timed_out: u64,
}

impl Fragments {
    pub(super) fn new(limit: usize) -> Fragments {
        Fragments { limit, bytes: 0, on_demand: 0, evicted: 0, timed_out: 0 }
    }

    /// Bytes that incomplete packets take now.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Lets the reassembler of a face of this class work within its share of the limit.
    pub(super) fn within<T>(
        &mut self,
        class: FaceClass,
        reassembler: &mut Reassembler,
        work: impl FnOnce(&mut Reassembler) -> T,
    ) -> T {
        let (before, held) = (reassembler.stats(), reassembler.bytes());
        let mut left = self.limit.saturating_sub(self.bytes - held);
        if class == FaceClass::OnDemand {
            left = left.min((self.limit - self.limit / LEFT_TO_OTHERS).saturating_sub(self.on_demand - held));
        }
        // As many as are then free: half of what the other faces leave.
        let share = left / 2;
        reassembler.set_max_bytes(share.min(ReassemblerConfig::default().max_bytes));
        let result = work(reassembler);
        let after = reassembler.stats();
        self.change(class, held, reassembler.bytes());
        self.evicted += after.evicted - before.evicted;
        self.timed_out += after.timed_out - before.timed_out;
        result
    }

    fn change(&mut self, class: FaceClass, before: usize, after: usize) {
        self.bytes = self.bytes - before + after;
        if class == FaceClass::OnDemand {
            self.on_demand = self.on_demand - before + after;
        }
    }

    /// A face gets another class, with its incomplete packets.
    pub(super) fn reclass(&mut self, before: FaceClass, after: FaceClass, reassembler: Option<&Reassembler>) {
        let held = reassembler.map_or(0, Reassembler::bytes);
        self.change(before, held, 0);
        self.change(after, 0, held);
    }

    /// A face of this class is removed, with its incomplete packets.
    pub(super) fn forget(&mut self, class: FaceClass, reassembler: Option<Box<Reassembler>>) {
        self.change(class, reassembler.map_or(0, |reassembler| reassembler.bytes()), 0);
    }
}
