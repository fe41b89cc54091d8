//! What `ndnweir sweep` accepts.

use crate::judge_args::Shard;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir sweep plan.toml                                 run what is not stored yet, then merge
  ndnweir sweep plan.toml --out results/buffers --seeds 30
  ndnweir sweep plan.toml --scheme bic,cubic,pcon
  ndnweir sweep plan.toml --status                        how much is done
  ndnweir sweep plan.toml --list                          the runs with their keys
  ndnweir sweep plan.toml --out shared --shard 3/8        a part; seven others elsewhere, into the same folder
  ndnweir sweep plan.toml --out shared --run 09fa41       the runs whose keys begin so
  ndnweir sweep plan.toml --out shared --merge            the tables, once all is there
  ndnweir sweep plan.toml --out shared --merge --shard 3/8
                                                          those of a part: runs.3-of-8.parquet and others

A plan (docs/sweeps.md):
  schemes = [\"bic\", \"pcon\"]
  seeds = 10
  [[experiment]]
  id = \"buffers\"
  scenario = \"dumbbell\"
  vary = [{ key = \"link.R1-R2.queue\", values = [\"0.25 BDP\", \"1 BDP\", \"4 BDP\"] }]")]
pub struct SweepArgs {
    /// A plan file, or the file of a criterion of `ndnweir judge`
    pub plan: PathBuf,
    /// Folder for results; workers may share it [default: results/PLAN]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Schemes instead of those of the plan, separated by commas, or "all"
    #[arg(long, short, value_delimiter = ',', value_name = "NAME")]
    pub scheme: Vec<String>,
    /// How many seeds to run, from seed 1 on, instead of those of the plan
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub seeds: Option<u32>,
    /// Change all scenarios, e.g. run.duration=20s; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Run part I of N alone, which all cost about the same
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Run only the runs whose keys begin with one of these, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "KEY", conflicts_with = "shard")]
    pub run: Vec<String>,
    /// List the runs, or those of --shard or --run, with their keys and estimated packet-hops, and run nothing
    #[arg(long, conflicts_with_all = ["status", "merge"])]
    pub list: bool,
    /// Say how many runs are stored, and run nothing
    #[arg(long, conflicts_with_all = ["run", "shard", "merge"])]
    pub status: bool,
    /// Write the tables of stored runs, or those of --shard in files of its own, and run nothing
    #[arg(long, conflicts_with = "run")]
    pub merge: bool,
    /// Threads to use [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub json: bool,
    /// Say only errors
    #[arg(long, short)]
    pub quiet: bool,
}
