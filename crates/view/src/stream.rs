//! The values of runs as events of their feeds, several bins at a time.

use crate::feed::Feed;
use ndnweir_lab::results::{LinkInfo, Rows, ScenarioInfo, Series, SeriesKind, significant};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Consumers, and directions of links, that are streamed one by one; all together always are.
pub const MAX_SUBJECTS: usize = 16;
/// How long values may wait for further ones before they are sent.
const PAUSE: Duration = Duration::from_millis(80);
/// Bins that are sent without a pause.
const MANY: usize = 40;

/// What is streamed of a scenario's runs.
#[derive(Clone, Debug, Default)]
pub struct Subjects {
    /// Names of consumers.
    pub consumers: Vec<String>,
    /// Names of directions of links: those that can limit traffic most, in the order of the scenario.
    pub links: Vec<String>,
}

impl Subjects {
    /// Of a scenario.
    pub fn new(scenario: &ScenarioInfo) -> Subjects {
        let mut links: Vec<&LinkInfo> = scenario.links.iter().filter(|link| link.rate_mbps > 0.0).collect();
        links.sort_by(|a, b| a.rate_mbps.total_cmp(&b.rate_mbps));
        links.truncate(MAX_SUBJECTS);
        let shown = |link: &&LinkInfo| links.iter().any(|kept| kept.name == link.name);
        Subjects {
            consumers: scenario.consumers.iter().take(MAX_SUBJECTS).map(|c| c.name.clone()).collect(),
            links: scenario.links.iter().filter(shown).map(|l| l.name.clone()).collect(),
        }
    }
}

/// The values of one run that wait to be sent, by subject, metric and bin.
pub struct PendingBins {
    first: usize,
    all: Vec<Vec<f64>>,
    consumers: Vec<Vec<Vec<f64>>>,
    links: Vec<Vec<Vec<f64>>>,
    sent: Instant,
}

/// The metrics of all consumers and links together.
pub const ALL: [&str; 8] = ["goodput_mbps", "rtt_ms", "window", "queue_ms", "jain", "loss_mbps", "marks", "drops"];
/// The metrics of a consumer.
pub const CONSUMER: [&str; 4] = ["goodput_mbps", "rtt_ms", "window", "marks"];
/// The metrics of a link's direction.
pub const LINK: [&str; 4] = ["queue_ms", "data_mbps", "marks", "drops"];

impl PendingBins {
    /// Nothing yet.
    pub fn new(subjects: &Subjects) -> PendingBins {
        PendingBins {
            first: 0,
            all: vec![Vec::new(); ALL.len()],
            consumers: vec![vec![Vec::new(); CONSUMER.len()]; subjects.consumers.len()],
            links: vec![vec![Vec::new(); LINK.len()]; subjects.links.len()],
            sent: Instant::now(),
        }
    }

    fn len(&self) -> usize {
        self.all[0].len()
    }

    /// Takes the values of complete bins; sends them if they are many or have waited.
    pub fn take(&mut self, run: usize, first: usize, part: &Series, subjects: &Subjects, feed: &Feed) {
        if self.len() == 0 {
            self.first = first;
        }
        let column = |rows: &Rows, kind: SeriesKind, metric: &str| -> Vec<f64> {
            let at = kind.metrics().iter().position(|name| *name == metric);
            at.and_then(|at| rows.columns.get(at)).cloned().unwrap_or_default()
        };
        let over = |kind: SeriesKind, metric: &str, join: fn(&[f64]) -> f64| -> Vec<f64> {
            let columns: Vec<Vec<f64>> = part.table(kind).iter().map(|rows| column(rows, kind, metric)).collect();
            let values = |bin: usize| -> Vec<f64> {
                columns.iter().filter_map(|c| c.get(bin).copied()).filter(|v| v.is_finite()).collect()
            };
            (0..part.len()).map(|bin| join(&values(bin))).collect()
        };
        let (sum, most) = (|v: &[f64]| v.iter().sum(), |v: &[f64]| v.iter().copied().fold(f64::NAN, f64::max));
        let all = [
            over(SeriesKind::Network, "goodput_mbps", sum),
            over(SeriesKind::Consumers, "rtt_ms", mean),
            over(SeriesKind::Consumers, "window", mean),
            over(SeriesKind::Links, "queue_ms", most),
            over(SeriesKind::Network, "jain", mean),
            over(SeriesKind::Network, "loss_mbps", sum),
            over(SeriesKind::Consumers, "marks", sum),
            over(SeriesKind::Packets, "drops", sum),
        ];
        self.all.iter_mut().zip(all).for_each(|(kept, more)| kept.extend(more));
        let named = |kind: SeriesKind, name: &str, metric: &str| {
            let rows = part.table(kind).iter().find(|rows| rows.key.first().is_some_and(|key| key == name));
            rows.map(|rows| column(rows, kind, metric)).unwrap_or_default()
        };
        for (name, kept) in subjects.consumers.iter().zip(&mut self.consumers) {
            for (metric, kept) in CONSUMER.iter().zip(kept) {
                kept.extend(named(SeriesKind::Consumers, name, metric));
            }
        }
        for (name, kept) in subjects.links.iter().zip(&mut self.links) {
            for (metric, kept) in LINK.iter().zip(kept) {
                let kind = if *metric == "drops" { SeriesKind::Packets } else { SeriesKind::Links };
                kept.extend(named(kind, name, metric));
            }
        }
        if self.len() >= MANY || self.sent.elapsed() >= PAUSE {
            self.send(run, feed);
        }
    }

    /// Sends what waits.
    pub fn send(&mut self, run: usize, feed: &Feed) {
        self.sent = Instant::now();
        if self.len() == 0 {
            return;
        }
        let table = |columns: &mut Vec<Vec<f64>>| -> Value {
            columns.iter_mut().map(|column| std::mem::take(column).into_iter().map(number).collect::<Value>()).collect()
        };
        let tables = |list: &mut Vec<Vec<Vec<f64>>>| -> Value { list.iter_mut().map(table).collect() };
        feed.push(&json!({
            "kind": "bins",
            "run": run,
            "first": self.first,
            "all": table(&mut self.all),
            "consumers": tables(&mut self.consumers),
            "links": tables(&mut self.links),
        }));
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { f64::NAN } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Four digits are more than a chart shows.
pub fn number(value: f64) -> Value {
    if value.is_finite() { json!(significant(value, 4)) } else { Value::Null }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{Full, NextEvent};

    fn rows(name: &str, columns: &[(usize, &[f64])], of: usize) -> Rows {
        let mut all = vec![vec![f64::NAN; 2]; of];
        columns.iter().for_each(|(at, values)| all[*at] = values.to_vec());
        Rows { key: if name.is_empty() { Vec::new() } else { vec![name.into()] }, columns: all }
    }

    #[test]
    fn values_of_all_are_sums_means_and_maxima_and_what_is_undefined_is_null() {
        let mut part = Series { bin_s: 0.1, ..Series::default() };
        part.tables[SeriesKind::Network as usize] = vec![rows("", &[(0, &[3.0, 5.0]), (1, &[1.0, 0.5])], 3)];
        let consumer = |name, rtt: &[f64], window: &[f64]| rows(name, &[(3, rtt), (4, window), (7, &[1.0, 0.0])], 9);
        part.tables[SeriesKind::Consumers as usize] =
            vec![consumer("A", &[10.0, f64::NAN], &[1.0, 2.0]), consumer("B", &[20.0, f64::NAN], &[3.0, 4.0])];
        part.tables[SeriesKind::Links as usize] =
            vec![rows("A>R", &[(3, &[1.0, 7.0])], 8), rows("R>A", &[(3, &[2.0, f64::NAN])], 8)];
        part.tables[SeriesKind::Packets as usize] = vec![rows("A>R", &[(3, &[4.0, 0.0])], 4)];
        let subjects = Subjects { consumers: vec!["B".into()], links: vec!["R>A".into()] };
        let (feed, mut pending) = (Feed::new(10_000, Full::Omit), PendingBins::new(&subjects));
        pending.take(3, 8, &part, &subjects, &feed);
        pending.send(3, &feed);
        let NextEvent::Event(0, line) = feed.get(0) else { panic!("nothing was sent") };
        let event: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&event["run"], &event["first"]), (&json!(3), &json!(8)));
        let expected =
            json!([[3.0, 5.0], [15.0, null], [2.0, 3.0], [2.0, 7.0], [1.0, 0.5], [0.0, 0.0], [2.0, 0.0], [4.0, 0.0],]);
        assert_eq!(event["all"], expected);
        assert_eq!(event["consumers"], json!([[[null, null], [20.0, null], [3.0, 4.0], [1.0, 0.0]]]));
        assert_eq!(event["links"], json!([[[2.0, null], [null, null], [null, null], []]]));
        // Nothing is sent twice.
        pending.send(3, &feed);
        assert_eq!(feed.get(1), NextEvent::Wait);
    }
}
