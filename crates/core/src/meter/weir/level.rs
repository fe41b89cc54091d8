//! The level of one egress link, from what its packets say.

mod counting;

use super::Params;
use super::flow_set::{FlowSet, Place};
use super::parts::Parts;
use crate::ids::FlowId;
use crate::shared::explicit::NO_PACE;
use crate::shared::number::{greater, lesser};
pub(super) use counting::Said;

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
/// A flow that states a pace counts until it has been silent for one to two times as long as these bits take at the
/// level, some six Data: who is slower than the level counts by its rate, and is seen as often.
const SILENT_BITS: f64 = 50e3;
/// For so many slots at least: what passes in one is chance.
const SILENT_SLOTS: f64 = 2.0;
/// And in mean round trips: windows come in bursts, and a flow may wait for a whole one.
const SILENT_ROUND_TRIPS: f64 = 2.0;
/// And for so many s at most, or four time constants.
const SILENT: f64 = 2.0;
/// The highest pace is forgotten within so many s: who probes a link comes seldom.
const FORGET: f64 = 2.0;
/// Above this multiple of its target a link has no room for flows that are below the level.
const FULL: f64 = 1.02;
/// By how much the load of one slot moves that of the last slots.
const RECENT: f64 = 0.5;
/// More bits than these wait, some four Data, where the load of the last slots is no chance.
const SOME_WAIT: f64 = 32e3;
/// What the level of a link counts as in the soft least of flows of which Interests alone pass, over itself: they take less
/// of the link than Data, but wait for it all the same. Fitted, among 1.05, 1.125, 1.25 and what follows from their size.
const OF_INTERESTS: f64 = 1.125;
/// What is left of paces at least when they are cut, so that who counts the flows has time to follow.
const LEAST_SQUEEZE: f64 = 0.8;
/// A packet that was dropped tells of an overload in so many slots.
const DROPPING: u8 = 3;
/// In so many times what flows take to follow, the level rises by as large a part of itself as the link has free. Fitted,
/// with the next, among 2.5, 5 and 10.
const LIFT_REACTIONS: f64 = 10.0;
/// The most that this gives, among 0.05, 0.1 and 0.2: flows may come to be held here at any time, and then it is too much.
/// Less where flows take longer for some Data than counts are smoothed: there counts are chance.
const MOST_LIFT: f64 = 0.1;
/// What is counted is the mean of at least so many bits: some 50 Data.
const FEW_BITS: f64 = 400e3;
/// Where packets are smaller, of so many: a link may carry Interests alone.
const FEW_PACKETS: f64 = 50.0;
/// And of at least so many bits of a flow at the level, some two Data: who sends one in a second is seen once in a
/// second, and flows that began together are seen together.
const FEW_BITS_OF_FLOW: f64 = 20e3;
/// But of no more than so many s, the gap of Data at the lowest pace that counts.
const LONGEST_TIME: f64 = 4.0;
/// On a link that had no flows until less than so many s ago there is nothing yet that `smoothing` could hold steady, and
/// counts are to come from 1, a newcomer, to the part that passes. Fitted, with the next, among 0.3, 0.5 and 1.
const YOUNG: f64 = 0.5;
/// How many slots take its place there, among 0, 1 and 2.
const SLOTS_WHILE_YOUNG: f64 = 2.0;
/// A slot's mean changes its time constant at most to this part of the constant.
const LEAST_TIME: f64 = 1e-3;

/// The level of one egress link.
#[derive(Clone, Debug, ndnweir_state::Value)]
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
    /// What is left of paces while more comes than the link carries; else 1.
    squeeze: f64,
    /// How far the level is above an equal part of what is free, as a factor: more, the longer the link has not been full.
    /// Flows close to the level count as held here, though another link may hold them; levels are rounded down. 1 on a link
    /// that is young, and where packets were dropped.
    lift: f64,
    /// The most bits that had been dropped by the end of a slot, and in how many slots this counts as of late.
    dropped: u64,
    dropping: u8,
    /// Flows that the link carries, each by the part of its rate that passes here.
    flows: f64,
    /// The same, but those that are bound elsewhere count by their rate over the level only.
    bound: f64,
    /// Flows of late whose packets state no pace, or that the hooks do not see.
    unstated: FlowSet,
    /// Flows whose packets state one and that are not silent: all flows count as no more than these.
    stated: FlowSet,
    /// Of these, in bit/s.
    others: f64,
    /// Flows that have said that they end, and are not counted any more.
    ending: FlowSet,
    /// What each flow adds to the flows and the bound flows.
    parts: Parts,
    /// The time constant of what is counted, in s, in the last slot.
    period: f64,
    /// Flows that asked for the first time a short while ago, and have not sent by a pace yet: how many, and which.
    new: f64,
    newcomers: FlowSet,
    /// The highest pace of a flow, not long ago.
    highest: f64,
    /// Mean round-trip time in s, and whether a packet has told one.
    rtt: f64,
    is_timed: bool,
    /// Bits of the packet that a bit is in, the mean over so many bits of late.
    size: f64,
    sized: f64,
    /// For how many s there have been flows.
    age: f64,
    /// Bits offered up to the last slot.
    offered: u64,
    slot: Slot,
    /// Recorded last.
    pub(super) recorded: f64,
    /// A level and [`Level::time`] with it.
    #[state(skip)]
    kept_time: Option<(f64, f64)>,
}

/// What passed in this slot.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Slot {
    /// Bits.
    bits: f64,
    /// Of each packet squared.
    squares: f64,
    /// Bits over the flow's rate: seconds.
    flows: f64,
    bound: f64,
    /// Bits of packets without a pace.
    others: f64,
    /// Sum of round-trip times in s, each times its bits, and of these bits.
    times: f64,
    timed: f64,
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
            squeeze: 1.0,
            lift: 1.0,
            dropped: 0,
            dropping: 0,
            flows,
            bound,
            unstated: FlowSet::default(),
            stated: FlowSet::default(),
            newcomers: FlowSet::default(),
            ending: FlowSet::default(),
            parts: Parts::default(),
            period: FIRST_RTT,
            others: 0.0,
            new: 0.0,
            highest: 0.0,
            rtt: FIRST_RTT,
            is_timed: false,
            size: FEW_BITS / FEW_PACKETS,
            sized: 0.0,
            age: 0.0,
            offered,
            slot,
            recorded: 0.0,
            kept_time: None,
        }
    }

    /// The link's capacity is known from now on; until then it was more than flows could fill, so that none was held here.
    pub(super) fn begin(&mut self, capacity: f64, params: &Params) {
        let target = params.utilization * capacity;
        self.kept_time = None;
        (self.level, self.free, self.bound) = (target, target, self.flows);
        self.level = self.wanted();
        self.most = self.level;
    }

    /// How many flows of this link's level those are that state no pace: by what they send, and no more than they are.
    fn unstated(&self) -> f64 {
        let by_load = self.others / self.level;
        // What the hooks do not see is one flow at least, so that less need not be compared with how many there are.
        if by_load <= 1.0 { by_load } else { lesser(by_load, greater(self.unstated.count(), 1.0)) }
    }

    /// What a flow of this pace may have in all: its part when all are equal, or what fills the link when all grow as it
    /// does, up to the level.
    pub(super) fn grant(&mut self, flow: FlowId, pace: f64, rtt: f64, capacity: f64, params: &Params) -> f64 {
        if pace <= NO_PACE {
            self.begins(flow);
        }
        lesser(self.level, self.reach(pace, rtt, capacity, params))
    }

    /// A packet of a flow that has no pace yet passes.
    #[inline(never)]
    fn begins(&mut self, flow: FlowId) {
        if self.newcomers.saw(Place::of(flow)) {
            self.new += 1.0;
            // Those who are here hear of it in time: what they send on it comes no earlier than the newcomer's.
            self.level = lesser(self.level, self.wanted());
        }
    }

    /// Bits of this slot so far that the hooks have seen.
    pub(super) fn passed(&self) -> f64 {
        self.slot.bits
    }

    /// The level as it counts in the soft least of a flow of which Interests alone pass here.
    pub(super) fn of_interests(&self) -> f64 {
        OF_INTERESTS * self.level
    }

    /// What is free, for each of the flows that this link holds.
    fn wanted(&self) -> f64 {
        self.free / self.held()
    }

    /// Flows that this link holds.
    fn held(&self) -> f64 {
        greater(self.bound + self.unstated() + self.new, 1.0 / MOST)
    }

    /// The level as flows may follow it whose own pace and round trip are not known.
    pub(super) fn told(&self) -> f64 {
        lesser(self.level, self.most)
    }

    /// What flows of this pace and round trip may have: their equal part as if all of it passed here, or what fills the
    /// link if all grow as they do. A flow of which little passes could have more at once, but its part here grows, and
    /// what counts it lags.
    fn reach(&self, pace: f64, rtt: f64, capacity: f64, params: &Params) -> f64 {
        let target = params.utilization * capacity;
        let flows = self.flows + self.unstated() + self.new;
        let equal = target / greater(flows, 1.0 / MOST);
        let least = lesser(equal, target);
        if self.squeeze < 1.0 {
            return self.squeeze * greater(least, pace);
        }
        let rtt = lesser(greater(rtt, LEAST_TIME), LONGEST_RTT);
        let step = params.growth * rtt / (rtt + self.kept_time(capacity, params));
        let load = greater(self.load, self.recent);
        let free = lesser(target / greater(load, target / MOST) - 1.0, MOST_FREE);
        // Who has less than an equal part grows on a full link too, and is not slowed by others.
        let (full, at_least) = if pace < equal { (FULL * target, 0.0) } else { (target, free) };
        let free = greater(free, if load < full { params.catch_up } else { at_least });
        greater(least, pace * (1.0 + step * free))
    }

    /// The part of the paces of all that the link carries, where more has come for some time and waits, or where what came
    /// of late was dropped. What others send beyond their part waits and is dropped in queues of their own.
    fn squeezed(&mut self, target: f64, waiting: f64, dropped: u64) -> f64 {
        self.dropping = if dropped > self.dropped { DROPPING } else { self.dropping.saturating_sub(1) };
        self.dropped = self.dropped.max(dropped);
        let long = if waiting > SOME_WAIT { self.load } else { 0.0 };
        let short = if self.dropping > 0 { self.recent } else { 0.0 };
        let load = greater(long, short) * self.stated_part();
        let room = target - self.unstated() * self.level;
        if load > FULL * room { greater(room / load, LEAST_SQUEEZE) } else { 1.0 }
    }

    /// [`Level::lift`] after `reactions` more of a load that is not all that is free, or more.
    fn lifted(&self, reactions: f64, target: f64, params: &Params) -> f64 {
        let most = 1.0 + MOST_LIFT * lesser(params.smoothing.secs() / self.own_time(), 1.0);
        let spare = (self.free - self.load) / target;
        lesser(greater(self.lift + reactions / LIFT_REACTIONS * spare, 1.0), most)
    }

    /// The part of the load whose packets state a pace.
    fn stated_part(&self) -> f64 {
        1.0 - lesser(self.others / greater(self.load, 1.0), 1.0)
    }

    /// [`Level::time`], which only the end of a slot and the level change.
    fn kept_time(&self, capacity: f64, params: &Params) -> f64 {
        match self.kept_time {
            Some((level, time)) if level == self.level => time,
            _ => self.time(capacity, params),
        }
    }

    /// The time constant of what is counted, in s.
    fn time(&self, capacity: f64, params: &Params) -> f64 {
        let few = lesser(FEW_BITS, FEW_PACKETS * self.size);
        let smoothing = if self.age < YOUNG { SLOTS_WHILE_YOUNG * params.slot.secs() } else { params.smoothing.secs() };
        let least = greater(greater(smoothing, few / capacity), self.own_time());
        greater(greater(least, self.rtt * params.round_trips), LEAST_TIME)
    }

    /// How long a flow at the level takes for some Data, in s.
    fn own_time(&self) -> f64 {
        lesser(FEW_BITS_OF_FLOW / self.level, LONGEST_TIME)
    }

    /// Ends a slot of `elapsed` s.
    pub(super) fn update(
        &mut self,
        elapsed: f64,
        capacity: f64,
        offered: u64,
        waiting: f64,
        dropped: u64,
        params: &Params,
    ) {
        let mut slot = std::mem::take(&mut self.slot);
        self.kept_time = None;
        let all = offered.saturating_sub(self.offered) as f64;
        self.offered = offered;
        // What the hooks do not see: framing, NACKs, other traffic.
        slot.others += greater(all - slot.bits, 0.0);
        if slot.timed > 0.0 {
            self.is_timed = true;
            let gain = lesser(elapsed / self.rtt, 1.0);
            self.rtt += gain * (slot.times / slot.timed - self.rtt);
        }
        if slot.bits > 0.0 {
            self.sized = lesser(self.sized + slot.bits, FEW_BITS);
            let gain = lesser(slot.bits / self.sized, 1.0);
            self.size += gain * (slot.squares / slot.bits - self.size);
        }
        let most = self.stated.count();
        self.age = if most > 0.0 || !self.newcomers.is_empty() { self.age + elapsed } else { 0.0 };
        let time = self.time(capacity, params);
        // What a newcomer sends is counted a round trip later, and then within a time constant.
        let unseen = 2.0 * if self.is_timed { time } else { greater(time, FARTHEST) };
        self.new *= 1.0 - lesser(elapsed / unseen, 1.0);
        let gain = lesser(elapsed / time, 1.0);
        self.period = time;
        self.parts.fade(gain);
        self.highest = greater(self.highest * (1.0 - lesser(elapsed / FORGET, 1.0)), slot.highest);
        self.load += gain * (all / elapsed - self.load);
        self.recent += RECENT * (all / elapsed - self.recent);
        self.flows += gain * (slot.flows / elapsed - self.flows);
        self.bound += gain * (slot.bound / elapsed - self.bound);
        self.others += gain * (slot.others / elapsed - self.others);
        (self.flows, self.bound) = (lesser(self.flows, most), lesser(self.bound, most));
        let silent = greater(SILENT_BITS / self.level, SILENT_ROUND_TRIPS * self.rtt);
        let silent = greater(lesser(silent, greater(SILENT, 4.0 * time)), SILENT_SLOTS * elapsed);
        self.stated.pass(elapsed, silent);
        self.ending.pass(elapsed, silent);
        self.unstated.pass(elapsed, time);
        self.newcomers.pass(elapsed, unseen);
        // Within so many s flows hear of it and follow.
        let reaction = greater(greater(greater(self.rtt, elapsed), params.smoothing.secs()), self.own_time());
        // Others wait in queues of their own.
        let own = waiting * self.stated_part();
        let target = params.utilization * capacity;
        self.free = greater(target - params.drain * own / reaction, capacity * params.least);
        let is_bare = self.age < YOUNG || self.dropping > 0;
        self.lift = if is_bare { 1.0 } else { self.lifted(elapsed / reaction, target, params) };
        // What is counted is smooth already: only a rise, which flows have yet to follow, takes its time.
        let change = lesser(self.lift * self.wanted() / self.level - 1.0, 1.0);
        let change = if change > 0.0 { change * lesser(gain, 0.5) } else { change };
        self.squeeze = self.squeezed(target, waiting, dropped);
        self.most = self.reach(self.highest, self.rtt, capacity, params);
        let level = greater(self.level * (1.0 + change), params.least * capacity / MOST);
        self.level = lesser(level, MOST * capacity);
        let overloaded = self.load > target || (self.recent > target && waiting > SOME_WAIT);
        if overloaded {
            // The level of a link that was free rose without bound.
            self.level = lesser(self.level, self.most);
        }
        self.kept_time = Some((self.level, self.time(capacity, params)));
    }
}

#[cfg(test)]
mod tests;
