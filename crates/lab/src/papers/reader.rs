//! Reads entries and expressions of `published.toml` and checks them against the experiments.

use super::model::{PublishedEntry, Rule, StatementKind};
use super::trends::Trend;
use crate::evaluation::expr::{Expr, Target, parse};
use crate::evaluation::lists::{numbers, texts};
use crate::evaluation::resolve::ExpressionError;
use crate::evaluation::{ExperimentGrid, Resolver};
use ndnweir_scenario::Location;
use ndnweir_scenario::diag::{Findings, suggest};
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree::{Item, Table, Value};

/// Reads entries and figures against the experiments.
pub(super) struct PublishedReader<'a> {
    pub resolver: &'a Resolver<'a>,
    pub experiments: &'a [ExperimentGrid],
    pub found: &'a Findings,
    /// Whether the paper shows single runs.
    pub single: bool,
}

impl PublishedReader<'_> {
    /// Reports an error, or returns the value.
    pub fn or_report<T>(&self, at: &Location, result: Result<T, ExpressionError>) -> Option<T> {
        result.map_err(|e| self.found.error(at, e.message, e.help)).ok()
    }

    /// The experiment and case of a table.
    pub fn experiment(&self, f: &Fields<'_>) -> Option<(usize, Option<usize>)> {
        let id = f.required::<String>("experiment", "\"fig3\"");
        let case = f.get::<String>("case");
        let experiment = self.or_report(&f.place("experiment"), self.resolver.experiment(&id?))?;
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

    /// Cases are conditions, not seeds: a number belongs to one of them.
    fn one_case(&self, entry: &PublishedEntry, at: &Location) {
        let cases = &self.experiments[entry.experiment].cases;
        if entry.case.is_none() && cases.len() > 1 {
            let help = format!("name one, such as case = \"{}\"; others are readings", cases[0].name);
            let message = format!("{} cases are not seeds of one number", cases.len());
            self.found.error(at, message, help);
        }
    }

    /// Parses and checks an expression.
    pub fn expr(&self, text: &str, at: &Location, experiment: usize) -> Option<Expr> {
        let parsed = parse(text).map_err(|e| ExpressionError::new(e.to_string(), "see docs/reproductions.md"));
        let expr = self.or_report(at, parsed)?;
        self.or_report(at, self.resolver.value(experiment, &expr))?;
        Some(expr)
    }

    /// The schemes that an experiment runs.
    pub fn schemes(&self, item: Option<&Item>, experiment: usize) -> Vec<String> {
        let names = item.map(|item| texts(item, self.found)).unwrap_or_default();
        for (name, at) in &names {
            self.or_report(at, self.resolver.scheme(experiment, name));
        }
        names.into_iter().map(|n| n.0).collect()
    }

    /// The common keys of all entries.
    fn entry(&self, f: &Fields<'_>, kind: StatementKind) -> Option<PublishedEntry> {
        let id = f.required::<String>("id", "\"table1.mice\"");
        let source = f.required::<String>("where", "\"Table 1\"");
        let label = f.required::<String>("label", "\"what is measured\"");
        let unit = f.get("unit").unwrap_or_default();
        let (fitted, note) = (f.get("fitted"), f.get("note").unwrap_or_default());
        let (uncounted, cause) = (f.get("uncounted"), f.get("cause"));
        let (experiment, case) = self.experiment(f)?;
        let (id, source, label, scheme) = (id?, source?, label?, String::new());
        Some(PublishedEntry {
            id,
            reading: None,
            source,
            label,
            experiment,
            case,
            scheme,
            unit,
            fitted,
            uncounted,
            cause,
            note,
            kind,
            place: f.at.clone(),
        })
    }

    pub fn numbers(&self, table: &Table, at: &Location) -> Vec<PublishedEntry> {
        let f = Fields::new(table, "this number", at, self.found);
        let blank = StatementKind::Ordering { items: Vec::new(), rule: Rule::Ascending };
        let base = self.entry(&f, blank);
        let metric = f.required::<String>("metric", "\"goodput_mbps\"");
        let published = f.item("published").map(|item| numbers(item, self.found)).unwrap_or_default();
        if published.is_empty() {
            f.missing("published", "[12.1, 11.5]");
        }
        let upper = f.item("published-to").map(|item| numbers(item, self.found));
        let single = f.get::<bool>("single-run").unwrap_or(self.single);
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
        self.one_case(&base, at);
        let schemes = self.schemes(schemes, base.experiment);
        let Some(metric) = self.expr(&metric, &metric_at, base.experiment) else { return Vec::new() };
        if schemes.len() != published.len() {
            let message = format!("{} schemes and {} published numbers", schemes.len(), published.len());
            self.found.error(&schemes_at, message, "write one number for each scheme, in the same order");
            return Vec::new();
        }
        let to: Vec<f64> = match upper {
            Some(upper) => upper.into_iter().map(|u| u.0).collect(),
            None => published.iter().map(|p| p.0).collect(),
        };
        if to.len() != published.len() || published.iter().zip(&to).any(|(p, to)| *to < p.0) {
            let help = "write published-to with the upper end of each range, in the same order";
            self.found.error(&schemes_at, "published and published-to are not ranges", help);
            return Vec::new();
        }
        let several = schemes.len() > 1;
        let each = |(scheme, ((published, at), to)): (String, ((f64, Location), f64))| {
            let (tolerance, written) = self.tolerance(tolerance, published)?;
            let kind = StatementKind::Number {
                metric: metric.clone(),
                published,
                to,
                single,
                tolerance,
                written,
                reason: reason.clone(),
                ordering: ordering.clone(),
            };
            let id = if several { format!("{}.{scheme}", base.id) } else { base.id.clone() };
            let place = if several { at } else { base.place.clone() };
            Some(PublishedEntry { id, scheme, kind, place, ..base.clone() })
        };
        schemes.into_iter().zip(published.into_iter().zip(to)).filter_map(each).collect()
    }

    /// A tolerance: absolute, in the unit, or a percentage of the published number.
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
            self.found.error(&item.at, "tolerance: this is not a tolerance", "write 0.5 (in the unit) or \"5%\"");
        }
        read
    }

    pub fn ordering(&self, table: &Table, at: &Location) -> Option<PublishedEntry> {
        let f = Fields::new(table, "this ordering", at, self.found);
        let words = [
            ("ascending", Rule::Ascending),
            ("descending", Rule::Descending),
            ("first-smallest", Rule::FirstSmallest),
            ("first-largest", Rule::FirstLargest),
            ("near", Rule::Near(0.0)),
        ];
        let blank = StatementKind::Ordering { items: Vec::new(), rule: Rule::Ascending };
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
                    let target = Target { experiment: None, scheme: Some(scheme.clone()) };
                    (scheme, Expr::At(Box::new(expr.clone()), target))
                };
                self.schemes(schemes, base.experiment).into_iter().map(at).collect()
            }
            (None, Some(items)) => {
                let read = |(text, at): &(String, Location)| {
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
        base.kind = StatementKind::Ordering { items, rule };
        Some(base)
    }

    pub fn trend(&self, table: &Table, at: &Location) -> Option<PublishedEntry> {
        let f = Fields::new(table, "this trend", at, self.found);
        let blank = StatementKind::Ordering { items: Vec::new(), rule: Rule::Ascending };
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
        self.or_report(&scheme_at, self.resolver.scheme(base.experiment, &scheme))?;
        self.or_report(&series_at, self.resolver.series(base.experiment, &series))?;
        self.one_case(&base, at);
        base.scheme = scheme;
        base.kind = StatementKind::Trend { trend: trend?, series, from: from?, to: to? };
        Some(base)
    }
}
