//! A deterministic packet-level simulator of NDN networks.

pub mod observer;
