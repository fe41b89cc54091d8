//! `[[figure]]` of `published.toml`.

use super::model::{Drawing, PaperFigure, PaperPanel};
use super::reader::PublishedReader;
use crate::evaluation::expr::Expr;
use crate::evaluation::lists::{tables, texts};
use ndnweir_scenario::Location;
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree::{Item, Table, Value};

/// Reads a figure; `None` if it has an error, which is reported.
pub(super) fn read(reader: &PublishedReader<'_>, table: &Table, at: &Location) -> Option<PaperFigure> {
    let f = Fields::new(table, "this figure", at, reader.found);
    let id = f.required::<String>("id", "\"fig5\"");
    let source = f.required::<String>("where", "\"Figure 5\"");
    let title = f.required::<String>("title", "\"Throughput\"");
    let caption = f.get::<String>("caption").unwrap_or_default();
    let y = f.required::<String>("y", "\"throughput (Mbit/s)\"");
    let (to, bin) = (f.get::<f64>("to").unwrap_or(f64::INFINITY), f.get::<f64>("bin").unwrap_or(1.0));
    let kind =
        f.word("kind", &[("lines", Drawing::Lines { to, bin }), ("bars", Drawing::Bars), ("boxes", Drawing::Boxes)]);
    if kind.is_none() {
        f.missing("kind", "\"lines\"");
    }
    let y_range = f.item("y-range").and_then(|item| range(reader, item));
    f.item("panel");
    f.finish();
    let kind = kind?;
    let panels: Vec<PaperPanel> = tables(table, "panel").filter_map(|(t, at)| panel(reader, t, at, kind)).collect();
    if panels.is_empty() {
        reader.found.error(at, "this figure has no panel", "add [[figure.panel]] with what it draws");
        return None;
    }
    Some(PaperFigure { id: id?, source: source?, title: title?, caption, y: y?, y_range, kind, panels })
}

fn range(reader: &PublishedReader<'_>, item: &Item) -> Option<(f64, f64)> {
    let number = |item: &Item| match item.value {
        Value::Int(n) => Some(n as f64),
        Value::Float(x) => Some(x),
        _ => None,
    };
    let read = match &item.value {
        Value::List(list) => match list.as_slice() {
            [a, b] => number(a).zip(number(b)).filter(|(a, b)| a < b),
            _ => None,
        },
        _ => None,
    };
    if read.is_none() {
        reader.found.error(&item.at, "this is not a range", "write y-range = [0, 1]");
    }
    read
}

fn panel(reader: &PublishedReader<'_>, table: &Table, at: &Location, kind: Drawing) -> Option<PaperPanel> {
    let f = Fields::new(table, "this panel", at, reader.found);
    let title = f.get::<String>("title").unwrap_or_default();
    let place = reader.experiment(&f);
    let schemes = f.item("schemes");
    let items = f.item("items").map(|item| texts(item, reader.found)).unwrap_or_default();
    if schemes.is_none() {
        f.missing("schemes", "[\"pcon\"]");
    }
    if items.is_empty() {
        f.missing("items", "[\"C1 = consumers.C1.goodput_mbps\"]");
    }
    f.item("marks");
    // Panels of lines share their axis; boxes are horizontal.
    let y_range = match kind {
        Drawing::Bars => f.item("y-range").and_then(|item| range(reader, item)),
        _ => None,
    };
    f.finish();
    let (experiment, case) = place?;
    let schemes = reader.schemes(schemes, experiment);
    let read = |(text, at): &(String, Location)| {
        let (label, text) = text.split_once('=').map_or(("", text.as_str()), |(l, t)| (l.trim(), t.trim()));
        let expr = match kind {
            Drawing::Lines { .. } => {
                reader.or_report(at, reader.resolver.series(experiment, text))?;
                Expr::Name(text.to_owned())
            }
            Drawing::Bars => reader.expr(text, at, experiment)?,
            Drawing::Boxes => {
                let delay = Expr::Name(format!("consumers.{text}.delay_ms.mean"));
                reader.or_report(at, reader.resolver.value(experiment, &delay))?;
                Expr::Name(text.to_owned())
            }
        };
        Some((label.to_owned(), expr))
    };
    let items = items.iter().filter_map(read).collect();
    let marks = tables(table, "marks").filter_map(|(t, at)| {
        let f = Fields::new(t, "this mark", at, reader.found);
        let (value, label) = (f.required::<f64>("value", "0.75"), f.get::<String>("label").unwrap_or_default());
        f.finish();
        Some((value?, label))
    });
    let marks = marks.collect();
    Some(PaperPanel { title, experiment, case, schemes, items, marks, y_range })
}
