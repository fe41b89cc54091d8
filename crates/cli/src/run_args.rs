//! What commands that run scenarios have in common.

use clap::Args;
use std::path::PathBuf;

/// What `sim` and `emulate` have in common.
#[derive(Args)]
pub struct RunArgs {
    /// A scenario's name (see `ndnweir list`), a scenario file (.toml), or a topology file
    /// (.graphml from the Topology Zoo, .cch from Rocketfuel, .txt in ndnSIM's annotated format)
    pub scenario: String,
    /// Schemes to compare, separated by commas, or "all"; the default is the scenario's own list
    #[arg(long, short, value_delimiter = ',', value_name = "NAME")]
    pub scheme: Vec<String>,
    /// How many seeds to run; each perturbs start times and random draws
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub seeds: u32,
    /// The first seed; with --seeds 1 this replays one run
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    pub seed: u64,
    /// Change the scenario, e.g. link.R1-R2.rate=5Mbps; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Folder for the report, summary and series [default: results/SCENARIO, with a number if another command's
    /// results are there]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How a command that writes a result folder prints its results.
#[derive(Args)]
pub struct OutputArgs {
    /// Write into a folder that holds the results of another command
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document on standard output instead of tables: that of summary.json
    #[arg(long)]
    pub json: bool,
    /// Show all columns of tables, however narrow the terminal
    #[arg(long)]
    pub wide: bool,
    /// Say only errors
    #[arg(long, short)]
    pub quiet: bool,
}
