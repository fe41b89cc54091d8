//! The tables of the page.

use super::heat;
use super::style::{FEW, colour, mark};
use super::svg::escape;
use ndnweir_lab::results::{Aggregate, Comparison};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A table; the first `text` columns contain text, the others numbers. Cells are HTML.
pub fn html(headings: &[&str], rows: &[Vec<String>], text: usize) -> String {
    let class = |i: usize| if i < text { " class=\"t\"" } else { "" };
    let mut out = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>".to_owned();
    for (i, heading) in headings.iter().enumerate() {
        let _ = write!(out, "<th{}>{}</th>", class(i), escape(heading));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            // A cell may contain its own tag, which can have a class.
            if cell.starts_with("<td") {
                out.push_str(cell);
            } else {
                let _ = write!(out, "<td{}>{cell}</td>", class(i));
            }
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// A scheme's name with its colour.
pub fn scheme_cell(k: usize, name: &str) -> String {
    format!("<span class=\"{}\">{}<span>{}</span></span>", colour(k), mark(k), escape(name))
}

/// One row for each scheme.
pub fn overview(comparison: &Comparison, all: &[Aggregate]) -> String {
    let (mut headings, rows) = ndnweir_lab::results::overview(comparison);
    let shades: Vec<Vec<Option<&str>>> = headings[1..].iter().map(|h| heat::shades(h, all)).collect();
    headings.push("n");
    let mut cells: Vec<Vec<String>> = Vec::new();
    for (k, (row, a)) in rows.iter().zip(all).enumerate() {
        let mut line = vec![scheme_cell(k, &row[0])];
        line.extend(row[1..].iter().enumerate().map(|(i, c)| match shades[i].get(k).copied().flatten() {
            Some(class) => format!("<td class=\"{class}\">{}</td>", escape(c)),
            None => escape(c),
        }));
        line.push(a.seeds.to_string());
        cells.push(line);
    }
    for (name, total, jain) in ndnweir_lab::results::ceilings(comparison) {
        let mut line = vec![String::new(); headings.len()];
        line[0] = format!("<td><em>{name}</em></td>");
        line[1] = format!("{total:.2}");
        if let Some(at) = headings.iter().position(|h| *h == "Jain") {
            line[at] = jain.map(|j| format!("{j:.3}")).unwrap_or_default();
        }
        cells.push(line);
    }
    let several = all.iter().any(|a| a.seeds > 1);
    let note = if several { "Mean ± standard deviation over n seeds." } else { "One seed: no spread is known." };
    let shaded = if shades.iter().flatten().any(Option::is_some) {
        " Blue: among the better of the schemes by this metric, orange: among the worse."
    } else {
        ""
    };
    format!("<p>{note} All values over the measurement window.{shaded}</p>{}", html(&headings, &cells, 1))
}

fn metric(a: &Aggregate, name: &str) -> String {
    a.get(name).map_or_else(|| "–".to_owned(), |s| escape(&s.text()))
}

/// Consumers or links listed when there are more: all of them are in the summaries.
pub const ROWS: usize = 256;

/// Those of the greatest values in any of the schemes, in their own order, and a sentence about the others.
fn most<'a>(
    mut names: Vec<&'a str>,
    all: &[Aggregate],
    value: impl Fn(&Aggregate, &str) -> f64,
    which: &str,
) -> (Vec<&'a str>, String) {
    let more = names.len().saturating_sub(ROWS);
    if more == 0 {
        return (names, String::new());
    }
    let of = |name: &str| all.iter().map(|a| value(a, name)).fold(f64::MIN, f64::max);
    let mut ranked: Vec<(f64, usize)> = names.iter().map(|name| of(name)).zip(0..).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let kept: BTreeSet<usize> = ranked.into_iter().take(ROWS).map(|(_, at)| at).collect();
    let mut at = 0..;
    names.retain(|_| at.next().is_some_and(|at| kept.contains(&at)));
    (names, format!("<p>The {ROWS} {which}; {more} more are in the summaries beside this page.</p>"))
}

/// One row for each scheme and consumer; of more than [`ROWS`] consumers those of the lowest goodput.
pub fn consumers(comparison: &Comparison, all: &[Aggregate]) -> String {
    let names: Vec<&str> = comparison.scenario.consumers.iter().map(|c| c.name.as_str()).collect();
    if names.is_empty() || all.is_empty() {
        return String::new();
    }
    let goodput = |a: &Aggregate, name: &str| -a.mean(&format!("consumers.{name}.goodput_mbps")).unwrap_or(0.0);
    let (names, note) = most(names, all, goodput, "consumers of the lowest goodput under any scheme");
    let finite = all.iter().any(|a| names.iter().any(|n| a.get(&format!("consumers.{n}.completion_s")).is_some()));
    let optimum = comparison.optimum.total_mbps.is_some();
    let mut headings = vec!["scheme", "consumer", "goodput Mbit/s"];
    headings.extend(optimum.then_some("of fair rate"));
    headings.extend([
        "delay ms",
        "sd",
        "p50",
        "p99",
        "max",
        "window",
        "retransmitted",
        "timeouts",
        "losses",
        "marks",
        "NACKs",
        "converged s",
    ]);
    let ideal = !comparison.optimum.completions.is_empty();
    headings.extend(finite.then_some("complete s"));
    headings.extend((finite && ideal).then_some(["ideal s", "slowdown"]).into_iter().flatten());
    let mut rows = Vec::new();
    for (k, a) in all.iter().enumerate() {
        for name in &names {
            let value = |m: &str| metric(a, &format!("consumers.{name}.{m}"));
            let mut row = vec![scheme_cell(k, &a.scheme), escape(name), value("goodput_mbps")];
            if optimum {
                let goodput = a.mean(&format!("consumers.{name}.goodput_mbps"));
                let best = comparison.optimum.goodput(name).filter(|b| *b > 0.0);
                row.push(goodput.zip(best).map_or("–".to_owned(), |(g, b)| format!("{:.1} %", 100.0 * g / b)));
            }
            for m in [
                "delay_ms.mean",
                "delay_ms.sd",
                "delay_ms.p50",
                "delay_ms.p99",
                "delay_ms.max",
                "window_mean",
                "retransmissions",
                "timeouts",
                "losses",
                "marks",
                "nacks",
                "convergence_s",
            ] {
                row.push(value(m));
            }
            if finite {
                row.push(value("completion_s"));
            }
            if finite && ideal {
                let best = comparison.optimum.ideal_completion(name);
                row.push(best.map_or("–".to_owned(), |s| format!("{s:.3}")));
                row.push(value("slowdown"));
            }
            rows.push(row);
        }
    }
    html(&headings, &rows, 2) + &note
}

/// One row for each link direction that carried packets, with utilisation and queueing columns for each scheme.
pub fn links(comparison: &Comparison, all: &[Aggregate]) -> String {
    let used = |name: &str| all.iter().any(|a| a.mean(&format!("links.{name}.utilization")).is_some_and(|u| u > 0.0));
    let names: Vec<&str> = comparison.scenario.links.iter().map(|l| l.name.as_str()).filter(|n| used(n)).collect();
    if names.is_empty() {
        return String::new();
    }
    if all.len() > FEW {
        return links_by_scheme(comparison, all, &names);
    }
    let load = |a: &Aggregate, name: &str| a.mean(&format!("links.{name}.utilization")).unwrap_or(0.0);
    let (names, note) = most(names, all, load, "links that were used most");
    let mut headings = vec!["link".to_owned(), "rate Mbit/s".to_owned()];
    let optimum = comparison.optimum.total_mbps.is_some();
    headings.extend(optimum.then(|| "optimum".to_owned()));
    for a in all {
        headings.push(format!("{} used", a.scheme));
        headings.push("queue ms".to_owned());
    }
    let mut rows = Vec::new();
    for name in names {
        let info = comparison.scenario.links.iter().find(|l| l.name == name);
        let mut row = vec![escape(name), info.map(|l| l.rate_mbps.to_string()).unwrap_or_default()];
        if optimum {
            let load = comparison.optimum.links.iter().find(|l| l.name == name);
            row.push(load.map(|l| format!("{:.1} %", 100.0 * l.utilization)).unwrap_or_default());
        }
        for a in all {
            let used = a.mean(&format!("links.{name}.utilization"));
            row.push(used.map(|u| format!("{:.1} %", 100.0 * u)).unwrap_or_default());
            row.push(a.mean(&format!("links.{name}.queue_ms")).map(super::axis::short).unwrap_or_default());
        }
        rows.push(row);
    }
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    html(&headings, &rows, 1) + &note
}

/// Links listed when there is a row for each link and scheme: those that were used most under any scheme.
const BUSIEST: usize = 6;

/// One row for each scheme and link: columns for each of many schemes would not fit.
fn links_by_scheme(comparison: &Comparison, all: &[Aggregate], names: &[&str]) -> String {
    let used = |a: &Aggregate, name: &str| a.mean(&format!("links.{name}.utilization")).unwrap_or(0.0);
    let most = |name: &str| all.iter().map(|a| used(a, name)).fold(0.0, f64::max);
    let mut busiest: Vec<(f64, &str)> = names.iter().map(|name| (most(name), *name)).collect();
    busiest.sort_by(|a, b| b.0.total_cmp(&a.0));
    busiest.truncate(BUSIEST);
    let busiest: Vec<&str> = busiest.into_iter().map(|(_, name)| name).collect();
    let load = |name: &str| comparison.optimum.links.iter().find(|l| l.name == name).map(|l| l.utilization);
    let percent = |share: Option<f64>| share.map(|u| format!("{:.1} %", 100.0 * u)).unwrap_or_default();
    let rate = |name: &str| comparison.scenario.links.iter().find(|l| l.name == name).map(|l| l.rate_mbps.to_string());
    let mut rows = Vec::new();
    for (k, a) in all.iter().enumerate() {
        for name in &busiest {
            let queue = a.mean(&format!("links.{name}.queue_ms")).map(super::axis::short).unwrap_or_default();
            let row = [scheme_cell(k, &a.scheme), escape(name), rate(name).unwrap_or_default()];
            rows.push(row.into_iter().chain([percent(load(name)), percent(Some(used(a, name))), queue]).collect());
        }
    }
    let note = match names.len().saturating_sub(BUSIEST) {
        0 => String::new(),
        more => format!("<p>The links that were used most; {more} more are in <code>summary.json</code>.</p>"),
    };
    html(&["scheme", "link", "rate Mbit/s", "optimum", "used", "queue ms"], &rows, 2) + &note
}

/// Maximum number of listed events; all of them are in `summary.json`.
const EVENTS: usize = 200;

/// One row for each event, with the mark that it has in figures.
pub fn events(comparison: &Comparison) -> String {
    let all = &comparison.scenario.events;
    if all.is_empty() {
        return String::new();
    }
    let row = |(i, event): (usize, &ndnweir_lab::results::EventInfo)| {
        let (mark, what) = (format!("{}", i + 1), escape(&event.what));
        vec![mark, event.at_s.to_string(), escape(&event.target), escape(&event.text), what]
    };
    let rows: Vec<Vec<String>> = all.iter().take(EVENTS).enumerate().map(row).collect();
    let more = match all.len().saturating_sub(EVENTS) {
        0 => String::new(),
        more => format!("<p>And {more} more, in <code>summary.json</code>.</p>"),
    };
    html(&["mark", "time s", "where", "what happens", "action"], &rows, 5) + &more
}

/// Drops by cause, if there are any.
pub fn drop_causes(all: &[Aggregate]) -> String {
    let causes: Vec<&str> = ndnweir_lab::results::drops(&ndnweir_lab::results::Drops::default())
        .iter()
        .map(|d| d.0)
        .filter(|c| all.iter().any(|a| a.mean(&format!("drops.{c}")).is_some_and(|m| m > 0.0)))
        .collect();
    if causes.is_empty() {
        return if all.is_empty() { String::new() } else { "<p>No packet was dropped anywhere.</p>".to_owned() };
    }
    let headings: Vec<&str> = std::iter::once("scheme").chain(causes.iter().copied()).collect();
    let rows: Vec<Vec<String>> = (all.iter().enumerate())
        .map(|(k, a)| {
            let cells = causes.iter().map(|c| metric(a, &format!("drops.{c}")));
            std::iter::once(scheme_cell(k, &a.scheme)).chain(cells).collect()
        })
        .collect();
    format!("<h3>Packets dropped, by cause</h3>{}", html(&headings, &rows, 1))
}
