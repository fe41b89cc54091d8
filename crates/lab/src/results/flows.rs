//! Results of consumers whose flows come and go.

use super::{VideoInfo, VideoRun};
use serde::{Deserialize, Serialize};

/// The reference values for the slowdown of a consumer's flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct FlowsInfo {
    /// Completion time of a flow alone, less the time of its Data on the narrowest link; `None` if no path is known.
    pub latency_s: Option<f64>,
    /// The transmission time of one Data on the narrowest link of that path.
    pub data_s: Option<f64>,
    /// Content bytes of a Data.
    pub payload_bytes: u64,
    /// The boundaries between size classes, in rising order.
    pub classes_bytes: Vec<u64>,
    /// Only if the flows are the chunks of videos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoInfo>,
}

impl FlowsInfo {
    /// The shortest completion time of a flow with this many Data, if it is alone.
    pub fn ideal_s(&self, segments: u64) -> Option<f64> {
        Some(self.latency_s? + self.data_s? * segments as f64)
    }

    /// The index of the size class of a flow with this many Data; there is one class more than there are boundaries.
    pub fn class(&self, segments: u64) -> usize {
        let bytes = segments.saturating_mul(self.payload_bytes);
        // All Data of a flow have the same length: a size equal to the boundary belongs to the class below it.
        self.classes_bytes.partition_point(|most| most.div_ceil(self.payload_bytes.max(1)) * self.payload_bytes < bytes)
    }

    /// The names of the classes: `to_100kB`, `to_10MB`, `above_10MB`.
    pub fn class_names(&self) -> Vec<String> {
        let text = |bytes: u64| match bytes {
            n if n >= 1_000_000_000 && n % 1_000_000_000 == 0 => format!("{}GB", n / 1_000_000_000),
            n if n >= 1_000_000 && n % 1_000_000 == 0 => format!("{}MB", n / 1_000_000),
            n if n >= 1000 && n % 1000 == 0 => format!("{}kB", n / 1000),
            n => format!("{n}B"),
        };
        let below = self.classes_bytes.iter().map(|most| format!("to_{}", text(*most)));
        let above = self.classes_bytes.last().map_or("all".to_owned(), |last| format!("above_{}", text(*last)));
        below.chain([above]).collect()
    }

    /// Results in which every value is defined, to list the names of the values.
    pub(crate) fn all_defined(&self) -> FlowsRun {
        let slowdown = || Slowdown::of(vec![1.0]);
        let class = |name| SizeClassRun { name, started: 1, completed: 1, slowdown: slowdown() };
        FlowsRun {
            started: 1,
            completed: 1,
            unfinished: 0,
            rejected: 0,
            active_mean: 1.0,
            active_max: 1,
            completion_mean_s: Some(1.0),
            slowdown: slowdown(),
            classes: self.class_names().into_iter().map(class).collect(),
            video: VideoRun::all_defined(self),
        }
    }
}

/// Completion time over ideal completion time, of completed flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct Slowdown {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median; quantiles follow the nearest-rank rule.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Slowdown {
    /// The statistics of these values; `None` if there are no values.
    pub fn of(mut values: Vec<f64>) -> Option<Slowdown> {
        values.sort_by(f64::total_cmp);
        let max = *values.last()?;
        let at = |q: f64| values[((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1];
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Slowdown { mean, p50: at(0.5), p99: at(0.99), max })
    }

    /// The values with their names in results.
    pub fn values(&self) -> [(&'static str, f64); 4] {
        [("mean", self.mean), ("p50", self.p50), ("p99", self.p99), ("max", self.max)]
    }
}

/// The flows of one size class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct SizeClassRun {
    /// `to_100kB`, `above_10MB`, …
    pub name: String,
    /// Flows that began in the window.
    pub started: u64,
    /// Of these, completed by the end of the run.
    pub completed: u64,
    /// Of the completed flows; `None` without an ideal completion time.
    pub slowdown: Option<Slowdown>,
}

/// Flows of one consumer in one run: those that began in the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct FlowsRun {
    /// Flows that began.
    pub started: u64,
    /// Of these, completed by the end of the run.
    pub completed: u64,
    /// Of these, not completed.
    pub unfinished: u64,
    /// Flows that were rejected on arrival because too many were active.
    pub rejected: u64,
    /// Number of active flows, mean over the window.
    pub active_mean: f64,
    /// Largest number of active flows in the window.
    pub active_max: u64,
    /// Mean time from arrival to the last Data, of completed flows.
    pub completion_mean_s: Option<f64>,
    /// Of the completed flows; `None` without an ideal completion time.
    pub slowdown: Option<Slowdown>,
    /// The same by size class, smallest first.
    pub classes: Vec<SizeClassRun>,
    /// Only if the flows are the chunks of videos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoRun>,
}

impl FlowsRun {
    /// The values with their names in aggregates.
    pub(super) fn scalars(&self) -> Vec<(String, f64)> {
        let counts = [
            ("started", self.started),
            ("completed", self.completed),
            ("unfinished", self.unfinished),
            ("rejected", self.rejected),
            ("active_max", self.active_max),
        ];
        let mut all: Vec<(String, f64)> = counts.map(|(name, n)| (name.to_owned(), n as f64)).into();
        all.push(("active_mean".into(), self.active_mean));
        all.extend(self.completion_mean_s.map(|s| ("completion_mean_s".into(), s)));
        let mut put = |at: &str, slowdown: &Option<Slowdown>| {
            let values = slowdown.iter().flat_map(Slowdown::values);
            all.extend(values.map(|(name, value)| (format!("{at}slowdown.{name}"), value)));
        };
        put("", &self.slowdown);
        for class in &self.classes {
            put(&format!("{}.", class.name), &class.slowdown);
        }
        for class in &self.classes {
            all.push((format!("{}.started", class.name), class.started as f64));
            all.push((format!("{}.completed", class.name), class.completed as f64));
        }
        all.extend(self.video.iter().flat_map(VideoRun::scalars));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> FlowsInfo {
        let (latency_s, data_s) = (Some(0.02), Some(0.001));
        FlowsInfo { latency_s, data_s, payload_bytes: 1024, classes_bytes: vec![100_000, 10_000_000], video: None }
    }

    #[test]
    fn sizes_belong_to_the_class_whose_bound_they_do_not_exceed() {
        // 98 Data hold 100 352 B, the number of Data that a flow of 100 kB has.
        assert_eq!([1, 98, 99, 9_766, 9_767].map(|n| info().class(n)), [0, 0, 1, 1, 2]);
        assert_eq!(info().class_names(), ["to_100kB", "to_10MB", "above_10MB"]);
    }

    #[test]
    fn the_ideal_is_latency_and_the_data_on_the_narrowest_link() {
        assert!((info().ideal_s(100).unwrap() - 0.12).abs() < 1e-12);
        assert_eq!(FlowsInfo::default().ideal_s(1), None);
    }

    #[test]
    fn quantiles_follow_the_nearest_rank_rule() {
        let slowdown = Slowdown::of((1..=200).rev().map(f64::from).collect()).unwrap();
        assert_eq!((slowdown.p50, slowdown.p99, slowdown.max, slowdown.mean), (100.0, 198.0, 200.0, 100.5));
        assert_eq!(Slowdown::of(Vec::new()), None);
    }
}
