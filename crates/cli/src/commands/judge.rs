//! `ndnweir judge`.

use super::judge_plan::Plan;
use super::outputs::make_folder;
use super::{outcome, print, print_json, print_tables, target};
use crate::failure::Failure;
use crate::judge_args::{JudgeArgs, Shard};
use crate::progress::Bar;
use crate::terminal;
use ndnweir_core::plain;
use ndnweir_lab::criteria::{self, Criterion, Depth, Folder, Job, Jobs, Judgement, ReadOptions, Strength, text};
use ndnweir_lab::experiment;
use ndnweir_lab::jobs::{self, StoredResults};
use ndnweir_lab::results::shell_word;
use ndnweir_lab::text_table::{Column, Row, TextTable, Tone};
use ndnweir_report::judge::{self as report, About};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// With more schemes than this, the terminal gets letters instead of words.
const MAX_WORD_COLUMNS: usize = 5;

pub fn run(mut args: JudgeArgs) -> Result<(), Failure> {
    let Some(path) = args.run_plan.take() else { return judge(&args, None) };
    let plan = Plan::read(&path)?;
    plan.apply_to(&mut args);
    judge(&args, Some((&path, &plan)))
}

fn judge(args: &JudgeArgs, plan: Option<(&Path, &Plan)>) -> Result<(), Failure> {
    super::use_threads(args.threads);
    // What is wrong with options that a plan has is wrong with its file.
    let of_plan = |failure: Failure| match (failure, plan) {
        (Failure::Input(what), Some((path, _))) => Failure::Input(format!("{}: {what}", path.display())),
        (failure, _) => failure,
    };
    let folder = Folder::find(args.criteria.as_deref()).map_err(Failure::input).map_err(of_plan)?;
    if let Some(other) = args.overrides.iter().find(|set| !set.starts_with("scheme.")) {
        return Err(of_plan(Failure::Input(format!(
            "--set {other}: criteria choose their scenarios; change schemes alone, such as scheme.pcon.consumer.beta=0.7"
        ))));
    }
    let depth = match (args.quick, args.full) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Full,
        _ => Depth::Default,
    };
    // The list shows what is drawn too.
    let held_out = args.held_out.or(args.list.then_some(1));
    let options = ReadOptions { depth, held_out, set: args.overrides.clone() };
    let criteria = criteria::read_all(&folder, &args.only, &options).map_err(Failure::input).map_err(of_plan)?;
    if args.list {
        return list(&criteria, args);
    }
    let (names, compared_from) = schemes(&criteria, args).map_err(of_plan)?;
    let seeds: Vec<u64> = (1..=u64::from(args.seeds)).collect();
    let planned = args.plan.is_some() || args.list_jobs || args.jobs.is_some() || plan.is_some();
    let engine = if planned { jobs::engine(env!("CARGO_PKG_VERSION")).map_err(Failure::work)? } else { String::new() };
    let jobs = Jobs::new(&criteria, &names, &seeds, &engine).map_err(Failure::work)?;
    if let Some((path, plan)) = plan {
        plan.check(path, &engine, &jobs.list())?;
    }
    if args.list_jobs {
        return list_jobs(&jobs.list(), &engine, args);
    }
    if let Some(path) = &args.plan {
        return Plan::new(args, engine, jobs.list()).write(path);
    }
    let stored = args.jobs.as_ref().map(|folder| StoredResults::new(folder));
    if let (Some(shard), Some(stored)) = (args.shard, &stored) {
        args.jobs.as_deref().map_or(Ok(()), make_folder)?;
        return part(&jobs, stored, shard, args);
    }
    let command = command(args);
    let default = PathBuf::from("results/judge");
    let target = target::choose(args.out.as_deref(), default, Some(&command), args.output.force)?;
    args.jobs.as_deref().map_or(Ok(()), make_folder)?;
    let stop = crate::interrupt::watch()?;
    let bar = Bar::new(jobs.len(), args.output.quiet);
    let judged = jobs.run(stored.as_ref(), &bar, stop);
    bar.done();
    let judgement = judged.map_err(Failure::work)?;
    let interrupted = stop.load(Ordering::Relaxed);
    let note = target.note.clone();
    let out = if interrupted { target.interrupted(false)? } else { target.folder };
    let (dated, version) = (folder.dated(), env!("CARGO_PKG_VERSION"));
    let about =
        About { dated: dated.as_deref(), depth: depth.text(), command: &command, version, compared_from, folder: &out };
    // From here on there are results: if anything fails, the rest is still written and printed.
    let mut problems = Vec::new();
    if let Err(error) = report::write(&criteria, &judgement, &about) {
        problems.push(error.to_string());
    }
    if interrupted {
        problems.push(format!("interrupted; {} holds what was complete", out.display()));
    }
    if args.output.json {
        print_json(&text::json(&criteria, &judgement, &command, version))?;
    } else if !args.output.quiet {
        let note = note.map(|note| format!("note: {note}\n")).unwrap_or_default();
        let below = format!("{note}{}", last(&judgement, &out));
        print_tables("", &shown(&criteria, &judgement, args), &below)?;
    }
    outcome(&problems)
}

/// The jobs of one part, done and stored; no page, since others do the rest.
fn part(jobs: &Jobs<'_>, stored: &StoredResults, shard: Shard, args: &JudgeArgs) -> Result<(), Failure> {
    let stop = crate::interrupt::watch()?;
    let mine = jobs.part(shard.part - 1, shard.of);
    let bar = Bar::new(jobs.len(), args.output.quiet);
    let done = jobs.store(&mine, stored, &bar, stop);
    bar.done();
    let done = done.map_err(Failure::work)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Work(format!("interrupted; {done} jobs of this part are kept")));
    }
    if args.output.json {
        return print_json(&json!({ "part": shard.part, "of": shard.of, "jobs": done }));
    }
    match args.output.quiet {
        true => Ok(()),
        false => print(&format!("{done} jobs kept: part {} of {}\n", shard.part, shard.of)),
    }
}

fn list_jobs(jobs: &[Job], engine: &str, args: &JudgeArgs) -> Result<(), Failure> {
    if args.output.json {
        return print_json(&json!({ "engine": engine, "jobs": jobs }));
    }
    let line = |job: &Job| {
        let Job { key, criterion, cell, scheme, seed, cost } = job;
        let cell = plain::line(cell);
        format!("{key}  {criterion}, {cell}; {scheme}, seed {seed}; {:.1} M packet-hops\n", *cost as f64 / 1e6)
    };
    print(&jobs.iter().map(line).collect::<String>())
}

/// The schemes to judge, then those to compare with, each once; and how many are judged.
fn schemes(criteria: &[Criterion], args: &JudgeArgs) -> Result<(Vec<String>, usize), Failure> {
    let mut names: Vec<String> = Vec::new();
    let mut judged = 0;
    for requested in [&args.schemes, &args.against] {
        for criterion in criteria {
            for (e, c) in criterion.cells() {
                // They must exist in every scenario, not only in the first.
                let scenario = &criterion.experiments[e].cases[c].scenario;
                let found = if requested.is_empty() {
                    Vec::new()
                } else {
                    experiment::choose(scenario, requested).map_err(Failure::input)?
                };
                for scheme in found.into_iter().filter(|s| !names.contains(&s.name)).collect::<Vec<_>>() {
                    names.push(scheme.name);
                }
            }
        }
        if judged == 0 {
            judged = names.len();
        }
    }
    match criteria.iter().any(|c| c.cells().next().is_some()) {
        true => Ok((names, judged)),
        false => Err(Failure::Input(
            "these criteria have no cells at this depth; leave --quick out, or give --held-out SEED to those that draw"
                .into(),
        )),
    }
}

/// The command that gives the same again.
fn command(args: &JudgeArgs) -> String {
    let mut words = vec!["ndnweir judge".to_owned(), shell_word(&args.schemes.join(","))];
    let mut list = |option: &str, values: &[String]| {
        if !values.is_empty() {
            words.push(format!("{option} {}", shell_word(&values.join(","))));
        }
    };
    list("--against", &args.against);
    list("--only", &args.only);
    if args.quick {
        words.push("--quick".into());
    }
    if args.full {
        words.push("--full".into());
    }
    words.push(format!("--seeds {}", args.seeds));
    words.extend(args.held_out.map(|seed| format!("--held-out {seed}")));
    words.extend(args.criteria.as_ref().map(|dir| format!("--criteria {}", shell_word(&dir.display().to_string()))));
    words.extend(args.overrides.iter().map(|set| format!("--set {}", shell_word(set))));
    words.join(" ")
}

fn shown(criteria: &[Criterion], judgement: &Judgement, args: &JudgeArgs) -> String {
    let style = terminal::table_style(args.output.wide);
    let estimated = text::estimated(criteria, judgement);
    let estimated = estimated.map(|line| format!("{}\n", plain::line(&line))).unwrap_or_default();
    if judgement.schemes.len() > MAX_WORD_COLUMNS {
        let letters = text::letters(criteria, judgement, style);
        return format!("+ pass, o weak, x fail, n not applicable\n\n{letters}{estimated}\n");
    }
    let mut out = text::matrix(criteria, judgement, style);
    out.push_str(&estimated);
    // Criteria that did not pass are listed with their measures.
    for (criterion, results) in criteria.iter().zip(&judgement.results) {
        let passed = |r: &criteria::CriterionResult| r.verdict == criteria::CriterionVerdict::Pass;
        if !results.iter().flatten().all(passed) {
            let title = format!("{} {}", criterion.section, criterion.title);
            out.push_str(&format!("\n{}\n\n", plain::line(&title)));
            out.push_str(&text::measures(criterion, results, &judgement.schemes, style));
        }
    }
    out.push('\n');
    out
}

fn last(judgement: &Judgement, out: &Path) -> String {
    let hops: u64 = judgement.packet_hops.iter().sum();
    let millions = hops as f64 / 1e6;
    format!(
        "seeds 1 to {}; {millions:.0} million packet-hops; page: {}\n",
        judgement.seeds.len(),
        out.join("judge.html").display()
    )
}

/// The criteria with what each costs for one scheme.
fn list(criteria: &[Criterion], args: &JudgeArgs) -> Result<(), Failure> {
    let cost = |c: &Criterion| criteria::packet_hops(c) * f64::from(args.seeds);
    if args.output.json {
        let one = |c: &Criterion| {
            json!({
                "name": c.name, "section": c.section, "title": c.title, "strength": c.strength.text(),
                "question": c.question, "cells": c.cells().count(), "packet_hops": cost(c).round(),
            })
        };
        return print_json(&json!({ "criteria": criteria.iter().map(one).collect::<Vec<_>>() }));
    }
    let column = |heading: &str, right, weight| Column { heading: heading.into(), right, weight };
    let columns = vec![
        column("section", false, Column::ALWAYS),
        column("name", false, Column::ALWAYS),
        column("strength", false, 50),
        column("cells", true, 60),
        column("M packet-hops", true, 70),
        column("question", false, 40),
    ];
    let mut all = 0.0;
    let mut rows = Vec::new();
    for c in criteria {
        let cost = cost(c);
        all += cost;
        let strength = if c.strength == Strength::None { "–" } else { c.strength.text() };
        let cells = [
            c.section.clone(),
            c.name.clone(),
            strength.to_owned(),
            c.cells().count().to_string(),
            format!("{:.1}", cost / 1e6),
            c.question.clone(),
        ];
        rows.push(Row { cells: cells.map(|text| (text, Tone::Plain)).into(), below: String::new() });
    }
    let table = TextTable { columns, rows }.render(terminal::table_style(args.output.wide));
    let below = format!(
        "\nAbout {:.0} million packet-hops for a scheme with {} seeds. Criteria of section \"held out\" need --held-out SEED.\n",
        all / 1e6,
        args.seeds
    );
    print_tables("", &table, &below)
}
