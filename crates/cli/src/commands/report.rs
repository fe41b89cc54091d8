//! `ndnweir report`.

use super::print;
use crate::args::ReportArgs;
use crate::failure::Failure;
use ndnweir_lab::{report, results};
use std::path::{Path, PathBuf};

pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    match &args.folders[..] {
        [_] if args.out.is_some() => {
            Err(Failure::Input("--out is for the comparison of two folders; one is drawn again in its place".into()))
        }
        [one] => {
            report::redraw(one).map_err(Failure::input)?;
            print(&format!("report: {}\n", one.join("report.html").display()))
        }
        [before, after, ..] => {
            let out = args.out.clone().unwrap_or_else(|| PathBuf::from("comparison.html"));
            compare(before, after, &out)
        }
        [] => Err(Failure::Input("name one or two result folders".into())),
    }
}

fn compare(before: &Path, after: &Path, out: &Path) -> Result<(), Failure> {
    let read = |folder| results::read(folder).map_err(Failure::input);
    let labels = (before.display().to_string(), after.display().to_string());
    let page = report::compare(&read(before)?, &read(after)?, (&labels.0, &labels.1));
    std::fs::write(out, page).map_err(|e| Failure::work(format!("{}: {e}", out.display())))?;
    print(&format!("comparison: {}\n", out.display()))
}
