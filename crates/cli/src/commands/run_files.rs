//! The files of the first run's packets that `sim` writes when asked.

use crate::args::SimArgs;
use crate::failure::Failure;
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
}

/// The files asked for.
pub(super) fn files(args: &SimArgs) -> Vec<RunFile<'_>> {
    fn file<'a>(
        option: &'static str,
        what: &'static str,
        path: &'a Option<PathBuf>,
        write: Write,
    ) -> Option<RunFile<'a>> {
        Some(RunFile { option, what, path: path.as_deref()?, write })
    }
    [
        file("--trace", "packets", &args.trace, trace::write),
        #[cfg(feature = "perfetto")]
        file("--perfetto", "trace", &args.perfetto, perfetto::write),
        file("--qlog", "qlog", &args.qlog, qlog::write),
        file("--deliveries", "deliveries", &args.deliveries, deliveries::write),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Checks that an option's file can be put at `path`, before the work.
pub(super) fn may_create(option: &str, path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || path.as_os_str().is_empty() {
        return Err(Failure::Input(format!("{option} {}: is a folder; name a file", path.display())));
    }
    match folder.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => Err(Failure::Input(format!("{option} {}: check that the folder exists", path.display()))),
    }
}
