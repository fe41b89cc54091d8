//! The terminal: taken over while something is watched, and given back whatever happens.

use ratatui::DefaultTerminal;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, RenderDirection, Sparkline};
use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Why nothing can be drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Output is not a terminal.
    #[error("--watch draws on a terminal, and standard output or input is none; leave it out")]
    NoTerminal,
    /// The terminal fails.
    #[error("the terminal cannot be drawn on: {0}")]
    Terminal(#[from] io::Error),
}

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Ctrl-C, `q` or Escape.
    Stop,
    Next,
    Previous,
    Down,
    Up,
}

/// A terminal that is drawn on; dropped, it is as before. A panic gives it back too, before it prints its message.
pub struct Screen(DefaultTerminal);

impl Screen {
    /// Takes the terminal over.
    pub fn open() -> Result<Screen, Error> {
        check()?;
        Ok(Screen(ratatui::try_init()?))
    }

    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(draw).map(drop)
    }

    /// Waits for a key at most so long.
    pub fn key(&self, patience: Duration) -> io::Result<Option<Key>> {
        if !event::poll(patience)? {
            return Ok(None);
        }
        let Event::Key(key) = event::read()? else { return Ok(None) };
        if key.kind == KeyEventKind::Release {
            return Ok(None);
        }
        Ok(match key.code {
            // In raw mode it is a key, not a signal.
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Stop),
            KeyCode::Char('q') | KeyCode::Esc => Some(Key::Stop),
            KeyCode::Right | KeyCode::Tab => Some(Key::Next),
            KeyCode::Left | KeyCode::BackTab => Some(Key::Previous),
            KeyCode::Down => Some(Key::Down),
            KeyCode::Up => Some(Key::Up),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Whether there is a terminal: to be called before the work.
///
/// # Errors
/// [`Error::NoTerminal`].
pub fn check() -> Result<(), Error> {
    match io::stdout().is_terminal() && io::stdin().is_terminal() {
        true => Ok(()),
        false => Err(Error::NoTerminal),
    }
}

/// The latest values of something, the newest last.
#[derive(Clone, Debug, Default)]
pub struct History(VecDeque<f64>);

/// As many as the widest terminal shows.
const KEPT: usize = 512;

impl History {
    pub fn push(&mut self, value: f64) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    pub fn latest(&self) -> Option<f64> {
        self.0.back().copied().filter(|value| value.is_finite())
    }
}

/// A row: what it is about, and two histories with their units.
pub struct ScreenRow<'a> {
    pub name: &'a str,
    pub cells: [(&'a History, &'a str, Color); 2],
}

pub const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub const MUTED: Style = Style::new().fg(Color::DarkGray);

/// Rows under a heading, from row `skip` on, as many as there is room for.
pub fn rows(frame: &mut Frame<'_>, area: Rect, heading: &str, columns: [&str; 2], rows: &[ScreenRow<'_>], skip: usize) {
    if area.height == 0 {
        return;
    }
    let split = |area: Rect| -> [Rect; 3] {
        let name = (area.width / 4).clamp(8, 34);
        Layout::horizontal([Constraint::Length(name), Constraint::Fill(1), Constraint::Fill(1)]).spacing(1).areas(area)
    };
    let line = |at: u16| Rect { y: area.y + at, height: 1, ..area };
    let [name, first, second] = split(line(0));
    let room = usize::from(area.height) - 1;
    let skip = skip.min(rows.len().saturating_sub(room));
    let more =
        if rows.len() > room { format!(" {}–{} of {}", skip + 1, skip + room, rows.len()) } else { String::new() };
    frame.render_widget(Line::from(vec![Span::styled(heading, STRONG), Span::styled(more, MUTED)]), name);
    frame.render_widget(Span::styled(columns[0], MUTED), first);
    frame.render_widget(Span::styled(columns[1], MUTED), second);
    for (at, row) in rows.iter().skip(skip).take(room).enumerate() {
        let [name, first, second] = split(line(at as u16 + 1));
        frame.render_widget(Paragraph::new(row.name), name);
        for (area, (history, unit, colour)) in [first, second].into_iter().zip(row.cells) {
            cell(frame, area, history, unit, colour);
        }
    }
}

/// A value and its sparkline, which begins at zero.
fn cell(frame: &mut Frame<'_>, area: Rect, history: &History, unit: &str, colour: Color) {
    let [value, line] = Layout::horizontal([Constraint::Length(15), Constraint::Fill(1)]).areas(area);
    let text = history.latest().map_or("–".to_owned(), |value| format!("{} {unit}", short(value)));
    frame.render_widget(Paragraph::new(text), value);
    let most = history.0.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let scaled = |value: &f64| if most > 0.0 && value.is_finite() { (value / most * 1000.0) as u64 } else { 0 };
    let values: Vec<u64> = history.0.iter().rev().take(line.width.into()).map(scaled).collect();
    let sparkline = Sparkline::default().data(values).max(1000).direction(RenderDirection::RightToLeft);
    frame.render_widget(sparkline.style(Style::new().fg(colour)), line);
}

/// Few digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{value:.2e}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(width: u16, height: u16, skip: usize) -> Vec<String> {
        let mut history = History::default();
        [0.0, 5.0, f64::NAN, 10.0].into_iter().for_each(|value| history.push(value));
        let empty = History::default();
        let row = |name| ScreenRow { name, cells: [(&history, "Mbit/s", Color::Blue), (&empty, "ms", Color::Red)] };
        let list = [row("C1"), row("C2"), row("C3")];
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| rows(frame, frame.area(), "consumers", ["goodput", "RTT"], &list, skip)).unwrap();
        let buffer = terminal.backend().buffer();
        (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect()).collect()
    }

    #[test]
    fn rows_have_values_and_sparklines_and_say_how_many_there_are() {
        let lines = drawn(80, 4, 0);
        assert!(lines[0].starts_with("consumers") && lines[0].contains("goodput") && lines[0].contains("RTT"));
        assert!(lines[1].starts_with("C1") && lines[1].contains("10.0 Mbit/s"), "{}", lines[1]);
        // Zero, half of the largest, undefined, the largest; the newest at the right.
        assert!(lines[1].contains(" ▄ █"), "{}", lines[1]);
        assert!(lines[1].contains('–'), "without a value");
        let few = drawn(80, 3, 9);
        assert!(few[0].contains("2–3 of 3") && few[1].starts_with("C2"), "{few:?}");
        // As small as a terminal gets.
        for (width, height) in [(1, 1), (5, 2), (200, 1)] {
            drawn(width, height, 1);
        }
    }
}
