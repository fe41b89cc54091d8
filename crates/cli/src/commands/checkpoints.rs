//! `--checkpoint` and `--resume` of `sim`: where runs are kept, and what is said about it.

use crate::args::SimArgs;
use crate::failure::Failure;
use ndnweir_lab::checkpoints::Checkpoints;
use ndnweir_lab::experiment;
use ndnweir_lab::jobs::engine;
use ndnweir_lab::results::shell_word;
use std::path::{Path, PathBuf};

/// How often runs are kept that were resumed without saying.
const EVERY: std::time::Duration = std::time::Duration::from_secs(300);
/// The result folder that the user named: to write to, or to go on with.
pub(super) fn named(args: &SimArgs) -> Result<Option<PathBuf>, Failure> {
    match (&args.run.out, args.resume.iter().flatten().next()) {
        (Some(_), Some(_)) => {
            Err(Failure::Input("--resume with a folder has results written there; leave out --out".into()))
        }
        (None, Some(folder)) => {
            // Who names the checkpoints means the results beside them.
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Ok(Some(
                name.strip_suffix(".checkpoints").map_or_else(|| folder.clone(), |name| folder.with_file_name(name)),
            ))
        }
        (out, None) => Ok(out.clone()),
    }
}

/// An error of the runs, with how to go on if they were interrupted.
pub(super) fn interrupted(error: experiment::Error, remedy: &str) -> Failure {
    match error {
        experiment::Error::Nothing => Failure::Work(format!("{error}{remedy}")),
        error => Failure::work(error),
    }
}

/// Runs that are kept beside a result folder.
pub(super) struct Kept {
    pub(super) checkpoints: Option<Checkpoints>,
    folder: PathBuf,
}

impl Kept {
    /// Checks what is there, before the work.
    pub(super) fn start(args: &SimArgs, folder: &Path, notes: &mut Vec<String>) -> Result<Kept, Failure> {
        let mut kept = Kept { checkpoints: None, folder: folder.to_owned() };
        if args.checkpoint.is_none() && args.resume.is_none() {
            return Ok(kept);
        }
        let engine = engine(env!("CARGO_PKG_VERSION")).map_err(Failure::work)?;
        let place = Checkpoints::beside(folder);
        let shown = place.display().to_string();
        let resume = args.resume.is_some();
        let checkpoints = Checkpoints::new(place, args.checkpoint.unwrap_or(EVERY), engine, resume);
        match (checkpoints.exist().map_err(Failure::input)?, resume) {
            (true, false) if args.run.output.force => checkpoints.clear().map_err(Failure::input)?,
            (true, false) => {
                return Err(Failure::Input(format!(
                    "{shown}: holds runs that were interrupted; go on with --resume, or begin anew with --force"
                )));
            }
            (false, true) => notes.push(format!("{shown}: nothing is kept there; all runs began anew")),
            _ => {}
        }
        kept.checkpoints = Some(checkpoints);
        Ok(kept)
    }

    /// How to go on with an interrupted command; empty if nothing is kept.
    pub(super) fn remedy(&self, command: &str) -> String {
        match &self.checkpoints {
            Some(_) => format!("; go on with: {command} --resume {}", shell_word(&self.folder.to_string_lossy())),
            None => String::new(),
        }
    }

    /// What could not be kept.
    pub(super) fn notes(&self) -> Vec<String> {
        let problems = self.checkpoints.iter().flat_map(Checkpoints::problems);
        problems.map(|problem| format!("a checkpoint was not written: {problem}")).collect()
    }

    /// The results are there: nothing needs to be kept any more.
    pub(super) fn done(&self, problems: &mut Vec<String>) {
        if problems.is_empty()
            && let Some(Err(error)) = self.checkpoints.as_ref().map(Checkpoints::clear)
        {
            problems.push(error.to_string());
        }
    }
}
