//! Quantiles of the time that packets wait in the queues of links.

use super::stats::{Buckets, bucket, middle};
use crate::results::Run;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;
use ndnweir_prefetch::prefetch;
use ndnweir_sim::observer::{DirectedLinkId, NodeId};
use ndnweir_sim::{PacketTap, TapPart};
use ndnweir_state::State;
use std::any::Any;
use std::ops::Range;

/// Buckets per power of two: 64, so that a quantile is off by less than 1 %. There may be 200 000 link directions, so
/// these are coarser than those of delays.
const SUB_BITS: u32 = 6;

/// Counts, by link direction, the waits of NDN packets whose transmission starts in a window. Hands what it sees to
/// another tap, if there is one.
///
/// A wait is counted as known when the packet was handed to the link. On links with predictable queues that is when it
/// joins the queue: a rate that changes while it waits is not taken into account.
#[derive(ndnweir_state::State)]
pub struct Waits<'a> {
    counts: Counts,
    #[state(skip)]
    next: Option<&'a mut dyn PacketTap>,
}

/// What is counted, or a part of it.
#[derive(ndnweir_state::State)]
struct Counts {
    #[state(skip)]
    window: Range<Time>,
    /// By direction: packets by bucket.
    links: Vec<LinkWaits>,
}

/// Waits that are kept before they are counted: as many as fit.
const LATEST: usize = 25;

/// The waits of a link direction. In a large network each of its cache lines is far memory, and a packet needs this one
/// alone.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
#[repr(align(64))]
struct LinkWaits {
    /// Buckets of the waits that are not counted yet.
    latest: [u16; LATEST],
    /// How many these are.
    uncounted: u16,
    /// Packets that did not wait at all, as most do not: the first bucket, up to 2³² − 1 like the others.
    at_once: u32,
    counts: Option<Box<Buckets>>,
}

const _: () = assert!(size_of::<LinkWaits>() == 64);

impl LinkWaits {
    fn add(&mut self, bucket: u16) {
        if bucket == 0 {
            self.at_once = self.at_once.saturating_add(1);
            return;
        }
        if usize::from(self.uncounted) == LATEST {
            self.count();
        }
        self.latest[usize::from(self.uncounted)] = bucket;
        self.uncounted += 1;
        // Before they are counted with one of the next packets, which would wait for far memory twice.
        if usize::from(self.uncounted) + 1 >= LATEST
            && let Some(counts) = &self.counts
        {
            if usize::from(self.uncounted) == LATEST { counts.expect() } else { prefetch(&**counts) }
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&mut self) {
        let latest = &self.latest[..usize::from(std::mem::take(&mut self.uncounted))];
        if !latest.is_empty() {
            let counts = self.counts.get_or_insert_default();
            latest.iter().for_each(|&bucket| counts.count(bucket));
        }
    }

    /// All that were counted, the others too.
    fn all(&mut self) -> Option<&Buckets> {
        self.count();
        if self.at_once > 0 {
            self.counts.get_or_insert_default().add(0, std::mem::take(&mut self.at_once));
        }
        self.counts.as_deref()
    }

    fn take_in(&mut self, other: LinkWaits) {
        self.at_once = self.at_once.saturating_add(other.at_once);
        other.latest[..usize::from(other.uncounted)].iter().for_each(|&bucket| self.add(bucket));
        if let Some(more) = other.counts {
            self.counts.get_or_insert_default().take_in(*more);
        }
    }
}

impl TapPart for Counts {
    fn sent(&mut self, waiting: Range<Time>, link: DirectedLinkId) {
        if self.window.contains(&waiting.end)
            && let Some(counts) = self.links.get_mut(link.0 as usize)
        {
            counts.add(bucket(waiting.end.since(waiting.start).nanos(), SUB_BITS));
        }
    }

    fn expect(&self, link: DirectedLinkId) {
        self.links.get(link.0 as usize).into_iter().for_each(prefetch);
    }
}

impl<'a> Waits<'a> {
    /// A tap for this window and number of link directions.
    pub fn new(window: Range<Time>, links: usize, next: Option<&'a mut dyn PacketTap>) -> Waits<'a> {
        Waits { counts: Counts { window, links: vec![LinkWaits::default(); links] }, next }
    }

    /// The 99th percentile of a direction by the nearest-rank rule, in ms; `None` without packets.
    fn p99_ms(&mut self, link: usize) -> Option<f64> {
        let counts = self.counts.links.get_mut(link)?.all()?;
        let at = counts.nearest_rank(counts.total(), 0.99)?;
        Some(middle(at, SUB_BITS) / 1e6)
    }

    /// Puts the results into a run of the same scenario.
    pub fn finish(mut self, run: &mut Run) {
        for (number, link) in run.links.iter_mut().enumerate() {
            link.queue_p99_ms = self.p99_ms(number);
        }
    }
}

impl PacketTap for Waits<'_> {
    fn sent(&mut self, now: Time, waiting: Range<Time>, link: DirectedLinkId, ends: [NodeId; 2], packet: &Packet) {
        self.counts.sent(waiting.clone(), link);
        if let Some(next) = &mut self.next {
            next.sent(now, waiting, link, ends, packet);
        }
    }

    fn state(&mut self) -> Option<&mut dyn State> {
        // What another tap has written cannot be written again.
        if self.next.is_some() { None } else { Some(self) }
    }

    fn part(&self) -> Option<Box<dyn TapPart>> {
        let Counts { window, links } = &self.counts;
        let part = || Counts { window: window.clone(), links: vec![LinkWaits::default(); links.len()] };
        self.next.is_none().then(|| Box::new(part()) as Box<dyn TapPart>)
    }

    fn take_in(&mut self, part: Box<dyn Any>) {
        if let Ok(part) = part.downcast::<Counts>() {
            self.counts.links.iter_mut().zip(part.links).for_each(|(counts, more)| counts.take_in(more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::LinkRun;

    #[test]
    fn the_99th_percentile_of_waits_is_that_of_the_sorted_list_within_one_percent() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let mut waits = Waits::new(ms(10)..ms(100_000), 2, None);
        // 1, 2, … 200 ms; and a longer one before the window.
        waits.counts.sent(ms(0)..ms(9), DirectedLinkId(0));
        (1..=200).rev().for_each(|n| waits.counts.sent(ms(1000)..ms(1000 + n), DirectedLinkId(0)));
        waits.counts.sent(ms(0)..ms(100_000), DirectedLinkId(0));
        let mut run = Run { links: vec![LinkRun::default(), LinkRun::default()], ..Run::default() };
        waits.finish(&mut run);
        let p99 = run.links[0].queue_p99_ms.unwrap();
        assert!((p99 - 198.0).abs() < 1.98, "{p99}");
        assert_eq!(run.links[1].queue_p99_ms, None);
    }

    #[test]
    fn waits_that_two_parts_have_counted_are_those_of_one() {
        // Fewer than are kept uncounted, as many, and more.
        for n in [0, 1, LATEST as u64 - 1, LATEST as u64, LATEST as u64 + 1, 100] {
            let waits = || Waits::new(Time::ZERO..Time::NEVER, 1, None);
            let (mut one, mut two) = (waits(), waits());
            for part in 0..2 {
                let mut counted = two.part().unwrap();
                for i in 0..n + 5 * part {
                    let waiting = Time::ZERO..Time::from_nanos(i * i * 1000);
                    one.counts.sent(waiting.clone(), DirectedLinkId(0));
                    counted.sent(waiting, DirectedLinkId(0));
                }
                two.take_in(counted);
            }
            assert_eq!(one.p99_ms(0), two.p99_ms(0), "{n}");
            let total = |waits: &mut Waits<'_>| waits.counts.links[0].all().map(Buckets::total);
            assert_eq!((total(&mut one), total(&mut two)), (Some(2 * n + 5), Some(2 * n + 5)));
        }
    }

    #[test]
    fn packets_that_never_wait_have_a_quantile_of_zero() {
        let mut waits = Waits::new(Time::ZERO..Time::NEVER, 1, None);
        (0..50).for_each(|n| waits.counts.sent(Time::from_nanos(n)..Time::from_nanos(n), DirectedLinkId(0)));
        assert_eq!(waits.p99_ms(0), Some(0.0));
    }
}
