//! Means over seeds as used by verdicts, and numbers as shown in tables.

use crate::results::Summary;

/// Two standard errors of a mean; `None` with one value.
pub fn two_standard_errors(s: &Summary) -> Option<f64> {
    s.sd.map(|sd| 2.0 * sd / (s.n as f64).sqrt())
}

/// A number as shown in tables: at most four significant digits, without trailing zeros if it is an integer.
pub fn number(x: f64) -> String {
    let a = x.abs();
    match a {
        _ if !x.is_finite() => "–".into(),
        _ if a >= 1000.0 || (x.fract() == 0.0 && a >= 10.0) || x == 0.0 => format!("{x:.0}"),
        _ if a >= 100.0 => format!("{x:.1}"),
        _ if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}
