//! Schemes of single nodes and consumers, and `[[part]]`.

use super::diag::{Diagnostic, Findings, Location, suggest};
use super::fields::{Fields, Probability};
use super::model::{Composition, Consumer, Members, Node, NodeKind, Part};
use super::overrides::glob;
use super::settings::Settings;
use super::tree::{Item, Table};
use super::{name_key, network};
use ndnweir_core::scheme::Scheme;
use std::collections::BTreeMap;

/// Maximum number of `[[part]]` tables.
const MAX_PARTS: usize = 1_000;

/// The parts of a scenario.
#[derive(Default)]
pub(super) struct SchemeParts {
    /// Each scheme, listed once.
    pub schemes: Vec<Scheme>,
    pub parts: Vec<Part>,
}

struct PartReader<'a> {
    compositions: &'a [Composition],
    settings: &'a Settings,
    found: &'a Findings,
    read: SchemeParts,
    seen: BTreeMap<String, Location>,
}

/// Reads `[[part]]`, in the order of the file, then the schemes of nodes and consumers, which take precedence.
pub(super) fn read(
    root: &Table,
    nodes: &[Node],
    consumers: &[Consumer],
    compositions: &[Composition],
    settings: &Settings,
    found: &Findings,
) -> SchemeParts {
    let mut reader = PartReader { compositions, settings, found, read: SchemeParts::default(), seen: BTreeMap::new() };
    let items = root.list("part");
    if let Some(item) = items.get(MAX_PARTS) {
        found.error(&item.at, format!("more than {MAX_PARTS} parts"), "use fewer");
    }
    for item in items.iter().take(MAX_PARTS) {
        reader.part(item, nodes, consumers);
    }
    fn named(item: &Item) -> Option<&str> {
        item.as_table()?.get("name")?.as_text()
    }
    let numbers: BTreeMap<&str, usize> = nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
    for item in root.list("node") {
        let node = named(item).and_then(|name| numbers.get(name).copied());
        let Some((scheme, node)) = own(item).zip(node) else { continue };
        if nodes[node].kind == NodeKind::Switch {
            found.error(&scheme.at, "a switch knows no NDN and has no scheme", "delete the scheme");
            continue;
        }
        reader.single(scheme, Members::Nodes(vec![node]));
    }
    let numbers: BTreeMap<&str, usize> = consumers.iter().enumerate().map(|(i, c)| (c.name.as_str(), i)).collect();
    for item in root.list("consumer") {
        let consumer = named(item).and_then(|name| numbers.get(name).copied());
        let Some((scheme, consumer)) = own(item).zip(consumer) else { continue };
        if item.as_table().is_some_and(|table| table.get("component").is_some()) {
            found.error(&scheme.at, "a component of its own overrules the scheme", "delete one of the two");
        }
        if !takes_component(&consumers[consumer]) {
            let help = "delete the scheme, or give it kind \"fetch\", \"object\" or \"flows\"";
            found.error(&scheme.at, "this consumer has no congestion control that a scheme could choose", help);
            continue;
        }
        reader.single(scheme, Members::Consumers(vec![consumer]));
    }
    reader.read
}

fn own(item: &Item) -> Option<&Item> {
    item.as_table()?.get("scheme")
}

fn takes_component(consumer: &Consumer) -> bool {
    use super::model::Traffic;
    matches!(consumer.traffic, Traffic::Fetch { .. } | Traffic::Flows(_))
}

impl PartReader<'_> {
    /// The position of the scheme of this name, which is added to the list if it is not there.
    fn scheme(&mut self, name: &str, at: &Location) -> Option<usize> {
        if let Some(known) = self.read.schemes.iter().position(|scheme| scheme.name == name) {
            return Some(known);
        }
        let own = self.compositions.iter().find(|composition| composition.name == name);
        let mut scheme = match own.map_or_else(|| Scheme::named(name), |own| Ok(own.scheme.clone())) {
            Ok(scheme) => scheme,
            Err(error) => {
                let help = format!("{}; or add a [scheme.NAME] table", error.help);
                self.found.error(at, format!("scheme: {}", error.message), help);
                return None;
            }
        };
        if let Some(marks) = self.settings.run.interest_marks {
            scheme.interest_marks = marks;
        }
        if let Some(marks) = self.settings.run.cached_marks {
            scheme.cached_marks = marks;
        }
        self.read.schemes.push(scheme);
        Some(self.read.schemes.len() - 1)
    }

    fn single(&mut self, item: &Item, members: Members) {
        let Some(name) = item.as_text() else {
            let message = format!("scheme is {}, not a name", item.kind());
            self.found.error(&item.at, message, "write the name of a scheme such as \"cubic\"");
            return;
        };
        if let Some(scheme) = self.scheme(name, &item.at) {
            self.read.parts.push(Part { scheme, members, share: 1.0, stream: 0 });
        }
    }

    fn part(&mut self, item: &Item, nodes: &[Node], consumers: &[Consumer]) {
        let found = self.found;
        let Some(table) = item.as_table() else { return };
        let f = Fields::new(table, "this part", &item.at, found);
        let own = network::name(&f, "parts", &self.seen, found);
        if let Some(name) = &own {
            self.seen.insert(name.clone(), item.at.clone());
        }
        let stream = name_key(own.as_deref().unwrap_or_default());
        let name = f.required::<String>("scheme", "\"cubic\"");
        let share = f.get::<Probability>("share").map_or(1.0, |Probability(share)| share);
        let (of_nodes, of_consumers) = (f.get::<String>("nodes"), f.get::<String>("consumers"));
        let place = f.place("scheme");
        let members = match (&of_nodes, &of_consumers) {
            (Some(pattern), None) => {
                let ndn = nodes.iter().enumerate().filter(|(_, node)| node.kind != NodeKind::Switch);
                let fit = ndn.filter(|(_, node)| glob(pattern, &node.name)).map(|(i, _)| i);
                Some(("nodes", pattern, Members::Nodes(fit.collect())))
            }
            (None, Some(pattern)) => {
                let able = consumers.iter().enumerate().filter(|(_, consumer)| takes_component(consumer));
                let fit = able.filter(|(_, consumer)| glob(pattern, &consumer.name)).map(|(i, _)| i);
                Some(("consumers", pattern, Members::Consumers(fit.collect())))
            }
            (None, None) => {
                f.missing("nodes", "\"R*\", or consumers = \"C*\"");
                None
            }
            (Some(_), Some(_)) => {
                f.error("consumers", "consumers: a part is of nodes or of consumers", "write a part for each");
                None
            }
        };
        f.finish();
        let (Some(name), Some((key, pattern, members))) = (name, members) else { return };
        let Some(scheme) = self.scheme(&name, &place) else { return };
        let names: Vec<&str> = match &members {
            Members::Nodes(members) => members.iter().map(|&i| nodes[i].name.as_str()).collect(),
            Members::Consumers(members) => members.iter().map(|&i| consumers[i].name.as_str()).collect(),
        };
        if names.is_empty() {
            let all: Vec<&str> = match &members {
                Members::Nodes(_) => nodes.iter().map(|node| node.name.as_str()).collect(),
                Members::Consumers(_) => consumers.iter().map(|consumer| consumer.name.as_str()).collect(),
            };
            let at = table.get(key).map_or(&item.at, |item| &item.at);
            found.error(at, format!("no {key} that can have a scheme fit \"{pattern}\""), suggest(pattern, key, all));
            return;
        }
        let which = match share {
            1.0 => String::new(),
            share => format!("{}% of ", share * 100.0),
        };
        let drawn = if share == 1.0 { "" } else { ", drawn by each seed" };
        let message = format!("scheme {name} at {which}{key} {}{drawn}", names.join(", "));
        found.add_notes(vec![Diagnostic { place: item.at.clone(), message, help: String::new() }]);
        self.read.parts.push(Part { scheme, members, share, stream });
    }
}
