//! What was sent for an entry: its out-records.

use super::reach::Reach;
use super::{INS_SPILLED, Pit, SPILLED};
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::Packet;
use ndnweir_core::strategy::OutRecord;
use ndnweir_core::units::{Duration, Time};

impl Pit {
    /// What was sent for an entry.
    #[inline(always)]
    pub(crate) fn sent(&self, slot: u32) -> &[OutRecord] {
        self.view(slot).sent()
    }

    fn sent_mut(&mut self, slot: u32) -> &mut [OutRecord] {
        let entry = &mut self.entries[slot as usize];
        match entry.outs() {
            SPILLED => &mut self.spills[entry.spill as usize].outs,
            n => &mut std::slice::from_mut(&mut entry.out)[..usize::from(n)],
        }
    }

    /// For how long after the latest out-record upstreams wait.
    #[inline(always)]
    pub(crate) fn reach(&self, slot: u32) -> Duration {
        self.entries[slot as usize].reach.duration()
    }

    /// The reach of an Interest that leaves.
    #[inline(always)]
    pub(super) fn reach_of(&mut self, packet: &Packet) -> Reach {
        if self.reach.1 != packet.lifetime_ms {
            self.reach = (Reach::of_lifetime(packet), packet.lifetime_ms);
        }
        if Reach::is_short(packet) { Reach::NONE } else { self.reach.0 }
    }

    /// Records that an Interest leaves by `face`. The nonce it had there before, if it is another one.
    #[inline(always)]
    pub(crate) fn record_sent(&mut self, slot: u32, face: FaceId, packet: &Packet, now: Time) -> Option<u32> {
        let nonce = packet.nonce;
        let record = OutRecord { sent: now, nonce, face, nacked: None, sends: 1 };
        let reach = self.reach_of(packet);
        let entry = &mut self.entries[slot as usize];
        if entry.outs() == 0 {
            entry.out = record;
            entry.records |= 1;
            entry.reach = reach;
            return None;
        }
        let last = self.sent(slot).iter().map(|record| record.sent).max().unwrap_or(now);
        let entry = &mut self.entries[slot as usize];
        entry.reach = reach.or_longer(entry.reach, now.since(last));
        if let Some(known) = self.sent_mut(slot).iter_mut().find(|known| known.face == face) {
            let former = known.nonce;
            *known = OutRecord { sends: known.sends.saturating_add(1), ..record };
            return (former != nonce).then_some(former);
        }
        let row = self.spill(slot);
        let entry = &mut self.entries[slot as usize];
        if entry.outs() != SPILLED {
            entry.records = entry.records & INS_SPILLED | SPILLED;
            self.spills[row].outs.push(entry.out);
        }
        self.spills[row].outs.push(record);
        None
    }

    /// The out-record towards `face`, to note a NACK in it.
    pub(crate) fn sent_to_mut(&mut self, slot: u32, face: FaceId) -> Option<&mut OutRecord> {
        self.sent_mut(slot).iter_mut().find(|record| record.face == face)
    }
}
