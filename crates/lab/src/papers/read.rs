//! `published.toml`: everything wrong with it is reported at once, with file and line.

use super::expr::{Expr, parse};
use super::library::{Folder, PAGE, PUBLISHED};
use super::model::{Case, Entry, Experiment, Kind, Paper, Rule};
use super::resolve::Resolver;
use super::trends::Trend;
use super::{figures, resolve};
use crate::experiment::{choose, scheme_check};
use crate::scenario::diag::{Findings, suggest};
use crate::scenario::fields::Fields;
use crate::scenario::tree::{self, Item, Table, Value};
use crate::scenario::{Place, Problems, Source, apply_overrides};
use std::collections::BTreeSet;

/// Cases of one experiment; more would not finish.
const MAX_CASES: usize = 64;

/// Reads and checks a paper.
///
/// # Errors
/// Everything that is wrong with its files.
pub fn paper(folder: &Folder) -> Result<Paper, Problems> {
    let shown = folder.shown(PUBLISHED);
    let text = folder.text(PUBLISHED).map_err(|e| Problems::one(Place::whole(&shown), e, "write the file"))?;
    let root = tree::parse(&shown, &text)?;
    let found = Findings::default();
    let whole = Place::at(&shown.as_str().into(), 1, 1);
    let f = Fields::new(&root, "the file", &whole, &found);
    let title = f.required("title", "\"the paper's title\"").unwrap_or_default();
    let citation = f.required("citation", "\"authors, venue, year\"").unwrap_or_default();
    let summary = f.required("summary", "\"one line\"").unwrap_or_default();
    let references = f.item("references").map(|item| texts(item, &found)).unwrap_or_default();
    for key in ["experiment", "number", "ordering", "trend", "figure"] {
        f.item(key);
    }
    f.finish();
    let mut experiments: Vec<Experiment> = Vec::new();
    for (table, at) in tables(&root, "experiment") {
        let made = experiment(table, at, folder, &found);
        if let Some(made) = made {
            if experiments.iter().any(|e| e.id == made.id) {
                found.error(at, format!("experiment \"{}\" is there twice", made.id), "rename one of the two");
            }
            experiments.push(made);
        }
    }
    // Without its experiments everything below would only say that they are missing.
    found.check()?;
    let resolver = Resolver::new(&experiments);
    let reader = Reader { resolver: &resolver, experiments: &experiments, found: &found };
    for (id, at) in &references {
        reader.wrong(at, resolver.experiment(id));
    }
    let mut entries: Vec<Entry> = Vec::new();
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
            found.error(&Place::whole(&folder.shown(PAGE)), error, "every paper has a page");
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

/// The event keys an entry needs, with the experiments that must record them.
fn event_keys(entry: &Entry, experiments: &[Experiment]) -> Vec<(usize, String)> {
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
        Kind::Number { metric, .. } => of(metric),
        Kind::Ordering { items, .. } => items.iter().flat_map(|i| of(&i.1)).collect(),
        Kind::Trend { .. } => Vec::new(),
    }
}

/// The tables of a list of tables, with their places; what is no table was reported by the syntax.
pub(super) fn tables<'a>(root: &'a Table, key: &str) -> impl Iterator<Item = (&'a Table, &'a Place)> {
    root.list(key).iter().filter_map(|item| Some((item.as_table()?, &item.at)))
}

/// The texts of a list, or the one text.
pub(super) fn texts(item: &Item, found: &Findings) -> Vec<(String, Place)> {
    let one = |item: &Item| match item.as_text() {
        Some(text) => Some((text.to_owned(), item.at.clone())),
        None => {
            found.error(&item.at, format!("expected a text, found {}", item.kind()), "write it in quotes");
            None
        }
    };
    match &item.value {
        Value::List(items) => items.iter().filter_map(one).collect(),
        _ => one(item).into_iter().collect(),
    }
}

fn numbers(item: &Item, found: &Findings) -> Vec<(f64, Place)> {
    let one = |item: &Item| match item.value {
        Value::Int(n) => Some((n as f64, item.at.clone())),
        Value::Float(x) if x.is_finite() => Some((x, item.at.clone())),
        _ => {
            found.error(&item.at, format!("expected a number, found {}", item.kind()), "write a plain number");
            None
        }
    };
    match &item.value {
        Value::List(items) => items.iter().filter_map(one).collect(),
        _ => one(item).into_iter().collect(),
    }
}

fn experiment(table: &Table, at: &Place, folder: &Folder, found: &Findings) -> Option<Experiment> {
    let f = Fields::new(table, "this experiment", at, found);
    let id = f.required::<String>("id", "\"fig3\"");
    let about = f.required::<String>("about", "\"what it is\"");
    let file = f.required::<String>("scenario", "\"scenario.toml\"");
    let schemes = f.item("schemes").map(|item| texts(item, found)).unwrap_or_default();
    if schemes.is_empty() {
        f.missing("schemes", "[\"pcon\"]");
    }
    let set = f.item("set").map(|item| texts(item, found)).unwrap_or_default();
    let vary = f.item("vary").map(|item| vary(item, found)).unwrap_or_default();
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
    let mut cases = Vec::new();
    let mut chosen = Vec::new();
    for (name, more) in combinations(&vary) {
        let overrides: Vec<&str> = set.iter().map(|s| s.0.as_str()).chain(more.iter().map(String::as_str)).collect();
        let load = || {
            let mut source = Source::from_text(&folder.shown(&file), &text, &folder.base())?;
            apply_overrides(&mut source, &overrides)?;
            source.validate(&scheme_check)
        };
        match load() {
            Ok(scenario) => {
                let names: Vec<String> = schemes.iter().map(|s| s.0.clone()).collect();
                match choose(&scenario, &names) {
                    Ok(schemes) => chosen = schemes,
                    Err(error) => {
                        found.error(&schemes[0].1, error, "name schemes of the registry or of the scenario file");
                        return None;
                    }
                }
                cases.push(Case { name, scenario });
            }
            Err(problems) => {
                found.error(at, format!("experiment {id} cannot be run"), "mend what is said of its scenario");
                found.add(problems);
                return None;
            }
        }
    }
    if cases.len() > MAX_CASES {
        found.error(at, format!("experiment {id} has {} cases", cases.len()), format!("at most {MAX_CASES}"));
    }
    Some(Experiment { id, about, cases, schemes: chosen, events: Vec::new() })
}

/// Keys that change together, and the values they take.
struct Vary {
    keys: Vec<String>,
    values: Vec<String>,
}

fn vary(item: &Item, found: &Findings) -> Vec<Vary> {
    let Value::List(items) = &item.value else {
        found.error(
            &item.at,
            "vary is no list of tables",
            "write vary = [{ key = \"link.A-B.queue\", values = [\"100 packets\"] }]",
        );
        return Vec::new();
    };
    let one = |item: &Item| {
        let table = item.as_table()?;
        let f = Fields::new(table, "vary", &item.at, found);
        let keys = f.item("key").map(|item| texts(item, found)).unwrap_or_default();
        let values = f.item("values").map(|item| texts(item, found)).unwrap_or_default();
        if keys.is_empty() {
            f.missing("key", "\"link.A-B.queue\"");
        }
        if values.is_empty() {
            f.missing("values", "[\"100 packets\", \"200 packets\"]");
        }
        f.finish();
        let plain = |list: Vec<(String, Place)>| list.into_iter().map(|x| x.0).collect();
        Some(Vary { keys: plain(keys), values: plain(values) })
    };
    items.iter().filter_map(one).collect()
}

/// Names and overrides of every combination; one without either if nothing varies.
fn combinations(vary: &[Vary]) -> Vec<(String, Vec<String>)> {
    let mut all = vec![(String::new(), Vec::new())];
    for v in vary {
        all = (all.iter())
            .flat_map(|(name, set)| {
                v.values.iter().map(move |value| {
                    let name = if name.is_empty() { value.clone() } else { format!("{name}, {value}") };
                    let more = v.keys.iter().map(|key| format!("{key}={value}"));
                    (name, set.iter().cloned().chain(more).collect())
                })
            })
            .collect();
    }
    all
}

fn check_ids(entries: &[Entry], found: &Findings) {
    let mut seen = BTreeSet::new();
    for entry in entries {
        if !seen.insert(&entry.id) {
            found.error(&entry.place, format!("entry \"{}\" is there twice", entry.id), "rename one of the two");
        }
    }
    let orderings = || entries.iter().filter(|e| matches!(e.kind, Kind::Ordering { .. })).map(|e| e.id.as_str());
    for entry in entries {
        if let Kind::Number { ordering: Some(id), .. } = &entry.kind
            && !orderings().any(|o| o == id)
        {
            found.error(&entry.place, format!("there is no ordering \"{id}\""), suggest(id, "orderings", orderings()));
        }
    }
}

/// Reads entries and figures against the experiments.
pub(super) struct Reader<'a> {
    pub resolver: &'a Resolver<'a>,
    pub experiments: &'a [Experiment],
    pub found: &'a Findings,
}

impl Reader<'_> {
    /// Reports what is wrong and gives what is right.
    pub fn wrong<T>(&self, at: &Place, result: Result<T, (String, String)>) -> Option<T> {
        result.map_err(|(message, help)| self.found.error(at, message, help)).ok()
    }

    /// The experiment and case of a table.
    pub fn experiment(&self, f: &Fields<'_>) -> Option<(usize, Option<usize>)> {
        let id = f.required::<String>("experiment", "\"fig3\"");
        let case = f.get::<String>("case");
        let experiment = self.wrong(&f.place("experiment"), self.resolver.experiment(&id?))?;
        let Some(case) = case else { return Some((experiment, None)) };
        let names = || self.experiments[experiment].cases.iter().map(|c| c.name.as_str());
        match names().position(|n| n == case) {
            Some(case) => Some((experiment, Some(case))),
            None => {
                f.error("case", format!("there is no case \"{case}\""), suggest(&case, "cases", names()));
                None
            }
        }
    }

    /// An expression, checked.
    pub fn expr(&self, text: &str, at: &Place, experiment: usize) -> Option<Expr> {
        let expr = self.wrong(at, parse(text).map_err(|e| (e, "see docs/reproductions.md".to_owned())))?;
        self.wrong(at, self.resolver.value(experiment, &expr))?;
        Some(expr)
    }

    /// Schemes that an experiment runs.
    pub fn schemes(&self, item: Option<&Item>, experiment: usize) -> Vec<String> {
        let names = item.map(|item| texts(item, self.found)).unwrap_or_default();
        for (name, at) in &names {
            self.wrong(at, self.resolver.scheme(experiment, name));
        }
        names.into_iter().map(|n| n.0).collect()
    }

    /// What all entries have.
    fn entry(&self, f: &Fields<'_>, kind: Kind) -> Option<Entry> {
        let id = f.required::<String>("id", "\"table1.mice\"");
        let source = f.required::<String>("where", "\"Table 1\"");
        let label = f.required::<String>("label", "\"what is measured\"");
        let unit = f.get("unit").unwrap_or_default();
        let (fitted, note) = (f.get("fitted"), f.get("note").unwrap_or_default());
        let (experiment, case) = self.experiment(f)?;
        let (id, source, label, scheme) = (id?, source?, label?, String::new());
        Some(Entry { id, source, label, experiment, case, scheme, unit, fitted, note, kind, place: f.at.clone() })
    }

    fn numbers(&self, table: &Table, at: &Place) -> Vec<Entry> {
        let f = Fields::new(table, "this number", at, self.found);
        let blank = Kind::Ordering { items: Vec::new(), rule: Rule::Ascending };
        let base = self.entry(&f, blank);
        let metric = f.required::<String>("metric", "\"goodput_mbps\"");
        let published = f.item("published").map(|item| numbers(item, self.found)).unwrap_or_default();
        if published.is_empty() {
            f.missing("published", "[12.1, 11.5]");
        }
        let tolerance = f.item("tolerance");
        if tolerance.is_none() {
            f.missing("tolerance", "\"5%\"");
        }
        let reason = f.required::<String>("reason", "\"why this tolerance\"");
        let ordering = f.get::<String>("ordering");
        let schemes = f.item("schemes");
        if schemes.is_none() {
            f.missing("schemes", "[\"pcon\"]");
        }
        let (metric_at, schemes_at) = (f.place("metric"), f.place("schemes"));
        f.finish();
        let (Some(base), Some(metric), Some(reason), Some(tolerance)) = (base, metric, reason, tolerance) else {
            return Vec::new();
        };
        let schemes = self.schemes(schemes, base.experiment);
        let Some(metric) = self.expr(&metric, &metric_at, base.experiment) else { return Vec::new() };
        if schemes.len() != published.len() {
            let message = format!("{} schemes and {} published numbers", schemes.len(), published.len());
            self.found.error(&schemes_at, message, "write one number for each scheme, in the same order");
            return Vec::new();
        }
        let several = schemes.len() > 1;
        let each = |(scheme, (published, at)): (String, (f64, Place))| {
            let (tolerance, written) = self.tolerance(tolerance, published)?;
            let kind = Kind::Number {
                metric: metric.clone(),
                published,
                tolerance,
                written,
                reason: reason.clone(),
                ordering: ordering.clone(),
            };
            let id = if several { format!("{}.{scheme}", base.id) } else { base.id.clone() };
            let place = if several { at } else { base.place.clone() };
            Some(Entry { id, scheme, kind, place, ..base.clone() })
        };
        schemes.into_iter().zip(published).filter_map(each).collect()
    }

    /// Absolute, in the unit, or a percentage of the published number.
    fn tolerance(&self, item: &Item, published: f64) -> Option<(f64, String)> {
        let read = match &item.value {
            Value::Int(n) => Some((*n as f64, format!("±{n}"))),
            Value::Float(x) => Some((*x, format!("±{x}"))),
            Value::Text(text) => {
                let percent = text.strip_suffix('%').and_then(|p| p.trim().parse::<f64>().ok());
                percent.map(|p| (published.abs() * p / 100.0, format!("±{p} %")))
            }
            _ => None,
        };
        let read = read.filter(|r| r.0.is_finite() && r.0 >= 0.0);
        if read.is_none() {
            self.found.error(&item.at, "tolerance: this is no tolerance", "write 0.5 (in the unit) or \"5%\"");
        }
        read
    }

    fn ordering(&self, table: &Table, at: &Place) -> Option<Entry> {
        let f = Fields::new(table, "this ordering", at, self.found);
        let words = [
            ("ascending", Rule::Ascending),
            ("descending", Rule::Descending),
            ("first-smallest", Rule::FirstSmallest),
            ("first-largest", Rule::FirstLargest),
            ("near", Rule::Near(0.0)),
        ];
        let blank = Kind::Ordering { items: Vec::new(), rule: Rule::Ascending };
        let base = self.entry(&f, blank);
        let rule = f.word("rule", &words);
        let within = f.get::<f64>("within");
        let metric = f.get::<String>("metric");
        let (schemes, items) = (f.item("schemes"), f.item("items").map(|item| texts(item, self.found)));
        let metric_at = f.place("metric");
        if rule.is_none() {
            f.missing("rule", "\"ascending\"");
        }
        if matches!(rule, Some(Rule::Near(_))) != within.is_some() {
            f.error("rule", "within belongs to rule \"near\"", "write rule = \"near\" and within = 0.1, or neither");
        }
        f.finish();
        let (mut base, rule) = (base?, rule?);
        let rule = within.map_or(rule, Rule::Near);
        let items: Vec<(String, Expr)> = match (metric, items) {
            (Some(metric), None) => {
                let expr = self.expr(&metric, &metric_at, base.experiment)?;
                let at = |scheme: String| {
                    let target = super::expr::Target { experiment: None, scheme: scheme.clone() };
                    (scheme, Expr::At(Box::new(expr.clone()), target))
                };
                self.schemes(schemes, base.experiment).into_iter().map(at).collect()
            }
            (None, Some(items)) => {
                let read = |(text, at): &(String, Place)| {
                    let (label, text) = text.split_once('=').map_or((text.as_str(), text.as_str()), |(l, t)| (l, t));
                    Some((label.trim().to_owned(), self.expr(text.trim(), at, base.experiment)?))
                };
                items.iter().filter_map(read).collect()
            }
            _ => {
                self.found.error(
                    at,
                    "this ordering has not one of: metric with schemes, items",
                    "write metric and schemes, or items",
                );
                return None;
            }
        };
        if items.len() < 2 {
            self.found.error(at, "there is nothing to order", "name two or more");
            return None;
        }
        base.kind = Kind::Ordering { items, rule };
        Some(base)
    }

    fn trend(&self, table: &Table, at: &Place) -> Option<Entry> {
        let f = Fields::new(table, "this trend", at, self.found);
        let blank = Kind::Ordering { items: Vec::new(), rule: Rule::Ascending };
        let base = self.entry(&f, blank);
        let scheme = f.required::<String>("scheme", "\"pcon\"");
        let series = f.required::<String>("series", "\"consumers.C1.goodput_mbps\"");
        let trend = f.word("check", &Trend::ALL);
        let (from, to) = (f.required::<f64>("from", "0"), f.required::<f64>("to", "50"));
        let (scheme_at, series_at) = (f.place("scheme"), f.place("series"));
        if trend.is_none() {
            f.missing("check", "\"periodic-dips\"");
        }
        f.finish();
        let (mut base, series, scheme) = (base?, series?, scheme?);
        self.wrong(&scheme_at, self.resolver.scheme(base.experiment, &scheme))?;
        self.wrong(&series_at, self.resolver.series(base.experiment, &series))?;
        base.scheme = scheme;
        base.kind = Kind::Trend { trend: trend?, series, from: from?, to: to? };
        Some(base)
    }
}
