//! The laws: how much may be in flight, and how fast it is sent.

use super::hystart::HyStart;
use ndnweir_core::component::{Component, Env};
use ndnweir_core::consumer::windowed::{Cause, WindowLaw};
use ndnweir_core::consumer::{CongestionEvent, Consumer, DataEvent, Flight, SentEvent, aimd, bbr_v1, cubic};
use ndnweir_core::ctx::Ctx;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::units::{Duration, Time};
use serde::Serialize;

/// What controls a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// TCP with CUBIC (RFC 9438).
    #[default]
    Cubic,
    /// TCP with Reno (RFC 5681).
    Reno,
    /// TCP with BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00, and what Linux 6 has in addition).
    BbrV1,
    /// QUIC with New Reno, paced (RFC 9002 §7).
    QuicReno,
}

/// The first window, in segments (RFC 6928; RFC 9002 §7.2).
const INITIAL_WINDOW: f64 = 10.0;

/// The smallest window of Reno after a loss, in segments (RFC 5681 equation 4; RFC 9002 §7.2).
const RENO_FLOOR: f64 = 2.0;

/// How much faster than a window per smoothed round trip QUIC sends (RFC 9002 §7.7).
const QUIC_GAIN: f64 = 1.25;

/// Windows per smoothed round trip that size TCP's bursts, up to half of the slow start threshold and above (Linux's
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
const SLOW_START_GAIN: f64 = 2.0;
const AVOIDANCE_GAIN: f64 = 1.2;

/// What CUBIC adds to its window per acknowledged segment at least until the first cut, in segments: 5 % per round
/// trip, as Linux 6 does (`net/ipv4/tcp_cubic.c`), since the function of RFC 9438 §4.10 takes long where nothing is
/// known.
const LEAST_GROWTH: f64 = 0.05;

/// How far CUBIC's start is.
#[derive(Debug, ndnweir_state::Value)]
pub(super) enum Beginning {
    SlowStart(HyStart),
    /// HyStart ended it, and nothing was lost yet.
    Unknown,
    Over,
}

/// The state of a law.
#[derive(Debug, ndnweir_state::Value)]
pub(super) enum Law {
    Cubic(Box<cubic::Law>, Beginning),
    Reno(aimd::Law),
    QuicReno(aimd::Law),
    Bbr(Box<bbr_v1::BbrV1>),
}

impl Law {
    pub(super) fn new(algorithm: Algorithm) -> Law {
        let reno = |floor| aimd::Params { initial_window: INITIAL_WINDOW, floor, ..aimd::Params::default() };
        match algorithm {
            Algorithm::Cubic => {
                let params =
                    cubic::Params { initial_window: INITIAL_WINDOW, ..cubic::Params::of(cubic::Edition::Rfc9438) };
                Law::Cubic(Box::new(cubic::Law::new(&params)), Beginning::SlowStart(HyStart::default()))
            }
            // A timeout restarts it from one segment (RFC 5681 equation 5).
            Algorithm::Reno => Law::Reno(aimd::Law::new(&reno(1.0))),
            Algorithm::QuicReno => Law::QuicReno(aimd::Law::new(&reno(RENO_FLOOR))),
            Algorithm::BbrV1 => {
                let params = bbr_v1::Params::of(bbr_v1::Preset::Linux);
                let mut layout = FieldLayout::new();
                Law::Bbr(Box::new(bbr_v1::BbrV1::new(&params, &mut Env { layout: &mut layout })))
            }
        }
    }

    fn windowed(&mut self) -> Option<&mut dyn WindowLaw> {
        match self {
            Law::Cubic(law, _) => Some(&mut **law),
            Law::Reno(law) | Law::QuicReno(law) => Some(law),
            Law::Bbr(_) => None,
        }
    }

    /// In segments.
    pub(super) fn window(&self) -> f64 {
        match self {
            Law::Cubic(law, _) => law.window(),
            Law::Reno(law) | Law::QuicReno(law) => law.window(),
            Law::Bbr(law) => law.window(),
        }
    }

    /// The least time from one segment to the next.
    pub(super) fn pacing(&self, flight: &Flight) -> Option<Duration> {
        match self {
            Law::Bbr(law) => law.pacing(flight),
            Law::QuicReno(law) if flight.srtt > Duration::ZERO => {
                Some(Duration::from_secs_f64(flight.srtt.secs() / (QUIC_GAIN * law.window())))
            }
            _ => None,
        }
    }

    /// Segments per second that bursts are sized by, if known: the pace, or windows per smoothed round trip where
    /// nothing paces; `outstanding` segments are not acknowledged.
    pub(super) fn rate(&self, flight: &Flight, outstanding: u32) -> Option<f64> {
        let threshold = match self {
            Law::Bbr(law) => return law.pacing(flight).map(|gap| 1.0 / gap.secs()),
            Law::Cubic(law, _) => law.threshold(),
            Law::Reno(law) | Law::QuicReno(law) => law.threshold(),
        };
        let gain = if self.window() < threshold / 2.0 { SLOW_START_GAIN } else { AVOIDANCE_GAIN };
        let window = libm::floor(self.window()).max(outstanding.into());
        (flight.srtt > Duration::ZERO).then(|| gain * window / flight.srtt.secs())
    }

    pub(super) fn on_sent(&mut self, event: &SentEvent, ctx: &mut Ctx<'_>) {
        if let Law::Bbr(law) = self {
            law.on_sent(event, ctx);
        }
    }

    /// A segment arrived; `grows` unless a recovery holds the window; the pace permits the next burst at `departure`.
    pub(super) fn on_acked(&mut self, event: &DataEvent<'_>, grows: bool, departure: Time, ctx: &mut Ctx<'_>) {
        match self {
            Law::Bbr(law) => {
                law.departs(departure);
                law.on_data(event, ctx);
            }
            law if grows => {
                law.end_slow_start(event, ctx.now);
                let before = law.window();
                if let Some(law) = law.windowed() {
                    law.increase(event, ctx);
                }
                if let Law::Cubic(law, Beginning::Unknown) = law
                    && law.window() < before + LEAST_GROWTH
                {
                    law.jump(before + LEAST_GROWTH, true);
                }
            }
            _ => {}
        }
    }

    /// Ends CUBIC's first slow start at this window, if the path is full.
    fn end_slow_start(&mut self, event: &DataEvent<'_>, now: Time) {
        let Law::Cubic(law, beginning) = self else { return };
        if let (Beginning::SlowStart(start), Some(rtt)) = (&mut *beginning, event.rtt) {
            let first = event.flight.highest_received.map_or(0, |highest| highest + 1);
            if start.on_rtt(now, rtt, law.window(), first, event.flight.next_segment) {
                *beginning = Beginning::Unknown;
                let window = law.window();
                law.jump(window, true);
            }
        }
    }

    /// A transmission is considered lost.
    pub(super) fn on_lost(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if let Law::Bbr(law) = self {
            law.on_congestion(event, ctx);
        }
    }

    /// A recovery begins, or the timer expired for the first time.
    pub(super) fn reduce(&mut self, flight: &Flight, ctx: &mut Ctx<'_>) {
        let is_reno = matches!(self, Law::Reno(_));
        if let Law::Cubic(_, beginning) = self {
            *beginning = Beginning::Over;
        }
        if let Some(law) = self.windowed() {
            law.decrease(Cause::Loss, flight, ctx);
            if is_reno && law.window() < RENO_FLOOR {
                law.jump(RENO_FLOOR, true);
            }
        }
    }

    /// Nothing has been acknowledged for long.
    pub(super) fn restart(&mut self) {
        // As small as the law permits: two segments with QUIC.
        if let Some(law) = self.windowed() {
            law.jump(1.0, false);
        }
    }
}
