//! Linear axes with ticks at round numbers.

/// A linear axis over a range of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Left or lower end.
    pub low: f64,
    /// Right or upper end.
    pub high: f64,
    /// The values that have ticks.
    pub ticks: Vec<f64>,
    decimals: usize,
}

impl Axis {
    /// An axis that contains `low..=high` with about `count` ticks; with `snug` it ends at these values, otherwise at
    /// ticks.
    pub fn new(low: f64, high: f64, count: usize, snug: bool) -> Axis {
        let (low, mut high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        if high - low <= 1e-9 * high.abs().max(1e-3) {
            high = low + if low == 0.0 { 1.0 } else { low.abs() };
        }
        let rough = (high - low) / count.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= rough * 0.999).unwrap_or(rough);
        let first = (low / step - 1e-6).ceil() as i64;
        let (start, end) =
            if snug { (low, high) } else { ((low / step + 1e-6).floor() * step, (high / step - 1e-6).ceil() * step) };
        let first = if snug { first } else { (start / step).round() as i64 };
        let ticks = (first..).map(|i| i as f64 * step).take_while(|t| *t <= end + step * 1e-6).take(50).collect();
        let mut decimals = (-step.log10().floor()).max(0.0) as usize;
        let fine = step * 10f64.powi(decimals as i32);
        decimals += usize::from((fine - fine.round()).abs() > 1e-6);
        Axis { low: start, high: end, ticks, decimals: decimals.min(9) }
    }

    /// The coordinate of `value` between `from` (low end) and `to` (high end).
    pub fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        from + (value - self.low) / (self.high - self.low) * (to - from)
    }

    /// The text of a tick, with enough decimals to distinguish the ticks.
    pub fn label(&self, tick: f64) -> String {
        let text = format!("{:.*}", self.decimals, tick + 0.0);
        if text.trim_start_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text }
    }
}

/// A measured value with few digits.
pub fn short(x: f64) -> String {
    let a = x.abs();
    match a {
        _ if !x.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        _ if a >= 99.95 => format!("{x:.0}"),
        _ if a >= 9.995 => format!("{x:.1}"),
        _ if a >= 0.0995 => format!("{x:.2}"),
        _ if a >= 0.0005 => format!("{x:.3}"),
        _ => "<0.001".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_range() {
        let axis = Axis::new(0.0, 9.7, 5, false);
        assert_eq!((axis.ticks.clone(), axis.high), (vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0], 10.0));
        assert_eq!(axis.label(2.0), "2");
        let fine = Axis::new(0.92, 1.0, 4, true);
        assert_eq!(
            fine.ticks.iter().map(|t| fine.label(*t)).collect::<Vec<_>>(),
            ["0.92", "0.94", "0.96", "0.98", "1.00"]
        );
        assert_eq!(Axis::new(0.0, 0.1, 4, false).label(0.025), "0.025");
    }

    #[test]
    fn impossible_ranges_still_give_an_axis() {
        for (low, high) in [(0.0, 0.0), (5.0, 5.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (3.0, -3.0), (-1e300, 1e300)]
        {
            let axis = Axis::new(low, high, 5, false);
            assert!(axis.high > axis.low && axis.ticks.len() <= 50, "{low} {high}: {axis:?}");
        }
    }
}
