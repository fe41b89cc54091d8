//! The 64-bit mark of E2E-AQM: which link, how many hops have stamped, and one of two readings of that link.
//!
//! Source: ICARUS-ICN/jaqmcc@0969a39, patch of NFD's link service: bits 63–32 link, 31–24 hops, 23 kind, 22–0 reading;
//! a delay in microseconds, or a rate in bytes per second as a mantissa of 15 bits (22–8) and an exponent of 8 (7–0).
//! Here the two halves are two header fields, [`Field::LinkId`] and [`Field::LinkState`], which are written together:
//! neither is ever 0, since a link's number is drawn from 1 and the first stamp counts one hop.
//!
//! Deviation: the source gives the mantissa 16 bits for a rate that is a power of two of 2¹⁵ or more, so that it
//! overflows into the bit of the kind and reads as 0; here it takes the next exponent.
//!
//! [`Field::LinkId`]: crate::fields::Field::LinkId
//! [`Field::LinkState`]: crate::fields::Field::LinkState

use crate::units::{Duration, Rate};

/// What a mark says of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkReading {
    /// How long the packet waited that left the queue last.
    Delay(Duration),
    /// The rate at which packets were sent.
    Rate(Rate),
}

/// A mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMark {
    /// The link's number.
    pub link: u32,
    /// Hops that have stamped the packet so far.
    pub hops: u8,
    /// One of its readings.
    pub reading: LinkReading,
}

const RATE: u32 = 1 << 23;
const READING: u32 = RATE - 1;
const MANTISSA_BITS: u32 = 15;
/// Beyond it a mantissa of 15 bits does not fit 64 bits of bit/s.
const LARGEST_EXPONENT: u32 = 45;

impl LinkReading {
    fn bits(self) -> u32 {
        match self {
            LinkReading::Delay(delay) => (delay.nanos() / 1000).min(READING.into()) as u32,
            LinkReading::Rate(rate) => {
                let bytes = rate.bps() / 8;
                let exponent = (u64::BITS - bytes.leading_zeros()).saturating_sub(MANTISSA_BITS);
                RATE | ((bytes >> exponent) as u32) << 8 | exponent
            }
        }
    }

    fn of_bits(bits: u32) -> LinkReading {
        let reading = bits & READING;
        if bits & RATE == 0 {
            return LinkReading::Delay(Duration::from_micros(reading.into()));
        }
        let (mantissa, exponent) = (u64::from(reading >> 8), reading & 0xff);
        // A larger exponent comes from a neighbour that lies.
        let largest = u64::MAX * u64::from(mantissa > 0);
        let bps = if exponent > LARGEST_EXPONENT { largest } else { (mantissa << exponent) * 8 };
        LinkReading::Rate(Rate::from_bps(bps))
    }
}

impl LinkMark {
    /// The values of the fields for the link's number and for its state.
    pub fn to_fields(self) -> (u32, u32) {
        (self.link, u32::from(self.hops) << 24 | self.reading.bits())
    }

    /// The mark in these two fields; none if they hold none.
    pub fn of_fields(link: u32, state: u32) -> Option<LinkMark> {
        let mark = LinkMark { link, hops: (state >> 24) as u8, reading: LinkReading::of_bits(state) };
        (link > 0 && state > 0).then_some(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(hops: u8, reading: LinkReading) -> u32 {
        LinkMark { link: 7, hops, reading }.to_fields().1
    }

    // 5 ms = 5000 µs = 0x1388. 100 Mbit/s = 12,500,000 B/s: 24 bits, so the exponent is 9; 12,500,000 / 512 = 24,414 =
    // 0x5f5e.
    #[test]
    fn delays_are_whole_microseconds_and_rates_have_a_mantissa_of_15_bits() {
        assert_eq!(state(3, LinkReading::Delay(Duration::from_micros(5000))), 0x0300_1388);
        assert_eq!(state(1, LinkReading::Rate(Rate::from_mbps(100.0))), 0x01df_5e09);
        let read = LinkMark::of_fields(7, 0x01df_5e09).unwrap();
        assert_eq!(read.reading, LinkReading::Rate(Rate::from_bps(24_414 * 512 * 8)));
        assert_eq!((read.link, read.hops), (7, 1));
    }

    // 2¹⁵ B/s is 16 bits: mantissa 2¹⁴, exponent 1. A second of ten is beyond 2²³ − 1 µs.
    #[test]
    fn powers_of_two_fit_and_long_delays_are_cut() {
        assert_eq!(state(1, LinkReading::Rate(Rate::from_bps(8 << 15))), 0x0180_0000 | 1 << 22 | 1);
        assert_eq!(state(1, LinkReading::Delay(Duration::from_millis(10_000))), 0x017f_ffff);
        assert_eq!(state(1, LinkReading::Rate(Rate::from_bps(0))), 0x0180_0000);
    }

    #[test]
    fn whatever_the_two_fields_hold_they_can_be_read() {
        assert_eq!((LinkMark::of_fields(0, 5), LinkMark::of_fields(5, 0)), (None, None));
        let rate = |state| LinkMark::of_fields(1, state).map(|mark| mark.reading);
        assert_eq!(rate(u32::MAX), Some(LinkReading::Rate(Rate::from_bps(u64::MAX))));
        assert_eq!(rate(RATE | 0xff), Some(LinkReading::Rate(Rate::from_bps(0))));
        for bytes in [1, 32_767, 32_768, 99_999, 12_345_678_901, u64::MAX / 8] {
            let Some(LinkReading::Rate(read)) = rate(state(1, LinkReading::Rate(Rate::from_bps(bytes * 8)))) else {
                panic!("a rate stays a rate")
            };
            let lost = 1.0 - read.bps() as f64 / (bytes as f64 * 8.0);
            assert!((0.0..1.0 / 16_384.0).contains(&lost), "{bytes}: {lost}");
        }
    }
}
