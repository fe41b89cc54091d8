//! Consumers: when a fetch may send its next Interest.
//!
//! A consumer decides on a window (and perhaps a pace) from the answers. It does not know names, timers or
//! retransmissions: the fetcher in `ndnweir-node` runs those, with the [`Timer`] the consumer requests. Most consumers
//! are a [`windowed::Windowed`]: a window law × a reaction profile × a startup.

pub mod aimd;
pub mod aimd_his;
pub mod aimd_ye;
pub mod bbr;
pub mod bbr_v1;
pub mod bic;
pub mod cctcp;
pub mod copa;
pub mod coupled;
pub mod cubic;
pub mod dpccp;
pub mod e2e_aqm;
pub mod ecp;
pub mod fixed;
pub mod icp;
pub mod ictp;
pub mod level_aimd;
pub mod mircc;
pub mod mpcc;
pub mod ndnsieve;
pub mod pcon;
pub mod policy;
pub mod prague;
mod preset;
pub mod ptp;
pub mod qsccp;
pub mod raaqm;
pub mod rate_aimd;
pub mod rcp;
pub mod relentless;
pub mod rtt_window;
pub mod startup;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod testing_path;
pub mod vivace;
pub mod weir;
pub mod windowed;

use crate::check;
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::Fields;
use crate::packet::NackReason;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of the fetch. In `on_data` and `on_congestion` the packet at hand still counts as in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flight {
    /// Interests outstanding.
    pub in_flight: u32,
    /// The lowest segment never requested.
    pub next_segment: u64,
    /// The highest segment received; none before the first.
    pub highest_received: Option<u64>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
}

/// A Data that answers an outstanding Interest (the first copy of its segment).
#[derive(Clone, Copy, Debug)]
pub struct DataEvent<'a> {
    /// Its segment.
    pub segment: u64,
    /// When the latest Interest for it was sent.
    pub sent: Time,
    /// From that Interest to now; none if the segment was requested more than once (Karn's rule).
    pub rtt: Option<Duration>,
    /// CongestionMark; 0 is none.
    pub mark: u8,
    /// Bytes on the wire.
    pub size: Bytes,
    /// Header fields as they arrived.
    pub fields: &'a Fields,
    /// The fetch, with this Data already in `highest_received` and its sample already in `srtt`.
    pub flight: Flight,
}

/// How an outstanding Interest failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// The retransmission timer ran out.
    Timeout,
    /// Later Interests were answered long enough ago to give this one up (loss detection by RTT).
    Loss,
    /// A NACK arrived, perhaps with a CongestionMark.
    Nack {
        /// Why.
        reason: NackReason,
        /// Whether it was marked.
        marked: bool,
    },
}

impl Congestion {
    /// Whether this is a NACK for another reason than congestion, which says nothing of the load.
    pub fn is_other_nack(self) -> bool {
        matches!(self, Congestion::Nack { reason, .. } if reason != NackReason::Congestion)
    }
}

/// An outstanding Interest that failed; the fetcher will retransmit it.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent<'a> {
    /// What happened.
    pub kind: Congestion,
    /// Its segment.
    pub segment: u64,
    /// When the Interest that failed was sent.
    pub sent: Time,
    /// NACK: header fields as they arrived.
    pub fields: &'a Fields,
    /// The fetch, the failed Interest still counted.
    pub flight: Flight,
}

/// An Interest that was just sent.
#[derive(Clone, Copy, Debug)]
pub struct SentEvent {
    /// Its segment.
    pub segment: u64,
    /// Whether the segment had been requested before.
    pub retransmission: bool,
    /// The fetch, this Interest counted.
    pub flight: Flight,
}

/// Which family of RTT/RTO estimator a fetcher runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// ndnSIM's RttMeanDeviation: srtt starts at 1 s, one common RTO, back-off by a multiplier per timeout.
    Ndnsim,
    /// ndn-cxx's RttEstimator (RFC 6298 with gains divided by the samples per round trip): RTO fixed per segment when
    /// sent.
    NdnCxx,
}

/// The retransmission timer of a consumer; see [`crate::shared::rtt`] for its use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Timer {
    /// Which estimator.
    pub estimator: Estimator,
    /// Lower bound of the RTO.
    pub min: Duration,
    /// Upper bound of the RTO.
    pub max: Duration,
    /// ndnSIM: the round-trip time assumed before the first sample. ndn-cxx: the RTO before it.
    pub initial: Duration,
    /// How often timeouts are checked; "0" checks each at its own instant.
    pub scan: Duration,
    /// Upper bound of the back-off multiplier.
    pub backoff_cap: u32,
    /// How many deviations the RTO lies above the smoothed round-trip time: 4 in RFC 6298 and both estimators' sources;
    /// ndn-tools' fetch sets 8.
    pub deviations: f64,
    /// Whether losses are found before their timeout, by the rules of RACK-TLP (RFC 8985), as deployed fetches find them
    /// unless told otherwise. No published NDN consumer does; over several ways it takes strategies that say how much
    /// longer the others are.
    pub loss_detection: bool,
}

impl Default for Timer {
    /// ndnSIM 2.8's Consumer.
    fn default() -> Timer {
        Timer {
            estimator: Estimator::Ndnsim,
            min: Duration::from_millis(200),
            max: Duration::from_millis(200_000),
            initial: Duration::from_millis(1000),
            scan: Duration::from_millis(50),
            backoff_cap: 64,
            deviations: 4.0,
            loss_detection: false,
        }
    }
}

impl Timer {
    /// The PCON authors' 2016 consumer (its own defaults; their scenario scripts raise `min` further).
    pub fn pcon_2016() -> Timer {
        Timer { scan: Duration::from_millis(10), backoff_cap: 8, ..Timer::default() }
    }

    /// ndn-cxx's RttEstimator, scanned as ndn-tools does. Its back-off has no cap but the maximum.
    pub fn ndn_cxx() -> Timer {
        Timer {
            estimator: Estimator::NdnCxx,
            max: Duration::from_millis(60_000),
            scan: Duration::from_millis(10),
            backoff_cap: 1 << 16,
            ..Timer::default()
        }
    }

    /// Rejects a timer that would fire at once forever, or never.
    ///
    /// # Errors
    /// Names the parameter, its value and a valid one.
    pub fn check(&self) -> Result<(), SchemeError> {
        check::least("timer.min", self.min, Duration::from_millis(1))?;
        if self.max < self.min {
            let help = format!("give timer.min = {} or more", self.min);
            return Err(SchemeError::value("timer.max", self.max, "is below timer.min", help));
        }
        check::least("timer.initial", self.initial, Duration::from_millis(1))?;
        if self.scan > Duration::from_millis(60_000) {
            return Err(SchemeError::value("timer.scan", self.scan, "is too rare", "give at most \"1min\""));
        }
        if self.backoff_cap == 0 {
            let help = "give at least 1, which turns back-off off";
            return Err(SchemeError::value("timer.backoff-cap", 0, "is not a multiplier", help));
        }
        check::number("timer.deviations", self.deviations, 0.0, 1000.0)
    }
}

/// Decides how much a fetch may have outstanding, and how fast it sends.
pub trait Consumer {
    /// A segment arrived, marked or not.
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>);

    /// An Interest timed out, was found lost or was rejected.
    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>);

    /// The window, in segments; finite and at least the scheme's minimum at all times.
    fn window(&self) -> f64;

    /// Called before the fetch starts, with the rate at which Data can come in over the host's link towards the
    /// producer; none if it is unknown.
    fn on_link(&mut self, _rate: Option<Rate>) {}

    /// Whether one more Interest may be sent now.
    fn may_send(&self, flight: &Flight) -> bool {
        f64::from(flight.in_flight) < self.window()
    }

    /// Whether it needs [`Consumer::on_rest`], [`Consumer::stamp`], [`Consumer::on_sent`] and [`Consumer::pacing`]; of one
    /// that says before the fetch that it does not, none is called.
    fn watches_sending(&self) -> bool {
        true
    }

    /// An Interest was sent.
    fn on_sent(&mut self, _event: &SentEvent, _ctx: &mut Ctx<'_>) {}

    /// The gap to keep between the Interest just sent and the next; none sends as fast as the window allows.
    fn pacing(&self, _flight: &Flight) -> Option<Duration> {
        None
    }

    /// The timer the fetcher runs for this consumer.
    fn timer(&self) -> Timer {
        Timer::default()
    }

    /// A timeout of the consumer's own, instead of the estimator's RTO (ICP's τ).
    fn retransmission_timeout(&self) -> Option<Duration> {
        None
    }

    /// Whether a NACK gives its Interest up, so that the fetcher retransmits; if not, the segment waits for its
    /// timeout.
    fn retransmits_on_nack(&self) -> bool {
        true
    }

    /// Whether the Data that just came ends the gap to the next Interest, as one that ends a silence may; if not, a gap
    /// stays as it was when it began.
    fn ends_gap(&self) -> bool {
        false
    }

    /// Called before an Interest is stamped, with how many segments are to be requested after it; none if the end of
    /// the object is unknown.
    fn on_rest(&mut self, _segments: Option<u64>) {}

    /// Writes the header fields of an Interest about to be sent.
    fn stamp(&mut self, _segment: u64, _fields: &mut Fields) {}

    /// When [`Consumer::on_wake`] must be called; [`Time::NEVER`] if not at all.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    /// The time requested has come.
    fn on_wake(&mut self, _ctx: &mut Ctx<'_>) {}

    /// How often the window (or rate) has been cut since the start.
    fn decreases(&self) -> u64 {
        0
    }
}

/// The largest window any scheme may reach or be given, in segments.
pub const MAX_WINDOW: f64 = 1e7;

/// Checks a window parameter: finite, at least 1, at most [`MAX_WINDOW`].
///
/// # Errors
/// Names the parameter, its value and a valid one.
pub fn check_window(name: &str, window: f64) -> Result<(), SchemeError> {
    if (1.0..=MAX_WINDOW).contains(&window) {
        return Ok(());
    }
    let help = format!("give a number of segments from 1 to {MAX_WINDOW:e}");
    Err(SchemeError::value(name, window, "is not a window", help))
}
