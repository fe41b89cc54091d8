//! The machine-readable document: `sim --json` and `summary.json`.

use super::agreement::{Agreement, agreement};
use super::subjects::Subjects;
use super::{Aggregate, Comparison, Error, MANY, Optimum, Repeat, Run, ScenarioInfo, number};
use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use std::borrow::Cow;
use std::io::{self, Write};

/// Version of the format; a reader rejects newer versions.
pub(super) const FORMAT: u32 = 1;

/// The stored form of a [`Comparison`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document<'a> {
    /// Version of the format.
    pub format: u32,
    /// The scenario.
    pub scenario: ScenarioInfo,
    /// Whether runs are missing because the work was interrupted.
    #[serde(default)]
    pub partial: bool,
    /// Every run.
    pub runs: Vec<Cow<'a, Run>>,
    /// The optimum.
    pub optimum: Optimum,
    /// Mean, spread and number over the seeds of each scheme.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregates: Vec<Aggregate>,
    /// The agreement of emulated and simulated runs, if there are both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreement: Vec<Agreement>,
    /// How to repeat the comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

impl Comparison {
    pub(super) fn document(&self) -> Document<'_> {
        let outside: Vec<Subjects> = Subjects::ALL.into_iter().filter(|subjects| subjects.are_many(self)).collect();
        let stored = |run| {
            let mut stored: Cow<'_, Run> = Cow::Borrowed(run);
            outside.iter().for_each(|subjects| subjects.clear(stored.to_mut()));
            stored
        };
        let runs = self.runs.iter().map(stored).collect();
        Document {
            format: FORMAT,
            scenario: self.scenario.clone(),
            partial: self.partial,
            runs,
            optimum: self.optimum.clone(),
            aggregates: self.stored_aggregates(),
            agreement: agreement(&self.runs),
            repeat: Some(self.repeat.clone()),
        }
    }

    /// `summary.json`, and the output of `--json`: it does not depend on the machine, the time or the number of
    /// threads.
    pub fn to_summary(&self) -> String {
        text(|out| self.write_summary(out))
    }

    /// Writes [`Comparison::to_summary`].
    pub(super) fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.is_large() {
            // Without indentation it is half as long.
            true => write(&self.document(), CompactFormatter, out),
            false => write(&self.document(), PrettyFormatter::new(), out),
        }
    }

    /// Whether results of consumers, links or nodes are too many to be listed everywhere.
    pub(super) fn is_large(&self) -> bool {
        Subjects::ALL.into_iter().any(|subjects| subjects.are_many(self)) || self.scenario.consumers.len() > MANY
    }

    /// Aggregates; of a large network without metrics of single consumers, links, nodes and shares.
    fn stored_aggregates(&self) -> Vec<Aggregate> {
        if !self.is_large() {
            return super::aggregate(self);
        }
        super::aggregate_of_runs(self)
    }
}

/// What is written to memory.
pub(super) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    // Writing plain data to memory cannot fail; if it did, the reader would report the truncated document.
    let _ = write(&mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

pub(super) fn write<T: Serialize, F: Formatter>(value: &T, formatter: F, out: &mut dyn Write) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Fixed(formatter)))?;
    out.write_all(b"\n")
}

/// Reads a document; `path` is used in error messages.
///
/// # Errors
/// [`Error::Damaged`] with line and column if the text is not such a document or has a newer format.
pub fn parse_document(text: &str, path: &str) -> Result<Comparison, Error> {
    const REMEDY: &str = "run the scenario again, or restore the file";
    let damaged = |what: String, remedy| Error::Damaged { path: path.to_owned(), what, remedy };
    #[derive(Deserialize)]
    struct Version {
        format: Option<u32>,
        cases: Option<serde::de::IgnoredAny>,
    }
    let version: Version = serde_json::from_str(text).map_err(|e| damaged(e.to_string(), REMEDY))?;
    match version.format {
        None => {
            return Err(damaged("has no \"format\", so it is not a summary of ndnweir".to_owned(), REMEDY));
        }
        Some(f) if f > FORMAT => {
            let problem = format!("format {f} is newer than this version reads ({FORMAT})");
            return Err(damaged(problem, "use a newer ndnweir"));
        }
        Some(_) => {}
    }
    if version.cases.is_some() {
        let problem = "holds several cases".to_owned();
        return Err(damaged(problem, "name one of the folders in cases/ beside it"));
    }
    let document: Document = serde_json::from_str(text).map_err(|e| damaged(e.to_string(), REMEDY))?;
    Ok(Comparison {
        scenario: document.scenario,
        runs: document.runs.into_iter().map(Cow::into_owned).collect(),
        optimum: document.optimum,
        repeat: document.repeat.unwrap_or_default(),
        partial: document.partial,
    })
}

/// Writes floats with nine significant digits and without exponent, everything else as the inner formatter.
struct Fixed<F>(F);

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $arg: $type)*) -> io::Result<()> {
            self.0.$name(writer $(, $arg)*)
        })*
    };
}

impl<F: Formatter> Formatter for Fixed<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(number::text(value, 9).as_bytes())
    }
    forward! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}
