//! Flows that come and go: their arrivals and sizes.

use crate::player::Player;
use ndnweir_core::ctx::Rng;
use ndnweir_core::registry::ConsumerParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::Duration;
use serde::Serialize;

/// Maximum number of flows that one consumer can have active at the same time.
pub const MAX_ACTIVE: u32 = 10_000;

/// The flows of one consumer: each fetches an object, beginning in the start state of the scheme's consumer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flows {
    /// The arrival times and sizes.
    pub arrivals: Arrivals,
    /// Flows that arrive while this many are active are rejected and counted; at most [`MAX_ACTIVE`].
    #[serde(rename = "most_active")]
    pub max_active: u32,
    /// Content bytes of a Data: the size of a flow is rounded up to whole Data of this length.
    pub payload: u32,
    /// The objects that flows fetch; none: each flow has an object of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<Catalogue>,
    /// A consumer component that replaces the scheme's.
    pub consumer: Option<ComponentChoice<ConsumerParams>>,
    /// Identifies the random streams, so that the same flows arrive in any network.
    pub stream: u64,
}

impl Flows {
    /// The mean number of flows that arrive while a consumer is active for the given time.
    pub fn expected(&self, active: Duration) -> f64 {
        match &self.arrivals {
            Arrivals::Drawn { gap, .. } => active.secs() / gap.secs().max(1e-9),
            Arrivals::Trace(trace) => trace.partition_point(|flow| flow.0 < active) as f64,
            // It shows them in real time, and fills its buffer at first.
            Arrivals::Player(player) => (active + player.buffer).secs() / player.chunk.secs(),
        }
    }

    /// The mean number of Data that these flows request.
    pub fn expected_segments(&self, active: Duration) -> f64 {
        match &self.arrivals {
            Arrivals::Drawn { sizes, .. } => self.expected(active) * sizes.mean_segments(self.payload),
            Arrivals::Trace(trace) => {
                let within = trace.iter().take_while(|flow| flow.0 < active);
                within.map(|flow| segments(flow.1, self.payload) as f64).sum()
            }
            Arrivals::Player(player) => {
                let most = player.ladder.len().saturating_sub(1);
                self.expected(active) * segments(player.bytes(most), self.payload) as f64
            }
        }
    }
}

/// Objects that are fetched again and again: all flows over a prefix share them, so that caches and PITs can serve
/// several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Catalogue {
    /// Their number.
    pub objects: u32,
    /// Zipf's exponent: the object of rank r is fetched with weight 1/r^exponent.
    pub exponent: f64,
}

/// The arrival times and sizes of flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Drawn one after another, without end.
    Drawn {
        /// Mean time between two arrivals.
        gap: Duration,
        /// Whether gaps are exponentially distributed (Poisson arrivals) rather than constant.
        poisson: bool,
        /// Their sizes.
        sizes: FlowSizes,
    },
    /// Listed: the time since the start, in non-decreasing order, and the size in bytes.
    Trace(Vec<(Duration, u64)>),
    /// The chunks of videos, one after another; a [`Catalogue`] is one of videos.
    Player(Player),
}

/// A distribution of sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowSizes {
    /// All flows have this size.
    Fixed(u64),
    /// Pareto's distribution between two bounds.
    Pareto {
        /// Exponent of the tail, above zero.
        shape: f64,
        /// Smallest size, above zero.
        least: f64,
        /// Largest size.
        most: f64,
    },
    /// Sizes whose logarithms are normally distributed.
    LogNormal {
        /// Median size.
        median: f64,
        /// Standard deviation of the natural logarithm, above zero.
        sigma: f64,
        /// Upper bound; larger values are reduced to it.
        most: f64,
    },
    /// Linear interpolation between points.
    Table {
        /// A size in bytes, and the share of flows that are no larger: both rise, the share from 0 to 1.
        points: Vec<(f64, f64)>,
        /// Upper bound; larger values are reduced to it.
        most: f64,
    },
}

/// Web search, from DCTCP (Alizadeh et al., SIGCOMM 2010), as points of `datacenter/empirical-traffic-gen`
/// (`conf/DCTCP_CDF`); mean 1.71 MB.
pub const WEB_SEARCH: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
];

/// Data mining, from VL2 (Greenberg et al., SIGCOMM 2009), as points of `datacenter/empirical-traffic-gen`
/// (`conf/VL2_CDF`), which ends at 1 GB; mean 12.66 MB.
pub const DATA_MINING: [(f64, f64); 13] = [
    (0.0, 0.0),
    (180.0, 0.1),
    (216.0, 0.2),
    (560.0, 0.3),
    (900.0, 0.4),
    (1100.0, 0.5),
    (1870.0, 0.6),
    (3160.0, 0.7),
    (10e3, 0.8),
    (400e3, 0.9),
    (3.16e6, 0.95),
    (100e6, 0.98),
    (1e9, 1.0),
];

/// The standard normal distribution function.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// Its inverse, by bisection, which is fast enough since flows are seldom drawn.
fn normal_quantile(u: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if normal(middle) < u { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

impl FlowSizes {
    /// The size below which a share `u`, in [0, 1), of the flows lies.
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            FlowSizes::Fixed(bytes) => *bytes as f64,
            FlowSizes::Pareto { shape, least, most } => {
                let tail = libm::pow(least / most, *shape);
                (least * libm::pow(1.0 - u * (1.0 - tail), -1.0 / shape)).min(*most)
            }
            FlowSizes::LogNormal { median, sigma, most } => (median * libm::exp(sigma * normal_quantile(u))).min(*most),
            FlowSizes::Table { points, .. } if points.len() < 2 => 0.0,
            FlowSizes::Table { points, most } => {
                let after = points.partition_point(|point| point.1 <= u).clamp(1, points.len() - 1);
                let ((x0, p0), (x1, p1)) = (points[after - 1], points[after]);
                let part = if p1 > p0 { (u - p0) / (p1 - p0) } else { 1.0 };
                (x0 + part * (x1 - x0)).min(*most)
            }
        }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            FlowSizes::Fixed(bytes) => *bytes as f64,
            FlowSizes::Pareto { least, most, .. } if least >= most => *least,
            FlowSizes::Pareto { shape, least, most } if (shape - 1.0).abs() < 1e-9 => {
                least * libm::log(most / least) / (1.0 - least / most)
            }
            FlowSizes::Pareto { shape, least, most } => {
                let ratio = least / most;
                let below = 1.0 - libm::pow(ratio, *shape);
                least * shape / (shape - 1.0) * (1.0 - libm::pow(ratio, shape - 1.0)) / below
            }
            FlowSizes::LogNormal { median, sigma, most } => {
                let z = libm::log(most / median) / sigma;
                median * libm::exp(sigma * sigma / 2.0) * normal(z - sigma) + most * normal(-z)
            }
            FlowSizes::Table { points, most } => {
                points.windows(2).map(|pair| mean_of_piece(pair[0], pair[1], *most)).sum()
            }
        }
    }

    /// The mean number of Data with `payload` bytes each; if sizes vary, half of the last Data is filled on average.
    pub fn mean_segments(&self, payload: u32) -> f64 {
        let payload = f64::from(payload.max(1));
        match self {
            FlowSizes::Fixed(bytes) => (*bytes as f64 / payload).ceil().max(1.0),
            _ => (self.mean() / payload + 0.5).max(1.0),
        }
    }

    /// Draws a size, in whole bytes.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.quantile(rng.unit()).ceil() as u64
    }

    /// Whether the parameters define a distribution.
    pub fn is_sound(&self) -> bool {
        match self {
            FlowSizes::Fixed(_) => true,
            FlowSizes::Pareto { shape, least, most } => {
                *shape > 0.0 && *least > 0.0 && least <= most && most.is_finite()
            }
            FlowSizes::LogNormal { median, sigma, most } => {
                *median > 0.0 && *sigma > 0.0 && *most > 0.0 && sigma.is_finite() && most.is_finite()
            }
            FlowSizes::Table { points, most } => {
                let rise = points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
                let ends = points.first().is_some_and(|p| p.0 >= 0.0 && p.1 == 0.0)
                    && points.last().is_some_and(|p| p.1 == 1.0);
                points.len() >= 2 && rise && ends && *most > 0.0 && points.iter().all(|p| p.0.is_finite())
            }
        }
    }
}

/// The contribution to the mean of the sizes between two points, cut off at `most`.
fn mean_of_piece((x0, p0): (f64, f64), (x1, p1): (f64, f64), most: f64) -> f64 {
    let share = p1 - p0;
    if most <= x0 {
        share * most
    } else if most >= x1 || x1 <= x0 {
        share * 0.5 * (x0 + x1).min(2.0 * most)
    } else {
        let below = (most - x0) / (x1 - x0);
        share * (below * 0.5 * (x0 + most) + (1.0 - below) * most)
    }
}

/// The number of Data of `payload` bytes in a flow of the given size, at least one.
pub fn segments(bytes: u64, payload: u32) -> u64 {
    bytes.div_ceil(u64::from(payload.max(1))).clamp(1, u64::from(u32::MAX) - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(points: &[(f64, f64)], most: f64) -> FlowSizes {
        FlowSizes::Table { points: points.to_vec(), most }
    }

    fn all() -> Vec<FlowSizes> {
        vec![
            FlowSizes::Fixed(5000),
            FlowSizes::Pareto { shape: 1.2, least: 1e3, most: 1e6 },
            FlowSizes::Pareto { shape: 1.0, least: 1e3, most: 1e6 },
            FlowSizes::LogNormal { median: 20e3, sigma: 1.5, most: 2e6 },
            table(&WEB_SEARCH, f64::INFINITY),
            table(&WEB_SEARCH, 700e3),
            table(&DATA_MINING, 1e6),
        ]
    }

    #[test]
    fn the_means_of_the_tables_are_those_that_are_published() {
        assert!((table(&WEB_SEARCH, f64::INFINITY).mean() - 1.711e6).abs() < 1e3);
        assert!((table(&DATA_MINING, f64::INFINITY).mean() - 12.66e6).abs() < 1e4);
    }

    #[test]
    fn means_are_those_of_the_quantiles() {
        for sizes in all() {
            assert!(sizes.is_sound());
            let n = 200_000;
            let sum: f64 = (0..n).map(|i| sizes.quantile((f64::from(i) + 0.5) / f64::from(n))).sum();
            let (numeric, mean) = (sum / f64::from(n), sizes.mean());
            assert!((numeric - mean).abs() < 2e-3 * mean, "{sizes:?}: {numeric} against {mean}");
        }
    }

    #[test]
    fn quantiles_never_fall_and_stay_within_their_bounds() {
        for sizes in all() {
            let values: Vec<f64> = (0..1000).map(|i| sizes.quantile(f64::from(i) / 1000.0)).collect();
            assert!(values.is_sorted(), "{sizes:?}");
            assert!(values.iter().all(|x| x.is_finite() && *x >= 0.0));
        }
    }

    #[test]
    fn half_of_a_log_normal_is_below_its_median() {
        let sizes = FlowSizes::LogNormal { median: 20e3, sigma: 2.0, most: 1e9 };
        assert!((sizes.quantile(0.5) / 20e3 - 1.0).abs() < 1e-9);
        // 97.5 % are below median · e^(1.96 σ).
        assert!((sizes.quantile(0.975) / (20e3 * libm::exp(1.959_964 * 2.0)) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn a_flow_has_as_many_data_as_its_size_fills() {
        assert_eq!([0, 1, 1024, 1025, 10_240].map(|bytes| segments(bytes, 1024)), [1, 1, 1, 2, 10]);
        assert_eq!(segments(u64::MAX, 1), u64::from(u32::MAX) - 2);
    }

    #[test]
    fn invalid_distributions_are_distinguished_from_valid_ones() {
        for sizes in [
            FlowSizes::Pareto { shape: 0.0, least: 1.0, most: 2.0 },
            FlowSizes::Pareto { shape: 1.0, least: 3.0, most: 2.0 },
            FlowSizes::LogNormal { median: 0.0, sigma: 1.0, most: 1.0 },
            table(&[(0.0, 0.0)], 1.0),
            table(&[(0.0, 0.0), (5.0, 0.5)], 1.0),
            table(&[(6.0, 0.0), (5.0, 1.0)], 1.0),
        ] {
            assert!(!sizes.is_sound(), "{sizes:?}");
        }
    }
}
