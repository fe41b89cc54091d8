//! The scenario as a tree of values with their places in the file.
//!
//! Files, topology readers, the demand generator and overrides all write into this tree; it is checked once, at the
//! end. That way an override can replace a bad value, and an error in a generated link still names the line it came
//! from.

use std::sync::Arc;

use ndnweir_core::units::{Duration, Rate};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diag::{Diagnostic, Location, Problems};
use super::model::QueueLimit;

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Item {
    /// Where.
    pub at: Location,
    /// What.
    pub value: Value,
}

/// A value of a file.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "named after what they are")]
pub enum Value {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A TOML value no key takes, or a number beyond its type: what it is, for the message.
    Unusable(String),
    List(Vec<Item>),
    Table(Table),
    /// What a topology reader read, with its unit; no file has it.
    Quantity(Quantity),
}

/// A quantity that is not text.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "named after what they are")]
pub enum Quantity {
    Rate(Rate),
    Duration(Duration),
    Queue(QueueLimit),
}

/// Keys in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// One per key.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where it stands.
    pub key_at: Location,
    /// Its value.
    pub item: Item,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Item> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.item)
    }
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Item> {
        self.entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.item)
    }
    /// Replaces or adds.
    pub(crate) fn set(&mut self, key: &str, item: Item) {
        match self.entries.iter_mut().find(|e| e.key == key) {
            Some(entry) => {
                entry.key_at = item.at.clone();
                entry.item = item;
            }
            None => self.entries.push(Entry { key: key.into(), key_at: item.at.clone(), item }),
        }
    }
    pub(crate) fn remove(&mut self, key: &str) {
        self.entries.retain(|e| e.key != key);
    }
    /// The tables of an array of tables; empty if `key` is absent or something else.
    pub fn list(&self, key: &str) -> &[Item] {
        match self.get(key) {
            Some(Item { value: Value::List(items), .. }) => items,
            _ => &[],
        }
    }
    /// The list at `key`, made if absent; `None` if something else is there.
    pub(crate) fn list_mut(&mut self, key: &str, at: &Location) -> Option<&mut Vec<Item>> {
        if self.get(key).is_none() {
            self.set(key, Item { at: at.clone(), value: Value::List(Vec::new()) });
        }
        match &mut self.get_mut(key)?.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }
    /// The table at `key`, made if absent; `None` if something else is there.
    pub(crate) fn table_mut(&mut self, key: &str, at: &Location) -> Option<&mut Table> {
        if self.get(key).is_none() {
            self.set(key, Item { at: at.clone(), value: Value::Table(Table::default()) });
        }
        match &mut self.get_mut(key)?.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

impl Item {
    pub(crate) fn text(at: &Location, text: impl Into<String>) -> Item {
        Item { at: at.clone(), value: Value::Text(text.into()) }
    }
    pub(crate) fn quantity(at: &Location, quantity: Quantity) -> Item {
        Item { at: at.clone(), value: Value::Quantity(quantity) }
    }
    pub(crate) fn float(at: &Location, x: f64) -> Item {
        Item { at: at.clone(), value: Value::Float(x) }
    }
    /// A table of the given keys, all at one place.
    pub(crate) fn table(at: &Location, entries: Vec<(&str, Item)>) -> Item {
        let mut table = Table::default();
        for (key, item) in entries {
            table.set(key, item);
        }
        Item { at: at.clone(), value: Value::Table(table) }
    }
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
    pub(crate) fn as_table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text(_) => "a text",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::Unusable(_) => "something else",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Quantity(_) => "a quantity",
        }
    }
    /// As JSON, for the scheme registry; the error is the place and text of a value JSON cannot carry.
    pub(crate) fn to_json(&self) -> Result<serde_json::Value, (Location, String)> {
        use serde_json::Value as Json;
        Ok(match &self.value {
            Value::Text(text) => Json::String(text.clone()),
            Value::Int(n) => Json::from(*n),
            Value::Float(x) => Json::Number(
                serde_json::Number::from_f64(*x)
                    .ok_or_else(|| (self.at.clone(), format!("{x} is not a finite number")))?,
            ),
            Value::Bool(b) => Json::Bool(*b),
            Value::Unusable(what) => return Err((self.at.clone(), format!("{what} cannot be used here"))),
            Value::Quantity(_) => return Err((self.at.clone(), "a quantity of a topology cannot be used here".into())),
            Value::List(items) => Json::Array(items.iter().map(Item::to_json).collect::<Result<Vec<_>, _>>()?),
            Value::Table(table) => {
                let pairs = table.entries.iter().map(|e| Ok((e.key.clone(), e.item.to_json()?)));
                Json::Object(pairs.collect::<Result<_, _>>()?)
            }
        })
    }
}

/// Columns are not counted beyond this many bytes into a line: no one reads such lines, and counting would take
/// quadratic time.
const LONG_LINE: usize = 10_000;

/// Turns byte offsets of a text into lines and columns.
pub(crate) struct Lines<'t> {
    source: Arc<str>,
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(source: &str, text: &'t str) -> Lines<'t> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Lines { source: source.into(), text, starts }
    }
    pub(crate) fn place(&self, offset: usize) -> Location {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts[line - 1];
        if offset - start > LONG_LINE {
            return Location::at(&self.source, line, 0);
        }
        let before = self.text.get(start..offset.min(self.text.len())).unwrap_or("");
        Location::at(&self.source, line, before.chars().count() + 1)
    }
}

/// Parses TOML text into the tree.
///
/// # Errors
/// Every syntax error, with its line.
pub fn parse(source: &str, text: &str) -> Result<Table, Problems> {
    let lines = Lines::new(source, text);
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let list = errors.iter().map(|error| {
            let mut place = match error.span() {
                Some(span) => lines.place(span.start.min(text.trim_end().len())),
                None => Location::whole(source),
            };
            if place.line == 0 {
                place = lines.place(0);
            }
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            let help = if message.contains("duplicate key") {
                "each key may be written once: delete or rename one of the two"
            } else {
                "the file must be TOML: KEY = VALUE lines under [section] or [[list]] headers, texts in quotes"
            };
            Diagnostic { place, message: format!("not valid TOML: {message}"), help: help.into() }
        });
        return Err(Problems { list: list.collect() });
    }
    Ok(convert_table(root.get_ref(), &lines))
}

/// Parses the value of an override: a TOML value if it is one, otherwise plain text.
pub(crate) fn parse_value(text: &str, at: &Location) -> Item {
    let plain = || Item::text(at, text.trim());
    let Ok(value) = DeValue::parse(text.trim()) else { return plain() };
    let lines = Lines::new(&at.source, text);
    let mut item = convert(&value, &lines);
    if matches!(item.value, Value::Unusable(_)) {
        return plain();
    }
    item.relocate(at);
    item
}

impl Item {
    fn relocate(&mut self, at: &Location) {
        self.at = at.clone();
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|i| i.relocate(at)),
            Value::Table(table) => table.entries.iter_mut().for_each(|e| {
                e.key_at = at.clone();
                e.item.relocate(at);
            }),
            _ => {}
        }
    }
}

fn convert_table(table: &DeTable<'_>, lines: &Lines<'_>) -> Table {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_at: lines.place(key.span().start),
            item: convert(value, lines),
        })
        .collect();
    entries.sort_by(|a, b| a.key_at.cmp(&b.key_at));
    Table { entries }
}

fn convert(value: &Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Item {
    let converted = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => {
            let digits = n.as_str().replace('_', "");
            match i64::from_str_radix(&digits, n.radix()) {
                Ok(n) => Value::Int(n),
                Err(_) => Value::Unusable(format!("the number {}", n.as_str())),
            }
        }
        DeValue::Float(x) => match x.as_str().replace('_', "").parse() {
            Ok(x) => Value::Float(x),
            Err(_) => Value::Unusable(format!("the number {}", x.as_str())),
        },
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(d) => Value::Unusable(format!("the date {d}")),
        DeValue::Array(list) => Value::List(list.iter().map(|v| convert(v, lines)).collect()),
        DeValue::Table(table) => Value::Table(convert_table(table, lines)),
    };
    Item { at: lines.place(value.span().start), value: converted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_line_and_column() {
        let table = parse("x.toml", "[run]\n  duration = \"60s\"\n[[link]]\nends = [\"A\", \"B\"]\n").unwrap();
        let duration = table.get("run").unwrap().as_table().unwrap().get("duration").unwrap();
        assert_eq!(duration.at.to_string(), "x.toml:2:14");
        assert_eq!(table.list("link")[0].at.line, 3);
    }

    #[test]
    fn syntax_errors_name_their_line() {
        let problems = parse("x.toml", "[run]\nduration = 60s\n").unwrap_err();
        assert_eq!(problems.list[0].place.line, 2, "{problems}");
    }

    #[test]
    fn an_override_that_is_not_a_toml_value_is_text() {
        let at = Location::whole("--set a=b");
        assert_eq!(parse_value("5Mbps", &at).as_text(), Some("5Mbps"));
        assert_eq!(parse_value("1000 packets", &at).as_text(), Some("1000 packets"));
        assert!(matches!(parse_value("0.01", &at).value, Value::Float(_)));
        assert!(matches!(parse_value("[1, 2]", &at).value, Value::List(_)));
    }
}
