//! The common parts of evaluations written as data: grids of cases, metrics as expressions, means over seeds.
//!
//! Papers and criteria are TOML files that name experiments, vary keys of scenarios and contain expressions over
//! measured values. All of that is defined here; comparisons and verdicts are defined in [`crate::papers`] and
//! [`crate::criteria`].

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
pub use spread::{half_width, number, student};
