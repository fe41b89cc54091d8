//! The native part of the Python package `ndnweir`: runs, and their results as Arrow tables.
//!
//! Everything is computed by the crates that the command uses; here it is only handed over.

mod errors;
mod network;
mod outside;
mod results;
mod run;
mod spread;
mod table;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::network::{Fetch, Publication, fetch, publish};
    #[pymodule_export]
    use crate::outside::{check_consumer, check_marker, check_strategy};
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::spread::half_width;
    #[pymodule_export]
    use crate::table::Table;
}
