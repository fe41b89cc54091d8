//! Tables as plain text: columns as wide as their widest cell. A forwarder says what is in them: a terminal obeys nothing
//! of it.

use ndnweir_core::plain;
use std::fmt::Write;

/// Rows under a heading; the columns named in `right` are aligned to the right.
pub fn table<const N: usize>(heading: [&str; N], right: &[usize], rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| plain::line(cell).into_owned())).collect();
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in [heading.map(str::to_owned)].iter().chain(&rows) {
        let mut line = String::new();
        for (at, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let _ =
                if right.contains(&at) { write!(line, "{cell:>width$}  ") } else { write!(line, "{cell:<width$}  ") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Lines of a name and a value each.
pub fn pairs(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:<width$}  {}\n", plain::line(value))).collect()
}
