//! What the fuzz targets do with their input. `tests/mgmt/fuzz_entries.rs` and `tests/forwarder_fuzz.rs` of the crate run
//! the same functions on a seeded generator, so that they are also run where no nightly compiler is.

mod forwarder;
mod management;

pub use forwarder::forwarder;
pub use management::management;
