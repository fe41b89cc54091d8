//! One file per command.

mod bench;
#[cfg(feature = "network")]
mod bench_get;
mod cases;
#[cfg(feature = "gnmi")]
mod certificates;
mod checkpoints;
mod completions;
#[cfg(feature = "gnmi")]
mod control;
#[cfg(feature = "network")]
mod emulate;
#[cfg(feature = "network")]
mod emulate_folder;
mod explain;
#[cfg(feature = "network")]
mod fwd;
#[cfg(feature = "network")]
mod get;
mod inputs;
mod judge;
mod judge_plan;
#[cfg(feature = "network")]
mod key;
#[cfg(feature = "network")]
mod link;
mod list;
mod man;
#[cfg(feature = "network")]
mod manage;
mod outputs;
#[cfg(feature = "pack")]
mod pack;
#[cfg(feature = "pack")]
mod pack_again;
mod papers;
#[cfg(feature = "network")]
mod put;
mod repeat;
mod report;
mod run_files;
mod sim;
#[cfg(feature = "sweep")]
mod sweep;
#[cfg(feature = "sweep")]
mod sweep_report;
mod target;
#[cfg(feature = "network")]
mod transfer;
mod validate;
#[cfg(feature = "view")]
mod view;
mod watchers;

use crate::args::Command;
use crate::failure::Failure;
use ndnweir_core::plain;
use ndnweir_lab::text_table::plain_but_for_tones;
use std::io::Write;

/// Runs the command.
pub fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Sim(args) => sim::run(&args),
        Command::Judge(args) => judge::run(args),
        #[cfg(feature = "sweep")]
        Command::Sweep(args) => sweep::run(&args),
        #[cfg(feature = "pack")]
        Command::Pack(args) => pack::run(&args),
        #[cfg(feature = "pack")]
        Command::Repeat(args) => pack_again::run(&args),
        Command::Papers(args) => papers::run(&args),
        #[cfg(feature = "network")]
        Command::Emulate(args) => emulate::run(&args),
        #[cfg(feature = "network")]
        Command::EmulationRole => emulate::role(),
        #[cfg(feature = "network")]
        Command::Link(args) => link::run(&args),
        Command::List(args) => list::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Report(args) => report::run(&args),
        #[cfg(feature = "view")]
        Command::View(args) => view::run(&args),
        #[cfg(feature = "network")]
        Command::Put(args) => put::run(&args),
        #[cfg(feature = "network")]
        Command::Get(args) => get::run(&args),
        Command::Bench(args) => bench::run(&args),
        #[cfg(feature = "network")]
        Command::Route(args) => manage::route::run(&args),
        #[cfg(feature = "network")]
        Command::Face(args) => manage::face::run(&args),
        #[cfg(feature = "network")]
        Command::Status(args) => manage::status::run(&args),
        #[cfg(feature = "network")]
        Command::Strategy(args) => manage::strategy::run(&args),
        #[cfg(feature = "network")]
        Command::Cs(args) => manage::cs::run(&args),
        #[cfg(feature = "network")]
        Command::Fwd(args) => fwd::run(&args),
        #[cfg(feature = "gnmi")]
        Command::Control(args) => control::run(&args),
        #[cfg(feature = "gnmi")]
        Command::Key(args) => certificates::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

/// Uses so many threads from now on, if a number is given.
fn use_threads(threads: Option<u16>) {
    if let Some(threads) = threads {
        // Fails only when a pool exists already: `repeat` runs a command after it has made its own.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
}

/// Writes `text` to standard output; a terminal obeys nothing in it.
fn print(text: &str) -> Result<(), Failure> {
    write(&plain::lines(text))
}

/// Writes tables, in colour where there are any, with the text above and below them to standard output.
fn print_tables(above: &str, tables: &str, below: &str) -> Result<(), Failure> {
    write(&format!("{}{}{}", plain::lines(above), plain_but_for_tones(tables), plain::lines(below)))
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Fails with all that went wrong after the work was done, if anything did.
fn outcome(problems: &[String]) -> Result<(), Failure> {
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::Work(problems.join("\n"))),
    }
}

/// Writes `value` to standard output as JSON.
fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print_document(&format!("{value:#}\n"))
}

/// Writes a JSON document to standard output.
fn print_document(text: &str) -> Result<(), Failure> {
    write(&plain::json(text))
}
