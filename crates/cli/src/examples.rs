//! The commands that help texts and pages show are commands of this program.

use crate::args::Cli;
use clap::{Command, CommandFactory, Parser};
use std::fs;
use std::path::{Path, PathBuf};

/// The lines of a help text that show commands: those below "Examples:" up to an empty line, continuations joined.
fn lines(help: &str) -> Vec<String> {
    let after = help.split("Examples:\n").nth(1).or_else(|| help.split("Example:\n").nth(1)).unwrap_or_default();
    let block = after.split("\n\n").next().unwrap_or_default().replace("\\\n", " ");
    // What explains a command without room beside it is indented more.
    let is_command = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    block.lines().filter(is_command).map(str::to_owned).collect()
}

/// The words of the program's commands in a line of a shell; what follows two blanks is an explanation.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let (mut quote, mut blanks) = (None, 0);
    for c in line.trim_start().chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => {
                blanks += 1;
                words.extend(word.take());
                if blanks == 2 {
                    break;
                }
                continue;
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
        blanks = 0;
    }
    assert_eq!(quote, None, "a quotation is not closed: {line}");
    words.extend(word);
    for command in words.split(|word| word == "|" || word == "&&") {
        if command.first().is_some_and(|program| program == "ndnweir") {
            all.push(command.iter().take_while(|word| !matches!(word.as_str(), ">" | "2>" | "&")).cloned().collect());
        }
    }
    all
}

/// Why the program does not accept a line; that a file which it reads is not there does not count, and is not asked.
fn refused(line: &str) -> Vec<String> {
    let refusal = |words: Vec<String>| {
        let error = Cli::try_parse_from(&words).err()?;
        error.use_stderr().then(|| format!("{}\n  {error}", words.join(" ")))
    };
    commands(line).into_iter().filter_map(refusal).collect()
}

/// Every command with those below it, by its words.
fn all(command: &Command, name: &str, into: &mut Vec<(String, String)>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    into.push((name.to_owned(), help));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        all(below, &format!("{name} {}", below.get_name()), into);
    }
}

#[test]
fn every_example_of_every_help_text_is_accepted_as_it_is_shown() {
    let mut helps = Vec::new();
    all(&Cli::command(), "ndnweir", &mut helps);
    for (name, help) in helps {
        let lines = lines(&help);
        let own = lines.iter().flat_map(|line| commands(line)).filter(|words| words.join(" ").starts_with(&name));
        assert!(own.count() > 0, "{name} --help shows no example of it");
        let refused: Vec<String> = lines.iter().flat_map(|line| refused(line)).collect();
        assert!(refused.is_empty(), "{name} --help shows what is not accepted:\n{}", refused.join("\n"));
    }
}

/// The Markdown files below a folder.
fn pages(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.extension() {
            _ if entry.is_dir() => pages(&entry, into),
            Some(ending) if ending == "md" => into.push(entry),
            _ => {}
        }
    }
}

#[cfg(all(feature = "gnmi", feature = "pack", feature = "perfetto", feature = "view"))]
#[test]
fn every_command_that_a_page_shows_is_accepted_as_it_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("ARCHITECTURE.md")];
    pages(&root.join("docs"), &mut all);
    let (mut shown, mut wrong) = (0, Vec::new());
    for page in all {
        let text = fs::read_to_string(&page).unwrap().replace("\\\n", " ");
        // What stands between two fences is every second part.
        for line in text.split("\n```").skip(1).step_by(2).flat_map(str::lines) {
            let line = line.trim_start().trim_start_matches("$ ");
            if line.starts_with("ndnweir ") {
                shown += 1;
                wrong.extend(refused(line).into_iter().map(|why| format!("{}: {why}", page.display())));
            }
        }
    }
    assert!(shown > 50 && wrong.is_empty(), "{} of {shown}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_example_with_a_flag_that_does_not_exist_is_found() {
    let help =
        "Examples:\n  ndnweir list --jsn      all\n      of it\n  cat a | ndnweir explain 'a b' > c\n\nndnweir nope";
    let lines = lines(help);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(refused(&lines[0]).concat().contains("--jsn"));
    assert_eq!(commands(&lines[1]), [["ndnweir", "explain", "a b"]]);
}
