//! What `ndnweir judge` accepts.

use crate::run_args::OutputArgs;
use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;

/// How many seeds there may be.
pub const SEEDS: std::ops::RangeInclusive<i64> = 1..=10_000;

/// A part of the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1 on.
    pub part: usize,
    /// Of how many.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((part, of)) if 1 <= part && part <= of => Ok(Shard { part, of }),
            _ => Err("write which part of how many, such as 1/4".into()),
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir judge --list                               the criteria, and what each costs
  ndnweir judge pcon --quick
  ndnweir judge hbhcm --against pcon,bic,cubic
  ndnweir judge pcon --only bufferbloat,fairness --json
  ndnweir judge pcon --held-out 7                    on networks drawn from this seed
  ndnweir judge mine --set scheme.mine.base=pcon --set scheme.mine.consumer.beta=0.7
  ndnweir judge all --jobs jobs                      kept job by job; repeated, it goes on where it was interrupted
  ndnweir judge all --plan plan.json                 the jobs with their keys; then, in several places:
  ndnweir judge --run-plan plan.json --jobs jobs --shard 1/4

Exit status 0 means that the work was done, independent of the verdicts.")]
pub struct JudgeArgs {
    /// Schemes to judge, separated by commas, or "all"
    #[arg(value_delimiter = ',', value_name = "SCHEME", required_unless_present_any = ["list", "run_plan"])]
    pub schemes: Vec<String>,
    /// Schemes to run for comparison
    #[arg(long, value_delimiter = ',', value_name = "SCHEME")]
    pub against: Vec<String>,
    /// Judge by these criteria alone
    #[arg(long, value_delimiter = ',', value_name = "CRITERION")]
    pub only: Vec<String>,
    /// Run the smallest cells alone: less than a minute for a scheme
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Run also what is large
    #[arg(long)]
    pub full: bool,
    /// How many seeds to run, from seed 1 on
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(SEEDS))]
    pub seeds: u32,
    /// Judge also on networks drawn from this seed
    #[arg(long, value_name = "SEED")]
    pub held_out: Option<u64>,
    /// A folder of criteria of your own instead of those that come with the program (see docs/criteria-format.md)
    #[arg(long, value_name = "DIR")]
    pub criteria: Option<PathBuf>,
    /// Change or compose a scheme, e.g. scheme.pcon.consumer.beta=0.7; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// List the criteria and what each costs, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Keep what each job (a cell, a scheme and a seed) gave in this folder, and take from there what this program did
    #[arg(long, value_name = "DIR")]
    pub jobs: Option<PathBuf>,
    /// List the jobs with their keys, and run nothing
    #[arg(long, conflicts_with = "list")]
    pub list_jobs: bool,
    /// Write the jobs and the options to this file, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "list_jobs", "run_plan", "jobs"])]
    pub plan: Option<PathBuf>,
    /// Do what --plan wrote to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "schemes", "against", "only", "quick", "full", "seeds", "held_out", "criteria", "overrides", "list"
    ])]
    pub run_plan: Option<PathBuf>,
    /// Do part I of N of the jobs alone, which all cost about the same, and write no page
    #[arg(long, value_name = "I/N", requires = "jobs", conflicts_with_all = ["list", "list_jobs"])]
    pub shard: Option<Shard>,
    /// Folder for judge.html, judge.txt and summary.json [default: results/judge, with a number if another command's
    /// results are there]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Threads to use [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}
