//! What a node has to do beside the usual, or need not do.

/// Some of it, as bits side by side: a packet of a node that has nothing of several kinds to do costs one comparison for
/// all of them, of a field that lies beside what it reads anyway. A bit may be set where there is nothing (any more);
/// what it guards then finds that out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub(super) struct Extras(u16);

impl Extras {
    pub(super) const NONE: Extras = Extras(0);
    /// There is a shaper.
    pub(super) const SHAPES: Extras = Extras(1);
    /// There is a meter.
    pub(super) const METERS: Extras = Extras(1 << 1);
    /// Strategies write header fields of Data.
    pub(super) const STAMPS: Extras = Extras(1 << 2);
    /// See [`super::Node::set_host`].
    pub(super) const HOST: Extras = Extras(1 << 3);
    /// The content store takes Data in.
    pub(super) const ADMITS: Extras = Extras(1 << 4);
    /// It answers Interests.
    pub(super) const SERVES: Extras = Extras(1 << 5);
    /// There are strategies beside the first.
    pub(super) const SEVERAL: Extras = Extras(1 << 6);
    /// A strategy watches Data.
    pub(super) const WATCHES: Extras = Extras(1 << 7);
    /// A strategy may want to be woken.
    pub(super) const WAKES: Extras = Extras(1 << 8);
    /// A strategy has held Interests.
    pub(super) const HOLDS: Extras = Extras(1 << 9);
    /// Nonces of Interests that ended without Data are known.
    pub(super) const DEAD: Extras = Extras(1 << 10);
    /// A face is down.
    pub(super) const DOWN: Extras = Extras(1 << 13);
    /// Uses of payloads are logged.
    pub(super) const LOGS: Extras = Extras(1 << 11);
    /// The only strategy takes the cheapest next hop. Unlike the others this must never be set where it does not hold.
    pub(super) const CHEAPEST: Extras = Extras(1 << 12);
    /// A component may read how many flows have pending Interests from a face.
    pub(super) const COUNTS_FLOWS: Extras = Extras(1 << 14);
    /// A strategy may mark Data that came without a mark.
    pub(super) const MARKS: Extras = Extras(1 << 15);
    /// There is a shaper or a meter.
    pub(super) const HOOKS: Extras = Extras::SHAPES.and(Extras::METERS);

    pub(super) const fn and(self, other: Extras) -> Extras {
        Extras(self.0 | other.0)
    }

    /// Whether there is any of these.
    #[inline(always)]
    pub(super) const fn any(self, of: Extras) -> bool {
        self.0 & of.0 != 0
    }

    /// Whether a new Interest goes to the cheapest next hop with nothing else to be done or looked at.
    #[inline(always)]
    pub(super) const fn send_at_once(self) -> bool {
        let before = Extras::HOST.and(Extras::SERVES).and(Extras::DOWN);
        let told = Extras::LOGS.and(Extras::SEVERAL).and(Extras::HOOKS).and(Extras::HOLDS);
        self.0 & Extras::CHEAPEST.and(before).and(told).0 == Extras::CHEAPEST.0
    }

    /// Whether a Data for one downstream is sent there with nothing else to be done.
    #[inline(always)]
    pub(super) const fn answer_at_once(self) -> bool {
        let told = Extras::LOGS.and(Extras::SEVERAL).and(Extras::HOOKS).and(Extras::HOLDS);
        !self.any(Extras::WATCHES.and(Extras::STAMPS).and(Extras::ADMITS).and(Extras::DOWN).and(told))
    }

    /// Notes whether there are these.
    pub(super) fn set(&mut self, these: Extras, are: bool) {
        self.0 = if are { self.0 | these.0 } else { self.0 & !these.0 };
    }
}
