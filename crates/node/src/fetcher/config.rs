//! What a fetch is asked for.

use super::loss::LossDetection;
use ndnweir_core::ids::FlowId;
use ndnweir_core::units::Duration;

/// What a [`super::Fetcher`] fetches, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct FetcherConfig {
    /// The object's flow.
    pub flow: FlowId,
    /// The application's number in the run, for its random streams.
    pub number: u32,
    /// The run's seed.
    pub seed: u64,
    /// Segments to fetch; none continues until a Data has the final block, or segment numbers end at 2³² − 1.
    pub total: Option<u64>,
    /// Bytes of an Interest on the wire, link framing excluded.
    pub interest_size: u32,
    /// Whether that grows with the segment number (see [`crate::server::grown`]).
    pub grows: bool,
    /// InterestLifetime; whole milliseconds count. `ndn-cxx` timers time out no later than this.
    pub lifetime: Duration,
    /// Whether the consumer's records are kept for [`super::Fetcher::drain_trace`].
    pub trace: bool,
    /// The most segments from the lowest missing to the highest requested; bounds memory.
    pub max_window: usize,
    /// Detection of losses before their timeout; none is the rule of every consumer in the literature.
    pub loss: Option<LossDetection>,
    /// Spreads the window of a consumer without a pace of its own over the round trip, so many times as fast (RFC 9002
    /// §7.7: 1.25), and never sends slower than so many times as fast as segments arrive; none sends whatever the window
    /// allows at once, as every window law in the literature.
    pub pace: Option<f64>,
}

impl Default for FetcherConfig {
    /// ndnSIM 2.8's Consumer: 30 B Interests with a lifetime of 2 s.
    fn default() -> FetcherConfig {
        FetcherConfig {
            flow: FlowId(0),
            number: 0,
            seed: 1,
            total: None,
            interest_size: 30,
            grows: false,
            lifetime: Duration::from_millis(2000),
            trace: false,
            max_window: 1 << 17,
            loss: None,
            pace: None,
        }
    }
}
