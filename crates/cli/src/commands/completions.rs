//! `ndnweir completions`.

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use clap::CommandFactory;

pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ndnweir", &mut script);
    super::print(&String::from_utf8_lossy(&script))
}
