//! Series as CSV: one file for each table, one row for each scheme, seed, key and bin.
//!
//! The first line names the columns; undefined values are empty; names with a comma or a quote are quoted as in RFC
//! 4180.

use super::{Comparison, Error, Rows, Run, SeriesKind, number};
use std::collections::BTreeMap;
use std::io::{self, Write};

const REMEDY: &str = "restore the file, or delete it to draw the report without these series";

fn header(kind: SeriesKind) -> String {
    let columns: Vec<&str> =
        ["scheme", "seed", "time_s"].iter().chain(kind.keys()).chain(kind.metrics()).copied().collect();
    columns.join(",")
}

/// A name as a field.
pub(crate) fn quoted(name: &str) -> String {
    let name = name.replace(['\n', '\r'], " ");
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name }
}

/// Whether a file that begins so is a table with these columns.
pub(crate) fn begins_with(head: &[u8], header: &str) -> bool {
    head.strip_prefix(header.as_bytes()).is_some_and(|rest| rest.starts_with(b"\n"))
}

/// The file of a table in a result folder.
pub(super) fn file(kind: SeriesKind) -> String {
    format!("series/{}.csv", kind.name())
}

/// Whether a table has rows.
pub(super) fn has_rows(runs: &[&Run], kind: SeriesKind) -> bool {
    let bins = |rows: &Rows| rows.columns.first().map_or(0, Vec::len);
    runs.iter().any(|run| run.series.table(kind).iter().any(|rows| bins(rows) > 0))
}

/// Writes the table of all given runs.
pub(super) fn write(runs: &[&Run], kind: SeriesKind, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", header(kind))?;
    for run in runs {
        let scheme = quoted(&run.scheme);
        for rows in run.series.table(kind) {
            let keys: String = rows.key.iter().map(|k| quoted(k) + ",").collect();
            for bin in 0..rows.columns.first().map_or(0, Vec::len) {
                let at = number::text(bin as f64 * run.series.bin_s, 9);
                write!(out, "{scheme},{},{at},{keys}", run.seed)?;
                for (i, column) in rows.columns.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(out, "{comma}{}", number::text(column.get(bin).copied().unwrap_or(f64::NAN), 6))?;
                }
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

/// The fields of a line; `None` if a quote is not closed or is followed by anything but a comma.
pub(super) fn fields(line: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        if let Some(mut body) = rest.strip_prefix('"') {
            let mut field = String::new();
            loop {
                let end = body.find('"')?;
                field.push_str(&body[..end]);
                body = &body[end + 1..];
                match body.strip_prefix('"') {
                    Some(more) => {
                        field.push('"');
                        body = more;
                    }
                    None => break,
                }
            }
            found.push(field);
            match body.strip_prefix(',') {
                Some(more) => rest = more,
                None if body.is_empty() => return Some(found),
                None => return None,
            }
        } else {
            match rest.split_once(',') {
                Some((field, more)) => {
                    found.push(field.to_owned());
                    rest = more;
                }
                None => {
                    found.push(rest.to_owned());
                    return Some(found);
                }
            }
        }
    }
}

/// Reads a table back into the runs it belongs to.
pub(super) fn read(comparison: &mut Comparison, kind: SeriesKind, text: &str, path: &str) -> Result<(), Error> {
    let damaged = |line: usize, what: &str| Error::Damaged {
        path: path.to_owned(),
        what: format!("line {}: {what}", line + 1),
        remedy: REMEDY,
    };
    let mut lines = text.lines().enumerate();
    let expected = header(kind);
    if lines.next().is_none_or(|(_, first)| first != expected) {
        return Err(damaged(0, &format!("the columns are not \"{expected}\"")));
    }
    let (keys, metrics) = (kind.keys().len(), kind.metrics().len());
    let mut index: BTreeMap<(String, u64, Vec<String>), (usize, usize)> = BTreeMap::new();
    for (at, line) in lines {
        let row = fields(line).filter(|f| f.len() == 3 + keys + metrics);
        let row = row.ok_or_else(|| damaged(at, &format!("not {} fields", 3 + keys + metrics)))?;
        let seed: u64 = row[1].parse().map_err(|_| damaged(at, &format!("seed {:?} is not a number", row[1])))?;
        let time: f64 = row[2]
            .parse()
            .ok()
            .filter(|t: &f64| t.is_finite() && *t >= 0.0)
            .ok_or_else(|| damaged(at, &format!("time {:?} is not a number of seconds", row[2])))?;
        let key = row[3..3 + keys].to_vec();
        let (run, rows) = match index.get(&(row[0].clone(), seed, key.clone())) {
            Some(found) => *found,
            None => {
                let run = comparison.runs.iter().position(|r| r.scheme == row[0] && r.seed == seed);
                let run = run
                    .ok_or_else(|| damaged(at, &format!("no run of {:?} with seed {seed} in summary.json", row[0])))?;
                let table = &mut comparison.runs[run].series.tables[kind as usize];
                table.push(Rows { key: key.clone(), columns: vec![Vec::new(); metrics] });
                let place = (run, table.len() - 1);
                index.insert((row[0].clone(), seed, key), place);
                place
            }
        };
        let series = &mut comparison.runs[run].series;
        series.bin_s = comparison.scenario.bin_s;
        let columns = &mut series.tables[kind as usize][rows].columns;
        let bin = columns[0].len();
        if (time - bin as f64 * series.bin_s).abs() > 0.01 * series.bin_s + 1e-6 * time {
            return Err(damaged(
                at,
                &format!("time {time} is out of order: rows follow at the bin width of {} s", series.bin_s),
            ));
        }
        for (column, field) in columns.iter_mut().zip(&row[3 + keys..]) {
            let value =
                if field.is_empty() { Some(f64::NAN) } else { field.parse().ok().filter(|v: &f64| v.is_finite()) };
            column.push(value.ok_or_else(|| damaged(at, &format!("{field:?} is not a number")))?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_read_back() {
        for name in ["plain", "a,b", "say \"x\"", "", "\"", ",\","] {
            let line = format!("{},{},7", quoted(name), quoted(name));
            assert_eq!(fields(&line).unwrap(), [name, name, "7"]);
        }
        assert_eq!(fields("\"open,1"), None);
        assert_eq!(fields("\"a\"b,1"), None);
    }
}
