//! The pending Interest table.
//!
//! One entry per name, with its timer one cache line: one downstream (in-record) and one upstream (out-record) inline,
//! more of either in a pooled side table. The lifetime timers are of a [`Wheel`].
//!
//! `MustBeFresh` is not part of the key, as NDN's rules would have it: an Interest with MustBeFresh that joins one
//! without gets the same Data.

mod ahead;
mod reach;
mod record;
mod sent;
mod view;

use self::reach::Reach;
pub(crate) use self::record::InRecord;
use self::view::View;
use crate::growth::grow;
use crate::index::{Index, MAX_SLOTS, Taken, Vacant};
use crate::keyed::NumberHash;
use crate::shares::{FaceClass, Rejection, ShareLimits, Shares};
use crate::wheel::{MAX_TIMERS, Timed, Timer, Wheel};
use ndnweir_core::fields::Fields;
use ndnweir_core::ids::{FaceId, FlowId, NameId};
use ndnweir_core::packet::Packet;
use ndnweir_core::strategy::OutRecord;
use ndnweir_core::units::{Duration, Time};

const NIL: u32 = u32::MAX;
/// [`Entry::outs`] when the out-records are in the side table.
const SPILLED: u8 = 2;
/// The bit of [`Entry::records`] that says that the in-records are there.
const INS_SPILLED: u8 = 4;

/// What is pending for a name.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
#[repr(align(64))]
struct Entry {
    name: NameId,
    timer: Timer,
    first: InRecord,
    out: OutRecord,
    /// The row of the side table; in a free slot the next free slot.
    spill: u32,
    mark: u8,
    note: u8,
    /// Out-records inline, 0 or 1, or [`SPILLED`]; and [`INS_SPILLED`].
    records: u8,
    /// For how long after the latest out-record upstreams wait.
    reach: Reach,
}

/// An out-record that is none.
const NOT_SENT: OutRecord = OutRecord { sent: Time::ZERO, nonce: 0, face: FaceId::NONE, nacked: None, sends: 1 };

impl Entry {
    /// What has never been used.
    const FREE: Entry = Entry {
        name: NameId { flow: FlowId(0), segment: 0 },
        timer: Timer::UNSET,
        first: InRecord::NONE,
        out: NOT_SENT,
        spill: NIL,
        mark: 0,
        note: 0,
        records: 0,
        reach: Reach::NONE,
    };

    #[inline(always)]
    const fn outs(&self) -> u8 {
        self.records & !INS_SPILLED
    }

    #[inline(always)]
    const fn ins_spilled(&self) -> bool {
        self.records & INS_SPILLED != 0
    }
}

impl Timed for Entry {
    #[inline(always)]
    fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

/// Records beyond the first, all together. The vectors keep their memory for the next user.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
struct Spill {
    ins: Vec<(InRecord, Time)>,
    outs: Vec<OutRecord>,
}

/// What a nonce says about an Interest whose name is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Not seen.
    New,
    /// From the same face: the link delivered it twice.
    SameFace,
    /// From or to another face: it loops.
    Loop,
}

/// The table.
#[derive(Clone, Debug, ndnweir_state::State)]
#[repr(C, align(64))]
pub(crate) struct Pit {
    entries: Vec<Entry>,
    free: u32,
    with_fields: bool,
    /// Fewer entries than these may have one more with nothing to be looked at: neither the limit nor the index is full, and
    /// nothing is special.
    room: usize,
    /// There is more to do for an entry than to keep it: its header fields, or its face's share.
    special: bool,
    /// The reach of the last Interest that left, and its lifetime: usually that of the next.
    #[state(skip)]
    reach: (Reach, u32),
    #[state(skip)]
    shares: Option<Box<Shares>>,
    limit: usize,
    index: Index,
    wheel: Wheel,
    peak: usize,
    spills: Vec<Spill>,
    free_spills: Vec<u32>,
    /// The Interests' aggregated header fields, by slot; empty when the run has none.
    fields: Vec<Fields>,
}

impl Pit {
    pub(crate) fn new(limit: usize, with_fields: bool) -> Pit {
        let mut pit = Pit {
            room: 0,
            shares: None,
            entries: Vec::new(),
            index: Index::new(),
            wheel: Wheel::new(),
            free: NIL,
            spills: Vec::new(),
            free_spills: Vec::new(),
            fields: Vec::new(),
            with_fields,
            special: with_fields,
            peak: 0,
            reach: (Reach::of_lifetime(&Packet::default()), 0),
            limit: limit.min(MAX_TIMERS).min(MAX_SLOTS),
        };
        pit.find_room();
        pit
    }

    /// After any change of what it depends on.
    fn find_room(&mut self) {
        self.room = if self.special { 0 } else { self.limit.min(self.index.room()) };
    }

    /// Whether a new entry may be made by [`Pit::insert_sent`], with no call of [`Pit::reserve`] and [`Pit::rejection`].
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.index.len() < self.room
    }

    /// Entries.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// The most entries there have been.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// Bounds every face's share, and lets the limit count downstreams instead of names.
    pub(crate) fn share(&mut self, limits: ShareLimits) {
        self.shares = Some(Box::new(Shares::new(limits)));
        self.special = true;
        self.find_room();
    }

    /// Sets whose share a face has.
    pub(crate) fn share_face(&mut self, face: FaceId, class: FaceClass, group: u128) {
        if let Some(shares) = &mut self.shares {
            shares.set(face, class, group);
        }
    }

    /// Changes the hash function; the table must be empty.
    pub(crate) fn set_hash(&mut self, hash: NumberHash) {
        self.index.set_hash(hash);
    }

    /// From now on entries keep header fields.
    pub(crate) fn carry_fields(&mut self) {
        (self.with_fields, self.special) = (true, true);
        self.find_room();
        self.fields.resize(self.entries.len(), Fields::default());
    }

    /// Why there is no room for a new entry of an Interest of `size` from `face`.
    #[inline(always)]
    pub(crate) fn rejection(&self, vacant: Vacant, face: FaceId, size: u32) -> Option<Rejection> {
        if self.index.len() >= self.limit {
            return Some(Rejection::Records);
        }
        if self.shares.is_some() { self.rejection_by_share(vacant, face, size) } else { None }
    }

    #[inline(never)]
    fn rejection_by_share(&self, vacant: Vacant, face: FaceId, size: u32) -> Option<Rejection> {
        let shares = self.shares.as_deref()?;
        if self.index.is_far(vacant) {
            return Some(Rejection::Records);
        }
        shares.rejection(face, InRecord::counted(size), self.limit)
    }

    /// Why `face`, if it is not among the downstreams yet, may not join an entry.
    #[inline]
    pub(crate) fn rejection_to_join(&self, slot: u32, face: FaceId, size: u32) -> Option<Rejection> {
        let shares = self.shares.as_ref()?;
        if (0..self.ins(slot)).any(|i| self.downstream(slot, i).0.face == face) {
            return None;
        }
        shares.rejection(face, InRecord::counted(size), self.limit)
    }

    /// Makes room in the index so that a vacancy found next can be filled.
    #[inline]
    pub(crate) fn reserve(&mut self) {
        self.index.reserve();
        self.find_room();
    }

    /// The slot of a name, or where it would go.
    #[inline]
    pub(crate) fn find(&self, name: NameId) -> Result<u32, Vacant> {
        self.index.find(name, |slot| self.entries[slot as usize].name == name)
    }

    /// As [`Pit::find`], for [`Pit::remove_found`].
    #[inline(always)]
    pub(crate) fn locate(&self, name: NameId) -> Result<Taken, Vacant> {
        self.index.locate(name, |slot| self.entries[slot as usize].name == name)
    }

    /// A new entry for an Interest from `face`.
    #[inline(always)]
    pub(crate) fn insert(&mut self, vacant: Vacant, packet: &Packet, face: FaceId, now: Time) -> u32 {
        let slot = self.begin(vacant, packet, face, now, (0, NOT_SENT, Reach::NONE));
        if self.with_fields {
            match self.fields.get_mut(slot as usize) {
                Some(fields) => *fields = packet.fields,
                None => self.extend_fields(slot, packet),
            }
        }
        if let Some(shares) = &mut self.shares {
            shares.take(face, InRecord::counted(packet.size));
        }
        slot
    }

    /// A new entry, for which [there is room](Pit::has_room), of an Interest from `face` that leaves by `to` at once:
    /// [`Pit::insert`] and [`Pit::record_sent`].
    #[inline(always)]
    pub(crate) fn insert_sent(&mut self, vacant: Vacant, packet: &Packet, face: FaceId, to: FaceId, now: Time) {
        let out = OutRecord { sent: now, nonce: packet.nonce, face: to, nacked: None, sends: 1 };
        let reach = self.reach_of(packet);
        self.begin(vacant, packet, face, now, (1, out, reach));
    }

    /// A new entry with what was sent for it.
    #[inline(always)]
    fn begin(
        &mut self,
        vacant: Vacant,
        packet: &Packet,
        face: FaceId,
        now: Time,
        (records, out, reach): (u8, OutRecord, Reach),
    ) -> u32 {
        if self.free as usize >= self.entries.len() {
            self.extend();
        }
        let slot = self.free;
        self.index.fill(vacant, slot);
        let expiry = now + Duration::from_millis(u64::from(packet.lifetime_ms));
        let timer = self.wheel.enter(&mut self.entries, slot, expiry, now);
        let place = &mut self.entries[slot as usize];
        self.free = place.spill;
        let (name, first) = (packet.name, InRecord::of(packet, face, now));
        *place = Entry { name, timer, first, out, spill: NIL, mark: 0, note: 0, records, reach };
        slot
    }

    /// Keeps the header fields of the Interest of an entry in a slot that has had none.
    #[cold]
    #[inline(never)]
    fn extend_fields(&mut self, slot: u32, packet: &Packet) {
        while self.fields.len() <= slot as usize {
            grow(&mut self.fields);
            self.fields.push(Fields::default());
        }
        self.fields[slot as usize] = packet.fields;
    }

    /// One more entry than there have ever been: the only one that is free.
    #[cold]
    #[inline(never)]
    fn extend(&mut self) {
        grow(&mut self.entries);
        self.free = self.entries.len() as u32;
        self.entries.push(Entry::FREE);
        self.peak = self.entries.len().max(self.peak);
    }

    /// Forgets an entry.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.index.remove(self.entries[slot as usize].name, slot);
        self.give_back(slot);
    }

    /// Forgets an entry that [`Pit::locate`] found, with nothing entered or removed since.
    #[inline(always)]
    pub(crate) fn remove_found(&mut self, found: Taken) {
        self.index.vacate(found);
        self.give_back(found.slot);
    }

    /// [`Pit::remove_found`] of an entry that has had one downstream: that, its expiry, and the mark of Interests.
    #[inline(always)]
    pub(crate) fn take_lone(&mut self, found: Taken) -> Option<(InRecord, Time, u8)> {
        let entry = &self.entries[found.slot as usize];
        if entry.ins_spilled() {
            return None;
        }
        let taken = (entry.first, entry.timer.deadline(), entry.mark);
        self.remove_found(found);
        Some(taken)
    }

    #[inline(always)]
    fn give_back(&mut self, slot: u32) {
        let spill = std::mem::replace(&mut self.entries[slot as usize].spill, self.free);
        self.wheel.cancel(&mut self.entries, slot);
        if self.shares.is_some() || spill != NIL {
            self.note_given_back(slot, spill);
        }
        self.free = slot;
    }

    #[inline(never)]
    fn note_given_back(&mut self, slot: u32, spill: u32) {
        let entry = &self.entries[slot as usize];
        if let Some(shares) = &mut self.shares {
            if entry.ins_spilled() {
                for (record, _) in &self.spills[spill as usize].ins {
                    shares.give_back(record.face, record.size());
                }
            } else {
                shares.give_back(entry.first.face, entry.first.size());
            }
        }
        if spill != NIL {
            let row = &mut self.spills[spill as usize];
            row.ins.clear();
            row.outs.clear();
            self.free_spills.push(spill);
        }
    }

    /// Clears it; the memory of inline entries is kept.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.index.clear();
        self.wheel.clear();
        self.spills.clear();
        self.free_spills.clear();
        if let Some(shares) = &mut self.shares {
            shares.clear();
        }
        self.free = NIL;
    }

    /// The entries there are now.
    pub(crate) fn slots(&self) -> Vec<u32> {
        let live = |slot: &u32| matches!(self.find(self.entries[*slot as usize].name), Ok(found) if found == *slot);
        (0..self.entries.len() as u32).filter(live).collect()
    }

    /// What is known of an entry, looked up once.
    #[inline(always)]
    pub(crate) fn view(&self, slot: u32) -> View<'_> {
        View { pit: self, entry: &self.entries[slot as usize], slot }
    }

    /// The name of an entry.
    pub(crate) fn name(&self, slot: u32) -> NameId {
        self.entries[slot as usize].name
    }

    /// What a nonce from `face` means for this entry.
    #[inline]
    pub(crate) fn seen(&self, slot: u32, nonce: u32, face: FaceId) -> Seen {
        let mut known = false;
        for i in 0..self.ins(slot) {
            let record = self.downstream(slot, i).0;
            if record.nonce == nonce {
                if record.face == face {
                    return Seen::SameFace;
                }
                known = true;
            }
        }
        if known || self.sent(slot).iter().any(|record| record.nonce == nonce) { Seen::Loop } else { Seen::New }
    }

    /// Downstreams of an entry.
    #[inline]
    pub(crate) fn ins(&self, slot: u32) -> usize {
        self.view(slot).ins()
    }

    /// The `i`-th downstream, with its expiry.
    #[inline]
    pub(crate) fn downstream(&self, slot: u32, i: usize) -> (InRecord, Time) {
        self.view(slot).downstream(i)
    }

    /// The lifetime of the `i`-th downstream's Interest.
    pub(crate) fn lifetime_ms(&self, slot: u32, i: usize) -> u32 {
        let (record, expiry) = self.downstream(slot, i);
        u32::try_from(expiry.since(record.arrival).nanos() / 1_000_000).unwrap_or(u32::MAX)
    }

    /// The side-table row of an entry, made if need be.
    fn spill(&mut self, slot: u32) -> usize {
        let entry = &mut self.entries[slot as usize];
        if entry.spill == NIL {
            entry.spill = self.free_spills.pop().unwrap_or_else(|| {
                self.spills.push(Spill::default());
                (self.spills.len() - 1) as u32
            });
        }
        entry.spill as usize
    }

    /// Another Interest for a pending name. Whether `face` already was a downstream.
    pub(crate) fn join(&mut self, slot: u32, packet: &Packet, face: FaceId, now: Time) -> bool {
        // Asking again never shortens what a face waits for: a neighbour asks for several, and a stranger may be one.
        let mut expiry = now + Duration::from_millis(u64::from(packet.lifetime_ms));
        let mut record = InRecord::of(packet, face, now);
        let entry = &mut self.entries[slot as usize];
        if !entry.ins_spilled() && entry.first.face == face {
            record.set_retransmitted();
            if let Some(shares) = &mut self.shares {
                shares.give_back(face, entry.first.size());
                shares.take(face, record.size());
            }
            entry.first = record;
            expiry = expiry.max(entry.timer.deadline());
            self.wheel.set(&mut self.entries, slot, expiry, now);
            return true;
        }
        if !entry.ins_spilled() {
            let first = (entry.first, entry.timer.deadline());
            entry.records |= INS_SPILLED;
            let row = self.spill(slot);
            self.spills[row].ins.push(first);
        }
        let ins = &mut self.spills[self.entries[slot as usize].spill as usize].ins;
        let waiting = ins.iter_mut().find(|(known, _)| known.face == face);
        let retransmitted = waiting.is_some();
        if let Some(shares) = &mut self.shares {
            if let Some((former, _)) = &waiting {
                shares.give_back(face, former.size());
            }
            shares.take(face, record.size());
        }
        match waiting {
            Some(known) => {
                record.set_retransmitted();
                *known = (record, expiry.max(known.1));
            }
            None => ins.push((record, expiry)),
        }
        let last = ins.iter().map(|&(_, expiry)| expiry).max().unwrap_or(expiry);
        self.wheel.set(&mut self.entries, slot, last, now);
        retransmitted
    }

    /// Takes one of several downstreams out.
    pub(crate) fn leave(&mut self, slot: u32, face: FaceId, now: Time) -> Option<InRecord> {
        let entry = &self.entries[slot as usize];
        if !entry.ins_spilled() {
            return None;
        }
        let ins = &mut self.spills[entry.spill as usize].ins;
        let found = ins.iter().position(|(record, _)| record.face == face)?;
        let (left, _) = ins.remove(found);
        if let Some(shares) = &mut self.shares {
            shares.give_back(face, left.size());
        }
        if let Some(last) = ins.iter().map(|&(_, expiry)| expiry).max() {
            self.wheel.set(&mut self.entries, slot, last, now);
        }
        Some(left)
    }

    /// Records the mark of an Interest.
    pub(crate) fn add_mark(&mut self, slot: u32, mark: u8) {
        let known = &mut self.entries[slot as usize].mark;
        *known = (*known).max(mark);
    }

    /// The strategy's byte.
    pub(crate) fn note(&self, slot: u32) -> u8 {
        self.entries[slot as usize].note
    }

    /// Keeps the strategy's byte.
    pub(crate) fn set_note(&mut self, slot: u32, note: u8) {
        self.entries[slot as usize].note = note;
    }

    /// The pending Interest's header fields; none in a run without any.
    pub(crate) fn fields_mut(&mut self, slot: u32) -> Option<&mut Fields> {
        self.fields.get_mut(slot as usize)
    }

    /// The pending Interest's header fields.
    #[inline]
    pub(crate) fn fields(&self, slot: u32) -> &Fields {
        if !self.with_fields {
            return Fields::NONE;
        }
        self.fields.get(slot as usize).unwrap_or(Fields::NONE)
    }

    /// When [`Pit::expire`] should be called next; perhaps early.
    #[inline]
    pub(crate) fn next_expiry(&self) -> Time {
        self.wheel.next()
    }

    /// The next entry whose last downstream has expired by `now`; its timer is no longer set.
    pub(crate) fn expire(&mut self, now: Time) -> Option<u32> {
        self.wheel.pop(&mut self.entries, now)
    }

    /// Whether its lists and its index lead nowhere but to their end, see [`Wheel::is_sound`].
    pub(crate) fn is_sound(&mut self) -> bool {
        self.index.is_sound() && self.wheel.is_sound(&mut self.entries)
    }

    /// Bytes of memory it uses.
    pub(crate) fn memory(&self) -> usize {
        let spilled = |spill: &Spill| {
            size_of::<Spill>()
                + spill.ins.capacity() * size_of::<(InRecord, Time)>()
                + spill.outs.capacity() * size_of::<OutRecord>()
        };
        self.entries.capacity() * size_of::<Entry>()
            + self.index.memory()
            + self.wheel.memory()
            + self.fields.capacity() * size_of::<Fields>()
            + self.spills.iter().map(spilled).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
