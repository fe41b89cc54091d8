//! Nodes, links and the settings of the run.

use std::collections::BTreeMap;

use ndnweir_core::component::FamilyParams;
use ndnweir_core::error::SchemeError;
use ndnweir_core::scheme::ComponentChoice;

use super::diag::{Findings, Location};
use super::direction::DirectionTable;
use super::fields::{Fields, Packets};
use super::media::{self, Media};
use super::model::{Link, Medium, Node, NodeKind};
use super::mtu;
use super::reach::Reach;
use super::settings::{CostModel, Settings, cache_check};
use super::traces::Traces;
use super::tree::{Item, Table, Value};
use super::{is_name, overrides};
use crate::topology::{MAX_LINKS, MAX_NODES};

/// Nodes and links, and where each was written.
#[derive(Default)]
pub(super) struct Network {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    pub media: Vec<Medium>,
    pub overlay: Option<Vec<(usize, usize)>>,
    pub node_index: BTreeMap<String, usize>,
    pub link_index: BTreeMap<String, usize>,
    pub link_places: Vec<Location>,
    /// Some nodes or links could not be read: what is missing for that reason is not reported again.
    pub partial: bool,
}

pub(super) fn read(
    root: &Table,
    settings: &Settings,
    traces: &Traces<'_>,
    whole: &Location,
    found: &Findings,
) -> Network {
    let mut network = Network::default();
    nodes(root, settings, whole, found, &mut network);
    let media = Media::read(root, found);
    links(root, settings, traces, &media, whole, found, &mut network);
    network.partial = network.nodes.len() != root.list("node").len() || network.links.len() != root.list("link").len();
    network.media = media.resolve(&network, found);
    overlay(root, found, &mut network);
    network
}

/// The name of an entry, checked; `None` (reported) if it cannot be used.
pub(super) fn name(f: &Fields<'_>, what: &str, seen: &BTreeMap<String, Location>, found: &Findings) -> Option<String> {
    let name = f.required::<String>("name", "\"NAME\"")?;
    let at = f.place("name");
    if !is_name(&name) {
        let help = "use letters, digits, '_', '-', '.' and '+', at most 64";
        found.error(&at, format!("\"{name}\" is not a valid name"), help);
        return None;
    }
    if let Some(first) = seen.get(&name) {
        let help = format!("the first is at {first}: delete or rename one of the two");
        found.error(&at, format!("two {what} are called \"{name}\""), help);
        return None;
    }
    Some(name)
}

fn nodes(root: &Table, settings: &Settings, whole: &Location, found: &Findings, network: &mut Network) {
    let items = root.list("node");
    if items.is_empty() && root.get("node").is_none() {
        found.error(whole, "the scenario has no nodes", "add [[node]] tables, or [topology] with a file");
    }
    if items.len() > MAX_NODES {
        found.error(&items[MAX_NODES].at, format!("more than {MAX_NODES} nodes"), "use a smaller network");
    }
    let kinds = ["router", "host", "switch"].map(|kind| (kind, kind));
    let mut seen = BTreeMap::new();
    for item in items.iter().take(MAX_NODES) {
        let Some(table) = item.as_table() else { continue };
        let f = Fields::new(table, "this node", &item.at, found);
        if let Some(names) = f.item("names") {
            let help = "write names = [\"A\", \"B\"] with at least one name, and no name beside it";
            found.error(&names.at, "names is not a list of names", help);
        }
        let name = name(&f, "nodes", &seen, found);
        let kind = f.word("kind", &kinds).unwrap_or("router");
        let help = "write a number of packets such as \"1000 packets\"";
        let cache = f.checked("cache", help, cache_check).map(|Packets(n)| n);
        if kind == "switch" && cache.is_some_and(|n| n > 0) {
            f.error(
                "cache",
                "cache: a switch knows no NDN and caches nothing",
                "delete cache, or write kind = \"router\"",
            );
        }
        let coordinate = |key| {
            f.checked::<f64>(key, "write a number from -1e9 to 1e9", |x| {
                if x.abs() <= 1e9 { Ok(()) } else { Err(format!("{x} is off the map")) }
            })
        };
        let (x, y) = (coordinate("x"), coordinate("y"));
        if table.get("x").is_some() != table.get("y").is_some() {
            found.error(&item.at, "the node has one coordinate only", "give both x and y, or neither");
        }
        // Read by `parts`, once everything that a part can name is known.
        f.item("scheme");
        f.finish();
        let Some(name) = name else { continue };
        seen.insert(name.clone(), item.at.clone());
        network.node_index.insert(name.clone(), network.nodes.len());
        let cache = usize::try_from(cache.unwrap_or(settings.cache)).unwrap_or(usize::MAX);
        let kind = match kind {
            "switch" => NodeKind::Switch,
            "host" => NodeKind::Host { cache },
            _ => NodeKind::Ndn { cache },
        };
        network.nodes.push(Node { name, kind, position: x.zip(y) });
    }
}

/// The names by which a link may be called: its own, and its ends in both orders.
fn names_of(table: &Table) -> Vec<String> {
    let ends: Vec<&str> = table.list("ends").iter().filter_map(Item::as_text).collect();
    let by_ends = [ends.join("-"), ends.iter().rev().copied().collect::<Vec<_>>().join("-")];
    by_ends.into_iter().chain(overrides::entry_name(table)).collect()
}

impl Network {
    fn is_between(&self, name: &str, a: usize, b: usize) -> bool {
        name == format!("{}-{}", self.nodes[a].name, self.nodes[b].name)
    }

    /// The link of this name, or of these ends in the opposite order, and whether it is the latter.
    pub(super) fn directed_link(&self, name: &str) -> Option<(usize, bool)> {
        let reversed = || self.links.iter().position(|l| self.is_between(name, l.b, l.a)).map(|link| (link, true));
        self.link_index.get(name).map(|&link| (link, false)).or_else(reversed)
    }

    /// The link of this name, or of these ends in either order.
    pub(super) fn link_called(&self, name: &str) -> Option<usize> {
        let by_ends = || self.links.iter().position(|l| self.is_between(name, l.a, l.b));
        self.directed_link(name).map(|found| found.0).or_else(by_ends)
    }

    /// Reports that no link has this name, unless links are missing because of other errors.
    pub(super) fn no_link(&self, name: &str, at: &Location, found: &Findings) {
        if !self.partial {
            let help = found.suggest(name, "links", self.links.iter().map(|l| l.name.as_str()));
            found.error(at, format!("there is no link \"{name}\""), help);
        }
    }
}

/// A component: its name, or a table with `name` and parameters.
pub(super) fn component<P: FamilyParams>(item: &Item, found: &Findings) -> Option<ComponentChoice<P>> {
    match ComponentChoice::from_value(&written(item, found)?) {
        Ok(choice) => Some(choice),
        Err(error) => {
            found.error(place_in(item, &error), error.problem(), remedy(&error));
            None
        }
    }
}

/// What would do.
pub(super) fn remedy(error: &SchemeError) -> String {
    match (error.help.is_empty(), error.component) {
        (false, _) => error.help.clone(),
        (true, Some(component)) => format!("`ndnweir explain {component}` shows its parameters"),
        (true, None) => "`ndnweir list` shows the components, `ndnweir explain NAME` their parameters".into(),
    }
}

/// The place of the parameter that an error is about, if it is written; else that of the component.
pub(super) fn place_in<'a>(item: &'a Item, error: &SchemeError) -> &'a Location {
    let mut place = &item.at;
    let mut table = item.as_table();
    for key in error.parameter.iter().flat_map(|path| path.split('.')) {
        let Some(entry) = table.and_then(|table| table.entries.iter().find(|entry| entry.key == key)) else { break };
        (place, table) = (&entry.key_at, entry.item.as_table());
    }
    place
}

/// The same as it is written.
pub(super) fn written(item: &Item, found: &Findings) -> Option<serde_json::Value> {
    let named = match &item.value {
        Value::Text(name) => !name.is_empty(),
        Value::Table(table) => table.get("name").is_some_and(|n| n.as_text().is_some_and(|n| !n.is_empty())),
        _ => false,
    };
    if !named {
        found.error(&item.at, "this is not a component: it has no name", name_it(&item.at));
        return None;
    }
    match item.to_json() {
        Ok(json) => Some(json),
        Err((at, message)) => {
            found.error(&at, message, "write a number, a text, true, false, a list or a table");
            None
        }
    }
}

/// How to name a component: on the command line, where a parameter alone was changed, beside it.
fn name_it(place: &Location) -> String {
    let key = place.source.strip_prefix("--set ").and_then(|set| set.split_once('='));
    for (part, example, family) in
        [("component", "bic", "consumer"), ("marker", "codel", "marker"), ("discipline", "drr", "discipline")]
    {
        if let Some((before, _)) = key.and_then(|(key, _)| key.split_once(&format!(".{part}."))) {
            return format!(
                "the file gives none here: name one with --set {before}.{part}.name={example}, or change that of a \
                 scheme with --set scheme.NAME.{family}.KEY=VALUE"
            );
        }
    }
    "write \"codel\", or { name = \"codel\", target = \"5ms\" }".into()
}

fn links(
    root: &Table,
    settings: &Settings,
    traces: &Traces<'_>,
    media: &Media,
    whole: &Location,
    found: &Findings,
    network: &mut Network,
) {
    let defaults = match root.get("link-defaults") {
        Some(item) if item.as_table().is_some() => {
            let table = item.as_table().unwrap_or(const { &Table { entries: Vec::new() } });
            let f = Fields::new(table, "[link-defaults]", &item.at, found);
            let part = DirectionTable::read(&f, table, traces, found);
            let (cost, mtu) = (cost(&f), mtu::read(&f));
            f.finish();
            (part, cost, mtu)
        }
        _ => (DirectionTable::default(), None, None),
    };
    let (defaults, default_cost, default_mtu) = defaults;
    let items = root.list("link");
    if items.is_empty() && root.get("link").is_none() && !network.nodes.is_empty() {
        found.error(whole, "the scenario has no links", "add [[link]] tables with ends = [\"A\", \"B\"]");
    }
    if items.len() > MAX_LINKS {
        found.error(&items[MAX_LINKS].at, format!("more than {MAX_LINKS} links"), "use a smaller network");
    }
    let mut pairs: BTreeMap<(usize, usize), Location> = BTreeMap::new();
    for item in items.iter().take(MAX_LINKS) {
        let Some(table) = item.as_table() else { continue };
        let f = Fields::new(table, "this link", &item.at, found);
        let ends = ends(&f, network, found);
        f.get::<String>("name");
        let own = DirectionTable::read(&f, table, traces, found);
        let (cost, mtu) = (cost(&f).or(default_cost), mtu::read(&f).or(default_mtu));
        let way = |key: &'static str| {
            let part = match f.item(key) {
                Some(Item { value: Value::Table(table), at }) => {
                    let f = Fields::new(table, format!("this link's {key}"), at, found);
                    let part = DirectionTable::read(&f, table, traces, found);
                    f.finish();
                    part
                }
                Some(other) => {
                    let help = format!("write {key} = {{ rate = \"5Mbps\" }}");
                    found.error(&other.at, format!("{key} is {}, not a table", other.kind()), help);
                    DirectionTable::default()
                }
                None => DirectionTable::default(),
            };
            part.or(&own).or(&defaults)
        };
        let (mut forward, mut backward) = (way("forward"), way("backward"));
        if let Some(rate) = media.rate_of(&names_of(table)) {
            media::reject_excluded_keys(table, found);
            [&mut forward, &mut backward].into_iter().for_each(|part| part.share(rate));
        }
        if let Some((a, b)) = ends {
            keep_what_each_end_has(table, [(a, &mut forward), (b, &mut backward)], network, found);
        }
        let finish = |part: DirectionTable| part.finish(&f, settings.payload, &settings.run);
        let (forward, backward) = (finish(forward), finish(backward));
        let name_place = if table.get("name").is_some() { f.place("name") } else { f.place("ends") };
        f.finish();
        let Some((a, b)) = ends else { continue };
        if let Some(first) = pairs.insert((a.min(b), a.max(b)), name_place.clone()) {
            let (a, b) = (&network.nodes[a].name, &network.nodes[b].name);
            let help = format!("the first is at {first}: delete one, or put a node between");
            found.error(&name_place, format!("two links join {a} and {b}"), help);
            continue;
        }
        let Some(name) = overrides::entry_name(table) else { continue };
        // "A-B" of two long names is longer than a name may be; it is still unique.
        if table.get("name").is_some() && !is_name(&name) {
            let help = "use letters, digits, '_', '-', '.' and '+', at most 64";
            found.error(&name_place, format!("\"{name}\" is not a valid name"), help);
            continue;
        }
        if network.link_index.contains_key(&name) {
            let help = "give one of the two another name = \"...\"";
            found.error(&name_place, format!("two links are called \"{name}\""), help);
            continue;
        }
        let (Some(forward), Some(backward)) = (forward, backward) else { continue };
        network.link_index.insert(name.clone(), network.links.len());
        network.link_places.push(item.at.clone());
        let delay = forward.delay.max(backward.delay).nanos() / 1_000;
        let cost = cost.unwrap_or(match settings.cost {
            CostModel::Hops => 1,
            CostModel::Delay => u32::try_from(delay).unwrap_or(u32::MAX).max(1),
        });
        network.links.push(Link { name, a, b, cost, forward, backward, mtu });
    }
}

/// A marker or discipline for the whole link applies to its NDN ends, and a threshold for marks to its switches.
fn keep_what_each_end_has(
    table: &Table,
    directions: [(usize, &mut DirectionTable); 2],
    network: &Network,
    found: &Findings,
) {
    let is_switch = |end: usize| network.nodes[end].kind == NodeKind::Switch;
    if let Some(item) = table.get("mark-after")
        && !directions.iter().any(|(end, _)| is_switch(*end))
    {
        let help = "choose the router's marker, as in marker = { name = \"codel\", target = \"5ms\" }";
        found.error(&item.at, "mark-after: no end of this link is a switch, and queues of nodes have markers", help);
    }
    for ((end, part), key) in directions.into_iter().zip(["forward", "backward"]) {
        let name = &network.nodes[end].name;
        let own = table.get(key).and_then(Item::as_table);
        let reject = |key: &str, message: String, help: String| {
            if let Some(item) = own.and_then(|own| own.get(key)) {
                found.error(&item.at, message, help);
            }
        };
        if is_switch(end) {
            let help = |key: &str| format!("delete the {key}, or make the node a router");
            reject("marker", format!("{name} is a switch, which marks by mark-after alone"), help("marker"));
            reject("discipline", format!("{name} is a switch and has drop-tail queues"), help("discipline"));
            (part.marker, part.discipline) = (None, None);
        } else {
            let message = format!("mark-after: {name} is no switch, and queues of nodes have markers");
            reject("mark-after", message, "delete it, or choose a marker".to_owned());
            part.mark_after = None;
        }
    }
}

fn cost(f: &Fields<'_>) -> Option<u32> {
    f.checked("cost", "write a whole number from 1 to 1000000000", |&c: &u64| {
        if (1..=1_000_000_000).contains(&c) { Ok(()) } else { Err(format!("{c} is not a routing cost")) }
    })
    .map(|c| c as u32)
}

/// `overlay = [["A", "B"], ...]`: pairs of nodes that are neighbours across switches.
fn overlay(root: &Table, found: &Findings, network: &mut Network) {
    let Some(item) = root.get("overlay") else { return };
    let help = "write overlay = [[\"A\", \"B\"]] with pairs of NDN nodes";
    let Value::List(items) = &item.value else {
        found.error(&item.at, format!("overlay is {}, not a list of pairs", item.kind()), help);
        return;
    };
    let switches = Reach::through_switches(network);
    let mut pairs = Vec::new();
    for pair in items {
        let names: Vec<&str> = match &pair.value {
            Value::List(ends) => ends.iter().filter_map(Item::as_text).collect(),
            _ => Vec::new(),
        };
        let &[a, b] = names.as_slice() else {
            found.error(&pair.at, "this is not a pair of nodes", help);
            continue;
        };
        let (a, b) = (node_index(a, &pair.at, network, found), node_index(b, &pair.at, network, found));
        let (Some(a), Some(b)) = (a, b) else { continue };
        if a == b || [a, b].iter().any(|&n| network.nodes[n].kind == NodeKind::Switch) {
            found.error(&pair.at, "this is not a pair of two different NDN nodes", help);
        } else if !switches.can(a, b) && !network.partial {
            let (a, b) = (&network.nodes[a].name, &network.nodes[b].name);
            let help = "overlay neighbours need a path of switches between them";
            found.error(&pair.at, format!("no switches join {a} and {b}"), help);
        } else {
            pairs.push((a, b));
        }
    }
    network.overlay = Some(pairs);
}

fn ends(f: &Fields<'_>, network: &Network, found: &Findings) -> Option<(usize, usize)> {
    let Some(item) = f.item("ends") else {
        f.missing("ends", "[\"A\", \"B\"]");
        return None;
    };
    let list = match &item.value {
        Value::List(list) => list.as_slice(),
        _ => &[],
    };
    let [a, b] = list else {
        found.error(&item.at, "ends does not name two nodes", "write ends = [\"A\", \"B\"]");
        return None;
    };
    let index = |end: &Item| {
        let Some(name) = end.as_text() else {
            found.error(&end.at, format!("an end of the link is {}", end.kind()), "write ends = [\"A\", \"B\"]");
            return None;
        };
        node_index(name, &end.at, network, found)
    };
    let (a, b) = (index(a), index(b));
    let (a, b) = (a?, b?);
    if a == b {
        let message = format!("the link joins {} to itself", network.nodes[a].name);
        found.error(&item.at, message, "name two different nodes");
        return None;
    }
    Some((a, b))
}

/// The index of a node, or a finding.
pub(super) fn node_index(name: &str, at: &Location, network: &Network, found: &Findings) -> Option<usize> {
    let known = network.node_index.get(name).copied();
    if known.is_none() {
        let help = found.suggest(name, "nodes", network.nodes.iter().map(|n| n.name.as_str()));
        found.error(at, format!("there is no node \"{name}\""), help);
    }
    known
}
