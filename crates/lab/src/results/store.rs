//! What a result folder holds of a comparison.

use super::new_folder::NewFolder;
use super::subjects::Subjects;
#[cfg(any(test, feature = "parquet"))]
use super::tables::{self, Labelled};
use super::{Comparison, Run, SeriesKind, csv};
use std::collections::BTreeSet;

/// The runs whose series are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeriesOf {
    /// The run of each scheme's first seed.
    #[default]
    First,
    /// Every run.
    All,
}

/// Writes `summary.json`, of large networks also `summary/*.csv`, and `series/*.csv` (with the feature `parquet` also
/// `series/*.parquet`) below `prefix` of a new folder, one after the other as they come.
pub fn store(comparison: &Comparison, series: SeriesOf, prefix: &str, to: &mut NewFolder) {
    to.write(&format!("{prefix}summary.json"), |out| comparison.write_summary(out));
    for subjects in Subjects::ALL.into_iter().filter(|subjects| subjects.are_many(comparison)) {
        to.write(&format!("{prefix}{}", subjects.file()), |out| subjects.write(comparison, out));
    }
    let runs: Vec<&Run> = match series {
        SeriesOf::All => comparison.runs.iter().collect(),
        SeriesOf::First => {
            let mut seen = BTreeSet::new();
            comparison.runs.iter().filter(|run| seen.insert(&run.scheme)).collect()
        }
    };
    for kind in SeriesKind::ALL {
        if csv::has_rows(&runs, kind) {
            to.write(&format!("{prefix}{}", csv::file(kind)), |out| csv::write(&runs, kind, out));
        }
        #[cfg(any(test, feature = "parquet"))]
        {
            let label = |run| Labelled {
                experiment: "",
                case: "",
                set: &[],
                run,
                attained: None,
                estimate: None,
                optimum: None,
            };
            let runs: Vec<Labelled> = runs.iter().map(|run| label(*run)).collect();
            let table = tables::series(&runs, kind).without(&["experiment", "case"]);
            // Writing to memory does not fail; a test would reveal an error in the schema.
            if let (false, Ok(bytes)) = (table.is_empty(), tables::to_parquet(&table)) {
                to.write(&format!("{prefix}series/{}.parquet", kind.name()), |out| out.write_all(&bytes));
            }
        }
    }
}
