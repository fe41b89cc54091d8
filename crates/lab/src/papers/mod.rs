//! Published evaluations, run again and compared: published, measured, spread, verdict.
//!
//! A paper is a folder with `published.toml` (the published values and how they are measured), scenario files, and
//! `page.md` (open questions, choices, differences). Published numbers are targets, never inputs of a run. The format
//! is described in `docs/reproductions.md`; verdicts are defined in [`verdict`].

pub mod claims;
mod figures;
pub mod library;
pub mod model;
mod read;
mod reader;
mod readings;
mod run;
mod specs;
pub mod text;
pub mod trends;
pub mod verdict;

pub use library::Folder;
pub use model::Paper;
pub use read::paper as read;
pub use run::{Results, count, run};
pub use verdict::{Judged, PaperVerdict, judge};
