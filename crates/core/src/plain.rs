//! Text that came from elsewhere, as a terminal may have it.
//!
//! A terminal obeys control characters, and bidirectional controls change the order in which a line is read: what a
//! forwarder, a peer or a file says could rewrite what a program shows. Here both become escapes such as `\u{1b}`.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal would obey `c` instead of showing it: C0 and C1 controls, the controls of Unicode's bidirectional
/// algorithm (UAX #9, section 2), and the separators of lines and paragraphs.
fn is_obeyed(c: char) -> bool {
    let bidirectional =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || bidirectional || matches!(c, '\u{2028}' | '\u{2029}')
}

fn escaped<'a>(text: &'a str, keep: &str, escape: impl Fn(&mut String, char)) -> Cow<'a, str> {
    let obeyed = |c: char| is_obeyed(c) && !keep.contains(c);
    if !text.contains(obeyed) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match obeyed(c) {
            true => escape(&mut out, c),
            false => out.push(c),
        }
    }
    out.into()
}

fn shown(out: &mut String, c: char) {
    out.extend(c.escape_unicode());
}

/// `text` in a line of its own or a part of one: a cell, a name, what another program says.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, "", shown)
}

/// `text` of several lines: line feeds and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    match text.contains("\r\n") {
        true => escaped(&text.replace("\r\n", "\n"), "\n\t", shown).into_owned().into(),
        false => escaped(text, "\n\t", shown),
    }
}

/// A JSON document, which stays the same document: its strings are where such characters are.
pub fn json(text: &str) -> Cow<'_, str> {
    escaped(text, "\n\t", |out, c| {
        // All of them are in the basic plane.
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_and_other_text_stays() {
        assert_eq!(line("a\x1b[2J\x07\r\n\u{9b}\u{7f}\u{202e}b"), r"a\u{1b}[2J\u{7}\u{d}\u{a}\u{9b}\u{7f}\u{202e}b");
        assert_eq!(lines("a\tb\r\nc\rd\n\u{2066}"), "a\tb\nc\\u{d}d\n\\u{2066}");
        for text in ["", "Ünïcödé — 漢字 שלום 👩‍👩", r"\u{1b}"] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text), "{text}");
            assert!(matches!(lines(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn a_json_document_stays_the_same_document() {
        assert_eq!(json("{\n  \"a\": \"\u{202e}\u{9b}\u{7f}\"\n}"), "{\n  \"a\": \"\\u202e\\u009b\\u007f\"\n}");
    }
}
