//! Shades of table cells: which schemes are among the better by a metric, and which among the worse.

use ndnweir_lab::results::Aggregate;

/// The metrics of the overview's columns that say what is better: heading, metric, whether more is better.
const METRICS: [(&str, &str, bool); 10] = [
    ("goodput Mbit/s", "goodput_mbps", true),
    ("attained", "attained", true),
    ("worst flow", "attained_worst", true),
    ("delay ms", "delay_ms.mean", false),
    ("p99 ms", "delay_ms.p99", false),
    ("slowdown", "slowdown.mean", false),
    ("slowdown p99", "slowdown.p99", false),
    ("Jain", "jain", true),
    ("queue ms", "bottleneck_queue_ms", false),
    ("loss Mbit/s", "loss_mbps", false),
];
/// Classes from the best to the worst seventh.
const CLASSES: [Option<&str>; 7] = [Some("g3"), Some("g2"), Some("g1"), None, Some("w1"), Some("w2"), Some("w3")];
/// Values closer than this share of the larger one count as equal.
const SAME: f64 = 0.002;

/// A class for each scheme by its rank, since one value far from the others would leave these without differences.
/// Equal values have equal ranks. Nothing is shaded for fewer than three schemes.
pub fn shades(heading: &str, all: &[Aggregate]) -> Vec<Option<&'static str>> {
    let Some((_, metric, more)) = METRICS.iter().find(|m| m.0 == heading) else { return vec![None; all.len()] };
    let values: Vec<Option<f64>> = all.iter().map(|a| a.mean(metric).map(|v| if *more { -v } else { v })).collect();
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    if known.len() < 3 {
        return vec![None; all.len()];
    }
    let same = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    let shade = |value: &Option<f64>| {
        let value = (*value)?;
        let below = known.iter().filter(|v| **v < value && !same(**v, value)).count();
        let equal = known.iter().filter(|v| same(**v, value)).count();
        if equal == known.len() {
            return None;
        }
        // The middle of the ranks that equal values share.
        let rank = (below as f64 + (equal as f64 - 1.0) / 2.0) / (known.len() as f64 - 1.0);
        CLASSES[((rank * 7.0) as usize).min(6)]
    };
    values.iter().map(shade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_lab::results::Summary;

    fn schemes(metric: &str, means: &[f64]) -> Vec<Aggregate> {
        let one = |mean: &f64| Aggregate {
            scheme: String::new(),
            seeds: 1,
            metrics: [(metric.to_owned(), Summary { mean: *mean, sd: None, n: 1 })].into(),
        };
        means.iter().map(one).collect()
    }

    #[test]
    fn the_best_and_the_worst_are_shaded_by_rank_and_equal_ones_alike() {
        let delay = schemes("delay_ms.mean", &[60.0, 1e6, 70.0, 80.0, 60.01]);
        assert_eq!(shades("delay ms", &delay), [Some("g3"), Some("w3"), None, Some("w2"), Some("g3")]);
        assert_eq!(shades("Jain", &schemes("jain", &[1.0, 0.5, 0.9]))[1], Some("w3"));
    }

    #[test]
    fn nothing_is_shaded_without_a_difference_or_a_better_end() {
        assert_eq!(shades("Jain", &schemes("jain", &[1.0; 4])), [None; 4]);
        assert_eq!(shades("marks", &schemes("marks", &[1.0, 2.0, 3.0])), [None; 3]);
        assert_eq!(shades("delay ms", &schemes("delay_ms.mean", &[1.0, 2.0])), [None; 2]);
    }
}
