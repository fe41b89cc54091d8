//! What a strategy decides about an Interest.

use crate::fields::Slot;
use crate::ids::FaceId;
use crate::packet::{NackReason, Packet};

/// One copy of the Interest to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub struct Copy {
    /// Where.
    pub face: FaceId,
    /// Whether it gets a nonce of its own (probes do).
    pub new_nonce: bool,
}

/// The copies of a decision: a few are in place, and only more are in memory of their own.
#[derive(Clone, Debug, ndnweir_state::Value)]
#[repr(C)]
struct Copies {
    few: [Copy; Copies::FEW],
    count: usize,
    /// All of them, if they are not few.
    many: Vec<Copy>,
}

impl Copies {
    const FEW: usize = 4;

    #[inline]
    fn push(&mut self, copy: Copy) {
        match self.few.get_mut(self.count) {
            Some(place) => *place = copy,
            None => self.push_to_many(copy),
        }
        self.count += 1;
    }

    #[cold]
    #[inline(never)]
    fn push_to_many(&mut self, copy: Copy) {
        if self.many.is_empty() {
            self.many.extend(self.few);
        }
        self.many.push(copy);
    }

    #[inline]
    fn as_slice(&self) -> &[Copy] {
        self.few.get(..self.count).unwrap_or(&self.many)
    }

    #[inline]
    fn clear(&mut self) {
        if self.count > Copies::FEW {
            self.many.clear();
        }
        self.count = 0;
    }
}

impl Default for Copies {
    fn default() -> Copies {
        Copies { few: [Copy { face: FaceId::NONE, new_nonce: false }; Copies::FEW], count: 0, many: Vec::new() }
    }
}

/// The decision about an Interest. The node passes an empty one; leaving it empty sends nothing, which for a new
/// Interest means that it waits for its lifetime.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
#[repr(C)]
pub struct ForwardingDecision {
    /// Whether it is more than to send the Interest unchanged.
    special: bool,
    /// Whether there are alternatives.
    named: bool,
    copies: Copies,
    reject: Option<NackReason>,
    reject_one: Option<(FaceId, NackReason)>,
    hold: bool,
    stamp: Option<(Slot, u32)>,
    alternatives: Vec<FaceId>,
}

impl ForwardingDecision {
    /// Send the Interest to `face` unchanged.
    #[inline]
    pub fn send(&mut self, face: FaceId) {
        self.copies.push(Copy { face, new_nonce: false });
    }
    /// Also send it to `face` with a nonce of its own. Probes never cause a NACK downstream.
    pub fn probe(&mut self, face: FaceId) {
        self.special = true;
        self.copies.push(Copy { face, new_nonce: true });
    }
    /// If the shapers of all chosen faces reject the Interest, try this face, in the order of these calls. Without any,
    /// the node tries the other next hops, cheapest first.
    pub fn fallback(&mut self, face: FaceId) {
        self.named = true;
        self.alternatives.push(face);
    }
    /// Answer downstream with a NACK and forget the entry.
    pub fn reject(&mut self, reason: NackReason) {
        self.special = true;
        self.reject = Some(reason);
    }
    /// Answer only `downstream` with a NACK; the entry stays for the others.
    pub fn reject_one(&mut self, downstream: FaceId, reason: NackReason) {
        self.special = true;
        self.reject_one = Some((downstream, reason));
    }
    /// The strategy keeps a copy and will return it through [`super::Strategy::release`].
    pub fn hold(&mut self) {
        self.special = true;
        self.hold = true;
    }
    /// Write a header field on every copy. The pending Interest keeps what it arrived with.
    pub fn stamp(&mut self, slot: Slot, value: u32) {
        self.special = true;
        self.stamp = Some((slot, value));
    }
    /// The Interest as [`ForwardingDecision::stamp`] changed it; none if it is sent unchanged.
    pub fn stamped(&self, packet: &Packet) -> Option<Packet> {
        let (slot, value) = self.stamp?;
        let mut stamped = *packet;
        stamped.fields.set(slot, value);
        Some(stamped)
    }
    /// The only face to send the Interest to, unchanged, if there is nothing else to do.
    #[inline]
    pub fn sole(&self) -> Option<FaceId> {
        match self.copies.as_slice() {
            [copy] if !self.special => Some(copy.face),
            _ => None,
        }
    }
    /// The copies to send.
    pub fn copies(&self) -> &[Copy] {
        self.copies.as_slice()
    }
    /// Faces to try in this order if all chosen ones reject.
    pub fn alternatives(&self) -> &[FaceId] {
        &self.alternatives
    }
    /// The NACK to answer with.
    pub fn rejection(&self) -> Option<NackReason> {
        self.reject
    }
    /// The one downstream to answer with a NACK, while the entry stays.
    pub fn rejection_of_one(&self) -> Option<(FaceId, NackReason)> {
        self.reject_one
    }
    /// Whether the strategy holds the Interest.
    pub fn is_held(&self) -> bool {
        self.hold
    }
    /// Empties it for the next Interest, keeping its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.copies.clear();
        if self.special | self.named {
            self.clear_all();
        }
    }

    #[inline(never)]
    fn clear_all(&mut self) {
        self.alternatives.clear();
        (self.special, self.named) = (false, false);
        (self.reject, self.reject_one, self.hold, self.stamp) = (None, None, false, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_keeps_any_number_of_copies_in_order_until_it_is_cleared() {
        let mut choice = ForwardingDecision::default();
        for count in [0, 1, 4, 5, 40, 3] {
            (0..count).for_each(|face| choice.send(FaceId(face)));
            assert_eq!(choice.copies().iter().map(|copy| copy.face.0).collect::<Vec<_>>(), Vec::from_iter(0..count));
            assert_eq!(choice.sole(), (count == 1).then_some(FaceId(0)));
            choice.clear();
        }
    }
}
