//! Reads `published.toml`; all errors are reported together, with file and line.

use super::figures;
use super::library::{Folder, PAGE, PUBLISHED};
use super::model::{Paper, PublishedEntry, StatementKind};
use super::reader::PublishedReader;
use crate::evaluation::expr::Expr;
use crate::evaluation::lists::{tables, texts};
use crate::evaluation::{ExperimentGrid, Resolver, grid, resolve};
use crate::experiment::choose;
use ndnweir_scenario::diag::{Findings, suggest};
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree::{self, Table};
use ndnweir_scenario::{Location, Problems, Source};
use std::collections::BTreeSet;

/// Reads and checks a paper.
///
/// # Errors
/// All errors in its files.
pub fn paper(folder: &Folder) -> Result<Paper, Problems> {
    let shown = folder.shown(PUBLISHED);
    let text =
        folder.text(PUBLISHED).map_err(|e| Problems::one(Location::whole(&shown), e.to_string(), "write the file"))?;
    let root = tree::parse(&shown, &text)?;
    let found = Findings::default();
    let whole = Location::at(&shown.as_str().into(), 1, 1);
    let f = Fields::new(&root, "the file", &whole, &found);
    let title = f.required("title", "\"the paper's title\"").unwrap_or_default();
    let citation = f.required("citation", "\"authors, venue, year\"").unwrap_or_default();
    let summary = f.required("summary", "\"one line\"").unwrap_or_default();
    let references = f.item("references").map(|item| texts(item, &found)).unwrap_or_default();
    for key in ["experiment", "number", "ordering", "trend", "figure"] {
        f.item(key);
    }
    f.finish();
    let mut experiments: Vec<ExperimentGrid> = Vec::new();
    for (table, at) in tables(&root, "experiment") {
        let made = experiment(table, at, folder, &found);
        if let Some(made) = made {
            if experiments.iter().any(|e| e.id == made.id) {
                found.error(at, format!("experiment \"{}\" is there twice", made.id), "rename one of the two");
            }
            experiments.push(made);
        }
    }
    // Without the experiments, all later errors would only be consequences.
    found.check()?;
    let resolver = Resolver::new(&experiments);
    let reader = PublishedReader { resolver: &resolver, experiments: &experiments, found: &found };
    for (id, at) in &references {
        reader.or_report(at, resolver.experiment(id));
    }
    let mut entries: Vec<PublishedEntry> = Vec::new();
    for (table, at) in tables(&root, "number") {
        entries.extend(reader.numbers(table, at));
    }
    entries.extend(tables(&root, "ordering").filter_map(|(table, at)| reader.ordering(table, at)));
    entries.extend(tables(&root, "trend").filter_map(|(table, at)| reader.trend(table, at)));
    entries.sort_by(|a, b| a.place.cmp(&b.place));
    check_ids(&entries, &found);
    let drawn: Vec<_> = tables(&root, "figure").filter_map(|(t, at)| figures::read(&reader, t, at)).collect();
    let page = match folder.text(PAGE) {
        Ok(page) => page,
        Err(error) => {
            found.error(&Location::whole(&folder.shown(PAGE)), error.to_string(), "every paper has a page");
            String::new()
        }
    };
    found.check()?;
    let wanted: Vec<(usize, String)> = (entries.iter().flat_map(|e| event_keys(e, &experiments)))
        .chain(drawn.iter().flat_map(|f| &f.panels).flat_map(|p| {
            p.items.iter().flat_map(|(_, e)| resolve::event_keys(e)).map(|key| (p.experiment, key)).collect::<Vec<_>>()
        }))
        .collect();
    for (experiment, key) in wanted {
        let events = &mut experiments[experiment].events;
        if !events.contains(&key) {
            events.push(key);
        }
    }
    let references = references.into_iter().map(|r| r.0).collect();
    Ok(Paper { name: folder.name(), title, citation, summary, experiments, entries, figures: drawn, references, page })
}

/// The event keys that an entry uses, with the experiments that must record them.
fn event_keys(entry: &PublishedEntry, experiments: &[ExperimentGrid]) -> Vec<(usize, String)> {
    let of = |expr: &Expr| {
        let elsewhere = match expr {
            Expr::At(_, target) => {
                target.experiment.as_ref().and_then(|id| experiments.iter().position(|e| e.id == *id))
            }
            _ => None,
        };
        let at = elsewhere.unwrap_or(entry.experiment);
        resolve::event_keys(expr).into_iter().map(move |key| (at, key)).collect::<Vec<_>>()
    };
    match &entry.kind {
        StatementKind::Number { metric, .. } => of(metric),
        StatementKind::Ordering { items, .. } => items.iter().flat_map(|i| of(&i.1)).collect(),
        StatementKind::Trend { .. } => Vec::new(),
    }
}

fn experiment(table: &Table, at: &Location, folder: &Folder, found: &Findings) -> Option<ExperimentGrid> {
    let f = Fields::new(table, "this experiment", at, found);
    let id = f.required::<String>("id", "\"fig3\"");
    let about = f.required::<String>("about", "\"what it is\"");
    let file = f.required::<String>("scenario", "\"scenario.toml\"");
    let schemes = f.item("schemes").map(|item| texts(item, found)).unwrap_or_default();
    if schemes.is_empty() {
        f.missing("schemes", "[\"pcon\"]");
    }
    let set = f.item("set").map(|item| texts(item, found)).unwrap_or_default();
    let set: Vec<String> = set.into_iter().map(|s| s.0).collect();
    let vary = f.item("vary").map(|item| grid::variations(item, found, &["values"])).unwrap_or_default();
    let scenario_at = f.place("scenario");
    f.finish();
    let (id, about, file) = (id?, about?, file?);
    let text = match folder.text(&file) {
        Ok(text) => text,
        Err(error) => {
            found.error(&scenario_at, format!("{file}: {error}"), "name a scenario file beside published.toml");
            return None;
        }
    };
    let source = Source::from_text(&folder.shown(&file), &text, &folder.base());
    let cases = match source.and_then(|source| grid::cases(&source, &file, &set, grid::combinations(&vary))) {
        Ok(cases) => cases,
        Err(problems) => {
            found.error(at, format!("experiment {id} cannot be run"), "correct its scenario");
            found.add(problems);
            return None;
        }
    };
    let names: Vec<String> = schemes.iter().map(|s| s.0.clone()).collect();
    let mut chosen = Vec::new();
    for case in &cases {
        match choose(&case.scenario, &names) {
            Ok(schemes) => chosen = schemes,
            Err(error) => {
                let place = schemes.first().map_or(at, |s| &s.1);
                found.error(place, error.to_string(), "name schemes of the registry or of the scenario file");
                return None;
            }
        }
    }
    grid::check_count(&id, cases.len(), at, found);
    Some(ExperimentGrid { id, about, cases, schemes: chosen, events: Vec::new() })
}

fn check_ids(entries: &[PublishedEntry], found: &Findings) {
    let mut seen = BTreeSet::new();
    for entry in entries {
        if !seen.insert(&entry.id) {
            found.error(&entry.place, format!("entry \"{}\" is there twice", entry.id), "rename one of the two");
        }
    }
    let orderings =
        || entries.iter().filter(|e| matches!(e.kind, StatementKind::Ordering { .. })).map(|e| e.id.as_str());
    for entry in entries {
        if let StatementKind::Number { ordering: Some(id), .. } = &entry.kind
            && !orderings().any(|o| o == id)
        {
            found.error(&entry.place, format!("there is no ordering \"{id}\""), suggest(id, "orderings", orderings()));
        }
    }
}
