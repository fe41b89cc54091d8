//! What the fuzz targets do with their input. `tests/mgmt/fuzz_entries.rs`, `tests/forwarder_fuzz.rs` and
//! `tests/object_fuzz.rs` of the crate run the same functions on a seeded generator, so that they are also run where no
//! nightly compiler is.

mod forwarder;
mod management;
mod object;

pub use forwarder::forwarder;
pub use management::management;
pub use object::object_fetch;
