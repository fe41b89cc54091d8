//! The network with the utilisation of its links.

use super::svg::{Anchor, Canvas, Figure, px, shorten};
use ndnweir_lab::results::{Run, ScenarioInfo};
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 1000.0;
/// Nodes and link directions of a network that is drawn, at most.
pub const MAX_NODES: usize = 1_000;
const MAX_LINKS: usize = 4_000;

/// Whether the network is small enough for a drawing, which grows with its links and takes time that grows with the
/// square of its nodes.
pub fn is_drawable(scenario: &ScenarioInfo) -> bool {
    scenario.nodes.len() <= MAX_NODES && scenario.links.len() <= MAX_LINKS
}

/// Rounds a number so that it is shown as in a scenario file.
fn plain(x: f64) -> f64 {
    ndnweir_lab::results::significant(x, 4)
}

fn step(utilization: f64) -> usize {
    [0.05, 0.3, 0.6, 0.8, 0.95].iter().filter(|limit| utilization >= **limit).count()
}

/// The topology, coloured by the utilisation in a run, or without colours if there is no run. `None` without nodes.
pub fn topology(scenario: &ScenarioInfo, run: Option<&Run>, id: &str) -> Option<Figure> {
    if scenario.nodes.is_empty() || !is_drawable(scenario) {
        return None;
    }
    let places = super::layout::layout(scenario);
    let height = places.iter().map(|p| p.1).fold(0.0, f64::max) + 40.0;
    let numbers = scenario.node_numbers();
    let index = |name: &str| numbers.get(name).copied();
    let mut canvas = Canvas::default();
    let degree = |name: &str| scenario.links.iter().step_by(2).filter(|l| l.from == name || l.to == name).count();
    let crowded = scenario.links.len() > 60;
    let loads: BTreeMap<&str, f64> =
        run.iter().flat_map(|r| &r.links).map(|l| (l.name.as_str(), l.utilization)).collect();
    let load = |i: usize| loads.get(scenario.links[i].name.as_str()).copied().unwrap_or(0.0);
    for i in (0..scenario.links.len()).rev() {
        let link = &scenario.links[i];
        let (Some(a), Some(b)) = (index(&link.from), index(&link.to)) else {
            continue;
        };
        if a == b {
            continue;
        }
        draw_direction(
            &mut canvas,
            i,
            (places[a], places[b]),
            load(i),
            &format!(
                "{}: {} Mbit/s, {} ms{}",
                link.name,
                plain(link.rate_mbps),
                plain(link.delay_ms),
                if run.is_some() { format!(", {:.1} % used", load(i) * 100.0) } else { String::new() }
            ),
        );
    }
    if !crowded {
        let mut drawn: Vec<(String, String)> = Vec::new();
        for link in scenario.links.iter().step_by(2) {
            // If one node has many equal links, only one of them is labelled.
            let centre = if degree(&link.from) > degree(&link.to) { &link.from } else { &link.to };
            let like = (centre.clone(), format!("{} {}", link.rate_mbps, link.delay_ms));
            if degree(centre) > 6 && drawn.contains(&like) {
                continue;
            }
            drawn.push(like);
            if let (Some(a), Some(b)) = (index(&link.from), index(&link.to)) {
                let text = format!("{} Mbit/s · {} ms", plain(link.rate_mbps), plain(link.delay_ms));
                label_link(&mut canvas, places[a], places[b], &text);
            }
        }
    }
    let many = scenario.nodes.len() > 40;
    for (node, place) in scenario.nodes.iter().zip(&places) {
        let host = matches!(node.role.as_str(), "consumer" | "producer");
        let radius = if many {
            4.0
        } else if host {
            6.0
        } else {
            9.0
        };
        let title = format!("{} {}", node.role, node.name);
        if node.role == "switch" {
            draw_switch(&mut canvas, *place, radius, &title);
        } else {
            canvas.disc(if host { "host" } else { "node" }, *place, radius, &title);
        }
        if !(many && host) {
            canvas.text("name halo", (place.0, place.1 - radius - 5.0), Anchor::Middle, &shorten(&node.name, 14));
        }
    }
    let mut x = 8.0;
    if run.is_some() {
        canvas.text("mute", (x, height - 8.0), Anchor::Start, "used");
        x += 36.0;
        for (i, name) in ["< 5 %", "< 30 %", "< 60 %", "< 80 %", "< 95 %", "full"].iter().enumerate() {
            let _ = write!(
                canvas.0,
                "<path class=\"u{i}\" stroke-width=\"{}\" d=\"M{} {}h22\"/>",
                px(1.5 + i as f64),
                px(x),
                px(height - 12.0)
            );
            canvas.text("small", (x + 27.0, height - 8.0), Anchor::Start, name);
            x += 76.0;
        }
    }
    let caption = match run {
        Some(run) => format!(
            "Links by utilisation under {}; the two lines of a link are its directions, traffic keeps to the right.",
            run.scheme
        ),
        None => "The network.".to_owned(),
    };
    Some(Figure {
        id: id.to_owned(),
        title: "Topology".to_owned(),
        caption,
        width: WIDTH,
        height,
        body: canvas.0,
        series: None,
    })
}

/// A layer-2 switch, which is no NDN node: a box with two arrows past each other.
fn draw_switch(canvas: &mut Canvas, (x, y): (f64, f64), radius: f64, title: &str) {
    canvas.rect("node", (x - radius, y - 0.75 * radius), (2.0 * radius, 1.5 * radius), title);
    let tip = 0.25 * radius;
    for (side, at) in [(1.0, y - 0.3 * radius), (-1.0, y + 0.3 * radius)] {
        let end = x + side * 0.7 * radius;
        canvas.line("node", (x - side * 0.7 * radius, at), (end, at));
        canvas.line("node", (end - side * tip, at - tip), (end, at));
        canvas.line("node", (end - side * tip, at + tip), (end, at));
    }
}

/// A line next to the middle of the link, on the right of its direction.
fn draw_direction(canvas: &mut Canvas, link: usize, (a, b): ((f64, f64), (f64, f64)), utilization: f64, title: &str) {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = (dx * dx + dy * dy).sqrt().max(1.0);
    let (nx, ny) = (-dy / length * 2.6, dx / length * 2.6);
    let u = step(utilization);
    let _ = write!(
        canvas.0,
        "<path data-l=\"{link}\" class=\"u{u}\" stroke-width=\"{}\" d=\"M{} {}L{} {}\"><title>{}</title></path>",
        px(1.5 + 0.7 * u as f64),
        px(a.0 + nx),
        px(a.1 + ny),
        px(b.0 + nx),
        px(b.1 + ny),
        super::svg::escape(title)
    );
}

/// A text along the link, readable from below.
fn label_link(canvas: &mut Canvas, a: (f64, f64), b: (f64, f64), text: &str) {
    let (a, b) = if a.0 <= b.0 { (a, b) } else { (b, a) };
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = (dx * dx + dy * dy).sqrt();
    let width = super::svg::text_width(text, 10.5);
    let text = if width > length - 26.0 { text.split(" · ").next().unwrap_or(text) } else { text };
    if super::svg::text_width(text, 10.5) > length - 18.0 {
        return;
    }
    let angle = dy.atan2(dx).to_degrees();
    let (x, y) = (px(f64::midpoint(a.0, b.0)), px(f64::midpoint(a.1, b.1)));
    let _ = write!(
        canvas.0,
        "<text class=\"small halo mute\" text-anchor=\"middle\" transform=\"translate({x} {y}) rotate({})\" dy=\"-8\">{}</text>",
        px(angle),
        super::svg::escape(text)
    );
}
