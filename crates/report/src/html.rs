//! The HTML page: one file without external references.

use super::style::{FEW, colour, mark, page_css, scripts};
use super::svg::{Figure, escape};
use super::{families, flows, player, series, tables, topology};
use ndnweir_lab::results::agreement as compared;
use ndnweir_lab::results::{Aggregate, Comparison};
use std::fmt::Write;

/// Number of consumers or links above which a table is collapsed.
const FOLD: usize = 12;

/// The whole page.
pub fn page(comparison: &Comparison, all: &[Aggregate], figures: &[Figure]) -> String {
    let scenario = &comparison.scenario;
    let name = if scenario.name.is_empty() { "unnamed scenario" } else { &scenario.name };
    let mut body = String::new();
    let _ = write!(body, "<header><h1>{}</h1>", escape(name));
    if !scenario.description.is_empty() {
        let _ = write!(body, "<p class=\"lead\">{}</p>", escape(&scenario.description));
    }
    body.push_str(&facts(comparison, all));
    body.push_str(&warnings(comparison));
    body.push_str("</header><main>");
    body.push_str(&schemes(all));
    body.push_str(&agreement(comparison, all));
    let events = folded("Events", scenario.events.len(), &tables::events(comparison));
    body.push_str(&events.replacen(
        "<h3>Events</h3>",
        "<h2 id=\"events\">Events</h2><p>Marked in the figures over time.</p>",
        1,
    ));
    let many = all.len() > FEW;
    if many {
        body.push_str("<h2 id=\"heat\">Schemes by metric</h2>");
        body.push_str(&tables::overview(comparison, all));
    }
    for figure in figures.iter().filter(|f| !f.id.starts_with("topology")) {
        let _ = write!(body, "<h2 id=\"{}\">{}</h2>", escape(&figure.id), escape(&figure.title));
        // The table above shows the same.
        match many && figure.id == "glance" {
            true => {
                let _ = write!(body, "<details><summary>as bars</summary>{}</details>", with_caption(figure));
            }
            false => body.push_str(&interactive(figure)),
        }
    }
    body.push_str(&topologies(comparison, figures, all));
    body.push_str("<h2 id=\"tables\">Tables</h2>");
    if !many {
        body.push_str(&tables::overview(comparison, all));
    }
    let consumers = scenario.consumers.len().min(tables::ROWS) * all.len();
    body.push_str(&folded("Consumers", consumers, &tables::consumers(comparison, all)));
    body.push_str(&folded("Flows", scenario.consumers.len(), &flows::table(comparison, all)));
    body.push_str(&folded("Links", scenario.links.len().min(tables::ROWS), &tables::links(comparison, all)));
    body.push_str(&tables::drop_causes(all));
    body.push_str(&repeat(comparison));
    body.push_str("</main>");
    document(&format!("{name} · ndnweir"), &body, &comparison.repeat.version)
}

/// How every page begins, by which one is told from other files. The browser loads nothing but what the page contains.
pub const PAGE_START: &str = concat!(
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; ",
    "style-src 'unsafe-inline'; img-src data: blob:\">",
);

/// A complete document around a body.
pub fn document(title: &str, body: &str, version: &str) -> String {
    format!(
        "{PAGE_START}\n\
         <title>{}</title>\n<style>{}</style></head>\n<body>{body}\n<footer>Written by ndnweir {}. Metrics are defined in docs/metrics.md; \
         the optimum is the max-min fair allocation of the long-lived flows over the next hops of the FIBs (routed) or over any paths (physical), \
         computed by linear programs, without losses, queues or start-up.</footer>\n\
         {}</body></html>\n",
        escape(title),
        page_css(),
        escape(version),
        scripts(body.contains(SERIES))
    )
}

/// Marks figures that the script can make interactive.
const SERIES: &str = "class=\"series\"";

/// A figure with its caption above it, with its values for the script if it has them.
pub fn interactive(figure: &Figure) -> String {
    let data = figure.series.as_ref().map(|s| series::embed("series", s)).unwrap_or_default();
    format!(
        "<figure tabindex=\"0\"><figcaption>{}</figcaption>{}{data}</figure>\n",
        escape(&figure.caption),
        figure.inline()
    )
}

/// A figure with its caption above it.
pub fn with_caption(figure: &Figure) -> String {
    format!("<figure tabindex=\"0\"><figcaption>{}</figcaption>{}</figure>\n", escape(&figure.caption), figure.inline())
}

/// The schemes with their colours; the script turns them into switches.
pub fn chips<'a>(schemes: impl Iterator<Item = &'a str>) -> String {
    let mut out = "<div class=\"chips\">".to_owned();
    for (k, scheme) in schemes.enumerate() {
        let name = escape(scheme);
        let (class, mark) = (colour(k), mark(k));
        let _ = write!(out, "<span class=\"chip {class}\" data-s=\"{k}\">{mark}<span>{name}</span></span>");
    }
    out + "</div>"
}

/// The chips of a comparison, with what the script sorts and groups schemes by.
fn schemes(all: &[Aggregate]) -> String {
    let metrics = ["goodput_mbps", "delay_ms.mean", "delay_ms.p99", "jain", "bottleneck_queue_ms", "loss_mbps"];
    let list: Vec<_> = (all.iter())
        .map(|a| serde_json::json!({"name": a.scheme, "group": families::group(&a.scheme), "metrics": metrics.map(|m| a.mean(m))}))
        .collect();
    chips(all.iter().map(|a| a.scheme.as_str())) + &series::embed("schemes", &list.into())
}

fn facts(comparison: &Comparison, all: &[Aggregate]) -> String {
    let s = &comparison.scenario;
    let seeds = all.iter().map(|a| a.seeds).max().unwrap_or(0);
    let plural = |n: usize, what: &str| {
        if n == 1 { format!("<b>1</b> {what}") } else { format!("<b>{n}</b> {what}s") }
    };
    let mut list = vec![
        plural(all.len(), "scheme"),
        plural(seeds, "seed"),
        plural(s.consumers.len(), "consumer"),
        plural(s.nodes.len(), "node"),
        plural(s.links.len().div_ceil(2), "link"),
        format!("measured from <b>{} s</b> to <b>{} s</b>", s.warmup_s, s.duration_s),
    ];
    if let Some(total) = comparison.optimum.total_mbps {
        let most = comparison.optimum.max_total_mbps.filter(|m| *m > total * 1.001);
        let most = most.map(|m| format!(" (at most {m:.2} unfairly)")).unwrap_or_default();
        let physical = comparison.optimum.physical.as_ref().map(|p| format!(", {:.2} over any paths", p.total_mbps));
        list.push(format!("optimum <b>{total:.2} Mbit/s</b>{most}{}", physical.unwrap_or_default()));
    }
    let items: String = list.iter().map(|f| format!("<li>{f}</li>")).collect();
    format!("<ul class=\"facts\">{items}</ul>")
}

fn warnings(comparison: &Comparison) -> String {
    let mut list = Vec::new();
    if comparison.partial || comparison.runs.iter().any(|r| r.partial) {
        list.push("<b>Partial.</b> The work was interrupted: values cover the runs and the time there are.".to_owned());
    }
    for zero in ndnweir_lab::results::zero_spread(comparison) {
        list.push(format!(
            "<b>No spread.</b> {} seeds of {} gave identical results, so the seed did not reach the run; its spread means nothing.",
            zero.seeds,
            escape(&zero.scheme)
        ));
    }
    if let Some(reason) = &comparison.optimum.undefined {
        list.push(format!("<b>No optimum.</b> {}.", escape(reason)));
    }
    if let Some(known) = &comparison.optimum.estimate {
        list.push(format!("<b>The optimum is an estimate.</b> {}.", escape(known)));
    }
    list.extend(comparison.repeat.notes.iter().chain(&comparison.scenario.notes).map(|n| escape(n)));
    list.iter().map(|w| format!("<div class=\"warn\">{w}</div>")).collect()
}

/// The agreement of emulated and simulated runs, if there are both.
fn agreement(comparison: &Comparison, all: &[Aggregate]) -> String {
    let rows = compared::agreement(&comparison.runs);
    if rows.is_empty() {
        return String::new();
    }
    let cell = |(i, text): (usize, &String)| match (i, text.as_str()) {
        (0, scheme) if !scheme.is_empty() => {
            let k = all.iter().position(|a| a.scheme == scheme).unwrap_or(0);
            tables::scheme_cell(k, scheme)
        }
        (6, verdict) if verdict.starts_with("NOT") => format!("<td><strong>{}</strong></td>", escape(verdict)),
        _ => escape(text),
    };
    let lines = compared::cells(&rows);
    let cells: Vec<Vec<String>> = lines.iter().map(|line| line.iter().enumerate().map(cell).collect()).collect();
    format!(
        "<h2 id=\"agreement\">Simulation and emulation</h2><p>{}</p>{}",
        escape(&compared::legend(&rows)),
        tables::html(&compared::HEADINGS, &cells, 2)
    )
}

fn topologies(comparison: &Comparison, figures: &[Figure], all: &[Aggregate]) -> String {
    let mut list = figures.iter().filter(|f| f.id.starts_with("topology"));
    let Some(first) = list.next() else {
        let scenario = &comparison.scenario;
        if topology::is_drawable(scenario) {
            return String::new();
        }
        return format!(
            "<h2 id=\"topology\">Topology</h2><p>Not drawn: {} nodes and {} links are more than can be seen. The table of \
             links names the busiest.</p>",
            scenario.nodes.len(),
            scenario.links.len().div_ceil(2)
        );
    };
    let mut out = format!("<h2 id=\"topology\">Topology</h2>{}", with_caption(first));
    if let Some(frames) = player::of(comparison) {
        out = out.replacen("</figure>", &(series::embed("frames", &frames) + "</figure>"), 1);
    }
    if all.len() > FEW {
        return out + "<p>Under other schemes: <code>figures/topology-*.svg</code>.</p>";
    }
    for (figure, a) in list.zip(all.iter().skip(1)) {
        let _ =
            write!(out, "<details><summary>under {}</summary>{}</details>", escape(&a.scheme), with_caption(figure));
    }
    out
}

fn folded(title: &str, rows: usize, table: &str) -> String {
    if table.is_empty() {
        return String::new();
    }
    if rows <= FOLD {
        return format!("<h3>{title}</h3>{table}");
    }
    format!("<h3>{title}</h3><details><summary>{rows} rows</summary>{table}</details>")
}

fn repeat(comparison: &Comparison) -> String {
    let r = &comparison.repeat;
    let mut out = "<h2 id=\"repeat\">How to repeat</h2>".to_owned();
    if r.command.is_empty() {
        out.push_str("<p>The command line was not recorded.</p>");
    } else {
        let _ = write!(out, "<pre tabindex=\"0\">{}</pre>", escape(&r.command));
    }
    let mut seeds: Vec<u64> = comparison.runs.iter().map(|run| run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let _ = write!(
        out,
        "<p>Seeds: {}. Version: {}. {} Beside this page: <code>summary.json</code>, \
         <code>series/*.csv</code>, <code>figures/*.svg</code>.</p>",
        escape(&seeds.join(", ")),
        escape(if r.version.is_empty() { "unknown" } else { &r.version }),
        match compared::agreement(&comparison.runs).is_empty() {
            true => "The same seed gives the same bytes on every machine.",
            false => "Simulated runs with the same seed are the same on every machine; emulated ones come out alike.",
        }
    );
    out
}
