//! Results of video players.

use super::FlowsInfo;
use serde::{Deserialize, Serialize};

/// What a player could choose, and what its share of the network permits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct VideoInfo {
    /// The bitrates, rising.
    pub ladder_mbps: Vec<f64>,
    /// The highest of them that its max-min fair rate carries if all consumers fetch without end, or the lowest; `None`
    /// if no such rate is known.
    pub permitted_mbps: Option<f64>,
}

impl VideoInfo {
    /// Of a ladder, and a fair rate in Mbit/s.
    pub(crate) fn new(ladder_mbps: Vec<f64>, fair_mbps: Option<f64>) -> VideoInfo {
        let carried = |fair: f64| ladder_mbps.iter().rfind(|rate| **rate <= fair).or(ladder_mbps.first()).copied();
        VideoInfo { permitted_mbps: fair_mbps.and_then(carried), ladder_mbps }
    }
}

/// What a player showed in one run: chunks requested and videos opened in the measurement window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct VideoRun {
    /// Videos opened.
    pub videos: u64,
    /// Of these, those that began to play by the end of the run.
    pub played: u64,
    /// Mean time from opening to playing, of these.
    pub startup_s: Option<f64>,
    /// Chunks requested.
    pub chunks: u64,
    /// Mean of their bitrates.
    pub bitrate_mbps: Option<f64>,
    /// The same over [`VideoInfo::permitted_mbps`].
    pub bitrate_share: Option<f64>,
    /// Chunks with another bitrate than the one before, of one video.
    pub switches: u64,
    /// Stalls that began in the window.
    pub stalls: u64,
    /// Time of the window that stalls took.
    pub stalled_s: f64,
}

impl VideoRun {
    /// The values with their names in aggregates.
    pub(super) fn scalars(&self) -> Vec<(String, f64)> {
        let count = |n: u64| Some(n as f64);
        let all = [
            ("videos", count(self.videos)),
            ("played", count(self.played)),
            ("startup_s", self.startup_s),
            ("chunks", count(self.chunks)),
            ("bitrate_mbps", self.bitrate_mbps),
            ("bitrate_share", self.bitrate_share),
            ("switches", count(self.switches)),
            ("stalls", count(self.stalls)),
            ("stalled_s", Some(self.stalled_s)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((format!("video.{name}"), value?))).collect()
    }

    /// Results in which every value is defined; `None` if the flows are no video.
    pub(super) fn all_defined(info: &FlowsInfo) -> Option<VideoRun> {
        info.video.as_ref()?;
        let (startup_s, bitrate_mbps, bitrate_share) = (Some(1.0), Some(1.0), Some(1.0));
        Some(VideoRun { startup_s, bitrate_mbps, bitrate_share, ..VideoRun::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bitrate_within_the_fair_rate_is_permitted_or_else_the_lowest() {
        let permitted = |fair| VideoInfo::new(vec![0.5, 1.0, 2.0], fair).permitted_mbps;
        assert_eq!(
            [None, Some(0.1), Some(1.0), Some(1.9), Some(9.0)].map(permitted),
            [None, Some(0.5), Some(1.0), Some(1.0), Some(2.0)]
        );
    }
}
