//! The controller: a planner of `ndnweir-core` over routers that serve gNMI.
//!
//! [`brain`] is what it knows and decides, without I/O; [`mirror`] reads a router's notifications; [`session`] keeps
//! the connection to one router, [`managed`] that to one that speaks NFD's management protocol; [`run`] puts them
//! together; [`status`] is what it reports of itself. [`once`] is for commands that ask and change a router and end.

pub mod brain;
pub mod config;
pub mod managed;
pub mod mirror;
pub mod once;
pub mod run;
mod session;
pub mod status;
