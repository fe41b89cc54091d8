//! Positions of the nodes of a network in a drawing.

use ndnweir_lab::results::ScenarioInfo;
use std::collections::{BTreeSet, VecDeque};

const WIDTH: f64 = 1000.0;
const MARGIN: (f64, f64) = (60.0, 40.0);
/// Maximum number of nodes in a column.
const COLUMN: usize = 8;

/// A position in px for each node: the scenario's own coordinates, or layers from consumers to producers, or a spring
/// layout.
pub fn layout(scenario: &ScenarioInfo) -> Vec<(f64, f64)> {
    let positions: Option<Vec<(f64, f64)>> =
        scenario.nodes.iter().map(|n| n.x.zip(n.y).filter(|(x, y)| x.is_finite() && y.is_finite())).collect();
    if let Some(positions) = positions {
        return fit(positions);
    }
    let edges = edges(scenario);
    match layers(scenario, &edges) {
        Some(layers) => layered(scenario.nodes.len(), &layers, &edges),
        None => fit(springs(scenario.nodes.len(), &edges)),
    }
}

fn edges(scenario: &ScenarioInfo) -> Vec<(usize, usize)> {
    let numbers = scenario.node_numbers();
    let index = |name: &str| numbers.get(name).copied();
    let mut edges: Vec<(usize, usize)> = (scenario.links.iter())
        .filter_map(|l| index(&l.from).zip(index(&l.to)))
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Scales to the width of the figure. The proportions are kept unless the drawing becomes too tall or too flat.
fn fit(places: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let low = places.iter().map(of).fold(f64::MAX, f64::min);
        (low, (places.iter().map(of).fold(f64::MIN, f64::max) - low).max(0.0))
    };
    let ((x0, w), (y0, h)) = (range(|p| p.0), range(|p| p.1));
    let room = WIDTH - 2.0 * MARGIN.0;
    let height = if h > 0.0 && w > 0.0 {
        (room * h / w).clamp(140.0, 520.0)
    } else if h > 0.0 {
        380.0
    } else {
        60.0
    };
    let scale = |v: f64, low: f64, size: f64, room: f64| {
        if size > 0.0 { (v - low) / size * room } else { room / 2.0 }
    };
    places.iter().map(|p| (MARGIN.0 + scale(p.0, x0, w, room), MARGIN.1 + scale(p.1, y0, h, height))).collect()
}

fn neighbours(n: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut list = vec![Vec::new(); n];
    for (a, b) in edges {
        list[*a].push(*b);
        list[*b].push(*a);
    }
    list
}

/// Nodes by distance from the consumers, producers last; `None` if layers would be crowded or there is no consumer.
fn layers(scenario: &ScenarioInfo, edges: &[(usize, usize)]) -> Option<Vec<Vec<usize>>> {
    let n = scenario.nodes.len();
    let adjacency = neighbours(n, edges);
    let mut depth = vec![usize::MAX; n];
    let with_consumers: BTreeSet<&str> = scenario.consumers.iter().map(|c| c.node.as_str()).collect();
    let sources = (0..n)
        .filter(|i| scenario.nodes[*i].role == "consumer" || with_consumers.contains(scenario.nodes[*i].name.as_str()));
    let mut open: VecDeque<usize> = sources.collect();
    open.iter().for_each(|i| depth[*i] = 0);
    while let Some(i) = open.pop_front() {
        for j in &adjacency[i] {
            if depth[*j] == usize::MAX {
                depth[*j] = depth[i] + 1;
                open.push_back(*j);
            }
        }
    }
    let last = depth.iter().filter(|d| **d != usize::MAX).max().copied()?;
    let mut layers = vec![Vec::new(); last + 1];
    for i in 0..n {
        let producer = scenario.nodes[i].role == "producer" && adjacency[i].len() <= 1;
        let at = if producer { last } else { depth[i].min(last) };
        layers[at].push(i);
    }
    layers.retain(|l| !l.is_empty());
    // A layer of many hosts is split into several columns; networks with many routers in a layer use the spring layout.
    let drawable =
        |l: &Vec<usize>| l.len() <= COLUMN || (l.len() <= 6 * COLUMN && l.iter().all(|i| adjacency[*i].len() <= 1));
    (layers.len() >= 3 && layers.iter().all(drawable)).then_some(layers)
}

/// Layers from left to right, each ordered by the positions of its neighbours; a layer with many hosts has several
/// columns.
fn layered(n: usize, layers: &[Vec<usize>], edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    let adjacency = neighbours(n, edges);
    let columns = |layer: &[usize]| layer.len().div_ceil(COLUMN);
    let rows = |layer: &[usize]| layer.len().div_ceil(columns(layer).max(1));
    let height = (layers.iter().map(|l| rows(l)).max().unwrap_or(1) as f64 - 1.0) * 66.0;
    let mut order: Vec<Vec<usize>> = layers.to_vec();
    let mut y = vec![0.0; n];
    let spread = |layer: &[usize], y: &mut [f64]| {
        // Neighbouring columns are shifted so that links pass between hosts.
        let step = if layer.len() > 1 { height / (layer.len() as f64 - 1.0) } else { 0.0 };
        for (i, node) in layer.iter().enumerate() {
            y[*node] = if layer.len() > 1 { i as f64 * step } else { height / 2.0 };
        }
    };
    order.iter().for_each(|l| spread(l, &mut y));
    for _ in 0..6 {
        for layer in &mut order {
            let centre = |i: &usize, y: &[f64]| {
                adjacency[*i].iter().map(|j| y[*j]).sum::<f64>() / adjacency[*i].len().max(1) as f64
            };
            let mut keyed: Vec<(f64, usize)> = layer.iter().map(|i| (centre(i, &y), *i)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            *layer = keyed.into_iter().map(|k| k.1).collect();
            spread(layer, &mut y);
        }
    }
    const LABEL_OFFSET: f64 = 46.0;
    let width = |layer: &Vec<usize>| (columns(layer) as f64 - 1.0) * LABEL_OFFSET;
    let between = (WIDTH - 2.0 * MARGIN.0 - order.iter().map(width).sum::<f64>()) / (order.len() - 1) as f64;
    let mut places = vec![(0.0, 0.0); n];
    let mut x = MARGIN.0;
    for layer in &order {
        for (i, node) in layer.iter().enumerate() {
            places[*node] = (x + (i % columns(layer)) as f64 * LABEL_OFFSET, MARGIN.1 + y[*node]);
        }
        x += width(layer) + between;
    }
    places
}

/// The spring layout of Fruchterman and Reingold (1991) from a fixed start, so that the same network is always drawn
/// alike.
fn springs(n: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    // A sunflower pattern: evenly distributed and without symmetry.
    let start = |i: usize| {
        let (r, a) = ((i as f64 + 0.5).sqrt(), i as f64 * 2.399_963_229_728_653);
        (r * libm::cos(a), r * libm::sin(a))
    };
    let mut places: Vec<(f64, f64)> = (0..n).map(start).collect();
    let ideal = 1.8;
    let steps = if n > 400 { 60 } else { 400 };
    for round in 0..steps {
        let heat = (n as f64).sqrt() * 0.12 * (1.0 - f64::from(round) / f64::from(steps)) + 0.002;
        let mut push = vec![(0.0, 0.0); n];
        for i in 0..n {
            for j in 0..i {
                let (dx, dy) = (places[i].0 - places[j].0, places[i].1 - places[j].1);
                let square = (dx * dx + dy * dy).max(1e-4);
                let force = ideal * ideal / square;
                push[i] = (push[i].0 + dx * force, push[i].1 + dy * force);
                push[j] = (push[j].0 - dx * force, push[j].1 - dy * force);
            }
        }
        for (a, b) in edges {
            let (dx, dy) = (places[*a].0 - places[*b].0, places[*a].1 - places[*b].1);
            let force = (dx * dx + dy * dy).sqrt() / ideal;
            push[*a] = (push[*a].0 - dx * force, push[*a].1 - dy * force);
            push[*b] = (push[*b].0 + dx * force, push[*b].1 + dy * force);
        }
        for (place, (dx, dy)) in places.iter_mut().zip(push) {
            let length = (dx * dx + dy * dy).sqrt().max(1e-9);
            let go = length.min(heat) / length;
            // Wider than tall, like the page.
            *place = (place.0 + dx * go, place.1 + dy * go * 0.8);
        }
    }
    places
}
