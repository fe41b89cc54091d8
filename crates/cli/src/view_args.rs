//! What `ndnweir view` accepts.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir view                                  results/ in the browser; run scenarios there
  ndnweir view /data/results --port 8080        the same port each time
  ndnweir view --forwarder 127.0.0.1:9696       also what a running forwarder's faces carry (its `metrics` address)
  ndnweir view --fetch trace.csv                also what `ndnweir get … --trace trace.csv` sees while it fetches

Prints an address for the browser of this machine. Who has it can read the results and run shipped scenarios; no one
else is answered. Ctrl-C ends it (docs/view.md).")]
pub struct ViewArgs {
    /// The folder with result folders, and for new ones [default: results]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// The port on 127.0.0.1 [default: any that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "PORT")]
    pub port: u16,
    /// Watch a forwarder that serves its metrics here; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    pub forwarder: Vec<String>,
    /// Watch a fetch that writes this trace; may be repeated
    #[arg(long, value_name = "TRACE.csv")]
    pub fetch: Vec<PathBuf>,
}
