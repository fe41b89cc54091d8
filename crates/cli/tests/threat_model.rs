//! Every bound on the page of threats is the one in the code.

use std::collections::BTreeMap;
use std::path::Path;

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).ok()
}

/// The value of a Rust expression of whole numbers, their sums, products and shifts, wrapped in at most one call such
/// as `Duration::from_millis(…)`; times in milliseconds.
fn value(expression: &str, source: &str) -> Option<u64> {
    let expression = expression.trim().trim_end_matches(" as u64").trim();
    if let Some((call, rest)) = expression.split_once('(') {
        let inner = value(rest.strip_suffix(')')?, source)?;
        return match call.rsplit("::").next()? {
            "from_secs" => Some(1000 * inner),
            "from_millis" | "from_bps" | "new" => Some(inner),
            _ => None,
        };
    }
    if let Some((left, right)) = expression.rsplit_once("<<") {
        return value(left, source)?.checked_shl(value(right, source)?.try_into().ok()?);
    }
    if let Some((left, right)) = expression.rsplit_once('+') {
        return Some(value(left, source)? + value(right, source)?);
    }
    if let Some((left, right)) = expression.rsplit_once('*') {
        return Some(value(left, source)? * value(right, source)?);
    }
    let number = expression.replace('_', "");
    let number = number.strip_suffix(".0").unwrap_or(&number);
    number.parse().ok().or_else(|| constant(expression, source))
}

/// The value of `const NAME: … = …;` or, in a `Default`, of `NAME: …,`.
fn constant(name: &str, source: &str) -> Option<u64> {
    source.lines().find_map(|line| {
        let line = line.trim().trim_start_matches("pub(super) ").trim_start_matches("pub(crate) ");
        let line = line.strip_prefix("pub ").unwrap_or(line);
        if let Some(rest) = line.strip_prefix("const ").and_then(|rest| rest.strip_prefix(name)) {
            return value(rest.strip_prefix(':')?.split_once('=')?.1.trim().strip_suffix(';')?, source);
        }
        value(line.strip_prefix(name)?.strip_prefix(": ")?.strip_suffix(',')?, source)
    })
}

/// A number as the page writes it: `8 MiB`, `60 s`, `4096`, `1/8`; the last stands for its denominator.
fn written(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number: u64 = number.rsplit('/').next()?.replace(',', "").parse().ok()?;
    let factor = match unit.split_whitespace().next().unwrap_or("") {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "s" => 1000,
        "min" => 60_000,
        _ => 1,
    };
    Some(number * factor)
}

/// Rows whose last cell is `` `NAME` in `path` ``: the number, the name and the path.
fn rows(page: &str) -> Vec<(&str, &str, &str)> {
    page.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
            let [.., number, place] = cells.as_slice() else { return None };
            let (name, path) = place.strip_prefix('`')?.strip_suffix('`')?.split_once("` in `")?;
            Some((*number, name, path))
        })
        .collect()
}

#[test]
fn every_bound_on_the_page_is_that_of_the_code() {
    let page = read("docs/threat-model.md").unwrap();
    let rows = rows(&page);
    assert!(rows.len() >= 30, "only {} bounds were found on the page", rows.len());
    let mut sources = BTreeMap::new();
    let mut wrong = Vec::new();
    for (number, name, path) in rows {
        let source = sources.entry(path).or_insert_with(|| read(path).unwrap_or_default());
        match (written(number), constant(name, source)) {
            (Some(page), Some(code)) if page == code => {}
            (page, code) => {
                wrong.push(format!("{name} in {path}: the page says {number} ({page:?}), the code {code:?}"))
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn constants_are_read_as_the_compiler_would() {
    let source = [
        "pub const A: usize = 8 << 20;",
        "    limit: Bytes::new(512 << 20),",
        "const B: Duration = Duration::from_millis(60_000);",
        "pub(super) const C: usize = A + 1024;",
        "const D: std::time::Duration = std::time::Duration::from_secs(2);",
        "const E: f64 = 3.0;",
    ];
    let source = &source.join("\n");
    let read = |name| constant(name, source);
    assert_eq!([read("A"), read("limit"), read("B")], [Some(8 << 20), Some(512 << 20), Some(60_000)]);
    assert_eq!([read("C"), read("D"), read("E"), read("F")], [Some((8 << 20) + 1024), Some(2000), Some(3), None]);
    assert_eq!(
        [written("8 MiB"), written("60 s"), written("1/8"), written("4,096")].map(Option::unwrap),
        [8 << 20, 60_000, 8, 4096]
    );
}
