//! Numbers as text, the same on every machine, and their spread.

/// `x` rounded to `digits` significant decimal digits.
pub fn significant(x: f64, digits: usize) -> f64 {
    // Counts, which a large network has hundreds of thousands of, are as they should be.
    if x.trunc() == x && x.abs() < 10f64.powi(digits as i32) {
        return x;
    }
    format!("{x:.*e}", digits.saturating_sub(1)).parse().unwrap_or(x)
}

/// The shortest decimal text of `x` at `digits` significant digits, without exponent; empty for NaN and infinities.
pub(crate) fn text(x: f64, digits: usize) -> String {
    if !x.is_finite() {
        return String::new();
    }
    // Adding zero turns −0 into 0.
    format!("{}", significant(x, digits) + 0.0)
}

/// Mean and sample standard deviation (divisor n − 1); the latter is `None` below two values, both are below one.
pub fn mean_sd(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let n = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    // Equal values must give a spread of exactly zero in spite of rounding errors in the sum.
    if values.iter().all(|v| *v == values[0]) {
        return Some((values[0], (values.len() > 1).then_some(0.0)));
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Some((mean, (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_rounded_as_they_are_through_text() {
        for x in [0.0, -0.0, 1.0, -7.0, 999_999_999.0, 1e9, 1_000_000_005.0, -123_456_789_012.0, 9.007e15] {
            for digits in [1, 4, 9] {
                let through_text: f64 = format!("{x:.*e}", digits - 1).parse().unwrap();
                assert_eq!(significant(x, digits).to_bits(), through_text.to_bits(), "{x}, {digits}");
            }
        }
    }

    #[test]
    fn numbers_are_written_short_and_without_exponent() {
        assert_eq!(text(1.0 / 3.0, 4), "0.3333");
        assert_eq!(text(123_456_789.0, 4), "123500000");
        assert_eq!(text(-0.0, 6), "0");
        assert_eq!(text(2.0, 6), "2");
        assert_eq!(text(f64::NAN, 6), "");
    }
}
