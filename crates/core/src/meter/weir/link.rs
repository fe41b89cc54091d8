//! One egress link: its rate as far as that is known, its level, and marks while its rate is not as stated.

use super::super::paqm::{Constants, PaqmCodel, Spacing, State};
use super::Params;
use super::level::Level;
use crate::shaper::FaceView;
use crate::shared::number::{greater, lesser};
use crate::shared::weir::{Losses, NOISE, OUTAGE};
use crate::units::{Duration, Time};

/// A stated rate counts again this long after a backlog, in s.
const RECOVERY: f64 = 0.2;
/// A link that owes more than it would have sent in so many s is slower than stated; one that owes less may deliver in
/// bursts.
const JITTER: f64 = 0.1;
/// Then the mean of what leaves counts, of so many s.
const SERVICE: f64 = 0.1;
/// For so many s then no level is told: a rate that has changed once may change again. As long as a measured delay counts
/// as base where marks come from delays ([`hbhcm::Params::deployed`](super::super::hbhcm::Params::deployed)).
const DISTRUST: f64 = 10.0;
/// What waits is marked meanwhile as by CoDel (RFC 8289, section 4.4): the router knows its own queue.
pub(super) const CODEL: Constants = Constants {
    target: Duration::from_millis(5),
    interval: Duration::from_millis(100),
    spacing: Spacing::Codel,
    immediate: None,
};
/// A link counts as at least this part of its stated rate.
const LEAST_SERVICE: f64 = 0.001;
/// What an [`OUTAGE`] took is asked for again within so long afterwards, which says nothing of queues, and the way may be
/// another one.
const AFTERWARDS: Duration = Duration::from_millis(1000);
/// The longest wait that is told apart, in s.
const LONGEST_WAIT: f64 = 60.0;

/// What stands for the capacity of a link that has not been seen full, in bit/s: more than any has.
const OPEN_CAPACITY: f64 = 1e13;

/// A link of stated rate.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(super) struct Link {
    /// In bit/s: as the driver states it, or less if a backlog left slower.
    pub(super) capacity: f64,
    /// The same before bounds: more than what is stated after a burst of a slower link.
    served: f64,
    /// Bits by which what left is behind what is stated, since a queue began that has not been empty since.
    owed: f64,
    sent: u64,
    /// Whether packets waited at the end of the last slot.
    backlogged: bool,
    /// For how many s the rate still counts as unknown.
    distrusted: f64,
    /// Bits that waited at the end of the last slot.
    waiting: f64,
    marks: PaqmCodel,
    /// Data that came for an Interest that was sent again.
    lost: Losses,
    /// The first Interest since the last Data, and when a Data ended an outage.
    unanswered: Option<Time>,
    resumed: Option<Time>,
    /// Whether its rate is learned, so that a queue below it would change the rate.
    #[state(skip)]
    pub(super) is_learned: bool,
    pub(super) level: Level,
}

impl Link {
    fn new(capacity: f64, view: &FaceView) -> Link {
        Link {
            capacity,
            served: capacity,
            owed: 0.0,
            sent: view.sent_bits,
            backlogged: false,
            distrusted: 0.0,
            waiting: 0.0,
            marks: PaqmCodel::new(CODEL),
            lost: Losses::default(),
            unanswered: None,
            resumed: None,
            is_learned: false,
            level: Level::new(capacity, view.offered_bits),
        }
    }

    /// Whether its level holds.
    #[inline(always)]
    pub(super) fn is_trusted(&self) -> bool {
        self.distrusted <= 0.0
    }

    /// The rate of the link is learned.
    fn begin(&mut self, capacity: f64, params: &Params) {
        (self.capacity, self.served, self.is_learned) = (capacity, capacity, true);
        self.level.begin(capacity, params);
    }

    /// An Interest leaves.
    #[inline(always)]
    pub(super) fn asked(&mut self, now: Time) {
        self.unanswered.get_or_insert(now);
    }

    /// A Data came for an Interest that this link took, which was sent again or not.
    #[inline(always)]
    pub(super) fn answered(&mut self, retransmitted: bool, now: Time) {
        if self.unanswered.take().is_some_and(|asked| now.since(asked) >= OUTAGE) {
            (self.resumed, self.lost) = (Some(now), Losses::default());
        }
        if self.resumed.is_none_or(|resumed| now.since(resumed) >= AFTERWARDS) {
            self.lost.count(retransmitted);
        }
    }

    /// Whether so much is lost that there may be a narrower link below, whose queue nobody here sees.
    pub(super) fn is_lossy(&self) -> bool {
        self.lost.share() > NOISE
    }

    /// What came over it waited although no level made it wait.
    pub(super) fn distrust(&mut self) {
        self.distrusted = DISTRUST;
    }

    /// Whether a Data that joins now, `since` the last slot ended, is to be marked; only where no level tells what waits.
    pub(super) fn marks(&mut self, since: Duration, now: Time) -> bool {
        self.marks.observe(self.wait(since), now) == State::Congested
    }

    /// How long a packet waits that joins now, `since` the last slot ended.
    #[inline(always)]
    pub(super) fn wait(&self, since: Duration) -> Duration {
        let waiting = self.waiting + self.level.passed() - self.capacity * since.secs();
        if waiting <= 0.0 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(lesser(waiting / self.capacity, LONGEST_WAIT))
    }

    /// Ends a slot of `elapsed` s.
    fn update(&mut self, stated: f64, view: &FaceView, elapsed: f64, params: &Params) {
        let waits = view.queue.bytes.bits();
        let dropped = view.offered_bits.saturating_sub(view.sent_bits.saturating_add(waits));
        let waiting = waits as f64;
        self.serve(stated, view.sent_bits, waiting, elapsed);
        self.waiting = waiting;
        self.level.update(elapsed, self.capacity, view.offered_bits, waiting, dropped, params);
    }

    /// Ends a slot in which `sent` bits had left since the start, and `waiting` bits wait.
    fn serve(&mut self, stated: f64, sent: u64, waiting: f64, elapsed: f64) {
        let served = sent.saturating_sub(self.sent) as f64 / elapsed;
        self.sent = sent;
        let is_backlogged = waiting > stated * elapsed;
        self.owed = match self.backlogged && is_backlogged {
            true => (self.owed + (stated - served) * elapsed).clamp(0.0, stated),
            false => 0.0,
        };
        let is_slower = self.owed > JITTER * stated;
        let (now, time) = if is_slower { (served, SERVICE) } else { (stated, RECOVERY) };
        self.distrusted = if is_slower { DISTRUST } else { (self.distrusted - elapsed).max(0.0) };
        self.served += lesser(elapsed / time, 1.0) * (now - self.served);
        self.capacity = lesser(greater(self.served, stated * LEAST_SERVICE), stated);
        self.backlogged = is_backlogged;
    }
}

/// What is known of a face.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) enum Egress {
    /// Nothing yet, or it leads to an application of this node.
    #[default]
    Local,
    /// A link whose rate is unknown.
    Unknown,
    /// A link whose rate is learned, on which no queue has stood yet: it bounds no flow. Flows are counted.
    Open(Box<Link>),
    Known(Box<Link>),
}

impl Egress {
    /// Ends a slot of `elapsed` s.
    pub(super) fn update(&mut self, view: &FaceView, elapsed: f64, params: &Params) {
        // As a rule nothing is new but what passed.
        if let (Egress::Known(link), Some(rate), false) = (&mut *self, view.rate, view.local)
            && rate.bps() > 0
        {
            if elapsed > 0.0 {
                link.update(rate.bps() as f64, view, elapsed, params);
            }
            return;
        }
        let stated = match view.rate.filter(|rate| rate.bps() > 0) {
            _ if view.local => return *self = Egress::Local,
            None if view.open => OPEN_CAPACITY,
            None => return *self = Egress::Unknown,
            Some(rate) => rate.bps() as f64,
        };
        let is_open = view.rate.is_none();
        let mut link = match std::mem::take(self) {
            Egress::Known(link) if !is_open => link,
            Egress::Open(link) if is_open => link,
            Egress::Open(mut link) => {
                link.begin(stated, params);
                link
            }
            _ => Box::new(Link::new(stated, view)),
        };
        if elapsed > 0.0 {
            link.update(stated, view, elapsed, params);
        }
        *self = if is_open { Egress::Open(link) } else { Egress::Known(link) };
    }

    /// The link of stated rate, whether it is trusted or not.
    pub(super) fn known(&mut self) -> Option<&mut Link> {
        match self {
            Egress::Known(link) => Some(link),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
