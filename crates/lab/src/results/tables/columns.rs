//! A table of typed columns.

use super::super::significant;

/// The values of a column; all columns of a table have equally many.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Text.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Finite numbers, with nine significant digits.
    Float(Vec<Option<f64>>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Text(v) => v.len(),
            Values::Int(v) => v.len(),
            Values::Float(v) => v.len(),
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, which ends in the unit if there is one.
    pub name: String,
    /// Its values, by row.
    pub values: Values,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, the same whatever was measured.
    pub columns: Vec<Column>,
}

impl Table {
    /// The same without some columns.
    pub fn without(mut self, names: &[&str]) -> Table {
        self.columns.retain(|column| !names.contains(&column.name.as_str()));
        self
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }
}

/// Makes a table of rows of some type, column by column.
pub(super) struct Builder<'a, R> {
    rows: &'a [R],
    columns: Vec<Column>,
}

impl<'a, R> Builder<'a, R> {
    pub(super) fn new(rows: &'a [R]) -> Builder<'a, R> {
        Builder { rows, columns: Vec::new() }
    }

    fn put(mut self, name: &str, values: Values) -> Builder<'a, R> {
        self.columns.push(Column { name: name.to_owned(), values });
        self
    }

    pub(super) fn text(self, name: &str, of: impl Fn(&'a R) -> Option<&'a str>) -> Builder<'a, R> {
        let values = self.rows.iter().map(|row| of(row).map(str::to_owned)).collect();
        self.put(name, Values::Text(values))
    }

    /// Whole numbers; what is beyond 2⁶³ keeps its bits.
    pub(super) fn int(self, name: &str, of: impl Fn(&R) -> Option<u64>) -> Builder<'a, R> {
        let values = self.rows.iter().map(|row| of(row).map(u64::cast_signed)).collect();
        self.put(name, Values::Int(values))
    }

    pub(super) fn float(self, name: &str, of: impl Fn(&R) -> Option<f64>) -> Builder<'a, R> {
        let rounded = |value: f64| value.is_finite().then(|| significant(value, 9));
        let values = self.rows.iter().map(|row| of(row).and_then(rounded)).collect();
        self.put(name, Values::Float(values))
    }

    /// Several columns of whole numbers that one function gives.
    pub(super) fn ints<const N: usize>(self, names: [&str; N], of: impl Fn(&R) -> [u64; N]) -> Builder<'a, R> {
        let all: Vec<[u64; N]> = self.rows.iter().map(of).collect();
        names.iter().enumerate().fold(self, |table, (i, name)| {
            let values = all.iter().map(|row| Some(row[i].cast_signed())).collect();
            table.put(name, Values::Int(values))
        })
    }

    pub(super) fn finish(self, name: &str) -> Table {
        Table { name: name.to_owned(), columns: self.columns }
    }
}
