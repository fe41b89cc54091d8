//! placeholder
pub mod fetcher;
mod fetcher_segments;
mod fetcher_signals;
pub mod server;
