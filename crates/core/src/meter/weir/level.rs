//! The level of one egress link, from what its packets say.

use super::Params;
use super::flow_set::FlowSet;
use crate::ids::FlowId;

/// Seconds of a round trip before one is known.
const FIRST_RTT: f64 = 0.1;
/// Before one is known what a newcomer sends may take so many s to come, by satellite.
const FARTHEST: f64 = 0.6;
/// The longest round trip that counts, in s.
const LONGEST_RTT: f64 = 10.0;
/// The level of an idle link, as a multiple of its capacity: flows may come by more than one path.
const MOST: f64 = 100.0;
/// Spare capacity counts as at most this multiple of the load.
const MOST_FREE: f64 = 8.0;
/// What a consumer states that knows no level yet, in bit/s: the least that a field says.
pub(super) const NO_PACE: f64 = 1000.0;
/// Flows that state a pace are remembered for this many s, and count as this many times their number at most.
const STATED_WINDOW: f64 = 2.0;
const STATED_SLACK: f64 = 1.1;
/// The highest pace is forgotten within so many s: who probes a link comes seldom.
const FORGET: f64 = 2.0;
/// Above this multiple of its target a link has no room for flows that are below the level.
const FULL: f64 = 1.02;
/// By how much the load of one slot moves that of the last slots.
const RECENT: f64 = 0.5;
/// What is counted is the mean of at least so many bits: some 50 Data.
const FEW_BITS: f64 = 400e3;
/// A slot's mean changes its time constant at most to this part of the constant.
const LEAST_TIME: f64 = 1e-3;

/// The level of one egress link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// In bit/s: the total rate that a flow on this link may have.
    pub(super) level: f64,
    /// What the fastest flow can reach, in bit/s.
    most: f64,
    /// What flows that are held here shared at the last change, in bit/s.
    free: f64,
    /// Of all that is offered, in bit/s.
    load: f64,
    /// The same, of the last slots alone.
    recent: f64,
    /// Flows that the link carries, each by the part of its rate that passes here.
    flows: f64,
    /// The same, but those that are bound elsewhere count by their rate over the level only.
    bound: f64,
    /// Flows of late whose packets state no pace, or that the hooks do not see.
    unstated: FlowSet,
    /// Flows of late whose packets state one: who states too little counts as no more than these.
    stated: FlowSet,
    /// Of these, in bit/s.
    others: f64,
    /// Flows that asked for the first time a short while ago: how many, and which.
    new: f64,
    newcomers: FlowSet,
    /// The highest pace of a flow, not long ago.
    highest: f64,
    /// Mean round-trip time in s, and whether a packet has told one.
    rtt: f64,
    is_timed: bool,
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
    /// Bits of packets without a pace.
    others: f64,
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
        Level {
            level,
            most: level,
            free: level,
            load,
            recent: 0.0,
            flows,
            bound,
            unstated: FlowSet::default(),
            stated: FlowSet::default(),
            newcomers: FlowSet::default(),
            others: 0.0,
            new: 0.0,
            highest: 0.0,
            rtt: FIRST_RTT,
            is_timed: false,
            offered,
            slot,
            recorded: 0.0,
        }
    }

    /// A packet of a flow whose pace is `pace` bit/s of Data in all, if it says: up to [`NO_PACE`] if it has none yet.
    pub(super) fn count(&mut self, flow: FlowId, bits: f64, pace: Option<f64>, rtt: f64, tolerance: f64) {
        self.slot.bits += bits;
        if rtt > 0.0 {
            self.slot.times += rtt.min(LONGEST_RTT) * bits;
            self.slot.timed += bits;
        }
        match pace.filter(|pace| *pace > NO_PACE) {
            None => {
                self.slot.others += bits;
                self.unstated.saw(flow);
            }
            Some(pace) => {
                self.stated.saw(flow);
                self.slot.highest = self.slot.highest.max(pace);
                self.slot.flows += bits / pace;
                self.slot.bound += bits / pace * weight(pace / self.level, tolerance);
            }
        }
    }

    /// How many flows of this link's level those are that state no pace: by what they send, and no more than they are.
    fn unstated(&self) -> f64 {
        // What the hooks do not see is one flow at least.
        (self.others / self.level).min(self.unstated.count().max(1.0))
    }

    /// What a flow of this pace may have in all: its part when all are equal, or what fills the link when all grow as it
    /// does, up to the level.
    pub(super) fn grant(&mut self, flow: FlowId, pace: f64, rtt: f64, capacity: f64, params: &Params) -> f64 {
        if pace <= NO_PACE && self.newcomers.saw(flow) {
            self.slot.new += 1.0;
            // Those who are here hear of it in time: what they send on it comes no earlier than the newcomer's.
            self.level = self.level.min(self.free / (self.bound + self.unstated() + self.new + self.slot.new));
        }
        self.told().min(self.reach(pace, rtt, capacity, params))
    }

    /// The level as flows may follow it.
    pub(super) fn told(&self) -> f64 {
        self.level.min(self.most)
    }

    /// What flows of this pace and round trip may have: their equal part as if all of it passed here, or what fills the
    /// link if all grow as they do. A flow of which little passes could have more at once, but its part here grows, and
    /// what counts it lags.
    fn reach(&self, pace: f64, rtt: f64, capacity: f64, params: &Params) -> f64 {
        let target = params.utilization * capacity;
        let flows = self.flows + self.unstated() + self.new + self.slot.new;
        let equal = target / flows.max(1.0 / MOST);
        let rtt = rtt.clamp(LEAST_TIME, LONGEST_RTT);
        let step = params.growth * rtt / (rtt + self.time(capacity, params));
        let load = self.load.max(self.recent);
        let free = (target / load.max(target / MOST) - 1.0).min(MOST_FREE);
        // Who has less than an equal part grows on a full link too, and is not slowed by others.
        let (full, least) = if pace < equal { (FULL * target, 0.0) } else { (target, free) };
        let free = free.max(if load < full { params.catch_up } else { least });
        equal.min(target).max(pace * (1.0 + step * free))
    }

    /// The time constant of what is counted, in s.
    fn time(&self, capacity: f64, params: &Params) -> f64 {
        params.smoothing.secs().max(FEW_BITS / capacity).max(self.rtt * params.round_trips).max(LEAST_TIME)
    }

    /// Ends a slot of `elapsed` s.
    pub(super) fn update(&mut self, elapsed: f64, capacity: f64, offered: u64, waiting: f64, params: &Params) {
        let mut slot = std::mem::take(&mut self.slot);
        let all = offered.saturating_sub(self.offered) as f64;
        self.offered = offered;
        // What the hooks do not see: framing, NACKs, other traffic.
        slot.others += (all - slot.bits).max(0.0);
        if slot.timed > 0.0 {
            self.is_timed = true;
            let gain = (elapsed / self.rtt).min(1.0);
            self.rtt += gain * (slot.times / slot.timed - self.rtt);
        }
        let time = self.time(capacity, params);
        // What a newcomer sends is counted a round trip later, and then within a time constant.
        let unseen = 2.0 * if self.is_timed { time } else { time.max(FARTHEST) };
        self.new = self.new * (1.0 - (elapsed / unseen).min(1.0)) + slot.new;
        let gain = (elapsed / time).min(1.0);
        self.highest = (self.highest * (1.0 - (elapsed / FORGET).min(1.0))).max(slot.highest);
        self.load += gain * (all / elapsed - self.load);
        self.recent += RECENT * (all / elapsed - self.recent);
        self.flows += gain * (slot.flows / elapsed - self.flows);
        self.bound += gain * (slot.bound / elapsed - self.bound);
        self.others += gain * (slot.others / elapsed - self.others);
        let most = STATED_SLACK * self.stated.count();
        (self.flows, self.bound) = (self.flows.min(most), self.bound.min(most));
        self.stated.pass(elapsed, STATED_WINDOW.max(4.0 * time));
        self.unstated.pass(elapsed, time);
        self.newcomers.pass(elapsed, unseen);
        let rtt = self.rtt.max(elapsed).max(params.smoothing.secs());
        // Others wait in queues of their own.
        let own = waiting * (1.0 - (self.others / self.load.max(1.0)).min(1.0));
        let free = (params.utilization * capacity - params.drain * own / rtt).max(capacity * params.least);
        self.free = free;
        let wanted = free / (self.bound + self.unstated() + self.new).max(1.0 / MOST);
        // What is counted is smooth already: only a rise, which flows have yet to follow, takes its time.
        let change = (wanted / self.level - 1.0).min(1.0);
        let change = if change > 0.0 { change * gain.min(0.5) } else { change };
        let target = params.utilization * capacity;
        self.most = self.reach(self.highest, self.rtt, capacity, params);
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

#[cfg(test)]
mod tests {
    use super::*;

    const C: f64 = 10e6;

    /// A slot of 10 ms with flows of (pace, bits), after which `offered` bits were offered since the start.
    fn slot(level: &mut Level, flows: &[(f64, f64)], offered: &mut u64, waiting: f64) {
        for (flow, &(pace, bits)) in (100..).zip(flows) {
            level.count(FlowId(flow), bits, Some(pace), 0.02, 0.1);
            *offered += bits as u64;
        }
        level.update(0.01, C, *offered, waiting, &Params::default());
    }

    // C = 10 Mbit/s, target 9.9. Two flows of 4.95 Mbit/s fill 10 ms with 49 500 bit each. Gain 0.01/0.1 = 0.1. Flows 0.1 ·
    // 2; bound: each counts 4.95/10 < 0.8 as that, 0.1 · 0.99; wanted = 9.9/0.099 = 100 Mbit/s: the level, 10 at first,
    // rises by its most, 0.1 · 1. The highest pace, 4.95, could reach
    // its part, 9.9/0.2, up to the target.
    #[test]
    fn one_slot_is_as_computed_by_hand() {
        let (mut level, mut offered) = (Level::new(C, 0), 0);
        slot(&mut level, &[(4.95e6, 49_500.0); 2], &mut offered, 0.0);
        assert!((level.flows - 0.2).abs() < 1e-12 && (level.bound - 0.099).abs() < 1e-12);
        assert!((level.level - 11e6).abs() < 1e-3 && (level.most - 9.9e6).abs() < 1e-3, "{level:?}");
        assert!((level.rtt - (0.1 + 0.1 * (0.02 - 0.1))).abs() < 1e-12);
    }

    #[test]
    fn flows_that_are_held_here_share_the_link_and_those_held_elsewhere_leave_the_rest() {
        for (others, each) in [(&[][..], 4.95e6), (&[(1e6, 1e4)][..], 4.45e6)] {
            let (mut level, mut offered) = (Level::new(C, 0), 0);
            let mut pace = 1e6;
            for _ in 0..3000 {
                let mut flows = vec![(pace, pace * 0.01); 2];
                flows.extend_from_slice(others);
                slot(&mut level, &flows, &mut offered, 0.0);
                // A flow that follows within two round trips.
                pace += 0.25 * (level.grant(FlowId(0), pace, 0.02, C, &Params::default()) - pace);
            }
            assert!((pace / each - 1.0).abs() < 0.02, "{pace} for {each}");
        }
    }

    // 9.9 Mbit/s for the first that asks, half for the second, a third for the third.
    #[test]
    fn newcomers_share_with_each_other_before_they_are_counted() {
        let mut level = Level::new(C, 0);
        let told = [1, 2, 3].map(|flow| level.grant(FlowId(flow), NO_PACE, 0.0, C, &Params::default()) / 1e6);
        assert!(told.iter().zip([9.9, 4.95, 3.3]).all(|(told, wanted)| (told - wanted).abs() < 1e-9), "{told:?}");
        let again = [1, 2, 3].map(|flow| level.grant(FlowId(flow), NO_PACE, 0.0, C, &Params::default()) / 1e6);
        assert_eq!(again, [told[2]; 3], "each counts once");
    }

    // A flow of 20 Mbit/s of which a hundredth passes here could have 9.9/0.01 = 990 Mbit/s if it stayed a hundredth. It is told
    // a step: f = 8, as the load is 0.2 of 9.9, 20 · (1 + 0.5 · 0.02/0.12 · 8) = 33.3. Beside it one of 1 Mbit/s: the target.
    #[test]
    fn a_flow_of_which_little_passes_is_told_a_step_and_not_what_its_part_could_fill() {
        let (mut level, mut offered) = (Level::new(C, 0), 0);
        for _ in 0..2000 {
            slot(&mut level, &[(20e6, 0.2e4)], &mut offered, 0.0);
        }
        let reach = [20e6, 1e6].map(|pace| level.reach(pace, 0.02, C, &Params::default()) / 1e6);
        assert!((reach[0] - 33.333).abs() < 0.01 && (reach[1] - 9.9).abs() < 1e-9, "{reach:?}");
    }

    // 20 flows of 0.495 Mbit/s fill the target. One of 0.9, above its twentieth, keeps that while nothing is free; one of 0.4 is
    // told its twentieth.
    #[test]
    fn on_a_full_link_flows_grow_up_to_their_equal_part_alone() {
        let (mut level, mut offered) = (Level::new(C, 0), 0);
        for _ in 0..2000 {
            slot(&mut level, &[(0.495e6, 4950.0); 20], &mut offered, 0.0);
        }
        let reach = [0.9e6, 0.4e6].map(|pace| level.reach(pace, 0.02, C, &Params::default()) / 1e6);
        assert!((reach[0] - 0.9).abs() < 1e-3 && (reach[1] - 0.495).abs() < 1e-3, "{reach:?}");
    }

    // 50 kB wait: 0.25 · 400 000 bit / 0.1 s = 1 Mbit/s less for the flow.
    #[test]
    fn a_queue_is_given_back_within_round_trips() {
        let settled = |waiting| {
            let (mut level, mut offered, mut pace) = (Level::new(C, 0), 0, 9.9e6);
            for _ in 0..2000 {
                slot(&mut level, &[(pace, pace * 0.01)], &mut offered, waiting);
                pace = level.grant(FlowId(0), pace, 0.02, C, &Params::default());
            }
            pace / 1e6
        };
        let (empty, full) = (settled(0.0), settled(400_000.0));
        assert!((empty - 9.9).abs() < 0.1 && (full - 8.9).abs() < 0.1, "{empty} {full}");
    }

    // Two others take whatever is left of the link, and state no pace: each counts as one flow, 9.9/3 Mbit/s.
    #[test]
    fn flows_without_a_pace_get_no_more_than_a_level_each() {
        let (mut level, mut offered, mut pace) = (Level::new(C, 0), 0, 9.9e6);
        for _ in 0..3000 {
            let rest = ((C - pace) * 0.01).max(0.0);
            for flow in [7, 8] {
                level.count(FlowId(flow), rest / 2.0, None, 0.0, 0.1);
            }
            offered += rest as u64;
            slot(&mut level, &[(pace, pace * 0.01)], &mut offered, 0.0);
            pace += 0.25 * (level.grant(FlowId(0), pace, 0.02, C, &Params::default()) - pace);
        }
        assert!((pace / 3.3e6 - 1.0).abs() < 0.05, "{pace} {level:?}");
    }

    // At 0.9 of the level and above a flow counts in full, below 0.8 by its pace, in between on a line: 0.85 as 0.9.
    #[test]
    fn flows_near_the_level_count_in_full() {
        let weights = [2.0, 1.0, 0.9, 0.85, 0.8, 0.5, 0.0].map(|ratio| weight(ratio, 0.1));
        assert!(weights.iter().zip([1.0, 1.0, 1.0, 0.9, 0.8, 0.5, 0.0]).all(|(is, wanted)| (is - wanted).abs() < 1e-9));
    }

    // Ten flows of 0.1 Mbit/s, load 1 of a target of 9.9: free 8, rtt 0.02, τ 0.1. Each may have its tenth, 0.99, or x · (1 + g ·
    // 0.02/0.12 · 8): for x = 0.9 and g = 0.5 that is 1.5. On a full link, load 9.9 of it, f = `catch-up`: 0.99 · (1 + 0.5 · 0.02/0.12
    // · 0.5) = 1.03125. With 10 Gbit waiting flows get `least` · C, shared by ten.
    #[test]
    fn growth_catch_up_and_least_set_what_flows_may_have() {
        let settled = |each: f64, waiting: f64, params: &Params| {
            let (mut level, mut offered) = (Level::new(C, 0), 0);
            for _ in 0..2000 {
                for flow in 0..10 {
                    level.count(FlowId(flow), each * 0.01, Some(each), 0.02, 0.1);
                }
                offered += (each * 0.1) as u64;
                level.update(0.01, C, offered, waiting, params);
            }
            level
        };
        let with = |change: fn(&mut Params)| {
            let mut params = Params::default();
            change(&mut params);
            params
        };
        for (params, wanted) in [(Params::default(), 1.5e6), (with(|p| p.growth = 1.0), 2.1e6)] {
            let reach = settled(0.1e6, 0.0, &params).reach(0.9e6, 0.02, C, &params);
            assert!((reach / wanted - 1.0).abs() < 1e-6, "{reach} {wanted}");
        }
        for (params, wanted) in [(Params::default(), 1.03125e6), (with(|p| p.catch_up = 1.0), 1.0725e6)] {
            let reach = settled(0.99e6, 0.0, &params).reach(0.99e6, 0.02, C, &params);
            assert!((reach / wanted - 1.0).abs() < 1e-3, "{reach} {wanted}");
        }
        for (params, wanted) in [(Params::default(), 0.05e6), (with(|p| p.least = 0.1), 0.1e6)] {
            let level = settled(0.99e6, 1e10, &params).level;
            assert!((level / wanted - 1.0).abs() < 1e-3, "{level} {wanted}");
        }
    }

    // Two honest flows and one that sends 1 Mbit/s and states 2 kbit/s, as if it were 500 flows: it counts as what it sends,
    // (9.9 − 1)/2, since its pace is below the level; of all flows at most 1.1 times as many count as there are.
    #[test]
    fn who_states_too_little_counts_as_what_it_sends() {
        let (mut level, mut offered, mut pace) = (Level::new(C, 0), 0, 1e6);
        for _ in 0..3000 {
            level.count(FlowId(2), 1e4, Some(2e3), 0.02, 0.1);
            offered += 10_000;
            slot(&mut level, &[(pace, pace * 0.01); 2], &mut offered, 0.0);
            pace += 0.25 * (level.grant(FlowId(1), pace, 0.02, C, &Params::default()) - pace);
        }
        assert!((pace / 4.45e6 - 1.0).abs() < 0.02, "{pace}");
        assert!(level.flows <= 3.3 + 1e-9, "{}", level.flows);
    }

    #[test]
    fn what_a_liar_states_leaves_the_level_finite_and_bounded() {
        let (mut level, mut offered) = (Level::new(C, 0), 0);
        for i in 0..2000 {
            let pace = [1e3, 4.3e15, 0.0, 5e6][i % 4];
            slot(&mut level, &[(pace, 9e4), (5e6, 5e4)], &mut offered, [0.0, 1e12][i % 2]);
            let told = level.grant(FlowId(0), pace, 0.02, C, &Params::default());
            assert!(told.is_finite() && told > 0.0 && level.level <= MOST * C, "{level:?}");
        }
    }
}
