//! The page of a scenario with several cases: a table with links to the report of each case, and curves and maps over
//! what varies.

use super::html::{document, interactive};
use super::svg::{Figure, escape};
use super::sweep::sweep_figures;
use super::tables::html;
use ndnweir_lab::results::tables::{Labelled, runs};
use ndnweir_lab::results::{CaseResults, Error, NewFolder, SeriesOf};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a case is drawn at: its value of each key, as `KEY=VALUE`. Keys that vary together are one axis, with the names
/// of the cases.
fn places(results: &CaseResults) -> Vec<Vec<String>> {
    // Later values of a key win.
    let values = |set: &[String]| -> BTreeMap<String, String> {
        set.iter().filter_map(|text| text.split_once('=')).map(|(key, value)| (key.into(), value.into())).collect()
    };
    let all: Vec<BTreeMap<String, String>> = results.cases.iter().map(|case| values(&case.set)).collect();
    let keys: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let combinations: usize = keys
        .iter()
        .map(|key| all.iter().map(|values| values.get(*key)).collect::<BTreeSet<_>>().len())
        .fold(1, usize::saturating_mul);
    let one = |(case, values): (&_, BTreeMap<String, String>)| match combinations == results.cases.len() {
        true => values.into_iter().map(|(key, value)| format!("{key}={value}")).collect(),
        false => vec![format!("cases={case}")],
    };
    results.cases.iter().map(|case| &case.name).zip(all).map(one).collect()
}

/// Curves and maps over what varies.
fn figures(results: &CaseResults) -> Vec<Figure> {
    let places = places(results);
    let labelled = results.cases.iter().zip(&places).flat_map(|(case, set)| {
        case.comparison.runs.iter().map(|run| Labelled {
            experiment: &case.comparison.scenario.name,
            case: &case.name,
            set,
            run,
            attained: case.comparison.attained(run),
            estimate: case.comparison.optimum.estimate.as_deref(),
            optimum: None,
        })
    });
    // Without a run there is nothing to draw.
    sweep_figures(&runs(&labelled.collect::<Vec<_>>())).unwrap_or_default()
}

fn page(results: &CaseResults, figures: &[Figure]) -> String {
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
    let drawn: String =
        figures.iter().map(|f| format!("<h3>{}</h3>{}", escape(&f.title), interactive(f))).collect::<Vec<_>>().concat();
    let drawn = match figures {
        [] => String::new(),
        _ => format!(
            "<h2>Over what varies</h2><p>Lines and cells are means over the seeds; bands, and numbers after \
                      ±, are 95 % confidence intervals by Student's t, which one seed does not have.</p>{drawn}"
        ),
    };
    let body = format!(
        "<header><h1>{}</h1><p class=\"lead\">{}</p></header><main><h2>{} cases</h2>\
         <p>All values over the measurement window; a case leads to its report.</p>{}{drawn}<h2>How to repeat</h2><pre tabindex=\"0\">{}</pre></main>",
        escape(name),
        escape(about),
        results.cases.len(),
        html(&headings, &rows, 2),
        escape(&results.repeat.command)
    );
    document(&format!("{name} · ndnweir"), &body, &results.repeat.version)
}

/// Writes a folder with `report.html`, `figures/` and `summary.json` of all cases and, in `cases/`, a result folder for
/// each case.
///
/// # Errors
/// See [`NewFolder`] and [`crate::write`].
pub fn write_cases(results: &CaseResults, dir: &Path, series: SeriesOf) -> Result<(), Error> {
    let mut folder = NewFolder::begin(dir)?;
    folder.write("summary.json", |out| results.write_summary(out));
    let figures = figures(results);
    folder.write("report.html", |out| out.write_all(page(results, &figures).as_bytes()));
    for figure in &figures {
        folder.write(&format!("figures/{}.svg", figure.id), |out| out.write_all(figure.standalone().as_bytes()));
    }
    let mut stored = Ok(());
    for (i, case) in results.cases.iter().enumerate() {
        let own = super::write_to(&case.comparison, series, &format!("{}/", results.folder(i)), &mut folder);
        stored = stored.and(own);
    }
    folder.finish()?;
    stored
}
