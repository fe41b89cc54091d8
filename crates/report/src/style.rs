//! Colours, fonts and style sheets, common to all figures.

/// A colour for each scheme, for light and dark backgrounds. The first eight are Okabe and Ito's set for all kinds of
/// colour vision (yellow, which is hard to see on white, is replaced by indigo); four more follow for larger
/// comparisons.
const PALETTE: [(&str, &str); 12] = [
    ("#0072b2", "#4aa8e0"),
    ("#d55e00", "#f0803c"),
    ("#009e73", "#2cc39a"),
    ("#b8578f", "#e08fbd"),
    ("#c98a00", "#f0b429"),
    ("#3fa0e0", "#8ccbf5"),
    ("#44389c", "#a79cf5"),
    ("#5c5c5c", "#b8b8b8"),
    ("#7a4f01", "#c79a55"),
    ("#117733", "#63c985"),
    ("#882255", "#d773a3"),
    ("#6b8e23", "#b5d56a"),
];

/// Link colours by utilisation, from idle to full; the line width shows the same.
pub const RAMP: [&str; 6] = ["#c3cdd5", "#9db4c6", "#7fa3c4", "#e3b04b", "#de7f2a", "#c22f1d"];

/// The CSS class with the colour of scheme number `index`.
pub fn colour(index: usize) -> String {
    format!("s{}", index % PALETTE.len())
}

/// Number of schemes up to which their lines share axes; more are told apart by panels.
pub const FEW: usize = 8;

/// The mark in front of a scheme's name: schemes of one colour differ in its shape.
pub fn mark(index: usize) -> String {
    format!("<i class=\"m{}\"></i>", index / PALETTE.len() % 5)
}

const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// Rules for figures on light ground.
const FIGURE: &str = include_str!("../assets/figure.css");
/// What is different on dark ground: selectors and declarations.
const DARK: [(&str, &str); 13] = [
    (".fig .u0", "stroke:#3d4850"),
    (".fig .u1", "stroke:#5a7183"),
    (".fig text", "fill:#c3ccd4"),
    (".fig .head,.fig text.optt", "fill:#eef3f7"),
    (".fig .mute", "fill:#98a4ae"),
    (".fig .grid", "stroke:#2b343c"),
    (".fig .base", "stroke:#59646d"),
    (".fig .opt,.fig .err", "stroke:#eef3f7"),
    (".fig .track", "fill:#242c33"),
    (".fig .mean,.fig .node", "fill:#171d22"),
    (".fig .node,.fig .host", "stroke:#a9b5be"),
    (".fig .host", "fill:#a9b5be"),
    (".fig .halo", "stroke:#171d22"),
];

/// The CSS rules for figures on light ground.
pub fn figure_css() -> String {
    let mut css = format!(".fig{{font-family:{FONT};font-size:11.5px}}{}", compact(FIGURE));
    for (i, (light, _)) in PALETTE.iter().enumerate() {
        css.push_str(&format!(".s{i}{{color:{light}}}"));
    }
    for (i, light) in RAMP.iter().enumerate() {
        css.push_str(&format!(".fig .u{i}{{stroke:{light}}}.fig .v{i}{{fill:{light}}}"));
    }
    css
}

/// The rules for dark ground, each below `scope`.
fn dark_css(scope: &str) -> String {
    let mut rules: Vec<(String, String)> = DARK.iter().map(|(s, d)| ((*s).to_owned(), (*d).to_owned())).collect();
    let event = [(".fig .event", "stroke:#f2938c"), (".fig text.eventt", "fill:#f2938c")];
    rules.extend(event.map(|(s, d)| (s.to_owned(), d.to_owned())));
    // The colours of text without a class come before those with one, which are as specific.
    rules.push((".fig text.tint".to_owned(), "fill:currentColor".to_owned()));
    rules.extend(PALETTE.iter().enumerate().map(|(i, (_, dark))| (format!(".s{i}"), format!("color:{dark}"))));
    let variables = "--ink:#e8eef3;--mute:#98a4ae;--line:#2e373f;--ground:#171d22;--soft:#1e262c;--accent:#6db9ea;\
                     --up:#2cc39a;--down:#f0803c;--good:#1d5f86;--bad:#8a4312;color-scheme:dark";
    let mut css = format!("{scope}{{{variables}}}");
    for (selectors, declarations) in rules {
        let scoped: Vec<String> = selectors.split(',').map(|s| format!("{scope} {s}")).collect();
        css.push_str(&format!("{}{{{declarations}}}", scoped.join(",")));
    }
    css
}

/// The CSS rules for the page. The theme is the system's unless the reader chose one.
pub fn page_css() -> String {
    format!(
        "body{{font-family:{FONT}}}{}{}@media screen and (prefers-color-scheme:dark){{{}}}@media screen{{{}}}",
        compact(include_str!("../assets/page.css")),
        figure_css(),
        dark_css(":root:not([data-theme=light])"),
        dark_css(":root[data-theme=dark]"),
    )
}

/// Gives scheme `k` the colour of number `of[k]`, as long as every scheme has a class of its own; else nothing.
pub fn recoloured(of: &[usize]) -> String {
    if of.len() > PALETTE.len() {
        return String::new();
    }
    let rules = |scope: &str, value: fn((&'static str, &'static str)) -> &'static str| -> String {
        let rule =
            |(k, wanted): (usize, &usize)| format!("{scope} .s{k}{{color:{}}}", value(PALETTE[wanted % PALETTE.len()]));
        of.iter().enumerate().map(rule).collect()
    };
    format!(
        "<style>{}@media screen and (prefers-color-scheme:dark){{{}}}@media screen{{{}}}</style>",
        rules("", |c| c.0),
        rules(":root:not([data-theme=light])", |c| c.1),
        rules(":root[data-theme=dark]", |c| c.1)
    )
}

/// A style sheet without indentation and ends of lines.
fn compact(css: &str) -> String {
    css.lines().map(str::trim).collect()
}

/// The page's own modules, which share one scope, in the order in which they need each other. The page is complete
/// without them.
const MODULES: [&str; 8] = [
    BASE,
    include_str!("../assets/tables.js"),
    include_str!("../assets/schemes.js"),
    include_str!("../assets/axes.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/export.js"),
    include_str!("../assets/player.js"),
    include_str!("../assets/start.js"),
];
/// What all pages share: elements, the theme, colours.
pub const BASE: &str = include_str!("../assets/base.js");
/// The plotting library uPlot 1.6.32, as published.
pub const LIBRARY: &str = include_str!("../assets/uplot/uPlot.iife.min.js");
pub const LIBRARY_CSS: &str = include_str!("../assets/uplot/uPlot.min.css");
pub const LIBRARY_LICENCE: &str = include_str!("../assets/uplot/LICENSE");

/// The scripts of a page; with `charts` the plotting library with its licence, too.
pub fn scripts(charts: bool) -> String {
    let own: String = MODULES.iter().flat_map(|m| m.lines()).map(|l| l.trim_start().to_owned() + "\n").collect();
    let own = format!("<script>(()=>{{\"use strict\";\n{own}}})()</script>");
    if !charts {
        return own;
    }
    let licence = LIBRARY_LICENCE.trim();
    format!("<style>{LIBRARY_CSS}</style><script>/*\n{licence}\n*/\n{LIBRARY}</script>\n{own}")
}
