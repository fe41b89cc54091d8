//! `ndnweir report`.

use super::print;
use crate::args::ReportArgs;
use crate::failure::Failure;
use ndnweir_lab::report;
use std::path::{Path, PathBuf};

pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    match &args.folders[..] {
        [one] => {
            report::redraw(one).map_err(Failure::input)?;
            print(&format!("report: {}\n", one.join("report.html").display()))
        }
        [before, after, ..] => {
            let out = args.out.clone().unwrap_or_else(|| Path::new("results").join("compare"));
            compare(before, after, &out)
        }
        [] => Err(Failure::Input("name one or two result folders".into())),
    }
}

fn compare(before: &Path, after: &Path, out: &PathBuf) -> Result<(), Failure> {
    report::write_comparison(before, after, out).map_err(Failure::input)?;
    print(&format!("comparison: {}\n", out.join("report.html").display()))
}
