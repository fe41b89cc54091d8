//! For how long upstreams wait for the Data of an Interest, in a byte.

use ndnweir_core::packet::Packet;
use ndnweir_core::units::Duration;

/// An Interest that may travel fewer hops says nothing of one that may travel more: whoever joins it is forwarded. One
/// that may travel none has gone to an application. Ours.
const FEW_HOPS: std::ops::Range<u8> = 1..32;

/// A duration from 17 ms on, at most 1/16 too short: a mantissa of four bits from 16 to 31, and an exponent of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub(super) struct Reach(u8);

impl Reach {
    /// They do not.
    pub(super) const NONE: Reach = Reach(0);

    /// Whether an Interest that leaves has none, however long it lives.
    #[inline(always)]
    pub(super) fn is_short(packet: &Packet) -> bool {
        FEW_HOPS.contains(&packet.hop_limit)
    }

    /// That of an Interest that is not short.
    #[inline(never)]
    pub(super) fn of_lifetime(packet: &Packet) -> Reach {
        Reach::of_ms(packet.known_lifetime_ms())
    }

    #[inline]
    fn of_ms(ms: u32) -> Reach {
        let exponent = ms.max(16).ilog2() - 4;
        if exponent > 15 {
            return Reach(u8::MAX);
        }
        Reach(if ms < 16 { 0 } else { (exponent << 4 | (ms >> exponent) & 15) as u8 })
    }

    /// This, or what is left of a former one that was counted from `since` ago.
    pub(super) fn or_longer(self, former: Reach, since: Duration) -> Reach {
        let left = (former.duration() - since).nanos() / 1_000_000;
        let left = Reach::of_ms(u32::try_from(left).unwrap_or(u32::MAX));
        if left.0 > self.0 { left } else { self }
    }

    #[inline(always)]
    pub(super) fn duration(self) -> Duration {
        let ms = if self.0 == 0 { 0 } else { u64::from(16 + (self.0 & 15)) << (self.0 >> 4) };
        Duration::from_millis(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // By hand: 4000 = 31.25 · 128; 2000 = 31.25 · 64; 17 = 17 · 1; the longest 31 · 2^15 ms.
    #[test]
    fn a_reach_is_at_most_a_sixteenth_shorter_and_never_longer() {
        for (ms, kept) in [(0, 0), (15, 0), (16, 0), (17, 17), (2000, 1984), (4000, 3968), (u32::MAX, 31 << 15)] {
            assert_eq!(Reach::of_ms(ms).duration(), Duration::from_millis(kept), "{ms} ms");
        }
        for ms in (17..1_000_000).step_by(7) {
            let kept = Reach::of_ms(ms).duration().nanos() / 1_000_000;
            assert!(kept <= u64::from(ms) && 16 * kept >= 15 * u64::from(ms), "{ms} ms as {kept}");
        }
    }

    #[test]
    fn an_interest_of_few_hops_reaches_nothing_and_what_is_left_of_a_longer_one_counts() {
        let packet = |hop_limit| Packet { hop_limit, lifetime_ms: 4000, ..Packet::default() };
        assert_eq!([0, 1, 31, 32].map(|hops| Reach::is_short(&packet(hops))), [false, true, true, false]);
        let long = Reach::of_lifetime(&packet(32));
        assert_eq!(long.duration(), Duration::from_millis(3968));
        let short = Reach::of_ms(100);
        assert_eq!(short.or_longer(long, Duration::from_millis(1000)), Reach::of_ms(2968));
        assert_eq!(short.or_longer(long, Duration::from_millis(3900)), short);
        assert_eq!(short.or_longer(long, Duration::from_millis(9000)), short);
    }
}
