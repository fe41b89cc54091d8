//! One direction of a link: the packets in flight, and their impairments.

#[cfg(test)]
mod tests;

use crate::burst::BurstState;
use crate::impairment::Impairment;
use crate::ring::Ring;
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::{Duration, Time};
use ndnweir_prefetch::prefetch;

/// A packet that a sender has put on the link, perhaps with its transmission still in the future.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct InFlight {
    /// When its last bit arrives.
    pub arrival: Time,
    /// The packet.
    pub packet: Packet,
    /// [`InFlight::channel`], [`LOST`] and [`COPY`].
    channel: u32,
    /// Its number among the packets sent on the link; a copy has the number of the original.
    pub number: u32,
    /// Extra delay of this packet, in nanoseconds.
    lag: u32,
    /// See [`InFlight::age`].
    age: u32,
}

/// Of [`InFlight::channel`]: the packet is lost, which is noticed where it would have arrived.
const LOST: u32 = 1 << 31;
/// Of [`InFlight::channel`]: it is the second of two.
const COPY: u32 = 1 << 30;
/// The most channels.
pub const MAX_CHANNELS: u32 = COPY;

impl InFlight {
    /// Its neighbourhood, by which switches forward it.
    #[inline]
    pub fn channel(&self) -> u32 {
        self.channel & !(LOST | COPY)
    }

    /// Whether it is lost, which is noticed where it would have arrived.
    #[inline(always)]
    pub fn is_lost(&self) -> bool {
        self.is(LOST)
    }

    fn is(&self, flag: u32) -> bool {
        self.channel & flag != 0
    }

    fn set(&mut self, flag: u32, on: bool) {
        self.channel = if on { self.channel | flag } else { self.channel & !flag };
    }

    /// Moves the arrival.
    fn arrive_at(&mut self, arrival: Time) {
        let joined = self.arrival - Duration::from_nanos(self.age.into());
        self.age = age(joined, arrival);
        self.arrival = arrival;
    }
}

/// Nanoseconds between joining and arrival; longer ones than 4.29 s are treated as equal.
#[inline]
fn age(joined: Time, arrival: Time) -> u32 {
    arrival.since(joined).nanos().min(u32::MAX.into()) as u32
}

/// What a link does with the packets sent on it, counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
#[repr(C)]
pub struct LinkTotals {
    /// Put on it by the sender.
    pub sent: u64,
    /// Arrived, copies included.
    pub arrived: u64,
    /// Of these, taken back because the link or node failed before they had left.
    pub revoked: u64,
    /// Extra arrivals.
    pub copies: u64,
    /// Lost by the loss model, copies included.
    pub lost: u64,
    /// Lost in flight when the link failed.
    pub down: u64,
}

/// The propagation from one egress to the next node. What a packet needs that arrives comes first, then what one needs
/// that is sent: with 16 bytes before it, a cache line each.
#[derive(Debug, ndnweir_state::State)]
#[repr(C)]
pub struct Propagation {
    /// Packets in flight, in order of arrival.
    ring: Ring<InFlight>,
    /// When the second of them arrives. It is read one arrival before it is needed, as with many packets in flight it has
    /// to come from far memory.
    following: Time,
    /// See [`LinkTotals::arrived`].
    arrived: u64,
    /// How long before its arrival the second joined the sender's queue, in nanoseconds.
    following_age: u32,
    perfect: bool,
    /// The latest arrival so far: without reordering nothing arrives earlier.
    last_arrival: Time,
    delay: Duration,
    /// See [`LinkTotals::sent`].
    sent: u64,
    next_number: u32,
    /// But for those above.
    totals: LinkTotals,
    impairment: Impairment,
    seed: u64,
    directed_link: u32,
    /// The state of the burst losses at the last packet.
    burst: BurstState,
}

/// Labels of the random streams of links (see [`Rng::derive`]).
const STREAM: u64 = 0x6c69_6e6b;

impl Propagation {
    /// The bytes of it that a packet needs that arrives.
    pub const FOR_ARRIVALS: usize = std::mem::offset_of!(Propagation, last_arrival);

    /// An empty one.
    pub fn new(delay: Duration, impairment: Impairment, seed: u64, directed_link: u32) -> Propagation {
        Propagation {
            ring: Ring::new(),
            following: Time::NEVER,
            arrived: 0,
            following_age: 0,
            sent: 0,
            delay,
            impairment,
            perfect: impairment.is_none(),
            seed,
            directed_link,
            next_number: 0,
            burst: BurstState { number: 0, bad: false },
            last_arrival: Time::ZERO,
            totals: LinkTotals::default(),
        }
    }

    /// Counts.
    pub fn totals(&self) -> LinkTotals {
        LinkTotals { sent: self.sent, arrived: self.arrived, ..self.totals }
    }

    /// When the next packet arrives.
    #[inline]
    pub fn next_arrival(&self) -> Time {
        self.ring.first().map_or(Time::NEVER, |first| first.arrival)
    }

    /// How long before its arrival the next packet joined the sender's queue, in nanoseconds: of packets that reach a
    /// node at one instant over several links, the one that joined first comes first. 4.29 s at most.
    #[inline]
    pub fn next_age(&self) -> u32 {
        self.ring.first().map_or(0, |first| first.age)
    }

    /// Reads the second arrival, after any change of the ring but at its end.
    #[inline(always)]
    fn read_second(&mut self) {
        let second = self.ring.get(1);
        (self.following, self.following_age) = second.map_or((Time::NEVER, 0), |second| (second.arrival, second.age));
    }

    /// Packets in flight, waiting in the sender's queue included if their departure is already known.
    pub fn in_flight(&self) -> usize {
        self.ring.len()
    }

    /// Sends a packet that joined its sender's queue at `joined` and whose last bit leaves at `end`. Returns how many
    /// more are in flight, and whether the next arrival may have changed.
    #[inline(always)]
    pub fn send(&mut self, packet: &Packet, channel: u32, joined: Time, end: Time) -> (u64, bool) {
        self.sent += 1;
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let arrival = end + self.delay;
        let age = age(joined, arrival);
        if !self.perfect || arrival < self.last_arrival {
            return self.send_impaired(InFlight { arrival, packet: *packet, channel, number, lag: 0, age });
        }
        self.last_arrival = arrival;
        let entry = self.ring.append();
        // Written one by one, as the compiler would first put the whole together elsewhere.
        entry.packet = *packet;
        entry.arrival = arrival;
        entry.channel = channel;
        entry.number = number;
        entry.lag = 0;
        entry.age = age;
        if self.following == Time::NEVER {
            return (1, self.begin(arrival, age));
        }
        (1, false)
    }

    /// A packet is the first or the second in flight. Whether it is the first.
    #[inline(never)]
    fn begin(&mut self, arrival: Time, age: u32) -> bool {
        let first = self.ring.len() == 1;
        if !first {
            (self.following, self.following_age) = (arrival, age);
        }
        first
    }

    /// A draw for one packet and one purpose: every packet has its own, so that switching one impairment on, or
    /// changing it during a run, does not affect other draws.
    fn draw(&self, number: u32, purpose: u64) -> Rng {
        Rng::derive(self.seed, &[STREAM, self.directed_link.into(), purpose, number.into()])
    }

    fn is_lost(&mut self, number: u32) -> bool {
        let lost = self.impairment.loss > 0.0 && self.draw(number, 0).unit() < self.impairment.loss;
        let Some(model) = self.impairment.burst else { return lost };
        let bad = model.state(number, |n| self.draw(n, 4).unit(), self.burst);
        self.burst = BurstState { number, bad };
        let part = if bad { model.loss_bad } else { model.loss_good };
        lost || (part > 0.0 && self.draw(number, 5).unit() < part)
    }

    /// Whether all attempts of the link layer fail, and the delay of the attempts.
    fn attempts(&self, number: u32) -> (Duration, bool) {
        self.impairment.arq.map_or((Duration::ZERO, false), |arq| arq.draw(&mut self.draw(number, 6)))
    }

    #[inline(never)]
    fn send_impaired(&mut self, mut entry: InFlight) -> (u64, bool) {
        let before = self.ring.len();
        let Impairment { duplicate, jitter, reorder, reorder_delay, .. } = self.impairment;
        entry.set(LOST, self.is_lost(entry.number));
        if jitter > Duration::ZERO {
            entry.lag = self.draw(entry.number, 2).below(jitter.nanos().saturating_add(1)) as u32;
        }
        if reorder > 0.0 && self.draw(entry.number, 3).unit() < reorder {
            entry.lag = entry.lag.saturating_add(reorder_delay.nanos() as u32);
        }
        let (delay, given_up) = self.attempts(entry.number);
        entry.lag = entry.lag.saturating_add(u32::try_from(delay.nanos()).unwrap_or(u32::MAX));
        entry.set(LOST, entry.is(LOST) || given_up);
        entry.arrive_at(entry.arrival + Duration::from_nanos(entry.lag.into()));
        self.insert(entry);
        if duplicate > 0.0 && self.draw(entry.number, 1).unit() < duplicate {
            self.totals.copies += 1;
            entry.set(COPY, true);
            self.insert(entry);
        }
        ((self.ring.len() - before) as u64, true)
    }

    fn insert(&mut self, mut entry: InFlight) {
        if self.impairment.reorders() {
            self.ring.insert(entry, |other| other.arrival > entry.arrival);
        } else {
            entry.arrive_at(entry.arrival.max(self.last_arrival));
            *self.ring.append() = entry;
        }
        self.last_arrival = self.last_arrival.max(entry.arrival);
        self.read_second();
    }

    /// The packet that arrives next, lost or not.
    #[inline(always)]
    pub fn first(&self) -> Option<&InFlight> {
        self.ring.first()
    }

    /// The packet that arrives now, if it was not lost. It stays in its place until [`Propagation::clear_first`].
    #[inline]
    pub fn arrive(&mut self) -> Option<&mut InFlight> {
        let first = self.ring.first_mut()?;
        if first.is(LOST) {
            self.totals.lost += 1;
            return None;
        }
        self.arrived += 1;
        Some(first)
    }

    /// Removes the first packet, which has arrived or was lost: [`Propagation::arrive`] and [`Propagation::clear_first`].
    /// When the next one arrives, and its age.
    #[inline(always)]
    pub fn pass_first(&mut self, lost: bool) -> (Time, u32) {
        if lost {
            self.totals.lost += 1;
        } else {
            self.arrived += 1;
        }
        let next = (self.following, self.following_age);
        self.clear_first();
        next
    }

    /// What [`Propagation::pass_first`] will give.
    #[inline(always)]
    pub fn next_after_first(&self) -> (Time, u32) {
        (self.following, self.following_age)
    }

    /// Asks for the memory of the first packet and of when the second arrives.
    #[inline(always)]
    pub fn prefetch_first(&self) {
        self.ring.first().into_iter().for_each(prefetch);
        self.ring.get(1).into_iter().for_each(prefetch);
    }

    /// Asks for the memory of the next packet that is sent.
    #[inline(always)]
    pub fn prefetch_next(&self) {
        self.ring.free().into_iter().for_each(prefetch);
    }

    /// Removes the packet that has arrived.
    #[inline(always)]
    pub fn clear_first(&mut self) {
        if let Some(second) = self.ring.remove_first() {
            (self.following, self.following_age) = (second.arrival, second.age);
        } else {
            (self.following, self.following_age) = (Time::NEVER, 0);
            self.ring.relax();
        }
    }

    /// Gives the last packets sent new departures; `departures` are (start, end) of the latest of them, oldest first.
    pub fn reschedule(&mut self, departures: &[(Time, Time)]) {
        let first = self.next_number.wrapping_sub(departures.len() as u32);
        let delay = self.delay;
        for entry in self.ring.as_mut_slice() {
            let place = entry.number.wrapping_sub(first) as usize;
            if let Some(&(_, end)) = departures.get(place) {
                entry.arrive_at(end + delay + Duration::from_nanos(entry.lag.into()));
            }
        }
        self.compact();
    }

    /// The least time between the end of a transmission and the arrival.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Whether one packet sent may arrive twice.
    pub fn duplicates(&self) -> bool {
        self.impairment.duplicate > 0.0
    }

    /// Changes the propagation delay for packets that have not left completely at `now`.
    pub fn set_delay(&mut self, now: Time, delay: Duration) {
        let old = self.delay;
        self.delay = delay;
        for entry in self.ring.as_mut_slice() {
            let lag = Duration::from_nanos(entry.lag.into());
            let end = entry.arrival - lag - old;
            if end > now {
                entry.arrive_at(end + delay + lag);
            }
        }
        self.compact();
    }

    /// Changes the loss probability for packets that have not left completely at `now`.
    pub fn set_loss(&mut self, now: Time, loss: f64) {
        self.impairment.loss = loss;
        self.perfect = self.impairment.is_none();
        for i in 0..self.ring.len() {
            let Some(&InFlight { arrival, lag, number, .. }) = self.ring.get(i) else { return };
            if arrival - Duration::from_nanos(lag.into()) - self.delay > now {
                let lost = self.is_lost(number) || self.attempts(number).1;
                if let Some(entry) = self.ring.get_mut(i) {
                    entry.set(LOST, lost);
                }
            }
        }
    }

    /// The number of the first of the latest `unsent` packets. It is used again: a queue that hands packets over only
    /// when they start has not numbered those that wait.
    fn reuse_numbers(&mut self, unsent: usize) -> u32 {
        self.next_number = self.next_number.wrapping_sub(unsent as u32);
        self.next_number
    }

    /// The link fails: the latest `unsent` packets never left, and all others are lost in flight.
    pub fn cut(&mut self, unsent: usize) {
        let first = self.reuse_numbers(unsent);
        let totals = &mut self.totals;
        self.ring.retain(|entry| {
            let revoked = (entry.number.wrapping_sub(first) as usize) < unsent;
            match (revoked, entry.is(COPY), entry.is(LOST)) {
                (true, true, _) => totals.copies -= 1,
                (true, false, _) => totals.revoked += 1,
                (false, _, true) => totals.lost += 1,
                (false, _, false) => totals.down += 1,
            }
            false
        });
        self.last_arrival = Time::ZERO;
        self.read_second();
    }

    /// The sender fails: the latest `unsent` packets never left; those in flight continue.
    pub fn revoke(&mut self, unsent: usize) {
        let first = self.reuse_numbers(unsent);
        let totals = &mut self.totals;
        self.ring.retain(|entry| {
            let revoked = (entry.number.wrapping_sub(first) as usize) < unsent;
            match (revoked, entry.is(COPY)) {
                (true, true) => totals.copies -= 1,
                (true, false) => totals.revoked += 1,
                (false, _) => {}
            }
            !revoked
        });
        self.last_arrival = self.ring.last().map_or(Time::ZERO, |last| last.arrival);
        self.read_second();
    }

    /// Restores the order of arrival after instants were rewritten.
    fn compact(&mut self) {
        if self.impairment.reorders() {
            self.ring.as_mut_slice().sort_by_key(|entry| entry.arrival);
        } else {
            let mut latest = Time::ZERO;
            for entry in self.ring.as_mut_slice() {
                entry.arrive_at(entry.arrival.max(latest));
                latest = entry.arrival;
            }
        }
        self.last_arrival = self.ring.last().map_or(Time::ZERO, |last| last.arrival);
        self.read_second();
    }

    /// Whether every packet sent is accounted for.
    pub fn is_accounted_for(&self) -> bool {
        let t = self.totals();
        t.sent + t.copies == t.revoked + t.arrived + t.lost + t.down + self.ring.len() as u64
    }
}
