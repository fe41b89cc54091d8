//! The laboratory: scenarios, metrics, the computed optimum, results and reports.

pub mod emulate;
pub mod experiment;
pub mod fetch_trace;
pub mod metrics;
pub mod optimum;
pub mod pages;
pub mod papers;
pub mod report;
pub mod results;
pub mod scenario;
pub mod speed;
pub mod topology;
pub mod trace;
