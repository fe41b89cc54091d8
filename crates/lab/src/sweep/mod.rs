//! Sweeps: many runs described by a plan file, each stored under the hash of all that it depends on.
//!
//! A plan names scenarios, values that vary, schemes and seeds. Its jobs are independent: any number of workers run any
//! part of them, on any machine that has the same program; what is stored is not run again. When all are stored, they
//! are merged into tables, whose bytes depend on the plan alone.

mod manifest;
mod merge;
mod plan;
mod run;

pub use manifest::Manifest;
pub use merge::{TABLES, merge};
pub use plan::{MAX_JOBS, Plan, PlanOptions};
pub use run::{Job, Record, Status, Sweep};
