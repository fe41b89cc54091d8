//! Reports from outside, as one program.

mod judge;
mod papers;
mod report;
mod report_synthetic;
