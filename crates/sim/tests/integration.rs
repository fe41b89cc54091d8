//! The simulator from outside, as one program; counts of allocations have a process of their own.

mod closed_form;
mod common;
mod control;
mod cross;
mod determinism;
mod faults;
mod fragments;
mod handover;
mod hosts;
mod independent_model;
mod keeping;
mod media;
mod nack_once;
mod parallel;
mod planned;
#[path = "properties/main.rs"]
mod properties;
mod routing;
#[path = "schedule/main.rs"]
mod schedule;
mod shapers;
mod startup_paths;
mod strategies;
mod survival;
mod traces;
