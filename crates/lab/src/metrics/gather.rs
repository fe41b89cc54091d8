//! The state that is collected during a run about one consumer and one link.

use super::counts::Counts;
use super::stats::mbps;
use super::{Histogram, LinkSetup, Setup, convergence, rebin};
use crate::results::{ConsumerRun, DeadlineRun, LinkRun, PathRun};
use ndnweir_core::units::{Duration, Time};
use ndnweir_sim::observer::{ConsumerCounters, Delivery, LinkCounters, PathId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Number of paths of one consumer that are reported separately; the rest is `other`.
const MAX_PATHS: usize = 8;
/// Number of paths of one consumer that are counted; later ones are added to the rest immediately.
const TRACKED_PATHS: usize = 256;
/// Bytes that the series of all consumers' paths take at most: when they are used up, the first path of a consumer and
/// its rest still have a series, and other paths are added to that.
const PATH_BYTES: usize = 64 << 20;

/// Mean of the values in each bin.
#[derive(Default, ndnweir_state::Value)]
pub(super) struct Means {
    sum: Vec<f64>,
    count: Vec<u32>,
}

impl Means {
    pub(super) fn new(bins: usize) -> Means {
        Means { sum: vec![0.0; bins], count: vec![0; bins] }
    }
    pub(super) fn add(&mut self, bin: usize, value: f64) {
        self.sum[bin] += value;
        self.count[bin] += 1;
    }
    pub(super) fn column(&self, bins: &Range<usize>) -> Vec<f64> {
        bins.clone()
            .map(|b| if self.count[b] > 0 { self.sum[b] / f64::from(self.count[b]) } else { f64::NAN })
            .collect()
    }
}

#[derive(ndnweir_state::Value)]
struct PathGather {
    /// `None` is the rest.
    id: Option<PathId>,
    window_bits: u64,
    bits: Vec<u64>,
}

/// How many more paths can have a series of so many bins.
#[derive(ndnweir_state::Value)]
pub(super) struct PathRoom {
    bins: usize,
    left: usize,
}

impl PathRoom {
    pub(super) fn new(bins: usize) -> PathRoom {
        PathRoom { bins, left: PATH_BYTES / size_of::<u64>() / bins.max(1) }
    }
}

#[derive(ndnweir_state::Value)]
pub(super) struct ConsumerGather {
    pub(super) delay: Histogram,
    rtt: Histogram,
    pub(super) completed: Option<Time>,
    pub(super) bits: Vec<u64>,
    window_bits: u64,
    late: u64,
    in_order: u64,
    out_of_order: u64,
    delays: Means,
    rtts: Means,
    delay_max: Vec<f64>,
    windows: Means,
    in_flight: Means,
    rates: Means,
    nacks: Vec<u64>,
    marks: Vec<u64>,
    window_sum: f64,
    window_count: u64,
    paths: Vec<PathGather>,
    base: ConsumerCounters,
    last: ConsumerCounters,
}

impl ConsumerGather {
    pub(super) fn new(bins: usize) -> ConsumerGather {
        ConsumerGather {
            delay: Histogram::new(),
            rtt: Histogram::new(),
            completed: None,
            bits: vec![0; bins],
            window_bits: 0,
            late: 0,
            in_order: 0,
            out_of_order: 0,
            delays: Means::new(bins),
            rtts: Means::new(bins),
            delay_max: vec![f64::NAN; bins],
            windows: Means::new(bins),
            in_flight: Means::new(bins),
            rates: Means::new(bins),
            nacks: vec![0; bins],
            marks: vec![0; bins],
            window_sum: 0.0,
            window_count: 0,
            paths: Vec::new(),
            base: ConsumerCounters::default(),
            last: ConsumerCounters::default(),
        }
    }

    pub(super) fn delivered(
        &mut self,
        delivery: &Delivery,
        bin: Option<usize>,
        window: bool,
        room: &mut PathRoom,
        deadline: Option<Duration>,
    ) {
        let arrival = &delivery.arrival;
        let bits = arrival.payload.bits();
        let path = self.path(delivery.path, room);
        if window {
            self.paths[path].window_bits += bits;
            self.window_bits += bits;
            self.delay.record(arrival.delay);
            self.late += u64::from(deadline.is_some_and(|deadline| arrival.delay > deadline));
            if let Some(rtt) = arrival.rtt {
                self.rtt.record(rtt);
            }
            if arrival.in_order {
                self.in_order += 1;
            } else {
                self.out_of_order += 1;
            }
        }
        if let Some(bin) = bin {
            let ms = arrival.delay.millis();
            self.bits[bin] += bits;
            self.paths[path].bits[bin] += bits;
            self.delays.add(bin, ms);
            // `f64::max` returns the number if the other value is NaN.
            self.delay_max[bin] = self.delay_max[bin].max(ms);
            if let Some(rtt) = arrival.rtt {
                self.rtts.add(bin, rtt.millis());
            }
        }
    }

    /// The position of a path; consecutive packets mostly share one, so a linear search that moves hits towards the
    /// front is the fastest lookup.
    fn path(&mut self, id: PathId, room: &mut PathRoom) -> usize {
        if let Some(found) = self.paths.iter().position(|p| p.id == Some(id)) {
            return found;
        }
        let tracked = self.paths.is_empty() || (self.paths.len() < TRACKED_PATHS && room.left > 0);
        let id = tracked.then_some(id);
        if id.is_none()
            && let Some(rest) = self.paths.iter().position(|p| p.id.is_none())
        {
            return rest;
        }
        room.left = room.left.saturating_sub(1);
        self.paths.push(PathGather { id, window_bits: 0, bits: vec![0; room.bins] });
        self.paths.len() - 1
    }

    pub(super) fn sample(&mut self, now: &ConsumerCounters, bin: Option<usize>, warm: bool) {
        if let Some(bin) = bin {
            self.windows.add(bin, now.window);
            self.in_flight.add(bin, f64::from(now.in_flight));
            if let Some(rate) = now.rate {
                self.rates.add(bin, rate);
            }
            self.nacks[bin] += now.nacks.saturating_sub(self.last.nacks);
            self.marks[bin] += now.marks.saturating_sub(self.last.marks);
        }
        self.last = *now;
        if warm {
            self.base = *now;
        } else if now.window.is_finite() {
            self.window_sum += now.window;
            self.window_count += 1;
        }
    }

    /// Paths by bits in the window, largest first, with the rest merged; empty if there is only one path.
    fn ranked(&self, names: &BTreeMap<PathId, String>) -> Vec<(String, u64, Vec<u64>)> {
        let mut order: Vec<&PathGather> = self.paths.iter().collect();
        if order.len() < 2 {
            return Vec::new();
        }
        let total = |p: &PathGather| (p.window_bits, p.bits.iter().sum::<u64>());
        order.sort_by_key(|p| (p.id.is_none(), std::cmp::Reverse(total(p)), p.id));
        let mut found: Vec<(String, u64, Vec<u64>)> = Vec::new();
        for path in order {
            let name = path.id.and_then(|id| names.get(&id).cloned().or_else(|| Some(format!("path {}", id.0))));
            match (name, found.len() < MAX_PATHS) {
                (Some(name), true) => found.push((name, path.window_bits, path.bits.clone())),
                _ => {
                    if found.last().is_none_or(|f| f.0 != "other") {
                        found.push(("other".to_owned(), 0, vec![0; path.bits.len()]));
                    }
                    if let Some(rest) = found.last_mut() {
                        rest.1 += path.window_bits;
                        rest.2.iter_mut().zip(&path.bits).for_each(|(a, b)| *a += b);
                    }
                }
            }
        }
        found
    }

    pub(super) fn path_series(&self, names: &BTreeMap<PathId, String>) -> Vec<(String, Vec<u64>)> {
        self.ranked(names).into_iter().map(|(name, _, bits)| (name, bits)).collect()
    }

    pub(super) fn finish(
        &self,
        setup: &Setup,
        index: usize,
        (active, measured): (Duration, Duration),
        names: &BTreeMap<PathId, String>,
    ) -> ConsumerRun {
        let me = &setup.consumers[index];
        let (a, b) = (&self.base, &self.last);
        ConsumerRun {
            name: me.name.clone(),
            goodput_mbps: mbps(self.window_bits as f64, active.secs()),
            goodput_run_mbps: mbps(self.window_bits as f64, measured.secs()),
            payload_bits: self.window_bits,
            active_s: active.secs(),
            delay_ms: self.delay.distribution(),
            rtt_ms: self.rtt.distribution(),
            completion_s: self.completed.map(|at| at.since(me.start).secs()),
            convergence_s: if me.long_lived { self.convergence(setup, me.start, me.stop) } else { None },
            interests: b.interests.saturating_sub(a.interests),
            retransmissions: b.retransmissions.saturating_sub(a.retransmissions),
            segments: self.in_order + self.out_of_order,
            duplicates: b.duplicates.saturating_sub(a.duplicates),
            in_order: self.in_order,
            out_of_order: self.out_of_order,
            marks: b.marks.saturating_sub(a.marks),
            nacks: b.nacks.saturating_sub(a.nacks),
            timeouts: b.timeouts.saturating_sub(a.timeouts),
            losses: b.losses.saturating_sub(a.losses),
            false_losses: b.false_losses.saturating_sub(a.false_losses),
            decreases: b.decreases.saturating_sub(a.decreases),
            falls: b.falls.saturating_sub(a.falls),
            interest_overhead: overhead(
                b.interests.saturating_sub(a.interests),
                setup.interest_bytes,
                self.window_bits,
            ),
            state_bytes: None,
            deadline: me.deadline.map(|_| self.deadline()),
            flows: None,
            window_mean: (self.window_count > 0).then(|| self.window_sum / self.window_count as f64),
            paths: self
                .ranked(names)
                .into_iter()
                .filter(|p| p.1 > 0)
                .map(|(path, bits, _)| PathRun { path, goodput_mbps: mbps(bits as f64, active.secs()) })
                .collect(),
        }
    }

    /// The fate of the segments requested between the samples that bound the window.
    fn deadline(&self) -> DeadlineRun {
        let (a, b) = (&self.base, &self.last);
        let first = |c: &ConsumerCounters| c.interests - c.retransmissions.min(c.interests);
        let asked = first(b).saturating_sub(first(a)) + u64::from(a.in_flight);
        let ended = asked.saturating_sub(b.in_flight.into());
        let lost = ended.saturating_sub(b.segments.saturating_sub(a.segments));
        let missed = (ended > 0).then(|| ((self.late + lost) as f64 / ended as f64).min(1.0));
        DeadlineRun { late: self.late, lost, missed }
    }

    fn convergence(&self, setup: &Setup, start: Time, stop: Option<Time>) -> Option<f64> {
        let width = setup.bin.secs();
        let first = start.nanos().div_ceil(setup.bin.nanos()) as usize;
        let end = stop.map_or(self.bits.len(), |s| (s.nanos() / setup.bin.nanos()) as usize).min(self.bits.len());
        let rates: Vec<f64> = self.bits.get(first..end)?.iter().map(|b| mbps(*b as f64, width)).collect();
        let by = ((1.0 / width).round() as usize).max(1);
        let at = convergence(&rebin(&rates, by), 0.1, 0.25)?;
        Some((at * by) as f64 * width)
    }

    /// One column for each metric of `SeriesKind::Consumers`.
    pub(super) fn columns(&self, bins: &Range<usize>, width: &dyn Fn(usize) -> f64) -> Vec<Vec<f64>> {
        let counts = |v: &[u64]| v[bins.clone()].iter().map(|n| *n as f64).collect();
        vec![
            bins.clone().map(|bin| mbps(self.bits[bin] as f64, width(bin))).collect(),
            self.delays.column(bins),
            self.delay_max[bins.clone()].to_vec(),
            self.rtts.column(bins),
            self.windows.column(bins),
            self.in_flight.column(bins),
            counts(&self.nacks),
            counts(&self.marks),
            self.rates.column(bins),
        ]
    }
}

/// Interest bytes over content bytes.
pub(super) fn overhead(interests: u64, interest_bytes: u64, content_bits: u64) -> Option<f64> {
    (content_bits > 0).then(|| (interests as f64 * interest_bytes as f64 * 8.0) / content_bits as f64)
}

#[derive(Default, ndnweir_state::Value)]
pub(super) struct LinkGather {
    data_bits: Counts,
    interest_bits: Counts,
    pub(super) overflow_bits: Counts,
    marks: Counts,
    nacks: Counts,
    /// Packets waiting, added up over samples.
    queue: Counts,
    /// Packets that departed, what they had waited together and the longest of these waits, in ns.
    departed: Counts,
    waited: Counts,
    longest_waits: Counts,
    longest: Duration,
    queue_sum: f64,
    queue_count: u64,
    queue_max: u32,
    /// At the start of the window; none if nothing was counted by then.
    base: Option<Box<LinkCounters>>,
    last: LinkCounters,
}

impl LinkGather {
    pub(super) fn sample(&mut self, now: &LinkCounters, bins: usize, bin: Option<usize>, warm: bool) {
        let last = &self.last;
        if let Some(bin) = bin {
            self.data_bits.add(bins, bin, now.data_bits.saturating_sub(last.data_bits));
            self.interest_bits.add(bins, bin, now.interest_bits.saturating_sub(last.interest_bits));
            self.overflow_bits.add(bins, bin, now.overflow_data_bits.saturating_sub(last.overflow_data_bits));
            self.marks.add(bins, bin, now.data_marks.saturating_sub(last.data_marks));
            self.nacks.add(bins, bin, now.nack_packets.saturating_sub(last.nack_packets));
            self.queue.add(bins, bin, now.queue_packets.into());
            let departed = now.sojourn_count.saturating_sub(last.sojourn_count);
            let waited = now.sojourn_sum.saturating_sub(last.sojourn_sum);
            self.departed.add(bins, bin, departed);
            self.waited.add(bins, bin, u64::try_from(waited).unwrap_or(u64::MAX));
            if departed > 0 {
                self.longest_waits.raise(bins, bin, now.sojourn_max.nanos());
            }
        }
        if warm {
            self.base = (*now != LinkCounters::default()).then(|| Box::new(*now));
        } else {
            self.longest = self.longest.max(now.sojourn_max);
            self.queue_sum += f64::from(now.queue_packets);
            self.queue_count += 1;
            self.queue_max = self.queue_max.max(now.queue_packets);
        }
        self.last = *now;
    }

    pub(super) fn rate(&self, bits: &Counts, bin: usize, width: f64) -> f64 {
        mbps(bits.get(bin) as f64, width)
    }

    pub(super) fn finish(&self, setup: &LinkSetup, sampled: Duration) -> LinkRun {
        let (a, b) = (self.base.as_deref().copied().unwrap_or_default(), &self.last);
        let capacity = setup.rate.bps() as f64 * sampled.secs();
        let part = |bits: u64| {
            if capacity > 0.0 { bits as f64 / capacity } else { 0.0 }
        };
        let data = b.data_bits.saturating_sub(a.data_bits);
        let interests = b.interest_bits.saturating_sub(a.interest_bits);
        let nacks = b.nack_bits.saturating_sub(a.nack_bits);
        let others = b.other_bits.saturating_sub(a.other_bits);
        let departed = b.sojourn_count.saturating_sub(a.sojourn_count);
        let waited = b.sojourn_sum.saturating_sub(a.sojourn_sum) as f64 / 1e6;
        LinkRun {
            name: setup.name.clone(),
            utilization: part(data + interests + nacks + others),
            utilization_data: part(data),
            utilization_interests: part(interests),
            queue_ms: if departed > 0 { waited / departed as f64 } else { 0.0 },
            queue_max_ms: self.longest.millis(),
            queue_p99_ms: None,
            queue_packets: if self.queue_count > 0 { self.queue_sum / self.queue_count as f64 } else { 0.0 },
            queue_max_packets: self.queue_max,
            loss_mbps: mbps(b.overflow_data_bits.saturating_sub(a.overflow_data_bits) as f64, sampled.secs()),
            marks: b.data_marks.saturating_sub(a.data_marks),
            interest_marks: b.interest_marks.saturating_sub(a.interest_marks),
            nacks: b.nack_packets.saturating_sub(a.nack_packets),
            drops: b.drops.since(&a.drops),
        }
    }

    /// One column for each metric of `SeriesKind::Links`; `samples` by bin.
    pub(super) fn columns(&self, bins: &Range<usize>, width: &dyn Fn(usize) -> f64, samples: &[u32]) -> Vec<Vec<f64>> {
        let rates = |bits: &Counts| bins.clone().map(|bin| self.rate(bits, bin, width(bin))).collect();
        let of_departed = |value: &dyn Fn(usize, f64) -> f64| {
            let value = |bin| match self.departed.get(bin) {
                0 => f64::NAN,
                departed => value(bin, departed as f64),
            };
            bins.clone().map(value).collect()
        };
        vec![
            rates(&self.data_bits),
            rates(&self.interest_bits),
            self.queue.means(bins, samples),
            of_departed(&|bin, departed| self.waited.get(bin) as f64 / departed / 1e6),
            of_departed(&|bin, _| Duration::from_nanos(self.longest_waits.get(bin)).millis()),
            rates(&self.overflow_bits),
            self.marks.column(bins),
            self.nacks.column(bins),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_the_room_of_paths_is_used_up_each_consumer_has_its_first_path_and_the_rest() {
        let mut room = PathRoom { bins: 2, left: 2 };
        let (mut a, mut b) = (ConsumerGather::new(2), ConsumerGather::new(2));
        let places = [1, 2, 3, 4, 2].map(|id| a.path(PathId(id), &mut room));
        assert_eq!((places, room.left), ([0, 1, 2, 2, 1], 0));
        assert_eq!([7, 8, 9, 7].map(|id| b.path(PathId(id), &mut room)), [0, 1, 1, 0]);
        let ids = |gather: &ConsumerGather| gather.paths.iter().map(|path| path.id).collect::<Vec<_>>();
        assert_eq!(ids(&a), [Some(PathId(1)), Some(PathId(2)), None]);
        assert_eq!(ids(&b), [Some(PathId(7)), None]);
        // 64 MiB are 13,981 series of 600 bins.
        assert_eq!(PathRoom::new(600).left, 13_981);
    }
}
