//! Bars of the main metrics, one row for each scheme, and box plots of delay.

use super::axis::{Axis, short};
use super::style::colour;
use super::svg::{Anchor, Canvas, Figure, shorten, text_width};
use ndnweir_lab::results::{Aggregate, Comparison, Distribution};

const WIDTH: f64 = 1000.0;

/// One column of bars.
struct Metric {
    title: &'static str,
    unit: &'static str,
    name: &'static str,
    /// A second value, drawn as a thin line, e.g. a high percentile.
    beyond: Option<&'static str>,
    reference: Option<(f64, &'static str)>,
    full_scale: Option<f64>,
    factor: f64,
}

/// Bars of the main metrics, all schemes side by side.
pub fn glance(comparison: &Comparison, all: &[Aggregate]) -> Option<Figure> {
    if all.is_empty() {
        return None;
    }
    let plain = Metric { title: "", unit: "", name: "", beyond: None, reference: None, full_scale: None, factor: 1.0 };
    let mut metrics = vec![
        Metric {
            title: "Goodput, all consumers",
            unit: "Mbit/s",
            name: "goodput_mbps",
            reference: comparison.optimum.total_mbps.map(|t| (t, "optimum")),
            ..plain
        },
        Metric {
            title: "Delay, mean (line: p99)",
            unit: "ms",
            name: "delay_ms.mean",
            beyond: Some("delay_ms.p99"),
            ..plain
        },
        Metric { title: "Fairness (Jain)", unit: "", name: "jain", full_scale: Some(1.0), ..plain },
        Metric { title: "Queue at the bottleneck", unit: "ms", name: "bottleneck_queue_ms", ..plain },
    ];
    let positive = |name: &str| all.iter().any(|a| a.mean(name).is_some_and(|m| m > 0.0));
    if positive("loss_mbps") {
        metrics.push(Metric { title: "Loss by full queues", unit: "Mbit/s", name: "loss_mbps", ..plain });
    } else if positive("retransmissions") {
        metrics.push(Metric { title: "Retransmitted", unit: "Interests", name: "retransmissions", ..plain });
    }
    metrics.retain(|m| all.iter().any(|a| a.mean(m.name).is_some()));
    let names = all.iter().map(|a| text_width(&shorten(&a.scheme, 20), 12.0)).fold(40.0, f64::max) + 16.0;
    let column = (WIDTH - names) / metrics.len() as f64;
    let (row, head) = (if all.len() > 6 { 26.0 } else { 32.0 }, 40.0);
    let mut canvas = Canvas::default();
    for (k, a) in all.iter().enumerate() {
        let y = head + (k as f64 + 0.5) * row;
        canvas.open(&format!("{} k{k}", colour(k)));
        canvas.text("name", (0.0, y + 4.0), Anchor::Start, &shorten(&a.scheme, 20));
        canvas.close();
    }
    for (c, metric) in metrics.iter().enumerate() {
        draw_metric(&mut canvas, metric, all, names + c as f64 * column, column - 26.0, head, row);
    }
    let seeds = all.iter().map(|a| a.seeds).max().unwrap_or(1);
    let over = if seeds > 1 {
        format!(" Mean over {seeds} seeds; whiskers: ± one standard deviation.")
    } else {
        String::new()
    };
    Some(Figure {
        id: "glance".to_owned(),
        title: "At a glance".to_owned(),
        caption: format!("The main metrics over the measurement window, a row for each scheme.{over}"),
        width: WIDTH,
        height: head + all.len() as f64 * row + 6.0,
        body: canvas.0,
        series: None,
    })
}

fn draw_metric(canvas: &mut Canvas, metric: &Metric, all: &[Aggregate], left: f64, width: f64, head: f64, row: f64) {
    let value = |a: &Aggregate, name: &str| a.mean(name).map(|v| v * metric.factor);
    // A long thin line is cut off, so that the bars do not become too short.
    let bars = all.iter().filter_map(|a| value(a, metric.name)).fold(0.0, f64::max);
    let lines = all.iter().filter_map(|a| value(a, metric.beyond?)).fold(0.0, f64::max);
    let reference = metric.reference.map_or(0.0, |r| r.0);
    let top = metric.full_scale.unwrap_or(bars.max(lines.min(3.0 * bars)).max(reference));
    let room = width - 44.0;
    let x = |v: f64| left + if top > 0.0 { (v / top).clamp(0.0, 1.0) * room } else { 0.0 };
    canvas.text("name", (left, 12.0), Anchor::Start, metric.title);
    let unit = match metric.reference {
        Some((v, name)) => format!("{}; dashed: {name} {}", metric.unit, short(v)),
        None => metric.unit.to_owned(),
    };
    canvas.text("mute small", (left, 26.0), Anchor::Start, &unit);
    for (k, a) in all.iter().enumerate() {
        let y = head + (k as f64 + 0.5) * row;
        let (h, thick) = (row * 0.5, row * 0.5 / 2.0);
        canvas.rect("track", (left, y - thick), (room, h), "");
        let Some(mean) = value(a, metric.name) else {
            canvas.text("mute small", (left + 4.0, y + 4.0), Anchor::Start, "undefined");
            continue;
        };
        canvas.open(&format!("{} k{k}", colour(k)));
        canvas.rect(
            "bar",
            (left, y - thick),
            (x(mean) - left, h),
            &format!("{}: {} {}", a.scheme, short(mean), metric.unit),
        );
        let mut end = x(mean);
        if let Some(beyond) = metric.beyond.and_then(|b| value(a, b)) {
            canvas.line("whisk", (end, y), (x(beyond), y));
            canvas.line("whisk", (x(beyond), y - 4.0), (x(beyond), y + 4.0));
            end = end.max(x(beyond));
        }
        canvas.close();
        if let Some(sd) = a.get(metric.name).and_then(|s| s.sd).filter(|sd| *sd > 0.0 && metric.beyond.is_none()) {
            let (low, high) = (x(mean - sd * metric.factor), x(mean + sd * metric.factor));
            canvas.line("err", (low, y), (high, y));
            canvas.line("err", (low, y - 3.0), (low, y + 3.0));
            canvas.line("err", (high, y - 3.0), (high, y + 3.0));
        }
        let text = if metric.full_scale.is_some() { format!("{mean:.3}") } else { short(mean) };
        let at = if metric.reference.is_some() || end > left + room - 1.0 { left + room } else { end };
        canvas.text("small", (at + 6.0, y + 4.0), Anchor::Start, &text);
    }
    if let Some((v, _)) = metric.reference {
        let bottom = head + all.len() as f64 * row;
        canvas.line("opt", (x(v), head - 6.0), (x(v), bottom));
    }
}

/// The mean over seeds of each quantile.
pub fn averaged<'a>(values: impl Iterator<Item = &'a Distribution>) -> Option<Distribution> {
    let all: Vec<&Distribution> = values.collect();
    let n = all.len() as f64;
    let mean = |f: fn(&Distribution) -> f64| all.iter().map(|d| f(d)).sum::<f64>() / n;
    (!all.is_empty()).then(|| Distribution {
        n: all.iter().map(|d| d.n).sum(),
        mean: mean(|d| d.mean),
        sd: mean(|d| d.sd),
        min: mean(|d| d.min),
        q1: mean(|d| d.q1),
        p50: mean(|d| d.p50),
        q3: mean(|d| d.q3),
        p90: mean(|d| d.p90),
        p95: mean(|d| d.p95),
        p99: mean(|d| d.p99),
        max: mean(|d| d.max),
    })
}

/// Box plots of the delay of each scheme; if there are few consumers, of each consumer.
pub fn boxes(comparison: &Comparison) -> Option<Figure> {
    let schemes = comparison.schemes();
    let consumers: Vec<&str> = comparison.scenario.consumers.iter().map(|c| c.name.as_str()).collect();
    let each = (2..=4).contains(&consumers.len()) && consumers.len() * schemes.len() <= 30;
    let mut rows: Vec<(usize, String, Distribution)> = Vec::new();
    for (k, scheme) in schemes.iter().enumerate() {
        if each {
            for name in &consumers {
                let consumers = comparison.runs_of(scheme).flat_map(|r| &r.consumers).filter(|c| c.name == *name);
                if let Some(d) = averaged(consumers.filter_map(|c| c.delay_ms.as_ref())) {
                    rows.push((k, (*name).to_owned(), d));
                }
            }
        } else if let Some(d) = averaged(comparison.runs_of(scheme).filter_map(|r| r.delay_ms.as_ref())) {
            rows.push((k, String::new(), d));
        }
    }
    let (height, body) = box_rows(&schemes, &rows, if each { 9.0 } else { 3.0 })?;
    Some(Figure {
        id: "delay-boxes".to_owned(),
        title: "Delay: distribution".to_owned(),
        caption: BOX_CAPTION.to_owned(),
        width: WIDTH,
        height,
        body,
        series: None,
    })
}

/// Explanation of a box, for captions.
pub const BOX_CAPTION: &str = "First Interest to Data. Box: quartiles; thick line: median; circle: mean; whiskers: minimum and 99th percentile; \
                               dot or number at the edge: maximum.";

/// A box for each row (scheme by position, name, distribution), with a gap after the rows of a scheme. Returns the
/// height and the drawing; `None` without rows.
pub fn box_rows(schemes: &[&str], rows: &[(usize, String, Distribution)], gap: f64) -> Option<(f64, String)> {
    if rows.is_empty() {
        return None;
    }
    let names = rows.iter().map(|r| text_width(&shorten(schemes[r.0], 20), 12.0)).fold(40.0, f64::max) + 12.0;
    let seconds = rows.iter().map(|r| text_width(&shorten(&r.1, 10), 11.5)).fold(0.0, f64::max);
    let left = names + seconds + 14.0;
    let right = WIDTH - 60.0;
    let row = if rows.len() > 12 { 19.0 } else { 24.0 };
    let top_value = rows.iter().map(|r| r.2.p99.max(r.2.mean + r.2.sd)).fold(0.0, f64::max) * 1.12;
    let low = rows.iter().map(|r| r.2.min).fold(f64::MAX, f64::min);
    // The axis starts at zero unless that would leave a third of the width empty.
    let axis = Axis::new(if low > 0.35 * top_value { low * 0.95 } else { 0.0 }, top_value, 8, true);
    let x = |v: f64| axis.place(v.min(axis.high), left, right);
    let mut canvas = Canvas::default();
    let mut y = 4.0;
    let mut places = Vec::new();
    for (i, r) in rows.iter().enumerate() {
        y += if i > 0 && rows[i - 1].0 != r.0 { gap } else { 0.0 };
        places.push(y + row / 2.0);
        y += row;
    }
    for tick in &axis.ticks {
        canvas.line("grid", (x(*tick), 0.0), (x(*tick), y + 4.0));
        canvas.text("", (x(*tick), y + 19.0), Anchor::Middle, &axis.label(*tick));
    }
    canvas.line("base", (left, y + 4.0), (right, y + 4.0));
    canvas.text("mute", (right + 22.0, y + 19.0), Anchor::Start, "ms");
    for (i, ((k, name, d), y)) in rows.iter().zip(&places).enumerate() {
        let scheme = schemes[*k];
        canvas.open(&format!("{} k{k}", colour(*k)));
        if i == 0 || rows[i - 1].0 != *k {
            canvas.text("name", (0.0, y + 4.0), Anchor::Start, &shorten(scheme, 20));
        }
        canvas.text("mute", (left - 10.0, y + 4.0), Anchor::End, &shorten(name, 10));
        draw_box(&mut canvas, d, *y, row * 0.32, &x, &format!("{scheme} {name}"));
        if d.max > axis.high {
            canvas.text("small tint", (right + 6.0, y + 4.0), Anchor::Start, &format!("▸ {}", short(d.max)));
        }
        canvas.close();
    }
    Some((y + 26.0, canvas.0))
}

fn draw_box(canvas: &mut Canvas, d: &Distribution, y: f64, half: f64, x: &impl Fn(f64) -> f64, name: &str) {
    canvas.line("whisk", (x(d.min), y), (x(d.q1), y));
    canvas.line("whisk", (x(d.q3), y), (x(d.p99), y));
    for end in [d.min, d.p99] {
        canvas.line("whisk", (x(end), y - half * 0.6), (x(end), y + half * 0.6));
    }
    let title = format!(
        "{name}: mean {} ms, sd {}, median {}, p90 {}, p99 {}, max {}",
        short(d.mean),
        short(d.sd),
        short(d.p50),
        short(d.p90),
        short(d.p99),
        short(d.max)
    );
    canvas.rect("box", (x(d.q1), y - half), ((x(d.q3) - x(d.q1)).max(1.0), 2.0 * half), &title);
    canvas.line("med", (x(d.p50), y - half), (x(d.p50), y + half));
    canvas.disc("mean", (x(d.mean), y), 3.0, "");
    canvas.disc("dot", (x(d.max), y), 2.0, "");
}
