//! The command from outside, as one program; what waits for processes and real sockets has programs of its own.

mod bad_input;
mod common;
mod first_use;
mod information;
#[cfg(feature = "network")]
mod install;
mod judge;
mod large_pages;
#[cfg(feature = "pack")]
mod pack;
mod report;
#[path = "rooms/main.rs"]
mod rooms;
mod sim;
#[cfg(feature = "sweep")]
mod sweep;
mod threat_model;
mod vary;
