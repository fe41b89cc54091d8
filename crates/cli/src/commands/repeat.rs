//! The command line that repeats a run, from the one that was given.

use crate::run_args::RunArgs;
use ndnweir_core::scheme::Scheme;
use ndnweir_lab::results::{Repeat, RunWords};

fn run_words<'a>(command: &'a str, args: &'a RunArgs, schemes: &'a [Scheme], overrides: &'a [String]) -> RunWords<'a> {
    RunWords { command, scenario: &args.scenario, schemes, seeds: args.seeds, seed: args.seed, overrides }
}

/// The command that gives the same numbers again.
pub(super) fn repeat(args: &RunArgs, schemes: &[Scheme], overrides: &[String], more: &[String]) -> Repeat {
    run_words("sim", args, schemes, overrides).repeat(more)
}

/// The words of a command that runs the same again, with what only it has.
#[cfg(feature = "network")]
pub(super) fn words(command: &str, args: &RunArgs, schemes: &[Scheme], more: &[String]) -> Vec<String> {
    run_words(command, args, schemes, &args.overrides).words(more)
}
