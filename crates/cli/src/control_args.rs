//! What `control` and `key` accept.

use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir control run control.toml
  ndnweir control status 127.0.0.1:9180")]
pub struct ControlArgs {
    #[command(subcommand)]
    pub command: ControlCommand,
}

#[derive(Subcommand)]
pub enum ControlCommand {
    /// Lead routers over gNMI or NFD's management protocol, by the planner of a scheme
    Run(ControlRunArgs),
    /// Show a controller's routers, links and latest decisions
    Status(ControlStatusArgs),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir control run control.toml
  ndnweir control run control.toml --dry-run

control.toml:
  scheme = \"ndnsieve\"
  listen = \"127.0.0.1:9180\"
  [[router]]
  name = \"west\"
  address = \"127.0.0.1:9339\"
  [[router]]
  name = \"old\"                                        NFD or ndnd, by its management protocol
  management = \"unix:///run/nfd/nfd.sock\"
  rates = { \"udp4://192.0.2.1:6363\" = \"20Mbps\" }

docs/controller.md has all settings, and how to run ndnSieve on three machines.")]
pub struct ControlRunArgs {
    /// The configuration
    #[arg(value_name = "FILE")]
    pub config: PathBuf,
    /// Decide and report, but change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir control status 127.0.0.1:9180
  ndnweir control status 127.0.0.1:9180 --json")]
pub struct ControlStatusArgs {
    /// Where the controller serves its state: `listen` of its configuration
    #[arg(value_name = "ADDRESS")]
    pub address: SocketAddr,
    /// Print all of it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir key certificates keys --host west=192.0.2.1 --host controller=192.0.2.9")]
pub struct KeysArgs {
    #[command(subcommand)]
    pub command: KeysCommand,
}

#[derive(Subcommand)]
pub enum KeysCommand {
    /// Make the certificates with which routers and controllers know each other
    Certificates(CertificatesArgs),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir key certificates keys --host west=192.0.2.1 --host east=192.0.2.2,east.example.net --host controller=192.0.2.9

Writes authority.pem and authority-key.pem if they are not there, and NAME.pem with NAME-key.pem for each host. Copy to
each host its own two files and authority.pem; keep authority-key.pem to yourself.")]
pub struct CertificatesArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// A host: the name of its files, and the addresses and names by which others reach it
    #[arg(long = "host", value_name = "NAME=ADDRESS,…", required = true)]
    pub hosts: Vec<String>,
    /// Days until the certificates end
    #[arg(long, default_value_t = 365, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub days: u16,
}
