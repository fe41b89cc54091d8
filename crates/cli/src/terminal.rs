//! What standard output can show, and what is said on standard error.

use anstream::{AutoStream, ColorChoice};
use ndnweir_lab::text_table::TableStyle;
use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr, stdout};

/// The style of tables on standard output: as wide as the terminal, in colour where it has them. What is not a terminal
/// gets all columns; NO_COLOR switches colours off, CLICOLOR_FORCE switches them on.
pub fn table_style(wide: bool) -> TableStyle {
    let colour = AutoStream::choice(&stdout()) != ColorChoice::Never;
    TableStyle { width: if wide { None } else { width() }, colour }
}

/// Characters in a line of the terminal; none where standard output is none. COLUMNS says otherwise.
pub fn width() -> Option<usize> {
    if !stdout().is_terminal() {
        return None;
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok()).filter(|n| *n > 0);
    columns.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)).filter(|n| *n > 0))
}

/// A word at the start of a line on standard error, such as `error:`, in colour where there is any.
pub fn label(word: &str) -> String {
    let code = if word.starts_with("error") { "31" } else { "33" };
    match AutoStream::choice(&stderr()) {
        ColorChoice::Never => word.into(),
        _ => format!("\x1b[1;{code}m{word}\x1b[0m"),
    }
}

/// Writes a line on standard error. Where that cannot take it (it is closed, or its disk is full) nobody can be told, and
/// what the line is about goes on.
pub fn say(line: impl Display) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}
