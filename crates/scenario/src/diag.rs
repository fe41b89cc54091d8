//! What is wrong with an input file, where, and what to do about it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use ndnweir_core::plain;
use ndnweir_core::suggest::corrected_spelling;
pub(crate) use ndnweir_core::suggest::nearest;
use serde::Serialize;

/// A place in an input: a file with line and column, or an override given on the command line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Location {
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

impl Location {
    /// The whole of `source`, no particular line.
    pub fn whole(source: &str) -> Location {
        Location { source: source.into(), line: 0, column: 0 }
    }
    /// A line and column of `source`.
    pub fn at(source: &Arc<str>, line: usize, column: usize) -> Location {
        Location { source: source.clone(), line, column }
    }
}

impl fmt::Display for Location {
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
    pub place: Location,
    /// What is wrong.
    pub message: String,
    /// What to do about it; empty when there is nothing to do.
    pub help: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values are quoted as they are in the file: in one line, and not whole if they are long.
        write!(f, "{}: {}", self.place, plain::line(&shortened(&self.message)))?;
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", plain::line(&shortened(&self.help)))?;
        }
        Ok(())
    }
}

/// `text` without most of the quoted values that are very long, in characters.
fn shortened(text: &str) -> Cow<'_, str> {
    const LONG: usize = 200;
    const LEFT: usize = 60;
    // Of what has quotes in it, parts are outside.
    const WHOLE: usize = 4000;
    if text.len() <= LONG {
        return text.into();
    }
    let part = |(i, part): (usize, &str)| match (i % 2, part.chars().nth(LONG)) {
        (1, Some(_)) => format!("{}…", part.chars().take(LEFT).collect::<String>()),
        _ => part.to_owned(),
    };
    let mut short = text.split('"').enumerate().map(part).collect::<Vec<_>>().join("\"");
    if let Some((at, _)) = short.char_indices().nth(WHOLE) {
        short.truncate(at);
        short.push('…');
    }
    short.into()
}

/// Everything found wrong with one input, in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The findings.
    pub list: Vec<Diagnostic>,
}

/// Findings beyond this number are counted, not printed.
const MAX_PRINTED: usize = 20;

impl Problems {
    /// One finding.
    pub fn one(place: Location, message: impl Into<String>, help: impl Into<String>) -> Problems {
        Problems { list: vec![Diagnostic { place, message: message.into(), help: help.into() }] }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, finding) in self.list.iter().take(MAX_PRINTED).enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{finding}")?;
        }
        match self.list.len().saturating_sub(MAX_PRINTED) {
            0 => Ok(()),
            more => write!(f, "\n... and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// Findings before this number come with what was probably meant.
const MAX_SUGGESTED: usize = 5 * MAX_PRINTED;

/// Collects findings while reading continues, so that one run shows all of them.
#[derive(Debug, Default)]
pub struct Findings {
    errors: RefCell<Vec<Diagnostic>>,
    notes: RefCell<Vec<Diagnostic>>,
}

impl Findings {
    /// Adds an error: where, what is wrong, what to do.
    pub fn error(&self, place: &Location, message: impl Into<String>, help: impl Into<String>) {
        self.errors.borrow_mut().push(Diagnostic { place: place.clone(), message: message.into(), help: help.into() });
    }
    /// What was probably meant by a name that does not exist, as [`suggest`] says it, while that may be read: in a large
    /// file in which nothing fits, each name would be compared with all.
    pub(crate) fn suggest<'a>(&self, wrong: &str, what: &str, names: impl IntoIterator<Item = &'a str>) -> String {
        if self.errors.borrow().len() < MAX_SUGGESTED { suggest(wrong, what, names) } else { String::new() }
    }
    pub(crate) fn add_notes(&self, more: Vec<Diagnostic>) {
        self.notes.borrow_mut().extend(more);
    }
    /// Adds errors that were found elsewhere.
    pub fn add(&self, problems: Problems) {
        self.errors.borrow_mut().extend(problems.list);
    }
    pub(crate) fn notes(&self) -> Vec<Diagnostic> {
        self.notes.borrow().clone()
    }
    /// Fails with all errors so far, sorted by place, if there are any.
    ///
    /// # Errors
    /// These.
    pub fn check(&self) -> Result<(), Problems> {
        let mut list = self.errors.borrow().clone();
        if list.is_empty() {
            return Ok(());
        }
        // Reported once, even where another finding about the same place came between.
        let mut reported = std::collections::BTreeSet::new();
        list.retain(|finding| reported.insert((finding.place.clone(), finding.message.clone(), finding.help.clone())));
        list.sort_by(|a, b| a.place.cmp(&b.place));
        Err(Problems { list })
    }
}

/// How `wrong` is written, "did you mean", or the list of what exists.
pub fn suggest<'a>(wrong: &str, what: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(name) = corrected_spelling(wrong, names.iter().copied()) {
        return format!("it is written \"{name}\"");
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_finding_is_reported_once() {
        let found = Findings::default();
        let (first, second) = (Location::whole("a"), Location::whole("b"));
        for (place, message) in [(&first, "x"), (&second, "z"), (&first, "y"), (&first, "x")] {
            found.error(place, message, "");
        }
        let list = found.check().unwrap_err().list;
        let messages: Vec<&str> = list.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, ["x", "y", "z"]);
    }

    #[test]
    fn names_are_suggested_for_the_first_hundred_findings() {
        let found = Findings::default();
        let suggested = || found.suggest("nod", "nodes", ["node"]);
        for _ in 0..100 {
            assert_eq!(suggested(), "did you mean \"node\"?");
            found.error(&Location::whole("a"), "x", "");
        }
        assert_eq!(suggested(), "");
    }

    #[test]
    fn a_quoted_value_is_in_one_line_and_cut_if_it_is_very_long() {
        let said = |value: &str| {
            Problems::one(Location::whole("a"), format!("no rate in \"{value}\""), "write \"5Mbps\"").to_string()
        };
        assert_eq!(said("x\x1b[2J\ny"), "a: no rate in \"x\\u{1b}[2J\\u{a}y\"\n  help: write \"5Mbps\"");
        let long = said(&"9".repeat(1_000_000));
        assert_eq!(long, format!("a: no rate in \"{}…\"\n  help: write \"5Mbps\"", "9".repeat(60)));
        assert!(said(&"9\"".repeat(1_000_000)).len() < 5000);
        assert!(said(&"é".repeat(200)).contains(&"é".repeat(200)));
    }

    #[test]
    fn a_finding_prints_file_line_column_message_and_remedy() {
        let place = Location::at(&"x.toml".into(), 12, 8);
        let text = Problems::one(place, "rate is zero", "write a rate above zero").to_string();
        assert_eq!(text, "x.toml:12:8: rate is zero\n  help: write a rate above zero");
    }
}
