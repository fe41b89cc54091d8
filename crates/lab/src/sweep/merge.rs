//! The tables of a whole sweep.

use super::run::{Record, Sweep};
use crate::results::tables::{Labelled, Table, consumers, flows, links, runs, to_parquet};
use crate::results::{Error, replace_files};
use std::path::PathBuf;

/// The tables, each a file `NAME.parquet`.
pub const TABLES: [&str; 4] = ["runs", "consumers", "links", "flows"];

/// Merges results into tables, in the order of the plan, and writes them to the sweep's folder: `runs.parquet`,
/// `consumers.parquet`, `links.parquet`, and `flows.parquet` if flows came and went. Whoever ran the jobs, in whatever
/// order, the bytes are the same. Returns the tables with their files.
///
/// `jobs`: all, or those of a `part`, from 1 to how many there are. Its files are such as `runs.3-of-8.parquet`, so that
/// a sweep whose tables do not fit into memory has them in parts.
///
/// # Errors
/// If a result is missing or damaged, or a file cannot be written.
pub fn merge(sweep: &Sweep, jobs: &[usize], part: Option<(usize, usize)>) -> Result<Vec<(PathBuf, Table)>, Error> {
    let suffix = part.map_or(String::new(), |(part, of)| format!(".{part}-of-{of}"));
    let mut records: Vec<Record> = Vec::with_capacity(jobs.len());
    let mut missing = 0;
    for &job in jobs {
        match sweep.record(job)? {
            Some(record) => records.push(record),
            None => missing += 1,
        }
    }
    if missing > 0 {
        return Err(Error::Damaged {
            path: sweep.folder().display().to_string(),
            what: format!("{missing} of {} runs are missing", jobs.len()),
            remedy: "give the same command without --merge to run them",
        });
    }
    let label = |(&job, record): (&usize, &'_ Record)| {
        let (experiment, case) = sweep.place(job);
        (experiment, case.name.as_str(), case.set.as_slice(), record.attained())
    };
    let places: Vec<_> = jobs.iter().zip(&records).map(label).collect();
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
            estimate: record.estimate.as_deref(),
        })
        .collect();
    let tables: Vec<Table> =
        [runs(&all), consumers(&all), links(&all), flows(&all)].into_iter().filter(|table| !table.is_empty()).collect();
    let mut written = Vec::with_capacity(tables.len());
    for table in tables {
        let name = format!("{}{suffix}.parquet", table.name);
        let path = sweep.folder().join(&name);
        let bytes = to_parquet(&table).map_err(|what| Error::Damaged {
            path: path.display().to_string(),
            what,
            remedy: "please report this",
        })?;
        replace_files(sweep.folder(), &[(name, bytes)])?;
        written.push((path, table));
    }
    Ok(written)
}
