//! What `ndnweir pack` and `ndnweir repeat` accept.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir pack results/dumbbell                    writes dumbbell.tar.gz
  ndnweir pack results/buffers -o buffers.tar.gz   of `ndnweir sim` or `ndnweir sweep`
  ndnweir repeat buffers.tar.gz                    what a reviewer does with it

Give it in the folder where the command ran: paths of scenarios and plans are relative to it.")]
pub struct PackArgs {
    /// A folder that `ndnweir sim` or `ndnweir sweep` wrote
    pub folder: PathBuf,
    /// The archive [default: the folder's name with .tar.gz, here]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir repeat dumbbell.tar.gz                   unpacks into dumbbell, runs, compares
  ndnweir repeat dumbbell.tar.gz --out check

Exit status: 0 the same bytes, 1 different ones or failed work, 2 no pack.")]
pub struct RepeatArgs {
    /// An archive of `ndnweir pack`; it may come from anyone
    pub archive: PathBuf,
    /// A new folder for what is in it, and for the results, in `repeated` [default: the archive's name without its ending]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Threads to use [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}
