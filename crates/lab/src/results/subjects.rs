//! Results of the many links and nodes of a large network: a CSV file for each kind, in place of lists in
//! `summary.json`, which would be several times as long. A line for each run and subject; undefined values are empty.

use super::csv::{fields, quoted};
use super::{Comparison, Error, MANY, Run, number};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What has a file of its own in a large network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subjects {
    Links,
    Nodes,
}

impl Subjects {
    pub(super) const ALL: [Subjects; 2] = [Subjects::Links, Subjects::Nodes];

    /// The file in a result folder.
    pub(super) fn file(self) -> &'static str {
        match self {
            Subjects::Links => "summary/links.csv",
            Subjects::Nodes => "summary/nodes.csv",
        }
    }

    fn count(self, run: &Run) -> usize {
        match self {
            Subjects::Links => run.links.len(),
            Subjects::Nodes => run.nodes.len(),
        }
    }

    /// Whether any run has too many of them for `summary.json`.
    pub(super) fn are_many(self, comparison: &Comparison) -> bool {
        comparison.runs.iter().any(|run| self.count(run) > MANY)
    }

    /// Takes them out of a run.
    pub(super) fn clear(self, run: &mut Run) {
        match self {
            Subjects::Links => run.links.clear(),
            Subjects::Nodes => run.nodes.clear(),
        }
    }

    /// Writes the file.
    pub(super) fn write(self, comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
        let mut first = true;
        for run in &comparison.runs {
            match self {
                Subjects::Links => run.links.iter().try_for_each(|link| line(out, &mut first, run, link))?,
                Subjects::Nodes => run.nodes.iter().try_for_each(|node| line(out, &mut first, run, node))?,
            }
        }
        Ok(())
    }

    /// Reads the file back into the runs.
    pub(super) fn read(self, comparison: &mut Comparison, text: &str, path: &str) -> Result<(), Error> {
        let damaged = |at: usize, what: &str| Error::Damaged {
            path: path.to_owned(),
            what: format!("line {}: {what}", at + 1),
            remedy: "restore the file, or run the scenario again",
        };
        let mut lines = text.lines().enumerate();
        let columns = lines.next().and_then(|(_, line)| fields(line)).unwrap_or_default();
        if columns.len() < 4 || columns[..3] != ["scheme", "seed", "name"] {
            return Err(damaged(0, "the columns do not begin with \"scheme,seed,name\""));
        }
        let places: BTreeMap<(String, String), usize> = (comparison.runs.iter().enumerate())
            .map(|(i, run)| ((run.scheme.clone(), run.seed.to_string()), i))
            .collect();
        for (at, line) in lines {
            let row = fields(line).filter(|row| row.len() == columns.len());
            let mut row = row.ok_or_else(|| damaged(at, &format!("not {} fields", columns.len())))?;
            let values = row.split_off(2);
            let key = (std::mem::take(&mut row[0]), std::mem::take(&mut row[1]));
            let run = places.get(&key).and_then(|&run| comparison.runs.get_mut(run));
            let run =
                run.ok_or_else(|| damaged(at, &format!("no run of {:?} with seed {} in summary.json", key.0, key.1)))?;
            let value = object(&columns[2..], values);
            match self {
                Subjects::Links => parsed(value).map(|link| run.links.push(link)),
                Subjects::Nodes => parsed(value).map(|node| run.nodes.push(node)),
            }
            .map_err(|what| damaged(at, &what))?;
        }
        Ok(())
    }
}

/// Adds a line, and before the first the names of the columns.
fn line<T: Serialize>(out: &mut dyn Write, first: &mut bool, run: &Run, subject: &T) -> io::Result<()> {
    let mut values = BTreeMap::new();
    // Plain data become a value without fail; if not, the reader would report the missing columns.
    flatten("", &serde_json::to_value(subject).unwrap_or_default(), &mut values);
    let name = values.remove("name").unwrap_or_default();
    if std::mem::take(first) {
        let columns: Vec<&str> = values.keys().map(String::as_str).collect();
        writeln!(out, "scheme,seed,name,{}", columns.join(","))?;
    }
    let numbers: Vec<String> = values.into_values().collect();
    writeln!(out, "{},{},{},{}", quoted(&run.scheme), run.seed, quoted(&name), numbers.join(","))
}

/// The fields of an object, those of objects in it as `outer.inner`.
fn flatten(prefix: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&key, value, out);
            }
        }
        Value::Number(n) => {
            let text = n.as_u64().map(|n| n.to_string());
            out.insert(prefix.to_owned(), text.unwrap_or_else(|| number::text(n.as_f64().unwrap_or(f64::NAN), 9)));
        }
        Value::String(text) => {
            out.insert(prefix.to_owned(), text.clone());
        }
        _ => {
            out.insert(prefix.to_owned(), String::new());
        }
    }
}

/// The object of these fields; the first is the name.
fn object(columns: &[String], values: Vec<String>) -> Value {
    let mut all = Map::new();
    for (column, text) in columns.iter().zip(values) {
        let value = if column == "name" { Value::String(text) } else { plain(text) };
        match column.split_once('.') {
            None => {
                all.insert(column.clone(), value);
            }
            Some((outer, inner)) => {
                if let Value::Object(fields) = all.entry(outer).or_insert_with(|| Value::Object(Map::new())) {
                    fields.insert(inner.to_owned(), value);
                }
            }
        }
    }
    Value::Object(all)
}

fn plain(text: String) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    let whole = text.parse::<u64>().ok().map(Number::from);
    let number = whole.or_else(|| text.parse().ok().and_then(Number::from_f64));
    number.map_or(Value::String(text), Value::Number)
}

fn parsed<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Drops, LinkRun, NewFolder, NodeRun, SeriesOf, json, store};
    use std::path::Path;

    fn comparison() -> Comparison {
        let link = |i: usize| LinkRun {
            name: format!("A{i}>B,\"{i}\""),
            utilization: 1.0 / 3.0,
            queue_p99_ms: i.is_multiple_of(2).then_some(1.25),
            queue_max_packets: 7,
            drops: Drops { overflow: 3, ..Drops::default() },
            ..LinkRun::default()
        };
        let node = |i: usize| NodeRun { name: format!("N{i}"), interests: 1152921504606846976, ..NodeRun::default() };
        let run = |seed| Run {
            scheme: "a,b".into(),
            seed,
            links: (0..=MANY).map(link).collect(),
            nodes: (0..=MANY).map(node).collect(),
            ..Run::default()
        };
        Comparison { runs: vec![run(1), run(2)], ..Comparison::default() }
    }

    #[test]
    fn results_of_257_links_and_nodes_are_in_files_of_their_own_and_read_back() {
        let all = comparison();
        let document: Value = serde_json::from_str(&all.to_summary()).unwrap();
        assert!(
            document["runs"][0]["links"].as_array().unwrap().is_empty() && document["runs"][0].get("nodes").is_none()
        );
        let metrics = document["aggregates"][0]["metrics"].as_object().unwrap();
        assert!(metrics.contains_key("goodput_mbps") && metrics.keys().all(|name| !name.starts_with("links.")));
        let (root, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let stored = |comparison: &Comparison, dir: &Path| {
            let mut folder = NewFolder::begin(dir).unwrap();
            store(comparison, SeriesOf::First, "", &mut folder);
            let back = folder.read_back("").unwrap();
            folder.finish().unwrap();
            let files = ["summary.json", "summary/links.csv", "summary/nodes.csv"];
            (back, files.map(|name| std::fs::read_to_string(dir.join(name)).unwrap()))
        };
        let (back, files) = stored(&all, root.path());
        let text = &files[1];
        assert!(text.starts_with("scheme,seed,name,drops.bound,drops.down,"), "{text:.80}");
        assert_eq!(text.lines().count(), 1 + 2 * 257);
        assert_eq!((back.runs[1].links.len(), back.runs[1].nodes.len()), (257, 257));
        assert_eq!(back.runs[1].nodes, all.runs[1].nodes);
        let (link, was) = (&back.runs[1].links[1], &all.runs[1].links[1]);
        assert_eq!(*link, LinkRun { utilization: 0.333_333_333, ..was.clone() });
        assert!(stored(&back, again.path()).1 == files, "what was read back is stored as it was");
    }

    #[test]
    fn damaged_files_are_rejected_with_the_line() {
        let all = comparison();
        let text = json::text(|out| Subjects::Nodes.write(&all, out));
        let fault = |text: &str| {
            let mut empty = all.clone();
            Subjects::ALL.into_iter().for_each(|subjects| empty.runs.iter_mut().for_each(|run| subjects.clear(run)));
            Subjects::Nodes.read(&mut empty, text, "nodes.csv").unwrap_err().to_string()
        };
        assert!(fault("").contains("nodes.csv: line 1: the columns do not begin"));
        assert!(fault(&text.replacen(",1,N0,", ",9,N0,", 1)).contains("line 2: no run of \"a,b\" with seed 9"));
        assert!(fault(&text.replacen(",1,N1,", ",1,N1,7,", 1)).contains("line 3: not "));
        assert!(fault(&text.replacen("1152921504606846976", "x", 1)).contains("line 2: invalid type"));
        assert!(fault(&text.replacen("interests", "interest", 1)).contains("missing field `interests`"));
    }
}
