//! Means over seeds as used by verdicts, and numbers as shown in tables.

use crate::results::Summary;

/// Two-sided 95 % quantiles of Student's t with 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
    2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484,
    2.0452, 2.0423,
];

/// The two-sided 95 % quantile of Student's t. Above 30 degrees of freedom it is the first three terms of its expansion
/// in their inverse (Abramowitz and Stegun, 26.7.5), which agree with the tables to four digits there.
///
/// # Panics
/// Never; without a degree of freedom the quantile is infinite.
pub fn student(degrees: usize) -> f64 {
    const Z: f64 = 1.959_963_985;
    match degrees {
        0 => f64::INFINITY,
        1..=30 => STUDENT[degrees - 1],
        _ => {
            let n = degrees as f64;
            let (z3, z5) = (Z.powi(3), Z.powi(5));
            Z + (z3 + Z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * n * n)
        }
    }
}

/// Half the width of the 95 % confidence interval of a mean, by Student's t; `None` with one value.
pub fn half_width(s: &Summary) -> Option<f64> {
    s.sd.map(|sd| student(s.n.saturating_sub(1)) * sd / (s.n as f64).sqrt())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.10; more digits from R's qt(0.975, n).
        for (degrees, quantile) in [
            (1, 12.706_205),
            (2, 4.302_653),
            (9, 2.262_157),
            (29, 2.045_230),
            (30, 2.042_272),
            (31, 2.039_513),
            (40, 2.021_075),
            (60, 2.000_298),
            (99, 1.984_217),
            (120, 1.979_930),
        ] {
            assert!((student(degrees) - quantile).abs() < 1e-4, "{degrees}: {}", student(degrees));
        }
        assert_eq!(student(0), f64::INFINITY);
        assert!((1..200).all(|n| student(n) > student(n + 1)), "more runs never widen the interval");
    }

    #[test]
    fn half_a_confidence_interval_is_the_quantile_times_the_standard_error() {
        let of = |sd: Option<f64>, n: usize| half_width(&Summary { mean: 5.0, sd, n });
        // By hand: 2.2622 · 0.6 / √10.
        assert!((of(Some(0.6), 10).unwrap() - 0.429_22).abs() < 1e-4);
        assert_eq!((of(Some(0.0), 3), of(None, 1)), (Some(0.0), None));
    }
}
