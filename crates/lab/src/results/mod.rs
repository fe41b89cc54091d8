//! The results of a comparison of schemes, in memory, on disk and as JSON.
//!
//! Keys of stored documents carry their unit: `_mbps` is 10⁶ bit/s, `_ms` and `_s` are time; shares, utilisation and
//! fairness are fractions of one. A value that is undefined (no packet arrived, one seed only) is `null`, never zero.

mod aggregate;
pub mod agreement;
mod cases;
mod control;
mod cross;
mod csv;
mod flows;
mod folder;
mod json;
mod new_folder;
mod nodes;
mod number;
mod optimum;
mod repeat;
mod scenario;
mod series;
mod shell;
mod store;
mod subjects;
mod table;
pub mod tables;
mod thin;
mod video;

use aggregate::aggregate_of_runs;
pub use aggregate::{Aggregate, Summary, ZeroSpread, aggregate, aggregate_of_shown, drops, zero_spread};
pub use cases::{CaseResult, CaseResults};
pub use control::{ControlRun, SWITCH, SwitchRun};
pub use cross::CrossRun;
pub(crate) use csv::{begins_with, quoted};
pub use flows::{FlowsInfo, FlowsRun, SizeClassRun, Slowdown};
pub use folder::{
    FILES, File, MAX_FOLDERS, command, free_folder, is_partial, may_write, numbered, read, replace_files,
};
pub(crate) use folder::{WRITING, io_error, sibling};
pub use json::{Document, parse_document};
pub use new_folder::{NewFolder, may_begin, write_folder};
pub use nodes::NodeRun;
pub(crate) use number::text as number_text;
pub use number::{mean_sd, significant};
pub use optimum::{Attained, ConsumerOptimum, IdealCompletion, LinkOptimum, Optimum, Physical};
pub use repeat::{RunWords, stand_ins};
pub use scenario::{ConsumerInfo, EventInfo, LinkInfo, NodeInfo, ScenarioInfo};
pub use series::{Rows, Series, SeriesKind};
pub use shell::{shell_word, shell_words};
use std::borrow::Cow;
pub use store::{SeriesOf, store};
pub use table::{Sort, ceilings, overview, table};
pub use thin::MANY;
pub use video::{VideoInfo, VideoRun};

pub use ndnweir_sim::observer::Drops;
use serde::{Deserialize, Serialize};

/// Why results could not be stored or read back. Every message names the file, the error and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the operating system.
    #[error("{path}: {source}; {remedy}")]
    Io {
        /// The file or folder.
        path: String,
        /// The system's error.
        source: std::io::Error,
        /// The remedy.
        remedy: &'static str,
    },
    /// A stored file has invalid content.
    #[error("{path}: {what}; {remedy}")]
    Damaged {
        /// The file.
        path: String,
        /// The error, with the line if known.
        what: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// Some files could not be written; the others were.
    #[error("{path}: {source}; {remedy}; {count} of {all} files of {folder} are missing, the others are there")]
    Incomplete {
        /// The first file that is missing.
        path: String,
        /// The system's error.
        source: std::io::Error,
        /// The remedy.
        remedy: &'static str,
        /// The number of missing files.
        count: usize,
        /// The number of all files.
        all: usize,
        /// The folder.
        folder: String,
    },
    /// Every folder that was tried holds results of others.
    #[error("{path} and {} more hold results; name a folder with --out", MAX_FOLDERS - 1)]
    NoFolder {
        /// The first of them.
        path: String,
    },
    /// The target exists and is not a result folder, so that it is not replaced.
    #[error("{path}: exists and is not a result folder; name another folder or remove it")]
    Foreign {
        /// The folder.
        path: String,
    },
}

/// Mean, spread, extremes and quantiles of a delay, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct Distribution {
    /// Number of values.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub sd: f64,
    /// Smallest.
    pub min: f64,
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub p50: f64,
    /// Third quartile.
    pub q3: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile; absent from results of older versions.
    #[serde(default)]
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// The Data of a consumer over one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct PathRun {
    /// The nodes from producer or cache to consumer, e.g. `P1>R2>R1>C1`; `other` for the rest of many paths.
    pub path: String,
    /// Content bits over the part of the window in which the consumer was active.
    pub goodput_mbps: f64,
}

/// How a consumer met its deadline in one run, over the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct DeadlineRun {
    /// Data that arrived after the deadline.
    pub late: u64,
    /// Segments that the consumer received no Data for.
    pub lost: u64,
    /// Both, over the segments that were requested and not pending at the end; `None` if there are none.
    pub missed: Option<f64>,
}

/// How the network settled after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct RecoveryRun {
    /// Time of the change.
    pub at_s: f64,
    /// Time until goodput stayed near its new level; `None` if it never did, or if too little time was left.
    pub recovery_s: Option<f64>,
    /// Interests that looped from then until the next change or the end; `None` if nodes were not asked.
    #[serde(default)]
    pub looped: Option<u64>,
}

/// One consumer in one run, over the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct ConsumerRun {
    /// Its name.
    pub name: String,
    /// Content bits over the part of the window in which it was active (started, not stopped, not complete).
    pub goodput_mbps: f64,
    /// The same bits over the whole window; absent from results of older versions.
    #[serde(default)]
    pub goodput_run_mbps: f64,
    /// Content bits received in the window.
    pub payload_bits: u64,
    /// Time in the window in which it was active.
    pub active_s: f64,
    /// From the first Interest for a segment to its Data.
    pub delay_ms: Option<Distribution>,
    /// From the only Interest for a segment to its Data; segments requested twice are left out.
    pub rtt_ms: Option<Distribution>,
    /// From the start to the last segment of a finite object.
    pub completion_s: Option<f64>,
    /// Time since its start after which its 1 s goodput stayed within 10 % of the mean of its last quarter.
    pub convergence_s: Option<f64>,
    /// Interests sent, retransmissions included.
    pub interests: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Segments received for the first time.
    pub segments: u64,
    /// Data received more than once.
    pub duplicates: u64,
    /// Segments that arrived after all earlier ones.
    pub in_order: u64,
    /// Segments that arrived before an earlier one.
    pub out_of_order: u64,
    /// Marked Data received.
    pub marks: u64,
    /// NACKs received.
    pub nacks: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Losses found before their timeout.
    #[serde(default)]
    pub losses: u64,
    /// Of these, those whose Data came after all.
    #[serde(default)]
    pub false_losses: u64,
    /// Number of times that the window was reduced in reaction to congestion.
    pub decreases: u64,
    /// Number of times that the window became smaller, for any reason; absent from results of older versions.
    #[serde(default)]
    pub falls: u64,
    /// Mean of the sampled congestion window, in segments.
    pub window_mean: Option<f64>,
    /// Interest bytes sent, framing included, over content bytes received; `None` without content.
    #[serde(default)]
    pub interest_overhead: Option<f64>,
    /// Bytes that its component keeps at the end, of a simulated consumer that fetches one object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_bytes: Option<u64>,
    /// Only for a consumer with a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<DeadlineRun>,
    /// Flows that came and went; `None` for other kinds of consumers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsRun>,
    /// By path, in falling order; empty if all Data used one path.
    pub paths: Vec<PathRun>,
}

/// One direction of a link in one run, over the measurement window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct LinkRun {
    /// Its name.
    pub name: String,
    /// Wire bits of all packets over the nominal rate.
    pub utilization: f64,
    /// The part of it due to Data.
    pub utilization_data: f64,
    /// The part of it due to Interests.
    pub utilization_interests: f64,
    /// Mean time from joining the queue to the start of transmission, over departed packets; zero without packets.
    pub queue_ms: f64,
    /// Longest time from joining the queue to the start of transmission.
    pub queue_max_ms: f64,
    /// 99th percentile of that time over NDN packets; `None` without packets, and where it was not measured.
    #[serde(default)]
    pub queue_p99_ms: Option<f64>,
    /// Mean number of packets waiting, over the samples.
    pub queue_packets: f64,
    /// Largest number of packets waiting at a sample.
    pub queue_max_packets: u32,
    /// Data bits dropped by a full queue, over the window.
    pub loss_mbps: f64,
    /// Marks set on Data.
    pub marks: u64,
    /// Marks set on Interests.
    pub interest_marks: u64,
    /// NACKs sent over the link.
    pub nacks: u64,
    /// Packets dropped.
    pub drops: Drops,
}

/// A forwarding share: mean over the last tenth of the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct ShareRun {
    /// The node that decides.
    pub node: String,
    /// The prefix.
    pub prefix: String,
    /// The next hop, as a link direction.
    pub link: String,
    /// In [0, 1].
    pub share: f64,
}

/// A value that a component reported: (time, node, id, value).
#[derive(Clone, Debug, PartialEq, ndnweir_state::Value)]
pub struct ComponentEvent {
    /// Time, in s.
    pub at_s: f64,
    /// Index of the node.
    pub node: u32,
    /// The component's key.
    pub key: Cow<'static, str>,
    /// A number that the component assigns to the subject of the event.
    pub id: u64,
    /// The value.
    pub value: f64,
}

/// One scheme with one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct Run {
    /// The scheme's name.
    pub scheme: String,
    /// The seed that repeats the run.
    pub seed: u64,
    /// A hash over every arrival of the run, equal for equal runs; empty if it was not computed.
    #[serde(default)]
    pub event_hash: String,
    /// Whether the run ended before its measurement window; the values then cover the part that was run.
    #[serde(default)]
    pub partial: bool,
    /// Length of the window that was measured.
    pub measured_s: f64,
    /// Goodput of all consumers over the window.
    pub goodput_mbps: f64,
    /// Jain index of the long-lived consumers' goodput; `None` if there are no such consumers.
    pub jain: Option<f64>,
    /// The least goodput of the long-lived consumers over the mean of theirs; `None` if they have none.
    #[serde(default)]
    pub worst_share: Option<f64>,
    /// Data bits dropped by full queues on all links, over the window.
    pub loss_mbps: f64,
    /// Delay of all segments together.
    pub delay_ms: Option<Distribution>,
    /// The link direction with the highest utilisation.
    pub bottleneck: Option<String>,
    /// Utilisation of the bottleneck.
    pub bottleneck_utilization: Option<f64>,
    /// Mean queueing delay at the bottleneck.
    pub bottleneck_queue_ms: Option<f64>,
    /// Slowdown of all flows that came and went; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<Slowdown>,
    /// Interest bytes that consumers sent, framing included, over content bytes received; `None` without content.
    #[serde(default)]
    pub interest_overhead: Option<f64>,
    /// By change of the network; empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recoveries: Vec<RecoveryRun>,
    /// Marked Data that reached consumers.
    pub marks: u64,
    /// NACKs that reached consumers.
    pub nacks: u64,
    /// Retransmitted Interests of all consumers.
    pub retransmissions: u64,
    /// Interests that looped; `None` if nodes were not asked.
    #[serde(default)]
    pub looped: Option<u64>,
    /// The same over the Interests that consumers sent; `None` also without these.
    #[serde(default)]
    pub looped_share: Option<f64>,
    /// Drops of all links, and of nodes outside their links' queues.
    pub drops: Drops,
    /// By consumer, in the scenario's order.
    pub consumers: Vec<ConsumerRun>,
    /// By link direction, in the scenario's order.
    pub links: Vec<LinkRun>,
    /// For every strategy that splits traffic.
    pub shares: Vec<ShareRun>,
    /// Tables of the nodes that Interests reached, in the scenario's order; empty for emulated runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRun>,
    /// Messages between nodes and a planner; `None` without a planner.
    #[serde(default)]
    pub control: Option<ControlRun>,
    /// Switches that a planner ordered, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchRun>,
    /// Results of cross traffic, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cross: Vec<CrossRun>,
    /// Values over time; empty if they were not kept.
    #[serde(skip)]
    pub series: Series,
    /// Scheme events requested; not stored.
    #[serde(skip)]
    pub events: Vec<ComponentEvent>,
    /// Scheme events beyond the limit of a million, which were not kept.
    #[serde(skip)]
    pub events_dropped: u64,
}

/// How to repeat the computation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeat {
    /// The command line.
    pub command: String,
    /// Version of ndnweir.
    pub version: String,
    /// Remarks, e.g. which schemes are stand-ins for laws that are not public.
    pub notes: Vec<String>,
}

/// A scenario, the runs of every scheme with every seed, and the optimum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The scenario.
    pub scenario: ScenarioInfo,
    /// By scheme, then seed, in the order requested.
    pub runs: Vec<Run>,
    /// The computed optimum.
    pub optimum: Optimum,
    /// How to repeat the comparison.
    pub repeat: Repeat,
    /// Whether runs are missing because the work was interrupted.
    pub partial: bool,
}

impl Comparison {
    /// The schemes in order of first appearance.
    pub fn schemes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !names.contains(&run.scheme.as_str()) {
                names.push(&run.scheme);
            }
        }
        names
    }

    /// The runs of one scheme.
    pub fn runs_of<'a>(&'a self, scheme: &'a str) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |run| run.scheme == scheme)
    }

    /// How close the flows of a run came to the routed optimum; `None` if it is undefined.
    pub fn attained(&self, run: &Run) -> Option<Attained> {
        // With rounded goodputs as in stored results, so that results read back give the same value.
        self.optimum.attained(run.consumers.iter().map(|c| (c.name.as_str(), significant(c.goodput_mbps, 9))))
    }
}
