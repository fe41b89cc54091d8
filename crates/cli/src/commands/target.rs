//! The result folder: results of another command are replaced only with --force.

use crate::failure::Failure;
use ndnweir_lab::results::{self, MAX_FOLDERS, numbered};
use std::path::{Path, PathBuf};

/// A folder for results.
pub struct Target {
    /// Where.
    pub folder: PathBuf,
    /// A note about it.
    pub note: Option<String>,
    /// Whether older results are there.
    replaces: bool,
    force: bool,
}

/// Chooses the folder for the results of `command`, before the work: `named` by the user, or `default`.
///
/// A folder that the same command wrote is written again. One of another command is rejected where the user named it
/// and skipped where the user did not: then `-2`, `-3` and so on are added. Without a command, as for results that are
/// never the same, every folder with results is another's.
pub fn choose(named: Option<&Path>, default: PathBuf, command: Option<&str>, force: bool) -> Result<Target, Failure> {
    let first = named.map_or_else(|| default.clone(), Path::to_path_buf);
    let target = |folder: PathBuf, note, replaces| {
        results::may_begin(&folder).map_err(Failure::input)?;
        Ok(Target { folder, note, replaces, force })
    };
    let again = |folder: &Path| {
        (force || command.is_some_and(|command| results::command(folder).as_deref() == Some(command)))
            .then(|| format!("{}: replaces earlier results", folder.display()))
    };
    if !holds_results(&first)? {
        return target(first, None, false);
    }
    if let Some(note) = again(&first) {
        return target(first, Some(note), true);
    }
    let whose = results::command(&first).map_or_else(|| "an earlier run".into(), |command| format!("`{command}`"));
    if named.is_some() {
        let place = first.display();
        return Err(Failure::Input(format!(
            "{place}: holds the results of {whose}; name another folder, or replace them with --force"
        )));
    }
    let (folder, occupied) = results::free_folder(&first, command).map_err(Failure::input)?;
    let note = format!("{} holds the results of {whose}: writing {}", first.display(), folder.display());
    target(folder, Some(note), occupied)
}

impl Target {
    /// The folder of an interrupted run: it does not replace complete results. Those of an earlier interruption it does
    /// if it `continues` the earlier runs, since it then has all of them and more.
    pub fn interrupted(self, continues: bool) -> Result<PathBuf, Failure> {
        if !self.replaces || self.force || (continues && results::is_partial(&self.folder)) {
            return Ok(self.folder);
        }
        for folder in (2..=MAX_FOLDERS).map(|n| numbered(&self.folder, n)) {
            if !holds_results(&folder)? {
                return Ok(folder);
            }
        }
        Ok(self.folder)
    }
}

/// Whether there are results in a folder that results can be written to.
fn holds_results(folder: &Path) -> Result<bool, Failure> {
    Ok(results::may_write(folder).map_err(Failure::input)? && folder.join("summary.json").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_interrupted_command_replaces_what_its_interruption_left_and_nothing_complete() {
        let parent = std::env::temp_dir().join(format!("ndnweir-target-{}", std::process::id()));
        let mut found = Vec::new();
        for (name, partial, continues) in [("more", true, true), ("less", true, false), ("whole", false, true)] {
            let folder = parent.join(name);
            fs::create_dir_all(&folder).unwrap();
            let summary = format!("{{ \"partial\": {partial}, \"repeat\": {{ \"command\": \"it\" }} }}");
            fs::write(folder.join("summary.json"), summary).unwrap();
            let target = choose(None, folder, Some("it"), false).unwrap();
            found.push(target.interrupted(continues).unwrap().file_name().unwrap().to_owned());
        }
        fs::remove_dir_all(&parent).unwrap();
        assert_eq!(found, ["more", "less-2", "whole-2"]);
    }
}
