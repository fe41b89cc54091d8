//! The command line that repeats a run.

use crate::run_args::RunArgs;
use ndnweir_core::scheme::Scheme;
use ndnweir_lab::results::{Repeat, shell_word};

/// The command that gives the same numbers again.
pub(super) fn repeat(args: &RunArgs, schemes: &[Scheme], overrides: &[String], more: &[String]) -> Repeat {
    let stand_ins = schemes.iter().filter(|s| s.is_stand_in());
    let notes = stand_ins.map(|s| format!("{} is a stand-in: the original law is not public", s.name));
    let words = words("sim", args, schemes, overrides, more);
    Repeat { command: words.join(" "), version: env!("CARGO_PKG_VERSION").into(), notes: notes.collect() }
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
