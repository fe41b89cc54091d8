//! Variable rates, as traces in mahimahi's format.
//!
//! One whole number of milliseconds a line, not less than the one before: a moment at which the link can deliver
//! [`OPPORTUNITY`] bytes. Several lines with one number are several such moments. What is not used is lost. After the
//! last line the trace begins again, its last number being its length (Netravali et al., "Mahimahi: accurate
//! record-and-replay for HTTP", USENIX ATC 2015; `mm-link` and its `LinkQueue`).
//!
//! As in `LinkQueue`, one opportunity serves several small packets, and a packet larger than what is left of it
//! continues in the next ones; it has left when its last byte has. So packets of any size use capacity in proportion to
//! their size.

use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// Bytes that one line delivers.
pub const OPPORTUNITY: Bytes = Bytes::new(1504);

/// Lines of a trace at most: a day at 20 Mbit/s has half as many.
const MAX_LINES: usize = 1 << 28;

/// Milliseconds in a nanosecond's unit.
const MS: u64 = 1_000_000;

/// When a link can deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace {
    /// In milliseconds, in order; the last is the period, above zero.
    stamps: Arc<[u32]>,
}

/// As its stamps.
impl Serialize for RateTrace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.stamps.iter())
    }
}

/// A line that is wrong: its number, from 1 on, what is wrong with it, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The line.
    pub line: usize,
    /// What is wrong, with the remedy.
    pub message: String,
}

impl RateTrace {
    /// Reads a trace.
    ///
    /// # Errors
    /// The first line that is not a stamp, or why there is no trace.
    pub fn parse(text: &str) -> Result<RateTrace, TraceError> {
        let mut stamps: Vec<u32> = Vec::new();
        for (i, written) in text.lines().enumerate() {
            let error = |message: String| Err(TraceError { line: i + 1, message });
            let Ok(stamp) = written.trim().parse::<u32>() else {
                let shown: String = written.chars().take(20).collect();
                return error(format!(
                    "{shown:?} is not a time: write a whole number of milliseconds from 0 to {}",
                    u32::MAX
                ));
            };
            if let Some(last) = stamps.last().filter(|last| **last > stamp) {
                return error(format!("{stamp} comes after {last}: sort the lines, as times must not fall"));
            }
            if stamps.len() == MAX_LINES {
                return error(format!("more than {MAX_LINES} lines: cut the trace"));
            }
            stamps.push(stamp);
        }
        match stamps.last() {
            None => Err(TraceError { line: 1, message: "the trace is empty: write one time in ms a line".into() }),
            Some(0) => {
                let message = "the last time is 0, so the trace has no length: end it with a later one".into();
                Err(TraceError { line: stamps.len(), message })
            }
            Some(_) => Ok(RateTrace { stamps: stamps.into() }),
        }
    }

    /// Its length; then it begins again.
    pub fn period(&self) -> Duration {
        Duration::from_millis(u64::from(*self.stamps.last().unwrap_or(&1)))
    }

    /// Its mean rate.
    pub fn mean(&self) -> Rate {
        let bits = self.stamps.len() as u64 * OPPORTUNITY.bits();
        Rate::from_bps((bits as f64 / self.period().secs()) as u64)
    }

    /// When opportunity number `n` comes, counted through all repetitions.
    fn at(&self, n: u64) -> Time {
        let (round, place) = (n / self.stamps.len() as u64, n % self.stamps.len() as u64);
        let ms = round.saturating_mul(self.period().nanos() / MS).saturating_add(self.stamps[place as usize].into());
        Time::from_nanos(ms.saturating_mul(MS))
    }

    /// The first opportunity at `time` or later.
    fn from(&self, time: Time) -> u64 {
        let period = self.period().nanos();
        let (round, rest) = (time.nanos() / period, time.nanos() % period);
        let before = self.stamps.partition_point(|ms| u64::from(*ms) * MS < rest) as u64;
        // The last stamp of a round and a zero of the next are one instant.
        let first = round * self.stamps.len() as u64 + before;
        if rest == 0 && round > 0 {
            let end = self.stamps.partition_point(|ms| u64::from(*ms) * MS < period) as u64;
            return first - self.stamps.len() as u64 + end;
        }
        first
    }

    /// The rate as steps of this length, for one period: bytes of all opportunities in a step over its length. The
    /// first step begins at 0; the last one may be shorter.
    pub fn steps(&self, step: Duration) -> Vec<(Duration, Rate)> {
        let (step, period) = (step.nanos().max(MS), self.period().nanos());
        let mut steps = Vec::new();
        let mut place = 0;
        let mut start = 0;
        while start < period {
            let end = (start + step).min(period);
            let first = place;
            // An opportunity at the end of a step is the sum of what came before it.
            while place < self.stamps.len() && u64::from(self.stamps[place]) * MS <= end {
                place += 1;
            }
            let bits = (place - first) as u64 * OPPORTUNITY.bits();
            let rate = bits as f64 * 1e9 / (end - start) as f64;
            steps.push((Duration::from_nanos(start), Rate::from_bps(rate as u64)));
            start = end;
        }
        steps
    }
}

/// How far a link has used up its trace.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct TraceCursor {
    #[state(skip)]
    trace: RateTrace,
    /// The opportunity at hand, and what is left of it.
    next: u64,
    left: u64,
}

impl TraceCursor {
    /// At the beginning.
    pub fn new(trace: RateTrace) -> TraceCursor {
        TraceCursor { trace, next: 0, left: OPPORTUNITY.get() }
    }

    /// Gives back what was not used yet.
    pub fn rewind(&mut self) {
        (self.next, self.left) = (0, OPPORTUNITY.get());
    }

    /// When a packet that is at the head of the queue from `ready` on has left.
    pub fn serve(&mut self, ready: Time, size: Bytes) -> Time {
        let first = self.trace.from(ready);
        // What is left of an opportunity serves the next packet at the same instant, if that was there.
        if first > self.next {
            (self.next, self.left) = (first, OPPORTUNITY.get());
        }
        let mut need = size.get();
        loop {
            if need <= self.left {
                self.left -= need;
                let end = self.trace.at(self.next);
                if self.left == 0 {
                    (self.next, self.left) = (self.next + 1, OPPORTUNITY.get());
                }
                return end;
            }
            need -= self.left;
            (self.next, self.left) = (self.next + 1, OPPORTUNITY.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * MS)
    }

    fn trace(text: &str) -> RateTrace {
        RateTrace::parse(text).unwrap()
    }

    /// When packets that all wait from `ready` on have left, in ms.
    fn departures(text: &str, ready: u64, sizes: &[u64]) -> Vec<u64> {
        let mut cursor = TraceCursor::new(trace(text));
        sizes.iter().map(|size| cursor.serve(ms(ready), Bytes::new(*size)).nanos() / MS).collect()
    }

    // By hand: an opportunity of 1504 B at 1, 3, 3, 7 ms, and from there on the same again (8, 10, 10, 14, 15 ...).
    #[test]
    fn a_full_packet_leaves_at_each_line_and_the_trace_begins_again() {
        assert_eq!(departures("1\n3\n3\n7\n", 0, &[1504; 9]), [1, 3, 3, 7, 8, 10, 10, 14, 15]);
    }

    // 700 + 700 fit into the line at 1; 104 B of it go to the third packet, which needs 1396 of the one at 3.
    #[test]
    fn small_packets_share_a_line_and_larger_ones_take_several() {
        assert_eq!(departures("1\n3\n3\n7\n", 0, &[700, 700, 1500]), [1, 1, 3]);
        assert_eq!(departures("1\n3\n3\n7\n", 0, &[1505, 4000]), [3, 7]);
        assert_eq!(departures("1\n3\n3\n7\n", 0, &[8800]), [10], "six lines: 1, 3, 3, 7, 8, 10");
    }

    #[test]
    fn unused_opportunities_are_lost() {
        let mut cursor = TraceCursor::new(trace("1\n3\n3\n7\n"));
        assert_eq!(cursor.serve(ms(2), Bytes::new(100)), ms(3));
        // The rest of that line is there at the same instant, and gone later.
        assert_eq!(cursor.serve(ms(3), Bytes::new(1404)), ms(3));
        assert_eq!(cursor.serve(ms(4), Bytes::new(1504)), ms(7));
        assert_eq!(cursor.serve(ms(5), Bytes::new(10)), ms(8));
        assert_eq!(cursor.serve(ms(7000), Bytes::new(10)), ms(7000), "the last line of a round");
        assert_eq!(cursor.serve(Time::from_nanos(7000 * MS + 1), Bytes::new(10)), ms(7001));
    }

    // 12 lines in 12 ms: 12.032 Mbit/s. Steps of 5 ms: five lines, five, and two in the last 2 ms.
    #[test]
    fn the_mean_and_the_steps_are_those_of_the_lines() {
        let even: String = (1..=12).map(|n| format!("{n}\n")).collect();
        let trace = trace(&even);
        assert_eq!((trace.mean(), trace.period()), (Rate::from_bps(12_032_000), Duration::from_millis(12)));
        let rate = Rate::from_bps(12_032_000);
        let at = Duration::from_millis;
        assert_eq!(trace.steps(at(5)), [(at(0), rate), (at(5), rate), (at(10), rate)]);
        let bursty = RateTrace::parse("0\n0\n9\n10").unwrap();
        assert_eq!(
            bursty.steps(at(5)),
            [(at(0), Rate::from_bps(2 * 1504 * 8 * 200)), (at(5), Rate::from_bps(2 * 1504 * 8 * 200))]
        );
    }

    #[test]
    fn a_wrong_line_is_named_with_a_remedy() {
        for (text, line, remedy) in [
            ("1\n2\nx\n", 3, "whole number"),
            ("1\n\n2\n", 2, "whole number"),
            ("5\n3\n", 2, "sort the lines"),
            ("-1\n", 1, "whole number"),
            ("4294967296\n", 1, "whole number"),
            ("", 1, "empty"),
            ("0\n0\n", 2, "no length"),
        ] {
            let error = RateTrace::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}");
            assert!(error.message.contains(remedy), "{text:?}: {}", error.message);
        }
    }
}
