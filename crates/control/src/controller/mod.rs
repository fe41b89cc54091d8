//! The controller: a planner of `ndnweir-core` over routers that serve gNMI.
//!
//! [`brain`] is what it knows and decides, without I/O; [`mirror`] reads a router's notifications; [`session`] keeps
//! the connection to one router; [`run`] puts them together; [`status`] is what it reports of itself.

pub mod brain;
pub mod config;
pub mod mirror;
pub mod run;
mod session;
pub mod status;
