//! Physical quantities as types: no unit in a variable's name, none missing from its type.
//!
//! All arithmetic saturates: a scenario with absurd numbers gives absurd results, never a panic.
//! The text forms (`"10ms"`, `"10Mbps"`, `"1024B"`) are what scenario files and `--set` use.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

/// An instant of simulated or monotonic time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct Time(u64);

/// A length of time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct Duration(u64);

/// A data rate, in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct Rate(u64);

/// An amount of data, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct Bytes(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every instant that occurs.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }
    /// Nanoseconds since the start.
    pub const fn nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the start.
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The time from `earlier` to `self`, zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// Longer than every duration that occurs.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Duration {
        Duration(ns)
    }
    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Duration {
        Duration(us.saturating_mul(1_000))
    }
    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Duration {
        Duration(ms.saturating_mul(1_000_000))
    }
    /// `s` seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Duration {
        Duration(to_u64(s * 1e9))
    }
    /// Nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }
    /// Seconds.
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Milliseconds.
    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The duration times `factor`, rounded; negative and NaN give zero.
    pub fn scale(self, factor: f64) -> Duration {
        Duration(to_u64(self.0 as f64 * factor))
    }
}

impl Rate {
    /// No capacity.
    pub const ZERO: Rate = Rate(0);

    /// `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// `mbps` times 10⁶ bit/s, rounded; negative and NaN give zero.
    pub fn from_mbps(mbps: f64) -> Rate {
        Rate(to_u64(mbps * 1e6))
    }
    /// bit/s.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// 10⁶ bit/s.
    pub fn mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Time to serialise `size`, rounded to the nearest nanosecond; [`Duration::MAX`] at rate zero.
    pub fn transmission_time(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        match size.0.checked_mul(8_000_000_000) {
            Some(scaled) => Duration(scaled.saturating_add(self.0 / 2) / self.0),
            None => Duration(to_u64(size.0 as f64 * 8e9 / self.0 as f64)),
        }
    }
    /// Packets of `size` per second; zero size gives infinity.
    pub fn packets_per_second(self, size: Bytes) -> f64 {
        self.0 as f64 / (8.0 * size.0 as f64)
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The number of bits.
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
}

/// Rounds to the nearest integer, halves up; negative and NaN give zero, too large gives the maximum. The same as with
/// [`libm::round`], which does this step by step for both signs.
#[inline]
pub(crate) fn to_u64(x: f64) -> u64 {
    // The largest number below one half, so that the number below one half is not rounded up.
    const ALMOST_HALF: f64 = 0.5 - f64::EPSILON / 4.0;
    (x + ALMOST_HALF) as u64
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(duration.0))
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}
impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, duration: Duration) -> Time {
        Time(self.0.saturating_sub(duration.0))
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    /// Division by zero gives [`Duration::MAX`].
    fn div(self, n: u64) -> Duration {
        self.0.checked_div(n).map_or(Duration::MAX, Duration)
    }
}
impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

/// A text that is not a quantity; the message says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QuantityError(String);

/// One kind of quantity: what it is called and the units it is written in, smallest first.
struct Kind {
    what: &'static str,
    example: &'static str,
    units: &'static [(&'static str, f64)],
}

const DURATION: Kind = Kind {
    what: "time",
    example: "\"10ms\"",
    units: &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)],
};
const RATE: Kind = Kind {
    what: "rate",
    example: "\"10Mbps\"",
    units: &[("bps", 1.0), ("kbps", 1e3), ("Kbps", 1e3), ("Mbps", 1e6), ("Gbps", 1e9), ("Tbps", 1e12)],
};
const BYTES: Kind = Kind {
    what: "size",
    example: "\"1024B\"",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1048576.0),
        ("GiB", 1073741824.0),
    ],
};

impl Kind {
    fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let text = text.trim();
        let split = text
            .char_indices()
            .find(|&(i, c)| {
                let exponent = matches!(c, 'e' | 'E')
                    && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+');
                !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_') || exponent)
            })
            .map_or(text.len(), |(i, _)| i);
        let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
        let fail = |why: &str| {
            let units: Vec<_> = self.units.iter().map(|u| u.0).collect();
            QuantityError(format!(
                "{why} in {text:?}: write a {} such as {} (units: {})",
                self.what,
                self.example,
                units.join(", ")
            ))
        };
        let value: f64 = number.parse().map_err(|_| fail("no number"))?;
        if value < 0.0 {
            return Err(fail("negative value"));
        }
        let scale = match self.units.iter().find(|u| u.0 == unit) {
            Some(found) => found.1,
            None if unit.is_empty() && value == 0.0 => 1.0,
            None if unit.is_empty() => return Err(fail("missing unit")),
            None => return Err(fail(&format!("unknown unit {unit:?}"))),
        };
        let scaled = value * scale;
        if scaled.is_nan() || scaled > 9e18 {
            return Err(fail("value out of range"));
        }
        if scaled > 0.0 && scaled < 0.5 {
            return Err(fail("value too small to represent"));
        }
        Ok(to_u64(scaled))
    }

    /// Writes `value` in the largest unit that keeps it exact.
    fn write(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = self.units.iter().rev().find(|(name, scale)| {
            !matches!(*name, "min" | "h" | "Kbps" | "KB" | "µs") && value.is_multiple_of(*scale as u64)
        });
        match exact {
            Some((name, scale)) if value > 0 => write!(f, "{}{name}", value / *scale as u64),
            _ => write!(f, "{value}{}", self.units[0].0),
        }
    }
}

macro_rules! quantity_text {
    ($type:ident, $kind:ident, $schema:literal) => {
        impl FromStr for $type {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                $kind.parse(text).map($type)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $kind.write(self.0, f)
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "a {} as text, such as {}", $kind.what, $kind.example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                d.deserialize_str(Text)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": $schema })
            }
        }
    };
}

quantity_text!(Duration, DURATION, "time");
quantity_text!(Rate, RATE, "rate");
quantity_text!(Bytes, BYTES, "size");

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t={:.9}s", self.secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_libm_does() {
        let mut numbers = vec![f64::NAN, f64::INFINITY, f64::MIN, -0.0, 0.0, u64::MAX as f64, f64::MIN_POSITIVE];
        for middle in [0.5, 1.0, 1.5, 2.5, 1e6 + 0.5, (1_u64 << 51) as f64 + 0.5, (1_u64 << 52) as f64, 1.5e18] {
            numbers.extend([middle.next_down(), middle, middle.next_up()]);
        }
        let mut rng = crate::ctx::Rng::derive(1, &[]);
        numbers.extend((0..100_000).map(|_| f64::from(rng.bits()) / f64::from(1 << (rng.bits() % 31))));
        for x in numbers.into_iter().flat_map(|x| [x, -x]) {
            assert_eq!(to_u64(x), libm::round(x) as u64, "{x}");
        }
    }

    #[test]
    fn quantities_parse_with_their_units() {
        assert_eq!("10ms".parse(), Ok(Duration::from_millis(10)));
        assert_eq!("1.5 s".parse(), Ok(Duration::from_millis(1500)));
        assert_eq!("2.5Mbps".parse(), Ok(Rate::from_bps(2_500_000)));
        assert_eq!("1e3 kbps".parse(), Ok(Rate::from_bps(1_000_000)));
        assert_eq!("64KiB".parse(), Ok(Bytes::new(65_536)));
        assert_eq!("0".parse(), Ok(Duration::ZERO));
    }

    #[test]
    fn wrong_quantities_are_rejected_with_the_units_that_would_do() {
        for text in ["10", "-1ms", "ten ms", "10 parsecs", "NaNms", "1e300s", "", "ms", "inf s", "0.0001ns"] {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert!(error.contains("units: ns, us"), "{text}: {error}");
        }
        assert!("10ms".parse::<Rate>().is_err());
    }

    #[test]
    fn text_form_reads_back_to_the_same_value() {
        for ns in [0, 1, 999, 110_000_000, 1_500_000_000, u64::from(u32::MAX)] {
            assert_eq!(Duration(ns).to_string().parse(), Ok(Duration(ns)));
        }
        assert_eq!(Rate::from_mbps(7.5).to_string(), "7500kbps");
    }

    #[test]
    fn transmission_time_of_1250_bytes_at_10_mbps_is_one_millisecond() {
        assert_eq!(Rate::from_mbps(10.0).transmission_time(Bytes::new(1250)), Duration::from_millis(1));
        assert_eq!(Rate::ZERO.transmission_time(Bytes::new(1)), Duration::MAX);
    }
}
