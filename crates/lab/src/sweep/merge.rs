//! The tables of a whole sweep.

use super::run::{Record, Sweep};
use crate::results::tables::{Labelled, Table, consumers, flows, links, runs, to_parquet};
use crate::results::{Error, replace_files};

/// The tables, each a file `NAME.parquet`.
pub const TABLES: [&str; 4] = ["runs", "consumers", "links", "flows"];

/// Merges all results into tables, in the order of the plan, and writes them to the sweep's folder: `runs.parquet`,
/// `consumers.parquet`, `links.parquet`, and `flows.parquet` if flows came and went. Whoever ran the jobs, in whatever
/// order, the bytes are the same. Returns the tables.
///
/// # Errors
/// If a result is missing or damaged, or a file cannot be written.
pub fn merge(sweep: &Sweep) -> Result<Vec<Table>, Error> {
    let mut records: Vec<Record> = Vec::with_capacity(sweep.len());
    for job in 0..sweep.len() {
        let record = sweep.record(job)?.ok_or_else(|| Error::Damaged {
            path: sweep.folder().display().to_string(),
            what: format!("{} of {} runs are missing", sweep.len() - sweep.status().done, sweep.len()),
            remedy: "give the same command without --merge to run them",
        })?;
        records.push(record);
    }
    let label = |(job, record): (usize, &'_ Record)| {
        let (experiment, case) = sweep.place(job);
        (experiment, case.name.as_str(), case.set.as_slice(), record.attained())
    };
    let places: Vec<_> = records.iter().enumerate().map(label).collect();
    let all: Vec<Labelled> = records
        .iter()
        .zip(&places)
        .map(|(record, (experiment, case, set, attained))| Labelled {
            experiment,
            case,
            set,
            run: &record.run,
            attained: *attained,
            optimum: record.optimum.as_ref(),
        })
        .collect();
    let tables: Vec<Table> =
        [runs(&all), consumers(&all), links(&all), flows(&all)].into_iter().filter(|table| !table.is_empty()).collect();
    for table in &tables {
        let name = format!("{}.parquet", table.name);
        let bytes = to_parquet(table).map_err(|what| Error::Damaged {
            path: sweep.folder().join(&name).display().to_string(),
            what,
            remedy: "please report this",
        })?;
        replace_files(sweep.folder(), &[(name, bytes)])?;
    }
    Ok(tables)
}
