//! Heat maps: a metric over the values of the first two keys, a panel for each scheme and the values of other keys.

use super::cells::{Cells, Experiment};
use super::curves::{left_out, others};
use super::{MAX_PANELS, Metric};
use crate::svg::{Anchor, Canvas, Figure, escape, px, shorten, text_width};
use std::fmt::Write;

const WIDTH: f64 = 1000.0;
const CELL: f64 = 34.0;

/// Colours from the least to the most, of which each is lighter than the one before (the scale cividis).
const RAMP: [(f64, f64, f64); 5] =
    [(0.0, 34.0, 78.0), (65.0, 77.0, 107.0), (124.0, 123.0, 120.0), (188.0, 175.0, 111.0), (254.0, 232.0, 56.0)];

/// The colour of a share from 0 to 1, and that of text on it.
fn shade(share: f64) -> (String, &'static str) {
    let at = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let i = (at as usize).min(RAMP.len() - 2);
    let ((r0, g0, b0), (r1, g1, b1), f) = (RAMP[i], RAMP[i + 1], at - i as f64);
    let mix = |a: f64, b: f64| (a + (b - a) * f).round() as u8;
    let colour = format!("#{:02x}{:02x}{:02x}", mix(r0, r1), mix(g0, g1), mix(b0, b1));
    (colour, if share > 0.45 { "#14202b" } else { "#ffffff" })
}

/// The figure; none with fewer than two keys, or without a value.
pub fn draw(experiment: &Experiment<'_>, cells: &Cells, metric: &Metric, number: usize) -> Option<Figure> {
    let [across, down, ..] = &experiment.keys[..] else { return None };
    if cells.is_empty() {
        return None;
    }
    let rest = others(experiment, 2);
    let panels: Vec<(usize, &(Vec<usize>, String))> =
        rest.iter().flat_map(|rest| (0..experiment.schemes.len()).map(move |scheme| (scheme, rest))).collect();
    let note = left_out(panels.len());
    let (low, high) = cells
        .means()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(mean.mean), high.max(mean.mean)));
    let span = if high > low { high - low } else { 1.0 };
    let names = down.values.iter().map(|v| text_width(&shorten(v, 14), 11.5)).fold(0.0, f64::max) + 18.0;
    let least = 52.0 * across.values.len() as f64 + names + 16.0;
    let columns = ((WIDTH / least) as usize).clamp(1, panels.len().clamp(1, 3));
    let width = ((WIDTH / columns as f64) - names - 16.0) / across.values.len() as f64;
    let height = down.values.len() as f64 * CELL;
    let row_height = height + 48.0;
    let mut canvas = Canvas::default();
    canvas.text("mute", (0.0, 11.0), Anchor::Start, &format!("{} down, {} across", down.name, across.name));
    for (i, (scheme, (values, title))) in panels.iter().take(MAX_PANELS).enumerate() {
        let left = (i % columns) as f64 * (WIDTH / columns as f64) + names;
        let top = 40.0 + (i / columns) as f64 * row_height;
        let name = &experiment.schemes[*scheme];
        let title = if title.is_empty() { name.clone() } else { format!("{name}, {title}") };
        canvas.text("name", (left, top - 7.0), Anchor::Start, &shorten(&title, 60));
        for (row, value) in down.values.iter().enumerate() {
            let y = top + row as f64 * CELL;
            canvas.text("", (left - 6.0, y + CELL / 2.0 + 4.0), Anchor::End, &shorten(value, 14));
            for (column, _) in across.values.iter().enumerate() {
                let Some(mean) = cells.of(&[&[column, row], &values[..]].concat(), *scheme) else { continue };
                let (fill, ink) = shade((mean.mean - low) / span);
                let x = left + column as f64 * width;
                let half = mean.half.map(|half| format!("± {}", super::number(half)));
                let words = format!(
                    "{name}, {}, {value}: {} {}",
                    across.values[column],
                    super::number(mean.mean),
                    half.clone().unwrap_or_default()
                );
                let _ = write!(
                    canvas.0,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"><title>{}</title></rect>",
                    px(x),
                    px(y),
                    px(width - 1.0),
                    px(CELL - 1.0),
                    escape(&words)
                );
                let mut text = |dy: f64, size: f64, words: &str| {
                    let _ = write!(
                        canvas.0,
                        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" style=\"fill:{ink};font-size:{size}px\">{}</text>",
                        px(x + width / 2.0),
                        px(y + dy),
                        escape(words)
                    );
                };
                match half {
                    Some(half) => {
                        text(14.0, 11.5, &super::number(mean.mean));
                        text(27.0, 9.5, &half);
                    }
                    None => text(21.0, 11.5, &super::number(mean.mean)),
                }
            }
        }
        for (column, value) in across.values.iter().enumerate() {
            let x = left + (column as f64 + 0.5) * width;
            let most = (width / 6.2) as usize;
            canvas.text("", (x, top + height + 13.0), Anchor::Middle, &shorten(value, most.max(3)));
        }
    }
    let rows = panels.len().min(MAX_PANELS).div_ceil(columns) as f64;
    Some(Figure {
        id: format!("map-{number}-{}", metric.column),
        title: format!("{} by {} and {}", metric.label(), across.name, down.name),
        caption: format!(
            "Mean over seeds, with half the width of its 95 % confidence interval; from {} (dark) to {} (light).{note}",
            super::number(low),
            super::number(high)
        ),
        width: WIDTH,
        height: 40.0 + rows * row_height,
        body: canvas.0,
        series: None,
    })
}
