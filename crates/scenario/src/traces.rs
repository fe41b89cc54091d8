//! Rate traces of links: files next to the scenario.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ndnweir_sim::network::RateTrace;

use super::diag::{Findings, Location, Problems, suggest};
use super::direction::{RATE_HELP, rate_check};
use super::fields::Fields;
use super::shipped;
use super::source::Base;

/// The traces that were read, each file once.
pub(super) struct Traces<'a> {
    base: &'a Base,
    read: RefCell<BTreeMap<String, Option<RateTrace>>>,
}

impl<'a> Traces<'a> {
    pub(super) fn new(base: &'a Base) -> Traces<'a> {
        Traces { base, read: RefCell::default() }
    }

    /// The key `trace` of a link.
    pub(super) fn read(&self, f: &Fields<'_>, found: &Findings) -> Option<RateTrace> {
        let file = f.get::<String>("trace")?;
        if f.item("rate").is_some() {
            f.error("trace", "trace: the link has a rate beside it", "delete one of the two: a trace says the rate");
            return None;
        }
        let mut read = self.read.borrow_mut();
        if let Some(known) = read.get(&file) {
            return known.clone();
        }
        let trace = match self.open(&file, &f.place("trace")) {
            Ok(trace) => Some(trace),
            Err(problems) => {
                found.add(problems);
                None
            }
        };
        read.insert(file, trace.clone());
        trace
    }

    fn open(&self, file: &str, at: &Location) -> Result<RateTrace, Problems> {
        let (shown, text) = match self.base {
            Base::Shipped(_) => match shipped::trace(file) {
                Some(text) => (format!("scenarios/{file}"), text.to_owned()),
                None => {
                    let help = suggest(file, "shipped traces", shipped::traces());
                    return Err(Problems::one(
                        at.clone(),
                        format!("trace: no shipped trace is called \"{file}\""),
                        help,
                    ));
                }
            },
            Base::Text(..) => (file.to_owned(), self.text_of(file.as_ref(), file, at)?),
            Base::Folder(folder, _) => {
                let path = folder.join(file);
                let shown = path.display().to_string();
                let text = self.text_of(&path, &shown, at)?;
                (shown, text)
            }
        };
        let trace = RateTrace::parse(&text).map_err(|error| {
            let (message, help) = error.message.rsplit_once(": ").unwrap_or((&error.message, ""));
            Problems::one(Location::at(&shown.as_str().into(), error.line, 0), message, help)
        })?;
        rate_check(&trace.mean()).map_err(|problem| {
            Problems::one(at.clone(), format!("trace \"{shown}\": its mean rate: {problem}"), RATE_HELP)
        })?;
        Ok(trace)
    }

    /// The text of a trace's file; if it cannot be read, the error is reported where the scenario names it.
    fn text_of(&self, path: &std::path::Path, shown: &str, at: &Location) -> Result<String, Problems> {
        self.base.read_text(path, shown).map_err(|problems| {
            let message = problems.list.first().map_or(String::new(), |problem| problem.message.clone());
            let help = "the path is relative to the folder of the scenario file";
            Problems::one(at.clone(), format!("trace \"{shown}\": {message}"), help)
        })
    }
}
