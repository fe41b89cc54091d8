//! Rates of Data that routers write into header fields, and a sender that keeps to one.
//!
//! A field is in kbit/s of Data on the wire. What a neighbour writes is hostile input: any number from 1 to 2³² − 1 is
//! a rate (1 kbit/s to 4.3 Tbit/s) and 0 is none, so there is nothing to divide by and nothing that is not a number; a
//! sender keeps its pace within [`LEAST`] and [`MOST`] whatever it reads. The next Data replaces what was written, so a
//! lie ends a round trip after the liar does. All ours.

use super::sizes::SizeEstimate;
use crate::fields::{Fields, Slot};
use crate::units::{Bytes, Duration, Time};

/// The lowest pace of a sender, in packets/s: below it a true rate would come too seldom to correct a false one.
pub const LEAST: f64 = 1.0;
/// The highest pace of a sender, in packets/s.
pub const MOST: f64 = 100_000_000.0;
/// A sender that wakes late makes up for at most this: timers of real machines are no finer.
const SLACK: Duration = Duration::from_millis(1);
/// The part of its rate that a sender keeps without any answer.
const QUIETEST: f64 = 1.0 / 1024.0;

/// What a consumer states that knows no level yet, in bit/s: the least that a field says.
pub const NO_PACE: f64 = 1000.0;

/// A rate in bit/s as a field: whole kbit/s, at least 1.
pub fn to_field(bps: f64) -> u32 {
    ((bps / 1000.0) as u32).max(1)
}

/// The rate in bit/s of a field; none if it is not present.
pub fn of_field(value: u32) -> Option<f64> {
    (value > 0).then(|| f64::from(value) * 1000.0)
}

/// Bits of a field that hold a round trip: up to 16.7 s.
const ROUND_TRIP_BITS: u32 = 24;
const LONGEST_ROUND_TRIP: u32 = (1 << ROUND_TRIP_BITS) - 1;
/// What is left of a flow is stated up to so many round trips, and in so many parts of one.
pub const MOST_LEFT: f64 = 4.0;
const PARTS: f64 = 254.0 / MOST_LEFT;

/// A round trip as a field: whole microseconds.
pub fn round_trip_to_field(round_trip: Duration) -> u32 {
    u32::try_from(round_trip.nanos() / 1000).unwrap_or(u32::MAX).min(LONGEST_ROUND_TRIP)
}

/// The same, of a flow that sends its last Interest when `left` round trips have passed, 0 to [`MOST_LEFT`]: in the upper
/// eight bits, 1 for none to 255 for the most.
pub fn ending_to_field(round_trip: Duration, left: f64) -> u32 {
    round_trip_to_field(round_trip) | (1 + (left * PARTS) as u32).min(255) << ROUND_TRIP_BITS
}

/// The round trip in s of a field; 0 if it is not present.
pub fn round_trip_of_field(value: u32) -> f64 {
    f64::from(value & LONGEST_ROUND_TRIP) / 1e6
}

/// In how many s the flow of an Interest sends its last one; none if the field does not say.
pub fn end_of_field(value: u32) -> Option<f64> {
    let left = (value >> ROUND_TRIP_BITS).checked_sub(1)?;
    Some(f64::from(left) / PARTS * round_trip_of_field(value))
}

/// Writes a rate in bit/s, unless a smaller one is there.
pub fn lower(fields: &mut Fields, slot: Slot, bps: f64) {
    let there = fields.get(slot);
    // Often a smaller one is there, which is seen without making a field of the rate.
    if there > 0 && bps / 1000.0 >= f64::from(there) {
        return;
    }
    fields.set(slot, to_field(bps));
}

/// Halves for each timeout of an Interest that was sent when all was silent already, until something arrives.
///
/// A rate that only answers change would stay for ever on a path that has gone (RFC 8961, section 4; RFC 9743, section
/// 5.2.1).
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct Silence {
    factor: f64,
    since: Time,
}

impl Default for Silence {
    fn default() -> Silence {
        Silence { factor: 1.0, since: Time::ZERO }
    }
}

impl Silence {
    /// The part of its rate that the sender keeps.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// Something arrived.
    pub fn ended(&mut self, now: Time) {
        *self = Silence { factor: 1.0, since: now };
    }

    /// An Interest that left at `sent` timed out. Whether that halves.
    pub fn timed_out(&mut self, sent: Time, now: Time) -> bool {
        let halves = sent > self.since && self.factor > QUIETEST;
        if halves {
            *self = Silence { factor: self.factor / 2.0, since: now };
        }
        halves
    }
}

/// When the next packet of a stream is due, by its ideal schedule.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Schedule {
    due: Time,
}

impl Schedule {
    /// The next packet is due then.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Puts the next packet to `at`, if it is due later.
    pub fn hasten(&mut self, at: Time) {
        self.due = self.due.min(at);
    }

    /// A packet leaves now, the next is due `gap` after this one was, or [`SLACK`] before now if that is later.
    pub fn sent(&mut self, now: Time, gap: Duration) {
        self.due = self.due.max(Time::from_nanos(now.nanos().saturating_sub(SLACK.nanos()))).min(now) + gap;
    }
}

/// The gap between packets of `bytes` at a rate in bit/s.
pub fn gap(bps: f64, bytes: f64) -> Duration {
    let pace = bps / (8.0 * bytes);
    // A comparison with what is not a number is false.
    let pace = if pace > LEAST { pace.min(MOST) } else { LEAST };
    Duration::from_secs_f64(1.0 / pace)
}

/// Sends one stream at a rate.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct RateSender {
    size: SizeEstimate,
    /// In bit/s; none before the first.
    rate: Option<f64>,
    /// In bit/s.
    limit: f64,
    silence: Silence,
    schedule: Schedule,
    /// How late the last packet left.
    late: Duration,
    cuts: u64,
}

impl RateSender {
    /// Sends nothing by rate until one is set. `size`: a Data's, in bytes on the wire, before the first arrives.
    pub fn new(size: Bytes, rate: Option<f64>) -> RateSender {
        let (silence, schedule) = (Silence::default(), Schedule::default());
        RateSender {
            size: SizeEstimate::new(size),
            rate,
            limit: f64::MAX,
            silence,
            schedule,
            late: Duration::ZERO,
            cuts: 0,
        }
    }

    /// In bit/s; none before the first.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// A Data of this size arrived.
    pub fn on_data(&mut self, size: Bytes, now: Time) {
        self.size.sample(size);
        self.silence.ended(now);
    }

    /// Sends at this rate in bit/s from now on.
    pub fn set(&mut self, bps: f64) {
        self.cuts += u64::from(self.rate.is_some_and(|rate| bps < rate));
        self.rate = Some(bps);
    }

    /// Sends at this rate in bit/s at most, whatever is set.
    pub fn limit(&mut self, bps: f64) {
        self.limit = bps;
    }

    /// Sends nothing by rate until one is set again.
    pub fn clear(&mut self) {
        self.rate = None;
    }

    /// Of a Data on the wire, in bytes: the mean of late.
    pub fn size(&self) -> f64 {
        self.size.bytes()
    }

    /// How often the rate has been lowered.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// An Interest that left at `sent` timed out. Whether that halves the pace.
    pub fn timed_out(&mut self, sent: Time, now: Time) -> bool {
        let halves = self.silence.timed_out(sent, now);
        self.cuts += u64::from(halves);
        halves
    }

    /// A packet leaves.
    pub fn sent(&mut self, now: Time) {
        self.late = now.since(self.schedule.due()).min(SLACK);
        self.schedule.sent(now, self.gap().unwrap_or_default());
    }

    /// Between packets, on average; none without a rate.
    pub fn mean_gap(&self) -> Option<Duration> {
        self.gap()
    }

    /// From the packet that left last to the next; none without a rate.
    pub fn pacing(&self) -> Option<Duration> {
        Some(self.gap()? - self.late)
    }

    fn gap(&self) -> Option<Duration> {
        self.rate.map(|rate| gap(rate.min(self.limit) * self.silence.factor(), self.size.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{Field, FieldLayout};

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn the_smallest_rate_of_the_path_stays_and_zero_is_none() {
        let (mut layout, mut fields) = (FieldLayout::new(), Fields::default());
        let slot = layout.slot(Field::ExplicitRate).unwrap();
        lower(&mut fields, slot, 5e6);
        lower(&mut fields, slot, 7e6);
        assert_eq!((fields.get(slot), of_field(fields.get(slot))), (5000, Some(5e6)));
        lower(&mut fields, slot, 0.0);
        assert_eq!((fields.get(slot), of_field(0)), (1, None));
        assert_eq!([f64::NAN, f64::INFINITY, -1.0].map(to_field), [1, u32::MAX, 1]);
    }

    // 40 ms are 40 000 µs, in the lower 24 bits; two of them left is 1 + 127 in the upper eight, 127/254 · 4 · 40 ms.
    #[test]
    fn a_round_trip_says_what_is_left_of_a_flow_and_reads_the_same_without() {
        let (ms, plain) = (Duration::from_millis, round_trip_to_field(Duration::from_millis(40)));
        assert_eq!((plain, end_of_field(plain), end_of_field(0)), (40_000, None, None));
        for (round_trips, left) in [(0.0, 0.0), (2.0, 0.08), (4.0, 0.16), (7.0, 0.16), (-1.0, 0.0), (f64::NAN, 0.0)] {
            let field = ending_to_field(ms(40), round_trips);
            assert!((round_trip_of_field(field) - 0.04).abs() < 1e-12, "{field}");
            assert!(end_of_field(field).is_some_and(|said| (said - left).abs() < 1e-12), "{field} {round_trips}");
        }
        assert!((round_trip_of_field(round_trip_to_field(ms(1 << 40))) - 16.777_215).abs() < 1e-9);
        assert!(end_of_field(u32::MAX).is_some_and(|left| (left - 4.0 * 16.777_215).abs() < 1e-9));
    }

    #[test]
    fn any_rate_gives_a_gap_within_bounds() {
        assert_eq!(gap(1e6, 1250.0), Duration::from_millis(10));
        assert_eq!(gap(1e18, 1.0), Duration::from_nanos(10));
        for bps in [0.0, -1.0, f64::NAN, 1.0] {
            assert_eq!(gap(bps, 1250.0), Duration::from_millis(1000));
        }
    }

    #[test]
    fn a_sender_that_wakes_late_catches_up_by_a_millisecond() {
        // 10 Mbit/s of 1250 B: 1 ms. Woken 0.3 ms late, the next gap is 0.7 ms; 5 ms late, it is nothing.
        let mut sender = RateSender::new(Bytes::new(1250), None);
        assert_eq!(sender.pacing(), None);
        sender.set(10e6);
        let gaps = [0, 1000, 2300, 8000].map(|at| {
            sender.sent(us(at));
            sender.pacing().unwrap().nanos() / 1000
        });
        assert_eq!(gaps, [1000, 1000, 700, 0]);
    }

    #[test]
    fn a_sender_that_hears_nothing_halves_once_per_timeout_of_what_it_sent_since() {
        let mut sender = RateSender::new(Bytes::new(1250), Some(10e6));
        sender.on_data(Bytes::new(1250), us(100));
        // Sent before the last Data: the path still answered.
        sender.timed_out(us(50), us(900));
        assert_eq!(sender.pacing(), Some(Duration::from_millis(1)));
        sender.timed_out(us(200), us(1000));
        sender.timed_out(us(300), us(1100));
        assert_eq!(sender.pacing(), Some(Duration::from_millis(2)));
        for second in 1..40 {
            sender.timed_out(us(second * 1_000_000), us(second * 1_000_000 + 1));
        }
        // 1000 packets/s by 1024, but no less than one.
        assert_eq!(sender.pacing(), Some(Duration::from_millis(1000)));
        sender.on_data(Bytes::new(1250), us(50_000_000));
        assert_eq!(sender.pacing(), Some(Duration::from_millis(1)));
    }
}
