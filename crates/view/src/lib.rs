//! What people watch while they work: a local web page over result folders, runs, forwarders and fetches, and the same in
//! a terminal.
//!
//! [`Server`] serves the page on loopback, to who has the address that it prints. It runs scenarios through
//! `ndnweir_lab::experiment` and writes ordinary result folders; it computes nothing of its own. [`terminal`] draws on a
//! terminal. Both get their values from [`experiment::Progress::bins`](ndnweir_lab::experiment::Progress).

mod attach;
mod catalogue;
mod connections;
mod feed;
mod folders;
mod guard;
mod page;
mod request;
mod runs;
mod server;
mod stream;
pub mod terminal;

pub use attach::Attached;
pub use runs::LiveRun;
pub use server::{Error, Options, Server};
