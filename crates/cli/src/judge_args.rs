//! What `ndnweir judge` accepts.

use crate::run_args::OutputArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir judge --list                               the criteria, and what each costs
  ndnweir judge pcon --quick
  ndnweir judge hbhcm --against pcon,bic,cubic
  ndnweir judge pcon --only bufferbloat,fairness --json
  ndnweir judge pcon --held-out 7                    on networks drawn from this seed
  ndnweir judge mine --set scheme.mine.base=pcon --set scheme.mine.consumer.beta=0.7

Exit status 0 means that the work was done, whatever the verdicts.")]
pub struct JudgeArgs {
    /// Schemes to judge, separated by commas, or "all"
    #[arg(value_delimiter = ',', value_name = "SCHEME", required_unless_present = "list")]
    pub schemes: Vec<String>,
    /// Schemes to run on the same and show beside
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
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
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
