//! The state that is collected during a run about a video player.

use super::bins::BinClock;
use crate::results::{VideoInfo, VideoRun};
use ndnweir_core::units::Time;
use ndnweir_sim::observer::FlowEvent;

/// The player of one consumer.
#[derive(ndnweir_state::Value)]
pub(super) struct VideoGather {
    info: VideoInfo,
    run: VideoRun,
    bits_per_s: u128,
    startup_ns: u128,
    stalled_ns: u128,
    /// Since when it has nothing to show, and whether a video has not begun.
    waits: Option<(Time, bool)>,
}

impl VideoGather {
    pub(super) fn new(info: VideoInfo) -> VideoGather {
        VideoGather { info, run: VideoRun::default(), bits_per_s: 0, startup_ns: 0, stalled_ns: 0, waits: None }
    }

    pub(super) fn event(&mut self, now: Time, event: FlowEvent, clock: BinClock) {
        let counts = u64::from(clock.counts(now));
        match event {
            FlowEvent::Opened => {
                self.run.videos += counts;
                self.waits = Some((now, true));
            }
            FlowEvent::Chose { bps, switched } => {
                self.run.chunks += counts;
                self.run.switches += counts * u64::from(switched);
                self.bits_per_s += u128::from(counts * bps);
            }
            FlowEvent::Stalled => {
                self.run.stalls += counts;
                self.waits = Some((now, false));
            }
            FlowEvent::Plays => {
                if let Some((since, true)) = self.waits
                    && clock.counts(since)
                {
                    self.run.played += 1;
                    self.startup_ns += u128::from(now.since(since).nanos());
                }
                self.resume(now, clock);
            }
            FlowEvent::Closed => self.resume(now, clock),
            FlowEvent::Began { .. } | FlowEvent::Completed { .. } | FlowEvent::Rejected => {}
        }
    }

    /// A stall ends.
    fn resume(&mut self, now: Time, clock: BinClock) {
        if let Some((since, false)) = self.waits.take() {
            self.stalled_ns += u128::from(now.min(clock.to).since(since.max(clock.from)).nanos());
        }
    }

    pub(super) fn finish(&mut self, end: Time, clock: BinClock) -> VideoRun {
        self.resume(end, clock);
        let mean = |sum: u128, n: u64, unit: f64| (n > 0).then(|| sum as f64 / n as f64 / unit);
        let bitrate_mbps = mean(self.bits_per_s, self.run.chunks, 1e6);
        VideoRun {
            startup_s: mean(self.startup_ns, self.run.played, 1e9),
            bitrate_mbps,
            bitrate_share: bitrate_mbps.and_then(|rate| Some(rate / self.info.permitted_mbps?)),
            stalled_s: self.stalled_ns as f64 / 1e9,
            ..self.run.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::units::Duration;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn stalls_count_within_the_window_and_what_begins_there_is_judged() {
        let clock = BinClock { bin: Duration::from_millis(100), from: ms(1000), to: ms(9000) };
        let mut gather = VideoGather::new(VideoInfo::new(vec![1.0, 2.0, 4.0], Some(3.0)));
        let chose = |mbps: u64, switched| FlowEvent::Chose { bps: mbps * 1_000_000, switched };
        for (at, event) in [
            (0, FlowEvent::Opened),
            (0, chose(1, false)),
            (400, FlowEvent::Plays),
            (500, FlowEvent::Stalled),
            (1200, chose(4, true)),
            (1500, FlowEvent::Plays),
            (3000, FlowEvent::Closed),
            (3000, FlowEvent::Opened),
            (3000, chose(1, false)),
            (3700, FlowEvent::Plays),
            (4000, FlowEvent::Stalled),
            (4250, FlowEvent::Plays),
            (5000, chose(1, false)),
            (8000, FlowEvent::Stalled),
        ] {
            gather.event(ms(at), event, clock);
        }
        let run = gather.finish(ms(9000), clock);
        assert_eq!((run.videos, run.played, run.startup_s), (1, 1, Some(0.7)));
        assert_eq!((run.chunks, run.switches, run.bitrate_mbps, run.bitrate_share), (3, 1, Some(2.0), Some(1.0)));
        // From 1 to 1.5 s, a quarter of a second, and the last one; the first began before the window.
        assert_eq!((run.stalls, run.stalled_s), (2, 0.5 + 0.25 + 1.0));
    }

    #[test]
    fn a_video_that_never_plays_has_no_delay_and_no_stall() {
        let clock = BinClock { bin: Duration::from_millis(100), from: ms(0), to: ms(9000) };
        let mut gather = VideoGather::new(VideoInfo::default());
        gather.event(ms(100), FlowEvent::Opened, clock);
        let run = gather.finish(ms(9000), clock);
        assert_eq!((run.videos, run.played, run.startup_s, run.stalls, run.stalled_s), (1, 0, None, 0, 0.0));
        assert_eq!((run.bitrate_mbps, run.bitrate_share), (None, None));
    }
}
