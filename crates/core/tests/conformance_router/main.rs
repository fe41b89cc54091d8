//! The contract of every registered component at a router: one suite and one operation fuzzer that iterate over the
//! registry.

#[path = "../common/router.rs"]
mod router;

mod catalogue;
mod discipline;
mod index;
mod marker;
mod meter;
mod planner;
mod shaper;
mod strategy;
