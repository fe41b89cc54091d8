//! `ndnweir papers`.

use super::{print, print_json};
use crate::args::PapersArgs;
use crate::failure::Failure;
use crate::progress::Bar;
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
    if !args.json && !alone {
        let rows = list.iter().map(|p| format!("  {:<18} {}\n", p.name, p.summary));
        print(&format!("Papers\n{}\n", rows.collect::<String>()))?;
    }
    let stop = crate::interrupt::watch()?;
    let mut documents = Vec::new();
    for paper in &list {
        let out = match (&args.out, alone) {
            (Some(out), true) => out.clone(),
            (Some(out), false) => out.join(&paper.name),
            (None, _) => Path::new("results/papers").join(&paper.name),
        };
        documents.push(one(paper, args, &out, stop)?);
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Work(format!("interrupted; {} holds what was complete", out.display())));
        }
    }
    match (args.json, alone) {
        (true, true) => print_json(&documents.into_iter().next().unwrap_or_default()),
        (true, false) => print_json(&json!({ "papers": documents })),
        (false, _) => Ok(()),
    }
}

fn one(paper: &Paper, args: &PapersArgs, out: &Path, stop: &AtomicBool) -> Result<Value, Failure> {
    let bar = Bar::new(papers::count(paper, args.seeds as usize));
    let results = papers::run(paper, u64::from(args.seeds), &bar, stop);
    bar.done();
    let results = results.map_err(Failure::work)?;
    let judged = papers::judge(paper, &results.runs);
    let command = format!("ndnweir papers {} --seeds {}", paper.name, args.seeds);
    papers::write(paper, &results, &judged, &command, env!("CARGO_PKG_VERSION"), out).map_err(Failure::work)?;
    if !args.json {
        let report = out.join("report.html");
        print(&format!(
            "{}\n{}\n\n{}\n{}: {}; seeds 1 to {}; report: {}\n\n",
            paper.title,
            paper.citation,
            text::table(&judged),
            paper.name,
            text::tally(&judged),
            args.seeds,
            report.display()
        ))?;
    }
    Ok(text::json(paper, &judged))
}
