//! One file per command.

mod bench;
mod bench_get;
mod completions;
pub mod emulate;
mod explain;
mod fwd;
mod get;
mod key;
pub mod link;
mod list;
mod manage;
mod papers;
mod put;
mod report;
mod sim;
mod transfer;
mod validate;

use crate::args::Command;
use crate::failure::Failure;
use std::io::Write;

/// Runs the command.
pub fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Sim(args) => sim::run(&args),
        Command::Papers(args) => papers::run(&args),
        Command::Emulate(args) => emulate::run(&args),
        Command::EmulationRole => ndnweir_net::roles::run().map_err(Failure::work),
        Command::Link(args) => link::run(&args),
        Command::List(args) => list::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Put(args) => put::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Route(args) => manage::route::run(&args),
        Command::Face(args) => manage::face::run(&args),
        Command::Status(args) => manage::status::run(&args),
        Command::Strategy(args) => manage::strategy::run(&args),
        Command::Cs(args) => manage::cs::run(&args),
        Command::Fwd(args) => fwd::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}

/// Writes `text` to standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes `value` to standard output as JSON.
fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}
