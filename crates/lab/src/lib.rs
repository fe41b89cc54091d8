//! The laboratory: scenarios run under schemes and seeds, measured, set against the optimum and stored.
//!
//! - [`experiment`]: a scenario under several schemes and seeds, on all cores.
//! - [`metrics`]: from what a run observes to what is measured; the only definition of every metric.
//! - [`results`]: what was measured, in memory, on disk and as JSON.
//! - [`optimum`]: what an ideal scheme would give, by linear programs.
//! - [`evaluation`]: what evaluations written as data have in common: grids of cases, metrics as expressions.
//! - [`papers`]: published evaluations, run again and judged.
//! - [`criteria`]: schemes judged by criteria that are written down beforehand, relative to the optimum.
//! - [`jobs`]: single runs that are stored, reused and divided among machines.
//! - [`checkpoints`]: runs that are under way, kept so that they can go on.
//! - [`sweep`]: plans of many such runs, merged into tables (with the feature `sweep`).
//! - [`pack`]: results with all that is needed to compute them again, in one archive (with the feature `pack`).
//! - [`trace`], [`deliveries`], [`qlog`], [`fetch_trace`], [`speed`]: packets of a run (with `perfetto` also for that
//!   viewer), its Data, what its consumers see, a real fetch over time, the simulator's speed.
//!
//! It contains experiments and statistics, and no sockets, processes or pictures.

pub mod checkpoints;
pub mod criteria;
pub mod deliveries;
pub mod evaluation;
pub mod experiment;
pub mod fetch_trace;
mod hashes;
pub mod jobs;
pub mod metrics;
pub mod optimum;
#[cfg(any(test, feature = "pack"))]
pub mod pack;
pub mod papers;
#[cfg(feature = "perfetto")]
pub mod perfetto;
pub mod qlog;
pub mod results;
pub mod speed;
#[cfg(any(test, feature = "sweep"))]
pub mod sweep;
pub mod text_table;
pub mod trace;
