//! Plan files of `ndnweir judge`: the requested options, and the resulting jobs.

use super::outputs::Outputs;
use crate::failure::Failure;
use crate::judge_args::{JudgeArgs, SEEDS};
use ndnweir_lab::criteria::Job;
use ndnweir_lab::results::replace_files;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The first key of every plan, with the number of its format.
const FORMAT: u32 = 2;

/// A plan file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    judge_plan: u32,
    /// The program for which the keys are valid (see [`ndnweir_lab::jobs::engine`]).
    pub engine: String,
    options: Options,
    /// The jobs, by criterion, scheme, cell and seed.
    pub jobs: Vec<Job>,
}

/// The options that decide what is run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    schemes: Vec<String>,
    against: Vec<String>,
    only: Vec<String>,
    quick: bool,
    full: bool,
    seeds: u32,
    held_out: Option<u64>,
    criteria: Option<PathBuf>,
    set: Vec<String>,
}

impl Plan {
    /// The plan for the given options.
    pub fn new(args: &JudgeArgs, engine: String, jobs: Vec<Job>) -> Plan {
        let options = Options {
            schemes: args.schemes.clone(),
            against: args.against.clone(),
            only: args.only.clone(),
            quick: args.quick,
            full: args.full,
            seeds: args.seeds,
            held_out: args.held_out,
            criteria: args.criteria.clone(),
            set: args.overrides.clone(),
        };
        Plan { judge_plan: FORMAT, engine, options, jobs }
    }

    /// Writes the plan file, in the place of nothing but an earlier one.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut outputs = Outputs::default();
        outputs.add_over("--plan", path, |head| head.starts_with(b"{\n  \"judge_plan\":"))?;
        outputs.only_over()?;
        let text = serde_json::to_string_pretty(self).map_err(|e| Failure::Work(e.to_string()))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.ok_or_else(|| Failure::Input(format!("--plan {}: name a file", path.display())))?;
        replace_files(path.parent().unwrap_or(Path::new("")), &[(name, format!("{text}\n").into_bytes())])
            .map_err(Failure::work)
    }

    /// Reads a plan file.
    pub fn read(path: &Path) -> Result<Plan, Failure> {
        let shown = path.display();
        let wrong = |what: String| {
            Failure::Input(format!("{shown}: {what}; name a file that `ndnweir judge SCHEME --plan FILE` wrote"))
        };
        let text = ndnweir_files::read_text(path, ndnweir_files::SETTINGS).map_err(|e| wrong(e.to_string()))?;
        if text.trim().is_empty() {
            return Err(wrong("the file is empty".into()));
        }
        let plan: Plan = serde_json::from_str(&text).map_err(|e| match e.is_eof() {
            true => wrong(format!("the file ends in the middle of the plan, in line {}", e.line())),
            false => wrong(e.to_string()),
        })?;
        // Its jobs are found before they are compared with those of the plan.
        if !SEEDS.contains(&plan.options.seeds.into()) {
            return Err(wrong(format!(
                "{} seeds; there may be {} to {}",
                plan.options.seeds,
                SEEDS.start(),
                SEEDS.end()
            )));
        }
        match plan.judge_plan {
            FORMAT => Ok(plan),
            other => Err(wrong(format!("a plan of format {other}, where this program knows {FORMAT}"))),
        }
    }

    /// Replaces the options by those of the plan.
    pub fn apply_to(&self, args: &mut JudgeArgs) {
        let options = &self.options;
        args.schemes.clone_from(&options.schemes);
        args.against.clone_from(&options.against);
        args.only.clone_from(&options.only);
        (args.quick, args.full, args.seeds, args.held_out) =
            (options.quick, options.full, options.seeds, options.held_out);
        args.criteria.clone_from(&options.criteria);
        args.overrides.clone_from(&options.set);
    }

    /// Rejects a plan whose jobs differ from those of this program.
    pub fn check(&self, path: &Path, engine: &str, jobs: &[Job]) -> Result<(), Failure> {
        if self.jobs == jobs {
            return Ok(());
        }
        let reason = match self.engine == engine {
            true => "criteria or scenarios are not those that it was written for",
            false => "it was written by another build of the program",
        };
        let help = "write it again, or use that build";
        Err(Failure::Input(format!("{}: this program computes other jobs: {reason}; {help}", path.display())))
    }
}
