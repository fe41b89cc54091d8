//! The command line that repeats a run.

use crate::run_args::RunArgs;
use ndnweir_core::scheme::Scheme;
use ndnweir_lab::results::{Repeat, shell_word};

/// Which of the schemes take the place of one whose law is not public, in a sentence.
pub(super) fn stand_ins(schemes: &[Scheme]) -> Option<String> {
    let names: Vec<&str> = schemes.iter().filter(|s| s.is_stand_in()).map(|s| s.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("Stand-ins (the original law is not public): {}", names.join(", ")))
}

/// The command that gives the same numbers again.
pub(super) fn repeat(args: &RunArgs, schemes: &[Scheme], overrides: &[String], more: &[String]) -> Repeat {
    let words = words("sim", args, schemes, overrides, more);
    Repeat {
        command: words.join(" "),
        version: env!("CARGO_PKG_VERSION").into(),
        notes: stand_ins(schemes).into_iter().collect(),
    }
}

/// The words of a command that runs the same again, with what only it has.
pub(super) fn words(
    command: &str,
    args: &RunArgs,
    schemes: &[Scheme],
    overrides: &[String],
    more: &[String],
) -> Vec<String> {
    let names: Vec<&str> = schemes.iter().map(|s| s.name.as_str()).collect();
    let mut words = vec!["ndnweir".to_string(), command.into(), shell_word(&args.scenario)];
    words.extend(["--scheme".into(), shell_word(&names.join(","))]);
    words.extend(["--seeds".into(), args.seeds.to_string(), "--seed".into(), args.seed.to_string()]);
    words.extend_from_slice(more);
    words.extend(overrides.iter().flat_map(|change| ["--set".into(), shell_word(change)]));
    words
}
