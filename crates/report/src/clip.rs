//! Where an axis ends when a few values are far beyond the others, and those values in words.

use super::axis::short;
use super::grid::Grid;

/// Values this much larger than the end of the axis would need are cut off.
const FAR: f64 = 2.0;
/// Outliers named at most.
const NAMED: usize = 3;

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q) as usize]
}

/// The end of the value axis if outliers are cut off, else `None`.
///
/// It is one and a half times what nine of ten lines keep to for 95 % of the time, if at least one value is more than
/// twice as large.
pub fn cap(grid: &Grid) -> Option<f64> {
    if grid.y_range.is_some() {
        return None;
    }
    let finite = |values: &[f64]| {
        let mut list: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        list.sort_by(f64::total_cmp);
        list
    };
    let lines = grid.panels.iter().flat_map(|p| &p.lines).map(|l| &l.values);
    let bands = grid.panels.iter().flat_map(|p| &p.bands).map(|b| &b.five[4]);
    let sorted: Vec<Vec<f64>> = lines.chain(bands).map(|v| finite(v)).filter(|v| !v.is_empty()).collect();
    let top = sorted.iter().filter_map(|v| v.last()).copied().fold(0.0, f64::max);
    let mut usual: Vec<f64> = sorted.iter().map(|v| quantile(v, 0.95)).collect();
    usual.sort_by(f64::total_cmp);
    let middle = *usual.get(usual.len() / 2)?;
    // A few lines are all worth their room unless one is of another order of magnitude.
    let most = if usual.len() < 8 { quantile(&usual, 1.0).min(20.0 * middle) } else { quantile(&usual, 0.9) };
    let references = grid.panels.iter().flat_map(|p| &p.references).map(|r| r.0).fold(0.0, f64::max);
    let cap = (1.5 * most).max(1.04 * references);
    (cap > 0.0 && top > FAR * cap).then_some(cap)
}

/// The values beyond `cap` in words: by line, the largest first.
pub fn outliers(grid: &Grid, cap: f64) -> String {
    let mut found: Vec<(f64, f64, String)> = Vec::new();
    for panel in &grid.panels {
        let lines = panel.lines.iter().map(|l| (l.label.as_str(), &l.values));
        for (label, values) in lines.chain(panel.bands.iter().map(|b| ("the largest", &b.five[4]))) {
            let top = (0..values.len()).filter(|i| values[*i] > cap).max_by(|a, b| values[*a].total_cmp(&values[*b]));
            if let Some(bin) = top {
                let title = panel.title.as_str();
                let name = if title == label { title.to_owned() } else { format!("{title} {label}").trim().to_owned() };
                found.push((values[bin], (bin as f64 + 0.5) * grid.bin_s, name));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = found.len().saturating_sub(NAMED);
    let named: Vec<String> =
        found.iter().take(NAMED).map(|(v, at, name)| format!("{name} {} at {} s", short(*v), short(*at))).collect();
    let rest = if more > 0 { format!(" and {more} more lines") } else { String::new() };
    format!(" Values beyond {} are cut off: {}{rest}.", short(cap), named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::grid::{Line, Panel};
    use super::*;

    fn grid(lines: Vec<Vec<f64>>) -> Grid {
        let line = |(i, values): (usize, Vec<f64>)| Line { label: format!("C{i}"), scheme: 0, style: 0, values };
        let panel = Panel { lines: lines.into_iter().enumerate().map(line).collect(), ..Panel::default() };
        Grid { panels: vec![panel], bin_s: 0.5, ..Grid::default() }
    }

    #[test]
    fn a_spike_is_cut_off_and_named_and_two_lines_of_different_size_are_not() {
        let mut spiky = vec![10.0; 100];
        spiky[8] = 15_000.0;
        let spiked = grid(vec![spiky, vec![8.0; 100]]);
        assert_eq!(cap(&spiked), Some(15.0));
        assert_eq!(outliers(&spiked, 15.0), " Values beyond 15.0 are cut off: C0 15000 at 4.25 s.");
        assert_eq!(cap(&grid(vec![vec![10.0; 100], vec![90.0; 100]])), None);
    }

    #[test]
    fn a_line_of_another_order_does_not_flatten_many() {
        let mut lines = vec![vec![50.0; 40]; 20];
        lines.push(vec![1e7; 40]);
        assert_eq!(cap(&grid(lines)), Some(75.0));
        assert_eq!(cap(&grid(vec![Vec::new()])), None);
        assert_eq!(cap(&grid(vec![vec![0.0; 5]])), None);
    }
}
