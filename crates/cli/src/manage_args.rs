//! What the commands that manage a forwarder accept.

use clap::{Args, Subcommand, ValueEnum};
use ndnweir_wire::Name;
use std::path::PathBuf;

/// The forwarder, and how to reach it.
#[derive(Args, Clone)]
pub struct RemoteArgs {
    /// Where the forwarder is: unix:///PATH or tcp://HOST:PORT
    /// [default: NDN_CLIENT_TRANSPORT, client.conf, or unix:///run/nfd/nfd.sock]
    #[arg(long, value_name = "URI", global = true)]
    pub transport: Option<String>,
    #[command(flatten)]
    pub key: KeyArgs,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
}

/// Who gives commands.
#[derive(Args, Clone)]
pub struct KeyArgs {
    /// Sign commands to the forwarder with this private key (PKCS#8 PEM, Ed25519 or P-256) instead of a digest
    #[arg(long, value_name = "FILE", global = true)]
    pub key: Option<PathBuf>,
    /// The name by which the forwarder knows the key
    #[arg(long, value_name = "NAME", global = true, requires = "key")]
    pub key_name: Option<Name>,
    /// Take only answers that the forwarder signed with this key (public, PEM) [default: NDNWEIR_FORWARDER_KEY, or
    /// answers of anyone]
    #[arg(long, value_name = "FILE", global = true)]
    pub forwarder_key: Option<PathBuf>,
}

#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  ndnweir route list
  ndnweir route add /example udp4://192.0.2.7     over the face to there, a new one if need be
  ndnweir route add /example 261 --cost 10        over face 261
  ndnweir route remove /example 261
  ndnweir route plan abilene --set routing.mode=planned"
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
    #[command(after_help = "\
Examples:
  ndnweir route list
  ndnweir route list --json")]
    List,
    /// Add a route, or change the one with the same prefix, face and origin
    #[command(after_help = "\
Examples:
  ndnweir route add /example udp4://192.0.2.7
  ndnweir route add /example 261 --cost 10 --expires 3600
  ndnweir route add /example udp4://192.0.2.7 --transport tcp://192.0.2.1:6363 --key key.pem --key-name /operator/KEY/1")]
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
    #[command(after_help = "\
Examples:
  ndnweir route remove /example udp4://192.0.2.7
  ndnweir route remove /example 261 --origin app")]
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
    /// Show the routes that a scenario's routing gives its nodes, or install them at their forwarders
    #[cfg(feature = "gnmi")]
    #[command(after_help = "\
Examples:
  ndnweir route plan abilene --set routing.mode=planned
  ndnweir route plan mine.toml --install control.toml
  ndnweir route plan mine.toml --install control.toml --down A-B    after the link A-B has failed

control.toml, as for `ndnweir control run`; names are those of the scenario's nodes:
  [[router]]
  name = \"A\"
  management = \"unix:///run/nfd/nfd.sock\"
  uris = [\"udp4://192.0.2.1:6363\"]                     where neighbours reach it

Routes get the origin `plan`. Those that are no longer planned are removed at all forwarders
before others are set: so no mixture of old and new ones forms a loop.")]
    Plan {
        /// A scenario file, or the name of a shipped one
        scenario: String,
        /// Change the scenario, e.g. routing.mode=planned; may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE")]
        overrides: Vec<String>,
        /// A link that does not work; may be repeated
        #[arg(long, value_name = "LINK")]
        down: Vec<String>,
        /// Install the routes at the routers of this configuration of a controller, by their `management` or `address`
        #[arg(long, value_name = "FILE", conflicts_with_all = ["transport", "key", "forwarder_key"])]
        install: Option<PathBuf>,
        /// With --install: show what would change, and change nothing
        #[arg(long, requires = "install")]
        dry_run: bool,
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
    #[command(after_help = "\
Examples:
  ndnweir face list
  ndnweir face list --json")]
    List,
    /// List the sockets on which others may begin faces
    #[command(after_help = "Example:\n  ndnweir face channels")]
    Channels,
    /// Show one face with all its counters
    #[command(after_help = "\
Examples:
  ndnweir face show 261
  ndnweir face show udp4://192.0.2.7")]
    Show {
        /// A face's number, or the URI of its other end
        #[arg(value_name = "FACE|URI")]
        face: String,
    },
    /// Create a face; says which one when there is one to this place already
    #[command(after_help = "\
Examples:
  ndnweir face create udp4://192.0.2.7
  ndnweir face create tcp4://router.example.net:6363 --persistency permanent
  ndnweir face create udp6://[2001:db8::7]:6363 --mtu 1200")]
    Create {
        /// The other end: udp4://HOST:PORT, tcp4://HOST:PORT and the like; names are resolved here
        uri: String,
        /// This end, at forwarders that let it be chosen; `ndnweir fwd`, NFD and ndnd do not over UDP and TCP
        #[arg(long, value_name = "URI")]
        local: Option<String>,
        /// How long the face lives; persistent if not said
        #[arg(long, value_enum)]
        persistency: Option<Persistency>,
        /// The largest link packet, in bytes
        #[arg(long, value_name = "BYTES")]
        mtu: Option<u64>,
        /// Whether lost frames on UDP are sent again where the neighbour takes part; the forwarder's default if not
        /// said
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        reliability: Option<bool>,
    },
    /// Destroy a face and its routes
    #[command(after_help = "\
Examples:
  ndnweir face destroy 261
  ndnweir face destroy udp4://192.0.2.7")]
    Destroy {
        /// A face's number, or the URI of its other end
        #[arg(value_name = "FACE|URI")]
        face: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
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
  ndnweir status --watch            what its faces carry, until q or Ctrl-C
  ndnweir status --transport unix:///run/ndnweir/other.sock")]
pub struct StatusArgs {
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// Show in the terminal what its faces carry, once a second
    #[cfg(feature = "view")]
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
}

#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  ndnweir strategy list
  ndnweir strategy set /video best-route               short for /localhost/nfd/strategy/best-route
  ndnweir strategy set /video /localhost/nfd/strategy/best-route/v=5
  ndnweir strategy set /video asf/v=5/max-timeouts~5     with a parameter
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
    #[command(after_help = "Example:\n  ndnweir strategy list")]
    List,
    /// Give a prefix a strategy
    #[command(after_help = "Example:\n  ndnweir strategy set /video best-route")]
    Set {
        /// Names that start with this
        prefix: Name,
        /// A strategy's name, full or only its last part
        strategy: String,
    },
    /// Let a prefix have the strategy of the next shorter one
    #[command(after_help = "Example:\n  ndnweir strategy unset /video")]
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
  ndnweir cs config --capacity 100000
  ndnweir cs config --admit off                        keeps what it has and takes nothing in
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
    #[command(after_help = "\
Examples:
  ndnweir cs info
  ndnweir cs info --json")]
    Info,
    /// Change capacity, admission and service; the rest stays
    #[command(after_help = "\
Examples:
  ndnweir cs config --capacity 100000
  ndnweir cs config --admit off --serve on")]
    Config {
        /// Hold at most this many packets
        #[arg(long, value_name = "PACKETS")]
        capacity: Option<u64>,
        /// Whether Data are taken in
        #[arg(long, value_enum)]
        admit: Option<Switch>,
        /// Whether Interests are answered from it
        #[arg(long, value_enum)]
        serve: Option<Switch>,
    },
    /// Erase the packets whose names start with a prefix
    #[command(after_help = "\
Examples:
  ndnweir cs erase /example
  ndnweir cs erase / --count 1000")]
    Erase {
        /// The prefix
        prefix: Name,
        /// Erase at most this many packets
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
    },
}
