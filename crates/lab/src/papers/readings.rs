//! `[[choice]]`, `[[reading]]` and `[[headline]]` of `published.toml`.
//!
//! A reading changes scenarios (`set`), takes another experiment (`instead`), another scheme (`schemes`) or another case
//! (`cases`) in place of one, or measures otherwise (`metrics`). Every entry that it changes is judged under it once more.

use super::model::{Headline, OpenChoice, PublishedEntry, Reading, StatementKind, named};
use super::reader::PublishedReader;
use super::specs::{ExperimentSpec, derived};
use crate::evaluation::ExperimentGrid;
use crate::evaluation::expr::{Expr, Target};
use crate::evaluation::lists::{tables, texts};
use ndnweir_scenario::Location;
use ndnweir_scenario::diag::{Findings, suggest};
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree::Table;

/// Largest number of readings of a choice beside the literal one: more would find any table.
const MOST: usize = 2;
/// Largest number of lines of the summary.
const MOST_LINES: usize = 10;

/// A reading with what it changes.
pub(super) struct ReadingPlan {
    pub reading: Reading,
    /// Overrides, and the experiments to which they apply.
    set: Vec<String>,
    experiments: Vec<(String, Location)>,
    /// Experiment, and the one that is taken instead.
    instead: Vec<(String, String, Location)>,
    /// Scheme, and the one that runs in its place.
    schemes: Vec<(String, String)>,
    /// Case, and the one that is taken instead.
    cases: Vec<(String, String)>,
    /// Pattern of entries, and what is measured instead.
    metrics: Vec<(String, String, Location)>,
    /// Patterns of the entries that are judged; empty are all that change.
    only: Vec<(String, Location)>,
    at: Location,
}

/// Reads what the paper leaves open.
pub(super) fn choices(root: &Table, found: &Findings) -> Vec<OpenChoice> {
    let one = |(table, at): (&Table, &Location)| {
        let f = Fields::new(table, "this choice", at, found);
        let id = f.required::<String>("id", "\"marks\"");
        let open = f.required::<String>("open", "\"what the paper leaves open\"");
        let literal = f.required::<String>("literal", "\"the literal reading and why it is that\"");
        f.finish();
        Some(OpenChoice { id: id?, open: open?, literal: literal? })
    };
    tables(root, "choice").filter_map(one).collect()
}

/// Texts of the form `A = B`.
fn pairs(f: &Fields<'_>, key: &'static str, found: &Findings) -> Vec<(String, String, Location)> {
    let list = f.item(key).map(|item| texts(item, found)).unwrap_or_default();
    let split = |(text, at): (String, Location)| match text.split_once('=') {
        Some((a, b)) => Some((a.trim().to_owned(), b.trim().to_owned(), at)),
        None => {
            found.error(&at, format!("{key}: \"{text}\" has no ="), "write \"WHAT = WHAT INSTEAD\"");
            None
        }
    };
    list.into_iter().filter_map(split).collect()
}

/// Reads the readings.
pub(super) fn read(root: &Table, choices: &[OpenChoice], found: &Findings) -> Vec<ReadingPlan> {
    let mut plans: Vec<ReadingPlan> = Vec::new();
    for (table, at) in tables(root, "reading") {
        let Some(plan) = one(table, at, choices, found) else { continue };
        if plans.iter().any(|p| p.reading.id == plan.reading.id) || plan.reading.id == "literal" {
            found.error(at, format!("there is another reading \"{}\"", plan.reading.id), "rename one of the two");
        }
        plans.push(plan);
        let same = plans.iter().filter(|p| p.reading.choice == plans[plans.len() - 1].reading.choice).count();
        if same > MOST {
            let help = format!("leave the {MOST} most plausible beside the literal one");
            found.error(at, format!("{same} readings of one choice"), help);
        }
    }
    plans
}

fn one(table: &Table, at: &Location, choices: &[OpenChoice], found: &Findings) -> Option<ReadingPlan> {
    let f = Fields::new(table, "this reading", at, found);
    let id = f.required::<String>("id", "\"nfd\"");
    let choice = f.required::<String>("choice", "\"marks\"");
    let about = f.required::<String>("about", "\"what is read differently\"");
    let why = f.required::<String>("why", "\"why this is plausible\"");
    let fitted = f.item("fitted").map(|item| texts(item, found));
    if fitted.is_none() {
        f.missing("fitted", "[], or the entries that it was chosen on");
    }
    let settings = f.required::<u64>("settings", "1");
    let list = |key| f.item(key).map(|item| texts(item, found)).unwrap_or_default();
    let (set, experiments, only) = (list("set"), list("experiments"), list("entries"));
    let pair = |key| pairs(&f, key, found).into_iter().map(|(a, b, _)| (a, b)).collect::<Vec<_>>();
    let (schemes, cases, metrics) = (pair("schemes"), pair("cases"), pairs(&f, "metrics", found));
    let instead = pairs(&f, "instead", found);
    let known = |choice: &String| {
        let at = choices.iter().position(|c| c.id == *choice);
        if at.is_none() {
            let help = suggest(choice, "choices", choices.iter().map(|c| c.id.as_str()));
            f.error("choice", format!("there is no choice \"{choice}\""), help);
        }
        at
    };
    let choice = choice.as_ref().and_then(known);
    if set.is_empty() != experiments.is_empty() {
        f.error("set", "set needs experiments, and experiments set", "name the experiments that set changes");
    }
    if set.is_empty() && instead.is_empty() && schemes.is_empty() && cases.is_empty() && metrics.is_empty() {
        found.error(at, "this reading changes nothing", "write one of set, instead, schemes, cases, metrics");
    }
    f.finish();
    let fitted = fitted?.into_iter().map(|t| t.0).collect();
    let reading = Reading { id: id?, choice: choice?, about: about?, why: why?, fitted, settings: settings? };
    let set = set.into_iter().map(|s| s.0).collect();
    Some(ReadingPlan { reading, set, experiments, instead, schemes, cases, metrics, only, at: at.clone() })
}

impl ReadingPlan {
    fn scheme<'a>(&'a self, name: &'a str) -> &'a str {
        self.schemes.iter().find(|s| s.0 == name).map_or(name, |s| &s.1)
    }

    /// The experiment that is taken in place of this one; `None` if it stays.
    fn other(&self, experiment: &str) -> Option<String> {
        let instead = || self.instead.iter().find(|i| i.0 == experiment).map(|i| i.1.clone());
        let changed = self.experiments.iter().find(|e| e.0 == experiment);
        changed.map(|e| derived(&e.0, &self.reading.id)).or_else(instead)
    }

    /// The experiments that must be run for this reading.
    pub fn derived(&self, specs: &[ExperimentSpec], found: &Findings) -> Vec<ExperimentSpec> {
        let mut all = Vec::new();
        for (id, at) in &self.experiments {
            let Some(spec) = specs.iter().find(|s| s.id == *id) else {
                let help = suggest(id, "experiments", specs.iter().map(|s| s.id.as_str()));
                found.error(at, format!("there is no experiment \"{id}\""), help);
                continue;
            };
            // The schemes as written and those in their place: entries decide which of them run.
            let mut schemes = spec.schemes.clone();
            for (name, at) in &spec.schemes {
                let other = self.scheme(name);
                if !schemes.iter().any(|s| s.0 == other) {
                    schemes.push((other.to_owned(), at.clone()));
                }
            }
            all.push(spec.under(&self.reading.id, &self.set, schemes, &self.at));
        }
        all
    }

    /// The entries that it changes, as they are judged under it.
    pub fn entries(&self, at: usize, reader: &PublishedReader<'_>, entries: &[PublishedEntry]) -> Vec<PublishedEntry> {
        let literal = entries.iter().filter(|e| e.reading.is_none());
        for (pattern, place) in self.only.iter().map(|p| (&p.0, &p.1)).chain(self.metrics.iter().map(|m| (&m.0, &m.2)))
        {
            if !entries.iter().any(|e| named(pattern, &e.id)) {
                let help = suggest(pattern, "entries", entries.iter().map(|e| e.id.as_str()));
                reader.found.error(place, format!("no entry is called \"{pattern}\""), help);
            }
        }
        let under: Vec<PublishedEntry> = literal
            .filter(|e| self.only.is_empty() || self.only.iter().any(|p| named(&p.0, &e.id)))
            .filter_map(|e| self.entry(at, reader, e))
            .collect();
        if under.is_empty() && reader.found.check().is_ok() {
            reader.found.error(
                &self.at,
                "this reading changes no entry",
                "name experiments, schemes or cases of entries",
            );
        }
        under
    }

    fn entry(&self, at: usize, reader: &PublishedReader<'_>, literal: &PublishedEntry) -> Option<PublishedEntry> {
        let mut entry = PublishedEntry { reading: Some(at), ..literal.clone() };
        let mut changed = false;
        let id = &reader.experiments[literal.experiment].id;
        if let Some(other) = self.other(id) {
            entry.experiment = reader.or_report(&self.at, reader.resolver.experiment(&other))?;
            changed = true;
        }
        if let Some(case) = literal.case {
            let cases = &reader.experiments[literal.experiment].cases;
            if let Some((_, other)) = self.cases.iter().find(|c| c.0 == cases[case].name) {
                entry.case = cases.iter().position(|c| c.name == *other);
                changed |= entry.case.is_some();
            }
        }
        let other = self.scheme(&literal.scheme);
        changed |= other != literal.scheme;
        entry.scheme = other.to_owned();
        let instead = self.metrics.iter().find(|m| named(&m.0, &literal.id));
        let mut map = |expr: &Expr| {
            let (expr, mapped) = match instead {
                Some((_, text, place)) => (reader.expr(text, place, literal.experiment)?, true),
                None => (expr.clone(), false),
            };
            let (expr, more) = self.expr(&expr);
            changed |= mapped || more;
            Some(expr)
        };
        match &mut entry.kind {
            StatementKind::Number { metric, .. } => *metric = map(metric)?,
            // Another metric replaces what is taken at each scheme, or the whole item.
            StatementKind::Ordering { items, .. } => {
                for (label, expr) in items.iter_mut() {
                    *expr = match (&*expr, instead) {
                        (Expr::At(_, target), Some(_)) => {
                            let target = target.clone();
                            let (at, _) = self.expr(&Expr::At(Box::new(map(expr)?), target));
                            at
                        }
                        _ => map(expr)?,
                    };
                    *label = self.scheme(label).to_owned();
                }
            }
            StatementKind::Trend { .. } => {}
        }
        if changed {
            self.check(reader, &entry);
        }
        // What was fitted for the literal reading stays so: another one changes a single choice.
        let fitted = self.reading.fitted.iter().any(|p| named(p, &entry.id));
        entry.fitted = fitted.then(|| format!("reading \"{}\" was chosen on this", self.reading.id)).or(entry.fitted);
        changed.then_some(entry)
    }

    /// Reports schemes that the experiment does not run: they would leave the entry unmeasured.
    fn check(&self, reader: &PublishedReader<'_>, entry: &PublishedEntry) {
        if !entry.scheme.is_empty() {
            reader.or_report(&self.at, reader.resolver.scheme(entry.experiment, &entry.scheme));
        }
        let values: Vec<&Expr> = match &entry.kind {
            StatementKind::Number { metric, .. } => vec![metric],
            StatementKind::Ordering { items, .. } => items.iter().map(|i| &i.1).collect(),
            StatementKind::Trend { .. } => Vec::new(),
        };
        for value in values {
            reader.or_report(&self.at, reader.resolver.value(entry.experiment, value));
        }
    }

    /// An expression under this reading, and whether it differs.
    fn expr(&self, expr: &Expr) -> (Expr, bool) {
        match expr {
            Expr::Call(function, list) => {
                let list: Vec<(Expr, bool)> = list.iter().map(|e| self.expr(e)).collect();
                let changed = list.iter().any(|e| e.1);
                (Expr::Call(*function, list.into_iter().map(|e| e.0).collect()), changed)
            }
            Expr::At(inner, target) => {
                let (inner, mut changed) = self.expr(inner);
                let experiment = target.experiment.as_ref().map(|id| {
                    let other = self.other(id);
                    changed |= other.is_some();
                    other.unwrap_or_else(|| id.clone())
                });
                let scheme = target.scheme.as_ref().map(|name| {
                    changed |= self.scheme(name) != name;
                    self.scheme(name).to_owned()
                });
                (Expr::At(Box::new(inner), Target { experiment, scheme }), changed)
            }
            _ => (expr.clone(), false),
        }
    }
}

/// The schemes that an entry needs of an experiment.
pub(super) fn used(entry: &PublishedEntry, at: usize, experiments: &[ExperimentGrid]) -> Vec<String> {
    fn targets(expr: &Expr, here: bool, id: &str, own: &str, found: &mut Vec<String>) {
        match expr {
            Expr::Call(_, list) => list.iter().for_each(|e| targets(e, here, id, own, found)),
            Expr::At(inner, target) => {
                let there = target.experiment.as_ref().map_or(here, |e| e == id);
                let scheme = target.scheme.as_deref().unwrap_or(own);
                if there && !scheme.is_empty() {
                    found.push(scheme.to_owned());
                }
                targets(inner, there, id, scheme, found);
            }
            _ => {}
        }
    }
    let (id, here) = (&experiments[at].id, entry.experiment == at);
    let mut found = Vec::new();
    if here && !entry.scheme.is_empty() {
        found.push(entry.scheme.clone());
    }
    match &entry.kind {
        StatementKind::Number { metric, .. } => targets(metric, here, id, &entry.scheme, &mut found),
        StatementKind::Ordering { items, .. } => {
            items.iter().for_each(|(_, e)| targets(e, here, id, "", &mut found));
        }
        StatementKind::Trend { .. } => {}
    }
    found
}

/// Reads the summary.
pub(super) fn headlines(root: &Table, entries: &[PublishedEntry], found: &Findings) -> Vec<Headline> {
    let one = |(table, at): (&Table, &Location)| {
        let f = Fields::new(table, "this headline", at, found);
        let claim = f.required::<String>("claim", "\"what the paper claims\"");
        let published = f.required::<String>("published", "\"8.71 s\"");
        let why = f.required::<String>("why", "\"why it comes out so\"");
        let list = f.item("entries").map(|item| texts(item, found)).unwrap_or_default();
        if list.is_empty() {
            f.missing("entries", "[\"table1.mouse.*\"]");
        }
        for (pattern, at) in &list {
            if !entries.iter().any(|e| named(pattern, &e.id)) {
                let help = suggest(pattern, "entries", entries.iter().map(|e| e.id.as_str()));
                found.error(at, format!("no entry is called \"{pattern}\""), help);
            }
        }
        f.finish();
        let entries = list.into_iter().map(|t| t.0).collect();
        Some(Headline { claim: claim?, published: published?, entries, why: why? })
    };
    let all: Vec<Headline> = tables(root, "headline").filter_map(one).collect();
    if let Some((_, at)) = tables(root, "headline").nth(MOST_LINES) {
        found.error(at, format!("{} headlines", all.len()), format!("a summary has at most {MOST_LINES} lines"));
    }
    all
}
