//! What the commands that manage a forwarder accept.

use clap::{Args, Subcommand, ValueEnum};
use ndnweir_wire::Name;
use std::path::PathBuf;

/// Which forwarder, and how to speak with it.
#[derive(Args, Clone)]
pub struct RemoteArgs {
    /// Where the forwarder is: unix:///PATH or tcp://HOST:PORT
    /// [default: NDN_CLIENT_TRANSPORT, client.conf, or unix:///run/nfd/nfd.sock]
    #[arg(long, value_name = "URI", global = true)]
    pub transport: Option<String>,
    /// Sign commands with this private key (PKCS#8 PEM, Ed25519 or P-256) instead of a digest
    #[arg(long, value_name = "FILE", global = true)]
    pub key: Option<PathBuf>,
    /// The name by which the forwarder knows the key
    #[arg(long, value_name = "NAME", global = true, requires = "key")]
    pub key_name: Option<Name>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  ndnweir route list
  ndnweir route add /example udp4://192.0.2.7     over the face to there, a new one if need be
  ndnweir route add /example 261 --cost 10        over face 261
  ndnweir route remove /example 261"
)]
pub struct RouteArgs {
    #[command(flatten)]
    pub remote: RemoteArgs,
    #[command(subcommand)]
    pub action: RouteAction,
}

#[derive(Subcommand)]
pub enum RouteAction {
    /// List all routes
    List,
    /// Add a route, or change the one with the same prefix, face and origin
    Add {
        /// Names that start with this go over the route
        prefix: Name,
        /// A face's number, or the URI of its other end
        #[arg(value_name = "FACE|URI")]
        face: String,
        /// The cheapest route is best
        #[arg(long, default_value_t = 0)]
        cost: u64,
        /// Who makes the route: app, autoreg, client, autoconf, nlsr, prefixann, static, or a number
        #[arg(long, default_value = "static")]
        origin: String,
        /// Longer prefixes with routes of their own do not use this one
        #[arg(long)]
        no_inherit: bool,
        /// This prefix and longer ones do not use routes of shorter ones
        #[arg(long)]
        capture: bool,
        /// Remove the route after this many seconds
        #[arg(long, value_name = "SECONDS")]
        expires: Option<u64>,
    },
    /// Remove a route
    Remove {
        /// The route's prefix
        prefix: Name,
        /// A face's number, or the URI of its other end
        #[arg(value_name = "FACE|URI")]
        face: String,
        /// The route's origin
        #[arg(long, default_value = "static")]
        origin: String,
    },
}

#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  ndnweir face list
  ndnweir face create udp4://192.0.2.7 --persistency permanent --mtu 1400
  ndnweir face show 261
  ndnweir face destroy udp4://192.0.2.7"
)]
pub struct FaceArgs {
    #[command(flatten)]
    pub remote: RemoteArgs,
    #[command(subcommand)]
    pub action: FaceAction,
}

#[derive(Subcommand)]
pub enum FaceAction {
    /// List all faces
    List,
    /// Show one face with all its counters
    Show {
        /// A face's number, or the URI of its other end
        #[arg(value_name = "FACE|URI")]
        face: String,
    },
    /// Create a face; says which one when there is one to this place already
    Create {
        /// The other end: udp4://HOST:PORT, tcp4://HOST:PORT and the like; names are resolved here
        uri: String,
        /// This end
        #[arg(long, value_name = "URI")]
        local: Option<String>,
        /// How long the face lives
        #[arg(long, value_enum, default_value_t = Persistency::Persistent)]
        persistency: Persistency,
        /// The largest link packet, in bytes
        #[arg(long, value_name = "BYTES")]
        mtu: Option<u64>,
        /// Whether losses on UDP are repaired where the neighbour takes part; the forwarder's default if not said
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        reliability: Option<bool>,
    },
    /// Destroy a face and its routes
    Destroy {
        /// A face's number, or the URI of its other end
        #[arg(value_name = "FACE|URI")]
        face: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Persistency {
    /// Until it is destroyed or its link fails
    Persistent,
    /// Until it is destroyed
    Permanent,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir status
  ndnweir status --json
  ndnweir status --transport unix:///run/ndnweir/other.sock")]
pub struct StatusArgs {
    #[command(flatten)]
    pub remote: RemoteArgs,
}

#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  ndnweir strategy list
  ndnweir strategy set /video best-route               short for /localhost/nfd/strategy/best-route
  ndnweir strategy set /video /localhost/nfd/strategy/best-route/v=5
  ndnweir strategy unset /video"
)]
pub struct StrategyArgs {
    #[command(flatten)]
    pub remote: RemoteArgs,
    #[command(subcommand)]
    pub action: StrategyAction,
}

#[derive(Subcommand)]
pub enum StrategyAction {
    /// List which prefixes have which strategy
    List,
    /// Give a prefix a strategy
    Set {
        /// Names that start with this
        prefix: Name,
        /// A strategy's name, full or only its last part
        strategy: String,
    },
    /// Let a prefix have the strategy of the next shorter one
    Unset {
        /// The prefix
        prefix: Name,
    },
}

#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  ndnweir cs info
  ndnweir cs erase /example
  ndnweir cs erase / --count 1000"
)]
pub struct CsArgs {
    #[command(flatten)]
    pub remote: RemoteArgs,
    #[command(subcommand)]
    pub action: CsAction,
}

#[derive(Subcommand)]
pub enum CsAction {
    /// Show capacity, size, hits and misses
    Info,
    /// Erase the packets whose names start with a prefix
    Erase {
        /// The prefix
        prefix: Name,
        /// Erase at most this many packets
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
    },
}
