//! How many segments leave at once, and when the next may.
//!
//! TCP as in Linux 6 (`net/ipv4/tcp_output.c`; facts only): a burst holds what the pace sends in 1/1024 s and at least
//! two segments (`sk_pacing_shift`, `tcp_min_tso_segs`), and more on short paths (`tcp_tso_rtt_log`). A sender waits
//! for the window to hold a whole burst (`tcp_tso_should_defer`), unless it has been silent for 1 ms, a third of the
//! window is open, losses are being repaired, or no acknowledgement is due soon. A law that paces spaces bursts by
//! their length, less what the last one was late (`tcp_update_skb_after_send`). QUIC: segments one by one (RFC 9002
//! §7.7).

use ndnweir_core::units::{Duration, Time};

/// Bytes of a segment that are not payload: IPv4, and TCP with timestamps.
const HEADERS: u64 = 52;
/// A burst is what leaves in a second over this: `sk_pacing_shift` of 10.
const BURSTS: f64 = 1024.0;
/// The most payload of a burst, in bytes (`sk_gso_max_size`), which is also what a burst may hold beyond its rate; that
/// halves with every 2⁹ µs of the least round-trip time (`tcp_tso_rtt_log`).
const MOST: u64 = 65_536;
const HALVING: u64 = 512_000;
/// Linux's `tcp_min_tso_segs`; BBR has one segment below 1.2 Mbit/s (`bbr_min_tso_segs`).
const LEAST: u32 = 2;
const LOW_RATE: f64 = 150_000.0;
/// Who has been silent for so long waits no more; nor does who expects no acknowledgement within this time.
const PATIENCE: Duration = Duration::from_millis(1);
/// The part of the window that is sent at once as it opens (`tcp_tso_win_divisor`).
const PART: u32 = 3;

/// What a sender knows as a burst may begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    pub(super) now: Time,
    /// Segments per second, if known; whether the law spaces bursts by it.
    pub(super) rate: Option<f64>,
    pub(super) is_paced: bool,
    /// Bytes of a segment on its link.
    pub(super) size: u64,
    /// The window and what of it is free, in segments.
    pub(super) window: u32,
    pub(super) free: u32,
    /// Segments that there are to send.
    pub(super) waiting: u32,
    /// Whether losses are being repaired.
    pub(super) repairs: bool,
    /// When the first unacknowledged segment was sent.
    pub(super) oldest: Option<Time>,
    pub(super) srtt: Duration,
}

/// The bursts of a sender.
#[derive(Debug, ndnweir_state::Value)]
pub(super) struct Bursts {
    /// Segments of the one under way that are still to leave.
    left: u32,
    /// When the last one left, and where the law paces, when the next may (`tcp_wstamp_ns`).
    next: Time,
    least_rtt: Duration,
}

impl Bursts {
    pub(super) fn new() -> Bursts {
        Bursts { left: 0, next: Time::ZERO, least_rtt: Duration::MAX }
    }

    /// When the pace permits the next burst.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Takes a round-trip time.
    pub(super) fn take_rtt(&mut self, rtt: Duration) {
        self.least_rtt = self.least_rtt.min(rtt);
    }

    /// Takes a segment of the burst under way; whether there is one.
    pub(super) fn take(&mut self) -> bool {
        let is_under_way = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_under_way
    }

    /// Whatever was under way is over: the window is full.
    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// The first of `count` segments that leave at once, `gap` apart on the average; `credit`: what this burst is late
    /// counts, up to half of its length.
    pub(super) fn begin(&mut self, now: Time, count: u32, gap: Option<Duration>, credit: bool) {
        self.left = count.saturating_sub(1);
        let length = gap.map_or(0, |gap| gap.nanos().saturating_mul(count.into()));
        let late = if credit { now.since(self.next).nanos().min(length / 2) } else { 0 };
        self.next = self.next.max(now) + Duration::from_nanos(length - late);
    }

    /// The most segments of a burst.
    fn most(&self, chance: &Chance) -> u32 {
        let payload = chance.size.saturating_sub(HEADERS).max(1);
        let Some(rate) = chance.rate else { return u32::MAX };
        let rate = rate * payload as f64;
        let near = MOST.checked_shr((self.least_rtt.nanos() / HALVING).min(64) as u32).unwrap_or(0);
        let least = if chance.is_paced && rate < LOW_RATE { 1 } else { LEAST };
        let bytes = ((rate / BURSTS) as u64).saturating_add(near).min(MOST);
        ((bytes / payload) as u32).max(least)
    }

    /// How many segments leave now; none if it is better to wait for more of the window. The window has room for one.
    pub(super) fn size(&self, chance: &Chance) -> Option<u32> {
        let most = self.most(chance);
        if self.waits(chance, most) {
            return None;
        }
        // Two bursts at least share a window (`tcp_cwnd_test`).
        Some(most.min(chance.free).min((chance.window / 2).max(1)).min(chance.waiting))
    }

    fn waits(&self, chance: &Chance, most: u32) -> bool {
        let Chance { now, free, window, waiting, repairs, oldest, srtt, .. } = *chance;
        let is_silent = now.since(self.next) > PATIENCE;
        if repairs || is_silent || waiting == 1 || free >= most.min(waiting) || PART * free >= window {
            return false;
        }
        let soon = PATIENCE.min(Duration::from_nanos(srtt.nanos() / 2));
        oldest.is_some_and(|oldest| oldest + srtt <= now + soon)
    }
}

#[cfg(test)]
mod tests;
