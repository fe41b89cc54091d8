//! What evaluations written as data have in common: grids of cases, metrics as expressions, means over seeds.
//!
//! Papers and criteria are read from TOML files by people who name experiments, vary keys of scenarios and write
//! expressions over what was measured. All of that is defined here once; comparisons and verdicts are theirs
//! ([`crate::papers`], [`crate::criteria`]).

pub mod eval;
pub mod expr;
pub mod grid;
pub mod limits;
pub mod lists;
pub mod resolve;
mod spread;

pub use eval::{Measured, Runs};
pub use grid::{Case, ExperimentGrid};
pub use limits::Limits;
pub use resolve::Resolver;
pub use spread::{doubt, number};
