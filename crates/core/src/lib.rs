//! The schemes of NDN congestion control as small I/O-free components.
//!
//! Six families, one trait each; a *scheme* names one component of every family.
//! Time, randomness and the recorder are arguments: nothing here reads a clock, spawns a thread or keeps global state.

pub mod units;
