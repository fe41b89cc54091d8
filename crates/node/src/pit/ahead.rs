//! Memory of the table, asked for ahead of a packet (see `node::ahead`).

use super::Pit;
use crate::wheel::Wheel;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::Time;
use ndnweir_prefetch::{prefetch, prefetch_next};

impl Pit {
    /// The bytes of it that every packet needs.
    pub(crate) const USUAL: usize = std::mem::offset_of!(Pit, wheel) + Wheel::USUAL;

    /// What names the place of a packet's entry, for which it is asked.
    #[inline(always)]
    pub(crate) fn expect(&self, packet: &Packet, now: Time) -> u32 {
        if packet.kind == Kind::Interest {
            match self.entries.get(self.free as usize) {
                Some(free) => prefetch(free),
                None => prefetch_next(&self.entries),
            }
            self.wheel.expect(now + packet.lifetime());
        }
        self.index.expect(packet.name)
    }

    /// [`Pit::expect`] of an Interest that may follow.
    #[inline(always)]
    pub(crate) fn expect_name(&self, name: NameId) {
        self.index.expect(name);
    }

    /// The slot of the entry that a tag of [`Pit::expect`] seems to name, for which it is asked.
    #[inline(always)]
    pub(crate) fn expect_entry(&self, tag: u32) -> Option<u32> {
        let slot = self.index.glance(tag)?;
        prefetch(self.entries.get(slot as usize)?);
        Some(slot)
    }

    /// Asks for the entry whose timer is beside that of an entry which is made now with a usual lifetime.
    #[inline(always)]
    pub(crate) fn expect_neighbour(&self, now: Time) {
        let neighbour = self.wheel.neighbour(now + Packet::default().lifetime());
        neighbour.and_then(|slot| self.entries.get(slot as usize)).into_iter().for_each(prefetch);
    }

    /// The first downstream of an entry; asks for those whose timers are beside its own.
    #[inline(always)]
    pub(crate) fn expect_answer(&self, slot: u32) -> Option<FaceId> {
        let entry = self.entries.get(slot as usize)?;
        for neighbour in entry.timer.neighbours() {
            self.entries.get(neighbour as usize).into_iter().for_each(prefetch);
        }
        self.spills.get(entry.spill as usize).into_iter().for_each(prefetch);
        Some(entry.first.face)
    }

    /// Asks for the records of an entry that stand apart.
    #[inline(always)]
    pub(crate) fn expect_records(&self, slot: u32) {
        if let Some(entry) = self.entries.get(slot as usize)
            && let Some(row) = self.spills.get(entry.spill as usize)
        {
            row.ins.first().into_iter().for_each(prefetch);
            row.outs.first().into_iter().for_each(prefetch);
        }
    }
}
