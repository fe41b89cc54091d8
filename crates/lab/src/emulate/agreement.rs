//! How far an emulation agrees with a simulation.

use crate::results::Run;
use serde::Serialize;

/// A simulated and an emulated run of one scheme, each the mean over its seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The scheme.
    pub scheme: String,
    /// Utilisation of the busiest link direction, 0 to 1.
    pub utilization: Pair,
    /// Mean delay of all segments.
    pub delay_ms: Pair,
    /// Jain index of the consumers' goodput.
    pub jain: Pair,
    /// Payload of all consumers.
    pub goodput_mbps: Pair,
}

/// The same quantity twice; none where it was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// As simulated.
    pub simulated: Option<f64>,
    /// As emulated.
    pub emulated: Option<f64>,
}

impl Pair {
    /// Emulated minus simulated.
    pub fn difference(&self) -> Option<f64> {
        Some(self.emulated? - self.simulated?)
    }

    /// The difference over the simulated value.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.difference()? / self.simulated.filter(|value| *value != 0.0)?)
    }
}

/// Sets runs against each other, by scheme in the order of the emulated ones.
pub fn agreement(simulated: &[Run], emulated: &[Run]) -> Vec<Agreement> {
    let mut schemes: Vec<&str> = Vec::new();
    for run in emulated {
        if !schemes.contains(&run.scheme.as_str()) {
            schemes.push(&run.scheme);
        }
    }
    let pair = |scheme: &str, value: &dyn Fn(&Run) -> Option<f64>| {
        let mean = |runs: &[Run]| {
            let values: Vec<f64> = runs.iter().filter(|run| run.scheme == scheme).filter_map(value).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Pair { simulated: mean(simulated), emulated: mean(emulated) }
    };
    let one = |scheme: &&str| Agreement {
        scheme: (*scheme).to_owned(),
        utilization: pair(scheme, &|run| run.bottleneck_utilization),
        delay_ms: pair(scheme, &|run| run.delay_ms.as_ref().map(|delay| delay.mean)),
        jain: pair(scheme, &|run| run.jain),
        goodput_mbps: pair(scheme, &|run| Some(run.goodput_mbps)),
    };
    schemes.iter().map(one).collect()
}

/// Simulated, emulated and the difference, a line for each scheme and quantity.
pub fn table(rows: &[Agreement]) -> String {
    let mut text = format!("{:<24} {:<16} {:>10} {:>10} {:>11}\n", "scheme", "", "simulated", "emulated", "difference");
    for row in rows {
        let percent = |pair: Pair| {
            let scaled = |value: Option<f64>| value.map(|v| v * 100.0);
            Pair { simulated: scaled(pair.simulated), emulated: scaled(pair.emulated) }
        };
        let quantities = [
            ("utilisation, %", percent(row.utilization), false),
            ("goodput, Mbit/s", row.goodput_mbps, true),
            ("mean delay, ms", row.delay_ms, true),
            ("Jain index", row.jain, false),
        ];
        for (i, (what, pair, relative)) in quantities.into_iter().enumerate() {
            let number = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.3}"));
            let difference = match relative {
                true => pair.ratio().map_or("-".into(), |r| format!("{:+.1} %", r * 100.0)),
                false => pair.difference().map_or("-".into(), |d| format!("{d:+.3}")),
            };
            let scheme = if i == 0 { row.scheme.as_str() } else { "" };
            let (simulated, emulated) = (number(pair.simulated), number(pair.emulated));
            text.push_str(&format!("{scheme:<24} {what:<16} {simulated:>10} {emulated:>10} {difference:>11}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(scheme: &str, utilization: f64, jain: f64) -> Run {
        Run {
            scheme: scheme.into(),
            bottleneck_utilization: Some(utilization),
            jain: Some(jain),
            goodput_mbps: 8.0 * utilization,
            ..Run::default()
        }
    }

    #[test]
    fn means_over_seeds_are_set_against_each_other_by_scheme() {
        let simulated = [run("a", 0.5, 1.0), run("b", 0.9, 0.9), run("a", 0.7, 1.0)];
        let emulated = [run("a", 0.66, 0.97)];
        let rows = agreement(&simulated, &emulated);
        assert_eq!(rows.len(), 1);
        assert!((rows[0].utilization.ratio().unwrap() - 0.1).abs() < 1e-9);
        assert!((rows[0].jain.difference().unwrap() + 0.03).abs() < 1e-9);
        assert_eq!(rows[0].delay_ms.difference(), None);
        assert!(table(&rows).contains("+6.000"), "{}", table(&rows));
    }
}
