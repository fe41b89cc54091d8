//! `sim --watch`: consumers and links of one scheme at a time, while runs are simulated.

use super::screen::{Error, History, Key, MUTED, STRONG, Screen, ScreenRow, rows};
use ndnweir_lab::experiment::{Experiment, Progress};
use ndnweir_lab::results::{ScenarioInfo, Series, SeriesKind};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::LineGauge;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it is drawn.
const INTERVAL: Duration = Duration::from_millis(80);

/// Consumers, and link directions, whose values are kept.
const MAX_ROWS: usize = 256;

/// What is known of a scheme: of its first seed's run.
#[derive(Default)]
struct WatchedScheme {
    at_s: f64,
    /// Goodput and window, by consumer.
    consumers: Vec<[History; 2]>,
    /// Queue and rate, by link direction.
    links: Vec<[History; 2]>,
}

struct Shared {
    title: String,
    schemes: Vec<String>,
    seeds: usize,
    consumers: Vec<String>,
    links: Vec<String>,
    duration_s: f64,
    /// How far each run is.
    fractions: Mutex<Vec<f64>>,
    /// By scheme.
    known: Mutex<Vec<WatchedScheme>>,
    over: AtomicBool,
}

/// Draws an experiment while it runs. Ctrl-C, `q` and Escape set the flag that stops it.
pub struct RunScreen {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl RunScreen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(
        experiment: &Experiment,
        scenario: &ScenarioInfo,
        stop: &'static AtomicBool,
    ) -> Result<RunScreen, Error> {
        let consumers: Vec<String> = scenario.consumers.iter().take(MAX_ROWS).map(|c| c.name.clone()).collect();
        let links: Vec<String> = scenario.links.iter().take(MAX_ROWS).map(|l| l.name.clone()).collect();
        let schemes: Vec<String> = experiment.schemes.iter().map(|s| s.name.clone()).collect();
        let known = |_: &String| WatchedScheme {
            at_s: 0.0,
            consumers: vec![Default::default(); consumers.len()],
            links: vec![Default::default(); links.len()],
        };
        let seeds = experiment.seeds.len();
        let shared = Arc::new(Shared {
            title: scenario.name.clone(),
            fractions: Mutex::new(vec![0.0; schemes.len() * seeds]),
            known: Mutex::new(schemes.iter().map(known).collect()),
            schemes,
            seeds,
            consumers,
            links,
            duration_s: scenario.duration_s,
            over: AtomicBool::new(false),
        });
        let mut screen = Screen::open()?;
        let drawn = Arc::clone(&shared);
        let thread = std::thread::spawn(move || drawn.draw_until_over(&mut screen, stop));
        Ok(RunScreen { shared, thread: Some(thread) })
    }

    /// Gives the terminal back.
    ///
    /// # Errors
    /// If it could not be drawn on.
    pub fn end(mut self) -> Result<(), Error> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.shared.over.store(true, Ordering::Relaxed);
        // A panic of the thread was printed.
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())))
    }
}

impl Drop for RunScreen {
    fn drop(&mut self) {
        // Whoever wants to know has called `end`.
        let _ = self.finish();
    }
}

impl Progress for RunScreen {
    fn advanced(&self, run: usize, fraction: f64) {
        let mut fractions = self.shared.fractions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = fractions.get_mut(run) {
            *known = fraction;
        }
    }

    fn wants_bins(&self) -> bool {
        true
    }

    fn bins(&self, run: usize, first: usize, series: &Series) {
        let seeds = self.shared.seeds.max(1);
        let mut schemes = self.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = schemes.get_mut(run / seeds).filter(|_| run.is_multiple_of(seeds)) else { return };
        known.at_s = (first + series.len()) as f64 * series.bin_s;
        let take = |kind: SeriesKind, metrics: [&str; 2], histories: &mut [[History; 2]]| {
            let at = metrics.map(|metric| kind.metrics().iter().position(|name| *name == metric));
            for (rows, histories) in series.table(kind).iter().zip(histories) {
                for (at, history) in at.iter().zip(histories) {
                    let values = at.and_then(|at| rows.columns.get(at));
                    values.into_iter().flatten().for_each(|value| history.push(*value));
                }
            }
        };
        take(SeriesKind::Consumers, ["goodput_mbps", "window"], &mut known.consumers);
        take(SeriesKind::Links, ["queue_ms", "data_mbps"], &mut known.links);
    }
}

impl Shared {
    fn draw_until_over(&self, screen: &mut Screen, stop: &AtomicBool) -> Result<(), Error> {
        let (mut shown, mut skip) = (0usize, 0usize);
        while !self.over.load(Ordering::Relaxed) {
            screen.draw(|frame| self.draw(frame, shown, skip))?;
            match screen.key(INTERVAL)? {
                Some(Key::Stop) => stop.store(true, Ordering::Relaxed),
                Some(Key::Next) => shown = (shown + 1) % self.schemes.len().max(1),
                Some(Key::Previous) => shown = shown.checked_sub(1).unwrap_or(self.schemes.len().saturating_sub(1)),
                Some(Key::Down) => skip += 1,
                Some(Key::Up) => skip = skip.saturating_sub(1),
                None => {}
            }
        }
        // What it came to.
        screen.draw(|frame| self.draw(frame, shown, skip))?;
        Ok(())
    }

    fn draw(&self, frame: &mut Frame<'_>, shown: usize, skip: usize) {
        let schemes = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = schemes.get(shown) else { return };
        let fractions = self.fractions.lock().unwrap_or_else(PoisonError::into_inner);
        let done = fractions.iter().sum::<f64>() / fractions.len().max(1) as f64;
        let consumers = (self.consumers.len() as u16 + 1).min(frame.area().height.saturating_sub(4) / 2 + 1);
        let [title, gauge, _, first, _, second, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(consumers),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let of =
            if self.schemes.len() > 1 { format!(" ({} of {})", shown + 1, self.schemes.len()) } else { String::new() };
        let name = self.schemes.get(shown).map_or("", String::as_str);
        let seed = if self.seeds > 1 { ", the first seed" } else { "" };
        frame.render_widget(
            Line::from(vec![
                Span::styled(format!("{} · {name}", self.title), STRONG),
                Span::styled(format!("{of}{seed}   {:.1} of {} s simulated", known.at_s, self.duration_s), MUTED),
            ]),
            title,
        );
        let bar = LineGauge::default().ratio(done.clamp(0.0, 1.0)).label(format!("{:3.0} %", done * 100.0));
        frame.render_widget(bar.filled_style(Style::new().fg(Color::Cyan)), gauge);
        let colours = [Color::Green, Color::Blue];
        let list = self::list(&self.consumers, &known.consumers, ["Mbit/s", "segm."], colours);
        rows(frame, first, "consumers", ["goodput", "window"], &list, skip);
        let list = self::list(&self.links, &known.links, ["ms", "Mbit/s"], [Color::Red, Color::Green]);
        rows(frame, second, "links", ["queue", "Data"], &list, skip);
        let help = if self.schemes.len() > 1 {
            "← → scheme   ↑ ↓ rows   Ctrl-C stop"
        } else {
            "↑ ↓ rows   Ctrl-C stop"
        };
        frame.render_widget(Span::styled(help, MUTED), keys);
    }
}

fn list<'a>(
    names: &'a [String],
    histories: &'a [[History; 2]],
    units: [&'a str; 2],
    colours: [Color; 2],
) -> Vec<ScreenRow<'a>> {
    let row = |(name, [a, b]): (&'a String, &'a [History; 2])| ScreenRow {
        name,
        cells: [(a, units[0], colours[0]), (b, units[1], colours[1])],
    };
    names.iter().zip(histories).map(row).collect()
}
