//! `ndnweir repeat`.

use super::inputs::settings;
use super::pack::{Repeatable, top};
use super::print;
use crate::failure::Failure;
use crate::pack_args::RepeatArgs;
use ndnweir_core::plain;
use ndnweir_lab::jobs::engine;
use ndnweir_lab::pack::{INPUTS, MANIFEST, Manifest, RESULTS, differences, files_at, inside, unpack};
use ndnweir_lab::results::shell_word;
use std::path::Path;

/// The new results, in the folder of what was unpacked.
const REPEATED: &str = "repeated";
/// Longest list of differences shown.
const SHOWN: usize = 20;

pub fn run(args: &RepeatArgs) -> Result<(), Failure> {
    super::use_threads(args.threads);
    let folder = match (&args.out, top(&args.archive)) {
        (Some(folder), _) => folder.clone(),
        (None, Some(name)) => name.into(),
        (None, None) => {
            let (archive, what) =
                (args.archive.display(), if args.archive.is_file() { "its" } else { "no file, and its" });
            let remedy = "name an archive of `ndnweir pack`, or a folder for what is in it with --out";
            return Err(Failure::Input(format!("{archive}: {what} name does not end in .tar.gz; {remedy}")));
        }
    };
    let folder = std::path::absolute(folder).map_err(Failure::input)?;
    unpack(&args.archive, &folder).map_err(Failure::input)?;
    let path = folder.join(MANIFEST);
    let text = settings(&path)?;
    let manifest = Manifest::read(&text, &path).map_err(Failure::input)?;
    let command = Repeatable::read(&manifest.command, &path)?;
    // Whatever the command names is looked for there.
    let inputs = folder.join(INPUTS);
    std::fs::create_dir_all(&inputs).and_then(|()| std::env::set_current_dir(&inputs)).map_err(Failure::work)?;
    contained(&command)?;
    let wanted = command.results();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let shown: Vec<String> = manifest.command.iter().map(|word| shell_word(word)).collect();
    let shown = shown.join(" ");
    print(&format!("{}: {}\n", args.archive.display(), plain::line(&shown)))?;
    let own = engine(env!("CARGO_PKG_VERSION")).map_err(Failure::work)?;
    let other = (own != manifest.packed_by).then(|| {
        let (theirs, platform) = (plain::line(&manifest.packed_by), plain::line(&manifest.platform));
        format!("note: packed by another build, {theirs} on {platform}; this is {own}\n")
    });
    print(other.as_deref().unwrap_or_default())?;
    let repeated = folder.join(REPEATED);
    command.run(&repeated)?;
    let packed = files_at(&folder.join(RESULTS), &wanted).map_err(Failure::work)?;
    let made = files_at(&repeated, &wanted).map_err(Failure::work)?;
    let found = differences((&folder.join(RESULTS), &packed), (&repeated, &made)).map_err(Failure::work)?;
    let place = folder.display();
    if found.is_empty() && !made.is_empty() {
        return print(&format!("{} files came out as they are in {place}/{RESULTS}, byte for byte\n", made.len()));
    }
    let more = found.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    let list = found.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    let why = match own.split(' ').next() == Some(manifest.version.as_str()) {
        true => "",
        false => "; results are the same for the same version",
    };
    Err(Failure::Work(format!("{place}/{REPEATED} differs from {place}/{RESULTS}{why}:\n{list}{more}")))
}

/// Checks, before anything runs, that a command reads nothing but what came with it. Nothing else is opened to tell, as
/// errors show lines of what they are about.
fn contained(command: &Repeatable) -> Result<(), Failure> {
    let reaches = |path: &Path| inside(path).is_none();
    let named = match command {
        Repeatable::Sim(args) => Path::new(&args.run.scenario),
        Repeatable::Sweep(args) => &args.plan,
    };
    if reaches(named) {
        return Err(Failure::Input(format!("{}: the command of this pack reads files outside of it", named.display())));
    }
    command.inputs(true).map(drop)
}
