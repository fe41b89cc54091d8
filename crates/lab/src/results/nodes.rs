//! Results about a node's tables in one run.

use serde::{Deserialize, Serialize};

/// Content store and PIT of one node in one run, over the measurement window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct NodeRun {
    /// Its name.
    pub name: String,
    /// Interests that arrived, including those from applications on the node.
    pub interests: u64,
    /// Interests that the content store answered.
    pub cs_hits: u64,
    /// Interests that it could not answer; like hits, only counted by nodes with a content store.
    pub cs_misses: u64,
    /// Hits over hits and misses; `None` if there are neither.
    pub cs_hit_ratio: Option<f64>,
    /// Packets in the content store, mean over the samples.
    pub cs_packets: f64,
    /// Names in the PIT, mean over the samples.
    pub pit_entries: f64,
    /// Largest number of names in the PIT at a sample.
    pub pit_max_entries: u64,
    /// Interests that were aggregated with a pending one from another face.
    pub pit_aggregated: u64,
    /// Pending Interests answered with Data.
    pub pit_answered: u64,
    /// Pending Interests answered with a NACK.
    pub pit_rejected: u64,
    /// Pending Interests whose lifetime ended.
    pub pit_expired: u64,
    /// Interests whose nonce the node had seen: they came in a circle, or by another way as well.
    #[serde(default)]
    pub looped: u64,
    /// Bytes that its strategies, meter and shapers keep at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_bytes: Option<u64>,
}

impl NodeRun {
    /// The counters with their names in results.
    pub fn counts(&self) -> [(&'static str, u64); 9] {
        [
            ("interests", self.interests),
            ("cs_hits", self.cs_hits),
            ("cs_misses", self.cs_misses),
            ("pit_max_entries", self.pit_max_entries),
            ("pit_aggregated", self.pit_aggregated),
            ("pit_answered", self.pit_answered),
            ("pit_rejected", self.pit_rejected),
            ("pit_expired", self.pit_expired),
            ("looped", self.looped),
        ]
    }
}
