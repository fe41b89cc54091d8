//! Results as tidy tables: one row for each run, consumer, link or bin, one column for each value, for data frames and
//! Parquet files.
//!
//! Every table begins with the columns that name its run: `experiment`, `case`, `scheme`, `seed`. Columns are the same
//! whatever was measured; undefined values are missing. Numbers have the digits of stored results.

mod columns;
#[cfg(any(test, feature = "parquet", feature = "sweep"))]
mod parquet;
mod rows;

pub use columns::{Column, Table, Values};
#[cfg(any(test, feature = "parquet", feature = "sweep"))]
pub use parquet::{from_parquet, to_parquet};
pub use rows::{Labelled, consumers, events, flows, links, runs, series};
