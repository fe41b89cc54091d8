//! What the command line accepts.

use crate::commands::link::LinkArgs;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Congestion control for Named Data Networking: simulate, compare and explain every published scheme.
#[derive(Parser)]
#[command(name = "ndnweir", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  ndnweir sim dumbbell --scheme all          compare every scheme on one bottleneck, write a report
  ndnweir sim abilene --scheme pcon,cubic --seeds 10
  ndnweir explain pcon                       what a scheme does and where it comes from
  ndnweir list                               schemes, components and scenarios that exist

Exit status: 0 success, 1 failed work, 2 bad input.")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Simulate a scenario with one or more schemes, compare them and write a report
    Sim(SimArgs),
    /// Reproduce published evaluations: published, measured, spread, verdict
    Papers(PapersArgs),
    /// List schemes, components and scenarios
    List(ListArgs),
    /// Tell what a scheme or component does, its parameters and its source
    Explain(ExplainArgs),
    /// Check a scenario or topology file without running it
    Validate(ValidateArgs),
    /// Redraw the report of a result folder, or compare two
    Report(ReportArgs),
    /// Emulate a link between processes on this machine: rate, delay, queue and loss over UDP
    Link(LinkArgs),
    /// Measure the speed of the simulator on this machine
    Bench(BenchArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir sim dumbbell
  ndnweir sim dumbbell --scheme all --seeds 10
  ndnweir sim two-paths --scheme pcon --set link.R1-R2.rate=5Mbps --set run.duration=30s
  ndnweir sim my-scenario.toml --out results/mine --json > summary.json
  ndnweir sim linear --scheme bic --seed 7 --trace packets.pcap")]
pub struct SimArgs {
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
    /// Folder for the report, summary and series [default: results/SCENARIO]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document on standard output instead of the table
    #[arg(long)]
    pub json: bool,
    /// Threads to use [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Also write every packet of the first run to a pcap file (Ethernet type 0x8624)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir papers                          list the papers, then run all of them
  ndnweir papers packet-pair
  ndnweir papers resource-pooling --seeds 30 --out results/pooling --json")]
pub struct PapersArgs {
    /// A paper's name, or a folder with a published.toml; without it all are listed and run
    pub paper: Option<String>,
    /// How many seeds to run, from seed 1 on
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub seeds: u32,
    /// Folder for the report; with several papers, for theirs [default: results/papers/PAPER]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document on standard output instead of tables
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir list
  ndnweir list --json")]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir explain pcon
  ndnweir explain codel-pcon --json")]
pub struct ExplainArgs {
    /// A scheme's or component's name (see `ndnweir list`)
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir validate my-scenario.toml
  ndnweir validate topology.graphml --set run.duration=10s")]
pub struct ValidateArgs {
    /// A scenario's name, a scenario file or a topology file
    pub scenario: String,
    /// Check it with these changes
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir report results/dumbbell                      draw report.html again
  ndnweir report results/before results/after          what changed between two runs")]
pub struct ReportArgs {
    /// One result folder to redraw, or two to compare
    #[arg(required = true, num_args = 1..=2, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Where to write the comparison of two [default: comparison.html]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir bench
  ndnweir bench grid --json
  ndnweir bench --quick          shorter runs, for a first impression")]
pub struct BenchArgs {
    /// Only the cases whose name contains this
    pub filter: Option<String>,
    /// Shorter runs
    #[arg(long)]
    pub quick: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  ndnweir completions bash > ~/.local/share/bash-completion/completions/ndnweir")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}
