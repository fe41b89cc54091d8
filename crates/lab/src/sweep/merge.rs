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
    write_tables(sweep, &(0..sweep.len()).collect::<Vec<_>>(), "")
}

/// The same of one part of the runs alone, from 1 to `of`: its rows, in files such as `runs.3-of-8.parquet`, so that a
/// sweep whose tables do not fit into memory has them in parts.
///
/// # Errors
/// As [`merge`].
pub fn merge_part(sweep: &Sweep, part: usize, of: usize) -> Result<Vec<Table>, Error> {
    write_tables(sweep, &sweep.part(part - 1, of), &format!(".{part}-of-{of}"))
}

fn write_tables(sweep: &Sweep, jobs: &[usize], suffix: &str) -> Result<Vec<Table>, Error> {
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
        })
        .collect();
    let tables: Vec<Table> =
        [runs(&all), consumers(&all), links(&all), flows(&all)].into_iter().filter(|table| !table.is_empty()).collect();
    for table in &tables {
        let name = format!("{}{suffix}.parquet", table.name);
        let bytes = to_parquet(table).map_err(|what| Error::Damaged {
            path: sweep.folder().join(&name).display().to_string(),
            what,
            remedy: "please report this",
        })?;
        replace_files(sweep.folder(), &[(name, bytes)])?;
    }
    Ok(tables)
}
