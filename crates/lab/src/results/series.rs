//! Values over time.

/// The tables of a run's series; each is one CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesKind {
    /// The network as a whole.
    Network,
    /// By consumer.
    Consumers,
    /// By consumer and path.
    Paths,
    /// By link direction.
    Links,
    /// By node, prefix and next hop.
    Shares,
    /// By node: its tables.
    Nodes,
    /// By link direction: packets.
    Packets,
    /// By consumer: the number of links that Data crossed.
    Hops,
    /// By consumer whose flows come and go.
    Flows,
}

impl SeriesKind {
    /// All tables.
    pub const ALL: [SeriesKind; 9] = [
        SeriesKind::Network,
        SeriesKind::Consumers,
        SeriesKind::Paths,
        SeriesKind::Links,
        SeriesKind::Shares,
        SeriesKind::Nodes,
        SeriesKind::Packets,
        SeriesKind::Hops,
        SeriesKind::Flows,
    ];

    /// The name of the table and, with `.csv`, of its file.
    pub fn name(self) -> &'static str {
        match self {
            SeriesKind::Network => "network",
            SeriesKind::Consumers => "consumers",
            SeriesKind::Paths => "paths",
            SeriesKind::Links => "links",
            SeriesKind::Shares => "shares",
            SeriesKind::Nodes => "nodes",
            SeriesKind::Packets => "packets",
            SeriesKind::Hops => "hops",
            SeriesKind::Flows => "flows",
        }
    }

    /// The columns that identify the subject of a row.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            SeriesKind::Network => &[],
            SeriesKind::Consumers | SeriesKind::Hops | SeriesKind::Flows => &["consumer"],
            SeriesKind::Paths => &["consumer", "path"],
            SeriesKind::Links | SeriesKind::Packets => &["link"],
            SeriesKind::Shares => &["node", "prefix", "link"],
            SeriesKind::Nodes => &["node"],
        }
    }

    /// The measured columns.
    pub fn metrics(self) -> &'static [&'static str] {
        match self {
            SeriesKind::Network => &["goodput_mbps", "jain", "loss_mbps", "looped"],
            SeriesKind::Consumers => &[
                "goodput_mbps",
                "delay_ms",
                "delay_max_ms",
                "rtt_ms",
                "window",
                "in_flight",
                "nacks",
                "marks",
                "interests_per_s",
            ],
            SeriesKind::Paths => &["goodput_mbps"],
            SeriesKind::Links => &[
                "data_mbps",
                "interest_mbps",
                "queue_packets",
                "queue_ms",
                "queue_max_ms",
                "loss_mbps",
                "marks",
                "nacks",
            ],
            SeriesKind::Shares => &["share"],
            SeriesKind::Nodes => &[
                "interests",
                "cs_hits",
                "cs_misses",
                "pit_aggregated",
                "pit_answered",
                "pit_rejected",
                "pit_expired",
                "cs_packets",
                "pit_entries",
            ],
            SeriesKind::Packets => &["interests", "data", "nacks", "drops"],
            SeriesKind::Hops => &["hops", "hops_max"],
            SeriesKind::Flows => &["active", "started", "completed"],
        }
    }
}

/// The series of one subject: one column for each metric of the table, NaN if undefined.
#[derive(Clone, Debug, Default, PartialEq, ndnweir_state::Value)]
pub struct Rows {
    /// The subject, by [`SeriesKind::keys`].
    pub key: Vec<String>,
    /// By [`SeriesKind::metrics`]; all of one length.
    pub columns: Vec<Vec<f64>>,
}

/// All series of a run: bin `i` begins at `i` times the bin width.
#[derive(Clone, Debug, Default, PartialEq, ndnweir_state::Value)]
pub struct Series {
    /// Width of a bin, in s.
    pub bin_s: f64,
    /// By [`SeriesKind`].
    pub tables: [Vec<Rows>; 9],
}

impl Series {
    /// The rows of a table.
    pub fn table(&self, kind: SeriesKind) -> &[Rows] {
        &self.tables[kind as usize]
    }

    /// One series; `None` if it was not kept.
    pub fn get(&self, kind: SeriesKind, key: &[&str], metric: &str) -> Option<&[f64]> {
        let column = kind.metrics().iter().position(|m| *m == metric)?;
        let rows = self.table(kind).iter().find(|r| r.key.iter().map(String::as_str).eq(key.iter().copied()))?;
        rows.columns.get(column).map(Vec::as_slice)
    }

    /// Whether no series was kept.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(Vec::is_empty)
    }

    /// Number of bins.
    pub fn len(&self) -> usize {
        self.tables.iter().flatten().flat_map(|r| &r.columns).map(Vec::len).max().unwrap_or(0)
    }
}
