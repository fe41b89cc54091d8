//! The state that is collected during a run about flows that come and go.

use super::bins::BinClock;
use super::video::VideoGather;
use crate::results::{FlowsInfo, FlowsRun, SizeClassRun, Slowdown};
use ndnweir_core::units::Time;
use ndnweir_sim::observer::FlowEvent;

/// The flows of one consumer.
#[derive(ndnweir_state::Value)]
pub(super) struct FlowGather {
    info: FlowsInfo,
    /// Size, and seconds from arrival to end, of each completed flow that began in the window.
    done: Vec<(u64, f64)>,
    /// By size class: flows that began in the window.
    started: Vec<u64>,
    rejected: u64,
    active: u64,
    /// Number of active flows integrated over time, in ns, by bin.
    area: Vec<u128>,
    began: Vec<u64>,
    completed: Vec<u64>,
    window_area: u128,
    most: u64,
    /// The time up to which the areas are complete.
    counted: Time,
    video: Option<VideoGather>,
}

impl FlowGather {
    pub(super) fn new(info: FlowsInfo, bins: usize) -> FlowGather {
        FlowGather {
            started: vec![0; info.classes_bytes.len() + 1],
            video: info.video.clone().map(VideoGather::new),
            info,
            done: Vec::new(),
            rejected: 0,
            active: 0,
            area: vec![0; bins],
            began: vec![0; bins],
            completed: vec![0; bins],
            window_area: 0,
            most: 0,
            counted: Time::ZERO,
        }
    }

    /// Adds the active flows up to `now` to the areas.
    fn advance(&mut self, now: Time, clock: BinClock) {
        let (width, active) = (clock.bin.nanos(), u128::from(self.active));
        let (from, to) = (self.counted.nanos(), now.nanos());
        self.counted = self.counted.max(now);
        if active == 0 || to <= from {
            return;
        }
        let inside = to.min(clock.to.nanos()).saturating_sub(from.max(clock.from.nanos()));
        self.window_area += active * u128::from(inside);
        if inside > 0 {
            self.most = self.most.max(self.active);
        }
        for bin in from / width..=(to - 1) / width {
            if let Some(area) = self.area.get_mut(bin as usize) {
                *area += active * u128::from(to.min((bin + 1) * width) - from.max(bin * width));
            }
        }
    }

    pub(super) fn event(&mut self, now: Time, event: FlowEvent, clock: BinClock) {
        self.advance(now, clock);
        let bin = (now.nanos() / clock.bin.nanos()) as usize;
        let count = |bins: &mut Vec<u64>| bins.get_mut(bin).into_iter().for_each(|n| *n += 1);
        match event {
            FlowEvent::Began { segments } => {
                self.active += 1;
                count(&mut self.began);
                if clock.counts(now) {
                    self.started[self.info.class(segments)] += 1;
                }
            }
            FlowEvent::Completed { began, segments } => {
                self.active = self.active.saturating_sub(1);
                count(&mut self.completed);
                if clock.counts(began) {
                    self.done.push((segments, now.since(began).secs()));
                }
            }
            FlowEvent::Rejected => self.rejected += u64::from(clock.counts(now)),
            _ => self.video.iter_mut().for_each(|video| video.event(now, event, clock)),
        }
    }

    /// Slowdowns of the completed flows that began in the window; empty without an ideal completion time.
    pub(super) fn slowdowns(&self) -> Vec<f64> {
        self.done.iter().filter_map(|(n, s)| Some(s / self.info.ideal_s(*n)?)).collect()
    }

    pub(super) fn finish(&mut self, end: Time, clock: BinClock) -> FlowsRun {
        self.advance(end, clock);
        let slowdown = |class: Option<usize>| {
            let of = self.done.iter().filter(|(n, _)| class.is_none_or(|class| class == self.info.class(*n)));
            let values: Option<Vec<f64>> = of.map(|(n, s)| Some(s / self.info.ideal_s(*n)?)).collect();
            values.and_then(Slowdown::of)
        };
        let classes = self.info.class_names().into_iter().enumerate();
        let class = |(i, name): (usize, String)| SizeClassRun {
            name,
            started: self.started[i],
            completed: self.done.iter().filter(|(n, _)| self.info.class(*n) == i).count() as u64,
            slowdown: slowdown(Some(i)),
        };
        let (started, completed) = (self.started.iter().sum::<u64>(), self.done.len() as u64);
        let window = end.since(clock.from).nanos();
        let total: f64 = self.done.iter().map(|flow| flow.1).sum();
        FlowsRun {
            started,
            completed,
            unfinished: started - completed,
            rejected: self.rejected,
            active_mean: if window > 0 { self.window_area as f64 / window as f64 } else { 0.0 },
            active_max: self.most,
            completion_mean_s: (completed > 0).then(|| total / completed as f64),
            slowdown: slowdown(None),
            classes: classes.map(class).collect(),
            video: self.video.as_mut().map(|video| video.finish(end, clock)),
        }
    }

    /// One column for each metric of `SeriesKind::Flows`.
    pub(super) fn columns(&self, bins: usize, end: Time, clock: BinClock) -> Vec<Vec<f64>> {
        let width = clock.bin.nanos();
        let active = |bin: usize| {
            let length = end.nanos().min((bin as u64 + 1) * width).saturating_sub(bin as u64 * width);
            if length > 0 { self.area[bin] as f64 / length as f64 } else { f64::NAN }
        };
        let counts = |of: &[u64]| of[..bins].iter().map(|n| *n as f64).collect();
        vec![(0..bins).map(active).collect(), counts(&self.began), counts(&self.completed)]
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
    fn active_flows_are_counted_over_time_and_only_those_that_begin_in_the_window_are_judged() {
        let clock = BinClock { bin: Duration::from_millis(100), from: ms(100), to: ms(400) };
        let info = FlowsInfo {
            latency_s: Some(0.01),
            data_s: Some(0.01),
            payload_bytes: 1000,
            classes_bytes: vec![2000],
            video: None,
        };
        let mut gather = FlowGather::new(info, 4);
        gather.event(ms(50), FlowEvent::Began { segments: 1 }, clock);
        gather.event(ms(150), FlowEvent::Began { segments: 1 }, clock);
        gather.event(ms(200), FlowEvent::Completed { began: ms(50), segments: 1 }, clock);
        gather.event(ms(210), FlowEvent::Completed { began: ms(150), segments: 1 }, clock);
        gather.event(ms(220), FlowEvent::Began { segments: 9 }, clock);
        gather.event(ms(230), FlowEvent::Rejected, clock);
        let run = gather.finish(ms(400), clock);
        assert_eq!((run.started, run.completed, run.unfinished, run.rejected, run.active_max), (2, 1, 1, 1, 2));
        // 60 ms against an ideal of 20 ms.
        assert!((run.slowdown.unwrap().mean - 3.0).abs() < 1e-9);
        assert_eq!(run.classes.iter().map(|c| (c.started, c.completed)).collect::<Vec<_>>(), [(1, 1), (1, 0)]);
        assert!((run.active_mean - (100.0 + 60.0 + 180.0) / 300.0).abs() < 1e-9);
        let columns = gather.columns(4, ms(400), clock);
        assert_eq!(columns[0], [0.5, 1.5, 0.9, 1.0]);
        assert_eq!((&columns[1][..], &columns[2][..]), (&[1.0, 1.0, 1.0, 0.0][..], &[0.0, 0.0, 2.0, 0.0][..]));
    }
}
