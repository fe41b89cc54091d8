//! The page of a scenario with several cases: a table with links to the report of each case.

use super::html::document;
use super::svg::escape;
use super::tables::html;
use ndnweir_lab::results::{CaseResults, Error, NewFolder, SeriesOf};
use std::path::Path;

fn page(results: &CaseResults) -> String {
    let scenario = results.cases.first().map(|case| &case.comparison.scenario);
    let name = scenario.map_or("", |scenario| scenario.name.as_str());
    let about = scenario.map_or("", |scenario| scenario.description.as_str());
    let (headings, mut rows) = results.overview();
    let mut row = rows.iter_mut();
    for (i, case) in results.cases.iter().enumerate() {
        for cells in row.by_ref().take(case.comparison.schemes().len()) {
            cells.iter_mut().for_each(|cell| *cell = escape(cell));
            cells[0] = format!("<a href=\"{}/report.html\">{}</a>", results.folder(i), cells[0]);
        }
    }
    let body = format!(
        "<header><h1>{}</h1><p class=\"lead\">{}</p></header><main><h2>{} cases</h2>\
         <p>All values over the measurement window; a case leads to its report.</p>{}<h2>How to repeat</h2><pre tabindex=\"0\">{}</pre></main>",
        escape(name),
        escape(about),
        results.cases.len(),
        html(&headings, &rows, 2),
        escape(&results.repeat.command)
    );
    document(&format!("{name} · ndnweir"), &body, &results.repeat.version)
}

/// Writes a folder with `report.html` and `summary.json` of all cases and, in `cases/`, a result folder for each case.
///
/// # Errors
/// See [`NewFolder`] and [`crate::write`].
pub fn write_cases(results: &CaseResults, dir: &Path, series: SeriesOf) -> Result<(), Error> {
    let mut folder = NewFolder::begin(dir)?;
    folder.write("summary.json", |out| results.write_summary(out));
    folder.write("report.html", |out| out.write_all(page(results).as_bytes()));
    let mut stored = Ok(());
    for (i, case) in results.cases.iter().enumerate() {
        let own = super::write_to(&case.comparison, series, &format!("{}/", results.folder(i)), &mut folder);
        stored = stored.and(own);
    }
    folder.finish()?;
    stored
}
