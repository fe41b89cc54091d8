//! The results of a run.

use crate::errors;
use crate::table::Table;
use ndnweir_lab::results::tables::{self, Labelled};
use ndnweir_lab::results::{CaseResult, CaseResults, EventInfo, Repeat, SeriesKind, SeriesOf};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The runs of one or more cases of a scenario.
#[pyclass(frozen, module = "ndnweir._native")]
pub(crate) struct Results {
    cases: Vec<CaseResult>,
    repeat: Repeat,
}

impl Results {
    pub(crate) fn new(cases: Vec<CaseResult>, repeat: Repeat) -> Results {
        Results { cases, repeat }
    }

    fn labelled(&self) -> Vec<Labelled<'_>> {
        fn of(case: &CaseResult) -> impl Iterator<Item = Labelled<'_>> {
            let CaseResult { name, set, comparison } = case;
            comparison.runs.iter().map(move |run| Labelled {
                experiment: &comparison.scenario.name,
                case: name,
                set,
                run,
                attained: comparison.attained(run),
                estimate: comparison.optimum.estimate.as_deref(),
                optimum: Some(&comparison.optimum),
            })
        }
        self.cases.iter().flat_map(of).collect()
    }

    fn case(&self, py: Python<'_>, name: Option<&str>) -> PyResult<&CaseResult> {
        let found = match (name, self.cases.as_slice()) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), cases) => cases.iter().find(|case| case.name == name),
        };
        found.ok_or_else(|| {
            let there: Vec<&str> = self.cases.iter().map(|case| case.name.as_str()).collect();
            errors::input(py, format!("name one of the cases: {}", there.join("; ")))
        })
    }
}

#[pymethods]
impl Results {
    /// The names of the cases; one empty name if nothing varies.
    #[getter]
    fn cases(&self) -> Vec<String> {
        self.cases.iter().map(|case| case.name.clone()).collect()
    }

    /// A table by name: `runs`, `consumers`, `links`, `flows`, `events`.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let all = self.labelled();
        let table = match name {
            "runs" => tables::runs(&all),
            "consumers" => tables::consumers(&all),
            "links" => tables::links(&all),
            "flows" => tables::flows(&all),
            "events" => {
                let of = |case: &'_ CaseResult| -> (String, String, Vec<EventInfo>) {
                    let scenario = &case.comparison.scenario;
                    (scenario.name.clone(), case.name.clone(), scenario.events.clone())
                };
                let cases: Vec<_> = self.cases.iter().map(of).collect();
                let cases: Vec<_> = cases.iter().map(|(e, c, all)| (e.as_str(), c.as_str(), all.as_slice())).collect();
                tables::events(&cases)
            }
            other => return Err(errors::input(py, format!("there is no table \"{other}\""))),
        };
        Table::new(py, table)
    }

    /// Values over time of a kind of subjects.
    fn series(&self, py: Python<'_>, kind: &str) -> PyResult<Table> {
        let found = SeriesKind::ALL.into_iter().find(|known| known.name() == kind);
        let found = found.ok_or_else(|| {
            let there: Vec<&str> = SeriesKind::ALL.iter().map(|known| known.name()).collect();
            errors::input(py, format!("there are no series \"{kind}\"; there are: {}", there.join(", ")))
        })?;
        Table::new(py, tables::series(&self.labelled(), found))
    }

    /// The document of `summary.json`.
    fn summary(&self) -> String {
        match self.cases.as_slice() {
            [only] if only.name.is_empty() => only.comparison.to_summary(),
            _ => self.whole().to_summary(),
        }
    }

    /// The page of a case.
    #[pyo3(signature = (case=None))]
    fn page(&self, py: Python<'_>, case: Option<&str>) -> PyResult<String> {
        let case = self.case(py, case)?;
        Ok(py.detach(|| ndnweir_report::page(&case.comparison)))
    }

    /// Writes a result folder, as the command does.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let written = py.detach(|| match self.cases.as_slice() {
            [only] if only.name.is_empty() => ndnweir_report::write(&only.comparison, &folder, SeriesOf::First),
            _ => ndnweir_report::write_cases(&self.whole(), &folder, SeriesOf::First),
        });
        written.map_err(|error| errors::work(py, error))
    }

    /// Whether runs are missing because the work was interrupted.
    #[getter]
    fn partial(&self) -> bool {
        self.cases.iter().any(|case| case.comparison.partial)
    }
}

impl Results {
    fn whole(&self) -> CaseResults {
        CaseResults { cases: self.cases.clone(), repeat: self.repeat.clone() }
    }
}
