//! The laboratory: scenarios, metrics, the computed optimum, results and reports.

pub mod metrics;
pub mod optimum;
pub mod report;
pub mod results;
pub mod scenario;
pub mod topology;
