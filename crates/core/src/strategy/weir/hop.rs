//! A next hop of a prefix: what it tells, and how long it takes.

use super::super::{ForwardingDecision, NextHop};
use super::round::Round;
use crate::ids::FaceId;
use crate::units::{Duration, Time};

/// What has not answered for longer since it was first asked is not taken for a long way any more (ours).
const UNANSWERED: Duration = Duration::from_millis(300);

/// One from which nothing came for this long, and for so many of its mean round trips, since it was asked is taken for gone,
/// and gets a copy of an Interest as often (ours).
pub(super) const GONE: Duration = Duration::from_millis(1000);
const GONE_ROUND_TRIPS: u64 = 4;
/// As does one that says so often that it has no route, as with [`super::super::overflow`].
const REFUSALS: u8 = 3;

/// So many Interests go to one from which nothing ever came, while another answers: some three times what a window begins
/// with (ours). As many may be lost there, not those of the time until it is taken for gone.
const MOST_UNPROVEN: u8 = 32;

/// No next hop falls behind or gets ahead by more turns.
const MOST_CREDIT: f64 = 2.0;

/// A next hop that is to be asked.
pub(super) struct Turn {
    pub(super) face: FaceId,
    /// Whether it was not asked before. The Interest then states no pace, so that the Data brings what a newcomer may have
    /// there in all. To a pace that comes for the first time the level of a link says nothing: it has none for so little.
    pub(super) is_first: bool,
    /// The next hop that gets a copy.
    pub(super) copy: Option<FaceId>,
}

impl Turn {
    pub(super) fn send(&self, choice: &mut ForwardingDecision) {
        choice.send(self.face);
        if let Some(copy) = self.copy {
            choice.probe(copy);
        }
    }
}

#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub(super) struct Hop {
    pub(super) face: FaceId,
    pub(super) cost: u32,
    /// The part of the Interests that it gets.
    pub(super) share: f64,
    /// Turns that it waits for.
    pub(super) credit: f64,
    /// Whether it may get the Interest at hand.
    #[state(skip)]
    pub(super) may: bool,
    /// In bit/s; 0 before the first.
    pub(super) level: f64,
    /// Whether no link of its way has told one, though all would: it has room, and its level is a guess. Forwarders learn
    /// rates, simulations do not.
    #[state(skip)]
    pub(super) is_open: bool,
    /// Whether it ever was.
    #[state(skip)]
    pub(super) was_open: bool,
    /// Interests and Data of its present round trip, and how many Interests it may get in it while it is open.
    #[state(skip)]
    pub(super) round: Round,
    /// The part of the last Interests that it got while ways were open, which may be less than its share.
    #[state(skip)]
    pub(super) part: f64,
    /// The first, as the least of its path, and when it was told.
    pub(super) first: Option<(Time, f64)>,
    /// When a Data told it last, and when one came last.
    pub(super) seen: Time,
    heard: Time,
    /// When an Interest went there first, and last.
    pub(super) tried: Option<Time>,
    pub(super) asked: Option<Time>,
    /// When the first Interest since its last Data went there.
    pub(super) waiting: Option<Time>,
    /// How often it has said since its last Data that it has no route.
    refusals: u8,
    /// How many Interests went there beside others' before its first Data came; `None` since then.
    unproven: Option<u8>,
    /// How many more of its Data told no level than did, how many since then no level was asked of, and whether it tells
    /// none.
    pub(super) untold: u8,
    pub(super) unasked: u8,
    pub(super) is_untold: bool,
    /// The mean round trip, and the last.
    pub(super) srtt: Option<Duration>,
    pub(super) latest: Duration,
}

impl Hop {
    /// One that is new.
    pub(super) fn new(hop: NextHop, share: f64, now: Time) -> Hop {
        let NextHop { face, cost } = hop;
        let (credit, level, part, round) = (0.0, 0.0, 0.0, Round::default());
        let (is_open, was_open, first, tried, asked) = (false, false, None, None, None);
        let (may, waiting, refusals, unproven) = (false, None, 0, Some(0));
        let (untold, unasked, is_untold) = (0, 0, false);
        let (srtt, latest, seen, heard) = (None, Duration::ZERO, now, Time::ZERO);
        Hop {
            face,
            cost,
            share,
            credit,
            may,
            level,
            is_open,
            was_open,
            round,
            part,
            first,
            seen,
            heard,
            tried,
            asked,
            waiting,
            refusals,
            unproven,
            untold,
            unasked,
            is_untold,
            srtt,
            latest,
        }
    }

    /// The same next hop, as if it had not told a level yet.
    pub(super) fn without_levels(&self, share: f64) -> Hop {
        let new = Hop::new(NextHop { face: self.face, cost: self.cost }, share, self.seen);
        let Hop { heard, asked, srtt, latest, waiting, refusals, unproven, .. } = *self;
        Hop { heard, asked, tried: asked, srtt, latest, waiting, refusals, unproven, ..new }
    }

    /// It takes its turn, and another one a copy.
    #[inline(always)]
    pub(super) fn take(&mut self, now: Time, copy: Option<FaceId>) -> Turn {
        self.credit = (self.credit - 1.0).clamp(-MOST_CREDIT, MOST_CREDIT);
        let is_first = self.asked.replace(now).is_none();
        self.tried = self.tried.or(self.asked);
        self.waiting = self.waiting.or(self.asked);
        Turn { face: self.face, is_first, copy }
    }

    /// A link of its way tells a level. Whether none did before, though Data had come.
    pub(super) fn end_guess(&mut self) -> bool {
        if std::mem::take(&mut self.is_open) {
            self.level = 0.0;
        }
        self.level == 0.0 && self.was_open
    }

    /// Whether a Data came within the last two round trips.
    pub(super) fn answers(&self, now: Time) -> bool {
        self.srtt.is_some_and(|srtt| now.since(self.heard) <= srtt * 2)
    }

    /// Whether nothing has come for long since it was asked.
    pub(super) fn is_gone(&self, now: Time) -> bool {
        self.waiting.is_some_and(|since| now.since(since) >= self.patience())
    }

    fn patience(&self) -> Duration {
        GONE.max(self.latest * GONE_ROUND_TRIPS)
    }

    pub(super) const fn has_answered(&self) -> bool {
        self.unproven.is_none()
    }

    /// Whether it has got all that it may get before its first Data, while another answers.
    pub(super) fn has_to_answer(&self) -> bool {
        self.unproven.is_some_and(|unproven| unproven >= MOST_UNPROVEN)
    }

    /// Of several it is the one that is asked.
    pub(super) fn count_asked(&mut self) {
        self.unproven = self.unproven.map(|unproven| (unproven + 1).min(MOST_UNPROVEN));
    }

    /// A Data comes from it.
    pub(super) fn came(&mut self) {
        (self.waiting, self.refusals, self.unproven) = (None, 0, None);
    }

    /// It says that it has no route for what was `sent`. A single name may have none; after some of these, and no Data, no
    /// more is to be waited for.
    pub(super) fn refused(&mut self, sent: Time, now: Time) {
        if self.heard >= sent {
            return;
        }
        self.refusals = self.refusals.saturating_add(1);
        if self.refusals >= REFUSALS {
            self.waiting = Some(Time::ZERO + now.since(Time::ZERO + self.patience()));
        }
    }

    /// Whether it tells no level of its own.
    pub(super) fn has_none(&self) -> bool {
        self.level == 0.0 || self.is_open
    }

    /// The mean round trip; of a way that has not answered yet twice what it has taken so far.
    pub(super) fn takes(&self, now: Time) -> Option<Duration> {
        let so_far = self.tried.map(|tried| now.since(tried)).filter(|so_far| *so_far < UNANSWERED);
        self.srtt.or(so_far.map(|so_far| so_far * 2))
    }

    /// A Data came after `rtt`.
    pub(super) fn answered(&mut self, now: Time, rtt: Duration, marked: bool) {
        self.round.answer(marked);
        (self.heard, self.latest) = (now, rtt);
        self.took(rtt, false);
    }

    /// Another next hop answered what was `sent` here, which takes that long at least. Where ways were open, and what is
    /// sent again goes through their queues, this would hide that one that had answered is gone.
    pub(super) fn overtaken(&mut self, sent: Time, now: Time) {
        if !self.was_open || self.srtt.is_none() {
            self.took(now.since(sent), true);
        }
    }

    /// A Data took `rtt`. What another next hop answered first takes that long at least.
    pub(super) fn took(&mut self, rtt: Duration, at_least: bool) {
        self.srtt = Some(match self.srtt {
            Some(srtt) if at_least => srtt.max(rtt),
            Some(srtt) => srtt * 7 / 8 + rtt / 8,
            None => rtt,
        });
    }
}
