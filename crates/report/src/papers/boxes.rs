//! Box plots of the consumers' delay.

use crate::bars::{BOX_CAPTION, averaged, box_rows};
use crate::svg::Figure;
use ndnweir_lab::evaluation::expr::Expr;
use ndnweir_lab::papers::Results;
use ndnweir_lab::papers::model::{PaperFigure as Spec, PaperPanel};
use ndnweir_lab::results::Distribution;

const WIDTH: f64 = 1000.0;

/// Draws a figure of boxes, with the panels one below another; `None` if nothing was measured.
pub fn draw(spec: &Spec, results: &Results, schemes: &[&str]) -> Option<Figure> {
    let rows: Vec<_> = spec.panels.iter().flat_map(|panel| rows(panel, results, schemes)).collect();
    let (height, body) = box_rows(schemes, &rows, 9.0)?;
    let caption = format!("{} {BOX_CAPTION} Means over runs of each.", spec.caption).trim_start().to_owned();
    Some(Figure { id: spec.id.clone(), title: spec.title.clone(), caption, width: WIDTH, height, body, series: None })
}

/// Scheme, label and delay, ordered by scheme.
fn rows(panel: &PaperPanel, results: &Results, schemes: &[&str]) -> Vec<(usize, String, Distribution)> {
    let mut rows = Vec::new();
    for scheme in &panel.schemes {
        let colour = schemes.iter().position(|s| s == scheme).unwrap_or(0);
        for (label, expr) in &panel.items {
            let Expr::Name(consumer) = expr else { continue };
            let runs = results.runs.of(panel.experiment, panel.case, scheme);
            let delays = runs.flat_map(|m| &m.run.consumers).filter(|c| c.name == *consumer);
            let label = if label.is_empty() { consumer } else { label };
            rows.extend(averaged(delays.filter_map(|c| c.delay_ms.as_ref())).map(|d| (colour, label.clone(), d)));
        }
    }
    rows
}
