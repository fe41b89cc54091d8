//! Groups of bars with spread, a dot for every run, and a diamond for the published number.

use crate::axis::{Axis, short};
use crate::style::colour;
use crate::svg::{Anchor, Canvas, Figure, shorten, text_width};
use ndnweir_lab::evaluation::expr::Expr;
use ndnweir_lab::papers::Results;
use ndnweir_lab::papers::model::{Paper, PaperFigure as Spec, PaperPanel, StatementKind};
use ndnweir_lab::results::Summary;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 210.0;
const HEAD: f64 = 46.0;
/// Width of a row, in bars.
const FULL: f64 = 32.0;

/// A bar: scheme (for the colour), mean and spread, every run, the published number.
struct Bar {
    scheme: usize,
    /// Number of its colour.
    hue: usize,
    name: String,
    summary: Summary,
    values: Vec<f64>,
    published: Option<f64>,
}

/// Bars that are drawn together.
struct Group {
    label: String,
    bars: Vec<Bar>,
}

/// Draws a figure of bars; `None` if nothing was measured.
pub fn draw(paper: &Paper, spec: &Spec, results: &Results, schemes: &[&str]) -> Option<Figure> {
    let hues = hues(spec, schemes);
    let panels: Vec<(&PaperPanel, Vec<Group>)> =
        spec.panels.iter().map(|p| (p, groups(paper, p, results, schemes, &hues))).collect();
    if panels.iter().all(|p| p.1.iter().all(|g| g.bars.is_empty())) {
        return None;
    }
    let mut canvas = Canvas::default();
    canvas.text("mute", (0.0, 11.0), Anchor::Start, &spec.y);
    let rows = rows(&panels);
    for (row, list) in rows.iter().enumerate() {
        // A single panel with few bars is as wide as the panels above it, not as the page.
        let bars = list.iter().map(|p| weight(&p.1)).sum::<f64>().max(FULL * 0.8);
        let mut x = 0.0;
        for (panel, groups) in list {
            let width = WIDTH * weight(groups) / bars;
            let top = 18.0 + row as f64 * (HEIGHT + HEAD + 34.0);
            panel_of(&mut canvas, spec, panel, groups, (x, top), width);
            x += width;
        }
    }
    let mut bottom = 18.0 + rows.len() as f64 * (HEIGHT + HEAD + 34.0);
    bottom = legend(&mut canvas, &panels, schemes, bottom);
    let published = panels.iter().flat_map(|p| &p.1).flat_map(|g| &g.bars).any(|b| b.published.is_some());
    let diamonds = if published { " ◆ published." } else { super::without_published(spec) };
    let caption =
        format!("{} Bars: mean over runs; whiskers: ± one standard deviation; circles: runs.{diamonds}", spec.caption);
    Some(Figure {
        id: spec.id.clone(),
        title: spec.title.clone(),
        caption: caption.trim_start().to_owned(),
        width: WIDTH,
        height: bottom + 6.0,
        body: canvas.0,
        series: None,
    })
}

/// Width that a panel needs: its bars, a gap after each group, its axis.
fn weight(groups: &[Group]) -> f64 {
    groups.iter().map(|g| g.bars.len() as f64 + 0.8).sum::<f64>() + 2.0
}

/// Distributes panels over rows; a row that would be too full to read has a single panel.
fn rows<'a, 'b>(panels: &'a [(&'b PaperPanel, Vec<Group>)]) -> Vec<Vec<&'a (&'b PaperPanel, Vec<Group>)>> {
    let mut rows: Vec<Vec<&(&PaperPanel, Vec<Group>)>> = Vec::new();
    for panel in panels {
        let fits = rows.last().is_some_and(|r| r.iter().map(|p| weight(&p.1)).sum::<f64>() + weight(&panel.1) <= FULL);
        match rows.last_mut() {
            Some(row) if fits => row.push(panel),
            _ => rows.push(vec![panel]),
        }
    }
    rows
}

/// The colour of each scheme in a figure: its own, or if two of the figure would share one, the next in their order.
fn hues(spec: &Spec, schemes: &[&str]) -> Vec<usize> {
    let drawn = |k: &usize| spec.panels.iter().any(|p| p.schemes.iter().any(|s| s == schemes[*k]));
    let list: Vec<usize> = (0..schemes.len()).filter(drawn).collect();
    let shared = list.iter().any(|a| list.iter().any(|b| a != b && colour(*a) == colour(*b)));
    let hue = |k: usize| list.iter().position(|l| *l == k).filter(|_| shared).unwrap_or(k);
    (0..schemes.len()).map(hue).collect()
}

fn groups(paper: &Paper, panel: &PaperPanel, results: &Results, schemes: &[&str], hues: &[usize]) -> Vec<Group> {
    let experiment = &paper.experiments[panel.experiment];
    let bar = |scheme: &String, expr: &Expr, case: Option<usize>| {
        let (summary, values) = results.runs.summary(&paper.experiments, panel.experiment, case, scheme, expr)?;
        let at = schemes.iter().position(|s| s == scheme).unwrap_or(0);
        Some(Bar {
            scheme: at,
            hue: hues.get(at).copied().unwrap_or(at),
            name: scheme.clone(),
            summary,
            values,
            published: published(paper, panel.experiment, case, scheme, expr),
        })
    };
    let each_case = panel.case.is_none() && panel.items.len() == 1 && panel.items[0].0.is_empty();
    if each_case && experiment.cases.len() > 1 {
        let group = |(i, case): (usize, &ndnweir_lab::evaluation::Case)| Group {
            label: case.name.clone(),
            bars: panel.schemes.iter().filter_map(|s| bar(s, &panel.items[0].1, Some(i))).collect(),
        };
        return experiment.cases.iter().enumerate().map(group).collect();
    }
    let group = |(label, expr): &(String, Expr)| Group {
        label: label.clone(),
        bars: panel.schemes.iter().filter_map(|s| bar(s, expr, panel.case)).collect(),
    };
    panel.items.iter().map(group).collect()
}

/// The published number, or the middle of the range, of an entry with the same metric and the same runs.
fn published(paper: &Paper, experiment: usize, case: Option<usize>, scheme: &str, expr: &Expr) -> Option<f64> {
    let single = paper.experiments[experiment].cases.len() == 1;
    paper.entries.iter().find_map(|e| match &e.kind {
        StatementKind::Number { metric, published, to, .. } if metric == expr => {
            let same = e.experiment == experiment && (e.case == case || single) && e.scheme == scheme;
            same.then_some((published + to) / 2.0)
        }
        _ => None,
    })
}

fn panel_of(canvas: &mut Canvas, spec: &Spec, panel: &PaperPanel, groups: &[Group], at: (f64, f64), width: f64) {
    let bars = || groups.iter().flat_map(|g| &g.bars);
    let most = bars()
        .flat_map(|b| b.values.iter().copied().chain(b.published).chain([b.summary.mean + b.summary.sd.unwrap_or(0.0)]))
        .chain(panel.marks.iter().map(|m| m.0))
        .fold(0.0, f64::max);
    let y = match panel.y_range.or(spec.y_range) {
        Some((low, high)) => Axis::new(low, high, 5, true),
        None => Axis::new(0.0, most * 1.1, 5, true),
    };
    let numbers = y.ticks.iter().map(|t| text_width(&y.label(*t), 11.5)).fold(0.0, f64::max) + 8.0;
    let (left, right) = (at.0 + numbers, at.0 + width - 14.0);
    let (top, bottom) = (at.1 + HEAD - 10.0, at.1 + HEAD - 10.0 + HEIGHT);
    let place = |v: f64| y.place(v.clamp(y.low, y.high), bottom, top);
    let room = ((right - left) / 6.6) as usize;
    canvas.text("name", (left, at.1 + 14.0), Anchor::Start, &shorten(&panel.title, room));
    for tick in &y.ticks {
        canvas.line(if *tick == y.low { "base" } else { "grid" }, (left, place(*tick)), (right, place(*tick)));
        canvas.text("", (left - 6.0, place(*tick) + 4.0), Anchor::End, &y.label(*tick));
    }
    let slot = (right - left) / groups.iter().map(|g| g.bars.len() as f64 + 0.8).sum::<f64>().max(1.0);
    let mut x = left + 0.4 * slot;
    for group in groups {
        let begin = x;
        for bar in &group.bars {
            one(canvas, bar, x + slot / 2.0, slot, &place, y.low);
            x += slot;
        }
        let letters = ((x - begin + 0.7 * slot) / 6.0) as usize;
        canvas.text("", ((begin + x) / 2.0, bottom + 16.0), Anchor::Middle, &shorten(&group.label, letters.max(3)));
        x += 0.8 * slot;
    }
    for (value, label) in &panel.marks {
        canvas.line("opt", (left, place(*value)), (right, place(*value)));
        canvas.text("small optt halo", (right, place(*value) - 5.0), Anchor::End, label);
    }
}

fn one(canvas: &mut Canvas, bar: &Bar, x: f64, slot: f64, place: &dyn Fn(f64) -> f64, low: f64) {
    let half = (slot * 0.42).min(26.0);
    let Summary { mean, sd, n } = bar.summary;
    let (from, to) = (place(low), place(mean));
    canvas.open(&format!("{} k{}", colour(bar.hue), bar.scheme));
    let spread = sd.map(|sd| format!(" ± {}", short(sd))).unwrap_or_default();
    let published = bar.published.map(|p| format!(", published {p}")).unwrap_or_default();
    let title = format!("{}: {}{spread} ({n} runs){published}", bar.name, short(mean));
    canvas.rect("bar", (x - half, to.min(from)), (2.0 * half, (from - to).abs()), &title);
    // Runs are drawn side by side in their order, so that equal values do not hide each other.
    let step = half / bar.values.len().max(1) as f64;
    for (i, value) in bar.values.iter().enumerate().filter(|_| bar.values.len() > 1) {
        let at = x + (2.0 * i as f64 + 1.0 - bar.values.len() as f64) * step * 0.8;
        canvas.disc("mean", (at, place(*value)), 1.5, "");
    }
    canvas.close();
    let mut above = to;
    if let Some(sd) = sd.filter(|sd| *sd > 0.0) {
        let (a, b) = (place(mean - sd), place(mean + sd));
        canvas.line("err", (x, a), (x, b));
        for end in [a, b] {
            canvas.line("err", (x - 3.0, end), (x + 3.0, end));
        }
        above = above.min(b);
    }
    above = bar.values.iter().map(|v| place(*v)).fold(above, f64::min);
    if let Some(published) = bar.published {
        let y = place(published);
        canvas.line("opt", (x - half - 2.0, y), (x + half + 2.0, y));
        canvas.text("optt halo", (x, y + 4.0), Anchor::Middle, "◆");
        above = above.min(y - 4.0);
    }
    if slot > 20.0 {
        canvas.text("small halo", (x, above - 6.0), Anchor::Middle, &short(mean));
    }
}

/// The drawn schemes with their colours; returns the height used.
fn legend(canvas: &mut Canvas, panels: &[(&PaperPanel, Vec<Group>)], schemes: &[&str], top: f64) -> f64 {
    let bars = panels.iter().flat_map(|p| &p.1).flat_map(|g| &g.bars);
    let mut shown: Vec<(usize, usize)> = bars.map(|b| (b.scheme, b.hue)).collect();
    shown.sort_unstable();
    shown.dedup();
    let (mut x, mut y) = (0.0, top);
    for (k, hue) in shown {
        let width = text_width(schemes[k], 11.5) + 30.0;
        if x + width > WIDTH {
            (x, y) = (0.0, y + 18.0);
        }
        canvas.open(&format!("{} k{k}", colour(hue)));
        canvas.disc("dot", (x + 5.0, y - 4.0), 4.5, "");
        canvas.text("", (x + 14.0, y), Anchor::Start, schemes[k]);
        canvas.close();
        x += width;
    }
    y
}
