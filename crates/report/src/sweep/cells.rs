//! Means over seeds, by case and scheme, from a table of runs.

use ndnweir_lab::evaluation::half_width;
use ndnweir_lab::results::Summary;
use ndnweir_lab::results::tables::{Table, Values};
use std::collections::BTreeMap;

/// A key that varies.
pub struct Key {
    pub name: String,
    /// Its values, in the order of the plan.
    pub values: Vec<String>,
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; none with one seed.
    pub half: Option<f64>,
    pub seeds: usize,
}

/// The runs of an experiment.
pub struct Experiment<'t> {
    pub name: String,
    pub keys: Vec<Key>,
    pub schemes: Vec<String>,
    table: &'t Table,
    /// Of each row: the index of its value for each key, its scheme, its number in the table.
    rows: Vec<(Vec<usize>, usize, usize)>,
}

/// The means of one metric.
#[derive(Default)]
pub struct Cells(BTreeMap<(Vec<usize>, usize), Mean>);

impl Cells {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mean of a case, with an index of a value for each key, under a scheme.
    pub fn of(&self, case: &[usize], scheme: usize) -> Option<Mean> {
        self.0.get(&(case.to_vec(), scheme)).copied()
    }

    /// All of them.
    pub fn means(&self) -> impl Iterator<Item = &Mean> {
        self.0.values()
    }
}

/// The number of a value among those seen so far.
fn index(seen: &mut Vec<String>, value: &str) -> usize {
    seen.iter().position(|known| known == value).unwrap_or_else(|| {
        seen.push(value.to_owned());
        seen.len() - 1
    })
}

fn texts<'t>(table: &'t Table, name: &str) -> Result<&'t [Option<String>], String> {
    match table.column(name) {
        Some(Values::Text(values)) => Ok(values),
        _ => Err(format!("this is not a table of a sweep's runs: it has no texts in a column {name}")),
    }
}

/// The experiments of a table of runs, in their order.
///
/// # Errors
/// If a column that names runs is missing.
pub fn read(table: &Table) -> Result<Vec<Experiment<'_>>, String> {
    let (experiments, schemes) = (texts(table, "experiment")?, texts(table, "scheme")?);
    // Tables of parts of runs have no hash.
    texts(table, "event_hash")?;
    // What was varied stands between what names a run and what was measured.
    let named = table.columns.iter().position(|column| column.name == "seed");
    let from = named.ok_or("this is not a table of a sweep's runs: it has no column seed")? + 1;
    let varied = table.columns[from..].iter().take_while(|column| column.name != "event_hash");
    let varied: Vec<(&str, &[Option<String>])> = varied
        .filter_map(|column| match &column.values {
            Values::Text(values) => Some((column.name.as_str(), values.as_slice())),
            _ => None,
        })
        .collect();
    let mut names = Vec::new();
    let mut rows_of: Vec<Vec<usize>> = Vec::new();
    for (row, experiment) in experiments.iter().enumerate() {
        let number = index(&mut names, experiment.as_deref().unwrap_or(""));
        rows_of.resize(names.len(), Vec::new());
        rows_of[number].push(row);
    }
    let experiment = |(name, rows): (String, Vec<usize>)| {
        let mut keys: Vec<Key> = Vec::new();
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
        for (key, values) in &varied {
            let mut seen = Vec::new();
            let found: Vec<usize> =
                rows.iter().map(|row| index(&mut seen, values[*row].as_deref().unwrap_or("–"))).collect();
            // A key that does not vary here, perhaps in another experiment.
            if seen.len() > 1 {
                found.into_iter().zip(&mut places).for_each(|(value, place)| place.push(value));
                keys.push(Key { name: (*key).to_owned(), values: seen });
            }
        }
        let mut known = Vec::new();
        let of = |row: &usize| schemes[*row].as_deref().unwrap_or("");
        let number: Vec<usize> = rows.iter().map(|row| index(&mut known, of(row))).collect();
        let rows =
            places.into_iter().zip(number).zip(rows).map(|((place, scheme), row)| (place, scheme, row)).collect();
        Experiment { name, keys, schemes: known, table, rows }
    };
    Ok(names.into_iter().zip(rows_of).map(experiment).collect())
}

impl Experiment<'_> {
    /// The means of a column over the seeds of each case and scheme; of runs in which it is defined.
    pub fn cells(&self, column: &str) -> Cells {
        let value = |row: usize| match self.table.column(column)? {
            Values::Float(values) => values[row],
            Values::Int(values) => values[row].map(|n| n as f64),
            Values::Text(_) => None,
        };
        let mut all: BTreeMap<(Vec<usize>, usize), Vec<f64>> = BTreeMap::new();
        for (place, scheme, row) in &self.rows {
            if let Some(x) = value(*row).filter(|x| x.is_finite()) {
                all.entry((place.clone(), *scheme)).or_default().push(x);
            }
        }
        let mean = |values: Vec<f64>| {
            let n = values.len();
            let mean = values.iter().sum::<f64>() / n as f64;
            let squares = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            let sd = (n > 1).then(|| libm::sqrt(squares / (n - 1) as f64));
            Mean { mean, half: half_width(&Summary { mean, sd, n }), seeds: n }
        };
        Cells(all.into_iter().map(|(place, values)| (place, mean(values))).collect())
    }

    /// By case, what is known about the optimum that shares are relative to, where it is an estimate. Tables of earlier
    /// versions do not say it.
    pub fn estimates(&self) -> BTreeMap<Vec<usize>, &str> {
        let Some(Values::Text(known)) = self.table.column("optimum_estimate") else { return BTreeMap::new() };
        let of = |(place, _, row): &(Vec<usize>, usize, usize)| Some((place.clone(), known[*row].as_deref()?));
        self.rows.iter().filter_map(of).collect()
    }

    /// The cases that have runs, in the order of the keys' values.
    pub fn cases(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        let mut all: Vec<Vec<usize>> = self.rows.iter().map(|row| row.0.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }
}
