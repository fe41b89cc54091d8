//! What standard output can show, and what is said on standard error.

use anstream::{AutoStream, ColorChoice};
use ndnweir_core::plain;
use ndnweir_lab::text_table::TableStyle;
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

/// Says what went wrong, after the word `error:`, in colour where there is any.
pub fn say_error(what: &str) {
    let label = match AutoStream::choice(&stderr()) {
        ColorChoice::Never => "error:",
        _ => "\x1b[1;31merror:\x1b[0m",
    };
    write(&format!("{label} {}", plain::lines(&shortened(what))));
}

/// What a file says in one word can be as long as the file: long lines lose their middle. The place is at the beginning,
/// the remedy at the end.
fn shortened(what: &str) -> String {
    const BEGINNING: usize = 1500;
    const END: usize = 500;
    let line = |line: &str| {
        let count = line.chars().count();
        if count <= BEGINNING + END {
            return line.to_owned();
        }
        let beginning: String = line.chars().take(BEGINNING).collect();
        let end: String = line.chars().skip(count - END).collect();
        format!("{beginning} … [{} characters] … {end}", count - BEGINNING - END)
    };
    what.split('\n').map(line).collect::<Vec<String>>().join("\n")
}

/// Writes a line on standard error; a terminal obeys nothing in it.
#[cfg(any(feature = "network", feature = "view"))]
pub fn say(line: impl std::fmt::Display) {
    write(&plain::lines(&line.to_string()));
}

/// Where standard error cannot take a line (it is closed, or its disk is full) nobody can be told, and what the line is
/// about goes on.
fn write(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_repeats_a_huge_word_keeps_its_place_and_its_remedy() {
        let said = shortened(&format!("a.csv: line 7: \"{}\" is no number; restore the file\nb", "x".repeat(100_000)));
        assert!(said.starts_with("a.csv: line 7: \"xx") && said.ends_with("restore the file\nb"));
        assert!(said.len() < 2100, "{}", said.len());
        assert_eq!(shortened("a\n"), "a\n");
    }
}
