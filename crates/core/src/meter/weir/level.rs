//! The level of one egress link, from what its packets say.

use super::Params;

/// Seconds of a round trip before one is known.
const FIRST_RTT: f64 = 0.1;
/// The longest round trip that counts, in s.
const LONGEST_RTT: f64 = 10.0;
/// The level of an idle link, as a multiple of its capacity: flows may come by more than one path.
const MOST: f64 = 100.0;
/// Spare capacity counts as at most this multiple of the load.
const MOST_FREE: f64 = 8.0;
/// Above this multiple of its target a link has no room for flows that are below the level.
const FULL: f64 = 1.02;
/// A slot's mean changes its time constant at most to this part of the constant.
const LEAST_TIME: f64 = 1e-3;

/// The level of one egress link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// In bit/s: the total rate that a flow on this link may have.
    pub(super) level: f64,
    /// What the fastest flow can reach, in bit/s.
    most: f64,
    /// Of all that is offered, in bit/s.
    load: f64,
    /// Flows that the link carries, each by the part of its rate that passes here.
    flows: f64,
    /// The same, but those that are bound elsewhere count by their rate over the level only.
    bound: f64,
    /// Flows that asked for the first time a short while ago.
    new: f64,
    /// The highest pace of a flow, not long ago.
    highest: f64,
    /// Mean round-trip time in s.
    rtt: f64,
    /// Bits offered up to the last slot.
    offered: u64,
    slot: Slot,
    /// Recorded last.
    pub(super) recorded: f64,
}

/// What passed in this slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Bits.
    bits: f64,
    /// Bits over the flow's rate: seconds.
    flows: f64,
    bound: f64,
    /// Sum of round-trip times in s, each times its bits, and of these bits.
    times: f64,
    timed: f64,
    /// Flows that asked for the first time.
    new: f64,
    /// The highest pace.
    highest: f64,
}

impl Level {
    pub(super) fn new(capacity: f64, offered: u64) -> Level {
        let level = capacity;
        let (load, flows, bound, slot) = (0.0, 0.0, 0.0, Slot::default());
        Level { level, most: level, load, flows, bound, new: 0.0, highest: 0.0, rtt: FIRST_RTT, offered, slot, recorded: 0.0 }
    }

    /// A packet of a flow whose pace is `pace` bit/s of Data in all; 0 if it does not say.
    pub(super) fn count(&mut self, bits: f64, pace: f64, rtt: f64, tolerance: f64) {
        self.slot.bits += bits;
        if rtt > 0.0 {
            self.slot.times += rtt.min(LONGEST_RTT) * bits;
            self.slot.timed += bits;
        }
        if pace > 0.0 {
            self.slot.highest = self.slot.highest.max(pace);
            self.slot.flows += bits / pace;
            self.slot.bound += bits / pace * weight(pace / self.level, tolerance);
        } else {
            self.slot.bound += bits / self.level;
        }
    }

    /// What a flow of this pace may have in all: its part when all are equal, or what fills the link when all grow as it
    /// does, up to the level.
    pub(super) fn grant(&mut self, pace: f64, capacity: f64, params: &Params) -> f64 {
        let target = params.utilization * capacity;
        if pace <= 0.0 {
            self.slot.new += 1.0;
        }
        self.told().min(self.reach(pace, target, params))
    }

    /// The level as flows may follow it.
    pub(super) fn told(&self) -> f64 {
        self.level.min(self.most)
    }

    /// What flows of this pace may have: their equal part, or what fills the link if all grow as they do.
    fn reach(&self, pace: f64, target: f64, params: &Params) -> f64 {
        let equal = target / (self.flows + self.new + self.slot.new).max(1.0 / MOST);
        let rtt = self.rtt.max(LEAST_TIME);
        let step = params.growth * rtt / (rtt + self.time(params));
        let free = (target / self.load.max(target / MOST) - 1.0).min(MOST_FREE);
        let free = if self.load < FULL * target { free.max(params.catch_up) } else { free };
        equal.max(pace * (1.0 + step * free))
    }

    /// The time constant of what is counted, in s.
    fn time(&self, params: &Params) -> f64 {
        params.smoothing.secs().max(self.rtt * params.round_trips).max(LEAST_TIME)
    }

    /// Ends a slot of `elapsed` s.
    pub(super) fn update(&mut self, elapsed: f64, capacity: f64, offered: u64, waiting: f64, params: &Params) {
        let mut slot = std::mem::take(&mut self.slot);
        let all = offered.saturating_sub(self.offered) as f64;
        self.offered = offered;
        // What the hooks do not see: framing, NACKs, other traffic.
        slot.bound += (all - slot.bits).max(0.0) / self.level;
        if slot.timed > 0.0 {
            let gain = (elapsed / self.rtt).min(1.0);
            self.rtt += gain * (slot.times / slot.timed - self.rtt);
        }
        let time = self.time(params);
        self.new = self.new * (1.0 - (elapsed / (2.0 * time)).min(1.0)) + slot.new;
        let gain = (elapsed / time).min(1.0);
        self.highest = (self.highest * (1.0 - gain)).max(slot.highest);
        self.load += gain * (all / elapsed - self.load);
        self.flows += gain * (slot.flows / elapsed - self.flows);
        self.bound += gain * (slot.bound / elapsed - self.bound);
        let rtt = self.rtt.max(elapsed).max(params.smoothing.secs());
        let free = (params.utilization * capacity - params.drain * waiting / rtt).max(capacity * params.least);
        let wanted = free / (self.bound + self.new).max(1.0 / MOST);
        // What is counted is smooth already: only a rise, which flows have yet to follow, takes its time.
        let change = (wanted / self.level - 1.0).min(1.0);
        let change = if change > 0.0 { change * gain.min(0.5) } else { change };
        let target = params.utilization * capacity;
        self.most = self.reach(self.highest, target, params);
        self.level = (self.level * (1.0 + change)).clamp(params.least * capacity / MOST, MOST * capacity);
        if self.load > target {
            // The level of a link that was free rose without bound.
            self.level = self.level.min(self.most);
        }
    }
}

/// How much of its part a flow counts, from its pace over the level: all of it from 1 − tolerance on, and in proportion
/// where something else holds it.
fn weight(ratio: f64, tolerance: f64) -> f64 {
    let (low, high) = (1.0 - 2.0 * tolerance, 1.0 - tolerance);
    if ratio >= high {
        1.0
    } else if ratio <= low {
        ratio
    } else {
        low + (ratio - low) / (high - low) * (1.0 - low)
    }
}
