//! Criteria for new congestion controls (RFC 9743, BCP 133), as data: a scheme is run, measured and judged by each.
//!
//! A criterion is a file `judge/<criterion>.toml`: a question, experiments, and measures with thresholds that were
//! written down, with reasons, before any scheme was run. The format is described in `docs/criteria-format.md`, the
//! verdicts in `verdict`, the results in `docs/judge.md`. There is no overall score.

mod budget;
mod cell_data;
mod chosen;
mod drawn;
mod folder;
mod jobs;
mod model;
mod read;
mod record;
mod run;
pub mod text;
mod verdict;

pub use budget::packet_hops;
pub use cell_data::{CellData, CellSeries};
pub use folder::Folder;
pub use jobs::{Job, Jobs};
pub use model::{Better, Combine, Criterion, Depth, Measure, NotApplicable, Strength};
pub use read::{ReadOptions, read, read_all};
pub use record::RunRecord;
pub use run::{Judgement, run};
pub use verdict::{CellResult, CriterionResult, CriterionVerdict, MeasureResult};
