//! The segments above the cumulative acknowledgement: which have arrived, are in flight or are lost.

use super::{Ack, Segment};
use ndnweir_core::units::{Duration, Time};
use std::collections::VecDeque;

/// After how many acknowledged segments above a gap, or transmissions after one, that counts as lost (RFC 6675
/// DupThresh, RFC 9002 kPacketThreshold).
const THRESHOLD: u32 = 3;

/// How losses are detected from acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detection {
    /// By numbers of segments (RFC 6675); of retransmissions by their order.
    Selective,
    /// By the order of transmissions and, where the last acknowledged is not that far ahead, after this time (RFC 9002
    /// §6.1).
    Packets(Duration),
}

/// A segment.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Sent {
    at: Time,
    transmissions: u32,
    /// The place of its latest transmission among all.
    order: u64,
    /// Selectively acknowledged.
    sacked: bool,
    /// In flight, as far as the sender can infer.
    in_flight: bool,
}

/// A segment that arrived for the first time.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub(super) struct Acked {
    pub(super) number: u32,
    pub(super) sent: Time,
    pub(super) order: u64,
    /// If the acknowledged transmission is known and the latest one.
    pub(super) rtt: Option<Duration>,
}

/// A transmission that counts as lost from now on.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub(super) struct Lost {
    pub(super) number: u32,
    pub(super) sent: Time,
    pub(super) order: u64,
    /// Whether it was the segment's first.
    pub(super) is_first: bool,
}

/// All of them.
#[derive(Debug, Default, ndnweir_state::Value)]
pub(super) struct Scoreboard {
    /// The segments from `first` on.
    window: VecDeque<Sent>,
    first: u32,
    in_flight: u32,
    sacked: u32,
    /// Segments in `window` that are considered lost and have not been retransmitted.
    lost: u32,
    /// Transmissions so far.
    order: u64,
    /// The latest transmission that is acknowledged.
    largest: Option<u64>,
}

impl Scoreboard {
    /// All segments below this one are acknowledged.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// The lowest segment that was never sent.
    pub(super) fn next(&self) -> u32 {
        self.first + self.window.len() as u32
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(super) fn order(&self) -> u64 {
        self.order
    }

    pub(super) fn largest(&self) -> Option<u64> {
        self.largest
    }

    pub(super) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Segments to send again.
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// Segments that were sent and are below no cumulative acknowledgement.
    pub(super) fn outstanding(&self) -> u32 {
        self.window.len() as u32
    }

    /// When the first of them was sent last.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.window.front().map(|sent| sent.at)
    }

    /// Sends the lowest segment that is lost, and if there is none a new one, or else as a probe the lowest that is not
    /// acknowledged.
    pub(super) fn send(&mut self, now: Time, new: bool) -> Option<Segment> {
        let place = if self.lost > 0 {
            self.window.iter().position(|sent| !sent.sacked && !sent.in_flight)?
        } else if new {
            self.window.push_back(Sent { at: now, transmissions: 0, order: 0, sacked: false, in_flight: false });
            self.window.len() - 1
        } else {
            self.window.iter().position(|sent| !sent.sacked)?
        };
        let sent = &mut self.window[place];
        if !std::mem::replace(&mut sent.in_flight, true) {
            self.lost -= u32::from(sent.transmissions > 0);
            self.in_flight += 1;
        }
        (sent.at, sent.transmissions, sent.order) = (now, sent.transmissions + 1, self.order);
        self.order += 1;
        Some(Segment { number: self.first + place as u32, transmission: sent.transmissions })
    }

    /// Records what an acknowledgement says in `acked`; returns whether the first unacknowledged segment changes.
    pub(super) fn take(&mut self, now: Time, ack: Ack, acked: &mut Vec<Acked>) -> bool {
        self.take_one(now, ack.segment, Some(ack.transmission), acked);
        let advances = ack.next > self.first;
        while self.first < ack.next && !self.window.is_empty() {
            self.take_one(now, self.first, None, acked);
            self.window.pop_front();
            self.sacked -= 1;
            self.first += 1;
        }
        advances
    }

    fn take_one(&mut self, now: Time, number: u32, transmission: Option<u32>, acked: &mut Vec<Acked>) {
        let Some(sent) = number.checked_sub(self.first).and_then(|place| self.window.get_mut(place as usize)) else {
            return;
        };
        if sent.sacked {
            return;
        }
        sent.sacked = true;
        self.sacked += 1;
        if std::mem::replace(&mut sent.in_flight, false) {
            self.in_flight -= 1;
        } else {
            self.lost -= 1;
        }
        let is_latest = transmission == Some(sent.transmissions);
        if is_latest {
            self.largest = self.largest.max(Some(sent.order));
        }
        let rtt = is_latest.then(|| now.since(sent.at));
        acked.push(Acked { number, sent: sent.at, order: sent.order, rtt });
    }

    /// Records transmissions that now count as lost in `lost`; returns when more will by time.
    pub(super) fn find_losses(&mut self, detection: Detection, now: Time, lost: &mut Vec<Lost>) -> Time {
        let (Some(largest), mut more) = (self.largest, Time::NEVER) else { return Time::NEVER };
        let enough = match detection {
            Detection::Selective => THRESHOLD,
            Detection::Packets(_) => 1,
        };
        if self.sacked < enough {
            return Time::NEVER;
        }
        let mut above = 0;
        for (place, sent) in self.window.iter_mut().enumerate().rev() {
            if sent.sacked {
                above += 1;
                continue;
            }
            if !sent.in_flight {
                continue;
            }
            let is_overtaken = sent.order + u64::from(THRESHOLD) <= largest;
            let is_lost = match detection {
                Detection::Selective if sent.transmissions == 1 => above >= THRESHOLD,
                Detection::Selective => is_overtaken,
                Detection::Packets(_) if sent.order > largest => false,
                Detection::Packets(wait) => {
                    let is_late = sent.at + wait <= now;
                    if !is_late && !is_overtaken {
                        more = more.min(sent.at + wait);
                    }
                    is_late || is_overtaken
                }
            };
            if is_lost {
                sent.in_flight = false;
                self.in_flight -= 1;
                self.lost += 1;
                let is_first = sent.transmissions == 1;
                lost.push(Lost { number: self.first + place as u32, sent: sent.at, order: sent.order, is_first });
            }
        }
        more
    }

    /// Everything that is not acknowledged counts as lost.
    pub(super) fn lose_all(&mut self, lost: &mut Vec<Lost>) {
        for (place, sent) in self.window.iter_mut().enumerate().filter(|(_, sent)| !sent.sacked) {
            if std::mem::replace(&mut sent.in_flight, false) {
                self.lost += 1;
                let is_first = sent.transmissions == 1;
                lost.push(Lost { number: self.first + place as u32, sent: sent.at, order: sent.order, is_first });
            }
        }
        self.in_flight = 0;
    }
}
