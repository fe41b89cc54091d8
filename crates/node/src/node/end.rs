//! The end of PIT entries: by Data, NACKs or in time.

use super::Node;
use super::extras::Extras;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, NameId, PrefixId};
use ndnweir_core::packet::Packet;
use ndnweir_core::shaper::Outcome;
use ndnweir_core::strategy::{Strategy, TimeoutEvent};
use ndnweir_core::units::Time;

impl Node {
    /// The lifetime of an entry's last downstream has ended.
    pub(super) fn on_expiry(&mut self, now: Time, slot: u32) {
        self.counters.pit_expired += 1;
        self.counters.expired += self.pit.ins(slot) as u64;
        if let Some(prefix) = self.fib.prefix(self.pit.name(slot).flow) {
            self.notify_timeout(now, slot, prefix);
        }
        self.record_dead_nonces(slot);
        self.remove_entry(now, slot, Outcome::Timeout);
    }

    /// Notifies a pending Interest's strategy of its timeout.
    pub(super) fn notify_timeout(&mut self, now: Time, slot: u32, prefix: PrefixId) {
        let (name, hops, sent) = (self.pit.name(slot), self.fib.hops(prefix), self.pit.sent(slot));
        let event = TimeoutEvent { name, prefix, hops, sent };
        let instance = self.strategies.at(slot);
        let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
        instance.strategy.on_timeout(&event, &mut ctx);
    }

    /// Remembers the nonces sent for an entry that ends without Data.
    pub(super) fn record_dead_nonces(&mut self, slot: u32) {
        let name = self.pit.name(slot);
        for record in self.pit.sent(slot) {
            self.dead.insert(name, record.nonce);
        }
        self.extras.set(Extras::DEAD, true);
    }

    /// Remembers the nonce of an Interest that another took the place of.
    #[inline(never)]
    pub(super) fn remember_dead(&mut self, name: NameId, nonce: u32) {
        self.dead.insert(name, nonce);
        self.extras.set(Extras::DEAD, true);
    }

    /// Removes an entry; notifies the shapers of all faces with an unanswered out-record.
    pub(super) fn remove_entry(&mut self, now: Time, slot: u32, outcome: Outcome) {
        self.close(now, slot, self.pit.ins(slot), FaceId::NONE, outcome);
        self.pit.remove(slot);
    }

    /// An entry with so many downstreams ends and will be removed; notifies the shapers of all faces with an unanswered
    /// out-record, except `answered`.
    #[inline(always)]
    pub(super) fn close(&mut self, now: Time, slot: u32, ins: usize, answered: FaceId, outcome: Outcome) {
        self.usual.pending -= ins as u64;
        if self.extras.any(Extras::SEVERAL.and(Extras::LOGS).and(Extras::COUNTS_FLOWS)) {
            self.note_closed(now, slot, answered, outcome);
        }
    }

    /// An entry ends; told to those who keep account of them.
    #[inline(never)]
    fn note_closed(&mut self, now: Time, slot: u32, answered: FaceId, outcome: Outcome) {
        let name = self.pit.name(slot);
        self.out.settled(name, outcome == Outcome::Timeout);
        if self.shapes() && self.strategies.shapes(slot) {
            for i in 0..self.pit.sent(slot).len() {
                let record = self.pit.sent(slot)[i];
                if record.nacked.is_none() && record.face != answered {
                    self.notify_shaper(now, &record, outcome, &Packet { name, ..Packet::default() });
                }
            }
        }
        if self.counts_flows() {
            for i in 0..self.pit.ins(slot) {
                let face = self.pit.downstream(slot, i).0.face;
                self.faces[face.index()].flows.remove(name.flow);
            }
        }
        if self.strategies.several() {
            self.strategies.end(slot);
        }
    }
}
