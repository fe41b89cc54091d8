//! Reads plan files; all errors are reported together, with file and line.
//!
//! A criterion of `ndnweir judge` is a plan too: its experiments are read in the same way, what it measures is not
//! looked at.

use crate::evaluation::ExperimentGrid;
use crate::evaluation::grid::{cases, combinations, placed, variations};
use crate::evaluation::lists::{numbers, tables, texts};
use crate::experiment::choose;
use ndnweir_scenario::diag::Findings;
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree::{self, Item, Table, Value};
use ndnweir_scenario::{ELSEWHERE, Location, Problems, Source, find, find_here, is_here};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most jobs of a plan.
pub const MAX_JOBS: usize = 2_000_000;
/// Most cases of a plan, each a scenario in memory.
const MAX_CASES: usize = 100_000;
/// Longest plan file, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// Keys of varied values: those of criteria.
const TIERS: [&str; 3] = ["values", "more", "full"];
/// What criteria have besides.
const OF_CRITERIA: [&str; 6] = ["title", "section", "strength", "question", "measure", "not-applicable"];

/// What the command line replaces.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// Schemes instead of those of the plan.
    pub schemes: Vec<String>,
    /// So many seeds, from 1 on, instead of those of the plan.
    pub seeds: Option<u32>,
    /// Overrides for all scenarios, as `--set` takes them.
    pub set: Vec<String>,
    /// The plan need not be trusted: no file outside of the current folder is opened.
    pub here: bool,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file's name without its ending.
    pub name: String,
    /// A description for the reader.
    pub about: String,
    /// The experiments, each with its cases and schemes.
    pub experiments: Vec<ExperimentGrid>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The files that it was read from: its own, scenarios, and what these name.
    pub files: Vec<PathBuf>,
}

impl Plan {
    /// Reads and checks a plan file. Scenario files are looked for beside it, then in its folder `scenarios`.
    ///
    /// # Errors
    /// Everything wrong with it and its scenarios.
    pub fn read(path: &Path, options: &PlanOptions) -> Result<Plan, Problems> {
        let shown = path.display().to_string();
        let whole = Location::whole(&shown);
        let wrong = |what: String| Problems::one(whole.clone(), what, "name a plan file (see docs/sweeps.md)");
        if options.here && !is_here(path) {
            return Err(wrong(ELSEWHERE.into()));
        }
        let text = ndnweir_files::read_text(path, MAX_FILE).map_err(|e| wrong(e.to_string()))?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let mut plan = read(&shown, &text, &folder, name, options)?;
        plan.files.push(path.to_owned());
        Ok(plan)
    }
}

fn read(shown: &str, text: &str, folder: &Path, name: String, options: &PlanOptions) -> Result<Plan, Problems> {
    let root = tree::parse(shown, text)?;
    let found = Findings::default();
    let whole = Location::at(&shown.into(), 1, 1);
    let f = Fields::new(&root, "the plan", &whole, &found);
    let about = f.get::<String>("about").unwrap_or_default();
    let schemes = f.item("schemes").map(|item| texts(item, &found)).unwrap_or_default();
    let seeds = f.item("seeds").map_or_else(|| vec![1], |item| seeds(item, &found));
    for key in OF_CRITERIA.iter().chain(&["experiment"]) {
        f.item(key);
    }
    f.finish();
    let seeds = options.seeds.map_or(seeds, |n| (1..=u64::from(n)).collect());
    let schemes = match options.schemes.is_empty() {
        true => schemes.into_iter().map(|s| s.0).collect(),
        false => options.schemes.clone(),
    };
    let files = RefCell::default();
    let reader = Reader { folder, options, schemes: &schemes, found: &found, files: &files };
    let mut experiments: Vec<ExperimentGrid> = Vec::new();
    let mut known = BTreeSet::new();
    for (table, at) in tables(&root, "experiment") {
        let Some(grid) = reader.experiment(table, at) else { continue };
        if !known.insert(grid.id.clone()) {
            found.error(at, format!("there is another experiment \"{}\"", grid.id), "give each an id of its own");
        }
        experiments.push(grid);
    }
    if root.list("experiment").is_empty() {
        found.error(&whole, "this plan has no experiment", "add [[experiment]] with what is run (see docs/sweeps.md)");
    }
    found.check()?;
    let jobs: usize = experiments.iter().map(|e| e.cases.len().saturating_mul(e.schemes.len())).sum();
    let jobs = jobs.saturating_mul(seeds.len());
    if jobs > MAX_JOBS {
        let help = format!("at most {MAX_JOBS} can be in one plan; divide it");
        return Err(Problems::one(whole, format!("this plan has {jobs} runs"), help));
    }
    Ok(Plan { name, about, experiments, seeds, files: files.into_inner().into_iter().collect() })
}

/// `seeds = 10`, those from 1 to 10, or `seeds = [3, 7]`.
fn seeds(item: &Item, found: &Findings) -> Vec<u64> {
    let help = "write how many, such as seeds = 10, or which, such as seeds = [3, 7]";
    let seed = |x: f64| (x >= 0.0 && x.fract() == 0.0 && x < 9e15).then_some(x as u64);
    let read = numbers(item, found);
    let list: Vec<u64> = read.iter().filter_map(|(x, _)| seed(*x)).collect();
    let distinct: BTreeSet<u64> = list.iter().copied().collect();
    if list.len() < read.len() || distinct.len() < list.len() {
        found.error(&item.at, "seeds are whole numbers from 0 up, each once", help);
    }
    match (&item.value, list.as_slice()) {
        (Value::List(all), _) if all.is_empty() => {
            found.error(&item.at, "no seeds: nothing would be run", help);
            Vec::new()
        }
        (Value::List(_), _) => list,
        (_, [count @ 1..=10_000_000]) => (1..=*count).collect(),
        _ => {
            found.error(&item.at, "no such number of seeds", help);
            Vec::new()
        }
    }
}

struct Reader<'a> {
    folder: &'a Path,
    options: &'a PlanOptions,
    schemes: &'a [String],
    found: &'a Findings,
    files: &'a RefCell<BTreeSet<PathBuf>>,
}

impl Reader<'_> {
    fn experiment(&self, table: &Table, at: &Location) -> Option<ExperimentGrid> {
        let f = Fields::new(table, "this experiment", at, self.found);
        let id = f.required::<String>("id", "\"buffers\"");
        let about = f.get::<String>("about").unwrap_or_default();
        let file = f.get::<String>("scenario");
        let own = f.item("schemes").map(|item| texts(item, self.found)).unwrap_or_default();
        let set = f.item("set").map(|item| texts(item, self.found)).unwrap_or_default();
        let vary = f.item("vary").map(|item| variations(item, self.found, &TIERS)).unwrap_or_default();
        if f.item("draw").is_some() {
            f.error("draw", "a plan draws no networks", "name a scenario, or use `ndnweir judge --held-out SEED`");
        } else if f.item("scenario").is_none() {
            f.missing("scenario", "\"dumbbell\"");
        }
        let (place, at_schemes) = (f.place("scenario"), f.place("schemes"));
        for key in ["draws", "depth"] {
            f.item(key);
        }
        f.finish();
        let (id, file) = (id?, file?);
        let grid = combinations(&vary);
        if grid.len() > MAX_CASES {
            let message = format!("experiment {id} has {} cases", grid.len());
            self.found.error(at, message, format!("at most {MAX_CASES}; vary less, or divide it"));
            return None;
        }
        let own_set = set;
        let set: Vec<String> = own_set.iter().map(|s| s.0.clone()).chain(self.options.set.iter().cloned()).collect();
        let cases = self.source(&file, &place).and_then(|source| {
            let cases = cases(&source, &file, &set, grid);
            self.files.borrow_mut().extend(source.files());
            cases
        });
        let cases = match cases {
            Ok(cases) => cases,
            Err(problems) => {
                self.found.add(placed(problems, &own_set));
                return None;
            }
        };
        let names: Vec<String> = match (own.is_empty(), self.options.schemes.is_empty()) {
            (false, true) => own.into_iter().map(|s| s.0).collect(),
            _ => self.schemes.to_vec(),
        };
        let mut schemes = Vec::new();
        for case in &cases {
            match choose(&case.scenario, &names) {
                Ok(chosen) => schemes = chosen,
                Err(error) => {
                    self.found.error(&at_schemes, error.to_string(), "correct the list of schemes");
                    return None;
                }
            }
        }
        Some(ExperimentGrid { id, about, cases, schemes, events: Vec::new() })
    }

    fn source(&self, file: &str, at: &Location) -> Result<Source, Problems> {
        let beside = [self.folder.join(file), self.folder.join("scenarios").join(file)];
        let may_be = |path: &Path| !self.options.here || is_here(path);
        let there: Option<&PathBuf> = beside.iter().find(|path| may_be(path) && path.is_file());
        let name = there.map_or(file.to_owned(), |path| path.display().to_string());
        let find = if self.options.here { find_here } else { find };
        find(&name).map_err(|problems| match problems.list.first() {
            Some(first) if first.place.line == 0 => {
                let message = format!("scenario \"{file}\": {}", first.message);
                Problems::one(at.clone(), message, first.help.clone())
            }
            _ => problems,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<Plan, Problems> {
        read("p.toml", text, Path::new(""), "p".into(), &PlanOptions::default())
    }

    const ONE: &str = "[[experiment]]\nid = \"a\"\nscenario = \"dumbbell\"\n";

    #[test]
    fn a_plan_has_every_combination_under_every_scheme() {
        let text = format!(
            "schemes = [\"bic\", \"cubic\"]\nseeds = 3\n{ONE}vary = [\n\
             {{ key = \"link.R1-R2.rate\", values = [\"5Mbps\", \"10Mbps\"] }},\n\
             {{ key = \"link.R1-R2.queue\", values = [\"20 packets\", \"1 BDP\", \"2 BDP\"] }}]\n"
        );
        let plan = plan(&text).unwrap();
        assert_eq!(plan.seeds, [1, 2, 3]);
        let names: Vec<&str> = plan.experiments[0].cases.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(names[1], "5Mbps, 1 BDP");
        assert_eq!(plan.experiments[0].schemes.len(), 2);
    }

    #[test]
    fn schemes_of_an_experiment_take_the_place_of_the_plans_and_the_command_line_of_both() {
        let text = format!("schemes = [\"bic\"]\n{ONE}schemes = [\"cubic\", \"aimd\"]\n");
        assert_eq!(plan(&text).unwrap().experiments[0].schemes.len(), 2);
        let options = PlanOptions { schemes: vec!["pcon".into()], seeds: Some(2), ..PlanOptions::default() };
        let plan = read("p.toml", &text, Path::new(""), "p".into(), &options).unwrap();
        assert_eq!(plan.experiments[0].schemes[0].name, "pcon");
        assert_eq!((plan.experiments[0].schemes.len(), plan.seeds), (1, vec![1, 2]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_a_remedy() {
        for (text, place, part) in [
            ("about = \"x\"\n".to_owned(), "p.toml:1", "no experiment"),
            (format!("{ONE}[[experiment]]\nid = \"a\"\nscenario = \"linear\"\n"), "p.toml:4", "another experiment"),
            ("[[experiment]]\nid = \"a\"\nscenario = \"dumbbel\"\n".into(), "p.toml:3", "did you mean \"dumbbell\""),
            ("[[experiment]]\nid = \"a\"\n".into(), "p.toml:1", "scenario"),
            (format!("schemes = [\"bik\"]\n{ONE}"), "p.toml:2", "did you mean"),
            (format!("seeds = [1, 1]\n{ONE}"), "p.toml:1", "each once"),
            (format!("seeds = 0\n{ONE}"), "p.toml:1", "number of seeds"),
            (format!("seeds = -2\n{ONE}"), "p.toml:1", "whole numbers"),
            (format!("sead = 2\n{ONE}"), "p.toml:1", "sead"),
            (format!("{ONE}draw = \"graph\"\n"), "p.toml:4", "draws no networks"),
            (format!("{ONE}vary = [{{ key = \"link.X.rate\", values = [\"1Mbps\"] }}]\n"), "p.toml:4:42", "no link"),
            (
                format!("{ONE}vary = [\n{{ key = \"link.R1-R2.queue\", values = [\"1 BDP\",\n\"9 BPD\"] }}]\n"),
                "p.toml:6:1: link.R1-R2.queue=9 BPD: ",
                "BPD",
            ),
            (format!("{ONE}set = [\"run.durration=1s\"]\n"), "p.toml:4:8: run.durration=1s: ", "durration"),
            (format!("seeds = []\n{ONE}"), "p.toml:1", "no seeds"),
            (format!("seeds = 10000000\n{ONE}"), "p.toml:1", "divide it"),
        ] {
            let said = plan(&text).unwrap_err().to_string();
            assert!(said.contains(part) && said.contains(place), "{text}: {said}");
        }
    }

    #[test]
    fn a_criterion_is_a_plan() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../judge/bufferbloat.toml"));
        let options = PlanOptions { schemes: vec!["bic".into()], ..PlanOptions::default() };
        let plan = Plan::read(path, &options).unwrap();
        assert!(plan.experiments.len() > 1 && plan.name == "bufferbloat");
    }
}
