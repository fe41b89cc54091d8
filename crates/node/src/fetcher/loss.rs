//! Losses found before their timeout: RACK-TLP (RFC 8985), from acknowledgements carried over to Interests and Data.
//!
//! * **Overtaken** (RFC 8985 §6.2): a segment is lost when an Interest sent after its latest one was answered and a
//!   round trip and the reordering window have passed since its own. That holds for Interests sent again as well, and a
//!   timer finds those that no further Data would.
//! * **Reordering** (§6.2 step 4): the window grows by one step for each round trip in which a segment given up arrived
//!   after all, and falls back to one step after 16 rounds of losses without that.
//! * **Probe** (§7): where nothing sent later can be answered, one Interest is sent again after two round trips of
//!   silence. Its answer shows that the first was lost, and overtakes all others.
//!
//! Ours, as NDN lacks what TCP has: a Data does not say which Interest it answers, so one that comes sooner after an
//! Interest sent again than 7/8 of the least round trip, or half the smoothed one, is taken for an answer to the
//! earlier; an eighth is left since a cache before the place of the loss answers sooner than the producer. The round
//! trip is the larger of the smoothed and the latest (RFC 9002 §6.1.2), and the window a part of the smoothed one,
//! since some Data come from caches and the least round trip may be of another path. The probe is for the segment
//! waited for longest. A link that retransmits its losses takes a round trip of its own, which may be nearly the whole:
//! the window may grow to two round trips, not one, and the first Data that says it was link-retransmitted widens it at
//! once.
//!
//! An answer to an Interest sent again measures no round trip. So where round trips have become much longer at once, each
//! segment would be given up before its first answer, for ever. As of a timer (Karn and Partridge, SIGCOMM 1987; RFC
//! 6298 §5.7), what a segment is allowed doubles with each round of losses in which no round trip was measured, until one
//! is. It doubles likewise where many are given up in round after round, since caches then answer what overtakes.

use ndnweir_core::fields::Slot;
use ndnweir_core::units::{Duration, Time};

/// When a segment is given up before its timeout.
///
/// Only for paths that mostly keep the order, or where Data say how much longer other ways take: else, over several
/// paths, a late answer does not mean a loss.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub struct LossDetection {
    /// A step of the reordering window, in smoothed round-trip times (RFC 8985 §6.2: 1/4).
    pub step: f64,
    /// A step is at least this (RFC 9002 §6.1.2: 1 ms).
    pub granularity: Duration,
    /// The most that the window grows to, in smoothed round-trip times, but at least 16 × `granularity` (RFC 8985: 1).
    pub most: f64,
    /// Where Data carry [`Field::LongerWay`](ndnweir_core::fields::Field::LongerWay): what was sent earlier may have gone
    /// that way. Ours.
    pub longer_way: Option<Slot>,
}

impl Default for LossDetection {
    fn default() -> LossDetection {
        LossDetection { step: 0.25, granularity: Duration::from_millis(1), most: 2.0, longer_way: None }
    }
}

/// Rounds of losses without a disproved one after which the window is one step again (RFC 8985 §6.2 step 4).
const PERSISTENCE: u32 = 16;
/// The least part of a round trip after which an Interest sent again is answered. Ours.
const REPEAT: f64 = 0.875;
/// The least reordering window where a link retransmits its losses, in smoothed round-trip times. Ours: a
/// retransmission begins when three later frames were acknowledged, which takes little more than the link's round trip,
/// and then takes half of one.
const LINK_RETRANSMISSION_WINDOW: f64 = 1.5;
/// Bounds the window on short paths, in units of the granularity. Ours.
const MAX_STEPS: u32 = 16;
/// Where more than this part of the Interests of each of [`OFTEN`] rounds is given up, ways differ: what caches answer
/// sooner than the producer overtakes all that it does not have, and Karn's rule leaves nothing that would show how long
/// the producer takes. The time of a segment then doubles with each further such round. Both ours.
const MANY: f64 = 0.25;
const OFTEN: u32 = 3;
/// How often the time of a segment doubles at most. Ours; retransmission timeouts come sooner.
const MAX_DOUBLINGS: u32 = 6;

/// The latest Interest, in the order of sending, that is known to be answered.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct LatestAnswered {
    sent: Time,
    order: u64,
    /// Its round trip, and by how much other ways take longer.
    rtt: Duration,
    longer: Duration,
}

/// What is known of a path's losses and reordering.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(crate) struct Recovery {
    config: LossDetection,
    answered: Option<LatestAnswered>,
    /// Of Interests that were the only ones for their segments.
    least_rtt: Option<Duration>,
    steps: u32,
    /// Rounds of losses until the window falls back.
    persistence: u32,
    /// Rounds end when the Interest of this order is answered.
    reordering_round: u64,
    loss_round: u64,
    /// Whether a round trip was measured since the round of losses began, and how many such rounds were without.
    measured: bool,
    doublings: u32,
    /// Segments given up in this round, how many rounds until the last gave up [`MANY`] each, and how often the time was
    /// doubled for that.
    given_up: u64,
    heavy: u32,
    wide: u32,
    /// When something was last sent or answered.
    last_activity: Time,
    /// A probe is outstanding and nothing else has happened since.
    probed: bool,
}

impl Recovery {
    pub(crate) fn new(config: LossDetection) -> Recovery {
        Recovery {
            config,
            answered: None,
            least_rtt: None,
            steps: 1,
            persistence: PERSISTENCE,
            reordering_round: 0,
            loss_round: 0,
            measured: false,
            doublings: 0,
            given_up: 0,
            heavy: 0,
            wide: 0,
            last_activity: Time::ZERO,
            probed: false,
        }
    }

    /// Where Data say how much longer other ways take.
    pub(crate) fn longer_way(&self) -> Option<Slot> {
        self.config.longer_way
    }

    /// Something was sent (but no probe) or arrived, or the fetch begins.
    pub(crate) fn on_activity(&mut self, now: Time) {
        self.last_activity = now;
        self.probed = false;
    }

    /// A probe was sent.
    pub(crate) fn probe(&mut self, now: Time) {
        self.last_activity = now;
        self.probed = true;
    }

    /// Whether Data that comes `elapsed` after the latest of several Interests is too early to be its answer.
    pub(crate) fn too_soon(&self, elapsed: Duration, srtt: Duration) -> bool {
        elapsed < self.least_rtt.unwrap_or(Duration::ZERO).scale(REPEAT).max(srtt / 2)
    }

    /// The Interest of place `order`, sent `rtt` ago, was answered; `once`: the only one for its segment; `longer`: by
    /// how much other ways take longer.
    pub(crate) fn on_answer(&mut self, sent: Time, order: u64, rtt: Duration, once: bool, longer: Duration) {
        if once {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
            (self.measured, self.doublings) = (true, 0);
        }
        if self.answered.is_none_or(|latest| order > latest.order) {
            self.answered = Some(LatestAnswered { sent, order, rtt, longer });
        }
    }

    /// A segment was given up; the next Interest has place `next`.
    pub(crate) fn on_loss(&mut self, next: u64) {
        let given_up = std::mem::take(&mut self.given_up);
        if !self.over(self.loss_round) {
            self.given_up = given_up + 1;
            return;
        }
        let is_heavy = given_up as f64 > MANY * next.saturating_sub(self.loss_round) as f64;
        self.heavy = if is_heavy { self.heavy.saturating_add(1) } else { 0 };
        if self.heavy >= OFTEN {
            self.wide = (self.wide + 1).min(MAX_DOUBLINGS);
            self.persistence = PERSISTENCE;
        }
        (self.loss_round, self.given_up) = (next, 1);
        if !std::mem::take(&mut self.measured) {
            self.doublings = (self.doublings + 1).min(MAX_DOUBLINGS);
        }
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            (self.steps, self.wide) = (1, 0);
        }
    }

    /// A segment that was given up arrived after all; the next Interest has place `next`.
    pub(crate) fn on_spurious_loss(&mut self, next: u64) {
        self.persistence = PERSISTENCE;
        if self.over(self.reordering_round) {
            self.reordering_round = next;
            self.steps = self.steps.saturating_add(1).min(MAX_STEPS);
        }
    }

    /// A Data arrived that was link-retransmitted, so others may come as late.
    pub(crate) fn on_link_retransmission(&mut self) {
        self.persistence = PERSISTENCE;
        self.steps = self.steps.max((LINK_RETRANSMISSION_WINDOW / self.config.step).ceil() as u32).min(MAX_STEPS);
    }

    fn over(&self, round: u64) -> bool {
        self.answered.is_some_and(|latest| latest.order >= round)
    }

    /// By how much one segment may be later than another.
    pub(crate) fn window(&self, srtt: Duration) -> Duration {
        let step = srtt.scale(self.config.step).max(self.config.granularity);
        if self.steps == 1 && self.config.step <= self.config.most {
            return step;
        }
        let most = srtt.scale(self.config.most).max(self.config.granularity * u64::from(MAX_STEPS));
        (step * u64::from(self.steps)).min(most)
    }

    /// When an Interest sent at `sent` in place `order` counts as lost; none if it was not overtaken.
    pub(crate) fn lost_at(&self, sent: Time, order: u64, srtt: Duration) -> Option<Time> {
        let latest = self.answered.filter(|latest| order < latest.order && sent <= latest.sent)?;
        if srtt == Duration::ZERO {
            return None;
        }
        // Of a longer way the round trip varies by a step of its own.
        let longer = latest.longer + latest.longer.scale(self.config.step);
        let allowed = (latest.rtt + longer).max(srtt) + self.window(srtt);
        Some(sent + allowed * (1 << self.doublings.max(self.wide)))
    }

    /// Whether a probe is due while no outstanding Interest was overtaken. Mostly the least pause says that none is.
    #[inline(always)]
    pub(crate) fn probe_is_due(&self, now: Time, srtt: Duration) -> bool {
        self.last_activity + srtt + srtt <= now && self.probe_at(srtt) <= now
    }

    /// When a probe is due while no outstanding Interest was overtaken.
    pub(crate) fn probe_at(&self, srtt: Duration) -> Time {
        if self.probed || srtt == Duration::ZERO {
            return Time::NEVER;
        }
        self.last_activity + srtt + srtt.max(self.window(srtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(time: u64) -> Time {
        Time::ZERO + ms(time)
    }

    /// Answers come 100 ms after Interests; orders are sending times in ms.
    fn answered(recovery: &mut Recovery, order: u64) {
        recovery.on_answer(at(order), order, ms(100), true, ms(0));
    }

    #[test]
    fn the_window_grows_once_per_round_trip_up_to_twice_a_round_trip() {
        let mut recovery = Recovery::new(LossDetection::default());
        assert_eq!(recovery.window(ms(100)), ms(25));
        answered(&mut recovery, 0);
        recovery.on_spurious_loss(10);
        recovery.on_spurious_loss(11);
        assert_eq!(recovery.window(ms(100)), ms(50));
        answered(&mut recovery, 9);
        recovery.on_spurious_loss(20);
        assert_eq!(recovery.window(ms(100)), ms(50));
        for round in 1..=7 {
            answered(&mut recovery, round * 100);
            recovery.on_spurious_loss(round * 100 + 1);
        }
        // 1 + 1 + 7 steps of 25 ms.
        assert_eq!(recovery.window(ms(100)), ms(200));
    }

    #[test]
    fn the_first_link_retransmitted_data_makes_the_window_one_and_a_half_round_trips() {
        let mut recovery = Recovery::new(LossDetection::default());
        answered(&mut recovery, 0);
        recovery.on_link_retransmission();
        assert_eq!(recovery.window(ms(100)), ms(150));
        recovery.on_link_retransmission();
        assert_eq!(recovery.window(ms(100)), ms(150));
        recovery.on_spurious_loss(1);
        assert_eq!(recovery.window(ms(100)), ms(175));
        recovery.on_link_retransmission();
        assert_eq!(recovery.window(ms(100)), ms(175));
    }

    #[test]
    fn on_a_short_path_a_step_is_a_millisecond_and_the_window_at_most_16() {
        let mut recovery = Recovery::new(LossDetection::default());
        assert_eq!(recovery.window(Duration::from_micros(200)), ms(1));
        for round in 0..40 {
            answered(&mut recovery, round * 100);
            recovery.on_spurious_loss(round * 100 + 1);
        }
        assert_eq!(recovery.window(Duration::from_micros(200)), ms(16));
    }

    #[test]
    fn sixteen_rounds_of_losses_without_a_disproof_bring_the_first_window_back() {
        let mut recovery = Recovery::new(LossDetection::default());
        answered(&mut recovery, 0);
        recovery.on_spurious_loss(1);
        for round in 1..=16 {
            assert_eq!(recovery.window(ms(100)), ms(50), "round {round}");
            answered(&mut recovery, round * 100);
            recovery.on_loss(round * 100 + 50);
            // Of the same round.
            recovery.on_loss(round * 100 + 50);
        }
        assert_eq!(recovery.window(ms(100)), ms(25));
    }

    #[test]
    fn each_round_of_losses_without_a_measured_round_trip_doubles_the_time_of_a_segment_until_one_is_measured() {
        let mut recovery = Recovery::new(LossDetection::default());
        let again = |recovery: &mut Recovery, order: u64| recovery.on_answer(at(order), order, ms(100), false, ms(0));
        answered(&mut recovery, 10);
        recovery.on_loss(20);
        assert_eq!(recovery.lost_at(at(5), 5, ms(100)), Some(at(130)), "one was measured before");
        again(&mut recovery, 20);
        recovery.on_loss(30);
        recovery.on_loss(31);
        assert_eq!(recovery.lost_at(at(5), 5, ms(100)), Some(at(255)), "of the same round");
        again(&mut recovery, 30);
        recovery.on_loss(40);
        assert_eq!(recovery.lost_at(at(5), 5, ms(100)), Some(at(505)));
        answered(&mut recovery, 40);
        assert_eq!(recovery.lost_at(at(5), 5, ms(100)), Some(at(130)));
    }

    #[test]
    fn where_another_way_takes_longer_a_quarter_of_that_is_allowed_once_however_large_the_window_is() {
        let mut recovery = Recovery::new(LossDetection::default());
        recovery.on_answer(at(10), 10, ms(100), true, ms(80));
        assert_eq!(recovery.lost_at(at(0), 0, ms(100)), Some(at(100 + 80 + 20 + 25)));
        recovery.on_spurious_loss(9);
        assert_eq!(recovery.lost_at(at(0), 0, ms(100)), Some(at(100 + 80 + 20 + 50)));
    }

    // Rounds of 100 Interests. 5 + 100 + 25 ms, and twice and four times as much after 5.
    #[test]
    fn where_many_are_given_up_in_round_after_round_the_time_of_a_segment_doubles_for_sixteen_rounds() {
        let mut recovery = Recovery::new(LossDetection::default());
        let mut round = 0;
        let mut lose = |recovery: &mut Recovery, lost: u64| {
            round += 1;
            answered(recovery, 100 * round);
            (0..lost).for_each(|_| recovery.on_loss(100 * round + 1));
            let due = recovery.lost_at(at(5), 5, ms(100)).unwrap();
            due.since(at(5)).nanos() / 1_000_000
        };
        // What a round gave up is known when the next begins.
        let times: Vec<u64> = [26, 26, 26, 26, 26, 1].iter().map(|lost| lose(&mut recovery, *lost)).collect();
        assert_eq!(times, [125, 125, 125, 250, 500, 1000]);
        let times: Vec<u64> = (0..16).map(|_| lose(&mut recovery, 25)).collect();
        // The first of the sixteen is that in which it last doubled.
        assert_eq!((times[13], times[14]), (1000, 125), "{times:?}");
        assert!((0..16).all(|_| lose(&mut recovery, 25) == 125), "a quarter is not many");
    }

    #[test]
    fn only_an_interest_sent_earlier_was_overtaken_and_the_larger_round_trip_counts() {
        let mut recovery = Recovery::new(LossDetection::default());
        assert_eq!(recovery.lost_at(at(5), 5, ms(100)), None);
        answered(&mut recovery, 10);
        assert_eq!(recovery.lost_at(at(10), 10, ms(100)), None);
        // 5 + 100 + 25; with a smoothed round trip of 120 ms 5 + 120 + 30, of 80 ms 5 + 100 + 20.
        assert_eq!(recovery.lost_at(at(5), 5, ms(100)), Some(at(130)));
        assert_eq!(recovery.lost_at(at(5), 5, ms(120)), Some(at(155)));
        assert_eq!(recovery.lost_at(at(5), 5, ms(80)), Some(at(125)));
    }

    #[test]
    fn what_was_sent_before_may_take_as_much_longer_as_the_data_says_of_other_ways() {
        let mut recovery = Recovery::new(LossDetection::default());
        recovery.on_answer(at(10), 10, ms(10), true, ms(50));
        // 5 + (10 + 50) + (10 + 50)/4.
        assert_eq!(recovery.lost_at(at(5), 5, ms(10)), Some(at(80)));
        assert!(recovery.too_soon(ms(8), ms(10)) && !recovery.too_soon(ms(9), ms(10)), "repeats may go the short way");
    }

    #[test]
    fn an_answer_sooner_than_most_of_a_round_trip_or_half_the_smoothed_one_is_to_an_earlier_interest() {
        let mut recovery = Recovery::new(LossDetection::default());
        recovery.on_answer(at(0), 0, ms(32), true, ms(0));
        assert!(recovery.too_soon(ms(27), ms(40)) && !recovery.too_soon(ms(28), ms(40)));
        assert!(recovery.too_soon(ms(49), ms(100)) && !recovery.too_soon(ms(50), ms(100)));
    }

    #[test]
    fn a_probe_follows_two_silent_round_trips_once() {
        let mut recovery = Recovery::new(LossDetection::default());
        recovery.on_activity(at(10));
        assert_eq!((recovery.probe_at(Duration::ZERO), recovery.probe_at(ms(100))), (Time::NEVER, at(210)));
        recovery.probe(at(210));
        assert_eq!(recovery.probe_at(ms(100)), Time::NEVER);
        recovery.on_activity(at(300));
        assert_eq!(recovery.probe_at(ms(100)), at(500));
    }
}
