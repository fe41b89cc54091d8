//! placeholder

pub mod scenario;
pub mod topology;
