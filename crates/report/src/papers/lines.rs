//! Series over time of each scheme's first run.

use crate::lines::{Grid, Line, Panel};
use crate::svg::Figure;
use ndnweir_lab::evaluation::eval::{between, series};
use ndnweir_lab::evaluation::expr::Expr;
use ndnweir_lab::metrics::rebin;
use ndnweir_lab::papers::Results;
use ndnweir_lab::papers::model::{PaperFigure as Spec, PaperPanel as PanelSpec};

/// Draws a figure of series; `None` if nothing was measured.
pub fn draw(spec: &Spec, results: &Results, schemes: &[&str], to: f64, bin: f64) -> Option<Figure> {
    let mut grid = Grid {
        id: spec.id.clone(),
        title: spec.title.clone(),
        caption: format!(
            "{} One run of each scheme, seed 1; means over {bin} s.{}",
            spec.caption,
            super::without_published(spec)
        )
        .trim_start()
        .to_owned(),
        y_label: spec.y.clone(),
        bin_s: bin,
        panels: Vec::new(),
        y_range: spec.y_range,
        reference_from_s: 0.0,
        events: Vec::new(),
    };
    for panel in &spec.panels {
        grid.panels.push(drawn(panel, results, schemes, to, bin));
    }
    grid.draw()
}

fn drawn(spec: &PanelSpec, results: &Results, schemes: &[&str], to: f64, bin: f64) -> Panel {
    let mut panel = Panel { title: spec.title.clone(), references: spec.marks.clone(), ..Panel::default() };
    for (position, scheme) in spec.schemes.iter().enumerate() {
        let Some(first) = results.runs.of(spec.experiment, spec.case.or(Some(0)), scheme).next() else { continue };
        let colour = schemes.iter().position(|s| s == scheme).unwrap_or(0);
        for (i, (label, expr)) in spec.items.iter().enumerate() {
            let Expr::Name(name) = expr else { continue };
            let Some(values) = series(&first.run, name) else { continue };
            let width = first.run.series.bin_s;
            let by = ((bin / width).round() as usize).max(1);
            let values = rebin(between(values, width, 0.0, to), by);
            let (hue, style) = hue(colour, position, i, spec.items.len(), schemes.len());
            let label = match (spec.schemes.len(), spec.items.len(), label.as_str()) {
                (_, 1, "") => scheme.clone(),
                (1, ..) => label.clone(),
                (_, 1, _) => scheme.clone(),
                _ => format!("{scheme} {label}"),
            };
            panel.lines.push(Line { label, scheme: hue, style, values });
        }
    }
    panel
}

/// Number of colours.
const HUES: usize = 12;

/// Colour number and style of item `i` of the scheme at `position` in its panel. A panel's only item has the scheme's
/// colour. Several have colours of their own, the same in every panel, whose numbers no scheme has, so that switching a
/// scheme off does not hide another one's item.
fn hue(scheme: usize, position: usize, i: usize, items: usize, schemes: usize) -> (usize, usize) {
    match items {
        0 | 1 => (scheme, 0),
        _ => {
            let series = position * items + i;
            ((schemes / HUES + 1) * HUES + series % HUES, series / HUES)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::hue;

    #[test]
    fn every_item_of_a_panel_has_a_colour_of_its_own() {
        assert_eq!(hue(3, 0, 0, 1, 16), (3, 0));
        let many: Vec<usize> = (0..3).flat_map(|s| (0..4).map(move |i| hue(9 + s, s, i, 4, 16).0)).collect();
        assert_eq!(many, (24..36).collect::<Vec<_>>());
        assert_eq!(hue(7, 0, 1, 4, 16), hue(2, 0, 1, 4, 16), "an item looks alike in every panel");
    }
}
