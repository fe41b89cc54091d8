//! The report about a paper: its figures from our runs, the verdicts, and remarks.

mod bars;
mod boxes;
mod lines;
mod references;
mod tables;

use crate::html::{chips, document, with_caption};
use crate::svg::{Figure, escape};
use ndnweir_lab::papers::Results;
use ndnweir_lab::papers::claims::{self, ClaimCounts};
use ndnweir_lab::papers::model::{Drawing, Paper, PaperFigure};
use ndnweir_lab::papers::text;
use ndnweir_lab::papers::verdict::Judged;
use ndnweir_lab::results::{Error, write_folder};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Colours of the verdicts, readable on light and dark backgrounds.
const STYLE: &str = "<style>.v0{color:#00805d;font-weight:600}.v1{color:#9a6a00;font-weight:600}.v2{color:#c14f00;font-weight:600}\
@media (prefers-color-scheme:dark){.v0{color:#2cc39a}.v1{color:#f0b429}.v2{color:#f0803c}}\
tr.note td{white-space:normal;color:var(--mute);font-weight:400;padding-top:0;border-bottom:1px solid var(--line)}tr.noted td{border-bottom:0}\
td.w{white-space:normal;min-width:17ch;text-align:left}.md table{min-width:0}.md td,.md th{text-align:left;white-space:normal}.md li{max-width:76ch}</style>";

/// Schemes of the paper in order of first appearance; the position selects the colour.
fn schemes(paper: &Paper) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for scheme in paper.experiments.iter().flat_map(|e| &e.schemes) {
        if !names.contains(&scheme.name.as_str()) {
            names.push(&scheme.name);
        }
    }
    names
}

fn figures(paper: &Paper, results: &Results) -> Vec<Figure> {
    let schemes = schemes(paper);
    let draw = |figure: &PaperFigure| match figure.kind {
        Drawing::Lines { to, bin } => lines::draw(figure, results, &schemes, to, bin),
        Drawing::Bars => bars::draw(paper, figure, results, &schemes),
        Drawing::Boxes => boxes::draw(figure, results, &schemes),
    };
    paper.figures.iter().filter_map(draw).collect()
}

/// What a caption says where no published number is drawn, though the figure is one of the paper's.
fn without_published(spec: &PaperFigure) -> &'static str {
    let marked = spec.panels.iter().any(|p| p.marks.iter().any(|m| m.1.contains("published")));
    let of_the_paper = ["Figure", "Table"].iter().any(|kind| spec.source.starts_with(kind));
    if of_the_paper && !marked { " The paper's text gives no number for this figure." } else { "" }
}

/// `report.html`.
pub fn page(paper: &Paper, results: &Results, judged: &[Judged], command: &str, version: &str) -> String {
    assemble(paper, results, judged, &figures(paper, results), command, version)
}

fn assemble(
    paper: &Paper,
    results: &Results,
    judged: &[Judged],
    figures: &[Figure],
    command: &str,
    version: &str,
) -> String {
    let mut body = STYLE.to_owned();
    let _ = write!(body, "<header><h1>{}</h1><p class=\"lead\">{}</p>", escape(&paper.title), escape(&paper.citation));
    let seeds = results.runs.0.iter().flatten().map(|m| m.run.seed).max().unwrap_or(0);
    let runs: usize = results.runs.0.iter().map(Vec::len).sum();
    let counts = ClaimCounts::of(&claims::claims(judged)).parts();
    let counts: String = counts.iter().map(|(n, what)| format!("<li><b>{n}</b> {what}</li>")).collect();
    let _ = write!(body, "<ul class=\"facts\">{counts}<li><b>{runs}</b> runs, seeds 1 to {seeds}</li></ul>");
    if results.partial {
        body.push_str(
            "<div class=\"warn\"><b>Partial.</b> The work was interrupted: values cover the runs there are.</div>",
        );
    }
    let stand_ins: BTreeSet<&str> = (paper.experiments.iter().flat_map(|e| &e.schemes))
        .filter(|s| s.is_stand_in())
        .map(|s| s.name.as_str())
        .collect();
    if !stand_ins.is_empty() {
        let _ = write!(
            body,
            "<div class=\"warn\"><b>Stand-ins</b> (the original law is not public): {}.</div>",
            escape(&stand_ins.into_iter().collect::<Vec<_>>().join(", "))
        );
    }
    body.push_str("</header><main>");
    body.push_str(&tables::summary(paper, judged));
    body.push_str(&chips(schemes(paper).into_iter()));
    for (figure, spec) in figures.iter().filter_map(|f| Some((f, paper.figures.iter().find(|s| s.id == f.id)?))) {
        let heading = format!("{}: {}", spec.source, figure.title);
        let _ = write!(body, "<h2 id=\"{}\">{}</h2>", escape(&figure.id), escape(&heading));
        body.push_str(&with_caption(figure));
    }
    body.push_str("<h2 id=\"verdicts\">Published and measured</h2>");
    body.push_str(
        "<p>As literally read. Measured: mean ± standard deviation over runs (their number); the 95 % confidence interval of the mean is by \
         Student's t. <span class=\"v0\">reproduced</span>: the mean is within the tolerance of the published number, and half the interval is at \
         most the tolerance; every difference of an ordering has the stated sign with its whole interval; a trend shows in four of five runs. \
         <span class=\"v0\">consistent with one run</span>: the paper shows a single run, and one of twenty of ours is like it. \
         <span class=\"v2\">not reproduced</span>: the interval lies outside the tolerance, or has the other sign. \
         <span class=\"v1\">undecided</span>: neither. For orderings the measured value is the margin that decides. What was fitted to a number \
         cannot be confirmed by it.</p>",
    );
    body.push_str(&tables::verdicts(judged));
    body.push_str(&tables::readings(paper, judged));
    body.push_str(&references::tables(paper, results));
    let _ = write!(body, "<div class=\"md\">{}</div>", markdown(after_summary(&paper.page)));
    body.push_str("<h2 id=\"experiments\">Experiments</h2><ul>");
    for e in &paper.experiments {
        let cases: Vec<&str> = e.cases.iter().map(|c| c.name.as_str()).filter(|n| !n.is_empty()).collect();
        let cases = if cases.is_empty() { String::new() } else { format!(" Variants: {}.", cases.join("; ")) };
        let names: Vec<&str> = e.schemes.iter().map(|s| s.name.as_str()).collect();
        let _ = write!(
            body,
            "<li><b>{}</b>: {}{} Schemes: {}.</li>",
            escape(&e.id),
            escape(&e.about),
            escape(&cases),
            escape(&names.join(", "))
        );
    }
    let _ = write!(
        body,
        "</ul><h2 id=\"repeat\">How to repeat</h2><pre tabindex=\"0\">{}</pre><p>The same seeds give the same numbers on every machine. Published numbers, \
         experiments and tolerances: <code>papers/{name}/published.toml</code>. Beside this page: <code>summary.json</code>, \
         <code>figures/*.svg</code>.</p></main>",
        escape(command),
        name = escape(&paper.name)
    );
    document(&format!("{} · ndnweir", paper.name), &body, version)
}

/// A page without the summary that opens it: the report has its own.
fn after_summary(page: &str) -> &str {
    page.split_once(END_OF_SUMMARY).map_or(page, |(_, rest)| rest)
}

/// Ends the summary at the beginning of a paper's page.
const END_OF_SUMMARY: &str = "<!-- end of summary -->";

/// Converts Markdown to HTML; HTML tags in it are escaped.
fn markdown(text: &str) -> String {
    use pulldown_cmark::{Event, Options, Parser, html};
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(tag) | Event::InlineHtml(tag) => Event::Text(tag),
        event => event,
    });
    let mut out = String::new();
    html::push_html(&mut out, parser);
    // The page has only one title, that of the paper.
    out.replace("<h1>", "<h2>").replace("</h1>", "</h2>")
}

/// Writes a folder: `report.html`, `summary.json` with the verdicts, `summary.md`, `figures/*.svg`; either completely or not at all.
///
/// # Errors
/// See [`write_folder`].
pub fn write(
    paper: &Paper,
    results: &Results,
    judged: &[Judged],
    command: &str,
    version: &str,
    dir: &Path,
) -> Result<(), Error> {
    let figures = figures(paper, results);
    let page = assemble(paper, results, judged, &figures, command, version);
    let mut files = vec![
        ("report.html".to_owned(), page.into_bytes()),
        ("summary.md".to_owned(), text::markdown(paper, judged).into_bytes()),
        ("summary.json".to_owned(), format!("{:#}\n", text::json(paper, judged, command, version)).into_bytes()),
    ];
    files.extend(figures.iter().map(|f| (format!("figures/{}.svg", f.id), f.standalone().into_bytes())));
    write_folder(dir, &files)
}

#[cfg(test)]
mod tests {
    use super::{after_summary, markdown};

    #[test]
    fn the_report_leaves_out_the_summary_that_opens_a_page() {
        assert_eq!(after_summary("| a |\n<!-- end of summary -->\n# B\n"), "\n# B\n");
        assert_eq!(after_summary("# B\n"), "# B\n");
    }

    #[test]
    fn tags_in_a_page_are_shown_and_not_obeyed() {
        let html = markdown("# A\n\n<script>x</script> and `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
        assert!(html.contains("<h2>A</h2>") && html.contains("<table>"), "{html}");
        assert!(!html.contains("<script>"), "{html}");
    }
}
