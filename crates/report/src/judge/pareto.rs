//! Rate against delay: a point for each scheme and cell, the schemes' medians, and their Pareto front.

use crate::axis::short;
use crate::style::colour;
use crate::svg::{Anchor, Canvas, Figure, shorten};
use ndnweir_lab::criteria::{CellData, Judgement};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 430.0;
/// Decades of delay on the logarithmic axis, from 0.01 to 100 base RTTs; values beyond are drawn at the ends.
const DECADES: (f64, f64) = (-2.0, 2.0);

struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn place(&self, (attained, rtts): (f64, f64)) -> (f64, f64) {
        let decade = libm::log10(rtts.max(1e-9)).clamp(DECADES.0, DECADES.1);
        let x = self.left + (decade - DECADES.0) / (DECADES.1 - DECADES.0) * (self.right - self.left);
        let y = self.bottom - attained.clamp(0.0, 1.0) * (self.bottom - self.top);
        (x, y)
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => None,
        _ => Some((values[(n - 1) / 2] + values[n / 2]) / 2.0),
    }
}

fn of_scheme(judgement: &Judgement, scheme: usize) -> impl Iterator<Item = &CellData> {
    judgement.shown.iter().flat_map(move |row| &row[scheme])
}

/// The points of each scheme.
fn points(judgement: &Judgement) -> Vec<Vec<(f64, f64)>> {
    let points = |s: usize| of_scheme(judgement, s).filter_map(|shown: &CellData| shown.point);
    (0..judgement.schemes.len()).map(|s| points(s).collect()).collect()
}

/// The Pareto front of the medians, sorted by delay: the medians that no other one dominates.
fn front(medians: &[Option<(f64, f64)>]) -> Vec<(f64, f64)> {
    let known: Vec<(f64, f64)> = medians.iter().flatten().copied().collect();
    let beaten = |p: &(f64, f64)| known.iter().any(|q| q.0 >= p.0 && q.1 <= p.1 && (q.0 > p.0 || q.1 < p.1));
    let mut front: Vec<(f64, f64)> = known.iter().filter(|p| !beaten(p)).copied().collect();
    front.sort_by(|a, b| a.1.total_cmp(&b.1));
    front
}

/// The figure; `None` if no cell has an optimum.
pub fn draw(judgement: &Judgement) -> Option<Figure> {
    let points = points(judgement);
    let cells = points.iter().map(Vec::len).max().filter(|n| *n > 0)?;
    let middle = |points: &Vec<(f64, f64)>| {
        let (rate, delay) = points.iter().copied().unzip();
        median(rate).zip(median(delay))
    };
    let medians: Vec<Option<(f64, f64)>> = points.iter().map(middle).collect();
    let frame = Frame { left: 46.0, right: WIDTH - 150.0, top: 24.0, bottom: HEIGHT - 40.0 };
    let mut canvas = Canvas::default();
    canvas.text("mute", (0.0, 11.0), Anchor::Start, "attained share of the fair rate");
    for tick in 0..=5 {
        let share = f64::from(tick) / 5.0;
        let y = frame.place((share, 1.0)).1;
        canvas.line(if tick == 0 { "base" } else { "grid" }, (frame.left, y), (frame.right, y));
        canvas.text("", (frame.left - 6.0, y + 4.0), Anchor::End, &format!("{share:.1}"));
    }
    for tick in ["0.01", "0.1", "1", "10", "100"] {
        let x = frame.place((0.0, tick.parse().unwrap_or(1.0))).0;
        canvas.line("grid", (x, frame.top), (x, frame.bottom));
        canvas.text("", (x, frame.bottom + 16.0), Anchor::Middle, tick);
    }
    let below = (frame.right, HEIGHT - 6.0);
    canvas.text("mute", below, Anchor::End, "99th percentile of the delay above the base RTT, in base RTTs");
    for (k, points) in points.iter().enumerate() {
        canvas.open(&format!("{} k{k}", colour(k)));
        canvas.open("l1");
        for p in points {
            let title = format!("{}: {} of the fair rate, {} base RTTs", judgement.schemes[k], short(p.0), short(p.1));
            canvas.disc("dot", frame.place(*p), 2.2, &title);
        }
        canvas.close();
        canvas.close();
    }
    let joined: Vec<(f64, f64)> = front(&medians).into_iter().map(|p| frame.place(p)).collect();
    canvas.polyline("opt", &joined, "the medians that no other betters in both");
    let mut named: Vec<(usize, (f64, f64))> =
        medians.iter().enumerate().filter_map(|(k, median)| Some((k, (*median)?))).collect();
    named.sort_by(|a, b| frame.place(a.1).1.total_cmp(&frame.place(b.1).1));
    let mut last = frame.top - 12.0;
    for (k, median) in named {
        let at = frame.place(median);
        let title = format!(
            "{}, median: {} of the fair rate, {} base RTTs",
            judgement.schemes[k],
            short(median.0),
            short(median.1)
        );
        // Names are in a column on the right and must not overlap.
        let y = (at.1 + 3.6).max(last + 12.0);
        last = y;
        canvas.open(&format!("{} k{k}", colour(k)));
        canvas.line("lead", at, (frame.right + 8.0, y - 3.6));
        canvas.disc("dot", at, 6.0, &title);
        canvas.text("small tint", (frame.right + 12.0, y), Anchor::Start, &shorten(&judgement.schemes[k], 22));
        canvas.close();
    }
    let estimated = |s: usize| of_scheme(judgement, s).filter(|shown| shown.estimate.is_some()).count();
    let estimated = match (0..points.len()).map(estimated).max().filter(|n| *n > 0) {
        Some(n) => {
            format!(" In {n} of the cells the rate is relative to an estimate of the optimum, which is not proved.")
        }
        None => String::new(),
    };
    let caption = format!(
        "A small dot for each of {cells} cells that have an optimum, a large one for each scheme's medians; up and to the left is \
         better. The dashed line joins the medians that no other betters in both.{estimated}"
    );
    let (height, width) = (HEIGHT.max(last + 10.0), WIDTH);
    Some(Figure {
        id: "pareto".into(),
        title: "Rate against delay".into(),
        caption,
        width,
        height,
        body: canvas.0,
        series: None,
    })
}

#[cfg(test)]
mod tests {
    use super::front;

    #[test]
    fn the_front_holds_what_nothing_else_betters_in_both() {
        let medians = [Some((0.9, 1.0)), Some((0.8, 2.0)), None, Some((0.95, 3.0)), Some((0.7, 0.5))];
        assert_eq!(front(&medians), [(0.7, 0.5), (0.9, 1.0), (0.95, 3.0)]);
    }
}
