//! What is wrong with an input file, where, and what to do about it.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// A place in an input: a file with line and column, or an override given on the command line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file as the user named it, or `--set KEY=VALUE`.
    #[serde(serialize_with = "as_text")]
    pub source: Arc<str>,
    /// Line, counted from 1; 0 where lines mean nothing (an override, an unreadable file).
    pub line: usize,
    /// Column in characters, counted from 1; 0 where columns mean nothing.
    pub column: usize,
}

fn as_text<S: serde::Serializer>(text: &Arc<str>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(text)
}

impl Place {
    /// The whole of `source`, no particular line.
    pub fn whole(source: &str) -> Place {
        Place { source: source.into(), line: 0, column: 0 }
    }
    /// A line and column of `source`.
    pub fn at(source: &Arc<str>, line: usize, column: usize) -> Place {
        Place { source: source.clone(), line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}", self.source),
            (line, 0) => write!(f, "{}:{line}", self.source),
            (line, column) => write!(f, "{}:{line}:{column}", self.source),
        }
    }
}

/// One finding: an error, or a note about something read differently than written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do about it; empty when there is nothing to do.
    pub help: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", self.help)?;
        }
        Ok(())
    }
}

/// Everything found wrong with one input, in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The findings.
    pub list: Vec<Diagnostic>,
}

/// More findings than this are counted, not printed.
const PRINTED: usize = 20;

impl Problems {
    /// One finding.
    pub fn one(place: Place, message: impl Into<String>, help: impl Into<String>) -> Problems {
        Problems { list: vec![Diagnostic { place, message: message.into(), help: help.into() }] }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, finding) in self.list.iter().take(PRINTED).enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{finding}")?;
        }
        match self.list.len().saturating_sub(PRINTED) {
            0 => Ok(()),
            more => write!(f, "\n... and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// Collects findings while reading goes on, so that one run shows all of them.
#[derive(Default)]
pub(crate) struct Findings {
    errors: RefCell<Vec<Diagnostic>>,
    notes: RefCell<Vec<Diagnostic>>,
}

impl Findings {
    pub(crate) fn error(&self, place: &Place, message: impl Into<String>, help: impl Into<String>) {
        self.errors.borrow_mut().push(Diagnostic { place: place.clone(), message: message.into(), help: help.into() });
    }
    pub(crate) fn add_notes(&self, more: Vec<Diagnostic>) {
        self.notes.borrow_mut().extend(more);
    }
    pub(crate) fn add(&self, problems: Problems) {
        self.errors.borrow_mut().extend(problems.list);
    }
    pub(crate) fn notes(&self) -> Vec<Diagnostic> {
        self.notes.borrow().clone()
    }
    /// Fails with all errors so far, sorted by place, if there are any.
    pub(crate) fn check(&self) -> Result<(), Problems> {
        let mut list = self.errors.borrow().clone();
        if list.is_empty() {
            return Ok(());
        }
        list.sort_by(|a, b| a.place.cmp(&b.place));
        list.dedup();
        Err(Problems { list })
    }
}

/// The name nearest to `wrong`, if one is near enough to be meant.
pub(crate) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.chars().count() > 64 {
        return None;
    }
    let fold = |s: &str| s.to_lowercase().replace('_', "-");
    let wrong = fold(wrong);
    names
        .into_iter()
        .filter(|name| name.len() <= 256)
        .map(|name| (distance(&wrong, &fold(name)), name))
        .filter(|(d, name)| *d <= allowed(name.chars().count().min(wrong.chars().count())))
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// How many slips are believable in a word of this length: none in single letters, one in short words.
fn allowed(length: usize) -> usize {
    if length < 2 { 0 } else { (length / 3).max(1) }
}

/// "did you mean" for `wrong`, or the list of what exists.
pub(crate) fn suggest<'a>(wrong: &str, what: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(name) = nearest(wrong, names.iter().copied()) {
        return format!("did you mean \"{name}\"?");
    }
    if names.is_empty() {
        return format!("there are no {what}");
    }
    let mut shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        shown.push_str(&format!(", ... ({} in all)", names.len()));
    }
    format!("{what}: {shown}")
}

/// Edits (insert, delete, replace, swap of neighbours) from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_the_name_that_was_meant() {
        assert_eq!(nearest("dealy", ["delay", "rate"]), Some("delay"));
        assert_eq!(nearest("warm_up", ["warm-up", "duration"]), Some("warm-up"));
        assert_eq!(nearest("colour", ["delay", "rate"]), None);
    }

    #[test]
    fn a_finding_prints_file_line_column_message_and_remedy() {
        let place = Place::at(&"x.toml".into(), 12, 8);
        let text = Problems::one(place, "rate is zero", "write a rate above zero").to_string();
        assert_eq!(text, "x.toml:12:8: rate is zero\n  help: write a rate above zero");
    }
}
