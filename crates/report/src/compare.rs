//! Comparison of two result folders.

use super::style::recoloured;
use super::svg::escape;
use super::tables::{html, scheme_cell};
use super::{figures, html as pages};
use ndnweir_lab::results::{Aggregate, Comparison, ScenarioInfo, Summary, aggregate};
use std::fmt::Write;

/// The runs of both results, each scheme once as `name · A` and once as `name · B`, so that every figure shows both.
fn merged(a: &Comparison, b: &Comparison, labels: (&str, &str)) -> Comparison {
    let mut both = Comparison {
        scenario: a.scenario.clone(),
        runs: Vec::new(),
        optimum: a.optimum.clone(),
        repeat: a.repeat.clone(),
        partial: a.partial || b.partial,
    };
    if a.optimum != b.optimum {
        both.optimum = ndnweir_lab::optimum::Optimum::undefined("the two scenarios have different optima");
    }
    for scheme in both_schemes(a, b) {
        for (of, label) in [(a, labels.0), (b, labels.1)] {
            both.runs.extend(of.runs_of(scheme).map(|run| {
                let mut run = run.clone();
                run.scheme = format!("{scheme} · {label}");
                run
            }));
        }
    }
    both
}

/// The schemes of either result, those of the first before others.
fn both_schemes<'a>(a: &'a Comparison, b: &'a Comparison) -> Vec<&'a str> {
    let mut schemes = a.schemes();
    schemes.extend(b.schemes().into_iter().filter(|s| !a.schemes().contains(s)));
    schemes
}

/// The differences between the scenarios, in words.
fn differences(a: &Comparison, b: &Comparison) -> Vec<String> {
    let mut list = Vec::new();
    let (s, t) = (&a.scenario, &b.scenario);
    let mut note = |what: &str, x: String, y: String| {
        if x != y {
            list.push(format!("{what}: {x} against {y}"));
        }
    };
    note("scenario", s.name.clone(), t.name.clone());
    note("duration", format!("{} s", s.duration_s), format!("{} s", t.duration_s));
    note("warm-up", format!("{} s", s.warmup_s), format!("{} s", t.warmup_s));
    note("payload", format!("{} B", s.payload_bytes), format!("{} B", t.payload_bytes));
    note("nodes", s.nodes.len().to_string(), t.nodes.len().to_string());
    note("consumers", s.consumers.len().to_string(), t.consumers.len().to_string());
    let events =
        |s: &ScenarioInfo| s.events.iter().map(|e| format!("{} s {}", e.at_s, e.text)).collect::<Vec<_>>().join(", ");
    note("events", events(s), events(t));
    note("schemes", a.schemes().join(", "), b.schemes().join(", "));
    let seeds = |c: &Comparison| c.schemes().first().map_or(0, |s| c.runs_of(s).count()).to_string();
    note("seeds", seeds(a), seeds(b));
    note("version", a.repeat.version.clone(), b.repeat.version.clone());
    for l in &s.links {
        if let Some(m) = t.links.iter().find(|m| m.name == l.name) {
            note(&format!("rate of {}", l.name), format!("{} Mbit/s", l.rate_mbps), format!("{} Mbit/s", m.rate_mbps));
            note(&format!("delay of {}", l.name), format!("{} ms", l.delay_ms), format!("{} ms", m.delay_ms));
        }
    }
    if list.len() > 12 {
        let more = list.len() - 12;
        list.truncate(12);
        list.push(format!("and {more} more"));
    }
    list
}

/// Whether the difference exceeds two of its standard errors; unknown with one seed.
fn clear(a: &Summary, b: &Summary) -> Option<bool> {
    let (x, y) = (a.sd? / (a.n as f64).sqrt(), b.sd? / (b.n as f64).sqrt());
    Some((a.mean - b.mean).abs() > 2.0 * x.hypot(y))
}

/// Differences named at the top of the page.
const NAMED: usize = 8;

/// The largest relative differences that exceed two standard errors or, with one seed each, all of them.
fn first_differences(
    schemes: &[&str],
    (a, b): (&[Aggregate], &[Aggregate]),
    metrics: &[(String, String)],
    labels: (&str, &str),
) -> String {
    let mut found: Vec<(f64, String)> = Vec::new();
    let (mut compared, mut one_seed) = (0, false);
    for scheme in schemes {
        let of = |list: &[Aggregate]| list.iter().find(|g| g.scheme == *scheme).cloned();
        let Some((x, y)) = of(a).zip(of(b)) else { continue };
        for (metric, title) in metrics {
            let Some((x, y)) = x.get(metric).zip(y.get(metric)) else { continue };
            compared += 1;
            let distinct = clear(x, y);
            one_seed |= distinct.is_none();
            let size = x.mean.abs().max(y.mean.abs());
            if distinct == Some(false) || size == 0.0 || x.mean == y.mean {
                continue;
            }
            let (from, to) = (super::axis::short(x.mean), super::axis::short(y.mean));
            let sign = if y.mean > x.mean { "+" } else { "−" };
            let by = match x.mean {
                0.0 => String::new(),
                from => format!(" ({sign}{:.1} %)", 100.0 * ((y.mean - from) / from).abs()),
            };
            found.push(((y.mean - x.mean).abs() / size, escape(&format!("{scheme}: {title} {from} → {to}{by}"))));
        }
    }
    if compared == 0 {
        return "<p>No scheme is in both.</p>".to_owned();
    }
    let beyond = if one_seed {
        "With one seed it is unknown whether a difference is more than chance.".to_owned()
    } else {
        "Only differences beyond two standard errors count; of twenty equal metrics about one would be beyond."
            .to_owned()
    };
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let head = format!(
        "<h2 id=\"differences\">{} of {compared} metrics differ</h2><p>{beyond} The largest, from {} to {}:</p>",
        found.len(),
        escape(labels.0),
        escape(labels.1)
    );
    let items: String = found.iter().take(NAMED).map(|(_, text)| format!("<li>{text}</li>")).collect();
    if items.is_empty() { format!("{head}<p>None.</p>") } else { format!("{head}<ul>{items}</ul>") }
}

fn row(name: String, a: Option<&Summary>, b: Option<&Summary>) -> Vec<String> {
    let text = |s: Option<&Summary>| s.map_or_else(|| "–".to_owned(), |s| escape(&s.text()));
    let mut cells = vec![name, text(a), text(b)];
    let Some((x, y)) = a.zip(b) else {
        cells.extend(["–".to_owned(), "–".to_owned(), String::new()]);
        return cells;
    };
    let diff = y.mean - x.mean;
    let sign = if diff > 0.0 {
        "+"
    } else if diff < 0.0 {
        "−"
    } else {
        ""
    };
    let class = if diff > 0.0 {
        " class=\"up\""
    } else if diff < 0.0 {
        " class=\"down\""
    } else {
        ""
    };
    let size = super::axis::short(diff.abs());
    cells.push(format!("<td{class}>{sign}{size}</td>"));
    let percent =
        if x.mean == 0.0 { "–".to_owned() } else { format!("{sign}{:.1} %", 100.0 * (diff / x.mean).abs()) };
    cells.push(format!("<td{class}>{percent}</td>"));
    cells.push(match clear(x, y) {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => "one seed".to_owned(),
    });
    cells
}

fn table(a: Option<&Aggregate>, b: Option<&Aggregate>, names: &[(String, String)], labels: (&str, &str)) -> String {
    let rows: Vec<Vec<String>> = names
        .iter()
        .map(|(metric, title)| (title, a.and_then(|a| a.get(metric)), b.and_then(|b| b.get(metric))))
        .filter(|(_, x, y)| x.is_some() || y.is_some())
        .map(|(title, x, y)| row(escape(title), x, y))
        .collect();
    html(&["metric", labels.0, labels.1, "difference", "in %", "beyond 2 standard errors"], &rows, 1)
}

/// A page that compares two results: tables of differences for each scheme, and figures that show both.
///
/// `labels` name the two results, e.g. by their folders.
pub fn compare(a: &Comparison, b: &Comparison, labels: (&str, &str)) -> String {
    let both = merged(a, b, labels);
    let aggregates = aggregate(&both);
    let (of_a, of_b) = (aggregate(a), aggregate(b));
    let mut body = format!(
        "<header><h1>{} and {}</h1><p class=\"lead\">Differences are the second minus the first.</p>",
        escape(labels.0),
        escape(labels.1)
    );
    let unlike = differences(a, b);
    if unlike.is_empty() {
        body.push_str("<p>Both ran the same scenario with the same schemes, seeds and version.</p>");
    } else {
        let items: String = unlike.iter().map(|d| format!("<li>{}</li>", escape(d))).collect();
        let _ = write!(body, "<div class=\"warn\">What was run differs:<ul>{items}</ul></div>");
    }
    let schemes = both_schemes(a, b);
    body.push_str(&first_differences(&schemes, (&of_a, &of_b), &metrics(a, b), labels));
    body.push_str("</header><main>");
    let of: Vec<usize> = (aggregates.iter())
        .map(|g| schemes.iter().position(|s| g.scheme.starts_with(&format!("{s} · "))).unwrap_or(0))
        .collect();
    body.push_str(&recoloured(&of));
    body.push_str(&pages::chips(aggregates.iter().map(|a| a.scheme.as_str())));
    for figure in figures::compared(&both, &aggregates, &format!(" · {}", labels.1))
        .iter()
        .filter(|f| !f.id.starts_with("topology"))
    {
        let _ = write!(
            body,
            "<h2 id=\"{}\">{}</h2>{}",
            escape(&figure.id),
            escape(&figure.title),
            pages::interactive(figure)
        );
    }
    body.push_str("<h2 id=\"tables\">Tables</h2>");
    for scheme in schemes {
        let k = aggregates.iter().position(|g| g.scheme.starts_with(&format!("{scheme} · "))).unwrap_or(0);
        let (x, y) = (of_a.iter().find(|g| g.scheme == scheme), of_b.iter().find(|g| g.scheme == scheme));
        let _ = write!(body, "<h3>{}</h3>{}", scheme_cell(k, scheme), table(x, y, &metrics(a, b), labels));
    }
    body.push_str("</main>");
    pages::document(&format!("{} and {} · ndnweir", labels.0, labels.1), &body, &b.repeat.version)
}

/// Metric names with their headings: the main ones, then goodput and delay of up to twenty common consumers.
fn metrics(a: &Comparison, b: &Comparison) -> Vec<(String, String)> {
    let main = [
        ("goodput_mbps", "goodput (Mbit/s)"),
        ("delay_ms.mean", "delay, mean (ms)"),
        ("delay_ms.sd", "delay, standard deviation (ms)"),
        ("delay_ms.p50", "delay, median (ms)"),
        ("delay_ms.p99", "delay, 99th percentile (ms)"),
        ("jain", "Jain index"),
        ("bottleneck_utilization", "utilisation of the bottleneck"),
        ("bottleneck_queue_ms", "queueing at the bottleneck (ms)"),
        ("loss_mbps", "loss (Mbit/s)"),
        ("marks", "marks"),
        ("nacks", "NACKs"),
        ("retransmissions", "retransmissions"),
    ];
    let mut list: Vec<(String, String)> = main.map(|(m, t)| (m.to_owned(), t.to_owned())).into();
    let in_b = |name: &str| b.scenario.consumers.iter().any(|c| c.name == name);
    for c in a.scenario.consumers.iter().filter(|c| in_b(&c.name)).take(20) {
        list.push((format!("consumers.{}.goodput_mbps", c.name), format!("{}: goodput (Mbit/s)", c.name)));
        list.push((format!("consumers.{}.delay_ms.mean", c.name), format!("{}: delay, mean (ms)", c.name)));
    }
    list
}
