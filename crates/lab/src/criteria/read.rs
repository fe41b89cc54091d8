//! Reads `judge/<criterion>.toml`; all errors are reported together, with file and line.

use super::drawn;
use super::folder::{Folder, SCENARIOS};
use super::model::{Better, Combine, Criterion, Depth, Measure, NotApplicable, Strength};
use crate::evaluation::expr::{Expr, parse};
use crate::evaluation::grid::{Combination, cases, check_count, combinations, variations};
use crate::evaluation::lists::{tables, texts};
use crate::evaluation::resolve::ExpressionError;
use crate::evaluation::{ExperimentGrid, Resolver};
use ndnweir_core::registry::Family;
use ndnweir_scenario as scenario;
use ndnweir_scenario::diag::{Findings, suggest};
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree::{self, Table};
use ndnweir_scenario::{Location, Problems, Source};
use std::collections::BTreeSet;

/// The options for reading criteria.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Deeper cells are left out.
    pub depth: Depth,
    /// The seed that networks are drawn from; without a seed, criteria that draw networks are left out.
    pub held_out: Option<u64>,
    /// Overrides of schemes in the syntax of `--set`, for all scenarios.
    pub set: Vec<String>,
}

/// Keys of varied values, by depth.
const TIERS: [&str; 3] = ["values", "more", "full"];
/// Maximum number of networks that one experiment draws.
const MAX_DRAWS: u64 = 64;

/// Reads and checks the criteria named in `only`, or all if it is empty, in the order of their sections.
///
/// # Errors
/// All errors in their files; names in `only` that do not exist.
pub fn read_all(folder: &Folder, only: &[String], options: &ReadOptions) -> Result<Vec<Criterion>, Problems> {
    let found = Findings::default();
    let names = folder.names().unwrap_or_default();
    for name in only.iter().filter(|name| !names.contains(name)) {
        let help = suggest(name, "criteria", names.iter().map(String::as_str));
        found.error(&Location::whole(&format!("--only {name}")), format!("there is no criterion \"{name}\""), help);
    }
    let mut all = Vec::new();
    for name in names.iter().filter(|name| only.is_empty() || only.contains(name)) {
        match read(folder, name, options) {
            Ok(criterion) => all.extend(criterion),
            Err(problems) => found.add(problems),
        }
    }
    found.check()?;
    let number = |section: &str| -> Vec<u32> { section.split('.').map(|n| n.parse().unwrap_or(u32::MAX)).collect() };
    all.sort_by(|a: &Criterion, b| {
        (number(&a.section), &a.section, &a.name).cmp(&(number(&b.section), &b.section, &b.name))
    });
    Ok(all)
}

/// Reads and checks a criterion; `None` if it draws networks and there is no seed.
///
/// # Errors
/// All errors in its file.
pub fn read(folder: &Folder, name: &str, options: &ReadOptions) -> Result<Option<Criterion>, Problems> {
    let file = format!("{name}.toml");
    let shown = folder.shown(&file);
    let text =
        folder.text(&file).map_err(|e| Problems::one(Location::whole(&shown), e.to_string(), "write the file"))?;
    let root = tree::parse(&shown, &text)?;
    let found = Findings::default();
    let whole = Location::at(&shown.as_str().into(), 1, 1);
    let f = Fields::new(&root, "the file", &whole, &found);
    let title = f.required("title", "\"Bufferbloat\"").unwrap_or_default();
    let section = f.required("section", "\"5.1.2\"").unwrap_or_default();
    let strength = f.word("strength", &Strength::ALL);
    if f.item("strength").is_none() {
        f.missing("strength", "\"MUST\"");
    }
    let question = f.required("question", "\"the question, in one sentence\"").unwrap_or_default();
    for key in ["experiment", "measure", "not-applicable"] {
        f.item(key);
    }
    f.finish();
    let mut reader = Reader { folder, options, found: &found, files: Vec::new() };
    let read: Vec<Drafted> =
        tables(&root, "experiment").filter_map(|(table, at)| reader.experiment(table, at)).collect();
    let files = std::mem::take(&mut reader.files);
    if tables(&root, "experiment").next().is_none() {
        found.error(&whole, "this criterion has no experiment", "add [[experiment]] with what is run");
    }
    unique(read.iter().map(|e| (e.grid.id.as_str(), &e.at)), "experiment", &found);
    let exceptions = tables(&root, "not-applicable").filter_map(|(t, at)| exception(t, at, &found)).collect();
    // Without the experiments, all later errors would only be consequences.
    found.check()?;
    let draws = read.iter().any(|e| e.draws);
    let (mut grids, tiers): (Vec<ExperimentGrid>, Vec<Vec<Depth>>) =
        read.into_iter().map(|e| (e.grid, e.depths)).unzip();
    let mut measures: Vec<Measure> = {
        let resolver = Resolver::with_limits(&grids);
        let one = |(table, at)| measure(table, at, &resolver, &grids, &found);
        tables(&root, "measure").filter_map(one).collect()
    };
    if measures.is_empty() {
        found.error(&whole, "this criterion has no measure", "add [[measure]] with what is looked at");
    }
    unique(measures.iter().map(|m| (m.id.as_str(), &m.place)), "measure", &found);
    found.check()?;
    if draws && options.held_out.is_none() {
        return Ok(None);
    }
    // After all checks, cases that are deeper than requested are left out.
    for (grid, depths) in grids.iter_mut().zip(&tiers) {
        let mut depths = depths.iter();
        grid.cases.retain(|_| depths.next().is_some_and(|d| *d <= options.depth));
    }
    measures.retain(|m| m.experiments.iter().any(|e| !grids[*e].cases.is_empty()));
    let used: BTreeSet<&String> = grids.iter().flat_map(|g| &g.cases).map(|c| &c.file).collect();
    let files = files.into_iter().filter(|(name, _)| used.contains(name)).collect();
    let strength = strength.unwrap_or(Strength::None);
    let name = name.to_owned();
    Ok(Some(Criterion { name, title, section, strength, question, experiments: grids, files, measures, exceptions }))
}

/// An experiment with all its cases, and their depths.
struct Drafted {
    grid: ExperimentGrid,
    depths: Vec<Depth>,
    draws: bool,
    at: Location,
}

struct Reader<'a> {
    folder: &'a Folder,
    options: &'a ReadOptions,
    found: &'a Findings,
    files: Vec<(String, String)>,
}

impl Reader<'_> {
    fn experiment(&mut self, table: &Table, at: &Location) -> Option<Drafted> {
        let f = Fields::new(table, "this experiment", at, self.found);
        let id = f.required::<String>("id", "\"one\"");
        let about = f.required::<String>("about", "\"what it is\"");
        let (file, draw) = (f.get::<String>("scenario"), f.word("draw", &drawn::Kind::ALL));
        let draws = f.get::<u64>("draws");
        if f.item("scenario").is_some() == f.item("draw").is_some() {
            let help = "write scenario = \"FILE.toml\" with what is run, or draw = \"dumbbell\" and draws = 4";
            self.found.error(at, "this experiment has not one of: scenario, draw", help);
        }
        if f.item("draw").is_some() && !draws.is_some_and(|n| (1..=MAX_DRAWS).contains(&n)) {
            f.error("draws", "draws: how many networks?", format!("write a number from 1 to {MAX_DRAWS}"));
        }
        let set = f.item("set").map(|item| texts(item, self.found)).unwrap_or_default();
        let set: Vec<String> = set.into_iter().map(|s| s.0).chain(self.options.set.iter().cloned()).collect();
        let vary = f.item("vary").map(|item| variations(item, self.found, &TIERS)).unwrap_or_default();
        let least = f.word("depth", &Depth::ALL).unwrap_or(Depth::Quick);
        let place = f.place("scenario");
        f.finish();
        let (id, about) = (id?, about?);
        let grid = combinations(&vary);
        let depth = |c: &Combination| least.max(Depth::ALL[c.tier].1);
        let depths: Vec<Depth> = grid.iter().map(depth).collect();
        let (cases, depths) = match (file, draw) {
            (Some(file), None) => {
                let (name, source) = self.source(&file, &place)?;
                (cases(&source, &name, &set, grid), depths)
            }
            (None, Some(kind)) => {
                let (mut all, mut own) = (Vec::new(), Vec::new());
                for number in 1..=draws?.min(MAX_DRAWS) {
                    let seed = self.options.held_out.unwrap_or(1);
                    let name = format!("{}-{seed}-{number}.toml", kind.text());
                    let text = drawn::scenario(kind, seed, number);
                    let label = format!("{} {number} of {seed}", kind.text());
                    let made = Source::from_text(&name, &text, &self.folder.base())
                        .and_then(|source| cases(&source, &name, &set, grid.clone()));
                    self.files.push((name, text));
                    match made {
                        Ok(made) => all.extend(made.into_iter().map(|mut case| {
                            case.name =
                                if case.name.is_empty() { label.clone() } else { format!("{label}, {}", case.name) };
                            case
                        })),
                        Err(problems) => {
                            self.found.add(problems);
                            return None;
                        }
                    }
                    own.extend(depths.iter().copied());
                }
                (Ok(all), own)
            }
            _ => return None,
        };
        let cases = match cases {
            Ok(cases) => cases,
            Err(problems) => {
                // What the command line changes is wrong everywhere, and says itself where.
                let asked = |place: &Location| {
                    self.options.set.iter().any(|set| place.source.strip_prefix("--set ") == Some(set))
                };
                if !problems.list.iter().all(|problem| asked(&problem.place)) {
                    self.found.error(at, format!("experiment {id} cannot be run"), "correct its scenario");
                }
                self.found.add(problems);
                return None;
            }
        };
        check_count(&id, cases.len(), at, self.found);
        let grid = ExperimentGrid { id, about, cases, schemes: Vec::new(), events: Vec::new() };
        Some(Drafted { grid, depths, draws: draw.is_some(), at: at.clone() })
    }

    /// Reads a scenario file of the criteria, or a shipped scenario; returns the name that cases use.
    fn source(&mut self, file: &str, at: &Location) -> Option<(String, Source)> {
        if !file.ends_with(".toml") {
            return match scenario::shipped().iter().any(|s| s.name == file).then(|| scenario::find(file)) {
                Some(Ok(source)) => Some((file.to_owned(), source)),
                _ => {
                    let names = scenario::shipped().iter().map(|s| s.name);
                    let help =
                        format!("{}; or name a file of the folder {SCENARIOS}", suggest(file, "scenarios", names));
                    self.found.error(at, format!("no shipped scenario is called \"{file}\""), help);
                    None
                }
            };
        }
        let path = format!("{SCENARIOS}/{file}");
        let read = self.folder.text(&path).map_err(|error| {
            let help = format!("name a file of the folder {SCENARIOS} beside the criteria");
            Problems::one(at.clone(), format!("{path}: {error}"), help)
        });
        let made = read.and_then(|text| {
            let source = Source::from_text(&self.folder.shown(&path), &text, &self.folder.base())?;
            self.files.push((file.to_owned(), text));
            Ok(source)
        });
        match made {
            Ok(source) => Some((file.to_owned(), source)),
            Err(problems) => {
                self.found.add(problems);
                None
            }
        }
    }
}

fn unique<'a>(ids: impl Iterator<Item = (&'a str, &'a Location)>, what: &str, found: &Findings) {
    let mut seen = BTreeSet::new();
    for (id, at) in ids {
        if !seen.insert(id) {
            found.error(at, format!("{what} \"{id}\" is there twice"), "rename one of the two");
        }
    }
}

fn exception(table: &Table, at: &Location, found: &Findings) -> Option<NotApplicable> {
    let f = Fields::new(table, "not-applicable", at, found);
    let families = Family::ALL.map(|family| (family.key(), family));
    let family = f.word("family", &families);
    let components = f.item("components").map(|item| texts(item, found)).unwrap_or_default();
    let reason = f.required::<String>("reason", "\"why\"");
    if f.item("family").is_none() {
        f.missing("family", "\"strategy\"");
    }
    if components.is_empty() {
        f.missing("components", "[\"best-route\"]");
    }
    f.finish();
    let (family, reason) = (family?, reason?);
    for (name, at) in &components {
        let known = || family.components().iter().map(|info| info.name);
        if !known().any(|k| k == name) {
            found.error(at, format!("there is no {} \"{name}\"", family.key()), suggest(name, "components", known()));
        }
    }
    Some(NotApplicable { family, components: components.into_iter().map(|c| c.0).collect(), reason })
}

fn measure(
    table: &Table,
    at: &Location,
    resolver: &Resolver<'_>,
    grids: &[ExperimentGrid],
    found: &Findings,
) -> Option<Measure> {
    let f = Fields::new(table, "this measure", at, found);
    let id = f.required::<String>("id", "\"queue\"");
    let label = f.required::<String>("label", "\"what is measured\"");
    let unit = f.get("unit").unwrap_or_default();
    let experiments = f.item("experiment").map(|item| texts(item, found)).unwrap_or_default();
    if experiments.is_empty() {
        f.missing("experiment", "\"one\"");
    }
    let metric = f.required::<String>("metric", "\"attained\"");
    let limit = f.required::<String>("limit", "\"1\"");
    let limit_label = f.required::<String>("limit-label", "\"the optimum\"");
    let better = f.word("better", &[("less", Better::Less), ("more", Better::More)]);
    if f.item("better").is_none() {
        f.missing("better", "\"more\"");
    }
    let (pass, weak) = (f.required::<f64>("pass", "0.9"), f.required::<f64>("weak", "0.7"));
    let combine = f.word("combine", &[("worst", Combine::Worst), ("median", Combine::Median)]);
    let reason = f.required::<String>("reason", "\"why these thresholds\"");
    let (metric_at, limit_at) = (f.place("metric"), f.place("limit"));
    if let (Some(better), Some(pass), Some(weak)) = (better, pass, weak) {
        let ordered = if better == Better::Less { pass < weak } else { pass > weak };
        if !ordered {
            let help = "a pass requires more than weak: with better = \"less\" it is the smaller threshold";
            f.error("weak", "pass and weak are in the wrong order", help);
        }
    }
    f.finish();
    let place =
        |(id, at): &(String, Location)| resolver.experiment(id).map_err(|e| found.error(at, e.message, e.help)).ok();
    let experiments: Vec<usize> = experiments.iter().map(place).collect::<Option<_>>()?;
    let expr = |text: &str, at: &Location| {
        let parsed = parse(text).map_err(|e| ExpressionError::new(e.to_string(), "see docs/criteria-format.md"));
        let checked = parsed.and_then(|expr| {
            let expr = elsewhere(expr);
            for e in &experiments {
                resolver.value(*e, &expr)?;
                same_cases(&expr, *e, grids)?;
            }
            Ok(expr)
        });
        checked.map_err(|e| found.error(at, e.message, e.help)).ok()
    };
    let (metric, limit) = (expr(&metric?, &metric_at), expr(&limit?, &limit_at));
    Some(Measure {
        id: id?,
        label: label?,
        unit,
        experiments,
        metric: metric?,
        limit: limit?,
        limit_label: limit_label?,
        better: better?,
        pass: pass?,
        weak: weak?,
        combine: combine.unwrap_or(Combine::Worst),
        reason: reason?,
        place: at.clone(),
    })
}

/// Criteria name no schemes, so that `@X` is the same scheme in experiment X.
fn elsewhere(expr: Expr) -> Expr {
    match expr {
        Expr::At(inner, mut target) => {
            if target.experiment.is_none() {
                target.experiment = target.scheme.take();
            }
            Expr::At(Box::new(elsewhere(*inner)), target)
        }
        Expr::Call(function, arguments) => Expr::Call(function, arguments.into_iter().map(elsewhere).collect()),
        other => other,
    }
}

/// Checks that values from another experiment come from the case at the same position.
fn same_cases(expr: &Expr, from: usize, grids: &[ExperimentGrid]) -> Result<(), ExpressionError> {
    match expr {
        Expr::At(inner, target) => {
            let there = target.experiment.as_ref().and_then(|id| grids.iter().position(|g| g.id == *id));
            let there = there.unwrap_or(from);
            let names = |e: usize| grids[e].cases.iter().map(|c| c.name.as_str());
            if grids[there].cases.len() > 1 && !names(there).eq(names(from)) {
                let (a, b) = (&grids[from].id, &grids[there].id);
                let message = format!("the cases of experiment {b} are not those of {a}");
                let help = format!("vary in {b} the same values under the same names, or nothing");
                return Err(ExpressionError::new(message, help));
            }
            same_cases(inner, there, grids)
        }
        Expr::Call(_, arguments) => arguments.iter().try_for_each(|e| same_cases(e, from, grids)),
        _ => Ok(()),
    }
}
