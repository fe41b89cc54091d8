//! `ndnweir sweep`.

use super::{print, print_json};
use crate::failure::Failure;
use crate::progress::Bar;
use crate::sweep_args::SweepArgs;
use ndnweir_core::plain;
use ndnweir_lab::jobs::engine;
use ndnweir_lab::results::tables::Table;
use ndnweir_lab::sweep::{Job, Plan, PlanOptions, Sweep, merge};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    super::use_threads(args.threads);
    let plan = plan(args)?;
    let engine = engine(env!("CARGO_PKG_VERSION")).map_err(Failure::work)?;
    let folder = args.out.clone().unwrap_or_else(|| Path::new("results").join(&plan.name));
    let sweep = Sweep::new(&plan, &engine, &folder);
    if args.status {
        return status(&sweep, args);
    }
    let wanted = match (args.shard, args.run.as_slice()) {
        (Some(shard), _) => sweep.part(shard.part - 1, shard.of),
        (None, []) => (0..sweep.len()).collect(),
        (None, keys) => sweep.jobs_named(keys).map_err(|key| {
            Failure::Input(format!("--run {key}: no run has a key that begins so; see `ndnweir sweep PLAN --list`"))
        })?,
    };
    if args.list {
        return list(&sweep, &wanted, &engine, args);
    }
    sweep.claim(words(args)).map_err(Failure::input)?;
    if !args.merge {
        let stop = crate::interrupt::watch()?;
        let bar = Bar::new(wanted.len(), args.quiet);
        let done = sweep.run(&wanted, &bar, stop);
        bar.done();
        let done = done.map_err(Failure::work)?;
        if stop.load(Ordering::Relaxed) {
            let place = folder.display();
            return Err(Failure::Work(format!(
                "interrupted; {place} keeps {done} of {} runs, and the same command goes on from there",
                wanted.len()
            )));
        }
    }
    let part = args.shard.filter(|_| args.merge).map(|shard| (shard.part, shard.of));
    if part.is_none() && (args.shard.is_some() || !args.run.is_empty()) {
        return said(args, || json!({ "runs": wanted.len() }), || format!("{} runs stored\n", wanted.len()));
    }
    let tables = merge(&sweep, &wanted, part).map_err(Failure::work)?;
    let name = folder.file_name().map_or(plan.name.clone(), |name| name.to_string_lossy().into_owned());
    // Pictures are of the whole.
    let page = match tables.iter().find(|(_, table)| table.name == "runs" && part.is_none()) {
        Some((_, runs)) => Some(super::sweep_report::write(&name, runs, &folder, None)?.display().to_string()),
        None => None,
    };
    let files: Vec<String> = tables.iter().map(|(path, _)| path.display().to_string()).collect();
    let rows = |(_, table): &(PathBuf, Table)| json!({ "table": table.name, "rows": table.len() });
    said(
        args,
        || {
            let tables: Vec<_> = tables.iter().map(rows).collect();
            json!({ "runs": wanted.len(), "tables": tables, "files": files, "report": page })
        },
        || {
            let report = page.as_ref().map_or(String::new(), |page| format!("report: {page}\n"));
            format!("{} runs; tables: {}\n{report}", wanted.len(), files.join(", "))
        },
    )
}

/// The plan, as the options change it.
pub(super) fn plan(args: &SweepArgs) -> Result<Plan, Failure> {
    plan_within(args, false)
}

/// As [`plan`]; with `here` nothing outside of the current folder is opened.
pub(super) fn plan_within(args: &SweepArgs, here: bool) -> Result<Plan, Failure> {
    let options = PlanOptions { schemes: args.scheme.clone(), seeds: args.seeds, set: args.overrides.clone(), here };
    Plan::read(&args.plan, &options).map_err(Failure::input)
}

/// The words of the command that runs all of it.
fn words(args: &SweepArgs) -> Vec<String> {
    let mut words = vec!["ndnweir".into(), "sweep".into(), args.plan.display().to_string()];
    if !args.scheme.is_empty() {
        words.extend(["--scheme".into(), args.scheme.join(",")]);
    }
    words.extend(args.seeds.iter().flat_map(|seeds| ["--seeds".into(), seeds.to_string()]));
    words.extend(args.overrides.iter().flat_map(|change| ["--set".into(), change.clone()]));
    words
}

/// Prints what was done, as JSON or as text.
fn said(
    args: &SweepArgs,
    document: impl FnOnce() -> serde_json::Value,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match (args.json, args.quiet) {
        (true, _) => print_json(&document()),
        (false, true) => Ok(()),
        (false, false) => print(&text()),
    }
}

fn list(sweep: &Sweep<'_>, wanted: &[usize], engine: &str, args: &SweepArgs) -> Result<(), Failure> {
    let all = sweep.list();
    let jobs: Vec<&Job> = wanted.iter().map(|&job| &all[job]).collect();
    if args.json {
        return print_json(&json!({ "engine": engine, "runs": jobs }));
    }
    let line = |job: &Job| {
        let Job { key, experiment, case, scheme, seed, cost } = job;
        let case = if case.is_empty() { String::new() } else { format!(", {}", plain::line(case)) };
        format!("{key}  {experiment}{case}; {scheme}, seed {seed}; {:.1} M packet-hops\n", *cost as f64 / 1e6)
    };
    print(&jobs.into_iter().map(line).collect::<String>())
}

fn status(sweep: &Sweep<'_>, args: &SweepArgs) -> Result<(), Failure> {
    let status = sweep.status();
    if args.json {
        return print_json(&json!(status));
    }
    let percent = status.done_thousandths as f64 / 10.0;
    let mut text = format!("{} of {} runs stored, about {percent:.1} % of the work\n", status.done, status.jobs);
    status.damaged.iter().for_each(|what| text.push_str(&format!("damaged: {what}\n")));
    print(&text)
}
