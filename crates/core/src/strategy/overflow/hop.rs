//! One next hop of `overflow`: what it may carry, what is on its way there, and whether it answers.

use super::{NextHop, Params};
use crate::ids::{FaceId, NameId};
use crate::units::{Duration, Time};

/// What is on its way counts for so many mean round trips at least, and twice as long at most, but for no longer than
/// [`LONGEST_EPOCH`].
const EPOCH: u64 = 4;
/// Answers come in bursts and not evenly.
const LEAST_EPOCH: Duration = Duration::from_millis(100);
/// Longer than the round trips of most paths, and the epoch while they are not known.
const LONGEST_EPOCH: Duration = Duration::from_millis(4000);
/// How long the least round trip counts at least, and twice as long at most; as in the meter of `measured`.
const BASE: Duration = Duration::from_millis(10_000);
/// So many Interests since its last Data without an answer, and a next hop is silent.
const LOST: u8 = 3;
/// What a round trip may take that was never measured.
const UNKNOWN: Duration = Duration::from_millis(1000);
/// How often an Interest is to show how a next hop answers that is silent, or has not answered yet.
const RETRY: Duration = Duration::from_millis(1000);
/// Weight of the latest round trip in the mean (RFC 6298).
const NEWEST: f64 = 0.125;

/// Interests on their way, by when they were sent. Those that nobody answers do not fill a path: they are forgotten after
/// two epochs, and until then as many are left out as one epoch before left per second.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub(super) struct Outstanding {
    since: Time,
    now: u32,
    /// When the epoch before began, and what is left of it.
    since_before: Time,
    before: u32,
    /// How many of the one before that nobody answered, per second.
    unanswered: f64,
}

impl Outstanding {
    fn age(&mut self, epoch: Duration, now: Time) {
        let elapsed = now.since(self.since);
        if elapsed >= epoch * 2 {
            *self = Outstanding { since: now, since_before: now, ..Outstanding::default() };
        } else if elapsed >= epoch {
            let unanswered = f64::from(self.before) / self.since.since(self.since_before).max(epoch).secs();
            let (since_before, before) = (self.since, self.now);
            *self = Outstanding { since: now, now: 0, since_before, before, unanswered };
        }
    }

    fn sent(&mut self, epoch: Duration, now: Time) {
        self.age(epoch, now);
        self.now = self.now.saturating_add(1);
    }

    /// What was sent at `sent` is on its way no longer.
    fn over(&mut self, sent: Time, epoch: Duration, now: Time) {
        self.age(epoch, now);
        let count = match sent {
            _ if sent >= self.since => &mut self.now,
            _ if sent >= self.since_before => &mut self.before,
            _ => return,
        };
        *count = count.saturating_sub(1);
    }

    /// How many are on their way and are answered.
    fn count(&self, now: Time) -> f64 {
        let part = |count: u32, time: Duration| (f64::from(count) - self.unanswered * time.secs()).max(0.0);
        part(self.before, self.since.since(self.since_before)) + part(self.now, now.since(self.since))
    }
}

/// The least round trip of the last while.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Least {
    since: Time,
    now: Duration,
    before: Duration,
}

impl Least {
    fn new() -> Least {
        let none = Duration::from_nanos(u64::MAX);
        Least { since: Time::ZERO, now: none, before: none }
    }

    fn add(&mut self, rtt: Duration, now: Time) {
        if now.since(self.since) >= BASE {
            *self = Least { since: now, now: rtt, before: self.now };
        }
        self.now = self.now.min(rtt);
    }

    fn get(&self) -> Duration {
        self.now.min(self.before)
    }
}

/// A next hop.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(super) struct Hop {
    pub(super) face: FaceId,
    pub(super) cost: u32,
    /// Interests that may be on their way.
    window: f64,
    outstanding: Outstanding,
    /// Whether no mark and no loss has ended its start yet.
    starting: bool,
    /// The mean round trip.
    pub(super) srtt: Option<Duration>,
    /// While that is unknown, or it is silent: the Interest that is to show how it answers, and when it went there.
    probe: Option<(NameId, Time)>,
    least: Least,
    /// When the window was last cut, and a mark last came.
    cut: Option<Time>,
    marked: Option<Time>,
    /// When its last Data came, and Interests since that were not answered.
    answered: Option<Time>,
    lost: u8,
}

impl Hop {
    pub(super) fn new(next: NextHop, params: &Params) -> Hop {
        Hop {
            face: next.face,
            cost: next.cost,
            window: params.initial_window,
            outstanding: Outstanding::default(),
            starting: true,
            srtt: None,
            probe: None,
            least: Least::new(),
            cut: None,
            marked: None,
            answered: None,
            lost: 0,
        }
    }

    /// The part of its window that is in use.
    pub(super) fn fill(&self, now: Time) -> f64 {
        self.outstanding.count(now) / self.window
    }

    /// See [`EPOCH`].
    fn epoch(&self) -> Duration {
        self.srtt.map_or(LONGEST_EPOCH, |srtt| (srtt * EPOCH).clamp(LEAST_EPOCH, LONGEST_EPOCH))
    }

    pub(super) fn window(&self) -> f64 {
        self.window
    }

    /// Whether more Interests would be answered as fast as these: its window has room, or no mark came for some round
    /// trips, so that the window still grows.
    pub(super) fn takes_more(&self, params: &Params, now: Time) -> bool {
        let rest = self.srtt.unwrap_or_default().scale(params.patience);
        !self.is_silent(now) && (self.fill(now) < 1.0 || self.marked.is_none_or(|marked| now.since(marked) > rest))
    }

    /// Whether it is known to answer.
    pub(super) fn answers(&self, now: Time) -> bool {
        self.srtt.is_some() && !self.is_silent(now)
    }

    /// Whether it does not answer any more.
    pub(super) fn has_gone(&self) -> bool {
        self.lost >= LOST
    }

    /// Whether it does not answer any more, or has not answered the Interest that was to show how it does, ever.
    pub(super) fn is_silent(&self, now: Time) -> bool {
        self.has_gone() || (self.srtt.is_none() && self.probe.is_some_and(|(_, sent)| now.since(sent) >= UNKNOWN))
    }

    /// An Interest goes there, and went before at the time of its record. `probes`: another next hop could answer it.
    pub(super) fn sent(&mut self, name: NameId, before: Option<Time>, probes: bool, now: Time) {
        if let Some(sent) = before {
            self.outstanding.over(sent, self.epoch(), now);
        }
        self.outstanding.sent(self.epoch(), now);
        if probes && self.probe_due(now) {
            // What was silent stays so until it answers.
            if self.is_silent(now) {
                self.lost = self.lost.max(LOST);
            }
            self.probe = Some((name, now));
        }
    }

    /// What was sent is on its way no longer, and nothing is known of an answer.
    pub(super) fn forget(&mut self, sent: Time, now: Time) {
        self.outstanding.over(sent, self.epoch(), now);
    }

    /// The time in which it should answer.
    fn patience(&self) -> Duration {
        self.srtt.map_or(UNKNOWN, |srtt| srtt * 2)
    }

    /// Whether the next Interest is to show how it answers.
    pub(super) fn probe_due(&self, now: Time) -> bool {
        let unknown = self.srtt.is_none() || self.is_silent(now);
        unknown && self.probe.is_none_or(|(_, sent)| now.since(sent) >= RETRY)
    }

    /// Whether this is the Interest that shows it, and still has time. If another next hop were asked, its answer would
    /// come first, and nobody would wait for that of this one.
    pub(super) fn is_probed_by(&self, name: NameId, now: Time) -> bool {
        self.probe.is_some_and(|(probe, sent)| probe == name && now.since(sent) < self.patience())
    }

    /// Another next hop answered what was sent here. That is a loss only if this one had time for it.
    pub(super) fn overtaken(&mut self, sent: Time, now: Time) {
        if now.since(sent) > self.patience() {
            self.lose(sent, now);
        } else {
            self.forget(sent, now);
        }
    }

    /// What was sent was not answered in time. Where Data have come since, it says nothing of the way: anyone may ask for
    /// what nobody has.
    pub(super) fn lose(&mut self, sent: Time, now: Time) {
        self.outstanding.over(sent, self.epoch(), now);
        if self.answered.is_none_or(|answered| answered <= sent) {
            self.lost = self.lost.saturating_add(1);
            self.starting = false;
        }
    }

    /// A Data came; `rtt` as far as it is known which Interest it answers.
    pub(super) fn answered(&mut self, sent: Time, rtt: Option<Duration>, params: &Params, now: Time) {
        let filled = self.fill(now) >= 1.0;
        let epoch = self.epoch();
        self.heard(rtt, params, now);
        self.outstanding.over(sent, epoch, now);
        if filled {
            let step = if self.starting { params.start } else { params.growth };
            self.window = (self.window + step).min(params.most);
        }
    }

    /// The same for Data that nobody waits for any more: it counts if it answers the Interest that is to show how this
    /// next hop answers, which was `once` sent there as far as the link says.
    pub(super) fn answered_late(&mut self, name: NameId, once: bool, params: &Params, now: Time) {
        let Some((_, sent)) = self.probe.filter(|(probe, _)| *probe == name) else { return };
        let rtt = now.since(sent);
        if rtt <= LONGEST_EPOCH {
            self.heard(Some(rtt).filter(|_| once), params, now);
        }
    }

    fn heard(&mut self, rtt: Option<Duration>, params: &Params, now: Time) {
        if self.is_silent(now) {
            self.window = self.window.min(params.initial_window);
        }
        (self.answered, self.lost, self.probe) = (Some(now), 0, None);
        if let Some(rtt) = rtt {
            let mean = self.srtt.map_or(rtt, |mean| mean.scale(1.0 - NEWEST) + rtt.scale(NEWEST));
            self.srtt = Some(mean);
            self.least.add(rtt, now);
        }
    }

    /// A mark came: once per round trip the window becomes what would be on its way without the queue, within bounds.
    pub(super) fn marked(&mut self, params: &Params, now: Time) {
        (self.starting, self.marked) = (false, Some(now));
        let rest = self.srtt.unwrap_or(LONGEST_EPOCH);
        if self.cut.is_some_and(|cut| now.since(cut) < rest) {
            return;
        }
        self.cut = Some(now);
        let known = self.srtt.filter(|srtt| *srtt > Duration::ZERO);
        let without_queue = known.map_or(0.0, |srtt| self.least.get().secs() / srtt.secs());
        self.window = (self.window * without_queue.clamp(params.beta, 1.0)).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn interests_that_nobody_reports_are_forgotten_after_two_epochs() {
        let (mut outstanding, epoch) = (Outstanding::default(), Duration::from_millis(4000));
        (0..10).for_each(|_| outstanding.sent(epoch, at(100)));
        outstanding.over(at(100), epoch, at(200));
        assert_eq!(outstanding.count(at(200)), 9.0);
        outstanding.sent(epoch, at(4000));
        assert_eq!(outstanding.count(at(4000)), 10.0);
        outstanding.over(at(100), epoch, at(4100));
        outstanding.over(at(4000), epoch, at(4100));
        assert_eq!((outstanding.now, outstanding.before), (0, 8));
        outstanding.sent(epoch, at(8000));
        outstanding.over(at(100), epoch, at(8000));
        assert_eq!((outstanding.now, outstanding.before), (1, 0), "what is forgotten is not over once more");
        outstanding.sent(epoch, at(16_000));
        assert_eq!(outstanding.count(at(16_000)), 1.0, "two epochs without anything");
    }

    // 300 a second that nobody answers, 900 a second answered after 20 ms: 18 of these are on their way.
    #[test]
    fn interests_that_nobody_answers_do_not_fill_a_path() {
        let (mut outstanding, epoch) = (Outstanding::default(), Duration::from_millis(100));
        for step in 0..600 {
            let now = at(step * 10);
            (0..12).for_each(|_| outstanding.sent(epoch, now));
            if step >= 2 {
                (0..9).for_each(|_| outstanding.over(at(step * 10 - 20), epoch, now));
            }
            let count = outstanding.count(now);
            assert!(step < 40 || (15.0..=33.0).contains(&count), "{count} at {now:?}");
        }
    }

    #[test]
    fn the_least_round_trip_is_forgotten_after_twenty_seconds() {
        let (mut least, ms) = (Least::new(), Duration::from_millis);
        least.add(ms(10), at(9000));
        least.add(ms(20), at(10_000));
        assert_eq!(least.get(), ms(10));
        least.add(ms(30), at(20_000));
        assert_eq!(least.get(), ms(20));
    }

    // Round trips of 100 ms, then 110: the mean of the second is 101.25 ms, and the window becomes 8 · 100/101.25.
    #[test]
    fn a_mark_takes_from_the_window_what_stands_in_the_queue_once_per_round_trip() {
        let params = Params::default();
        let mut hop = Hop::new(NextHop { face: FaceId(1), cost: 1 }, &params);
        hop.sent(NameId::default(), None, true, at(0));
        hop.answered(at(0), Some(Duration::from_millis(100)), &params, at(100));
        hop.sent(NameId::default(), None, true, at(100));
        hop.answered(at(100), Some(Duration::from_millis(110)), &params, at(210));
        hop.marked(&params, at(210));
        assert!((hop.window - 8.0 * 100.0 / 101.25).abs() < 1e-6, "{}", hop.window);
        let window = hop.window;
        hop.marked(&params, at(300));
        assert_eq!(hop.window, window);
        for sent in (300..24_300).step_by(400) {
            hop.sent(NameId::default(), None, true, at(sent));
            hop.answered(at(sent), Some(Duration::from_millis(400)), &params, at(sent + 400));
        }
        // The least round trip is forgotten by now.
        hop.least.add(Duration::from_millis(100), at(24_300));
        hop.marked(&params, at(24_300));
        assert!((hop.window - window * params.beta).abs() < 1e-6, "no more than beta at once");
    }
}
