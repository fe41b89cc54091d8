//! Parts that several schemes share; each exists once.

pub mod bucket;
pub mod flows;
pub mod guard;
pub mod pacer;
pub mod rtt;
pub mod slow_start;
pub mod suppression;
pub mod utilisation;
