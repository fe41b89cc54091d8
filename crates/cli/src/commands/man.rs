//! `ndnweir man`.

use super::outputs::{make_folder, no_room};
use crate::args::{Cli, ManArgs};
use crate::failure::Failure;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::path::{Path, PathBuf};

pub fn run(args: &ManArgs) -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.folder else {
        return super::print(&String::from_utf8_lossy(&page(&command, "ndnweir")?));
    };
    make_folder(folder)?;
    let mut written = Vec::new();
    write(&command, "ndnweir", folder, &mut written)?;
    super::print(&format!("{} pages in {}\n", written.len(), folder.display()))
}

/// The page of a command under the name of its file, such as `ndnweir-face-create`.
fn page(command: &Command, name: &str) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let title = name.to_uppercase();
    let source = concat!("ndnweir ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).title(title).source(source).render(&mut text)?;
    Ok(text)
}

/// Writes the pages of a command and of those below it.
fn write(command: &Command, name: &str, folder: &Path, written: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page(command, name)?).map_err(|error| no_room(&path, &error))?;
    written.push(path);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(below, &format!("{name}-{}", below.get_name()), folder, written)?;
    }
    Ok(())
}
