//! ASF's state of a prefix and its faces, and of the copies that were not the first to be answered.

use super::super::NextHop;
use crate::consumer::Timer;
use crate::ids::{FaceId, NameId};
use crate::shared::rtt::RttEstimator;
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// NFD's groups of faces in the order they are forwarded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ndnweir_state::Value)]
pub(super) enum Rank {
    Working,
    Unmeasured,
    TimedOut,
}

/// Group, smoothed round-trip time of working faces, cost, face: the least is best.
pub(super) type Ranked = (Rank, Duration, u32, FaceId);

/// A face, as one prefix uses it.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(super) struct FaceInfo {
    pub(super) face: FaceId,
    pub(super) rtt: RttEstimator,
    pub(super) status: Rank,
    timeouts: u32,
    /// The Interest whose answer is awaited, and until when.
    pub(super) timer: Option<(NameId, Time)>,
    pub(super) expires: Time,
}

impl FaceInfo {
    /// Data for `name`.
    pub(super) fn data(&mut self, name: NameId, rtt: Duration, expires: Time) {
        // One sample per round trip: NFD does not pass the number of expected samples to the estimator.
        self.rtt.sample(rtt, 1);
        self.status = Rank::Working;
        self.timeouts = 0;
        self.expires = expires;
        self.cancel(name);
    }

    /// A NACK for `name`.
    pub(super) fn nack(&mut self, name: NameId) {
        self.status = Rank::TimedOut;
        self.timeouts = 0;
        self.cancel(name);
    }

    /// The timer that ran belonged to `name`.
    fn cancel(&mut self, name: NameId) {
        self.timer = self.timer.filter(|(awaited, _)| *awaited != name);
    }
}

/// A prefix.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Namespace {
    faces: Vec<FaceInfo>,
    /// When the next probe is due; none before the first Interest.
    pub(super) probe_at: Option<Time>,
    expires: Option<Time>,
}

impl Namespace {
    /// Carries out the timeouts and ends of lifetimes until `now`, and renews the prefix's own.
    pub(super) fn settle(&mut self, now: Time, max_timeouts: u32, lifetime: Duration) {
        if self.expires.is_some_and(|expires| expires <= now) {
            *self = Namespace::default();
        }
        self.expires = Some(now + lifetime);
        self.faces.retain_mut(|info| {
            if let Some((_, at)) = info.timer
                && at <= now
                && at < info.expires
            {
                info.timer = None;
                info.timeouts += 1;
                if info.timeouts < max_timeouts {
                    info.expires = at + lifetime;
                } else {
                    info.status = Rank::TimedOut;
                    info.timeouts = 0;
                }
            }
            now < info.expires
        });
    }

    pub(super) fn known_mut(&mut self, face: FaceId) -> Option<&mut FaceInfo> {
        self.faces.iter_mut().find(|info| info.face == face)
    }

    pub(super) fn face_mut(&mut self, face: FaceId, expires: Time) -> &mut FaceInfo {
        let at = self.faces.iter().position(|info| info.face == face).unwrap_or_else(|| {
            let rtt = RttEstimator::new(Timer::ndn_cxx());
            self.faces.push(FaceInfo { face, rtt, status: Rank::Unmeasured, timeouts: 0, timer: None, expires });
            self.faces.len() - 1
        });
        &mut self.faces[at]
    }

    /// The rank of a next hop for forwarding.
    pub(super) fn rank(&self, hop: NextHop) -> Ranked {
        let info = self.faces.iter().find(|info| info.face == hop.face);
        let status = info.map_or(Rank::Unmeasured, |info| info.status);
        let srtt = info.filter(|_| status == Rank::Working).map_or(Duration::MAX, |info| info.rtt.srtt());
        (status, srtt, hop.cost, hop.face)
    }

    /// The rank of a next hop for probing: the unmeasured come first.
    pub(super) fn rank_to_probe(&self, hop: NextHop) -> Probed {
        let (status, srtt, cost, face) = self.rank(hop);
        let group = match status {
            Rank::Unmeasured => ToProbe::Unmeasured,
            Rank::Working => ToProbe::Working,
            Rank::TimedOut => ToProbe::TimedOut,
        };
        (group, srtt, cost, face)
    }
}

/// NFD's groups of faces in the order they are probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ToProbe {
    Unmeasured,
    Working,
    TimedOut,
}

/// As [`Ranked`], for probing.
pub(super) type Probed = (ToProbe, Duration, u32, FaceId);

/// An Interest sent to a face that was not the first to answer.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub(super) struct LateRecord {
    pub(super) face: FaceId,
    pub(super) nonce: u32,
    pub(super) sent: Time,
}

/// Names whose slower answers are remembered.
const MAX_LATE: usize = 4096;

/// Slower answers that still count.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Late {
    names: BTreeMap<NameId, (Time, Vec<LateRecord>)>,
    /// Names in the order they were answered; one may occur again, or be gone.
    order: VecDeque<NameId>,
}

impl Late {
    /// Remembers what else was sent for an answered name.
    pub(super) fn keep(&mut self, name: NameId, records: impl Iterator<Item = LateRecord>, now: Time, late: Duration) {
        let records: Vec<LateRecord> = records.collect();
        if records.is_empty() {
            return;
        }
        while let Some(oldest) = self.order.front() {
            let over = self.names.get(oldest).is_none_or(|(until, _)| *until < now);
            if !over && self.order.len() < MAX_LATE {
                break;
            }
            self.names.remove(oldest);
            self.order.pop_front();
        }
        if self.names.insert(name, (now + late, records)).is_none() {
            self.order.push_back(name);
        }
    }

    /// The record that a packet from `face` answers; a NACK must carry its nonce.
    pub(super) fn take(&mut self, name: NameId, face: FaceId, nonce: Option<u32>, now: Time) -> Option<LateRecord> {
        let (until, records) = self.names.get_mut(&name)?;
        if *until < now {
            return None;
        }
        let fits = |record: &LateRecord| record.face == face && nonce.is_none_or(|nonce| nonce == record.nonce);
        let at = records.iter().position(fits)?;
        Some(records.remove(at))
    }

    /// Late Data extends the time of the outstanding copies.
    pub(super) fn renew(&mut self, name: NameId, now: Time, late: Duration) {
        if let Some((until, _)) = self.names.get_mut(&name) {
            *until = now + late;
        }
    }
}
