//! The page of a sweep.

use super::print;
use crate::failure::Failure;
use ndnweir_lab::results::replace_files;
use ndnweir_lab::results::tables::{Table, from_parquet};
use ndnweir_report::{sweep_figures, sweep_page};
use std::path::{Path, PathBuf};

/// The merged runs of a sweep's folder, or the file that was named; `None` for other folders and files.
pub fn table_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() && path.join("sweep.json").is_file() {
        return Some(path.join("runs.parquet"));
    }
    (path.extension().is_some_and(|extension| extension == "parquet")).then(|| path.to_owned())
}

/// Draws the page of a merged table of runs beside it, with its figures.
pub fn draw(path: &Path, out: Option<&Path>) -> Result<(), Failure> {
    let shown = path.display();
    let wrong = |what: String| Failure::Input(format!("{shown}: {what}"));
    let unread =
        |error| wrong(format!("{error}; `ndnweir sweep PLAN --out FOLDER --merge` writes it once all runs are there"));
    let file = ndnweir_files::open(path, ndnweir_files::RESULTS).map_err(unread)?;
    // Of a damaged file the error says all; what the library asserts is not for users.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let table = from_parquet("runs", file);
    std::panic::set_hook(hook);
    let table = table.map_err(|error| unread(std::io::Error::other(error)))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let name =
        path.canonicalize().ok().and_then(|whole| Some(whole.parent()?.file_name()?.to_string_lossy().into_owned()));
    let page = write(&name.unwrap_or_default(), &table, folder, out).map_err(|error| match error {
        Failure::Input(what) => wrong(what),
        other => other,
    })?;
    print(&format!("report: {}\n", page.display()))
}

/// Writes the page and, beside it unless it has a place of its own, the figures.
pub fn write(name: &str, table: &Table, folder: &Path, out: Option<&Path>) -> Result<PathBuf, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let page = sweep_page(name, table, version).map_err(Failure::input)?;
    if let Some(out) = out {
        super::outputs::may_write_page(out, &[], &[folder])?;
        std::fs::write(out, page).map_err(|e| Failure::work(format!("{}: {e}", out.display())))?;
        return Ok(out.to_owned());
    }
    let figures = sweep_figures(table).map_err(Failure::input)?;
    let mut files: Vec<(String, Vec<u8>)> = vec![("report.html".to_owned(), page.into_bytes())];
    files.extend(figures.iter().map(|f| (format!("figures/{}.svg", f.id), f.standalone().into_bytes())));
    replace_files(folder, &files).map_err(Failure::work)?;
    Ok(folder.join("report.html"))
}
