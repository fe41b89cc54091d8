//! The values of a figure over time as compact JSON, for the page's script.
//!
//! A value takes three characters: a sign, six bits of exponent and eleven of mantissa, which is 0.025 % of the value.

use super::grid::{Grid, Panel, thin};
use serde_json::{Value, json};

/// The digits of values in the page.
pub const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Values of a figure and of a line in the page at most; more are thinned to means. 26 000 values take 78 kB.
const MAX_VALUES: usize = 26_000;
const MAX_LINE: usize = 2_000;

/// Bins of the figure that become one value in the page.
pub fn thinning(bins: usize, lines: usize) -> usize {
    let room = (MAX_VALUES / lines.max(1)).clamp(40, MAX_LINE);
    bins.div_ceil(room).max(1)
}

/// 18 bits for a value; 0 means undefined, 1 zero.
fn code(value: f64) -> u32 {
    const BIAS: i32 = 24;
    if !value.is_finite() {
        return 0;
    }
    let (fraction, exponent) = libm::frexp(value.abs());
    let (mut mantissa, mut exponent) = ((fraction * 4096.0).round() as u32, exponent - 1 + BIAS);
    if mantissa == 4096 {
        (mantissa, exponent) = (2048, exponent + 1);
    }
    if value == 0.0 || exponent < 1 {
        return 1;
    }
    let sign = u32::from(value < 0.0) << 17;
    match u32::try_from(exponent) {
        Ok(exponent) if exponent < 64 => sign | (exponent << 11) | (mantissa - 2048),
        _ => sign | (63 << 11) | 2047,
    }
}

/// The text of the values.
pub fn encode(values: &[f64]) -> String {
    let mut out = String::with_capacity(3 * values.len());
    for value in values {
        let code = code(*value);
        out.extend([12, 6, 0].map(|shift| DIGITS[(code >> shift & 63) as usize] as char));
    }
    out
}

/// JSON that can stand in a script element.
pub fn embed(class: &str, value: &Value) -> String {
    let text = value.to_string().replace('<', "\\u003c");
    format!("<script type=\"application/json\" class=\"{class}\">{text}</script>")
}

/// The figure for the script, with the axis' end if outliers are cut off.
pub fn of(grid: &Grid, cap: Option<f64>) -> Value {
    let columns: usize = grid.panels.iter().map(|p| p.lines.len() + 5 * p.bands.len()).sum();
    let by = thinning(grid.bins(), columns);
    let text = |values: &[f64]| encode(&thin(values, by));
    let panel = |panel: &Panel| {
        let lines: Vec<Value> =
            panel.lines.iter().map(|l| json!([l.label, l.scheme, l.style, text(&l.values)])).collect();
        let bands: Vec<Value> =
            panel.bands.iter().map(|b| json!([b.scheme, b.five.iter().map(|v| text(v)).collect::<Vec<_>>()])).collect();
        let references: Vec<Value> = panel.references.iter().map(|(v, label)| json!([v, label])).collect();
        json!({"title": panel.title, "scheme": panel.scheme, "lines": lines, "bands": bands, "references": references})
    };
    let events: Vec<Value> = grid.events.iter().map(|e| json!([e.at_s, e.mark, e.text])).collect();
    json!({
        "id": grid.id, "title": grid.title, "y": grid.y_label, "bin": grid.bin_s * by as f64, "range": grid.y_range, "cap": cap,
        "from": grid.reference_from_s, "events": events, "panels": grid.panels.iter().map(panel).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page's script in Rust.
    fn decode(text: &str) -> Vec<Option<f64>> {
        let digit = |c: u8| DIGITS.iter().position(|d| *d == c).unwrap() as u32;
        let value = |c: &[u8]| {
            let code = digit(c[0]) << 12 | digit(c[1]) << 6 | digit(c[2]);
            let (exponent, mantissa) = ((code >> 11 & 63) as i32, f64::from(code & 2047));
            let sign = if code >> 17 == 1 { -1.0 } else { 1.0 };
            match (exponent, code) {
                (0, 0) => None,
                (0, _) => Some(0.0),
                _ => Some(sign * (1.0 + mantissa / 2048.0) * 2f64.powi(exponent - 24)),
            }
        };
        text.as_bytes().chunks(3).map(value).collect()
    }

    #[test]
    fn values_keep_three_digits_and_undefined_ones_stay_undefined() {
        let values = [0.0, 1.0, 1.999_999, 9.61, 0.000_123, 4095.7, 1.3e7, -0.5, 1e9];
        for (value, read) in values.iter().zip(decode(&encode(&values))) {
            assert!((read.unwrap() - value).abs() <= 0.00025 * value.abs(), "{value}: {read:?}");
        }
        assert_eq!(decode(&encode(&[f64::NAN, f64::INFINITY, 1e-12])), [None, None, Some(0.0)]);
        assert!(decode(&encode(&[1e300]))[0].unwrap() > 1e11);
    }

    #[test]
    fn a_figure_of_many_lines_is_thinned_and_text_cannot_end_the_element() {
        assert_eq!((thinning(600, 12), thinning(600, 108), thinning(20_000, 1)), (1, 3, 10));
        assert!(!embed("series", &json!("</script>")).contains("</script>\""));
    }
}
