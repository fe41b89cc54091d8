//! `ndnweir report`.

use super::{outputs, print};
use crate::args::ReportArgs;
use crate::failure::Failure;
use ndnweir_lab::{fetch_trace, results};
use ndnweir_report as report;
use std::path::{Path, PathBuf};

pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    #[cfg(feature = "sweep")]
    if let [one] = &args.folders[..]
        && let Some(table) = super::sweep_report::table_of(one)
    {
        return super::sweep_report::draw(&table, args.out.as_deref());
    }
    if args.folders.iter().any(|path| path.is_file()) {
        args.folders.iter().try_for_each(|path| is_there(path))?;
        return draw_fetches(args);
    }
    match &args.folders[..] {
        [_] if args.out.is_some() => {
            Err(Failure::Input("--out is for the comparison of two folders; one is drawn again in its place".into()))
        }
        [one] => {
            is_there(one)?;
            report::redraw(one).map_err(Failure::input)?;
            print(&format!("report: {}\n", one.join("report.html").display()))
        }
        [before, after, ..] => {
            is_there(before).and_then(|()| is_there(after))?;
            let out = args.out.clone().unwrap_or_else(|| PathBuf::from("comparison.html"));
            compare(before, after, &out)
        }
        [] => Err(Failure::Input("name one or two result folders".into())),
    }
}

/// Rejects a path that names nothing, before what is in it is asked for.
fn is_there(path: &Path) -> Result<(), Failure> {
    let what = match (path.exists(), path == Path::new("-")) {
        (true, _) => return Ok(()),
        (false, true) => "standard input is not read",
        (false, false) => "there is no such folder or file",
    };
    let remedy = "name a folder that `ndnweir sim` or `ndnweir sweep` wrote, or a trace of `ndnweir get --trace`";
    Err(Failure::Input(format!("{}: {what}; {remedy}", path.display())))
}

/// Draws traces of fetches on one page.
fn draw_fetches(args: &ReportArgs) -> Result<(), Failure> {
    let read = |path: &PathBuf| {
        let rows = fetch_trace::read(path).map_err(Failure::input)?;
        let label = path.file_stem().unwrap_or(path.as_os_str());
        Ok((label.to_string_lossy().into_owned(), rows))
    };
    let traces = args.folders.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let out = args.out.clone().unwrap_or_else(|| args.folders[0].with_extension("html"));
    outputs::may_write_page(&out, &args.folders, &[])?;
    let page = report::fetches(&traces, env!("CARGO_PKG_VERSION"));
    std::fs::write(&out, page).map_err(|e| Failure::work(format!("{}: {e}", out.display())))?;
    print(&format!("report: {}\n", out.display()))
}

fn compare(before: &Path, after: &Path, out: &Path) -> Result<(), Failure> {
    outputs::may_write_page(out, &[], &[before, after])?;
    let read = |folder| results::read(folder).map_err(Failure::input);
    let labels = (before.display().to_string(), after.display().to_string());
    let page = report::compare(&read(before)?, &read(after)?, (&labels.0, &labels.1));
    std::fs::write(out, page).map_err(|e| Failure::work(format!("{}: {e}", out.display())))?;
    print(&format!("comparison: {}\n", out.display()))
}
