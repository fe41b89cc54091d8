//! Selects the figures of a comparison, and their content.

use super::kinds::kinds;
use super::lines::{Band, EventMark, Grid, Line, Panel};
use super::style::FEW;
use super::svg::Figure;
use super::{bars, topology};
use ndnweir_lab::results::{Aggregate, Comparison, ConsumerInfo, Rows, Run, SeriesKind};
use std::collections::BTreeMap;

/// Maximum number of consumers drawn as lines; more are drawn as bands.
const MAX_LINES: usize = 4;

/// All figures in the order of the report. `all` contains the aggregates of the comparison.
pub fn figures(comparison: &Comparison, all: &[Aggregate]) -> Vec<Figure> {
    drawn(comparison, all, FigureRuns::new(comparison))
}

/// The same of two results together: lines of schemes whose name ends with `second` are dashed.
pub fn compared(comparison: &Comparison, all: &[Aggregate], second: &str) -> Vec<Figure> {
    let mut runs = FigureRuns::new(comparison);
    runs.dashed = runs.schemes.iter().map(|s| s.ends_with(second)).collect();
    drawn(comparison, all, runs)
}

fn drawn(comparison: &Comparison, all: &[Aggregate], runs: FigureRuns<'_>) -> Vec<Figure> {
    let mut list = Vec::new();
    list.extend(bars::glance(comparison, all));
    list.extend(runs.total());
    list.extend(runs.consumers("goodput", "goodput_mbps", "Goodput over time", "goodput of each consumer (Mbit/s)"));
    list.extend(runs.consumers("delay", "delay_ms", "Delay over time", "delay, first Interest to Data (ms)"));
    list.extend(bars::boxes(comparison));
    list.extend(runs.consumers("window", "window", "Congestion window", "window (segments)"));
    list.extend(runs.queues());
    list.extend(runs.flows());
    list.extend(runs.jain());
    list.extend(runs.shares());
    list.extend(runs.paths());
    list.extend(topology::topology(&comparison.scenario, runs.first.first().copied().flatten(), "topology"));
    for (k, run) in runs.first.iter().enumerate().skip(1) {
        if let Some(run) = run {
            list.extend(topology::topology(&comparison.scenario, Some(run), &format!("topology-{k}")));
        }
    }
    list
}

/// The runs whose series are drawn: the first run of each scheme that has series.
struct FigureRuns<'a> {
    comparison: &'a Comparison,
    schemes: Vec<&'a str>,
    first: Vec<Option<&'a Run>>,
    bin_s: f64,
    from_s: f64,
    /// By scheme: whether its line is dashed where schemes share axes.
    dashed: Vec<bool>,
}

impl<'a> FigureRuns<'a> {
    fn new(comparison: &'a Comparison) -> FigureRuns<'a> {
        let schemes = comparison.schemes();
        let first: Vec<Option<&Run>> = (schemes.iter())
            .map(|s| {
                let mut runs = comparison.runs.iter().filter(|r| r.scheme == *s);
                runs.clone().find(|r| !r.series.is_empty()).or_else(|| runs.next())
            })
            .collect();
        let bin_s = first.iter().flatten().map(|r| r.series.bin_s).find(|b| *b > 0.0).unwrap_or(1.0);
        let long = comparison.scenario.consumers.iter().filter(|c| c.long_lived);
        let from_s = long.map(|c| c.start_s).fold(0.0, f64::max);
        FigureRuns { comparison, dashed: vec![false; schemes.len()], schemes, first, bin_s, from_s }
    }

    fn runs(&self) -> impl Iterator<Item = (usize, &'a Run)> {
        self.first.iter().enumerate().filter_map(|(k, run)| run.map(|r| (k, r)))
    }

    fn seed_note(&self) -> &'static str {
        let more = self.comparison.runs.len() > self.schemes.len();
        if more { " One run of each scheme, the first seed." } else { "" }
    }

    fn grid(&self, id: &str, title: &str, y_label: &str, caption: String) -> Grid {
        Grid {
            id: id.to_owned(),
            title: title.to_owned(),
            caption: caption + self.seed_note(),
            y_label: y_label.to_owned(),
            bin_s: self.bin_s,
            panels: Vec::new(),
            y_range: None,
            reference_from_s: self.from_s,
            events: (self.comparison.scenario.events.iter().zip(1..))
                .map(|(e, i): (_, u32)| EventMark {
                    at_s: e.at_s,
                    mark: i.to_string(),
                    text: format!("{} s: {}", e.at_s, e.text),
                })
                .collect(),
        }
    }

    /// Network-wide lines of all schemes, in one panel if they are few and else in one each.
    fn network(&self, metric: &str) -> Vec<Panel> {
        let all = self.overlay(metric);
        if self.schemes.len() <= FEW {
            return vec![all];
        }
        let alone = |line: Line| Panel {
            title: line.label.clone(),
            scheme: Some(line.scheme),
            lines: vec![Line { label: String::new(), ..line }],
            ..Panel::default()
        };
        all.lines.into_iter().map(alone).collect()
    }

    fn overlay(&self, metric: &str) -> Panel {
        let lines = self.runs().filter_map(|(k, run)| {
            let values = run.series.get(SeriesKind::Network, &[], metric)?.to_vec();
            let style = if self.dashed[k] { 2 } else { 0 };
            Some(Line { label: self.schemes[k].to_owned(), scheme: k, style, values })
        });
        Panel { lines: lines.filter(|l| l.values.iter().any(|v| v.is_finite())).collect(), ..Panel::default() }
    }

    fn total(&self) -> Option<Figure> {
        let mut grid = self.grid(
            "total",
            "Total goodput over time",
            "goodput of all consumers (Mbit/s)",
            "Payload that arrived, all consumers together. Dashed: the max-min fair optimum over the routes."
                .to_owned(),
        );
        grid.panels = self.network("goodput_mbps");
        let label = if grid.panels.len() > 1 { "" } else { "optimum" };
        for panel in &mut grid.panels {
            panel.references.extend(self.comparison.optimum.total_mbps.map(|t| (t, label.to_owned())));
        }
        grid.draw()
    }

    fn jain(&self) -> Option<Figure> {
        let long = self.comparison.scenario.consumers.iter().filter(|c| c.long_lived).count();
        if long < 2 {
            return None;
        }
        let caption = "Jain index of the long-lived consumers that are active during the whole bin; 1 is equal shares.";
        let mut grid = self.grid("jain", "Fairness over time", "Jain index", caption.to_owned());
        grid.panels = self.network("jain");
        let low = grid
            .panels
            .iter()
            .flat_map(|p| &p.lines)
            .flat_map(|l| &l.values)
            .copied()
            .filter(|v| v.is_finite())
            .fold(1.0, f64::min);
        grid.y_range = Some(((low * 10.0).floor() / 10.0, 1.0));
        grid.draw()
    }

    /// A panel for each scheme, with a line for each consumer, or bands if there are many consumers.
    fn consumers(&self, id: &str, metric: &str, title: &str, y_label: &str) -> Option<Figure> {
        let names: Vec<&str> = self.comparison.scenario.consumers.iter().map(|c| c.name.as_str()).collect();
        let many = names.len() > MAX_LINES;
        let mut caption = if many {
            let stored = self.runs().map(|(_, run)| run.series.table(SeriesKind::Consumers).len()).max().unwrap_or(0);
            let of = if stored < names.len() { format!(" of {}", names.len()) } else { String::new() };
            format!(
                "{}{of} consumers: light band from least to most, dark band the middle half, line the median.",
                stored.min(names.len()),
            )
        } else {
            "A line for each consumer.".to_owned()
        };
        let goodput = metric == "goodput_mbps" && self.comparison.optimum.undefined.is_none();
        if goodput {
            caption += " Dashed: what each gets in the max-min fair optimum";
            caption += if many { ", the least and the most." } else { "." };
        }
        let mut grid = self.grid(id, title, y_label, caption);
        let kinds =
            if many { kinds(&self.comparison.scenario.consumers) } else { vec![(String::new(), names.clone())] };
        let infos: BTreeMap<&str, &ConsumerInfo> =
            self.comparison.scenario.consumers.iter().map(|c| (c.name.as_str(), c)).collect();
        let panels = self.runs().flat_map(|(k, run)| kinds.iter().map(move |kind| (k, run, kind)));
        for (k, run, (kind, names)) in panels {
            let title = match kind.as_str() {
                "" => self.schemes[k].to_owned(),
                kind => format!("{}, {kind}", self.schemes[k]),
            };
            let mut panel = Panel { title, scheme: Some(k), ..Panel::default() };
            let column = SeriesKind::Consumers.metrics().iter().position(|m| *m == metric);
            let rows: BTreeMap<&str, &Rows> =
                run.series.table(SeriesKind::Consumers).iter().map(|rows| (rows.key[0].as_str(), rows)).collect();
            let series = |name: &str| {
                let values = rows.get(name)?.columns.get(column?)?;
                Some(self.while_active(infos.get(name).copied(), values))
            };
            if many {
                let all: Vec<Vec<f64>> = names.iter().filter_map(|n| series(n)).collect();
                panel.bands.extend(band(k, &all));
            } else {
                panel.lines = (names.iter().enumerate())
                    .filter_map(|(i, n)| {
                        let label = if names.len() > 1 { (*n).to_owned() } else { String::new() };
                        Some(Line { label, scheme: k, style: i, values: series(n)? })
                    })
                    .collect();
            }
            if goodput {
                panel.references = self.ceilings(many);
            }
            grid.panels.push(panel);
        }
        grid.draw()
    }

    /// Leaves out values from times in which the consumer is not active.
    fn while_active(&self, consumer: Option<&ConsumerInfo>, values: &[f64]) -> Vec<f64> {
        let (start, stop) = consumer.map_or((0.0, f64::MAX), |c| (c.start_s, c.stop_s.unwrap_or(f64::MAX)));
        let inside = |bin: usize| {
            let at = bin as f64 * self.bin_s;
            at + 1e-9 >= start && at < stop
        };
        values.iter().enumerate().map(|(bin, v)| if inside(bin) { *v } else { f64::NAN }).collect()
    }

    /// The distinct rates of the optimum; of many only the smallest and the largest.
    fn ceilings(&self, many: bool) -> Vec<(f64, String)> {
        let mut rates: Vec<f64> = self.comparison.optimum.consumers.iter().map(|c| c.goodput_mbps).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup_by(|a, b| (*a - *b).abs() < 0.01 * b.abs());
        if many && rates.len() > 2 {
            rates = vec![rates[0], rates[rates.len() - 1]];
        }
        rates.into_iter().map(|r| (r, String::new())).collect()
    }

    /// The most loaded links under any scheme, by utilisation and queueing time, highest first.
    fn bottlenecks(&self) -> Vec<&'a str> {
        let mut found: Vec<(u64, &str)> = Vec::new();
        let mut place: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, run) in self.runs() {
            for link in run.links.iter().filter(|l| l.utilization > 0.5) {
                let at = *place.entry(&link.name).or_insert(found.len());
                match found.get_mut(at) {
                    Some(f) => f.0 = f.0.max(link.load()),
                    None => found.push((link.load(), &link.name)),
                }
            }
        }
        // The sort is stable: links with equal values stay in the scenario's order.
        found.sort_by_key(|f| std::cmp::Reverse(f.0));
        // Links without queueing are left out.
        let queued = |name: &str| {
            self.runs()
                .flat_map(|(_, r)| &r.links)
                .any(|l| l.name == name && l.queue_max_ms.max(l.queue_packets) >= 1.0)
        };
        found.into_iter().map(|f| f.1).filter(|n| queued(n)).take(3).collect()
    }

    fn queues(&self) -> Option<Figure> {
        let links = self.bottlenecks();
        let one = links.len() == 1;
        let caption = match links.first() {
            Some(name) if one => format!("Packets waiting at the bottleneck {name}."),
            _ => "Packets waiting at the busiest links that queued at all.".to_owned(),
        };
        let mut grid = self.grid("queue", "Queue at the bottleneck", "queue (packets)", caption);
        for (k, run) in self.runs() {
            let lines = links.iter().enumerate().filter_map(|(i, name)| {
                let values = run.series.get(SeriesKind::Links, &[name], "queue_packets")?.to_vec();
                Some(Line { label: if one { String::new() } else { (*name).to_owned() }, scheme: k, style: i, values })
            });
            let title = self.schemes[k].to_owned();
            grid.panels.push(Panel { title, scheme: Some(k), lines: lines.collect(), ..Panel::default() });
        }
        grid.draw()
    }

    /// Number of active flows of all consumers whose flows come and go.
    fn flows(&self) -> Option<Figure> {
        let caption = "Flows that have begun and are not complete, of all consumers together.";
        let mut grid = self.grid("flows", "Active flows over time", "active flows", caption.to_owned());
        let lines = self.runs().filter_map(|(k, run)| {
            let columns = run.series.table(SeriesKind::Flows).iter().filter_map(|rows| rows.columns.first());
            let values = columns.cloned().reduce(|sum, more| sum.iter().zip(&more).map(|(a, b)| a + b).collect())?;
            Some(Line { label: self.schemes[k].to_owned(), scheme: k, style: 0, values })
        });
        let panel = Panel { lines: lines.collect(), ..Panel::default() };
        if panel.lines.is_empty() {
            return None;
        }
        grid.panels.push(panel);
        grid.draw()
    }

    /// Forwarding shares with the largest changes: up to three nodes, a panel for each scheme and node.
    fn shares(&self) -> Option<Figure> {
        let mut places: Vec<(f64, &[String])> = Vec::new();
        for (_, run) in self.runs() {
            for rows in run.series.table(SeriesKind::Shares).iter().filter(|r| r.key.len() == 3) {
                let finite = || rows.columns.iter().flatten().copied().filter(|v| v.is_finite());
                let moved = finite().fold(0.0, f64::max) - finite().fold(1.0, f64::min);
                let at = &rows.key[..2];
                match places.iter_mut().find(|p| p.1 == at) {
                    Some(p) => p.0 = p.0.max(moved),
                    None => places.push((moved, at)),
                }
            }
        }
        places.sort_by(|a, b| b.0.total_cmp(&a.0));
        let splitting = self.runs().filter(|(_, r)| !r.series.table(SeriesKind::Shares).is_empty()).count().max(1);
        places.truncate((12 / splitting).clamp(1, 3));
        let caption = "Share of a prefix's Interests that a node sends to each next hop, where it changed most. \
                       Schemes that do not split traffic have no panel.";
        let mut grid = self.grid("shares", "Forwarding shares", "share of Interests", caption.to_owned());
        grid.y_range = Some((0.0, 1.0));
        for (_, at) in &places {
            for (k, run) in self.runs() {
                let rows =
                    run.series.table(SeriesKind::Shares).iter().filter(|r| r.key.len() == 3 && r.key[..2] == **at);
                let lines: Vec<Line> = rows
                    .take(4)
                    .enumerate()
                    .map(|(i, r)| Line { label: r.key[2].clone(), scheme: k, style: i, values: r.columns[0].clone() })
                    .collect();
                if !lines.is_empty() {
                    let title = format!("{} at {}, {}", self.schemes[k], at[0], at[1]);
                    grid.panels.push(Panel { title, scheme: Some(k), lines, ..Panel::default() });
                }
            }
        }
        grid.panels.truncate(12);
        grid.draw()
    }

    /// Goodput by path of the consumers that use several paths: up to three consumers, a panel for each scheme.
    fn paths(&self) -> Option<Figure> {
        let mut consumers: Vec<&str> = Vec::new();
        for (_, run) in self.runs() {
            for rows in run.series.table(SeriesKind::Paths).iter().filter(|r| r.key.len() == 2) {
                if !consumers.contains(&rows.key[0].as_str()) {
                    consumers.push(&rows.key[0]);
                }
            }
        }
        consumers.truncate((12 / self.schemes.len().max(1)).clamp(1, 3));
        let caption = "Goodput by the path its Data took, for consumers with more than one.".to_owned();
        let mut grid = self.grid("paths", "Goodput by path", "goodput (Mbit/s)", caption);
        for name in consumers {
            for (k, run) in self.runs() {
                let rows = run.series.table(SeriesKind::Paths).iter().filter(|r| r.key.len() == 2 && r.key[0] == name);
                let lines: Vec<Line> = rows
                    .take(4)
                    .enumerate()
                    .map(|(i, r)| Line { label: via(&r.key[1]), scheme: k, style: i, values: r.columns[0].clone() })
                    .collect();
                if !lines.is_empty() {
                    let title = format!("{}, {name}", self.schemes[k]);
                    grid.panels.push(Panel { title, scheme: Some(k), lines, ..Panel::default() });
                }
            }
        }
        grid.panels.truncate(12);
        grid.draw()
    }
}

/// The inner nodes of a path, which distinguish the paths of one consumer.
fn via(path: &str) -> String {
    let nodes: Vec<&str> = path.split('>').collect();
    match nodes.len() {
        0..=3 => path.to_owned(),
        n => nodes[..n - 2].join(">"),
    }
}

/// Minimum, quartiles, median and maximum over the series, by bin; `None` without series.
fn band(scheme: usize, all: &[Vec<f64>]) -> Option<Band> {
    let bins = all.iter().map(Vec::len).max()?;
    let mut five: [Vec<f64>; 5] = Default::default();
    for bin in 0..bins {
        let mut values: Vec<f64> = all.iter().filter_map(|s| s.get(bin)).copied().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        for (i, column) in five.iter_mut().enumerate() {
            let at = (values.len().saturating_sub(1) * i) as f64 / 4.0;
            column.push(match values.get(at.floor() as usize) {
                Some(low) => low + (values[at.ceil() as usize] - low) * at.fract(),
                None => f64::NAN,
            });
        }
    }
    Some(Band { scheme, five })
}
