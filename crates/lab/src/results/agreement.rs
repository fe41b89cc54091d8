//! The agreement of emulations with simulations.

use super::{Run, SwitchRun, significant};
use crate::text_table::{Column, Row, TableStyle, TextTable, Tone, wrapped};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Minimum number of runs of each kind for which a difference of medians does not depend on a single seed.
pub const MIN_RUNS: usize = 5;

/// Significant digits of stored values.
const DIGITS: usize = 9;

/// The name of an emulated scheme, listed beside the simulated one.
pub fn emulated_name(scheme: &str) -> String {
    format!("{scheme}{EMULATED}")
}

const EMULATED: &str = " emulated";

/// The simulated and emulated runs of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The scheme.
    pub scheme: String,
    /// Whether utilisation, delay and Jain index are within their limits.
    pub within: bool,
    /// Utilisation of the busiest link direction, 0 to 1.
    pub utilization: Compared,
    /// Mean delay of all segments.
    pub delay_ms: Compared,
    /// Jain index of the consumers' goodput.
    pub jain: Compared,
    /// Goodput of all consumers.
    pub goodput_mbps: Compared,
    /// Switches of a planner; `None` if none were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
}

/// What a planner switches is compared for so long from the start: later a small difference has led to others.
const SWITCHES_FOR_S: f64 = 10.0;
/// A switch may come so much earlier or later than in a simulation: T_p of ndnSieve.
const SWITCH_TOLERANCE_S: f64 = 0.5;
/// Goodput may be so much below the least and above the most of the simulated runs.
const GOODPUT_TOLERANCE: f64 = 0.05;

/// The switches of the first 10 s in simulated and emulated runs, and the goodput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switches {
    /// How many there were in each simulated run.
    pub simulated: Spread,
    /// How many there were in each emulated run.
    pub emulated: Spread,
    /// All switches of the emulated runs.
    pub all: usize,
    /// Of these, how many came within 0.5 s of that with the same number, node and prefix in one of the simulated runs.
    pub timely: usize,
    /// How many emulated runs have a goodput within the range of the simulated ones, widened by 5 %.
    pub goodput_within: usize,
    /// Whether all have, and all switches are timely.
    pub within: bool,
}

/// When each node switched each prefix, by the number of the switch.
fn switch_times(run: &Run) -> BTreeMap<(&str, &str, usize), f64> {
    let mut times = BTreeMap::new();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for SwitchRun { at_s, node, prefix } in run.switches.iter().filter(|switch| switch.at_s < SWITCHES_FOR_S) {
        let number = counts.entry((node, prefix)).or_default();
        times.insert((node.as_str(), prefix.as_str(), *number), *at_s);
        *number += 1;
    }
    times
}

impl Switches {
    fn of<'a>(simulated: &[&'a Run], emulated: &[&'a Run]) -> Option<Switches> {
        let times = |runs: &[&'a Run]| -> Vec<_> { runs.iter().map(|run| switch_times(run)).collect() };
        let (before, now) = (times(simulated), times(emulated));
        if before.iter().chain(&now).all(BTreeMap::is_empty) {
            return None;
        }
        let count = |times: &[BTreeMap<_, f64>]| Spread::of(times.iter().map(|times| times.len() as f64).collect());
        let near = |switch: &_, at: f64| {
            before.iter().any(|times| times.get(switch).is_some_and(|other| (other - at).abs() <= SWITCH_TOLERANCE_S))
        };
        let all = now.iter().map(BTreeMap::len).sum();
        let timely = now.iter().flatten().filter(|(switch, at)| near(switch, **at)).count();
        let goodput = Spread::of(simulated.iter().map(|run| run.goodput_mbps).collect())?;
        let range = goodput.least * (1.0 - GOODPUT_TOLERANCE)..=goodput.most * (1.0 + GOODPUT_TOLERANCE);
        let goodput_within = emulated.iter().filter(|run| range.contains(&run.goodput_mbps)).count();
        let within = timely == all && goodput_within == emulated.len();
        Some(Switches { simulated: count(&before)?, emulated: count(&now)?, all, timely, goodput_within, within })
    }

    /// Two rows of [`cells`].
    fn cells(&self) -> [[String; 7]; 2] {
        let Switches { simulated, emulated, all, timely, goodput_within, .. } = *self;
        let spread = |Spread { median, least, most, .. }: Spread| format!("{median} ({least}–{most})");
        let row = |what: String, [one, other]: [String; 2], holds: usize, of: usize, limit: String| {
            let verdict = if holds == of { "within" } else { "NOT within" };
            [String::new(), what, one, other, format!("{holds} of {of}"), limit, verdict.to_owned()]
        };
        [
            row(
                format!("switches in {SWITCHES_FOR_S} s"),
                [spread(simulated), spread(emulated)],
                timely,
                all,
                format!("{SWITCH_TOLERANCE_S} s, all"),
            ),
            row(
                "runs by goodput".to_owned(),
                [simulated.n, emulated.n].map(|runs| runs.to_string()),
                goodput_within,
                emulated.n,
                format!("range ± {:.0} %, all", GOODPUT_TOLERANCE * 100.0),
            ),
        ]
    }
}

/// One quantity in simulated and emulated runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// In simulated runs; `None` if it was not measured.
    pub simulated: Option<Spread>,
    /// In emulated runs; `None` if it was not measured.
    pub emulated: Option<Spread>,
    /// Emulated minus simulated median; divided by the simulated one if the limit is relative.
    pub difference: Option<f64>,
    /// The largest allowed difference; `None` if there is no limit.
    pub limit: Option<f64>,
    /// Whether the difference is within the limit; `None` without a limit or a measurement.
    pub within: Option<bool>,
}

/// A quantity over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle value, or the mean of the two middle values.
    pub median: f64,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
    /// The number of values.
    pub n: usize,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let n = values.len();
        let median = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
        // Rounded as in stored results, so that results read back are the same.
        let [median, least, most] = [median, least, most].map(|value| significant(value, DIGITS));
        Some(Spread { median, least, most, n })
    }
}

/// How a difference is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// In the quantity's own unit.
    Absolute,
    /// Divided by the simulated value.
    Relative,
}

/// A quantity, how its difference is measured, and the largest allowed difference.
struct Quantity {
    title: &'static str,
    measure: Measure,
    limit: Option<f64>,
    scale: f64,
    of: fn(&Run) -> Option<f64>,
}

/// In the order of [`Agreement`]'s fields.
const QUANTITIES: [Quantity; 4] = [
    Quantity {
        title: "utilisation, %",
        measure: Measure::Relative,
        limit: Some(0.03),
        scale: 100.0,
        of: |run| run.bottleneck_utilization,
    },
    Quantity {
        title: "mean delay, ms",
        measure: Measure::Relative,
        limit: Some(0.15),
        scale: 1.0,
        of: |run| run.delay_ms.as_ref().map(|delay| delay.mean),
    },
    Quantity { title: "Jain index", measure: Measure::Absolute, limit: Some(0.03), scale: 1.0, of: |run| run.jain },
    Quantity {
        title: "goodput, Mbit/s",
        measure: Measure::Relative,
        limit: None,
        scale: 1.0,
        of: |run| Some(run.goodput_mbps),
    },
];

impl Quantity {
    fn compare(&self, simulated: &[&Run], emulated: &[&Run]) -> Compared {
        let spread = |runs: &[&Run]| Spread::of(runs.iter().filter_map(|run| (self.of)(run)).collect());
        let (simulated, emulated) = (spread(simulated), spread(emulated));
        let difference = simulated.zip(emulated).and_then(|(s, e)| match self.measure {
            Measure::Absolute => Some(e.median - s.median),
            Measure::Relative => Some((e.median - s.median) / Some(s.median).filter(|median| *median != 0.0)?),
        });
        let difference = difference.map(|difference| significant(difference, DIGITS));
        let within = self.limit.zip(difference).map(|(limit, difference)| difference.abs() <= limit);
        Compared { simulated, emulated, difference, limit: self.limit, within }
    }

    fn difference(&self, difference: f64) -> String {
        match self.measure {
            Measure::Absolute => format!("{difference:+.3}"),
            // Adding zero removes the sign of a zero.
            Measure::Relative => format!("{:+.1} %", (difference * 1000.0).round() / 10.0 + 0.0),
        }
    }

    fn limit(&self, limit: f64) -> String {
        match self.measure {
            Measure::Absolute => format!("{limit}"),
            Measure::Relative => format!("{:.0} %", limit * 100.0),
        }
    }
}

/// Simulated runs, each scheme's followed by its emulated ones.
pub fn side_by_side(simulated: Vec<Run>, emulated: Vec<Run>) -> Vec<Run> {
    let mut schemes: Vec<String> = Vec::new();
    for run in &simulated {
        if !schemes.contains(&run.scheme) {
            schemes.push(run.scheme.clone());
        }
    }
    let place = |run: &Run| schemes.iter().position(|scheme| *scheme == run.scheme).unwrap_or(schemes.len());
    let simulated = simulated.into_iter().map(|run| ((place(&run), false), run));
    let emulated =
        emulated.into_iter().map(|run| ((place(&run), true), Run { scheme: emulated_name(&run.scheme), ..run }));
    let mut runs: Vec<((usize, bool), Run)> = simulated.chain(emulated).collect();
    runs.sort_by_key(|(place, _)| *place);
    runs.into_iter().map(|(_, run)| run).collect()
}

/// Compares the runs of every scheme that has simulated and emulated ones (see [`emulated_name`]), in the order of the
/// emulated ones.
pub fn agreement(runs: &[Run]) -> Vec<Agreement> {
    let mut schemes: Vec<&str> = Vec::new();
    for run in runs {
        let Some(scheme) = run.scheme.strip_suffix(EMULATED) else { continue };
        if !schemes.contains(&scheme) && runs.iter().any(|run| run.scheme == scheme) {
            schemes.push(scheme);
        }
    }
    let one = |scheme: &str| {
        let runs_of = |name: &str| runs.iter().filter(|run| run.scheme == name).collect::<Vec<&Run>>();
        let (simulated, emulated) = (runs_of(scheme), runs_of(&emulated_name(scheme)));
        let [utilization, delay_ms, jain, goodput_mbps] =
            QUANTITIES.each_ref().map(|quantity| quantity.compare(&simulated, &emulated));
        let within = [utilization, delay_ms, jain].iter().all(|compared| compared.within != Some(false));
        let switches = Switches::of(&simulated, &emulated);
        Agreement { scheme: scheme.to_owned(), within, utilization, delay_ms, jain, goodput_mbps, switches }
    };
    schemes.into_iter().map(one).collect()
}

impl Agreement {
    fn quantities(&self) -> [&Compared; 4] {
        [&self.utilization, &self.delay_ms, &self.jain, &self.goodput_mbps]
    }

    /// The smaller of the numbers of simulated and emulated seeds.
    fn seeds(&self) -> usize {
        let n = |spread: Option<Spread>| spread.map_or(0, |spread| spread.n);
        n(self.goodput_mbps.simulated).min(n(self.goodput_mbps.emulated))
    }
}

/// Headings of [`cells`].
pub const HEADINGS: [&str; 7] = ["scheme", "", "simulated", "emulated", "difference", "limit", "verdict"];

/// A row for each scheme and quantity: medians with the smallest and largest values in brackets, the difference and its
/// limit.
pub fn cells(rows: &[Agreement]) -> Vec<[String; 7]> {
    let mut lines = Vec::new();
    for row in rows {
        for (i, (quantity, compared)) in QUANTITIES.iter().zip(row.quantities()).enumerate() {
            let digits = if quantity.scale == 1.0 && quantity.measure == Measure::Absolute { 3 } else { 2 };
            let spread = |spread: Option<Spread>| match spread {
                None => "–".to_owned(),
                Some(Spread { median, least, most, n }) => {
                    let [median, least, most] =
                        [median, least, most].map(|value| format!("{:.digits$}", value * quantity.scale));
                    if n == 1 { median } else { format!("{median} ({least}–{most})") }
                }
            };
            let verdict = match compared.within {
                None => "",
                Some(true) => "within",
                Some(false) => "NOT within",
            };
            let scheme = if i == 0 { row.scheme.clone() } else { String::new() };
            lines.push([
                scheme,
                quantity.title.to_owned(),
                spread(compared.simulated),
                spread(compared.emulated),
                compared.difference.map_or("–".to_owned(), |difference| quantity.difference(difference)),
                compared.limit.map_or(String::new(), |limit| quantity.limit(limit)),
                verdict.to_owned(),
            ]);
        }
        lines.extend(row.switches.iter().flat_map(Switches::cells));
    }
    lines
}

/// Explains the numbers in one or two sentences.
pub fn legend(rows: &[Agreement]) -> String {
    let seeds = rows.iter().map(Agreement::seeds).min().unwrap_or(0);
    let few = match seeds < MIN_RUNS {
        true => format!(" With fewer than {MIN_RUNS} seeds a difference may be chance."),
        false => String::new(),
    };
    let switches = match rows.iter().any(|row| row.switches.is_some()) {
        true => {
            " Switches are compared with those of the same number, node and prefix in each simulated run, goodput with the \
             range of all simulated runs; emulated runs whose goodput is in it are counted in the last row."
        }
        false => "",
    };
    match seeds {
        1 => format!("One seed; differences over the simulated value, of the Jain index as they are.{switches}{few}"),
        n => format!(
            "Medians over {n} seeds (least–most); differences over the simulated value, of the Jain index as they \
             are.{switches}{few}"
        ),
    }
}

/// The rows as a text table for a terminal.
pub fn table(rows: &[Agreement], style: TableStyle) -> String {
    let last = HEADINGS.len() - 1;
    let column = |(i, heading): (usize, &&str)| {
        let is_word = i < 2 || i == last;
        let weight = if is_word { Column::ALWAYS } else { 10 * (last - i) as u8 };
        Column { heading: (*heading).into(), right: !is_word, weight }
    };
    let mut text = TextTable { columns: HEADINGS.iter().enumerate().map(column).collect(), rows: Vec::new() };
    for line in cells(rows) {
        let tone = |i: usize, cell: &str| if i == last && cell.starts_with("NOT") { Tone::Bad } else { Tone::Plain };
        let cells = line.into_iter().enumerate().map(|(i, cell)| (tone(i, &cell), cell)).map(|(t, c)| (c, t));
        text.rows.push(Row { cells: cells.collect(), below: String::new() });
    }
    let legend = wrapped(&legend(rows), style.width).join("\n");
    text.render(style) + &legend + "\n"
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
    fn medians_over_seeds_are_set_against_each_other_by_scheme() {
        let simulated = [0.5, 0.8, 0.6].map(|u| run("a", u, 1.0));
        let emulated = [0.61, 0.2, 0.63, 0.9].map(|u| run("a emulated", u, 0.96));
        let others = [run("b", 0.9, 0.9), run("c emulated", 0.9, 0.9)];
        let runs: Vec<Run> = simulated.into_iter().chain(emulated).chain(others).collect();
        let rows = agreement(&runs);
        assert_eq!(rows.len(), 1, "b was not emulated, c not simulated");
        let Agreement { utilization, jain, delay_ms, within, .. } = &rows[0];
        assert_eq!(utilization.simulated, Some(Spread { median: 0.6, least: 0.5, most: 0.8, n: 3 }));
        assert_eq!(utilization.emulated.map(|spread| (spread.median, spread.n)), Some((0.62, 4)));
        assert_eq!(utilization.within, Some(false), "0.02 of 0.6 is 3.3 %");
        assert_eq!(jain.within, Some(false));
        assert_eq!((delay_ms.difference, delay_ms.within, *within), (None, None, false));
        let text = table(&rows, TableStyle::default());
        for wanted in ["60.00 (50.00–80.00)", "62.00 (20.00–90.00)", "+3.3 %", "NOT within", "-0.040", "fewer than 5"]
        {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }

    #[test]
    fn a_switch_is_timely_if_one_of_the_simulated_runs_has_the_same_one_within_half_a_second() {
        let switched = |scheme, goodput_mbps, times: &[f64]| {
            let switch = |at_s: &f64| SwitchRun { at_s: *at_s, node: "R".into(), prefix: "/p".into() };
            Run { switches: times.iter().map(switch).collect(), goodput_mbps, ..run(scheme, 0.5, 1.0) }
        };
        let simulated = [switched("a", 8.0, &[1.0, 3.0, 11.0]), switched("a", 9.0, &[1.2, 4.0])];
        // The second switch of the first run: 3.6 s is nearer than 0.5 s to 4.0 s, in the other simulated run. That of the
        // second run, 4.6 s, is not, and its third has none beside it; what comes after 10 s does not count.
        let emulated = [switched("a emulated", 7.7, &[1.6, 3.6, 12.0]), switched("a emulated", 9.5, &[0.9, 4.6, 9.9])];
        let runs: Vec<Run> = simulated.into_iter().chain(emulated).collect();
        let rows = agreement(&runs);
        let found = rows[0].switches.unwrap();
        assert_eq!((found.all, found.timely, found.goodput_within, found.within), (5, 3, 1, false), "7.6 to 9.45");
        assert_eq!((found.simulated.median, found.emulated.median), (2.0, 2.5));
        let text = table(&rows, TableStyle::default());
        assert!(text.contains("3 of 5") && text.contains("1 of 2"), "{text}");
    }

    #[test]
    fn emulated_runs_follow_the_simulated_ones_of_their_scheme() {
        let seed = |scheme, seed| Run { seed, ..run(scheme, 0.5, 1.0) };
        let simulated = vec![seed("b", 1), seed("b", 2), seed("a", 1), seed("a", 2)];
        let runs = side_by_side(simulated, vec![seed("b", 1), seed("b", 2), seed("a", 1)]);
        let named: Vec<(&str, u64)> = runs.iter().map(|run| (run.scheme.as_str(), run.seed)).collect();
        let wanted = [("b", 1), ("b", 2), ("b emulated", 1), ("b emulated", 2), ("a", 1), ("a", 2), ("a emulated", 1)];
        assert_eq!(named, wanted);
    }

    #[test]
    fn what_keeps_to_every_limit_is_within() {
        let runs: Vec<Run> = (0..5).flat_map(|_| [run("a", 0.9, 0.99), run("a emulated", 0.874, 0.965)]).collect();
        let rows = agreement(&runs);
        assert!(rows[0].within && rows[0].jain.within == Some(true), "{rows:?}");
        let text = table(&rows, TableStyle::default());
        assert!(!text.contains("fewer") && !text.contains("NOT"), "{text}");
        assert!(text.contains("Medians over 5 seeds"), "{text}");
    }
}
