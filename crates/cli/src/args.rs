//! What the command line accepts.

#[cfg(feature = "gnmi")]
use crate::control_args::{ControlArgs, KeysArgs};
use crate::judge_args::JudgeArgs;
#[cfg(feature = "network")]
use crate::manage_args::{CsArgs, FaceArgs, RouteArgs, StatusArgs, StrategyArgs};
#[cfg(feature = "network")]
use crate::network_args::{EmulateArgs, FwdArgs, LinkArgs};
#[cfg(feature = "pack")]
use crate::pack_args::{PackArgs, RepeatArgs};
use crate::run_args::{OutputArgs, RunArgs};
#[cfg(feature = "sweep")]
use crate::sweep_args::SweepArgs;
#[cfg(feature = "network")]
use crate::transfer_args::{BenchCommand, GetArgs, PutArgs};
#[cfg(feature = "view")]
use crate::view_args::ViewArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use ndnweir_core::units::Duration;
use ndnweir_lab::results::Sort;
use std::path::PathBuf;

#[cfg(feature = "network")]
const EXAMPLES: &str = "\
Examples:
  ndnweir sim dumbbell --scheme all          compare every scheme on one bottleneck, write a report
  ndnweir sim abilene --scheme pcon,cubic --seeds 10
  ndnweir explain pcon                       what a scheme does and where it comes from
  ndnweir list                               schemes, components and scenarios that exist
  ndnweir put video.mp4 /example/video       publish a file through this machine's forwarder
  ndnweir get /example/video -o video.mp4    fetch it elsewhere

Exit status: 0 success, 1 failed work, 2 bad input.";

/// Without a network.
#[cfg(not(feature = "network"))]
const EXAMPLES: &str = "\
Examples:
  ndnweir sim dumbbell --scheme all          compare every scheme on one bottleneck, write a report
  ndnweir sim abilene --scheme pcon,cubic --seeds 10
  ndnweir explain pcon                       what a scheme does and where it comes from
  ndnweir list                               schemes, components and scenarios that exist

Exit status: 0 success, 1 failed work, 2 bad input.";

/// Congestion control for Named Data Networking: simulate, compare and explain published schemes.
#[derive(Parser)]
#[command(name = "ndnweir", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Simulate a scenario with one or more schemes, compare them and write a report
    Sim(SimArgs),
    /// Judge schemes by the criteria of RFC 9743, relative to the optimum
    Judge(JudgeArgs),
    /// Run a plan of many runs, resumable and in parts, and merge the results into tables
    #[cfg(feature = "sweep")]
    Sweep(SweepArgs),
    /// Put results with all that is needed to compute them again into one archive
    #[cfg(feature = "pack")]
    Pack(PackArgs),
    /// Compute the results of such an archive again, and compare every byte
    #[cfg(feature = "pack")]
    Repeat(RepeatArgs),
    /// Reproduce published evaluations: published, measured, spread, verdict
    Papers(PapersArgs),
    /// List schemes, components and scenarios
    List(ListArgs),
    /// Explain a scheme or component: what it does, its parameters and its source
    Explain(ExplainArgs),
    /// Check a scenario or topology file without running it
    Validate(ValidateArgs),
    /// Redraw the report of a result folder, compare two, or draw traces of fetches
    Report(ReportArgs),
    /// Explore results in the browser, run scenarios there, watch forwarders and fetches
    #[cfg(feature = "view")]
    View(ViewArgs),
    /// Run a scenario with real processes over emulated links, and simulate it for comparison
    #[cfg(feature = "network")]
    Emulate(EmulateArgs),
    /// Run one process of an emulation; it reads its task from standard input
    #[cfg(feature = "network")]
    #[command(hide = true)]
    EmulationRole,
    /// Emulate a link between processes on this machine
    #[cfg(feature = "network")]
    Link(LinkArgs),
    /// Publish a file as a named object
    #[cfg(feature = "network")]
    Put(PutArgs),
    /// Fetch a named object
    #[cfg(feature = "network")]
    Get(GetArgs),
    #[cfg_attr(
        feature = "network",
        doc = "Measure the speed of the simulator on this machine, or of a network with `bench get`"
    )]
    #[cfg_attr(not(feature = "network"), doc = "Measure the speed of the simulator on this machine")]
    Bench(BenchArgs),
    /// Run a forwarder on this machine's network
    #[cfg(feature = "network")]
    Fwd(FwdArgs),
    /// Lead forwarders by the planner of a scheme over gNMI, or show what a controller does
    #[cfg(feature = "gnmi")]
    Control(ControlArgs),
    /// Make certificates for gNMI
    #[cfg(feature = "gnmi")]
    Key(KeysArgs),
    /// Show, add and remove a forwarder's routes
    #[cfg(feature = "network")]
    Route(RouteArgs),
    /// Show, create and destroy a forwarder's faces
    #[cfg(feature = "network")]
    Face(FaceArgs),
    /// Show a forwarder's counters and table sizes
    #[cfg(feature = "network")]
    Status(StatusArgs),
    /// Show, set and unset a forwarder's strategies
    #[cfg(feature = "network")]
    Strategy(StrategyArgs),
    /// Show and erase a forwarder's content store
    #[cfg(feature = "network")]
    Cs(CsArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir sim dumbbell
  ndnweir sim dumbbell --scheme all --seeds 10
  ndnweir sim two-paths --scheme pcon --set link.R1-R2.rate=5Mbps --set run.duration=30s
  ndnweir sim my-scenario.toml --out results/mine --json > summary.json
  ndnweir sim dumbbell --vary 'link.R1-R2.queue=0.5 BDP,1 BDP,4 BDP' --scheme cubic,pcon
  ndnweir sim linear --scheme bic --seed 7 --trace packets.pcapng
  ndnweir sim abilene --scheme all --seeds 30 --checkpoint every=5m     after Ctrl-C or a crash, the same with:
  ndnweir sim abilene --scheme all --seeds 30 --resume")]
pub struct SimArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Run a case for each of these values; repeated, for every combination. Replaces the scenario's vary tables
    #[arg(long, value_name = "KEY=V1,V2,…")]
    pub vary: Vec<String>,
    /// The order of the table: by this column, the best first
    #[arg(long, value_name = "COLUMN", default_value = "goodput", value_parser = sort())]
    pub sort: Sort,
    /// Threads to use, for several runs and within large ones [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Keep the state of the runs beside the results after each such time of work, as every=5m, and on Ctrl-C, so that
    /// --resume can go on from there
    #[arg(long, value_name = "every=TIME", value_parser = every)]
    pub checkpoint: Option<std::time::Duration>,
    /// Go on with the runs that an interrupted command kept, on any number of threads, with the same results as without
    /// the interruption; DIR are its results, if not the usual folder. Runs are kept on, every 5 min if --checkpoint does
    /// not say otherwise
    #[arg(long, value_name = "DIR")]
    pub resume: Option<Option<PathBuf>>,
    /// Show the runs on a page of this machine while they are simulated; prints its address, serves until Ctrl-C
    #[cfg(feature = "view")]
    #[arg(long, conflicts_with = "watch")]
    pub live: bool,
    /// Show consumers and links in the terminal while the runs are simulated
    #[cfg(feature = "view")]
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Also write every packet of the first run to a pcapng file for Wireshark (see docs/packet-traces.md)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Also write the first run as a trace for the Perfetto viewer (see docs/packet-traces.md)
    #[cfg(feature = "perfetto")]
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Also write what consumers of the first run see as qlog, for qvis (see docs/packet-traces.md)
    #[arg(long, value_name = "FILE.sqlog")]
    pub qlog: Option<PathBuf>,
    /// Also write delay, hop count and path of every Data of the first run to a CSV file
    #[arg(long, value_name = "FILE")]
    pub deliveries: Option<PathBuf>,
}

/// Shorter times would only be spent on writing.
const SHORTEST: std::time::Duration = std::time::Duration::from_millis(10);

/// Reads `every=5m`.
fn every(text: &str) -> Result<std::time::Duration, String> {
    let time = text.strip_prefix("every=").ok_or("write every= and a time of this machine's clock, as every=5m")?;
    // Minutes are `min` in scenarios, where `m` might be read as milli.
    let time = match time.strip_suffix('m') {
        Some(minutes) => format!("{minutes}min"),
        None => time.to_owned(),
    };
    let time: Duration = time.parse().map_err(|error| format!("{error}"))?;
    let time = std::time::Duration::from_nanos(time.nanos());
    if time < SHORTEST { Err("write at least 10ms".into()) } else { Ok(time) }
}

/// Reads what the table is sorted by.
fn sort() -> impl TypedValueParser<Value = Sort> {
    let values = Sort::ALL.map(|sort| PossibleValue::new(sort.name()).help(sort.about()));
    PossibleValuesParser::new(values).map(|name| Sort::named(&name).unwrap_or_default())
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
    /// Folder for the report; with several papers, for theirs [default: results/papers/PAPER, with a number if another
    /// command's results are there]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
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
  ndnweir report results/before results/after          what changed between two runs
  ndnweir report results/plan                          curves and maps of a sweep, from its runs.parquet
  ndnweir report trace.csv                             draw what `ndnweir get --trace` recorded")]
pub struct ReportArgs {
    /// One result folder to redraw, or two to compare; a sweep's folder or its runs.parquet; or one or two traces of
    /// fetches
    #[arg(required = true, num_args = 1..=2, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Where to write the comparison of two, or the page about traces or a sweep [default: comparison.html, TRACE.html,
    /// report.html in the sweep's folder]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[cfg(feature = "network")]
const BENCH_EXAMPLES: &str = "\
Examples:
  ndnweir bench
  ndnweir bench grid --json
  ndnweir bench --quick          shorter runs, for a first impression
  ndnweir bench get /example/video --fetches 100 --at-once 20";

/// Without a network.
#[cfg(not(feature = "network"))]
const BENCH_EXAMPLES: &str = "\
Examples:
  ndnweir bench
  ndnweir bench grid --json
  ndnweir bench --quick          shorter runs, for a first impression";

#[derive(Args)]
#[command(after_help = BENCH_EXAMPLES)]
#[cfg_attr(feature = "network", command(args_conflicts_with_subcommands = true))]
pub struct BenchArgs {
    #[cfg(feature = "network")]
    #[command(subcommand)]
    pub command: Option<BenchCommand>,
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

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir man | man -l -
  ndnweir man ~/.local/share/man/man1        ndnweir.1, ndnweir-sim.1 and so on")]
pub struct ManArgs {
    /// Folder for the pages of all commands; without it the page of `ndnweir` goes to standard output
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}
