//! Criteria for new congestion controls (RFC 9743, BCP 133), as data: a scheme is run, measured and judged by each.
//!
//! A criterion is a file `judge/<criterion>.toml`: a question, experiments, and measures with thresholds that were
//! written down, with reasons, before any scheme was run. The format is described in `docs/criteria-format.md`, the
//! verdicts in `verdict`, the results in `docs/judge.md`. There is no overall score.

mod budget;
mod chosen;
mod drawn;
mod folder;
mod jobs;
mod model;
mod read;
mod run;
mod shown;
pub mod text;
mod verdict;

pub use budget::packet_hops;
pub use folder::Folder;
pub use jobs::{Job, JobResult, Kept, engine, jobs};
pub use model::{Better, Combine, Criterion, Depth, Measure, NotApplicable, Strength};
pub use read::{Extent, read, read_all};
pub use run::{Judgement, count, keep, run};
pub use shown::Shown;
pub use verdict::{CellResult, CriterionResult, CriterionVerdict, MeasureResult};
