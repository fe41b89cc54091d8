//! `ndnweir papers`.

use super::target::{self, Target};
use super::{outcome, print, print_json, print_tables};
use crate::args::PapersArgs;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::terminal;
use ndnweir_lab::papers::{self, Folder, Paper, library, text};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub fn run(args: &PapersArgs) -> Result<(), Failure> {
    // Everything is read and checked before anything runs.
    let read = |name: &str| Folder::find(name).and_then(|folder| papers::read(&folder)).map_err(Failure::input);
    let list: Vec<Paper> = match &args.paper {
        Some(name) => vec![read(name)?],
        None => library::names().into_iter().map(read).collect::<Result<_, _>>()?,
    };
    let alone = args.paper.is_some();
    if !args.output.json && !args.output.quiet && !alone {
        let rows = list.iter().map(|p| format!("  {:<18} {}\n", p.name, p.summary));
        print(&format!("Papers\n{}\n", rows.collect::<String>()))?;
    }
    let folder = |paper: &Paper| match (&args.out, alone) {
        (Some(out), true) => out.clone(),
        (Some(out), false) => out.join(&paper.name),
        (None, _) => Path::new("results/papers").join(&paper.name),
    };
    let named = args.out.is_some();
    let choose = |paper: &Paper| {
        let folder = folder(paper);
        let named = named.then_some(folder.as_path());
        target::choose(named, folder.clone(), Some(&command(paper, args)), args.output.force)
    };
    let outs: Vec<Target> = list.iter().map(choose).collect::<Result<_, _>>()?;
    let stop = crate::interrupt::watch()?;
    let mut documents = Vec::new();
    let mut problems = Vec::new();
    for (paper, out) in list.iter().zip(outs) {
        documents.push(one(paper, args, out, stop, &mut problems)?);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    match (args.output.json, alone) {
        (true, true) => print_json(&documents.into_iter().next().unwrap_or_default())?,
        (true, false) => print_json(&json!({ "papers": documents }))?,
        (false, _) => {}
    }
    outcome(&problems)
}

/// The command that gives the same numbers again.
fn command(paper: &Paper, args: &PapersArgs) -> String {
    format!("ndnweir papers {} --seeds {}", paper.name, args.seeds)
}

fn one(
    paper: &Paper,
    args: &PapersArgs,
    target: Target,
    stop: &AtomicBool,
    problems: &mut Vec<String>,
) -> Result<Value, Failure> {
    let (command, version) = (command(paper, args), env!("CARGO_PKG_VERSION"));
    let bar = Bar::new(papers::count(paper, args.seeds as usize), args.output.quiet);
    let results = papers::run(paper, u64::from(args.seeds), &bar, stop);
    bar.done();
    let results = results.map_err(Failure::work)?;
    let judged = papers::judge(paper, &results.runs);
    let note = target.note.clone().map(|note| format!("note: {note}\n")).unwrap_or_default();
    let interrupted = stop.load(Ordering::Relaxed);
    let out = if interrupted { target.interrupted(false)? } else { target.folder };
    if let Err(error) = ndnweir_report::papers::write(paper, &results, &judged, &command, version, &out) {
        problems.push(error.to_string());
    }
    if interrupted {
        problems.push(format!("interrupted; {} holds what was complete", out.display()));
    }
    if !args.output.json && !args.output.quiet {
        let report = out.join("report.html");
        let style = terminal::table_style(args.output.wide);
        let above = format!("{}\n{}\n\n", paper.title, paper.citation);
        let tables =
            [text::table(&judged, style), text::readings(paper, &judged, style), text::summary(paper, &judged, style)];
        let (tally, seeds) = (text::tally(&judged), args.seeds);
        let below = format!("\n{note}{}: {tally}; seeds 1 to {seeds}; report: {}\n\n", paper.name, report.display());
        print_tables(&above, &tables.join("\n"), &below)?;
    }
    Ok(text::json(paper, &judged, &command, version))
}
