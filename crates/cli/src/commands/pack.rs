//! `ndnweir pack`, and which commands can be packed.

use super::{cases, print, sim, sweep};
use crate::args::{Cli, Command, SimArgs};
use crate::failure::Failure;
use crate::pack_args::PackArgs;
use crate::run_args::{OutputArgs, RunArgs};
use crate::sweep_args::SweepArgs;
use clap::Parser;
use ndnweir_lab::jobs::engine;
use ndnweir_lab::pack::{Entry, INPUTS, MANIFEST, Manifest, RESULTS, files_at, inside, pack};
use ndnweir_lab::results::{self, shell_word, shell_words};
use ndnweir_lab::sweep::{self as sweeps, Sweep, TABLES};
use ndnweir_scenario as scenario;
use std::path::{Path, PathBuf};

/// The versions of everything that the program is made of.
const LOCK: &str = include_str!("../../../../Cargo.lock");

/// A command whose results are the same whenever it runs, reduced to what they depend on.
pub(super) enum Repeatable {
    Sim(SimArgs),
    Sweep(SweepArgs),
}

impl Repeatable {
    /// Reads the words of a command that `whose` holds.
    pub(super) fn read(words: &[String], whose: &Path) -> Result<Repeatable, Failure> {
        let reject = |why: &str| Failure::Input(format!("{}: {why}", whose.display()));
        let cli = Cli::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            reject(&format!("this program does not know the command of these results: {first}"))
        })?;
        match cli.command {
            Command::Sim(args) => Ok(Repeatable::Sim(quiet(args))),
            Command::Sweep(args) => Ok(Repeatable::Sweep(SweepArgs {
                out: None,
                shard: None,
                run: Vec::new(),
                list: false,
                status: false,
                merge: false,
                threads: None,
                json: false,
                quiet: true,
                ..args
            })),
            _ => Err(reject("only results of `ndnweir sim` and `ndnweir sweep` can be packed and repeated")),
        }
    }

    /// The files that the command reads, by their names in a pack: all are below the folder where it runs. With `here` one
    /// elsewhere is not opened either: of whose command it is need not be known.
    pub(super) fn inputs(&self, here: bool) -> Result<Vec<(String, PathBuf)>, Failure> {
        let files = match self {
            Repeatable::Sim(args) => {
                let find = if here { scenario::find_here } else { scenario::find };
                let source = find(&args.run.scenario).map_err(Failure::input)?;
                if cases::of(&source, &args.run.scenario, &args.run.overrides, &args.vary)?.is_none() {
                    let mut source = source.clone();
                    scenario::apply_overrides(&mut source, &args.run.overrides).map_err(Failure::input)?;
                    source.validate().map_err(Failure::input)?;
                }
                source.files()
            }
            Repeatable::Sweep(args) => sweep::plan_within(args, here)?.files,
        };
        let named = |file: PathBuf| match inside(&file) {
            Some(name) => Ok((name, file)),
            None => Err(Failure::Input(format!(
                "{}: the command reads a file outside of the folder where it ran; copy it there, and run the command \
                 with its relative path",
                file.display()
            ))),
        };
        files.into_iter().map(named).collect()
    }

    /// The files of its results that are the same whenever it runs.
    pub(super) fn results(&self) -> Vec<String> {
        match self {
            Repeatable::Sim(_) => results::FILES.map(str::to_owned).into(),
            Repeatable::Sweep(_) => TABLES.map(|table| format!("{table}.parquet")).into(),
        }
    }

    /// Runs it, with results in `out`.
    pub(super) fn run(self, out: &Path) -> Result<(), Failure> {
        match self {
            Repeatable::Sim(mut args) => {
                args.run.out = Some(out.to_owned());
                sim::run(&args)
            }
            Repeatable::Sweep(mut args) => {
                args.out = Some(out.to_owned());
                sweep::run(&args)
            }
        }
    }
}

/// The same run, which writes and shows nothing but its result folder.
fn quiet(args: SimArgs) -> SimArgs {
    let output = OutputArgs { force: false, json: false, wide: false, quiet: true };
    SimArgs {
        run: RunArgs { out: None, output, ..args.run },
        threads: None,
        checkpoint: None,
        resume: None,
        #[cfg(feature = "view")]
        live: false,
        #[cfg(feature = "view")]
        watch: false,
        trace: None,
        #[cfg(feature = "perfetto")]
        perfetto: None,
        qlog: None,
        deliveries: None,
        vary: args.vary,
        sort: args.sort,
    }
}

/// The words of the command whose results a folder holds, and the version of the program that ran it.
fn made_by(folder: &Path) -> Result<(Vec<String>, String), Failure> {
    let reject = |why: &str| Failure::Input(format!("{}: {why}", folder.display()));
    if folder.join("sweep.json").is_file() {
        let manifest = sweeps::Manifest::read(folder).map_err(Failure::input)?;
        if manifest.command.is_empty() {
            return Err(reject("this sweep does not say its command; run it into a new folder"));
        }
        let Repeatable::Sweep(args) = Repeatable::read(&manifest.command, folder)? else {
            return Err(reject("sweep.json has the command of something else"));
        };
        let plan = sweep::plan(&args)?;
        if !manifest.is_same(Sweep::new(&plan, &manifest.engine, folder).manifest()) {
            let plan = args.plan.display();
            return Err(reject(&format!("{plan} has changed since these runs; give its command again, then pack")));
        }
        if !folder.join("runs.parquet").is_file() {
            return Err(reject("the sweep is not merged; give its command with --merge first"));
        }
        let version = manifest.engine.split(' ').next().unwrap_or_default().to_owned();
        return Ok((manifest.command, version));
    }
    let read = ndnweir_files::read_text(&folder.join("summary.json"), ndnweir_files::RESULTS);
    let text = read.map_err(|error| {
        let remedy = "name a folder that `ndnweir sim` or `ndnweir sweep` wrote";
        reject(&format!("no results of a run: summary.json: {error}; {remedy}"))
    })?;
    let document: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| reject(&format!("summary.json is damaged: {error}")))?;
    let partial = |document: &serde_json::Value| document["partial"] == true;
    if partial(&document) || document["cases"].as_array().is_some_and(|cases| cases.iter().any(partial)) {
        return Err(reject("these results are of a run that was interrupted; run it to its end first"));
    }
    let command = document["repeat"]["command"].as_str().filter(|command| !command.is_empty());
    let words = command.and_then(shell_words);
    let words = words.ok_or_else(|| reject("no command that repeats these results is stored with them"))?;
    Ok((words, document["repeat"]["version"].as_str().unwrap_or_default().to_owned()))
}

pub fn run(args: &PackArgs) -> Result<(), Failure> {
    let (words, version) = made_by(&args.folder)?;
    let command = Repeatable::read(&words, &args.folder)?;
    let name = std::path::absolute(&args.folder).ok();
    let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let archive = args.out.clone().unwrap_or_else(|| format!("{}.tar.gz", name.unwrap_or("results".into())).into());
    let top =
        top(&archive).ok_or_else(|| Failure::Input(format!("{}: a pack's name ends in .tar.gz", archive.display())))?;
    let wanted = command.results();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let results = files_at(&args.folder, &wanted).map_err(Failure::input)?;
    let manifest = Manifest::new(words, version, engine(env!("CARGO_PKG_VERSION")).map_err(Failure::work)?);
    let mut files = vec![
        (MANIFEST.to_owned(), Entry::Text(manifest.to_json())),
        ("Cargo.lock".into(), Entry::Text(LOCK.into())),
        ("README.md".into(), Entry::Text(readme(&top, &manifest))),
    ];
    files
        .extend(command.inputs(false)?.into_iter().map(|(name, file)| (format!("{INPUTS}/{name}"), Entry::File(file))));
    files.extend(results.iter().map(|name| (format!("{RESULTS}/{name}"), Entry::File(args.folder.join(name)))));
    let count = files.len();
    pack(&archive, &top, files).map_err(Failure::input)?;
    let shown = archive.display();
    print(&format!(
        "{shown}: {count} files; anyone repeats them with: ndnweir repeat {}\n",
        shell_word(&format!("{top}.tar.gz"))
    ))
}

/// The folder in an archive of this name, which is that where `repeat` unpacks it.
pub(super) fn top(archive: &Path) -> Option<String> {
    let name = archive.file_name()?.to_str()?.strip_suffix(".tar.gz")?;
    (!name.is_empty() && inside(Path::new(name)).is_some()).then(|| name.to_owned())
}

fn readme(top: &str, manifest: &Manifest) -> String {
    let command: Vec<String> = manifest.command.iter().map(|word| shell_word(word)).collect();
    let Manifest { version, packed_by, platform, .. } = manifest;
    format!(
        "# {top}\n\nResults of ndnweir, with all that is needed to compute them again. With ndnweir {version}:\n\n    \
         ndnweir repeat {}\n\nruns the command, and compares what comes out with `{RESULTS}`, byte for byte. By hand, in the \
         folder `{INPUTS}`:\n\n    {} --out ../repeated\n\n| | |\n|---|---|\n| `{RESULTS}` | what it gave |\n| `{INPUTS}` | the files \
         that it reads, if any: scenarios, topologies, traces, a plan |\n| `Cargo.lock` | the versions of all libraries of the \
         program that packed, with their checksums |\n| `{MANIFEST}` | the same for programs |\n\nVersion {version}; packed by \
         {packed_by} (a hash of the executable file) on {platform}.\n",
        shell_word(&format!("{top}.tar.gz")),
        command.join(" "),
    )
}
