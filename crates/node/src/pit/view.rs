//! What is read of one entry.

use super::{Entry, InRecord, Pit, SPILLED};
use ndnweir_core::fields::Fields;
use ndnweir_core::strategy::OutRecord;
use ndnweir_core::units::Time;

/// One entry, looked up once.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(super) pit: &'a Pit,
    pub(super) entry: &'a Entry,
    pub(super) slot: u32,
}

impl<'a> View<'a> {
    /// What was sent for it.
    #[inline(always)]
    pub(crate) fn sent(self) -> &'a [OutRecord] {
        match self.entry.outs() {
            0 => &[],
            SPILLED => &self.pit.spills[self.entry.spill as usize].outs,
            _ => std::slice::from_ref(&self.entry.out),
        }
    }

    /// Its downstreams.
    #[inline(always)]
    pub(crate) fn ins(self) -> usize {
        if self.entry.ins_spilled() { self.pit.spills[self.entry.spill as usize].ins.len() } else { 1 }
    }

    /// The `i`-th downstream, with its expiry.
    #[inline(always)]
    pub(crate) fn downstream(self, i: usize) -> (InRecord, Time) {
        self.single_downstream().unwrap_or_else(|| self.pit.spills[self.entry.spill as usize].ins[i])
    }

    /// The only downstream there has been, which is the usual case.
    #[inline(always)]
    pub(crate) fn single_downstream(self) -> Option<(InRecord, Time)> {
        (!self.entry.ins_spilled()).then(|| (self.entry.first, self.entry.timer.deadline()))
    }

    /// The highest mark recorded from Interests.
    #[inline(always)]
    pub(crate) fn mark(self) -> u8 {
        self.entry.mark
    }

    /// The pending Interest's header fields.
    #[inline(always)]
    pub(crate) fn fields(self) -> &'a Fields {
        self.pit.fields(self.slot)
    }
}
