//! The `ndnweir` command: reads arguments, calls the lab, prints.

mod args;
mod commands;
mod failure;
mod interrupt;
mod manage_args;
mod progress;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    match commands::dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
