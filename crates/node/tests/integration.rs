//! A node from outside, as one program; counts of allocations have a process of their own.

mod choices;
mod common;
mod components;
mod drivers;
mod false_fields;
mod faults;
mod fetcher;
mod fetcher_fuzz;
mod fetcher_link;
mod fetcher_losses;
mod fetcher_reference;
mod fetcher_rounds;
#[path = "forwarder/main.rs"]
mod forwarder;
mod model;
mod pipelines;
mod strategies;
