//! Results of a scenario with several cases.

use super::json::{Document, text, write};
use super::table::{headings, overview};
use super::{Comparison, Repeat};
use crate::text_table::{Column, Row, TableStyle, TextTable, Tone};
use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use std::io::{self, Write};

/// One case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The values that were varied, such as `100 packets, 1%`.
    pub name: String,
    /// The overrides that turn the scenario into this case.
    pub set: Vec<String>,
    /// The results of the case.
    pub comparison: Comparison,
}

/// All cases.
#[derive(Clone, Debug)]
pub struct CaseResults {
    /// In the order in which they vary, the last key fastest.
    pub cases: Vec<CaseResult>,
    /// How to repeat all cases.
    pub repeat: Repeat,
}

#[derive(Serialize)]
struct CaseDocument<'a> {
    name: &'a str,
    set: &'a [String],
    folder: String,
    #[serde(flatten)]
    document: Document<'a>,
}

#[derive(Serialize)]
struct CasesDocument<'a> {
    format: u32,
    cases: Vec<CaseDocument<'a>>,
    repeat: &'a Repeat,
}

impl CaseResults {
    /// The folder of a case within the result folder: its number, and its name as far as folder names allow.
    pub fn folder(&self, case: usize) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        let name: String = self.cases[case].name.chars().take(60).map(plain).collect();
        let width = self.cases.len().to_string().len();
        let name: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
        format!("cases/{:0width$}-{}", case + 1, name.join("-"))
    }

    /// `summary.json` of all cases: for each case its name, overrides and folder, and the content of its own document.
    pub fn to_summary(&self) -> String {
        text(|out| self.write_summary(out))
    }

    /// Writes [`CaseResults::to_summary`].
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let cases = self.cases.iter().enumerate().map(|(i, case)| {
            let CaseResult { name, set, comparison } = case;
            CaseDocument { name, set, folder: self.folder(i), document: comparison.document() }
        });
        let format = super::json::FORMAT;
        write(&CasesDocument { format, cases: cases.collect(), repeat: &self.repeat }, PrettyFormatter::new(), out)
    }

    /// Headings, and a row for each case and scheme: the case, the scheme, then as in the table of one case.
    pub fn overview(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let tables: Vec<_> = self.cases.iter().map(|case| (&case.name, overview(&case.comparison))).collect();
        let has = |heading: &&'static str| tables.iter().any(|(_, (headings, _))| headings.contains(heading));
        let shown: Vec<&'static str> = headings().filter(has).collect();
        let mut rows = Vec::new();
        for (name, (headings, cells)) in &tables {
            for row in cells {
                let cell = |heading: &&str| {
                    let at = headings.iter().position(|known| known == heading);
                    at.and_then(|at| row.get(at)).cloned().unwrap_or_else(|| "–".to_owned())
                };
                let first = [(*name).clone(), row[0].clone()];
                rows.push(first.into_iter().chain(shown.iter().map(cell)).collect());
            }
        }
        (["case", "scheme"].into_iter().chain(shown).collect(), rows)
    }

    /// The table for a terminal.
    pub fn table(&self, style: TableStyle) -> String {
        let (headings, rows) = self.overview();
        let column = |(i, heading): (usize, &&str)| {
            let weight = if i < 3 { Column::ALWAYS } else { 100 - i as u8 };
            Column { heading: (*heading).into(), right: i > 1, weight }
        };
        let cells = |row: Vec<String>| row.into_iter().map(|cell| (cell, Tone::Plain)).collect();
        let rows = rows.into_iter().map(|row| Row { cells: cells(row), below: String::new() }).collect();
        TextTable { columns: headings.iter().enumerate().map(column).collect(), rows }.render(style)
    }
}
