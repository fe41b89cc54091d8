//! Reports from outside, as one program.

mod papers;
mod report;
mod report_synthetic;
