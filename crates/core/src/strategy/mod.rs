//! Strategies: which next hops an Interest takes, and which marks pass on downstream.
//!
//! One instance for all names of a node, and one more for each prefix that has a strategy of its own; with state per
//! FIB prefix inside.

pub mod asf;
pub mod b_icp;
pub mod best_route;
pub mod congestion_aware;
pub mod coopcon;
mod decision;
pub mod flecom;
pub mod mircc;
pub mod multicast;
pub mod overflow;
pub mod pcon;
pub mod ptp;
pub mod random;
pub mod rfa;
pub mod selective;
pub mod self_learning;
pub mod shares;
pub mod stateful_forwarding;
pub mod weighted;
pub mod weir;

pub use decision::{Copy, ForwardingDecision};

use crate::ctx::Ctx;
use crate::fields::Fields;
use crate::ids::{FaceId, NameId, PrefixId};
use crate::packet::{NackReason, Packet};
use crate::units::{Duration, Time};

/// A next hop of a FIB entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub struct NextHop {
    /// The face towards it.
    pub face: FaceId,
    /// Its routing cost; lower is better.
    pub cost: u32,
}

/// An Interest already sent for a pending PIT entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub struct OutRecord {
    /// When it was sent (last).
    pub sent: Time,
    /// Its nonce.
    pub nonce: u32,
    /// Where.
    pub face: FaceId,
    /// The NACK it was answered with.
    pub nacked: Option<NackReason>,
    /// How often it was sent there: at least 1, at most 255.
    pub sends: u8,
}

impl OutRecord {
    /// Whether it was sent there more than once.
    pub const fn resent(&self) -> bool {
        self.sends > 1
    }

    /// The same, but link-retransmitted.
    pub const fn link_retransmitted(self) -> OutRecord {
        OutRecord { sends: self.sends.saturating_add(1), ..self }
    }
}

/// How an Interest relates to what is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Nothing was pending for its name.
    New,
    /// The same downstream retransmits, with a new nonce.
    Retransmission,
    /// Another downstream requests what is already pending.
    Joining,
}

/// An Interest the node could not answer itself.
pub struct InterestArrival<'a> {
    /// The Interest.
    pub packet: &'a Packet,
    /// Where it came from.
    pub in_face: FaceId,
    /// Its FIB prefix.
    pub prefix: PrefixId,
    /// The FIB entry, in the order routing gave it (ascending cost).
    pub hops: &'a [NextHop],
    /// How it relates to what is pending.
    pub arrival: Arrival,
    /// What was sent for the PIT entry so far.
    pub sent: &'a [OutRecord],
    /// For how long after the latest of these was sent upstreams wait: its lifetime, or what was left of a longer one.
    /// Nothing where few hops were left to them.
    pub reach: Duration,
    /// A byte of the PIT entry that is the strategy's own (0 when the entry is new).
    pub note: &'a mut u8,
}

impl InterestArrival<'_> {
    /// Next hops other than the face the Interest came from.
    #[inline]
    pub fn eligible(&self) -> impl Iterator<Item = NextHop> + Clone + '_ {
        self.hops.iter().copied().filter(|hop| hop.face != self.in_face)
    }

    /// Whether an upstream that has not answered yet may do so for this Interest: NFD's out-record that has neither
    /// expired nor got a NACK, if it lasts for a quarter as long as this Interest (ours). Otherwise who asks first with a
    /// short lifetime would keep others from being forwarded.
    #[inline]
    pub fn pending(&self, now: Time) -> bool {
        if self.sent.is_empty() {
            return false;
        }
        let wanted = now + self.packet.lifetime() / 4;
        self.sent.iter().any(|record| record.nacked.is_none() && record.sent + self.reach >= wanted)
    }

    /// Eligible next hops that have no unexpired Interest of this entry.
    pub fn unused(&self, now: Time) -> impl Iterator<Item = NextHop> + Clone + '_ {
        self.eligible().filter(move |hop| self.is_unused(hop.face, now))
    }

    /// Whether a next hop has no unexpired Interest of this entry.
    pub fn is_unused(&self, face: FaceId, now: Time) -> bool {
        self.record(face).is_none_or(|record| record.sent + self.reach <= now)
    }

    /// The eligible next hop to which the Interest was sent the longest time ago, when it was sent to all of them.
    pub fn used_earliest(&self) -> Option<NextHop> {
        self.eligible().min_by_key(|hop| self.record(hop.face).map(|record| record.sent))
    }

    /// When the Interest was sent last, to any next hop; the start of time if it was not.
    pub fn last_sent(&self) -> Time {
        self.sent.iter().map(|record| record.sent).max().unwrap_or_default()
    }

    /// What was sent to `face`.
    pub fn record(&self, face: FaceId) -> Option<&OutRecord> {
        self.sent.iter().find(|record| record.face == face)
    }
}

/// A Data that satisfied a PIT entry, or was found in the content store.
pub struct DataReturn<'a> {
    /// The Data, as the meter left it.
    pub packet: &'a Packet,
    /// Where it came from; [`FaceId::NONE`] from this node's content store.
    pub face: FaceId,
    /// The FIB prefix.
    pub prefix: PrefixId,
    /// How many next hops the prefix has.
    pub hops: &'a [NextHop],
    /// Whether `face` leads to an application on this node.
    pub local: bool,
    /// From the last Interest sent there to now; none if it had been sent there more than once.
    pub rtt: Option<Duration>,
    /// What had been sent for the entry.
    pub sent: &'a [OutRecord],
    /// The header fields of the Interests it answers, aggregated (see [`crate::fields::Aggregation`]).
    pub interest_fields: &'a Fields,
}

/// A NACK for an Interest this node sent.
pub struct NackReturn<'a> {
    /// The NACK; its mark counts.
    pub packet: &'a Packet,
    /// Where it came from.
    pub face: FaceId,
    /// The FIB prefix.
    pub prefix: PrefixId,
    /// The FIB entry.
    pub hops: &'a [NextHop],
    /// What was sent for the entry, this NACK already recorded.
    pub sent: &'a [OutRecord],
    /// The faces with an unanswered in-record.
    pub downstreams: &'a [FaceId],
    /// The strategy's byte of the PIT entry.
    pub note: &'a mut u8,
}

/// A PIT entry whose lifetime ended without Data.
pub struct TimeoutEvent<'a> {
    /// The name that was pending.
    pub name: NameId,
    /// The FIB prefix.
    pub prefix: PrefixId,
    /// The FIB entry.
    pub hops: &'a [NextHop],
    /// What had been sent.
    pub sent: &'a [OutRecord],
}

/// An Interest that a strategy sends when no packet has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Released {
    /// The Interest.
    pub packet: Packet,
    /// Where it goes.
    pub face: FaceId,
    /// Whether it was held (see [`ForwardingDecision::hold`]) and now goes; if not, it is sent again.
    pub held: bool,
}

/// Chooses next hops.
pub trait Strategy {
    /// An Interest needs next hops. For [`Arrival::Retransmission`] and [`Arrival::Joining`] an empty choice means
    /// that it is suppressed or aggregated.
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>);

    /// Whether a new Interest always goes unchanged to the first of its eligible next hops, if there is one, and nothing
    /// else comes of it: the node then sends it there without asking.
    fn takes_cheapest(&self) -> bool {
        false
    }

    /// Whether [`Strategy::on_data`] or [`Strategy::propagate_mark`] do anything; false saves the node what it would tell
    /// them.
    fn watches_data(&self) -> bool {
        true
    }

    /// Data came back, from a face or from the content store.
    fn on_data(&mut self, _event: &DataReturn<'_>, _ctx: &mut Ctx<'_>) {}

    /// Whether [`Strategy::propagate_mark`] may mark a Data that came without a mark; else it need not be called for these.
    fn marks_itself(&self) -> bool {
        false
    }

    /// The mark that continues to one downstream; called after [`Strategy::on_data`] for each.
    fn propagate_mark(&mut self, event: &DataReturn<'_>, _downstream: FaceId, _ctx: &mut Ctx<'_>) -> u8 {
        event.packet.mark
    }

    /// A NACK came back. The default is [`process_nack`].
    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, _ctx: &mut Ctx<'_>) {
        process_nack(event, choice);
    }

    /// Nothing came back; or the name has another strategy by now and was requested again.
    fn on_timeout(&mut self, _event: &TimeoutEvent<'_>, _ctx: &mut Ctx<'_>) {}

    /// A Data or NACK came for which nothing is pending (any more).
    fn on_late(&mut self, _packet: &Packet, _face: FaceId, _prefix: PrefixId, _ctx: &mut Ctx<'_>) {}

    /// The shaper of a face did not let an Interest pass.
    fn on_rejection(&mut self, _packet: &Packet, _prefix: PrefixId, _face: FaceId, _ctx: &mut Ctx<'_>) {}

    /// A face exists: whether it leads to an application on this node, and whether it is up. Called for every face at
    /// the start, and when one changes.
    fn on_face(&mut self, _face: FaceId, _local: bool, _up: bool) {}

    /// Writes header fields of a Data before it goes to all downstreams; called once, after [`Strategy::on_data`], in a
    /// run that carries [`crate::fields::Field::Discovery`] or [`crate::fields::Field::LongerWay`], and not for Data from
    /// the content store.
    fn stamp_data(&mut self, _event: &DataReturn<'_>, _fields: &mut Fields) {}

    /// Whether a next hop that routing adds gets the Interests that are pending already.
    fn sends_pending_to_new_hops(&self) -> bool {
        false
    }

    /// Whether an Interest that loops is answered with a Duplicate NACK.
    fn rejects_loops(&self) -> bool {
        true
    }

    /// Routing set the next hops of a prefix.
    fn on_next_hops(&mut self, _prefix: PrefixId, _hops: &[NextHop], _ctx: &mut Ctx<'_>) {}

    /// The share of the prefix's Interests that each of `hops` gets, pushed in their order; nothing if the strategy
    /// does not split by shares.
    fn shares(&self, _prefix: PrefixId, _hops: &[NextHop], _out: &mut Vec<f64>) {}

    /// The next Interest to send; called after every hook while any is held, and at every wake, until it gives none.
    fn release(&mut self, _ctx: &mut Ctx<'_>) -> Option<Released> {
        None
    }

    /// Whether [`Strategy::next_wake`] is ever anything but [`Time::NEVER`]; false saves the node the question after every
    /// packet.
    fn wakes(&self) -> bool {
        true
    }

    /// When [`Strategy::release`] should be called next; [`Time::NEVER`] if not by time.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
}

/// NFD's `processNack`: when every Interest sent met a NACK, answer downstream with the least severe reason; while more
/// than one upstream may still answer, wait. If only one may, and it is a downstream too, the two nodes wait for each
/// other: reject that one.
pub fn process_nack(event: &NackReturn<'_>, choice: &mut ForwardingDecision) {
    let mut open = event.sent.iter().filter(|record| record.nacked.is_none());
    let Some(least) = event.sent.iter().filter_map(|record| record.nacked).min() else { return };
    match (open.next(), open.next()) {
        (None, _) => choice.reject(least),
        (Some(last), None) if event.downstreams.contains(&last.face) => choice.reject_one(last.face, least),
        _ => {}
    }
}

#[cfg(test)]
mod harness;
#[cfg(test)]
mod nack_tests {
    use super::harness::{nacked, sent};
    use super::*;

    fn after(sent: &[OutRecord], downstreams: &[FaceId]) -> ForwardingDecision {
        let mut choice = ForwardingDecision::default();
        let (packet, mut note) = (Packet::default().nack(NackReason::NoRoute), 0);
        let (prefix, hops, note) = (PrefixId(0), &[][..], &mut note);
        let event = NackReturn { packet: &packet, face: FaceId(1), prefix, hops, sent, downstreams, note };
        process_nack(&event, &mut choice);
        choice
    }

    #[test]
    fn when_every_upstream_rejected_the_least_severe_reason_goes_downstream() {
        let records =
            [nacked(1, NackReason::NoRoute), nacked(2, NackReason::Congestion), nacked(3, NackReason::Duplicate)];
        assert_eq!(after(&records, &[FaceId(9)]).rejection(), Some(NackReason::Congestion));
    }

    #[test]
    fn while_another_upstream_may_answer_a_nack_waits() {
        let choice = after(&[nacked(1, NackReason::NoRoute), sent(2, 0)], &[FaceId(9)]);
        assert_eq!((choice.rejection(), choice.rejection_of_one()), (None, None));
    }

    #[test]
    fn a_last_upstream_that_is_also_a_downstream_is_rejected_alone() {
        let records = [nacked(1, NackReason::Duplicate), sent(2, 0)];
        let choice = after(&records, &[FaceId(9), FaceId(2)]);
        assert_eq!(choice.rejection(), None);
        assert_eq!(choice.rejection_of_one(), Some((FaceId(2), NackReason::Duplicate)));
        let two_open = [records[0], records[1], sent(3, 0)];
        assert_eq!(after(&two_open, &[FaceId(2)]).rejection_of_one(), None);
    }
}
