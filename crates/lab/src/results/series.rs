//! Values over time.

/// The tables of a run's series; each is one CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
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
}

impl Kind {
    /// All tables.
    pub const ALL: [Kind; 5] = [Kind::Network, Kind::Consumers, Kind::Paths, Kind::Links, Kind::Shares];

    /// The name of the table and, with `.csv`, of its file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Network => "network",
            Kind::Consumers => "consumers",
            Kind::Paths => "paths",
            Kind::Links => "links",
            Kind::Shares => "shares",
        }
    }

    /// The columns that say what a row is about.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Kind::Network => &[],
            Kind::Consumers => &["consumer"],
            Kind::Paths => &["consumer", "path"],
            Kind::Links => &["link"],
            Kind::Shares => &["node", "prefix", "link"],
        }
    }

    /// The measured columns.
    pub fn metrics(self) -> &'static [&'static str] {
        match self {
            Kind::Network => &["goodput_mbps", "jain", "loss_mbps"],
            Kind::Consumers => &[
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
            Kind::Paths => &["goodput_mbps"],
            Kind::Links => &[
                "data_mbps",
                "interest_mbps",
                "queue_packets",
                "queue_ms",
                "queue_max_ms",
                "loss_mbps",
                "marks",
                "nacks",
            ],
            Kind::Shares => &["share"],
        }
    }
}

/// The series about one thing: one column for each metric of the table, NaN where undefined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// What it is about, by [`Kind::keys`].
    pub key: Vec<String>,
    /// By [`Kind::metrics`]; all of one length.
    pub columns: Vec<Vec<f64>>,
}

/// All series of a run: bin `i` covers the time from `i` times the bin width on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Width of a bin, in s.
    pub bin_s: f64,
    /// By [`Kind`].
    pub tables: [Vec<Rows>; 5],
}

impl Series {
    /// The rows of a table.
    pub fn table(&self, kind: Kind) -> &[Rows] {
        &self.tables[kind as usize]
    }

    /// One series; none when it was not kept.
    pub fn get(&self, kind: Kind, key: &[&str], metric: &str) -> Option<&[f64]> {
        let column = kind.metrics().iter().position(|m| *m == metric)?;
        let rows = self.table(kind).iter().find(|r| r.key.iter().map(String::as_str).eq(key.iter().copied()))?;
        rows.columns.get(column).map(Vec::as_slice)
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(Vec::is_empty)
    }

    /// Number of bins.
    pub fn len(&self) -> usize {
        self.tables.iter().flatten().flat_map(|r| &r.columns).map(Vec::len).max().unwrap_or(0)
    }
}
