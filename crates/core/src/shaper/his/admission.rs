//! Which Interests join the queue of `his`: all that fit, or fewer by PIE's or CoDel's rule.
//!
//! Constants of the author's code; the rule rejects the arriving Interest, so that it can be answered with a NACK.

use crate::ctx::Rng;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Everything that fits.
    DropTail,
    /// With a probability that PIE steers by the delay in the queue.
    Pie,
    /// By CoDel's schedule on the delay in the queue.
    Codel,
}

/// How often PIE computes its probability.
const UPDATE: Duration = Duration::from_millis(30);
/// PIE admits bursts of this length.
const BURST: f64 = 0.1;
/// Departures PIE measures the rate over.
const CYCLE: usize = 10;
/// CoDel's interval.
const INTERVAL: Duration = Duration::from_millis(100);

/// State of the rule.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(super) enum Gate {
    Open,
    Pie { target: f64, p: f64, delay: f64, updated: Time, burst: f64, cycle: Option<(Time, usize)>, rate: f64 },
    Codel { target: Duration, above: Option<Time>, rejecting: bool, next: Time, count: u64 },
}

impl Gate {
    pub(super) fn new(mode: Mode, target: Duration) -> Gate {
        match mode {
            Mode::DropTail => Gate::Open,
            Mode::Pie => Gate::Pie {
                target: target.secs(),
                p: 0.0,
                delay: 0.0,
                updated: Time::ZERO,
                burst: BURST,
                cycle: None,
                rate: 0.0,
            },
            Mode::Codel => Gate::Codel { target, above: None, rejecting: false, next: Time::ZERO, count: 0 },
        }
    }

    /// Whether an Interest that finds `waiting` is rejected.
    pub(super) fn rejects(&mut self, waiting: usize, now: Time, rng: &mut Rng) -> bool {
        match self {
            Gate::Open => false,
            Gate::Pie { target, p, delay, updated, burst, cycle, rate } => {
                if now.since(*updated) >= UPDATE {
                    let old = std::mem::replace(delay, if *rate > 0.0 { waiting as f64 / *rate } else { 0.0 });
                    let gain = if *p < 0.01 {
                        0.125
                    } else if *p < 0.1 {
                        0.5
                    } else {
                        1.0
                    };
                    *p = (*p + gain * (0.125 * (*delay - *target) + 1.25 * (*delay - old))).clamp(0.0, 1.0);
                    *burst = (*burst - now.since(*updated).secs()).max(0.0);
                    if *p == 0.0 && *delay < *target / 2.0 && old < *target / 2.0 {
                        *burst = BURST;
                    }
                    *updated = now;
                }
                if waiting >= CYCLE && cycle.is_none() {
                    *cycle = Some((now, 0));
                }
                let calm = *delay < *target / 2.0 && *p < 0.2;
                *burst == 0.0 && !calm && rng.unit() < *p
            }
            Gate::Codel { rejecting, next, count, .. } => {
                let due = *rejecting && now >= *next;
                if due {
                    *count += 1;
                    *next += gap(*count);
                }
                due
            }
        }
    }

    /// An Interest leaves after `sojourn`, with `waiting` behind it.
    pub(super) fn on_departure(&mut self, sojourn: Duration, waiting: usize, now: Time) {
        match self {
            Gate::Open => {}
            Gate::Pie { cycle, rate, .. } => {
                let Some((began, left)) = cycle else { return };
                *left += 1;
                if *left >= CYCLE {
                    let elapsed = now.since(*began).secs();
                    if elapsed > 0.0 {
                        let measured = *left as f64 / elapsed;
                        *rate = if *rate > 0.0 { 0.9 * *rate + 0.1 * measured } else { measured };
                    }
                    *cycle = None;
                }
            }
            Gate::Codel { target, above, rejecting, next, count } => {
                if sojourn < *target || waiting == 0 {
                    (*above, *rejecting) = (None, false);
                    return;
                }
                let since = *above.get_or_insert(now + INTERVAL);
                if !*rejecting && now >= since {
                    *rejecting = true;
                    let again = now.since(*next) < INTERVAL && *count > 0;
                    *count = if again { count.saturating_sub(2).max(1) } else { 1 };
                    *next = now;
                }
            }
        }
    }
}

fn gap(count: u64) -> Duration {
    INTERVAL.scale(1.0 / libm::sqrt(count.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    #[test]
    fn codel_rejects_after_an_interval_above_target_at_shrinking_gaps() {
        let (mut gate, mut rng) = (Gate::new(Mode::Codel, Duration::from_millis(20)), Rng::derive(1, &[]));
        let mut rejected = Vec::new();
        for t in 0..400 {
            gate.on_departure(Duration::from_millis(30), 5, ms(t));
            if gate.rejects(5, ms(t), &mut rng) {
                rejected.push(t);
            }
        }
        // First at 100; each rejection adds 100/√count to the schedule, counted from 2: 70.7, 57.7, 50, 44.7 …
        assert_eq!(rejected, [100, 171, 229, 279, 324, 364, 402].into_iter().filter(|t| *t < 400).collect::<Vec<_>>());
        gate.on_departure(Duration::from_millis(1), 5, ms(400));
        assert!(!gate.rejects(5, ms(500), &mut rng));
    }

    #[test]
    fn pie_rejects_once_the_burst_allowance_is_used_up_and_stops_when_the_queue_is_short() {
        let (mut gate, mut rng) = (Gate::new(Mode::Pie, Duration::from_millis(20)), Rng::derive(1, &[]));
        let mut rejected = [0u32; 100];
        // 1000/s leave; 100 wait for the first 2 s (100 ms), then 2.
        for t in 0..10_000u64 {
            let waiting = if t < 2000 { 100 } else { 2 };
            gate.on_departure(Duration::from_millis(waiting as u64), waiting, ms(t));
            rejected[(t / 100) as usize] += u32::from(gate.rejects(waiting, ms(t), &mut rng));
        }
        assert_eq!(rejected[0], 0);
        assert!(rejected[19] > 20, "{rejected:?}");
        // The integral takes 2.25e-3 off p per 30 ms, so p falls below 0.2 within 8 s, where a short queue is not
        // affected.
        assert_eq!(rejected[99], 0, "{rejected:?}");
    }
}
