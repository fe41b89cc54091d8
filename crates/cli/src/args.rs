//! What the command line accepts.

use crate::judge_args::JudgeArgs;
#[cfg(feature = "network")]
use crate::manage_args::{CsArgs, FaceArgs, KeyArgs, RouteArgs, StatusArgs, StrategyArgs};
#[cfg(feature = "network")]
use crate::network_args::{EmulateArgs, LinkArgs};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ndnweir_lab::results::Sort;
#[cfg(feature = "network")]
use ndnweir_wire::Name;
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

/// Congestion control for Named Data Networking: simulate, compare and explain every published scheme.
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
    /// Judge schemes by the criteria of RFC 9743, beside the optimum
    Judge(JudgeArgs),
    /// Reproduce published evaluations: published, measured, spread, verdict
    Papers(PapersArgs),
    /// List schemes, components and scenarios
    List(ListArgs),
    /// Tell what a scheme or component does, its parameters and its source
    Explain(ExplainArgs),
    /// Check a scenario or topology file without running it
    Validate(ValidateArgs),
    /// Redraw the report of a result folder, compare two, or draw traces of fetches
    Report(ReportArgs),
    /// Run a scenario with real processes over emulated links, beside its simulation
    #[cfg(feature = "network")]
    Emulate(EmulateArgs),
    /// Play one process of an emulation; told what to do on standard input
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
  ndnweir sim linear --scheme bic --seed 7 --trace packets.pcapng")]
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
    /// Folder for the report, summary and series [default: results/SCENARIO, with a number if another command's
    /// results are there]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write into a folder that holds the results of another command
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document on standard output instead of the table: that of summary.json
    #[arg(long)]
    pub json: bool,
    /// The order of the table: by this column, the best first
    #[arg(long, value_name = "COLUMN", default_value = "goodput")]
    pub sort: SortBy,
    /// Show all columns of tables, however narrow the terminal
    #[arg(long)]
    pub wide: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Threads to use [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Also write every packet of the first run to a pcapng file for Wireshark (see docs/packet-traces.md)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Also write delay, hop count and path of every Data of the first run to a CSV file
    #[arg(long, value_name = "FILE")]
    pub deliveries: Option<PathBuf>,
}

/// What the table of `sim` is sorted by.
#[derive(Clone, Copy, ValueEnum)]
pub enum SortBy {
    Goodput,
    Delay,
    P99,
    Jain,
    Queue,
    Loss,
    /// The scheme's name
    Name,
    /// As the schemes were given
    Given,
}

impl From<SortBy> for Sort {
    fn from(by: SortBy) -> Sort {
        match by {
            SortBy::Goodput => Sort::Goodput,
            SortBy::Delay => Sort::Delay,
            SortBy::P99 => Sort::P99,
            SortBy::Jain => Sort::Jain,
            SortBy::Queue => Sort::Queue,
            SortBy::Loss => Sort::Loss,
            SortBy::Name => Sort::Name,
            SortBy::Given => Sort::Given,
        }
    }
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
    /// Write into a folder that holds the results of another command
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document on standard output instead of tables: that of summary.json
    #[arg(long)]
    pub json: bool,
    /// Show all columns of tables, however narrow the terminal
    #[arg(long)]
    pub wide: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
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
  ndnweir report trace.csv                             draw what `ndnweir get --trace` recorded")]
pub struct ReportArgs {
    /// One result folder to redraw, or two to compare; or one or two traces of fetches
    #[arg(required = true, num_args = 1..=2, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Where to write the comparison of two, or the page about traces [default: comparison.html, TRACE.html]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[cfg(feature = "network")]
#[derive(Args)]
pub struct ClientArgs {
    /// Where the forwarder is: unix:///PATH, tcp://HOST:PORT or udp://HOST:PORT
    /// [default: NDN_CLIENT_TRANSPORT, client.conf, or unix:///run/nfd/nfd.sock]
    #[arg(long, value_name = "URI")]
    pub transport: Option<String>,
}

#[cfg(feature = "network")]
#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir put video.mp4 /example/video
  ndnweir put data.bin /example/data --sign ed25519:key.pem
  ndnweir put data.bin /example/data/v=7 --once
  tar cz folder | ndnweir put - /example/folder
  ndnweir put data.bin /example/data --transport tcp://hub.example --key me.pem --key-name /example/me

Over TCP and UDP the forwarder must trust the key (see docs/management.md).
Serves until Ctrl-C. The version is the file's time of change unless the name ends in one.")]
pub struct PutArgs {
    /// The file; - is standard input, read to its end before it is published
    pub file: PathBuf,
    /// The object's name
    pub name: String,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub key: KeyArgs,
    /// How segments are signed: digest, ed25519:KEYFILE or ecdsa:KEYFILE (private keys in PKCS#8 PEM)
    #[arg(long, default_value = "digest", value_name = "HOW")]
    pub sign: String,
    /// Bytes of content in each segment
    #[arg(long, default_value_t = 8000, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1..=8800))]
    pub chunk: u16,
    /// How long segments count as fresh
    #[arg(long, default_value = "10s", value_name = "TIME")]
    pub freshness: String,
    /// Most signed segments kept in memory
    #[arg(long, default_value_t = 2048, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub cache: u32,
    /// End once every segment was asked for and nothing more for a second
    #[arg(long)]
    pub once: bool,
    /// End once no Interest came for so long
    #[arg(long, value_name = "TIME")]
    pub idle: Option<String>,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

#[cfg(feature = "network")]
#[derive(Args)]
pub struct FetchArgs {
    /// Whose consumer decides how much is asked for at once (see `ndnweir list`)
    #[arg(long, short, default_value = "bic", value_name = "NAME")]
    pub scheme: String,
    /// Change a parameter of the scheme's consumer, e.g. consumer.beta=0.7 (see `ndnweir explain NAME`); may be
    /// repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Which signatures are accepted: any, digest, ed25519:PUBFILE or ecdsa:PUBFILE (public keys in PEM)
    #[arg(long, default_value = "any", value_name = "WHOSE")]
    pub trust: String,
    /// Where Interests go, if not where their names lead: a name in their ForwardingHint; may be repeated, best first
    #[arg(long, value_name = "NAME")]
    pub hint: Vec<Name>,
    /// InterestLifetime
    #[arg(long, default_value = "4s", value_name = "TIME")]
    pub lifetime: String,
    /// Give up after so long without any answer
    #[arg(long, default_value = "15s", value_name = "TIME")]
    pub timeout: String,
    /// Spread the window over the round trip, so many times as fast; 0 sends all it allows at once
    #[arg(long, default_value_t = 1.25, value_name = "GAIN")]
    pub pace: f64,
    /// Largest share of lost segments that a window law takes for noise while round trips show no queue; 0 takes every
    /// loss for congestion, as published
    #[arg(long, default_value_t = 0.1, value_name = "SHARE")]
    pub noise: f64,
    /// Wait for timeouts even when later Interests were answered: for several paths of different length
    #[arg(long)]
    pub no_loss_detection: bool,
}

#[cfg(feature = "network")]
#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir get /example/video -o video.mp4
  ndnweir get /example/data --trust ed25519:key.pub -o data.bin --json
  ndnweir get /example/data | sha256sum
  ndnweir get /example/data -o data.bin --trace trace.csv && ndnweir report trace.csv
  ndnweir get /example/data -o data.bin --scheme bic --set consumer.timer.min=100ms
  ndnweir get /example/data -o data.bin --hint /net/site7     towards where the producer is now

An interrupted fetch to a file goes on where it ended when the same command is given again.")]
pub struct GetArgs {
    /// The object's name; the newest version unless the name ends in one
    pub name: String,
    #[command(flatten)]
    pub client: ClientArgs,
    /// Where to write it; - is standard output, as is the default unless that is a terminal
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub fetch: FetchArgs,
    /// Begin anew even if an earlier fetch left a part
    #[arg(long, requires = "output")]
    pub restart: bool,
    /// Print statistics as one JSON document on standard output
    #[arg(long, requires = "output")]
    pub json: bool,
    /// Write window, round-trip time and Interests in flight over time; draw with `ndnweir report FILE`
    #[arg(long, value_name = "FILE.csv")]
    pub trace: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
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

#[cfg(feature = "network")]
#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir fwd --unix /run/nfd/nfd.sock --udp 0.0.0.0:6363
      applications here, peers over UDP
  ndnweir fwd --unix /tmp/a.sock --udp 0.0.0.0:6363 --route /=udp4://192.0.2.1:6363
      everything unknown goes to a neighbour
  ndnweir fwd --unix /tmp/a.sock --udp 0.0.0.0:6363 --scheme pcon \\
      --route /example=udp4://192.0.2.1:6363 --rate udp4://192.0.2.1:6363=100Mbps
      sent at 100 Mbit/s, with the queue and the marks of a scheme
  ndnweir fwd --config fwd.toml --metrics 127.0.0.1:9090

SIGTERM or Ctrl-C ends it, SIGHUP reads the faces, routes, strategies and regions of the configuration again.
NDNWEIR_LOG=debug says more (see docs/forwarder.md).")]
pub struct FwdArgs {
    /// A configuration file (TOML); flags add to it or replace what it says
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Unix socket for applications; /run/nfd/nfd.sock is where they look first
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// UDP address to listen on; may be repeated
    #[arg(long, value_name = "ADDR:PORT")]
    pub udp: Vec<String>,
    /// TCP address to listen on; may be repeated
    #[arg(long, value_name = "ADDR:PORT")]
    pub tcp: Vec<String>,
    /// The scheme in force (see `ndnweir list`), "plain", or "measured" [default: measured]
    #[arg(long, short, value_name = "NAME")]
    pub scheme: Option<String>,
    /// The strategy of a prefix, such as /video=asf; may be repeated
    #[arg(long, value_name = "PREFIX=NAME")]
    pub strategy: Vec<String>,
    /// A route, such as /example=udp4://192.0.2.1:6363; may be repeated
    #[arg(long, value_name = "PREFIX=FACEURI")]
    pub route: Vec<String>,
    /// A region that this node is in: Interests whose ForwardingHint says so go by their names; may be repeated
    #[arg(long, value_name = "NAME")]
    pub region: Vec<String>,
    /// The rate at which a face sends, such as udp4://192.0.2.1:6363=100Mbps; may be repeated
    #[arg(long, value_name = "FACEURI=RATE")]
    pub rate: Vec<String>,
    /// Packets in the content store; 0 is none [default: 65536]
    #[arg(long, value_name = "PACKETS")]
    pub cs: Option<usize>,
    /// Serve Prometheus metrics at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<String>,
}

#[cfg(feature = "network")]
#[derive(Subcommand)]
pub enum BenchCommand {
    /// Fetch objects many times at once, and count
    Get(BenchGetArgs),
}

#[cfg(feature = "network")]
#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir bench get /example/video
  ndnweir bench get /a /b /c --fetches 300 --at-once 50 --scheme bic --json

Each fetch has a connection of its own, as a consumer of its own would; what arrives is checked and forgotten.")]
pub struct BenchGetArgs {
    /// The objects, fetched in turn
    #[arg(required = true)]
    pub names: Vec<String>,
    /// How many fetches in all
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub fetches: u32,
    /// How many at once
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub at_once: u16,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub fetch: FetchArgs,
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
