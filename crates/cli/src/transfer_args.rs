//! What the commands that publish and fetch objects accept.

use crate::manage_args::KeyArgs;
use clap::{Args, Subcommand};
use ndnweir_wire::Name;
use std::path::PathBuf;

#[derive(Args)]
pub struct ClientArgs {
    /// Where the forwarder is: unix:///PATH, tcp://HOST:PORT or udp://HOST:PORT
    /// [default: NDN_CLIENT_TRANSPORT, client.conf, or unix:///run/nfd/nfd.sock]
    #[arg(long, value_name = "URI")]
    pub transport: Option<String>,
}

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
    /// End once every segment was requested and nothing more for a second
    #[arg(long)]
    pub once: bool,
    /// End once no Interest came for so long
    #[arg(long, value_name = "TIME")]
    pub idle: Option<String>,
    /// Say only errors
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct FetchArgs {
    /// Whose consumer decides how much is requested at once (see `ndnweir list`)
    #[arg(long, short, default_value = ndnweir_net::application::SCHEME, value_name = "NAME")]
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
    #[arg(long, default_value_t = ndnweir_net::transfer::real_path::NOISE, value_name = "SHARE")]
    pub noise: f64,
    /// Wait for timeouts even when later Interests were answered: for several paths of different length
    #[arg(long)]
    pub no_loss_detection: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir get /example/video -o video.mp4
  ndnweir get /example/data --trust ed25519:key.pub -o data.bin --json
  ndnweir get /example/data | sha256sum
  ndnweir get /example/data -o data.bin --trace trace.csv && ndnweir report trace.csv
  ndnweir get /example/data -o data.bin --qlog fetch.sqlog        open it in qvis
  ndnweir get /example/data -o data.bin --scheme bic --set consumer.timer.min=100ms
  ndnweir get /example/data -o data.bin --hint /net/site7     towards where the producer is now

An interrupted fetch to a file continues where it ended when the same command is given again.")]
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
    /// Begin again even if an earlier fetch left a part
    #[arg(long, requires = "output")]
    pub restart: bool,
    /// Print statistics as one JSON document on standard output
    #[arg(long, requires = "output")]
    pub json: bool,
    /// Write window, round-trip time and Interests in flight over time; draw with `ndnweir report FILE`
    #[arg(long, value_name = "FILE.csv")]
    pub trace: Option<PathBuf>,
    /// Write what is requested, arrives and is lost as qlog, for qvis (see docs/packet-traces.md)
    #[arg(long, value_name = "FILE.sqlog")]
    pub qlog: Option<PathBuf>,
    /// Say only errors
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Subcommand)]
pub enum BenchCommand {
    /// Fetch objects many times at once, and count
    Get(BenchGetArgs),
}

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
