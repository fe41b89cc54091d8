//! `[[experiment]]` of `published.toml`: what is run, before the scenarios are read.

use super::library::Folder;
use crate::evaluation::ExperimentGrid;
use crate::evaluation::grid::{self, Variation};
use crate::evaluation::lists::texts;
use crate::experiment::choose;
use ndnweir_scenario::diag::Findings;
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree::Table;
use ndnweir_scenario::{Location, Source};

/// Largest number of runs behind one seed.
const MAX_REPEAT: u64 = 100;

/// An experiment as it is written; a reading derives another one from it.
#[derive(Clone, Debug)]
pub(super) struct ExperimentSpec {
    pub id: String,
    about: String,
    file: String,
    pub schemes: Vec<(String, Location)>,
    set: Vec<String>,
    vary: Vec<Variation>,
    /// Runs behind each seed asked for.
    pub repeat: u64,
    at: Location,
    file_at: Location,
}

impl ExperimentSpec {
    /// Reads a table; `None` if it has an error, which is reported.
    pub fn read(table: &Table, at: &Location, found: &Findings) -> Option<ExperimentSpec> {
        let f = Fields::new(table, "this experiment", at, found);
        let id = f.required::<String>("id", "\"fig3\"");
        let about = f.required::<String>("about", "\"what it is\"");
        let file = f.required::<String>("scenario", "\"scenario.toml\"");
        let schemes = f.item("schemes").map(|item| texts(item, found)).unwrap_or_default();
        if schemes.is_empty() {
            f.missing("schemes", "[\"pcon\"]");
        }
        let set = f.item("set").map(|item| texts(item, found)).unwrap_or_default();
        let vary = f.item("vary").map(|item| grid::variations(item, found, &["values"])).unwrap_or_default();
        let repeat = f.get::<u64>("repeat").unwrap_or(1);
        if !(1..=MAX_REPEAT).contains(&repeat) {
            f.error("repeat", format!("repeat = {repeat}"), format!("write a number from 1 to {MAX_REPEAT}"));
        }
        let file_at = f.place("scenario");
        f.finish();
        let set = set.into_iter().map(|s| s.0).collect();
        Some(ExperimentSpec {
            id: id?,
            about: about?,
            file: file?,
            schemes,
            set,
            vary,
            repeat,
            at: at.clone(),
            file_at,
        })
    }

    /// The same under a reading that changes it.
    pub fn under(&self, reading: &str, set: &[String], schemes: Vec<(String, Location)>, at: &Location) -> Self {
        ExperimentSpec {
            id: derived(&self.id, reading),
            about: format!("{} Reading \"{reading}\".", self.about),
            schemes,
            set: self.set.iter().chain(set).cloned().collect(),
            at: at.clone(),
            ..self.clone()
        }
    }

    /// The experiment with its scenarios; `None` if they have an error, which is reported.
    pub fn grid(&self, folder: &Folder, found: &Findings) -> Option<ExperimentGrid> {
        let ExperimentSpec { id, file, at, .. } = self;
        let text = match folder.text(file) {
            Ok(text) => text,
            Err(error) => {
                let help = "name a scenario file beside published.toml";
                found.error(&self.file_at, format!("{file}: {error}"), help);
                return None;
            }
        };
        let source = Source::from_text(&folder.shown(file), &text, &folder.base());
        let combinations = grid::combinations(&self.vary);
        let cases = match source.and_then(|source| grid::cases(&source, file, &self.set, combinations)) {
            Ok(cases) => cases,
            Err(problems) => {
                found.error(at, format!("experiment {id} cannot be run"), "correct its scenario");
                found.add(problems);
                return None;
            }
        };
        let names: Vec<String> = self.schemes.iter().map(|s| s.0.clone()).collect();
        let mut chosen = Vec::new();
        for case in &cases {
            match choose(&case.scenario, &names) {
                Ok(schemes) => chosen = schemes,
                Err(error) => {
                    let place = self.schemes.first().map_or(at, |s| &s.1);
                    found.error(place, error.to_string(), "name schemes of the registry or of the scenario file");
                    return None;
                }
            }
        }
        grid::check_count(id, cases.len(), at, found);
        Some(ExperimentGrid { id: id.clone(), about: self.about.clone(), cases, schemes: chosen, events: Vec::new() })
    }
}

/// The id of an experiment under a reading.
pub(super) fn derived(id: &str, reading: &str) -> String {
    format!("{id}~{reading}")
}
