//! Links over time, for the page's player: what the topology shows at each moment.

use super::series::DIGITS;
use ndnweir_lab::results::{Comparison, Run, SeriesKind};
use serde_json::{Value, json};

/// Characters of all frames at most; each link takes three per frame and scheme.
const MAX_CHARACTERS: usize = 90_000;
const MAX_FRAMES: usize = 240;
/// With fewer frames than this, schemes are left out instead.
const MIN_FRAMES: usize = 30;

/// Utilisation, queue and marks, drops and NACKs by scheme, frame and link; `None` without series of links.
pub fn of(comparison: &Comparison) -> Option<Value> {
    let schemes = comparison.schemes();
    let links = comparison.scenario.links.len();
    let runs: Vec<(usize, &Run)> = (schemes.iter().enumerate())
        .filter_map(|(k, s)| Some((k, comparison.runs_of(s).find(|r| !r.series.table(SeriesKind::Links).is_empty())?)))
        .collect();
    let (_, first) = runs.first()?;
    // Of large networks not all links have series.
    if first.series.table(SeriesKind::Links).len() < links {
        return None;
    }
    let bins = first.series.len();
    let most = MAX_CHARACTERS / (3 * links.max(1) * MIN_FRAMES.min(bins.max(1)));
    let shown = runs.len().min(most);
    let room = MAX_CHARACTERS / (3 * links.max(1) * shown.max(1));
    let by = bins.div_ceil(room.clamp(1, MAX_FRAMES)).max(1);
    // Queues of all schemes have one scale.
    let columns = |run: &'_ Run, name: &str, metric: &str| {
        run.series.get(SeriesKind::Links, &[name], metric).unwrap_or_default().to_vec()
    };
    let names: Vec<&str> = comparison.scenario.links.iter().map(|l| l.name.as_str()).collect();
    let queues = runs.iter().take(shown).flat_map(|(_, r)| names.iter().flat_map(|n| columns(r, n, "queue_packets")));
    let deepest = queues.filter(|q| q.is_finite()).fold(1.0, f64::max);
    let frames = bins.div_ceil(by);
    let text = |run: &Run| {
        let mut out = vec![b'A'; 3 * links * frames];
        for (l, link) in comparison.scenario.links.iter().enumerate() {
            let of = |metric: &str| columns(run, &link.name, metric);
            let (data, interests, queue) = (of("data_mbps"), of("interest_mbps"), of("queue_packets"));
            let happened = [of("marks"), of("loss_mbps"), of("nacks")];
            for frame in 0..frames {
                let group = |values: &[f64]| -> Vec<f64> {
                    values.iter().skip(frame * by).take(by).copied().filter(|v| v.is_finite()).collect()
                };
                let mean = |values: &[f64]| {
                    let values = group(values);
                    values.iter().sum::<f64>() / values.len().max(1) as f64
                };
                let digit = |share: f64| DIGITS[(share.clamp(0.0, 1.0) * 63.0).round() as usize];
                let at = 3 * (frame * links + l);
                out[at] = digit((mean(&data) + mean(&interests)) / link.rate_mbps.max(1e-9));
                out[at + 1] = digit(group(&queue).iter().copied().fold(0.0, f64::max) / deepest);
                let bit = |i: usize| usize::from(group(&happened[i]).iter().any(|v| *v > 0.0)) << i;
                out[at + 2] = DIGITS[bit(0) | bit(1) | bit(2)];
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    };
    let list: Vec<Value> = runs.iter().take(shown).map(|(k, run)| json!([schemes[*k], text(run)])).collect();
    let events: Vec<Value> = comparison.scenario.events.iter().map(|e| json!([e.at_s, e.text])).collect();
    (shown > 0 && frames > 1).then(|| {
        json!({"step": first.series.bin_s * by as f64, "frames": frames, "links": names, "deepest": deepest, "schemes": list,
               "left_out": runs.len() - shown, "events": events})
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_lab::results::{LinkInfo, Rows};

    fn comparison(links: usize, schemes: usize, bins: usize) -> Comparison {
        let mut case = Comparison::default();
        let name = |l: usize| format!("L{l}");
        case.scenario.links =
            (0..links).map(|l| LinkInfo { name: name(l), rate_mbps: 10.0, ..LinkInfo::default() }).collect();
        for k in 0..schemes {
            let mut run = Run { scheme: format!("s{k}"), ..Run::default() };
            run.series.bin_s = 0.5;
            let row = |l: usize| {
                let mut columns = vec![vec![0.0; bins]; SeriesKind::Links.metrics().len()];
                (columns[0][0], columns[1][0], columns[2][0]) = (4.5, 0.5, if l == 0 { 8.0 } else { 4.0 });
                (columns[5][0], columns[7][0]) = (1.0, 2.0);
                Rows { key: vec![name(l)], columns }
            };
            run.series.tables[SeriesKind::Links as usize] = (0..links).map(row).collect();
            case.runs.push(run);
        }
        case
    }

    #[test]
    fn a_frame_has_utilisation_queue_and_what_happened() {
        let frames = of(&comparison(2, 1, 4)).unwrap();
        // Half of 63 is 32, `g`; the deepest queue 63, `_`; a drop and a NACK are bits 1 and 2.
        let text = frames["schemes"][0][1].as_str().unwrap();
        assert_eq!((&text[..6], &text[6..9], text.len()), ("g_GggG", "AAA", 24));
    }

    #[test]
    fn frames_are_bounded_and_schemes_left_out_are_counted() {
        for (links, schemes, bins) in [(10, 54, 600), (200, 30, 1000), (2, 1, 20_000)] {
            let frames = of(&comparison(links, schemes, bins)).unwrap();
            let all = frames["schemes"].as_array().unwrap();
            let size: usize = all.iter().map(|s| s[1].as_str().unwrap().len()).sum();
            assert!(size <= MAX_CHARACTERS && frames["frames"].as_u64().unwrap() <= MAX_FRAMES as u64, "{size}");
            assert_eq!(all.len() + frames["left_out"].as_u64().unwrap() as usize, schemes);
        }
        assert!(of(&Comparison::default()).is_none() && of(&comparison(2000, 1, 100)).is_none());
    }
}
