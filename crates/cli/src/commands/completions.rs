//! `ndnweir completions`: scripts with the names of schemes, components, scenarios and papers.

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_lab::papers::library;
use ndnweir_scenario as scenario;

/// A name with what it is.
type Named = (&'static str, String);

/// An argument that takes names: of which command, called what, and which.
struct Taken {
    command: &'static str,
    argument: &'static str,
    names: Vec<Named>,
    /// Whether it is positional, without a flag; a path is accepted there as well.
    positional: bool,
}

pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    super::print(&script(args.shell, Cli::command()))
}

/// The script for the commands that this build has.
fn script(shell: Shell, command: Command) -> String {
    let all: Vec<Taken> =
        taken().into_iter().filter(|taken| command.find_subcommand(taken.command).is_some()).collect();
    let mut command = all.iter().fold(command, |command, taken| {
        // zsh would treat these as the only completions, files excluded: it gets a function instead.
        let skip = shell == Shell::Zsh && taken.positional;
        if skip { command } else { takes(command, taken) }
    });
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "ndnweir", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Zsh => zsh(&script, &all),
        Shell::Fish => fish(&script, &all),
        _ => script.into_owned(),
    }
}

fn taken() -> Vec<Taken> {
    let schemes: Vec<Named> = Scheme::names()
        .map(|name| (name, Scheme::named(name).map_or_else(|_| String::new(), |scheme| scheme.summary)))
        .collect();
    let scenarios: Vec<Named> = scenario::shipped().iter().map(|s| (s.name, s.summary())).collect();
    let components = Family::ALL.into_iter().flat_map(|family| family.components());
    let mut explained = schemes.clone();
    explained.extend(components.map(|info| (info.name, info.summary.to_owned())));
    explained.sort_by_key(|name| name.0);
    explained.dedup_by_key(|name| name.0);
    let with = |first: &[(&'static str, &str)]| -> Vec<Named> {
        first.iter().map(|&(name, about)| (name, about.to_owned())).chain(schemes.clone()).collect()
    };
    let papers = library::names().into_iter().map(|name| (name, "a paper".to_owned())).collect();
    let positional = |command, argument, names| Taken { command, argument, names, positional: true };
    let flag = |command, names| Taken { command, argument: "scheme", names, positional: false };
    vec![
        positional("sim", "scenario", scenarios.clone()),
        positional("emulate", "scenario", scenarios.clone()),
        positional("validate", "scenario", scenarios),
        positional("explain", "name", explained),
        positional("papers", "paper", papers),
        flag("sim", with(&[("all", "every scheme")])),
        flag("emulate", with(&[("all", "every scheme")])),
        flag("get", with(&[])),
        flag("fwd", with(&[])),
    ]
}

/// Lets the argument of a command take the names. Only for completion: it takes paths as well.
fn takes(command: Command, taken: &Taken) -> Command {
    let value = |(name, about): &Named| PossibleValue::new(*name).help(one_line(about));
    let names: Vec<PossibleValue> = taken.names.iter().map(value).collect();
    command.mut_subcommand(taken.command, |command| {
        command.mut_arg(taken.argument, |argument| argument.value_parser(PossibleValuesParser::new(names)))
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text that both shells treat as plain text within single or double quotes.
fn escape_shell(text: &str) -> String {
    one_line(text).replace(['\'', '"', '\\', '`', '$', '[', ']', '(', ')'], "").replace(':', "\\:")
}

/// Names, or files, for the arguments that take both.
fn zsh(script: &str, all: &[Taken]) -> String {
    let mut functions = String::new();
    let mut lines: Vec<String> = script.lines().map(str::to_owned).collect();
    for taken in all.iter().filter(|taken| taken.positional) {
        let function = format!("_ndnweir_{}_{}", taken.command, taken.argument);
        let names: Vec<String> =
            taken.names.iter().map(|(name, about)| format!("    '{name}:{}'", escape_shell(about))).collect();
        functions.push_str(&format!(
            "{function}() {{\n  local names=(\n{}\n  )\n  _describe '{}' names\n  _files\n}}\n\n",
            names.join("\n"),
            taken.argument
        ));
        // The argument's line is the first of its kind after the command's own.
        let start = lines.iter().position(|line| line.trim() == format!("({})", taken.command)).unwrap_or(0);
        let is_it = |line: &String| {
            let word = line.trim_start_matches(['\'', ':']);
            line.starts_with("':") && word.starts_with(&format!("{} -- ", taken.argument))
        };
        if let Some(line) = lines[start..].iter_mut().find(|line| is_it(line))
            && let Some(at) = line.rfind(":_")
        {
            line.replace_range(at.., &format!(":{function}' \\"));
        }
    }
    let end = lines.iter().rposition(|line| line.starts_with("if [ \"$funcstack[1]\"")).unwrap_or(lines.len());
    lines.insert(end, functions);
    lines.join("\n") + "\n"
}

/// The generator for fish leaves out what arguments without a flag take.
fn fish(script: &str, all: &[Taken]) -> String {
    let mut script = script.to_owned();
    for taken in all.iter().filter(|taken| taken.positional) {
        for (name, about) in &taken.names {
            let condition = format!("__fish_ndnweir_using_subcommand {}", taken.command);
            let about = escape_shell(about).replace("\\:", ":");
            script.push_str(&format!("complete -c ndnweir -n \"{condition}\" -a \"{name}\" -d '{about}'\n"));
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn a_build_without_some_commands_completes_those_that_it_has() {
        let sim = Cli::command().find_subcommand("sim").cloned().unwrap();
        for shell in Shell::value_variants() {
            let script = script(*shell, Command::new("ndnweir").subcommand(sim.clone()));
            assert!(script.contains("sim") && !script.contains("emulate"), "{shell}: {script}");
            assert!(*shell != Shell::Bash || script.contains("pcon-ndnsim"), "{script}");
        }
    }
}
