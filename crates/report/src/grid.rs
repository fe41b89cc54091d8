//! What a figure over time shows: panels with lines, bands, references and events.

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Written at the end of the line.
    pub label: String,
    /// Number of the scheme, for the colour.
    pub scheme: usize,
    /// Distinguishes lines of one colour: solid, light, dashed, dotted.
    pub style: usize,
    /// Values by bin.
    pub values: Vec<f64>,
}

/// The range of many lines: extremes, quartiles and median by bin.
#[derive(Clone, Debug)]
pub struct Band {
    /// Number of the scheme.
    pub scheme: usize,
    /// Minimum, lower quartile, median, upper quartile, maximum; each by bin.
    pub five: [Vec<f64>; 5],
}

/// One set of axes.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Heading, in the colour of the scheme if there is one.
    pub title: String,
    /// The scheme that the whole panel shows.
    pub scheme: Option<usize>,
    /// Lines.
    pub lines: Vec<Line>,
    /// Bands.
    pub bands: Vec<Band>,
    /// Reference lines: value and label, which may be empty.
    pub references: Vec<(f64, String)>,
}

/// A grid of panels.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// File name and anchor.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Description of the figure.
    pub caption: String,
    /// What the vertical axis shows, with unit.
    pub y_label: String,
    /// Bin width in s.
    pub bin_s: f64,
    /// Panels.
    pub panels: Vec<Panel>,
    /// Fixed range of the vertical axis; `None` means from zero to the largest value.
    pub y_range: Option<(f64, f64)>,
    /// Reference lines begin at this time (s); before it, not all flows have started.
    pub reference_from_s: f64,
    /// Events, each with a mark and a line across every panel.
    pub events: Vec<EventMark>,
}

/// Something that happened during a run.
#[derive(Clone, Debug)]
pub struct EventMark {
    /// Time, in s.
    pub at_s: f64,
    /// Written above the line.
    pub mark: String,
    /// Shown on hover.
    pub text: String,
}

/// Means over groups of `by` bins.
pub fn thin(values: &[f64], by: usize) -> Vec<f64> {
    let mean = |group: &[f64]| {
        let finite: Vec<f64> = group.iter().copied().filter(|v| v.is_finite()).collect();
        if finite.is_empty() { f64::NAN } else { finite.iter().sum::<f64>() / finite.len() as f64 }
    };
    values.chunks(by.max(1)).map(mean).collect()
}

impl Grid {
    /// The number of bins of the longest line.
    pub fn bins(&self) -> usize {
        let lines = self.panels.iter().flat_map(|p| &p.lines).map(|l| l.values.len());
        let bands = self.panels.iter().flat_map(|p| &p.bands).map(|b| b.five[0].len());
        lines.chain(bands).max().unwrap_or(0)
    }
}
