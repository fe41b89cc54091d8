//! Lines over time, in one panel or in a grid of panels with shared scales.

use super::axis::Axis;
use super::grid::thin;
pub use super::grid::{Band, EventMark, Grid, Line, Panel};
use super::style::colour;
use super::svg::{Anchor, Canvas, Figure, shorten, text_width};

/// Maximum number of points of a line in one panel, and of all lines of a drawing together as long as a line keeps
/// [`MIN_POINTS`]: small panels need fewer, and many are drawn in a page.
const MAX_POINTS: usize = 240;
const ALL_POINTS: usize = 7_000;
const MIN_POINTS: usize = 60;
const WIDTH: f64 = 1000.0;
/// Distance from the end of a panel to the name of a line; a sample of the line is drawn in between.
const LABEL: f64 = 24.0;

/// Events closer together than this share one line.
const MIN_GAP: f64 = 3.0;

impl Grid {
    /// The same grid with few enough bins for drawing.
    fn thinned(mut self) -> Grid {
        let lines: usize = self.panels.iter().map(|p| p.lines.len() + 5 * p.bands.len()).sum();
        let points = (ALL_POINTS / lines.max(1)).clamp(MIN_POINTS, MAX_POINTS);
        let by = self.bins().div_ceil(points).max(1);
        for panel in &mut self.panels {
            panel.lines.iter_mut().for_each(|l| l.values = thin(&l.values, by));
            panel.bands.iter_mut().flat_map(|b| &mut b.five).for_each(|v| *v = thin(v, by));
        }
        self.bin_s *= by as f64;
        self
    }

    fn y_axis(&self, height: f64, cap: Option<f64>) -> Axis {
        let count = ((height / 32.0) as usize).clamp(3, 6);
        if let Some((low, high)) = self.y_range {
            return Axis::new(low, high, count, true);
        }
        let lines = self.panels.iter().flat_map(|p| &p.lines).flat_map(|l| &l.values);
        let bands = self.panels.iter().flat_map(|p| &p.bands).flat_map(|b| &b.five[4]);
        let references = self.panels.iter().flat_map(|p| &p.references).map(|r| &r.0);
        let top = lines.chain(bands).chain(references).copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
        Axis::new(0.0, cap.unwrap_or(top * 1.04), count, true)
    }

    /// Draws the grid; `None` without any value.
    pub fn draw(self) -> Option<Figure> {
        let cap = super::clip::cap(&self);
        let series = super::series::of(&self, cap);
        let words = cap.map(|cap| super::clip::outliers(&self, cap)).unwrap_or_default();
        let grid = self.thinned();
        if grid.bins() == 0 || !grid.panels.iter().any(|p| !p.lines.is_empty() || !p.bands.is_empty()) {
            return None;
        }
        let n = grid.panels.len();
        let columns = match n {
            1..=3 => n,
            4 => 2,
            5..=9 => 3,
            _ => 4,
        };
        let height = [260.0, 210.0, 165.0, 135.0][columns - 1];
        let rows = n.div_ceil(columns);
        let longest = |p: &Panel| p.lines.iter().map(|l| text_width(&shorten(&l.label, 14), 10.5)).fold(0.0, f64::max);
        let longest = grid.panels.iter().map(longest).fold(0.0, f64::max);
        let right = if longest > 0.0 { longest + LABEL + 14.0 } else { 24.0 };
        let y = grid.y_axis(height, cap);
        let left = y.ticks.iter().map(|t| text_width(&y.label(*t), 11.5)).fold(0.0, f64::max) + 12.0;
        let top = if grid.panels.iter().any(|p| !p.title.is_empty()) { 38.0 } else { 16.0 };
        // The first row has the axis title above it and needs less space.
        let head = if top > 20.0 { 6.0 } else { 10.0 };
        let width = (WIDTH - left - 4.0) / columns as f64 - right;
        let end = grid.bins() as f64 * grid.bin_s;
        let x = Axis::new(0.0, end, ((width / 70.0) as usize).clamp(2, 10), true);
        let mut canvas = Canvas::default();
        canvas.text("mute", (0.0, 11.0), Anchor::Start, &grid.y_label);
        for (i, panel) in grid.panels.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            let origin = (left + column as f64 * (width + right), head + row as f64 * (height + top) + top);
            let frame = Frame { x: &x, y: &y, at: origin, size: (width, height), grid: &grid };
            frame.draw(&mut canvas, panel, column == 0, i + columns >= n);
        }
        let total = head + rows as f64 * (height + top) + 34.0;
        canvas.text("mute", (left + width, total - 5.0), Anchor::End, "time (s)");
        let Grid { id, title, caption, .. } = grid;
        let caption = caption + &words;
        Some(Figure { id, title, caption, width: WIDTH, height: total, body: canvas.0, series: Some(series) })
    }
}

struct Frame<'a> {
    x: &'a Axis,
    y: &'a Axis,
    at: (f64, f64),
    size: (f64, f64),
    grid: &'a Grid,
}

impl Frame<'_> {
    fn px(&self, bin: usize) -> f64 {
        let t = (bin as f64 + 0.5) * self.grid.bin_s;
        self.x.place(t, self.at.0, self.at.0 + self.size.0)
    }

    fn py(&self, value: f64) -> f64 {
        let inside = value.clamp(self.y.low, self.y.high);
        self.y.place(inside, self.at.1 + self.size.1, self.at.1)
    }

    fn draw(&self, canvas: &mut Canvas, panel: &Panel, numbers: bool, times: bool) {
        let ((left, top), (width, height)) = (self.at, self.size);
        let bottom = top + height;
        for tick in &self.y.ticks {
            let y = self.py(*tick);
            canvas.line(if *tick == self.y.low { "base" } else { "grid" }, (left, y), (left + width, y));
            if numbers {
                canvas.text("", (left - 6.0, y + 4.0), Anchor::End, &self.y.label(*tick));
            }
        }
        for tick in &self.x.ticks {
            let x = self.x.place(*tick, left, left + width);
            canvas.line("base", (x, bottom), (x, bottom + 4.0));
            if times {
                canvas.text("", (x, bottom + 16.0), Anchor::Middle, &self.x.label(*tick));
            }
        }
        self.title(canvas, panel);
        for (value, label) in &panel.references {
            let from = self.x.place(self.grid.reference_from_s, left, left + width).clamp(left, left + width);
            canvas.line("opt", (from, self.py(*value)), (left + width, self.py(*value)));
            if !label.is_empty() {
                canvas.text("small optt halo", (left + width - 2.0, self.py(*value) - 5.0), Anchor::End, label);
            }
        }
        self.events(canvas);
        for band in &panel.bands {
            let k = band.scheme;
            canvas.open(&format!("{} k{k}", colour(k)));
            let x: Vec<f64> = (0..band.five[0].len()).map(|b| self.px(b)).collect();
            let y: Vec<Vec<f64>> = band.five.iter().map(|v| v.iter().map(|v| self.py(*v)).collect()).collect();
            canvas.band("b0", &x, &y[0], &y[4]);
            canvas.band("b1", &x, &y[1], &y[3]);
            let middle: Vec<(f64, f64)> = x.iter().copied().zip(y[2].iter().copied()).collect();
            canvas.polyline("l", &middle, &format!("{}: median", panel.title));
            canvas.close();
        }
        for line in &panel.lines {
            let points: Vec<(f64, f64)> =
                line.values.iter().enumerate().map(|(b, v)| (self.px(b), self.py(*v))).collect();
            canvas.open(&format!("{} k{}", colour(line.scheme), line.scheme));
            let title = if panel.title.is_empty() || panel.title == line.label {
                line.label.clone()
            } else {
                format!("{}: {}", panel.title, line.label)
            };
            canvas.polyline(&format!("l l{}", line.style % 4), &points, &title);
            canvas.close();
        }
        self.labels(canvas, panel);
    }

    /// A line for each event, with its mark if there is space.
    fn events(&self, canvas: &mut Canvas) {
        let ((left, top), (width, height)) = (self.at, self.size);
        let (mut line, mut mark) = (f64::MIN, f64::MIN);
        for event in &self.grid.events {
            let x = self.x.place(event.at_s, left, left + width);
            if !(left..=left + width).contains(&x) || x - line < MIN_GAP {
                continue;
            }
            line = x;
            canvas.polyline("event", &[(x, top), (x, top + height)], &event.text);
            if x > mark {
                mark = x + 4.0 + text_width(&event.mark, 9.5);
                canvas.text("eventt halo", (x + 3.0, top + 8.0), Anchor::Start, &event.mark);
            }
        }
    }

    fn title(&self, canvas: &mut Canvas, panel: &Panel) {
        let (left, top) = self.at;
        match panel.scheme {
            Some(k) => {
                canvas.open(&format!("{} k{k}", colour(k)));
                canvas.disc("dot", (left + 5.0, top - 11.0), 4.5, "");
                canvas.text("name", (left + 15.0, top - 7.0), Anchor::Start, &shorten(&panel.title, 36));
                canvas.close();
            }
            None if !panel.title.is_empty() => {
                canvas.text("name", (left, top - 7.0), Anchor::Start, &shorten(&panel.title, 40));
            }
            None => {}
        }
    }

    /// Names at the ends of the lines, moved apart where they would overlap.
    fn labels(&self, canvas: &mut Canvas, panel: &Panel) {
        const GAP: f64 = 12.0;
        let x = self.at.0 + self.size.0;
        let mut ends: Vec<(f64, f64, &Line)> = (panel.lines.iter())
            .filter(|l| !l.label.is_empty())
            .filter_map(|l| {
                let last = l.values.iter().rposition(|v| v.is_finite())?;
                // The mean of the last values shows better than the last value where a jagged line ends.
                let tail: Vec<f64> =
                    l.values[last.saturating_sub(7)..=last].iter().copied().filter(|v| v.is_finite()).collect();
                let y = self.py(tail.iter().sum::<f64>() / tail.len() as f64);
                Some((y, self.px(last), l))
            })
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut places: Vec<f64> = Vec::new();
        for (y, ..) in &ends {
            places.push(places.last().map_or(*y, |p| y.max(p + GAP)));
        }
        // Centre groups that were pushed down on their intended positions, then keep all within the panel.
        let mut start = 0;
        for i in 1..=places.len() {
            if i == places.len() || places[i] - places[i - 1] > GAP + 1e-9 {
                let drift: f64 = (start..i).map(|j| places[j] - ends[j].0).sum::<f64>() / (i - start) as f64;
                let above = if start > 0 { places[start - 1] + GAP } else { f64::MIN };
                let shift = drift.min(places[start] - above).max(0.0);
                places[start..i].iter_mut().for_each(|p| *p -= shift);
                start = i;
            }
        }
        let mut limit = self.at.1 + self.size.1 + 2.0;
        for place in places.iter_mut().rev() {
            *place = place.min(limit);
            limit = *place - GAP;
        }
        let mut limit = self.at.1 - 2.0;
        for place in &mut places {
            *place = place.max(limit);
            limit = *place + GAP;
        }
        for ((y, from, line), place) in ends.iter().zip(&places) {
            canvas.open(&format!("{} k{}", colour(line.scheme), line.scheme));
            canvas.line("lead", (from.max(x - 3.0), *y), (x + 7.0, *place));
            canvas.line(&format!("l l{}", line.style % 4), (x + 8.0, *place), (x + LABEL - 4.0, *place));
            canvas.text("small tint", (x + LABEL, place + 3.6), Anchor::Start, &shorten(&line.label, 14));
            canvas.close();
        }
    }
}
