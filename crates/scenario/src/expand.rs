//! Brings a topology file's nodes and links into the tree.

use ndnweir_core::units::Rate;

use super::diag::{Diagnostic, Findings, Location, Problems, suggest};
use super::fields::Fields;
use super::source::{Base, Source};
use super::tree::{Item, Quantity, Table, Value};
use super::{overrides, shipped};
use crate::topology::{self, Format, TopologyFile};

/// What a link of a topology file has by default, if neither the file nor `[link-defaults]` sets it.
const FALLBACK: [(&str, &str); 3] = [("rate", "10Mbps"), ("delay", "5ms"), ("queue", "100 packets")];

/// Reads the file `[topology]` names, if any, into `node` and `link`.
pub(super) fn topology(root: &mut Table, source: &Source, found: &Findings) -> Result<(), Problems> {
    let Some(item) = root.get("topology").cloned() else { return Ok(()) };
    let Some(table) = item.as_table() else { return found.check() };
    let fields = Fields::new(table, "[topology]", &item.at, found);
    let scale = fields.checked::<f64>("rate-scale", "write a factor such as 0.001", |&x| {
        if x > 0.0 && x <= 1e6 { Ok(()) } else { Err(format!("{x} is not a factor above zero and up to a million")) }
    });
    let file = fields.get::<String>("file");
    if table.get("file").is_none() {
        fields.missing("file", "\"topologies/NAME.graphml\"");
    }
    let at = fields.place("file");
    fields.finish();
    let Some(file) = file else { return found.check() };
    let Some(format) = Format::of(&file) else {
        let help = "files end in .graphml (Topology Zoo), .cch (Rocketfuel) or .txt (ndnSIM)";
        return Err(Problems::one(at, format!("\"{file}\" has no ending that tells its format"), help));
    };
    let (shown, text) = match &source.base {
        Base::Shipped(_) => match shipped::topology(&file) {
            Some(text) => (format!("scenarios/{file}"), text.to_string()),
            None => {
                let help = suggest(&file, "shipped files", shipped::topologies().map(|t| t.0));
                return Err(Problems::one(at, format!("no shipped topology is called \"{file}\""), help));
            }
        },
        Base::Text(text, _) => (file, text.clone()),
        Base::Folder(..) => source.base.read(&file, "topology", &at)?,
    };
    let mut topology = topology::read(format, &shown, &text)?;
    insert(root, &mut topology, scale.unwrap_or(1.0), &item.at);
    fallback(root, &mut topology.notes, &item.at);
    found.add_notes(topology.notes);
    Ok(())
}

/// Writes nodes and links into the tree, before those of the scenario itself.
fn insert(root: &mut Table, topology: &mut TopologyFile, scale: f64, at: &Location) {
    place_missing(topology);
    let mut nodes = Vec::with_capacity(topology.nodes.len());
    for node in &topology.nodes {
        let at = &node.place;
        let mut entries = vec![("name", Item::text(at, node.name.clone()))];
        if let Some((x, y)) = node.position {
            entries.push(("x", Item::float(at, x)));
            entries.push(("y", Item::float(at, y)));
        }
        nodes.push(Item::table(at, entries));
    }
    let mut links = Vec::with_capacity(topology.links.len());
    let mut measured = Vec::new();
    for link in &topology.links {
        let at = &link.place;
        let ends = [link.a, link.b].map(|i| Item::text(at, topology.nodes[i].name.clone()));
        let mut entries = vec![("ends", Item { at: at.clone(), value: Value::List(ends.into()) })];
        if let Some(rate) = link.rate {
            // Rounded to 1 bit/s: an absurd scale gives a rate that validation rejects.
            let scaled = Rate::from_mbps(rate.mbps() * scale);
            entries.push(("rate", Item::quantity(at, Quantity::Rate(scaled))));
        }
        let by_distance = || {
            let delay = topology::fibre_delay(topology.distance(link)?);
            measured.push([link.a, link.b].map(|i| topology.nodes[i].name.as_str()).join("-"));
            Some(delay)
        };
        let delay = link.delay.or_else(by_distance);
        if let Some(delay) = delay {
            entries.push(("delay", Item::quantity(at, Quantity::Duration(delay))));
        }
        if let Some(queue) = link.queue {
            entries.push(("queue", Item::quantity(at, Quantity::Queue(queue))));
        }
        if let Some(cost) = link.cost {
            entries.push(("cost", Item { at: at.clone(), value: Value::Int(cost as i64) }));
        }
        if let Some(loss) = link.loss {
            entries.push(("loss", Item::float(at, loss)));
        }
        links.push(Item::table(at, entries));
    }
    if !measured.is_empty() {
        let message = format!(
            "{}: the distance of their ends at two thirds of the speed of light assumed for {}",
            without(&measured, "delay"),
            listed(&measured, topology.links.len())
        );
        let help = "set link.NAME.delay where you know better".into();
        topology.notes.push(Diagnostic { place: at.clone(), message, help });
    }
    for (key, mut items) in [("node", nodes), ("link", links)] {
        if let Some(own) = root.list_mut(key, &Location::whole("topology")) {
            items.append(own);
            *own = items;
        }
    }
}

/// Places nodes without coordinates in the middle of their neighbours, so that drawings are complete.
fn place_missing(topology: &mut TopologyFile) {
    if topology.nodes.iter().all(|n| n.position.is_none()) {
        return;
    }
    for _ in 0..3 {
        let mut sums = vec![(0.0, 0.0, 0u32); topology.nodes.len()];
        for link in &topology.links {
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                if let Some((x, y)) = topology.nodes[from].position {
                    sums[to] = (sums[to].0 + x, sums[to].1 + y, sums[to].2 + 1);
                }
            }
        }
        for (node, (x, y, n)) in topology.nodes.iter_mut().zip(sums) {
            if node.position.is_none() && n > 0 {
                // One neighbour only: a little aside, not on top of it.
                let aside = if n == 1 { 1.0 } else { 0.0 };
                node.position = Some((x / f64::from(n) + aside, y / f64::from(n) + aside));
            }
        }
    }
}

/// Links named one by one in a note; of more only the number is given.
const NAMED: usize = 40;

/// The names of links out of so many, for a note.
fn listed(names: &[String], of: usize) -> String {
    if names.len() == of {
        return "all links".into();
    }
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
}

/// `3 links have no rate`, for a note.
fn without(names: &[String], what: &str) -> String {
    match names.len() {
        1 => format!("1 link has no {what}"),
        n => format!("{n} links have no {what}"),
    }
}

/// Fills `[link-defaults]` for what a topology file leaves open, and notes which links that concerns.
fn fallback(root: &mut Table, notes: &mut Vec<Diagnostic>, at: &Location) {
    for (key, value) in FALLBACK {
        let links = root.list("link").iter().filter_map(Item::as_table);
        let all = root.list("link").len();
        let open: Vec<String> = links.filter(|t| t.get(key).is_none()).filter_map(overrides::entry_name).collect();
        let Some(defaults) = root.table_mut("link-defaults", at) else { return };
        if !open.is_empty() && defaults.get(key).is_none() {
            defaults.set(key, Item::text(at, value));
            let message = format!("{}: {value} assumed for {}", without(&open, key), listed(&open, all));
            let help = format!("set {key} in [link-defaults], or --set link-defaults.{key}=VALUE");
            notes.push(Diagnostic { place: at.clone(), message, help });
        }
    }
}

/// `[[node]] names = ["A", "B"]` stands for one node each, with the other keys in common.
pub(super) fn node_names(root: &mut Table) {
    let Some(Item { value: Value::List(nodes), .. }) = root.get_mut("node") else { return };
    if !nodes.iter().any(|n| n.as_table().is_some_and(|t| t.get("names").is_some())) {
        return;
    }
    let mut all = Vec::new();
    for mut node in nodes.drain(..) {
        // The list must not be copied with each of its nodes.
        let names = node.as_table_mut().and_then(|t| t.get_mut("names")).map(|names| match &mut names.value {
            Value::List(names) => Some(std::mem::take(names)),
            _ => None,
        });
        let Some(Some(names)) = names else {
            all.push(node);
            continue;
        };
        if let Some(table) = node.as_table_mut() {
            table.remove("names");
        }
        for name in names {
            let mut one = node.clone();
            one.at = name.at.clone();
            if let Some(table) = one.as_table_mut().filter(|table| table.get("name").is_none()) {
                table.set("name", name);
            }
            all.push(one);
        }
    }
    *nodes = all;
}
