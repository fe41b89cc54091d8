//! Reports: figures, tables and one self-contained page; and the [`pages`] about schemes.
//!
//! Reports depend only on results: simulated and emulated runs are treated alike.
//!
//! Figures are SVG written by this crate: with a dozen primitives the result is smaller and cleaner than that of a
//! plotting library, adapts to light and dark backgrounds, and is there without a script, on paper and in papers. In a
//! browser the page's script (`assets/`) draws those over time again with uPlot, to zoom and to compare, from
//! values that the page contains.

pub mod assets;
pub(crate) mod axis;
pub(crate) mod bars;
mod cases;
mod clip;
mod compare;
mod families;
mod fetch;
mod figures;
mod flows;
mod grid;
mod heat;
pub(crate) mod html;
pub mod judge;
mod kinds;
mod layout;
pub(crate) mod lines;
pub mod pages;
pub mod papers;
mod player;
mod series;
pub(crate) mod style;
pub(crate) mod svg;
mod sweep;
pub(crate) mod tables;
mod topology;

pub use cases::write_cases;
pub use compare::compare;
pub use fetch::fetches;
pub use html::PAGE_START;
pub use svg::Figure;
pub use sweep::{NoSweep, sweep_figures, sweep_page};

use ndnweir_lab::results::{Comparison, Error, NewFolder, SeriesOf, aggregate_of_shown, read, replace_files, store};
use std::path::Path;

/// All figures of a comparison.
pub fn figures(comparison: &Comparison) -> Vec<Figure> {
    figures::figures(comparison, &aggregate_of_shown(comparison))
}

/// `report.html`.
pub fn page(comparison: &Comparison) -> String {
    let all = aggregate_of_shown(comparison);
    html::page(comparison, &all, &figures::figures(comparison, &all))
}

/// `report.html` and `figures/*.svg`.
fn drawn(comparison: &Comparison) -> Vec<(String, Vec<u8>)> {
    let all = aggregate_of_shown(comparison);
    let figures = figures::figures(comparison, &all);
    let mut files = vec![("report.html".to_owned(), html::page(comparison, &all, &figures).into_bytes())];
    files.extend(figures.iter().map(|f| (format!("figures/{}.svg", f.id), f.standalone().into_bytes())));
    files
}

/// Writes a result folder: `report.html`, `summary.json`, `series/`, `figures/`.
///
/// # Errors
/// See [`NewFolder`]; all files that could be written are kept. Results that cannot be read back are an error too,
/// after all of them are written.
pub fn write(comparison: &Comparison, dir: &Path, series: SeriesOf) -> Result<(), Error> {
    let mut folder = NewFolder::begin(dir)?;
    let stored = write_to(comparison, series, "", &mut folder);
    folder.finish()?;
    stored
}

/// Writes results and their report below `prefix`. An error is one of reading back.
fn write_to(comparison: &Comparison, series: SeriesOf, prefix: &str, folder: &mut NewFolder) -> Result<(), Error> {
    store(comparison, series, prefix, folder);
    // Drawn from the stored results, so that drawing again gives the same bytes.
    let stored = folder.read_back(prefix);
    for (name, bytes) in drawn(stored.as_ref().unwrap_or(comparison)) {
        folder.write(&format!("{prefix}{name}"), |out| out.write_all(&bytes));
    }
    stored.map(drop)
}

/// Draws the report of a result folder again from its stored data.
///
/// # Errors
/// [`Error`] naming the damaged or unreadable file; the folder is then unchanged.
pub fn redraw(dir: &Path) -> Result<(), Error> {
    let comparison = read(dir)?;
    replace_files(dir, &drawn(&comparison))
}
