//! What the fuzz target does with its input. `tests/gnmi_fuzz.rs` of the crate runs the same function on a seeded
//! generator, so that it is also run where no nightly compiler is.

mod gnmi;

pub use gnmi::gnmi;
