//! Tables as plain text, fitted to a terminal. Names come from files and other programs: a terminal obeys nothing in them.

use ndnweir_core::plain;

/// What the place can show where a table is printed; by default all columns and no colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStyle {
    /// Characters in a line; none shows all columns however wide they are.
    pub width: Option<usize>,
    /// Whether escape sequences for colours and weights may be written.
    pub colour: bool,
}

/// How a cell is written where there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Without a colour.
    #[default]
    Plain,
    /// The best of its column.
    Best,
    /// Not measured: a reference for comparison.
    Aside,
    /// A failure or a value that needs attention.
    Bad,
}

/// The weight of headings.
const BOLD: &str = "\x1b[1m";
/// Ends a tone.
const END: &str = "\x1b[0m";

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Best => "\x1b[32m",
            Tone::Aside => "\x1b[2m",
            Tone::Bad => "\x1b[31m",
        }
    }
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its heading.
    pub heading: String,
    /// Whether it is aligned to the right, as numbers are.
    pub right: bool,
    /// Where room is short, the column of the least weight goes first; one of [`Column::ALWAYS`] never does.
    pub weight: u8,
}

impl Column {
    /// The weight of columns that are always shown.
    pub const ALWAYS: u8 = u8::MAX;
}

/// One row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// A cell for each column.
    pub cells: Vec<(String, Tone)>,
    /// Written below the row from the second column on, if not empty.
    pub below: String,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct TextTable {
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
}

const GAP: usize = 2;

fn length(text: &str) -> usize {
    text.chars().count()
}

/// `text` with the escape sequence `code` around it.
fn toned(text: &str, code: &str) -> String {
    if code.is_empty() || text.is_empty() { text.into() } else { format!("{code}{text}{END}") }
}

impl TextTable {
    /// The table, and below it which columns had no room.
    pub fn render(&self, style: TableStyle) -> String {
        let shown = |cell: &str| plain::line(cell).into_owned();
        let column = |column: &Column| Column { heading: shown(&column.heading), ..column.clone() };
        let row = |row: &Row| Row {
            cells: row.cells.iter().map(|(cell, tone)| (shown(cell), *tone)).collect(),
            below: row.below.clone(),
        };
        let columns = self.columns.iter().map(column).collect();
        TextTable { columns, rows: self.rows.iter().map(row).collect() }.render_plain(style)
    }

    fn render_plain(&self, style: TableStyle) -> String {
        let width = |i: usize| {
            let cells = self.rows.iter().filter_map(|r| r.cells.get(i)).map(|c| length(&c.0));
            cells.chain([length(&self.columns[i].heading)]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let shown = self.fitting(&widths, style.width);
        let total = |shown: &[usize]| shown.iter().map(|&i| widths[i] + GAP).sum::<usize>().saturating_sub(GAP);
        let line = |cell: &dyn Fn(usize) -> (String, &'static str)| {
            let mut text = String::new();
            let mut pending = 0;
            for &i in &shown {
                let (cell, code) = cell(i);
                let pad = widths[i].saturating_sub(length(&cell));
                let (before, after) = if self.columns[i].right { (pad, 0) } else { (0, pad) };
                pending += before;
                if !cell.is_empty() {
                    text.push_str(&" ".repeat(pending));
                    text.push_str(&toned(&cell, code));
                    pending = 0;
                }
                pending += after + GAP;
            }
            text + "\n"
        };
        let bold = if style.colour { BOLD } else { "" };
        let mut out = line(&|i| (self.columns[i].heading.clone(), bold));
        out.push_str(&"─".repeat(total(&shown)));
        out.push('\n');
        let indent = shown.first().map_or(0, |&i| widths[i]) + GAP;
        for row in &self.rows {
            out.push_str(&line(&|i| {
                let (text, tone) = row.cells.get(i).cloned().unwrap_or_default();
                (text, if style.colour { tone.code() } else { "" })
            }));
            if !row.below.is_empty() {
                let room = style.width.map(|width| width.saturating_sub(indent).max(20));
                for part in wrapped(&row.below, room) {
                    out.push_str(&format!("{}{part}\n", " ".repeat(indent)));
                }
            }
        }
        let hidden: Vec<&str> =
            (0..self.columns.len()).filter(|i| !shown.contains(i)).map(|i| self.columns[i].heading.as_str()).collect();
        if !hidden.is_empty() {
            let text = format!("no room for: {}; --wide shows all", hidden.join(", "));
            wrapped(&text, style.width).iter().for_each(|part| out.push_str(&format!("{part}\n")));
        }
        out
    }

    /// The columns that fit into `room`, those of least weight left out.
    fn fitting(&self, widths: &[usize], room: Option<usize>) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..widths.len()).collect();
        let Some(room) = room else { return shown };
        while shown.iter().map(|&i| widths[i] + GAP).sum::<usize>() > room + GAP {
            let loose = shown.iter().enumerate().filter(|(_, i)| self.columns[**i].weight < Column::ALWAYS);
            // Of equals the rightmost.
            let Some((at, _)) = loose.rev().min_by_key(|(_, i)| self.columns[**i].weight) else { break };
            shown.remove(at);
        }
        shown
    }
}

/// `text` as [`plain::lines`] gives it, with the colours and weights of tables in it.
pub fn plain_but_for_tones(text: &str) -> String {
    let tones = [Tone::Best, Tone::Aside, Tone::Bad].map(Tone::code);
    let codes = || tones.into_iter().chain([BOLD, END]);
    let mut parts = text.split('\x1b');
    let mut out = plain::lines(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let part = format!("\x1b{part}");
        let code = codes().find(|code| part.starts_with(code)).unwrap_or_default();
        out.push_str(code);
        out.push_str(&plain::lines(&part[code.len()..]));
    }
    out
}

/// The words of `text` in lines of at most `width` characters; a longer word has a line of its own.
pub fn wrapped(text: &str, width: Option<usize>) -> Vec<String> {
    let text = &*plain::lines(text);
    let Some(width) = width else { return vec![text.into()] };
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        match lines[last].is_empty() {
            true => lines[last].push_str(word),
            false if length(&lines[last]) + 1 + length(word) <= width => {
                lines[last].push(' ');
                lines[last].push_str(word);
            }
            false => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let column = |heading: &str, weight| Column { heading: heading.into(), right: weight < 255, weight };
        let cells =
            |cells: [&str; 4]| Row { cells: cells.map(|c| (c.to_owned(), Tone::Plain)).into(), below: String::new() };
        TextTable {
            columns: vec![column("name", 255), column("much", 9), column("less", 3), column("least", 3)],
            rows: vec![cells(["a", "1", "2", "3"]), cells(["bcdefg", "", "20", ""])],
        }
    }

    #[test]
    fn a_narrow_terminal_gets_fewer_columns_and_a_note() {
        let all = table().render(TableStyle::default());
        assert_eq!(
            all.lines().collect::<Vec<_>>(),
            [
                "name    much  less  least",
                "─────────────────────────",
                "a          1     2      3",
                "bcdefg          20"
            ]
        );
        for width in 12..25 {
            let text = table().render(TableStyle { width: Some(width), colour: false });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            assert!(text.contains("--wide") && text.starts_with("name    much"), "{width}: {text}");
        }
        let eighteen = table().render(TableStyle { width: Some(18), colour: false });
        assert!(eighteen.starts_with("name    much  less\n"), "{eighteen}");
        assert_eq!(table().render(TableStyle { width: Some(25), colour: false }), all);
    }

    #[test]
    fn colours_change_no_width() {
        let mut table = table();
        table.rows[0].cells[1].1 = Tone::Best;
        let text = table.render(TableStyle { width: None, colour: true });
        assert!(text.contains("\x1b[32m1\x1b[0m") && text.contains("\x1b[1mname"), "{text}");
        let mut plain = text;
        for code in ["\x1b[32m", "\x1b[1m", "\x1b[0m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, table.render(TableStyle::default()));
    }

    #[test]
    fn a_terminal_obeys_nothing_in_a_cell_and_the_columns_stay_aligned() {
        let mut table = table();
        table.columns[1].heading = "mu\u{202e}".into();
        table.rows[0].cells[0].0 = "a\x1b[2J\n\u{9b}".into();
        table.rows[0].below = "b\x07".into();
        let text = table.render(TableStyle { width: None, colour: true });
        assert!(text.contains(r"a\u{1b}[2J\u{a}\u{9b}") && text.contains(r"mu\u{202e}"), "{text}");
        assert!(text.contains(r"b\u{7}") && plain_but_for_tones(&text) == text, "{text}");
        assert_eq!(text.lines().count(), 5, "{text}");
        assert_eq!(plain_but_for_tones("\x1b[1mx\x1b[0m\x1b[1;5H\x1b"), "\x1b[1mx\x1b[0m\\u{1b}[1;5H\\u{1b}");
    }
}
