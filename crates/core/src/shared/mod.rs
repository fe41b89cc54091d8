//! Parts that several schemes share; each exists once.

pub mod guard;
pub mod suppression;
