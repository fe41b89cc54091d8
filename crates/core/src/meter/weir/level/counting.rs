//! What packets add to the counts of a link: flows that are here, that begin and that end.

use super::super::flow_set::Place;
use super::{LONGEST_RTT, Level};
use crate::ids::FlowId;
use crate::shared::explicit::NO_PACE;
use crate::shared::number::{greater, lesser};

/// A flow that ends lets the level rise at once to at most this multiple of itself.
const MOST_RISE: f64 = 2.0;

/// What the Interest of a packet says of its flow.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Said {
    /// In bit/s of Data in all; up to [`NO_PACE`] if it has none yet.
    pub(in super::super) pace: Option<f64>,
    /// In s; 0 if it does not say.
    pub(in super::super) rtt: f64,
    /// In how many s it sends its last Interest, if it says.
    pub(in super::super) left: Option<f64>,
}

impl Level {
    /// A packet of a flow, and what its Interest said.
    #[inline(always)]
    pub(in super::super) fn count(&mut self, flow: FlowId, bits: f64, said: &Said, tolerance: f64) {
        let flow = Place::of(flow);
        self.slot.bits += bits;
        self.slot.squares += bits * bits;
        if said.rtt > 0.0 {
            self.slot.times += lesser(said.rtt, LONGEST_RTT) * bits;
            self.slot.timed += bits;
        }
        let Some(pace) = said.pace.filter(|pace| *pace > NO_PACE) else {
            self.slot.others += bits;
            self.unstated.saw(flow);
            return;
        };
        let (part, weight) = (bits / pace, weight(pace / self.level, tolerance));
        self.parts.add(flow, part / self.period, part * weight / self.period);
        self.slot.highest = greater(self.slot.highest, pace);
        // Before its own last round trip it may yet send as much as it has sent.
        let left = said.left.filter(|left| *left <= said.rtt);
        let ends = left.is_some_and(|left| left <= self.rtt);
        if left.is_some() && (self.ending.has(flow) || (ends && self.leave(flow))) {
            return;
        }
        if !ends {
            self.stated.saw(flow);
        }
        // Most flows are neither.
        if self.ending.or_other_has(&self.newcomers, flow) {
            self.come_back(flow);
            self.arrive(flow, weight);
        }
        self.slot.flows += part;
        self.slot.bound += part * weight;
    }

    /// A flow says that it ends within a round trip: what others send on hearing of it comes no earlier than its last. It
    /// takes what it has added itself, and cannot do so again before it has been counted again. Whether it has left.
    #[inline(never)]
    fn leave(&mut self, flow: Place) -> bool {
        let before = self.held();
        if !self.is_new_no_more(flow) {
            if !self.stated.take(flow) {
                return false;
            }
            let part = self.parts.of(flow);
            self.flows = (self.flows - part.flows).max(0.0);
            self.bound = (self.bound - part.bound).max(0.0);
        }
        self.ending.saw(flow);
        // By the part that ends; what else is free takes its time.
        let most = self.level * (before / self.held()).min(MOST_RISE);
        self.level = self.level.max(most.min(self.wanted()));
        true
    }

    /// A newcomer is none from now on, and takes its part of what is kept for them. Whether it was one.
    fn is_new_no_more(&mut self, flow: Place) -> bool {
        if !self.newcomers.has(flow) {
            return false;
        }
        self.new -= self.new / self.newcomers.count().max(1.0);
        self.newcomers.take(flow)
    }

    /// A flow that said that it ends goes on: others of its name, or a lie.
    #[inline(never)]
    fn come_back(&mut self, flow: Place) {
        if self.ending.take(flow) {
            let part = self.parts.of(flow);
            self.flows += part.flows;
            self.bound += part.bound;
        }
    }

    /// A newcomer's first packet by a pace has come: from now on it counts as if it had been here for long, as what is
    /// counted would take a time constant to see it.
    #[inline(never)]
    fn arrive(&mut self, flow: Place, bound: f64) {
        if self.is_new_no_more(flow) {
            self.flows += 1.0;
            self.bound += bound;
            self.parts.add(flow, 1.0, bound);
        }
    }
}

/// How much of its part a flow counts, from its pace over the level: all of it from 1 − tolerance on, and in proportion
/// where something else holds it.
pub(super) fn weight(ratio: f64, tolerance: f64) -> f64 {
    let (low, high) = (1.0 - 2.0 * tolerance, 1.0 - tolerance);
    if ratio >= high {
        1.0
    } else if ratio <= low {
        ratio
    } else {
        low + (ratio - low) / (high - low) * (1.0 - low)
    }
}
