//! The context of every hook of a scheme: the time, randomness and a recorder.

use crate::units::{Duration, Time};
use ndnweir_state::{Damaged, Reader, Writer};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The inputs that a component must never obtain itself.
pub struct Ctx<'a> {
    /// Now. Never goes back between two calls to one component.
    pub now: Time,
    /// This component instance's own stream.
    pub rng: &'a mut Rng,
    /// The recorder of events for readers of the results.
    pub trace: &'a mut Trace,
}

/// A stream of random numbers, the same on every machine for the same seed and labels.
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The stream of a run's `seed` for one component instance and purpose, named by `labels`.
    ///
    /// Streams with different labels are independent, so a change of one component leaves the others' draws alone.
    pub fn derive(seed: u64, labels: &[u64]) -> Rng {
        let mut state = mix(seed ^ 0x6e64_6e77_6569_7221);
        for &label in labels {
            state = mix(state ^ mix(label.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        }
        Rng(Pcg64Mcg::seed_from_u64(state))
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Exponentially distributed with this mean: the gaps of Poisson arrivals.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        mean.scale(-libm::log(1.0 - self.unit()))
    }

    /// Moves `count` of the items to the front, every choice in every order equally likely. `count` is at most the
    /// number of items.
    pub fn shuffle_front<T>(&mut self, items: &mut [T], count: usize) {
        for place in 0..count {
            let other = place + self.below((items.len() - place) as u64) as usize;
            items.swap(place, other);
        }
    }

    /// 32 random bits, for nonces.
    pub fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }
}

impl ndnweir_state::Value for Rng {
    fn write(&self, to: &mut Writer) {
        serde_json::to_string(&self.0).unwrap_or_default().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Rng, Damaged> {
        let stream = serde_json::from_str(&String::read(from)?);
        stream.map(Rng).map_err(|_| from.damaged())
    }
}

/// Its key is kept as text.
impl ndnweir_state::Value for TraceEvent {
    fn write(&self, to: &mut Writer) {
        self.at.write(to);
        self.key.to_owned().write(to);
        self.id.write(to);
        self.value.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<TraceEvent, Damaged> {
        let at = Time::read(from)?;
        // A key is a constant of a component; here it lives as long without being one. There are at most a few, those that
        // were recorded and not yet passed on.
        let key = Box::leak(String::read(from)?.into_boxed_str());
        Ok(TraceEvent { at, key, id: u64::read(from)?, value: f64::read(from)? })
    }
}

/// SplitMix64's output function.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A record that a component writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceEvent {
    /// When.
    pub at: Time,
    /// What, as listed on the component's page.
    pub key: &'static str,
    /// Which one, e.g. a prefix, flow or face number; 0 when there is only one.
    pub id: u64,
    /// The value.
    pub value: f64,
}

/// Collects [`TraceEvent`]s when recording is on; costs one test of a flag when it is off.
#[derive(Debug, Default, ndnweir_state::Value)]
pub struct Trace {
    on: bool,
    events: Vec<TraceEvent>,
}

impl Trace {
    /// A trace that records if `on`.
    pub fn new(on: bool) -> Trace {
        Trace { on, events: Vec::new() }
    }

    /// Whether anything is kept; test it before computing a value only for the record.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Records one event.
    pub fn record(&mut self, at: Time, key: &'static str, id: u64, value: f64) {
        if self.on {
            self.events.push(TraceEvent { at, key, id, value });
        }
    }

    /// Returns what was recorded since the last call, in order.
    pub fn drain(&mut self) -> std::vec::Drain<'_, TraceEvent> {
        self.events.drain(..)
    }

    /// Whether nothing is waiting to be drained.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_and_labels_only() {
        let draw = |seed, labels: &[u64]| Rng::derive(seed, labels).bits();
        assert_eq!(draw(1, &[2, 3]), draw(1, &[2, 3]));
        assert_ne!(draw(1, &[2, 3]), draw(1, &[3, 2]));
        assert_ne!(draw(1, &[2, 3]), draw(2, &[2, 3]));
    }

    #[test]
    fn unit_and_below_stay_in_range_and_are_centred() {
        let mut rng = Rng::derive(7, &[]);
        let mean = (0..10_000).map(|_| rng.unit()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert!((0..1000).all(|_| rng.below(3) < 3));
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_a_front_is_drawn_from_all() {
        let mut rng = Rng::derive(7, &[]);
        let mean = Duration::from_millis(10);
        let sum: u64 = (0..10_000).map(|_| rng.exponential(mean).nanos()).sum();
        assert!((sum as f64 / 1e11 - 1.0).abs() < 0.03, "{sum}");
        let mut front = [0; 4];
        for _ in 0..1000 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle_front(&mut items, 1);
            front[items[0]] += 1;
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3]);
        }
        assert!(front.iter().all(|n| (180..320).contains(n)), "{front:?}");
    }
}
