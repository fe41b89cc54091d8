//! Where the values of a key lie on an axis.

/// Units that values may have, by kind, with their size: values of one kind are compared.
const UNITS: [(&str, usize, f64); 21] = [
    ("Gbps", 1, 1e9),
    ("Mbps", 1, 1e6),
    ("kbps", 1, 1e3),
    ("bps", 1, 1.0),
    ("ns", 2, 1e-9),
    ("us", 2, 1e-6),
    ("ms", 2, 1e-3),
    ("min", 2, 60.0),
    ("s", 2, 1.0),
    ("BDP", 3, 1.0),
    ("packets", 4, 1.0),
    ("packet", 4, 1.0),
    ("GiB", 5, 1_073_741_824.0),
    ("MiB", 5, 1_048_576.0),
    ("KiB", 5, 1024.0),
    ("GB", 5, 1e9),
    ("MB", 5, 1e6),
    ("kB", 5, 1e3),
    ("B", 5, 1.0),
    ("%", 6, 0.01),
    ("", 0, 1.0),
];

/// Values that lie further apart than this factor are placed by their logarithms.
const WIDE: f64 = 8.0;

/// A value as a number in the unit of its kind.
fn quantity(text: &str) -> Option<(usize, f64)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+_".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.replace('_', "").parse().ok()?;
    let (_, kind, size) = UNITS.iter().find(|(name, ..)| *name == unit.trim())?;
    Some((*kind, number * size))
}

/// The places of values, from 0 to 1, and how they are placed.
pub fn places(values: &[String]) -> (Vec<f64>, &'static str) {
    let numbers: Option<Vec<(usize, f64)>> = values.iter().map(|value| quantity(value)).collect();
    let even = || {
        let last = values.len().saturating_sub(1).max(1) as f64;
        ((0..values.len()).map(|i| i as f64 / last).collect(), "values are evenly spaced")
    };
    let Some(numbers) = numbers.filter(|all| all.iter().all(|(kind, _)| *kind == all[0].0)) else { return even() };
    let numbers: Vec<f64> = numbers.into_iter().map(|(_, x)| x).collect();
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !(most > least && most.is_finite() && least.is_finite()) {
        return even();
    }
    let (scale, words): (fn(f64) -> f64, _) =
        if least > 0.0 && most / least >= WIDE { (libm::log, "the axis is logarithmic") } else { (|x| x, "") };
    let (low, high) = (scale(least), scale(most));
    (numbers.into_iter().map(|x| (scale(x) - low) / (high - low)).collect(), words)
}

#[cfg(test)]
mod tests {
    use super::places;

    fn of(values: &[&str]) -> (Vec<f64>, &'static str) {
        places(&values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn values_with_units_lie_where_they_are() {
        assert_eq!(of(&["10ms", "20ms", "0.05s"]), (vec![0.0, 0.25, 1.0], ""));
        let (wide, words) = of(&["100kbps", "1Mbps", "10Mbps"]);
        assert_eq!(words, "the axis is logarithmic");
        assert!((wide[1] - 0.5).abs() < 1e-12 && wide[2] == 1.0);
    }

    #[test]
    fn values_that_cannot_be_compared_are_evenly_spaced() {
        for values in [["1 BDP", "100 packets", "3"], ["a", "b", "c"], ["5", "5", "5"], ["", "–", "1e999"]] {
            assert_eq!(of(&values), (vec![0.0, 0.5, 1.0], "values are evenly spaced"), "{values:?}");
        }
        assert_eq!(of(&["1"]).0, [0.0]);
    }
}
