//! Response curves: a metric over the values of the first key, a line for each scheme, panels for those of other keys.

use super::axis::places;
use super::cells::{Cells, Experiment, Mean};
use super::{MAX_PANELS, Metric};
use crate::axis::Axis;
use crate::style::colour;
use crate::svg::{Anchor, Canvas, Figure, shorten, text_width};

const WIDTH: f64 = 1000.0;

/// The combinations of the values of all keys but the first `fixed`, with their names.
pub fn others(experiment: &Experiment<'_>, fixed: usize) -> Vec<(Vec<usize>, String)> {
    let rest = &experiment.keys[fixed.min(experiment.keys.len())..];
    let mut all: Vec<Vec<usize>> = experiment.cases().map(|case| case[case.len() - rest.len()..].to_vec()).collect();
    all.sort_unstable();
    all.dedup();
    let name = |values: &[usize]| {
        let parts = values.iter().zip(rest).map(|(value, key)| format!("{} = {}", key.name, key.values[*value]));
        parts.collect::<Vec<_>>().join(", ")
    };
    all.into_iter().map(|values| (values.clone(), name(&values))).collect()
}

/// What a caption says of panels that are left out.
pub fn left_out(panels: usize) -> String {
    match panels.saturating_sub(MAX_PANELS) {
        0 => String::new(),
        left => format!(" {left} more panels are left out; runs.parquet has their values."),
    }
}

/// The figure; none without a key or a value.
pub fn draw(experiment: &Experiment<'_>, cells: &Cells, metric: &Metric, number: usize) -> Option<Figure> {
    let key = experiment.keys.first()?;
    if cells.is_empty() {
        return None;
    }
    let mut panels = others(experiment, 1);
    let note = left_out(panels.len());
    panels.truncate(MAX_PANELS);
    let columns = panels.len().clamp(1, 3);
    let height = [250.0, 200.0, 160.0][columns - 1];
    let top = |mean: &Mean| mean.mean + mean.half.unwrap_or(0.0).min(mean.mean.abs());
    let (low, high) =
        cells.means().fold((0.0_f64, f64::NEG_INFINITY), |(low, high), mean| (low.min(mean.mean), high.max(top(mean))));
    let y = Axis::new(low, high * 1.03, 4, false);
    let left = y.ticks.iter().map(|t| text_width(&y.label(*t), 11.5)).fold(0.0, f64::max) + 12.0;
    let names = experiment.schemes.iter().map(|name| text_width(&shorten(name, 14), 10.5)).fold(0.0, f64::max);
    let right = names + 22.0;
    let width = (WIDTH - left) / columns as f64 - right;
    let (x, words) = places(&key.values);
    let heading = if experiment.keys.len() > 1 { 20.0 } else { 8.0 };
    let row_height = height + heading + 38.0;
    let mut canvas = Canvas::default();
    canvas.text("mute", (0.0, 11.0), Anchor::Start, &metric.label());
    for (i, (rest, title)) in panels.iter().enumerate() {
        let at = (left + (i % columns) as f64 * (width + right), 14.0 + (i / columns) as f64 * row_height + heading);
        let frame = Frame { at, size: (width, height), y: &y, x: &x };
        frame.axes(&mut canvas, &key.values, title, i % columns == 0);
        frame.lines(&mut canvas, experiment, cells, rest);
    }
    let rows = panels.len().div_ceil(columns) as f64;
    let total = 14.0 + rows * row_height + 12.0;
    let last = left + (columns - 1) as f64 * (width + right) + width;
    canvas.text("mute", (last, total - 3.0), Anchor::End, &key.name);
    let words = if words.is_empty() { String::new() } else { format!("; {words}") };
    Some(Figure {
        id: format!("curve-{number}-{}", metric.column),
        title: format!("{} over {}", metric.label(), key.name),
        caption: format!("Mean over seeds and its 95 % confidence interval{words}.{note}"),
        width: WIDTH,
        height: total,
        body: canvas.0,
        series: None,
    })
}

struct Frame<'a> {
    at: (f64, f64),
    size: (f64, f64),
    y: &'a Axis,
    x: &'a [f64],
}

impl Frame<'_> {
    fn px(&self, i: usize) -> f64 {
        self.at.0 + 6.0 + self.x[i] * (self.size.0 - 12.0)
    }

    fn py(&self, value: f64) -> f64 {
        self.y.place(value.clamp(self.y.low, self.y.high), self.at.1 + self.size.1, self.at.1)
    }

    fn axes(&self, canvas: &mut Canvas, values: &[String], title: &str, numbers: bool) {
        let ((left, top), (width, height)) = (self.at, self.size);
        for tick in &self.y.ticks {
            let y = self.py(*tick);
            canvas.line(if *tick == self.y.low { "base" } else { "grid" }, (left, y), (left + width, y));
            if numbers {
                canvas.text("", (left - 6.0, y + 4.0), Anchor::End, &self.y.label(*tick));
            }
        }
        // A label where the one before it leaves room.
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| self.x[*a].total_cmp(&self.x[*b]));
        let mut free = f64::NEG_INFINITY;
        for i in order {
            let (x, half) = (self.px(i), text_width(&shorten(&values[i], 16), 11.5) / 2.0);
            canvas.line("base", (x, top + height), (x, top + height + 4.0));
            if x - half >= free {
                canvas.text("", (x, top + height + 16.0), Anchor::Middle, &shorten(&values[i], 16));
                free = x + half + 6.0;
            }
        }
        if !title.is_empty() {
            canvas.text("name", (left, top - 7.0), Anchor::Start, &shorten(title, (width / 6.2) as usize));
        }
    }

    fn lines(&self, canvas: &mut Canvas, experiment: &Experiment<'_>, cells: &Cells, rest: &[usize]) {
        let mut order: Vec<usize> = (0..self.x.len()).collect();
        order.sort_by(|a, b| self.x[*a].total_cmp(&self.x[*b]));
        let mut ends: Vec<(f64, f64, usize)> = Vec::new();
        for (scheme, name) in experiment.schemes.iter().enumerate() {
            let mean = |i: &usize| cells.of(&[&[*i], rest].concat(), scheme);
            let points: Vec<(f64, Option<Mean>)> = order.iter().map(|i| (self.px(*i), mean(i))).collect();
            let of = |value: fn(Mean) -> f64| -> Vec<f64> {
                points.iter().map(|(_, mean)| mean.map_or(f64::NAN, |mean| self.py(value(mean)))).collect()
            };
            let x: Vec<f64> = points.iter().map(|point| point.0).collect();
            canvas.open(&colour(scheme));
            canvas.band(
                "b0",
                &x,
                &of(|m| m.mean - m.half.unwrap_or(f64::NAN)),
                &of(|m| m.mean + m.half.unwrap_or(f64::NAN)),
            );
            let line: Vec<(f64, f64)> = x.iter().copied().zip(of(|m| m.mean)).collect();
            let class = if scheme < 12 { "l" } else { "l l2" };
            canvas.polyline(class, &line, name);
            for (x, mean) in &points {
                if let Some(mean) = mean {
                    canvas.disc("dot", (*x, self.py(mean.mean)), 2.4, &format!("{name}: {}", super::number(mean.mean)));
                }
            }
            canvas.close();
            if let Some((x, y)) = line.iter().rev().find(|point| point.1.is_finite()) {
                ends.push((*y, *x, scheme));
            }
        }
        // Names at the ends of lines, moved apart where they would cover each other.
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let step = 12.0;
        let mut free = self.at.1;
        let bottom = self.at.1 + self.size.1 + 4.0;
        for (i, (y, x, scheme)) in ends.iter().enumerate() {
            let latest = bottom - (ends.len() - 1 - i) as f64 * step;
            let place = y.max(free).min(latest.max(free));
            free = place + step;
            canvas.open(&colour(*scheme));
            let label = self.at.0 + self.size.0 + 12.0;
            canvas.line("lead", (x + 3.0, *y), (label - 2.0, place));
            canvas.text("tint small", (label, place + 3.5), Anchor::Start, &shorten(&experiment.schemes[*scheme], 14));
            canvas.close();
        }
    }
}
