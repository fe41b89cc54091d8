//! The `ndnweir` command: reads arguments, calls the lab, prints.

mod args;
mod commands;
#[cfg(feature = "gnmi")]
mod control_args;
#[cfg(test)]
mod examples;
mod failure;
mod interrupt;
mod judge_args;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod large_pages;
#[cfg(feature = "network")]
mod manage_args;
#[cfg(feature = "network")]
mod network_args;
#[cfg(feature = "pack")]
mod pack_args;
mod progress;
mod run_args;
#[cfg(feature = "sweep")]
mod sweep_args;
mod terminal;
#[cfg(feature = "network")]
mod transfer_args;
#[cfg(feature = "network")]
mod transfer_progress;
#[cfg(feature = "view")]
mod view_args;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use failure::Failure;
use std::process::ExitCode;

/// Whether a command is there with other features of this crate alone.
fn is_left_out(word: &str) -> bool {
    match word {
        "sweep" => !cfg!(feature = "sweep"),
        "pack" | "repeat" => !cfg!(feature = "pack"),
        "view" => !cfg!(feature = "view"),
        "control" | "key" => !cfg!(feature = "gnmi"),
        "emulate" | "link" | "put" | "get" | "fwd" | "route" | "face" | "status" | "strategy" | "cs" => {
            !cfg!(feature = "network")
        }
        _ => false,
    }
}

fn main() -> ExitCode {
    let cli = args::Cli::try_parse().unwrap_or_else(|mut error| {
        // "To pass '--flag' as a value, use '-- --flag'" does not help a user who mistyped a flag.
        if error.kind() == ErrorKind::UnknownArgument {
            error.remove(ContextKind::Suggested);
            if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg)
                && word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                let remedy = "no option takes a negative number here; write one from 0 up".into();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![remedy]));
            }
        }
        if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
            && is_left_out(word)
        {
            let remedy = "cargo build --release  builds target/release/ndnweir with everything";
            Failure::input(format!("this build is without the command {word}\n  help: {remedy}")).report();
            std::process::exit(2);
        }
        error.exit()
    });
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    large_pages::begin_anew(&cli.command);
    match commands::dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
