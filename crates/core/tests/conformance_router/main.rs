//! What every registered component at a router must hold to, whoever wrote it: one suite and one operation fuzzer that
//! walk the registry.

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
