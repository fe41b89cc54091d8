//! Lists in TOML files: of tables, texts and numbers.

use ndnweir_scenario::Location;
use ndnweir_scenario::diag::Findings;
use ndnweir_scenario::tree::{Item, Table, Value};

/// The tables of a list of tables, with their places in the file; other elements were reported by the parser.
pub fn tables<'a>(root: &'a Table, key: &str) -> impl Iterator<Item = (&'a Table, &'a Location)> {
    root.list(key).iter().filter_map(|item| Some((item.as_table()?, &item.at)))
}

/// The texts of a list, or the one text.
pub fn texts(item: &Item, found: &Findings) -> Vec<(String, Location)> {
    let one = |item: &Item| match item.as_text() {
        Some(text) => Some((text.to_owned(), item.at.clone())),
        None => {
            found.error(&item.at, format!("expected a text, found {}", item.kind()), "write it in quotes");
            None
        }
    };
    match &item.value {
        Value::List(items) => items.iter().filter_map(one).collect(),
        _ => one(item).into_iter().collect(),
    }
}

/// The finite numbers of a list, or the one number.
pub fn numbers(item: &Item, found: &Findings) -> Vec<(f64, Location)> {
    let one = |item: &Item| match item.value {
        Value::Int(n) => Some((n as f64, item.at.clone())),
        Value::Float(x) if x.is_finite() => Some((x, item.at.clone())),
        _ => {
            found.error(&item.at, format!("expected a number, found {}", item.kind()), "write a plain number");
            None
        }
    };
    match &item.value {
        Value::List(items) => items.iter().filter_map(one).collect(),
        _ => one(item).into_iter().collect(),
    }
}
