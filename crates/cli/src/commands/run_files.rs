//! The files of the first run's packets that `sim` writes when asked.

use super::outputs::IsOwn;
use crate::args::SimArgs;
use ndnweir_lab::experiment::Experiment;
#[cfg(feature = "perfetto")]
use ndnweir_lab::perfetto;
use ndnweir_lab::{deliveries, qlog, trace};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

type Write = fn(&Experiment, &Path, &AtomicBool) -> Result<(), trace::Error>;

/// A file of the first run's packets.
pub(super) struct RunFile<'a> {
    pub(super) option: &'static str,
    pub(super) what: &'static str,
    pub(super) path: &'a Path,
    pub(super) write: Write,
    /// Whether an earlier one begins so.
    pub(super) is_own: IsOwn,
}

/// The files asked for.
pub(super) fn files(args: &SimArgs) -> Vec<RunFile<'_>> {
    fn file<'a>(
        option: &'static str,
        what: &'static str,
        path: &'a Option<PathBuf>,
        (write, is_own): (Write, IsOwn),
    ) -> Option<RunFile<'a>> {
        Some(RunFile { option, what, path: path.as_deref()?, write, is_own })
    }
    [
        file("--trace", "packets", &args.trace, (trace::write, trace::is_own)),
        #[cfg(feature = "perfetto")]
        file("--perfetto", "trace", &args.perfetto, (perfetto::write, perfetto::is_own)),
        file("--qlog", "qlog", &args.qlog, (qlog::write, qlog::is_own)),
        file("--deliveries", "deliveries", &args.deliveries, (deliveries::write, deliveries::is_own)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
