//! Drawing primitives: SVG text with coordinates rounded to a tenth of a pixel.

use std::fmt::Write;

/// A figure of a report, without its style sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// File name without extension, and anchor in the report.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Description in a sentence or two.
    pub caption: String,
    /// Width in px.
    pub width: f64,
    /// Height in px.
    pub height: f64,
    /// The SVG elements.
    pub body: String,
    /// The values over time, for the page's script.
    pub series: Option<serde_json::Value>,
}

impl Figure {
    /// The SVG element for a page that has the style sheet.
    pub fn inline(&self) -> String {
        let (w, h) = (px(self.width), px(self.height));
        let title = escape(&self.title);
        format!(
            "<svg class=\"fig\" viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{title}\" \
             xmlns=\"http://www.w3.org/2000/svg\">{}</svg>\n",
            self.body
        )
    }

    /// The figure as a separate file with heading, background and style sheet.
    pub fn standalone(&self) -> String {
        let head = 30.0;
        let (w, h) = (px(self.width), px(self.height + head));
        format!(
            "<svg class=\"fig\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\">\n\
             <title>{title}</title><desc>{caption}</desc>\n<style>{style}</style>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\
             <text class=\"head\" x=\"8\" y=\"19\">{title}</text>\n<g transform=\"translate(0 {head})\">{body}</g>\n</svg>\n",
            title = escape(&self.title),
            caption = escape(&self.caption),
            style = super::style::figure_css(),
            body = self.body,
        )
    }
}

/// Escapes text for elements and attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML cannot represent control characters.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// The text of a coordinate.
pub fn px(x: f64) -> String {
    let tenths = (x.clamp(-1e6, 1e6) * 10.0).round() / 10.0;
    format!("{}", if tenths.is_finite() { tenths + 0.0 } else { 0.0 })
}

/// Approximate width of a text: digits and lower-case letters take 0.55 of the font size on average.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| if c.is_ascii_uppercase() || c == 'm' || c == 'w' { 0.68 } else { 0.54 }).sum::<f64>() * size
}

/// At most `max` characters; the last one is an ellipsis if the text was longer.
pub fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

/// Which end of a text is at its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// The text is centred there.
    Middle,
    /// The text ends there.
    End,
}

/// A list of SVG elements under construction.
#[derive(Clone, Debug, Default)]
pub struct Canvas(pub String);

impl Canvas {
    /// A straight line with a style class.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        let _ = write!(self.0, "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    /// A text with a style class.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.0, "<text{class} x=\"{}\" y=\"{}\"{anchor}>{}</text>", px(at.0), px(at.1), escape(text));
    }

    /// A rectangle with a style class and, shown on hover, a title.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), title: &str) {
        let (x, y, w, h) = (px(at.0), px(at.1), px(size.0.max(0.0)), px(size.1.max(0.0)));
        let _ = write!(self.0, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\">");
        if !title.is_empty() {
            let _ = write!(self.0, "<title>{}</title>", escape(title));
        }
        self.0.push_str("</rect>");
    }

    /// A disc with a style class and a title.
    pub fn disc(&mut self, class: &str, at: (f64, f64), radius: f64, title: &str) {
        let (x, y, r) = (px(at.0), px(at.1), px(radius));
        let _ = write!(self.0, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\">");
        if !title.is_empty() {
            let _ = write!(self.0, "<title>{}</title>", escape(title));
        }
        self.0.push_str("</circle>");
    }

    /// A line through points, interrupted at points that are not finite, with a title.
    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)], title: &str) {
        let mut d = String::new();
        let mut pen = false;
        // Steps from point to point are shorter than coordinates; they are between rounded points, so that no error adds
        // up.
        let tenths = |x: f64| (x.clamp(-1e6, 1e6) * 10.0).round();
        let mut last = (0.0, 0.0);
        for (i, (x, y)) in points.iter().enumerate() {
            if !x.is_finite() || !y.is_finite() {
                pen = false;
                continue;
            }
            let here = (tenths(*x), tenths(*y));
            if pen {
                let _ = write!(d, "l{} {}", px((here.0 - last.0) / 10.0), px((here.1 - last.1) / 10.0));
            } else {
                let _ = write!(d, "M{} {}", px(*x), px(*y));
            }
            last = here;
            let alone = !pen && points.get(i + 1).is_none_or(|n| !n.0.is_finite() || !n.1.is_finite());
            if alone {
                // A single point between gaps would not be visible as a line.
                d.push_str("h.5");
                last.0 += 5.0;
            }
            pen = true;
        }
        if d.is_empty() {
            return;
        }
        let _ = write!(self.0, "<path class=\"{class}\" d=\"{d}\"><title>{}</title></path>", escape(title));
    }

    /// The area between two lines over the same x; points that are not finite are left out.
    pub fn band(&mut self, class: &str, x: &[f64], low: &[f64], high: &[f64]) {
        let finite: Vec<usize> = (0..x.len()).filter(|i| low[*i].is_finite() && high[*i].is_finite()).collect();
        if finite.len() < 2 {
            return;
        }
        let mut d = String::new();
        for (n, i) in finite.iter().enumerate() {
            let _ = write!(d, "{}{} {}", if n == 0 { 'M' } else { 'L' }, px(x[*i]), px(high[*i]));
        }
        for i in finite.iter().rev() {
            let _ = write!(d, "L{} {}", px(x[*i]), px(low[*i]));
        }
        let _ = write!(self.0, "<path class=\"{class}\" d=\"{d}Z\"/>");
    }

    /// Opens a group with a class.
    pub fn open(&mut self, class: &str) {
        let _ = write!(self.0, "<g class=\"{class}\">");
    }

    /// Closes the last group.
    pub fn close(&mut self) {
        self.0.push_str("</g>\n");
    }
}
