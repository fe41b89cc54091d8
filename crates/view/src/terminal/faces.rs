//! `status --watch`: what a forwarder's faces carry.

use super::screen::{Error, History, Key, MUTED, STRONG, Screen, ScreenRow, rows, short};
use ndnweir_core::plain;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the forwarder is asked: its lists are as old as that anyway.
const INTERVAL: Duration = Duration::from_millis(1000);
/// How often keys are read.
const KEYS: Duration = Duration::from_millis(100);

/// Running totals of one face.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaceTotals {
    /// Its number.
    pub id: u64,
    /// The URI of its other end.
    pub uri: String,
    /// Bytes that came.
    pub bytes_in: u64,
    /// Bytes that were sent.
    pub bytes_out: u64,
}

/// What a forwarder said.
#[derive(Clone, Debug, Default)]
pub struct ForwarderSample {
    /// Totals in words, such as `PIT 3`.
    pub totals: Vec<String>,
    /// Its faces.
    pub faces: Vec<FaceTotals>,
}

/// Rates of the faces so far.
#[derive(Default)]
struct Rates {
    totals: Vec<String>,
    at: Option<Instant>,
    faces: BTreeMap<u64, (FaceTotals, [History; 2])>,
}

impl Rates {
    fn take(&mut self, sample: ForwarderSample, now: Instant) {
        let seconds = self.at.map_or(0.0, |at| now.duration_since(at).as_secs_f64());
        self.at = Some(now);
        self.totals = sample.totals;
        // Faces that are gone are not shown any more.
        self.faces.retain(|id, _| sample.faces.iter().any(|face| face.id == *id));
        for face in sample.faces {
            let (before, histories) = self.faces.entry(face.id).or_insert_with(|| (face.clone(), Default::default()));
            if seconds > 0.0 {
                let mbps = |now: u64, before: u64| now.saturating_sub(before) as f64 * 8e-6 / seconds;
                histories[0].push(mbps(face.bytes_in, before.bytes_in));
                histories[1].push(mbps(face.bytes_out, before.bytes_out));
            }
            *before = face;
        }
    }

    /// The names of the faces, those that carried most first.
    fn order(&self) -> Vec<(u64, String)> {
        let mut order: Vec<&FaceTotals> = self.faces.values().map(|(face, _)| face).collect();
        order.sort_by_key(|face| (std::cmp::Reverse(face.bytes_in.saturating_add(face.bytes_out)), face.id));
        // A URI is what a peer chose: nothing in it moves the cursor.
        let clean = |uri: &str| plain::line(uri).chars().take(100).collect::<String>();
        order.into_iter().map(|face| (face.id, format!("{} {}", face.id, clean(&face.uri)))).collect()
    }

    fn draw(&self, frame: &mut Frame<'_>, title: &str, skip: usize, trouble: Option<&str>) {
        let [head, totals, _, area, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let sum = |of: fn(&[History; 2]) -> &History| -> f64 {
            self.faces.values().filter_map(|(_, histories)| of(histories).latest()).sum()
        };
        let rates = format!("   in {} Mbit/s, out {} Mbit/s", short(sum(|h| &h[0])), short(sum(|h| &h[1])));
        frame.render_widget(Line::from(vec![Span::styled(title, STRONG), Span::styled(rates, MUTED)]), head);
        match trouble {
            Some(trouble) => frame.render_widget(Span::styled(trouble, Color::Red), totals),
            None => frame.render_widget(Span::raw(self.totals.join("   ")), totals),
        }
        let order = self.order();
        let list: Vec<ScreenRow<'_>> = (order.iter())
            .filter_map(|(id, name)| {
                let [inward, outward] = &self.faces.get(id)?.1;
                Some(ScreenRow { name, cells: [(inward, "Mbit/s", Color::Green), (outward, "Mbit/s", Color::Blue)] })
            })
            .collect();
        rows(frame, area, "faces", ["in", "out"], &list, skip);
        frame.render_widget(Span::styled("↑ ↓ rows   q or Ctrl-C ends", MUTED), keys);
    }
}

/// Draws what `ask` says once a second until a key or `stop` ends it.
///
/// # Errors
/// [`Error`], of the terminal; what `ask` fails with is shown, and it is asked again.
pub fn watch_faces(
    title: &str,
    stop: &AtomicBool,
    mut ask: impl FnMut() -> Result<ForwarderSample, String>,
) -> Result<(), Error> {
    let mut screen = Screen::open()?;
    let (mut rates, mut skip, mut trouble) = (Rates::default(), 0usize, None);
    let mut due = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if Instant::now() >= due {
            match ask() {
                Ok(sample) => {
                    rates.take(sample, Instant::now());
                    trouble = None;
                }
                Err(why) => trouble = Some(why),
            }
            due = Instant::now() + INTERVAL;
        }
        screen.draw(|frame| rates.draw(frame, title, skip, trouble.as_deref()))?;
        match screen.key(KEYS)? {
            Some(Key::Stop) => break,
            Some(Key::Down) => skip += 1,
            Some(Key::Up) => skip = skip.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_since_the_last_sample_and_faces_that_are_gone_are_forgotten() {
        let face = |id, bytes_in, bytes_out| FaceTotals { id, uri: format!("u\x1b[2J{id}"), bytes_in, bytes_out };
        let sample = |faces| ForwarderSample { totals: Vec::new(), faces };
        let (mut rates, began) = (Rates::default(), Instant::now());
        rates.take(sample(vec![face(1, 100, 0), face(2, 0, 0)]), began);
        rates.take(sample(vec![face(1, 100, 0), face(3, 5, 5), face(2, 0, 500_000)]), began + Duration::from_secs(2));
        // 500 kB in two seconds.
        assert_eq!(rates.faces[&2].1[1].latest(), Some(2.0));
        assert_eq!(rates.order()[0], (2, r"2 u\u{1b}[2J2".to_owned()));
        rates.take(sample(vec![face(3, 1, 1)]), began + Duration::from_secs(3));
        assert_eq!(rates.faces.len(), 1, "of a face whose number was used again the rate is not negative");
        assert_eq!(rates.faces[&3].1[0].latest(), Some(0.0));
    }
}
