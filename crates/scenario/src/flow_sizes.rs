//! The size distributions of flows in a scenario file.

use super::diag::{Location, Problems};
use super::fields::{Fields, Read};
use super::flows::{FlowContext, ItemList, MAX_SIZE, SIZES, size_check};
use super::tree::{Item, Value};
use ndnweir_core::units::Bytes;
use ndnweir_sim::flows::{DATA_MINING, FlowSizes, WEB_SEARCH};

const SIZE_HELP: &str = "write a size from \"1B\" to \"1000GB\"";

/// Reads a distribution; errors are reported.
pub(super) fn sizes(item: &Item, context: &FlowContext<'_>) -> Option<FlowSizes> {
    let found = context.found;
    let table = |points: &[(f64, f64)], most| FlowSizes::Table { points: points.to_vec(), most };
    match item.as_text() {
        Some("web-search") => return Some(table(&WEB_SEARCH, f64::INFINITY)),
        Some("data-mining") => return Some(table(&DATA_MINING, f64::INFINITY)),
        Some(text) => {
            let size = Bytes::read(item).ok().filter(|bytes| size_check(bytes).is_ok());
            if size.is_none() {
                let message = format!("sizes: \"{text}\" is neither a size nor a table that is known");
                found.error(&item.at, message, format!("write {SIZES}"));
            }
            return size.map(|bytes| FlowSizes::Fixed(bytes.get()));
        }
        None => {}
    }
    let Some(written) = item.as_table() else {
        found.error(&item.at, format!("sizes are {}", item.kind()), format!("write {SIZES}"));
        return None;
    };
    let f = Fields::new(written, "sizes", &item.at, found);
    f.required::<String>("kind", "\"web-search\"")?;
    let kinds = ["fixed", "pareto", "log-normal", "web-search", "data-mining", "table"].map(|kind| (kind, kind));
    let kind = f.word("kind", &kinds)?;
    let size = |key: &'static str| {
        f.required::<Bytes>(key, "\"100kB\"")?;
        f.checked(key, SIZE_HELP, size_check).map(|bytes: Bytes| bytes.get() as f64)
    };
    let number = |key: &'static str, example: &str, least: f64, most: f64| {
        f.required::<f64>(key, example)?;
        f.checked(key, &format!("write a number from {least} to {most}"), |x: &f64| {
            if (least..=most).contains(x) { Ok(()) } else { Err(format!("{x} makes no distribution")) }
        })
    };
    let most = || match f.has("cut-off") {
        true => f.checked("cut-off", SIZE_HELP, size_check).map(|bytes: Bytes| bytes.get() as f64),
        false => Some(MAX_SIZE),
    };
    let sizes = match kind {
        "fixed" => size("bytes").map(|bytes| FlowSizes::Fixed(bytes as u64)),
        "pareto" => {
            let (shape, least, most) = (number("shape", "1.2", 0.01, 100.0), size("least"), size("most"));
            match (shape, least, most) {
                (_, Some(least), Some(most)) if least > most => {
                    f.error("least", "least: it is more than most", "write the smaller of the two here");
                    None
                }
                (Some(shape), Some(least), Some(most)) => Some(FlowSizes::Pareto { shape, least, most }),
                _ => None,
            }
        }
        "log-normal" => {
            let (median, sigma, most) = (size("median"), number("sigma", "1.5", 0.001, 10.0), most());
            median.zip(sigma).zip(most).map(|((median, sigma), most)| FlowSizes::LogNormal { median, sigma, most })
        }
        "web-search" => most().map(|most| table(&WEB_SEARCH, most)),
        "data-mining" => most().map(|most| table(&DATA_MINING, most)),
        _ => points(&f, context).zip(most()).map(|(points, most)| FlowSizes::Table { points, most }),
    };
    f.finish();
    sizes
}

/// The points of a table: from `points` in the scenario, or from a `file`.
fn points(f: &Fields<'_>, context: &FlowContext<'_>) -> Option<Vec<(f64, f64)>> {
    let (at, points) = match (f.has("points"), f.has("file")) {
        (true, true) => {
            f.mark_known(&["points"]);
            f.error("file", "file: points are given, too", "delete one of the two");
            return None;
        }
        (_, true) => (f.place("file"), table_file(&f.get::<String>("file")?, &f.place("file"), context)?),
        _ => {
            let ItemList(items) = f.required("points", "[[\"0B\", 0], [\"10kB\", 0.5], [\"1MB\", 1]]")?;
            let point = |item: &Item| {
                let pair = match &item.value {
                    Value::List(pair) if pair.len() == 2 => Bytes::read(&pair[0]).ok().zip(f64::read(&pair[1]).ok()),
                    _ => None,
                };
                if pair.is_none() {
                    let help = "write [\"10kB\", 0.5]: half of the flows are no larger than 10 kB";
                    context.found.error(&item.at, "points: this is no size with a share of the flows", help);
                }
                pair.map(|(bytes, share)| (bytes.get() as f64, share))
            };
            (f.place("points"), items.iter().map(point).collect::<Option<Vec<_>>>()?)
        }
    };
    let sizes = FlowSizes::Table { points, most: MAX_SIZE };
    if !sizes.is_sound() {
        let help = "let sizes and shares rise, from a share of 0 in the first point to 1 in the last";
        context.found.error(&at, "the points make no distribution", help);
        return None;
    }
    match sizes {
        FlowSizes::Table { points, .. } => Some(points),
        _ => None,
    }
}

/// Lines of two numbers, separated by a comma or blanks; `#` begins a comment.
pub(super) fn pairs(text: &str, shown: &str, what: &str) -> Result<Vec<(usize, f64, f64)>, Problems> {
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.split([',', ' ', '\t']).filter(|field| !field.is_empty()).collect();
        let read = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
        let Some((a, b)) = (match fields[..] {
            [a, b] => read(a).zip(read(b)),
            _ => None,
        }) else {
            let place = Location::at(&shown.into(), number + 1, 1);
            return Err(Problems::one(place, format!("\"{line}\" is not {what}"), "write two numbers in a line"));
        };
        all.push((number + 1, a, b));
    }
    Ok(all)
}

fn table_file(file: &str, at: &Location, context: &FlowContext<'_>) -> Option<Vec<(f64, f64)>> {
    let read = || {
        let (shown, text) = context.base.read(file, "table of sizes", at)?;
        pairs(&text, &shown, "a size in bytes and the share of flows that are no larger")
    };
    let points = read().map_err(|problems| context.found.add(problems)).ok()?;
    Some(points.into_iter().map(|(_, bytes, share)| (bytes, share)).collect())
}
