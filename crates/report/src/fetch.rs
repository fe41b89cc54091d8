//! A page about fetches from real forwarders, drawn from their traces.

use super::html::{chips, document, interactive};
use super::lines::{Grid, Line, Panel};
use super::svg::{Figure, escape};
use ndnweir_lab::fetch_trace::Row;

/// Number of bins for the longest fetch.
const BINS: f64 = 240.0;

/// The page about one or more fetches, each with its label.
pub fn fetches(traces: &[(String, Vec<Row>)], version: &str) -> String {
    let labels = traces.iter().map(|(label, _)| label.as_str());
    let mut body =
        "<header><h1>Fetches</h1><p class=\"lead\">What consumers saw, from their traces.</p></header><main>"
            .to_owned();
    body.push_str(&chips(labels));
    for figure in figures(traces) {
        body.push_str(&format!("<h2 id=\"{}\">{}</h2>", figure.id, escape(&figure.title)));
        body.push_str(&interactive(&figure));
    }
    body.push_str("</main>");
    document("Fetches · ndnweir", &body, version)
}

fn figures(traces: &[(String, Vec<Row>)]) -> Vec<Figure> {
    let end = traces.iter().filter_map(|(_, rows)| rows.last()).map(|row| row.time.secs()).fold(0.0, f64::max);
    let bin_s = (end / BINS).max(0.001);
    let by_bin = |what: &str| format!("{what}, in bins of {:.1} ms.", bin_s * 1e3);
    let draw = |id: &str, title: &str, caption: &str, y_label: &str, values: &dyn Fn(&[Row]) -> Vec<f64>| {
        let line = |(scheme, (label, rows)): (usize, &(String, Vec<Row>))| Line {
            label: label.clone(),
            scheme,
            style: 0,
            values: values(rows),
        };
        let panel = Panel { lines: traces.iter().enumerate().map(line).collect(), ..Panel::default() };
        let (id, title, caption, y_label) = (id.into(), title.into(), caption.into(), y_label.into());
        Grid {
            id,
            title,
            caption,
            y_label,
            bin_s,
            panels: vec![panel],
            y_range: None,
            reference_from_s: 0.0,
            events: Vec::new(),
        }
        .draw()
    };
    let mean = |value: fn(&Row) -> Option<f64>| move |rows: &[Row]| means(rows, bin_s, value);
    let list = [
        draw("goodput", "Goodput", &by_bin("Content received"), "Mbit/s", &|rows| rates(rows, bin_s)),
        draw(
            "rtt",
            "Round-trip time",
            &by_bin("Mean over segments requested once"),
            "ms",
            &mean(|r| r.rtt.map(|rtt| rtt.millis())),
        ),
        draw("window", "Congestion window", &by_bin("Mean"), "segments", &mean(|r| Some(r.window))),
        draw("in-flight", "Interests in flight", &by_bin("Mean"), "Interests", &mean(|r| Some(f64::from(r.in_flight)))),
    ];
    list.into_iter().flatten().collect()
}

/// Splits rows into bins; the last one may be shorter.
fn bins(rows: &[Row], bin_s: f64) -> Vec<&[Row]> {
    let count = rows.last().map_or(0, |last| (last.time.secs() / bin_s) as usize + 1);
    let from = |bin: usize| rows.partition_point(|row| row.time.secs() < bin as f64 * bin_s);
    (0..count).map(|bin| &rows[from(bin)..from(bin + 1)]).collect()
}

fn means(rows: &[Row], bin_s: f64, value: fn(&Row) -> Option<f64>) -> Vec<f64> {
    let mean = |rows: &[Row]| {
        let values: Vec<f64> = rows.iter().filter_map(value).collect();
        if values.is_empty() { f64::NAN } else { values.iter().sum::<f64>() / values.len() as f64 }
    };
    bins(rows, bin_s).into_iter().map(mean).collect()
}

/// Bits received in each bin, in Mbit/s. The last bin is left out if it is shorter than half a bin, since segments
/// arrive in bursts.
fn rates(rows: &[Row], bin_s: f64) -> Vec<f64> {
    let mut before = 0;
    let last = rows.last().map_or(0.0, |row| row.time.secs());
    let rate = |(bin, rows): (usize, &[Row])| {
        let now = rows.last().map_or(before, |row| row.received);
        let bits = (now - before.min(now)) as f64 * 8.0;
        before = now;
        let width = (last - bin as f64 * bin_s).min(bin_s);
        if width < bin_s / 2.0 { f64::NAN } else { bits / width / 1e6 }
    };
    bins(rows, bin_s).into_iter().enumerate().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::units::Duration;

    fn row(ms: u64, window: f64, received: u64) -> Row {
        let rtt = (window > 2.0).then(|| Duration::from_millis(ms));
        Row { time: Duration::from_millis(ms), window, in_flight: 1, rtt, received }
    }

    #[test]
    fn bins_have_means_and_rates_and_gaps_stay_gaps() {
        let rows = [row(0, 1.0, 1000), row(500, 3.0, 2000), row(2500, 4.0, 4000)];
        let window = means(&rows, 1.0, |r| Some(r.window));
        assert_eq!((window[0], window[1].is_nan(), window[2]), (2.0, true, 4.0));
        assert_eq!(means(&rows, 1.0, |r| r.rtt.map(|rtt| rtt.millis()))[0], 500.0);
        // 2000 B in 1 s; nothing; 2000 B in the last half bin.
        assert_eq!(rates(&rows, 1.0), [0.016, 0.0, 0.032]);
        // A burst of 2000 B within a tenth of a bin is not a rate.
        let burst = [row(0, 1.0, 1000), row(900, 3.0, 2000), row(1100, 4.0, 4000)];
        let found = rates(&burst, 1.0);
        assert!(found.len() == 2 && found[0] == 0.016 && found[1].is_nan(), "{found:?}");
    }

    #[test]
    fn a_page_names_every_fetch_and_draws_four_figures() {
        let rows: Vec<Row> = (0..100).map(|i| row(i * 10, i as f64, i * 8000)).collect();
        let page = fetches(&[("a<b".into(), rows.clone()), ("second".into(), rows)], "0");
        assert_eq!(page.matches("<svg class=\"fig\"").count(), 4);
        assert!(page.contains("a&lt;b") && page.contains("second"));
        assert!(figures(&[("empty".into(), Vec::new())]).is_empty());
    }
}
