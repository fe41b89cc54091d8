//! Reads `published.toml`; all errors are reported together, with file and line.

use super::library::{Folder, PAGE, PUBLISHED};
use super::model::{Paper, PublishedEntry, StatementKind};
use super::reader::PublishedReader;
use super::specs::ExperimentSpec;
use super::{figures, readings};
use crate::evaluation::expr::Expr;
use crate::evaluation::lists::{tables, texts};
use crate::evaluation::{ExperimentGrid, Resolver, resolve};
use ndnweir_scenario::diag::{Findings, suggest};
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree;
use ndnweir_scenario::{Location, Problems};
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
    let single = f.get::<bool>("single-runs").unwrap_or(false);
    for key in ["experiment", "choice", "reading", "headline", "number", "ordering", "trend", "figure"] {
        f.item(key);
    }
    f.finish();
    let mut specs: Vec<ExperimentSpec> = Vec::new();
    let mut experiments: Vec<ExperimentGrid> = Vec::new();
    for (table, at) in tables(&root, "experiment") {
        let Some(spec) = ExperimentSpec::read(table, at, &found) else { continue };
        if specs.iter().any(|e| e.id == spec.id) {
            found.error(at, format!("experiment \"{}\" is there twice", spec.id), "rename one of the two");
        }
        experiments.extend(spec.grid(folder, &found));
        specs.push(spec);
    }
    let choices = readings::choices(&root, &found);
    let plans = readings::read(&root, &choices, &found);
    // Without the experiments, all later errors would only be consequences.
    found.check()?;
    let literal = specs.len();
    for plan in &plans {
        for spec in plan.derived(&specs[..literal], &found) {
            experiments.extend(spec.grid(folder, &found));
            specs.push(spec);
        }
    }
    found.check()?;
    let resolver = Resolver::new(&experiments);
    let reader = PublishedReader { resolver: &resolver, experiments: &experiments, found: &found, single };
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
    for (i, plan) in plans.iter().enumerate() {
        let under = plan.entries(i, &reader, &entries);
        entries.extend(under);
    }
    let headlines = readings::headlines(&root, &entries, &found);
    let drawn: Vec<_> = tables(&root, "figure").filter_map(|(t, at)| figures::read(&reader, t, at)).collect();
    let page = match folder.text(PAGE) {
        Ok(page) => page,
        Err(error) => {
            found.error(&Location::whole(&folder.shown(PAGE)), error.to_string(), "every paper has a page");
            String::new()
        }
    };
    found.check()?;
    // A derived experiment runs only what its entries compare.
    for at in literal..experiments.len() {
        let used: BTreeSet<String> = entries.iter().flat_map(|e| readings::used(e, at, &experiments)).collect();
        experiments[at].schemes.retain(|s| used.contains(&s.name));
    }
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
    let repeats = specs.iter().map(|s| s.repeat).collect();
    let readings = plans.into_iter().map(|p| p.reading).collect();
    Ok(Paper {
        name: folder.name(),
        title,
        citation,
        summary,
        experiments,
        repeats,
        choices,
        readings,
        entries,
        headlines,
        figures: drawn,
        references,
        page,
    })
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
